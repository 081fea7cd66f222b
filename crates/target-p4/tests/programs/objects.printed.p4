#include <core.p4>

struct S_bit4 {
    bit<4> a;
    bit<8> b;
}

extern Ranges<T> {
    Ranges(list<tuple<T, T>> ranges, list<list<int>> more, T first);
    bool has(in T value);
}

extern Poly<T> {
    Poly(T coefficient);
}

extern Hash<W> {
    Hash(string formula);
    Hash(Poly<_> polynomial);
    W get<D>(in D data);
}

control c_t(inout bit<16> p0);

package Top(c_t c, list<bit<8>> sizes, S_bit4 pair);

control c(inout bit<16> x) {
    Ranges<bit<16>>((list<tuple<bit<16>, bit<16>>>){ { 1, 2 }, { 3, 4 } },
            (list<list<int>>){ (list<int>){ 1 }, (list<int>){} }, 5) ranges;
    Poly<bit<16>>(263) polynomial;
    Hash<bit<16>>(polynomial = polynomial) hash;
    Hash<bit<16>>(formula = "x + 1") other;

    apply {
        if (ranges.has(x)) {
            x = hash.get({ x, 8w1 }) + other.get(x);
        }
    }
}

Top(c(), (list<bit<8>>){ 1, 2 }, { 3, 4 }) main;
