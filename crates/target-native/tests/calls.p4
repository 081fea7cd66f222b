// An extern that is called for each packet.
#include <core.p4>
#include <v1model.p4>

@value_extern("slow") extern Slow { Slow(); bool call(in bit<32> number, out bit<16> seen); }

header number_h { bit<32> number; bit<16> seen; }
struct headers_t { number_h number; }
struct metadata_t {}

parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.number); transition accept; }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Slow() slow;
    apply {
        bit<16> seen;
        if (slow.call(hdr.number.number, seen)) { sm.egress_spec = 1; } else { sm.egress_spec = 2; }
        hdr.number.seen = seen;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.number); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
