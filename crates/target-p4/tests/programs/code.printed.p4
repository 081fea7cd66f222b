#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<32> a;
    bit<32> b;
    bit<8> c;
    int<16> d;
}

struct headers {
    h_t h;
    h_t[2] stack;
}

struct metadata {
    bit<32> x;
    bool flag;
    bit<8>[3] array;
}

struct message_t {
    bit<32> a;
    bit<8> c;
}

extern Sketch<T> {
    Sketch(bit<32> rows);
    bit<32> update(in T key, @optional in bit<32> by, @optional in bool fresh);
    abstract bit<8> weight(in bit<8> seen);
}

extern void observe<T>(in T value, @optional in bit<8> hint);

bit<32> twice(in bit<32> x) {
    return x << 1;
}

bit<32> sum(in bit<32> n, out bit<32> total) {
    total = 0;
    for (bit<32> i = 0, bit<32> step = 1; i < n; i = i + step) {
        if (i == 7) {
            continue;
        } else if (total > 0x0000ffff) {
            break;
        }
        total += twice(i);
    }
    return total;
}

bit<32> keep_bit32(in bit<32> value) {
    return value;
}

parser Inner(packet_in packet, out h_t h) {
    state start {
        packet.extract(h);
        transition accept;
    }
}

parser Inner_other(packet_in packet, out h_t h) {
    state start {
        packet.extract(h);
        transition accept;
    }
}

parser P(packet_in packet,
         out headers hdr,
         inout metadata meta,
         inout standard_metadata_t std) {
    Inner() inner;
    Inner_other() other;

    state start {
        inner.apply(packet, hdr.h);
        other.apply(packet, hdr.stack.next);
        meta.x = packet.length();
        transition accept;
    }
}

control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum(hdr.h.isValid(), { hdr.h.a, hdr.h.b, hdr.h.c }, hdr.h.a[15:0],
                HashAlgorithm.csum16);
    }
}

control Piece(inout bit<32> value) {
    register<bit<32>>(16) seen;

    action clear() {
        value = 0;
        seen.write(0, value);
    }

    table small {
        key = {
            value: exact;
        }
        actions = {
            clear;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        if (value > 5) {
            small.apply();
            return;
        }
        value = value - 5;
    }
}

control Piece_sixth(inout bit<32> value) {
    register<bit<32>>(16) seen;

    action clear() {
        value = 0;
        seen.write(0, value);
    }

    table small {
        key = {
            value: exact;
        }
        actions = {
            clear;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        if (value > 6) {
            small.apply();
            return;
        }
        value = value - 6;
    }
}

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    Sketch<bit<32>>(4) sketch = {
        bit<8> weight(in bit<8> seen) {
            return seen + 1;
        }
    };
    Piece() five;
    Piece_sixth() six;
    bit<32> x = 3;
    bit<8> shift = 2;

    action set(bit<32> x) {
        hdr.h.a = x;
    }

    table x_set {
        key = {
            hdr.h.a: exact;
        }
        actions = {
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        bit<32> y;
        five.apply(hdr.h.a);
        six.apply(hdr.h.b);
        y = sum(x, meta.x);
        y = keep_bit32(y) - (x - (y - 1)) * 2 + (x & 255 ^ ~y | -x);
        y = x << 8w1 >> shift;
        hdr.h.c = hdr.h.c[3:0] ++ 4w1;
        hdr.h.d = hdr.h.d |+| -5;
        hdr.h.d = 3;
        hdr.h.c = meta.flag ? hdr.h.c : 0;
        hdr.h.c = meta.flag ? (x == 1 ? 8w1 : 8w2) : shift;
        hdr.h.c = meta.flag ? shift : (x == 1 ? hdr.h.c : 3);
        meta.flag = !meta.flag && (x != y || hdr.h.c >= 3) == true;
        meta.array = { 1, 2, 3 };
        meta.array[hdr.h.c] = 4;
        hash(y, HashAlgorithm.crc32, 16w0, { hdr.h.a, hdr.h.b, 8w1 }, 32w1024);
        digest<message_t>(1, { hdr.h.a, hdr.h.c });
        digest(2, { hdr.h.a, hdr.h.b });
        observe(y);
        observe({ y, 8w2 }, 3);
        y = sketch.update(key = y, fresh = true);
        observe(sketch.weight(3));
        log_msg("y is {} of \"{}\"", { y, x });
        @atomic {
            bit<32> y = x;
            hdr.h.b = y;
        }
        switch (hdr.h.c) {
            1: {
                y = 1;
            }
            2:
            64: {
                y = 2;
            }
            default: { }
        }
        for (bit<8> i in 8w1 .. 8w4) {
            shift = shift + i;
        }
        for (bit<8> e in meta.array) {
            shift = shift ^ e;
        }
        if (x_set.apply().hit) {
            y = 1;
        } else {
            y = 2;
        }
        clone_preserving_field_list(CloneType.I2E, 5, 1);
        truncate(64);
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    bit<32> r;

    apply {
        random(r, 32w0, 32w10);
        hdr.h.a = r;
    }
}

control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(true, { hdr.h.a }, hdr.h.a, HashAlgorithm.crc32);
    }
}

control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h);
        packet.emit(hdr.stack);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
