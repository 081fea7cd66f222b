// One of everything that a control plane can write.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
@controller_header("packet_in")
header packet_in_t { bit<9> ingress_port; bit<7> reason; }
@controller_header("packet_out")
// `submit` is 1 for packets that go through the tables.
header packet_out_t { bit<9> egress_port; bit<7> submit; }

struct headers_t { packet_in_t packet_in; packet_out_t packet_out; ethernet_t ethernet; }
struct meta_t { bit<16> hop; bit<2> color; }
struct learn_t { bit<48> address; bit<9> port; }
struct pair_t { bit<32> a; int<8> b; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) types;
    state start {
        transition select(std.ingress_port) { 510: out_of_cpu; default: ethernet; }
    }
    state out_of_cpu { packet.extract(hdr.packet_out); transition ethernet; }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { types: special; default: accept; }
    }
    state special { meta.hop = 7; transition accept; }
}

control MyVerify(inout headers_t hdr, inout meta_t meta) { apply {} }

control MyIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(8) cells;
    register<pair_t>(2) pairs;
    counter(4, CounterType.packets_and_bytes) packets;
    meter(4, MeterType.packets) rate;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.packets) colors;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) members;
    action_selector(HashAlgorithm.crc16, 32w64, 32w16) sets;

    action forward(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    action to_cpu() {
        std.egress_spec = 510;
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = std.ingress_port;
        hdr.packet_in.reason = 5;
    }
    action learn() { digest<learn_t>(1, { hdr.ethernet.src, std.ingress_port }); }
    @action_restriction("id != 0xffff")
    action group(bit<16> id) { std.mcast_grp = id; }

    @entry_restriction("
        // Nobody has it.
        hdr.ethernet.src != 0;
        hdr.ethernet.src != -1
    ")
    table known {
        key = { hdr.ethernet.src: exact; }
        actions = { NoAction; learn; }
        default_action = NoAction;
        support_timeout = true;
        size = 3;
    }
    table route {
        key = { hdr.ethernet.dst: lpm; }
        actions = { forward; drop; to_cpu; group; }
        default_action = drop;
        counters = hits;
    }
    table filter {
        key = { hdr.ethernet.type: ternary; std.ingress_port: range; meta.hop: optional; }
        actions = { forward; drop; NoAction; }
        default_action = NoAction;
        meters = colors;
    }
    table ecmp {
        key = { meta.hop: exact; hdr.ethernet.src: selector; }
        actions = { forward; NoAction; }
        implementation = members;
    }
    table spread {
        key = { meta.hop: exact; hdr.ethernet.src: selector; }
        actions = { forward; NoAction; }
        implementation = sets;
    }
    table fixed {
        key = { hdr.ethernet.type: exact; }
        actions = { forward; NoAction; }
        const default_action = NoAction;
        const entries = { 0x88cc: forward(3); }
    }
    apply {
        if (hdr.packet_out.isValid() && hdr.packet_out.submit == 0) {
            std.egress_spec = hdr.packet_out.egress_port;
        } else {
            packets.count((bit<32>) std.ingress_port & 3);
            route.apply();
            @region("Cells") {
                rate.execute_meter(32w0, meta.color);
                cells.write(32w1, (bit<32>) hdr.ethernet.type);
            }
            @region("Known") { known.apply(); }
            @region("Filter") {
                filter.apply();
                ecmp.apply();
            }
            spread.apply();
            fixed.apply();
        }
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control MyCompute(inout headers_t hdr, inout meta_t meta) { apply {} }
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.packet_in); packet.emit(hdr.ethernet); }
}

V1Switch(Parse(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), Deparse()) main;
