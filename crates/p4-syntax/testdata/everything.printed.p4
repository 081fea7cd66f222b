error {
    First,
    Second
}

match_kind {
    exact,
    lpm,
    ternary
}

@pkginfo(name = "everything", version = "1.0")
@pragma noisy a b (c) "d" > > 1
const bit<16> ETHERTYPE = 16w0x800;
const int BIG = 340282366920938463463374607431768211455;
const int<8> NEGATIVE = -8s1;
const bit<(4 + ETHERTYPE / 2)> WIDE = 0;
const string TEXT = "a \"quoted\" text\\ " ++ "and
two lines";
const bool TRUTH = !false && (1 < 2 || 2 >= 1) == true;
const int SUMS = 0b1010 + 0o17 - 9 * 3 / 2 % 4 |+| 1 |-| 2;
const bit<8> BITS = ~8w1 & 0xF ^ 3 | 1 << 2 >> 1;
const bit<8> CHOICE = TRUTH ? 8w1 : TRUTH ? 8w2 : 8w3;
const tuple<bit<8>, tuple<>> PAIR = { 1, {} };

typedef bit<48> mac_t;
@p4runtime_translation("x.y/z", 32)
type bit<9> port_t;
typedef struct Inner {
    bit<8> a;
} inner_t;
typedef header Simple {
    bit<8> a;
} stack_t[4];

enum Color {
    Red,
    Green,
    Blue
}

enum bit<8> Code {
    One = 1,
    Two = One + 1
}

@controller_header("packet_in")
header ethernet_t {
    mac_t dst;
    @name("source") mac_t src;
    bit<16> kind;
}

header options_t {
    varbit<320> bytes;
    varbit<(8 * 4)> more;
}

header_union any_t {
    ethernet_t e;
    options_t o;
}

header Generic<T> {
    T value;
}

struct headers_t {
    ethernet_t ethernet;
    ethernet_t[3] vlans;
    any_t[2] anys;
    bit<8>[2][3] matrix;
    Generic<bit<8>> small;
}

struct Empty {}

struct Both<A, B> {
    A first;
    B second;
    tuple<A, B> pair;
}

extern Forward;

extern Counter<I> {
    Counter(I size);
    Counter();
    void count(in I index, @optional in bit<8> by);
    abstract I on_overflow(inout I value);
    R convert<R>(in I value);
}

@pure
extern T first<T, U>(in T a, in U b = {});

extern void log(string text);

extern void update(inout headers_t h);

extern list<bit<8>> bytes();

extern match_kind kind_of(error e);

parser Parser<H>(packet_in b, out H headers);

control Pipe<H, M>(inout H headers, inout M meta);

package Switch<H, M>(Parser<H> p, Pipe<H, M> i, @optional Pipe<H, _> e, bool fast = true);

extern packet_in {
    void extract<T>(out T value);
    bit<32> length();
    T lookahead<T>();
}

bit<8> max(in bit<8> a, in bit<8> b = 0) {
    if (a > b)
        return a;
    return b;
}

T identity<T>(in T value) {
    return value;
}

action drop_all() {
    exit;
}

action set(inout bit<8> where, bit<8> to) {
    where = to;
    return;
}

parser P<H>(packet_in b, out headers_t headers)(bit<8> limit, bool flag) {
    const bit<8> local = 3;
    bit<8> count;
    @size(4)
    value_set<bit<16>>(4) kinds;
    value_set<tuple<bit<8>, bit<8>>>(local) pairs;
    Counter<bit<8>>(4) counter;

    @name("begin")
    state start {
        count = 0;
        b.extract(headers.ethernet);
        b.extract<ethernet_t>(headers.vlans.next);
        bit<8> x = b.lookahead<bit<8>>();
        const bit<8> y = 2;
        @atomic {
            x = y;
        }
        if (x == y) {
            count = count + 1;
        } else if (x > y)
            ;
        else {
            count = 0;
        }
        ;
        transition select(headers.ethernet.kind, x) {
            (16w0x800, 1): accept;
            (0x800 &&& 0xF00, _): next;
            (1 .. 5, default): next;
            (_): reject;
            kinds: next;
            (x + 1) * 2: next;
            { 1, 2 }: next;
            default: accept;
        }
    }

    state next {
        transition accept;
    }

    state type {
        transition select(count) {
            _: next;
        }
    }

    state key {}
}

