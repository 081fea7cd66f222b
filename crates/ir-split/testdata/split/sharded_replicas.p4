// place: R = nic
// shard: nic2, nic3
// replicas: 2
// show: layout
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { @shard("R", 6) bit<8> shard; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control In(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action set(bit<8> b) { hdr.h.b = b; }
    table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = set(7); }
    apply {
        hash(meta.shard, HashAlgorithm.crc32, 8w0, { hdr.h.a }, 8w6);
        @region("R") { t.apply(); }
        std.egress_spec = 2;
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
