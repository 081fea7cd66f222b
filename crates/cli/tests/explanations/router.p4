// The program that entries, tests and captures of the examples are for.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> type; }
header ipv4_t { bit<64> start; bit<32> rest; bit<32> src_addr; bit<32> dst_addr; }
struct headers_t { ethernet_t ethernet; ipv4_t ipv4; }
struct metadata_t {}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(packet.length() < 34) { true: accept; default: ipv4; }
    }
    state ipv4 { packet.extract(hdr.ethernet); packet.extract(hdr.ipv4); transition accept; }
}
control MyChecksum(inout headers_t hdr, inout metadata_t meta) { apply {} }
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action forward(bit<9> port) { sm.egress_spec = port; }
    action set_next_hop(bit<9> port) { sm.egress_spec = port; }
    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; set_next_hop; }
        default_action = forward(1);
    }
    apply { @region("Acl") { routes.apply(); } }
}
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control MyDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); }
}
V1Switch(MyParser(), MyChecksum(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
