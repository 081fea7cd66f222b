// A program with an architecture of its own: what the other programs do not use of the language.
#include <core.p4>

#define W 8
struct box<T> { T value; }
extern Queue<T, I> {
    Queue(@optional int size);
    void push(in T value, in I at);
    T pop();
    T pop(in I at);
    abstract T merge(in T a, in T b);
}
extern T pick<T>(in bool first, in T a, @optional in T b);
extern void log(string text, list<bit<8>> numbers);
parser Source<H>(packet_in p, out H h);
control Sink<H>(inout H h, in bit<W> x = 3);
package Arch<H>(Source<H> source, Sink<H> sink, @optional Sink<H> other, tuple<bit<8>, bool> settings);

@data[kind = "wire", size = 4] header h_t { bit<W> a; int<W> b; bit<16> c; }
header stack_t { bit<(W * 2)> x; }
struct hs { h_t one; stack_t[3] many; box<bit<8>> inside; }
const int BIG = (1 << 20) / 3 % 100;
const bit<8>[3] LIST = { 1, 2, 3 };
const box<bit<8>> BOX = { value = BIG };

int<8> clamp(in int<8> x) { if (x < -4) { return (int<8>)(4w8 ++ 4w0); } return x |-| 1; }
T same<T>(in T x) { return x; }
bit<8> sum(in bit<8> a, in bit<8> b = 3) { return a + b; }

parser Inner(packet_in p, out stack_t x) {
    state start { x = p.lookahead<stack_t>(); p.advance(16); transition accept; }
}

parser Src(packet_in p, out hs h) {
    Inner() inner;
    bit<8> n = 0;
    state start {
        h.one = p.lookahead<h_t>();
        inner.apply(p, h.many[0]);
        n = n + 1;
        transition select(h.one.a[3:0] ++ 4w0, h.one.c) {
            (16, 5 .. 9): again;
            (_, BIG): again;
            default: accept;
        }
    }
    state again {
        p.extract(h.many.next);
        transition select(n == 3) { true: accept; false: reject; }
    }
}

control Snk(inout hs h, in bit<W> x) {
    Queue<bit<8>, bit<4>>(size = 4) queue = {
        bit<8> merge(in bit<8> a, in bit<8> b) { return sum(b = a, a = b) + sum(1); }
    };
    action set(inout bit<8> to, bit<8> value) { to = value; }
    action nothing() { }
    table t {
        key = { h.one.a: exact; h.one.c: ternary; }
        actions = { set(h.inside.value); nothing; }
        entries = {
            const priority = 3: (1, 2): set(h.inside.value, 4);
            priority = 2: (2, _): nothing();
        }
        default_action = set(h.inside.value, 1);
    }
    apply {
        int<8> v = clamp((int<8>)x);
        queue.push(at = 1, value = same<bit<8>>(h.one.a));
        h.one.b = pick(true, v, v >> 1);
        h.one.a = queue.pop() |+| pick(x == 1, queue.pop(3));
        h.one = { 1, ... };
        h.one.c[7:0] = LIST[1][3:0] ++ BOX.value[7:4] == 8w1 ? 8w1 : 8w2;
        if (t.apply().miss) { h.many.pop_front(1); }
        for (bit<8> i in LIST) { log("n" ++ "m", (list<bit<8>>){ 1, 2 }); }
        @unlikely { h.many[1] = { x = 7 }; }
        if (h.many[2] == h.many[1] && h.many[0].isValid()) { return; }
        static_assert(W == 8, "eight");
    }
}

Arch(source = Src(), sink = Snk(), settings = { 8, true }) main;
