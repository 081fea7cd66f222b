// A program that the example completes: types, externs, or the whole ingress.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst_addr; bit<48> src_addr; bit<16> type; }
struct headers_t { ethernet_t ethernet; }

// EXAMPLE

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { transition accept; }
}
control MyChecksum(inout headers_t hdr, inout metadata_t meta) { apply {} }
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control MyDeparser(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.ethernet); } }
V1Switch(MyParser(), MyChecksum(), ingress(), MyEgress(), MyChecksum(), MyDeparser()) main;
