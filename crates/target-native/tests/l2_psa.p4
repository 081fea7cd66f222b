// Forwards by a table with a default, on PSA.
#include <core.p4>
#include <psa.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t eth;
}

struct meta_t {}
struct none_t {}

parser IP(
    packet_in pkt, out headers_t hdr, inout meta_t m, in psa_ingress_parser_input_metadata_t i, in none_t a, in none_t b
) {
    state start {
        pkt.extract(hdr.eth);
        transition accept;
    }
}

control I(
    inout headers_t hdr, inout meta_t m, in psa_ingress_input_metadata_t i, inout psa_ingress_output_metadata_t o
) {
    action forward(PortId_t port) {
        send_to_port(o, port);
    }

    table l2 {
        key = { hdr.eth.dst : exact; }
        actions = { forward; }
        default_action = forward((PortId_t) 2);
    }

    apply {
        l2.apply();
    }
}

control ID(
    packet_out pkt, out none_t a, out none_t b, out none_t c, inout headers_t hdr, in meta_t m,
    in psa_ingress_output_metadata_t i
) {
    apply {
        pkt.emit(hdr.eth);
    }
}

parser EP(
    packet_in pkt, out headers_t hdr, inout meta_t m, in psa_egress_parser_input_metadata_t i, in none_t a, in none_t b,
    in none_t c
) {
    state start {
        pkt.extract(hdr.eth);
        transition accept;
    }
}

control E(
    inout headers_t hdr, inout meta_t m, in psa_egress_input_metadata_t i, inout psa_egress_output_metadata_t o
) {
    apply {
        hdr.eth.src[31:0] = (bit<32>) i.egress_port;
    }
}

control ED(
    packet_out pkt, out none_t a, out none_t b, inout headers_t hdr, in meta_t m, in psa_egress_output_metadata_t i,
    in psa_egress_deparser_input_metadata_t d
) {
    apply {
        pkt.emit(hdr.eth);
    }
}

IngressPipeline(IP(), I(), ID()) ingress;
EgressPipeline(EP(), E(), ED()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;
