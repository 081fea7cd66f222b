// place: R = nic, Q = nic
// shard: nic2
// show: generate
// The tables of the policy are applied at one place, since BMv2 refuses a table that is followed by two statements.
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { @shard("R", 4) bit<8> shard; @shard("Q", 2) bit<4> other; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control In(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    action set(bit<8> b) { hdr.h.b = b; }
    table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = set(7); }
    table u { key = { hdr.h.b: exact; } actions = { set; NoAction; } default_action = set(8); }
    apply {
        std.egress_spec = 2;
        if (hdr.h.a > 7) {
            hash(meta.shard, HashAlgorithm.crc32, 8w0, { hdr.h.a }, 8w4);
            @region("R") { t.apply(); }
        } else {
            hash(meta.other, HashAlgorithm.crc32, 4w0, { hdr.h.b }, 4w2);
            @region("Q") { u.apply(); }
        }
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
