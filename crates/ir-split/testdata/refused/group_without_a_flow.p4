// place: R = nic
// group: nic2
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { @flow("S", 4) bit<8> other; @flow("R", 0) bit<8> none; @flow("R", 2) bit<513> wide; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control In(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action set(bit<8> b) { hdr.h.b = b; }
    table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = set(7); }
    apply {
        @region("R") { t.apply(); }
//      ^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R1501] the device is not determined for packets of region `R`: this runs on several devices
        std.egress_spec = 2;
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
