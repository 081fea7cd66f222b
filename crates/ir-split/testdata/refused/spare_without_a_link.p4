// place: R = nic
// spares: nic2
// links: tor-nic, nic-nic2
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { bit<8> m; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control In(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    @soft register<bit<8>>(4) may_be_lost;

    apply {
        @region("R") {
            may_be_lost.write(0, hdr.h.a);
            hdr.h.b = 1;
        }
        std.egress_spec = 2;
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
// error[P4R0508] no link from `tor` to `nic2`
