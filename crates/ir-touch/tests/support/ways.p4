// Values come to the keys of tables in all ways: through copies of headers and structs, parameters, loops, slices, and from entries.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

header more_h {
    bit<16>  x;
    bit<144> rest;
}

header mark_h { bit<8> x; }

header cell_h { bit<8> x; }

header extra_h { bit<8> y; }

header tail_h { bit<8> y; }

header_union either_h {
    cell_h  one;
    extra_h two;
}

struct ways_headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_h      udp;
    more_h     more;
    // Entries make it valid.
    mark_h     mark;
    either_h   either;
    extra_h[2] extras;
    tail_h     tail;
}

struct pair_t {
    bit<16> one;
    bit<16> two;
}

// Read as a whole alone.
struct inner_t { bit<16> k; }

struct mix_t {
    bit<16> m;
    inner_t n;
}

struct metadata_t {
    ports_t l4;
    bit<16> a;
    bit<16> b;
    bit<16> e;
    bit<16> f;
    bit<8>  kind;
    bit<16> taken;
    bit<16> first;
    bit<16> rounds;
    bit<1>  seen;
    bit<16> open;
    pair_t  pair;
    cell_h[2] marks;
    bit<16> pick;
    bit<16> mixed;
}

parser WaysParser(packet_in packet, out ways_headers_t hdr, inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        meta.kind = hdr.ipv4.protocol;
        transition select(hdr.ipv4.ihl, meta.kind) { (5, PROTO_UDP): udp; (_, PROTO_UDP): options; default: accept; }
    }
    state options {
        meta.f = 9;
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
        meta.l4.src = hdr.udp.src;
        meta.l4.dst = hdr.udp.dst;
        packet.extract(hdr.more);
        packet.extract(hdr.extras.next);
        meta.seen = 1;
        transition tail;
    }
    state tail {
        packet.extract(hdr.tail);
        transition accept;
    }
}

control WaysVerify(inout ways_headers_t hdr, inout metadata_t meta) { apply { } }

control Called(in bit<16> from, inout bit<16> to, out bit<16> more) {
    apply {
        to = to + from;
        more = from ^ 1;
    }
}

control WaysIngress(inout ways_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Called() called;

    action next(in bit<16> x, out bit<16> y) { y = x + 1; }
    action run(in bit<16> x, out bit<16> y) { y = x + 1; }
    action set_f(bit<16> f) {
        meta.f = f;
        mark_h made;
        made.setValid();
        hdr.mark = made;
        hdr.either.one.setValid();
    }
    table first {
        key = { meta.a: exact; }
        actions = { set_f; NoAction; }
        default_action = NoAction();
    }
    table second {
        key = { meta.pair.one: exact; }
        actions = { run(meta.taken, meta.b); NoAction; }
        default_action = NoAction();
    }
    table fourth {
        key = { meta.l4.src: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }
    table fifth {
        key = { meta.l4.dst: exact; meta.b: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }
    table sixth {
        key = { meta.l4.dst: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }
    // No table has these parts of the flow.
    counter<bit<8>>(256, CounterType.packets) extras;
    counter<bit<8>>(256, CounterType.packets) tails;
    table third {
        key = { hdr.ipv4.src: exact; hdr.ipv4.protocol: exact; meta.f: exact; meta.e: exact; hdr.more.x: exact; meta.seen: exact;
                meta.marks[meta.pick].x: exact; meta.mixed: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }

    apply {
        ipv4_h kept = hdr.ipv4;
        bit<16> y;
        bit<16> z = 0;
        if (hdr.more.isValid()) {
            meta.e = 4;
        }
        next(meta.l4.src, y);
        meta.a = y & 3;
        if (hdr.ipv4.ttl > 1) {
            hdr.ipv4.src = 9;
            meta.open = 1;
        }
        first.apply();
        called.apply(meta.l4.dst, z, meta.b);
        pair_t pair = { z, meta.b };
        meta.pair = pair;
        if (hdr.ipv4.ttl > 2) {
            meta.b[7:0] = 3;
        }
        meta.rounds = meta.l4.src & 1;
        for (bit<16> i in 16w0 .. meta.rounds) {
            meta.e = meta.e + i;
        }
        meta.first = meta.l4.dst & 1;
        for (bit<16> i = meta.first; i < 2; i = i + 1) {
            meta.e = meta.e ^ 2;
        }
        meta.taken = meta.l4.src & 3;
        standard_metadata.egress_spec = (bit<9>)(meta.l4.dst ^ 2);
        if (second.apply().miss) {
            hdr.ipv4 = kept;
        } else {
            hdr.udp.setInvalid();
        }
        if (!hdr.udp.isValid()) {
            fourth.apply();
        }
        if (hdr.mark.isValid()) {
            fifth.apply();
        }
        if (meta.l4.src == 1) {
            hdr.either.two.setValid();
        }
        if (hdr.either.one.isValid()) {
            sixth.apply();
        }
        extras.count(hdr.extras[0].y);
        tails.count(hdr.tail.y);
        meta.marks[0].setValid();
        meta.marks[1].setValid();
        meta.marks[0].x = 5;
        meta.marks[1].x = 6;
        meta.pick = meta.l4.dst & 1;
        mix_t mix;
        mix.m = meta.l4.src;
        mix.n.k = meta.l4.dst;
        hash(meta.mixed, HashAlgorithm.crc16, 16w0, mix, 16w5);
        if (hdr.ipv4.ttl == 1) {
            return;
        }
        hdr.ipv4.dst = 4;
        third.apply();
    }
}

control WaysEgress(inout ways_headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    table last {
        key = { hdr.ipv4.dst: exact; standard_metadata.egress_port: exact; meta.b: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }
    apply { last.apply(); }
}

control WaysCompute(inout ways_headers_t hdr, inout metadata_t meta) { apply { } }

control WaysDeparser(packet_out packet, in ways_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.more);
    }
}

V1Switch(WaysParser(), WaysVerify(), WaysIngress(), WaysEgress(), WaysCompute(), WaysDeparser()) main;
