#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> tos; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset;
    bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}
header port_t { bit<16> src; bit<16> dst; }
struct headers_t { ethernet_t eth; ipv4_t ip; port_t l4; }
struct meta_t { bit<16> hop; bool local; }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) tagged;
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.type) {
            0x0800: ipv4;
            tagged: accept;
            default: reject;
        }
    }
    state ipv4 {
        packet.extract(hdr.ip);
        verify(hdr.ip.version == 4, error.NoMatch);
        transition select(hdr.ip.offset, hdr.ip.protocol) {
            (0, 6 .. 7): l4;
            (0, 17 &&& 0xfe): l4;
            (_, _): accept;
        }
    }
    state l4 {
        packet.extract(hdr.l4);
        transition accept;
    }
}
control V(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ip.isValid(), { hdr.ip.src, hdr.ip.dst }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}
bit<8> decrement(in bit<8> x) { return x |-| 1; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(16) seen;
    direct_counter(CounterType.packets) hits;
    bit<32> count = 0;
    action drop() { mark_to_drop(std); }
    action hop(bit<16> next) { meta.hop = next; }
    action forward(bit<48> mac, bit<9> port) {
        hdr.eth.src = hdr.eth.dst;
        hdr.eth.dst = mac;
        std.egress_spec = port;
    }
    @name("fib") table routes {
        key = { hdr.ip.dst: lpm; }
        actions = { hop; drop; NoAction; }
        default_action = drop();
        size = 1024;
        counters = hits;
    }
    table hops {
        key = { meta.hop: exact @name("next_hop"); hdr.ip.isValid(): exact; }
        actions = { forward; @defaultonly drop; }
        const default_action = drop;
        const entries = {
            (1, true): forward(0xaabbccddeeff, 1);
            (2, _): forward(1, 2);
        }
    }
    table acl {
        key = { hdr.ip.src: ternary; hdr.l4.dst: range; }
        actions = { drop; NoAction; }
        entries = {
            (10 &&& 0xff, 1 .. 10): drop();
            (_, 80): NoAction();
        }
        support_timeout = true;
    }
    apply {
        if (hdr.ip.isValid() && hdr.ip.ttl > 1) @region("route") {
            hdr.ip.ttl = decrement(hdr.ip.ttl);
            if (routes.apply().hit) {
                switch (hops.apply().action_run) {
                    forward: { seen.read(count, (bit<32>)meta.hop); seen.write((bit<32>)meta.hop, count + 1); }
                    default: { exit; }
                }
            }
        } else {
            drop();
            return;
        }
        acl.apply();
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ip.isValid(), { hdr.ip.src, hdr.ip.dst }, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.eth); packet.emit(hdr.ip); packet.emit(hdr.l4); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
