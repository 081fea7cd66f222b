// Values that controllers say as strings.
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("p4rack.test/vrf", string) type bit<10> vrf_t;
@p4runtime_translation("p4rack.test/tiny", string) type bit<2> tiny_t;
@p4runtime_translation("p4rack.test/wide", bit<32>) type bit<16> wide_t;

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
@controller_header("packet_in")
header packet_in_t { vrf_t vrf; bit<6> pad; }
@controller_header("packet_out")
header packet_out_t { vrf_t vrf; bit<6> pad; }

struct headers_t { packet_in_t packet_in; packet_out_t packet_out; ethernet_t ethernet; }
struct meta_t { vrf_t vrf; tiny_t tiny; }
struct learn_t { vrf_t vrf; wide_t wide; bit<48> address; }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        transition select(std.ingress_port) { 510: out_of_cpu; default: ethernet; }
    }
    state out_of_cpu { packet.extract(hdr.packet_out); transition ethernet; }
    state ethernet { packet.extract(hdr.ethernet); transition accept; }
}

control Verify(inout headers_t hdr, inout meta_t meta) { apply {} }

control Named(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<vrf_t>(4) last;

    action set_vrf(vrf_t vrf) { meta.vrf = vrf; }
    action set_tiny(tiny_t tiny) { meta.tiny = tiny; }
    action forward(bit<9> port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    action to_cpu() {
        std.egress_spec = 510;
        hdr.packet_in.setValid();
        hdr.packet_in.vrf = meta.vrf;
        hdr.packet_in.pad = 0;
    }
    action learn() { digest<learn_t>(1, { meta.vrf, (wide_t) 16w7, hdr.ethernet.src }); }

    table assign {
        key = { std.ingress_port: exact; }
        actions = { set_vrf; }
        default_action = set_vrf((vrf_t) 10w5);
    }
    table small {
        key = { meta.tiny: exact; }
        actions = { set_tiny; NoAction; }
        default_action = set_tiny((tiny_t) 2w1);
    }
    table route {
        key = { meta.vrf: exact; hdr.ethernet.type: optional; }
        actions = { forward; to_cpu; drop; }
        default_action = drop;
    }
    table fixed {
        key = { meta.vrf: exact; }
        actions = { NoAction; }
        default_action = NoAction;
        const entries = { (vrf_t) 10w512: NoAction; }
    }
    table known {
        key = { meta.vrf: exact; }
        actions = { learn; NoAction; }
        default_action = NoAction;
    }
    apply {
        if (hdr.packet_out.isValid()) { meta.vrf = hdr.packet_out.vrf; } else { assign.apply(); }
        small.apply();
        fixed.apply();
        known.apply();
        @region("Routes") {
            route.apply();
            last.write(32w1, meta.vrf);
        }
    }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control MyCompute(inout headers_t hdr, inout meta_t meta) { apply {} }
control Deparse(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.packet_in); packet.emit(hdr.ethernet); }
}

V1Switch(Parse(), Verify(), Named(), MyEgress(), MyCompute(), Deparse()) main;
