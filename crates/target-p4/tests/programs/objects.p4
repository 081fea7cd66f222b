#include <core.p4>

struct S<T> {
    T a;
    bit<8> b;
}

extern Poly<T> {
    Poly(T coefficient);
}

extern Hash<W> {
    Hash(string formula);
    Hash(Poly<_> polynomial);
    W get<D>(in D data);
}

extern Ranges<T> {
    Ranges(list<tuple<T, T>> ranges, list<list<int>> more, T first);
    bool has(in T value);
}

control C(inout bit<16> x);
package Top(C c, list<bit<8>> sizes, S<bit<4>> pair);

control c(inout bit<16> x) {
    Ranges<bit<16>>((list<tuple<bit<16>, bit<16>>>){ { 1, 2 }, { 3, 4 } }, (list<list<int>>){ { 1 }, { } }, 5) ranges;
    Hash<bit<16>>(polynomial = Poly<bit<16>>(0x107)) hash;
    Hash<bit<16>>(formula = "x + 1") other;

    apply {
        if (ranges.has(x)) {
            x = hash.get({ x, 8w1 }) + other.get(x);
        }
    }
}

Top(c(), (list<bit<8>>){ 1, 2 }, { 3, 4 }) main;