control Child(in bit<8> a)(int size) {
    apply {}
}

control C(inout headers_t headers, inout Empty meta) {
    Child(4) child;
    @hidden
    Counter<bit<8>>(8) counter = {
        bit<8> on_overflow(inout bit<8> value) {
            this.count(value);
            return value;
        }
        Counter<bit<8>>() inner;
    };
    Counter<_>(1) many[4];
    bit<8> variable = 1;
    bit<8> key = 2;
    const bit<8> constant = 3;

    action a(in bit<8> v, bit<8> data) {
        headers.ethernet.kind[7:0] = v;
        headers.ethernet.kind[0 +: 8] = data;
    }

    @name("tab")
    table t {
        key = {
            headers.ethernet.dst: exact @name("dst");
            headers.ethernet.src & 48w1: ternary @pragma odd
            ;
            max(variable, 1): lpm;
        }
        actions = {
            a(variable);
            @defaultonly .drop_all;
            NoAction();
            @tableonly @x set(key);
        }
        const default_action = a(1, 2);
        @ordered
        const entries = {
            (1, _, 3): a(1);
            const priority = 10: (1, 2 &&& 3, default): drop_all @why("not");
            priority = (constant + 1): (_, 1 .. 2, 3): NoAction();
            5: NoAction;
        }
        size = 1024;
        implementation = Counter<bit<8>>(3);
        state = 5;
        largest_priority_wins = false;
    }

    table empty {
        actions = {}
    }

    apply {
        variable += 1;
        variable -= 1;
        variable *= 2;
        variable /= 2;
        variable %= 3;
        variable &= 1;
        variable |= 2;
        variable ^= 3;
        variable <<= 1;
        variable >>= 1;
        variable |+|= 1;
        variable |-|= 1;
        variable = (bit<8>) (variable + 1);
        variable = (bit<8>) -variable + (port_t) -1;
        bool cmp = variable < key && key > variable;
        headers.vlans[0] = headers.vlans[key - 1];
        headers.ethernet = { dst = 0, src = 1, ... };
        headers.ethernet = (ethernet_t) { 1, 2, ... };
        headers.ethernet = ...;
        headers.ethernet = {#};
        if (t.apply().hit) {} else if (!t.apply().miss)
            exit;
        else
            return;
        switch (t.apply().action_run) {
            a:
            drop_all: {
                variable = 1;
            }
            NoAction: @likely {}
            default: {}
        }
        switch (variable) {
            1:
            2: {}
            -1: @unlikely {}
            key:
            default: {}
        }
        for (bit<8> i = 0, bit<8> j = 1, variable = 2; i < 8; i += 1, log("x")) {
            if (i == j)
                continue;
            break;
        }
        for (; TRUTH; )
            ;
        @unroll for (bit<8> i in 0 .. 7)
            variable = i;
        for (@x bit<8> i in { 1, 2, 3 }) {}
        for (ethernet_t e in headers.vlans) {}
        child.apply(variable);
        Child.apply(8w1);
        log(text = "named");
        first<bit<8>, _>(a = 1, b = _);
        many[2].count(index = 1, by = ...);
        error e = error.First;
        Color c = Color.Red;
        .update(headers);
        variable = .max(.max(1, 2), variable);
        variable = (variable == 1 ? 8w1 : 2) ++ 4w0;
        variable = - -~variable + + +1;
        bit<32> size = Both<bit<8>, bit<16>>.minSizeInBits();
        list<tuple<bit<8>, bit<8>>> l = { { 1, 2 }, { 3, 4 } };
        @atomic @x[1, 2] @y[a = 1, b = "c"] @z[] {
            @w bit<8> inner = this.x;
        }
        {}
    }
}

Switch(P(1, true), C(), fast = false) main;

@a
@b()
Switch<headers_t, _>(p = P<bit<8>>(), i = _) other;
