// A v1model program with one of everything that its architecture offers.
#include <v1model.p4>

#define W 16
typedef bit<48> Mac;
type bit<W> Port;
enum bit<8> Proto { TCP = 6, UDP = 17, OTHER = 255 }
enum Color { RED, GREEN }
const bit<W> TYPE = 0x800;

header eth_t { Mac dst; Mac src; bit<16> type; }
header opt_t { bit<8> n; varbit<64> data; }
header v4_t { Proto proto; bit<32> src; bit<32> dst; bit<16> sum; }
header v6_t { bit<128> src; bit<128> dst; }
header_union ip_t { v4_t v4; v6_t v6; }
struct headers { eth_t eth; opt_t opt; v4_t v4; ip_t ip; eth_t[4] tags; }
struct pair<T> { T a; T b; }
struct meta { Port port; pair<bit<8>> p; Color color; bool seen; @field_list(1) bit<32> kept; }

parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t s) {
    value_set<bit<16>>(4) known;
    state start {
        p.extract(h.eth);
        transition select(h.eth.type, m.seen) {
            (TYPE, false): four;
            (0x8100 &&& 0xff00, _): tag;
            (known, true): four;
            (1 .. 9, default): six;
            default: accept;
        }
    }
    state tag {
        p.extract(h.tags.next);
        transition select(h.tags.last.type) { 0x8100: tag; TYPE: four; default: accept; }
    }
    state four {
        p.extract(h.v4);
        verify(h.v4.proto != Proto.OTHER, error.NoMatch);
        p.extract(h.opt, (bit<32>)(8 * 3));
        transition accept;
    }
    state six { p.extract(h.ip.v6); transition accept; }
}

control V(inout headers h, inout meta m) {
    apply { verify_checksum(h.v4.isValid(), { h.v4.src, h.v4.dst }, h.v4.sum, HashAlgorithm.csum16); }
}

bit<8> least(in bit<8> a, in bit<8> b) { return a < b ? a : b; }

control Count(inout bit<8> x, in bit<8> step)(bit<8> limit) {
    apply { if (x < limit) { x = x |+| step; } else { exit; } }
}

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    Count(20) count;
    register<bit<32>>(64) last;
    counter(8, CounterType.packets) seen;
    direct_meter<bit<2>>(MeterType.bytes) rate;
    bit<2> color;
    action drop() { mark_to_drop(s); }
    action forward(in bit<8> x, @name("to") bit<9> port) {
        s.egress_spec = port;
        h.v4.src[7:0] = least(x, 8w3);
        h.eth.dst = (Mac)h.eth.src;
    }
    table route {
        key = { h.v4.dst: lpm @name("dst"); h.eth.type: ternary; m.p.a + 1: exact @name("sum"); }
        actions = { forward(m.p.b); drop; @defaultonly NoAction; }
        const entries = {
            (0x0a000000 &&& 0xff000000, _, 1): forward(m.p.b, 3);
            (_, 0x800 &&& 0xfff0, 2): drop();
        }
        const default_action = NoAction();
        size = 64;
    }
    table police {
        key = { h.eth.src: exact; }
        actions = { NoAction; }
        meters = rate;
        default_action = NoAction;
    }
    apply {
        bit<32> old;
        switch (route.apply().action_run) {
            forward: { last.read(old, 3); last.write(3, old + 1); }
            drop: { return; }
            default: { }
        }
        if (!police.apply().hit) { seen.count((bit<32>)s.ingress_port); }
        rate.read(color);
        for (bit<8> i in 0 .. 3) {
            if (i == 2) { continue; }
            m.p.a += i;
        }
        for (bit<8> i = 0; i < 4; i = i + 1) { h.tags[i].setInvalid(); break; }
        count.apply(m.p.a, 1);
        m.p = { a = 1, b = (bit<8>)m.p.a };
        m.port = (Port)(h.eth.type ^ ~TYPE);
        switch (m.color) { Color.RED: { m.seen = true; } Color.GREEN: { } }
        h.opt.setValid();
        h.opt = { n = 3, ... };
        h.tags.push_front(1);
        tuple<bit<8>, bool> t = { 3, true };
        m.seen = t[1] && h.ip.isValid() || (bool)h.v4.src[0:0];
        hash(m.p.b, HashAlgorithm.crc32, 8w0, { h.v4.src, h.v4.dst, 4w3 ++ 4w2 }, 8w255);
        digest<pair<bit<8>>>(1, m.p);
        clone_preserving_field_list(CloneType.I2E, 5, 1);
        log_msg("a packet of {}", { h.eth.src });
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { truncate(64); } }
control C(inout headers h, inout meta m) {
    apply { update_checksum(true, { h.v4.src, h.v4.dst }, h.v4.sum, HashAlgorithm.csum16); }
}
control D(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
