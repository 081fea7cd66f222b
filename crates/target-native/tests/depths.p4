// Every packet takes along what its program reads of its queue. The first byte is the multicast group, or 0; the
// second one the port.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> group; bit<8> port; bit<19> entered; bit<19> left; bit<32> waited; bit<10> rest; }
struct headers_t { h_t h; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.h); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = (bit<9>)hdr.h.port;
        standard.mcast_grp = (bit<16>)hdr.h.group;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.h.entered = standard.enq_qdepth;
        hdr.h.left = standard.deq_qdepth;
        hdr.h.waited = standard.deq_timedelta;
    }
}

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
