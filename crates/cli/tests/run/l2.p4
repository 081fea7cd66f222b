// A switch with static addresses, for the tests of `p4rack run`.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

@controller_header("packet_in")
header packet_in_t {
    bit<16> port;
}

struct headers_t {
    packet_in_t packet_in;
    ethernet_t  ethernet;
}

struct meta_t {
    bit<16> class;
}

struct learn_t {
    bit<48> addr;
    bit<9>  port;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        meta.class = 1;
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) { apply { } }

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(8) seen;
    counter(8, CounterType.packets_and_bytes) ports;
    direct_counter(CounterType.packets) hits;
    action_profile(8) ways;

    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port) { sm.egress_spec = port; }
    action flood(bit<16> group) { sm.mcast_grp = group; }
    action to_controller() {
        sm.egress_spec = 64;
        hdr.packet_in.setValid();
        hdr.packet_in.port = (bit<16>)sm.ingress_port;
    }
    table l2 {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; flood; drop; to_controller; }
        default_action = drop();
        counters = hits;
    }
    table acl {
        key = { hdr.ethernet.src_addr: ternary; sm.ingress_port: range; }
        actions = { drop; NoAction; }
        default_action = NoAction();
    }
    table choice {
        key = { meta.class: exact; }
        actions = { forward; NoAction; }
        implementation = ways;
        default_action = NoAction();
    }
    apply {
        bit<32> n;
        seen.read(n, (bit<32>)sm.ingress_port);
        seen.write((bit<32>)sm.ingress_port, n + 1);
        ports.count((bit<32>)sm.ingress_port);
        if (l2.apply().hit) {
            acl.apply();
        } else {
            digest<learn_t>(1, { hdr.ethernet.src_addr, sm.ingress_port });
            log_msg("no address on port {}", { sm.ingress_port });
        }
        choice.apply();
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
