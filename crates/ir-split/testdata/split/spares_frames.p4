// A frame extern at a device with spares keeps packets: reports are sent all the same, and it works once for each packet.
// place: R = nic
// spares: nic2
// show: check
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
@frame_extern("beacon") extern Beacon { Beacon(); void call(in bit<8> x); }
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { bit<8> m; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control In(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    @soft Beacon() cache;
    apply {
        meta.m = hdr.h.b;
        @region("R") {
            cache.call(hdr.h.a);
            hdr.h.b = meta.m + 7;
        }
        std.egress_spec = 2;
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
