// place: R = nic
// shard: nic2
// replicas: 2
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; }
struct metadata { @shard("R", 4) bit<8> shard; }
parser P(packet_in pkt, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start { pkt.extract(hdr.h); transition accept; }
}
control In(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    @soft register<bit<8>>(4) may_be_lost;
    @sharded register<bit<8>>(4) of_a_flow;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0505] a spare would lack what `In.of_a_flow` holds: each of `nic`, `nic2` would have one
    counter(4, CounterType.packets) counted;
    apply {
        meta.shard = hdr.h.a & 3;
        @region("R") {
            may_be_lost.write(0, hdr.h.a);
            of_a_flow.write((bit<32>)meta.shard, hdr.h.a);
            counted.count(0);
        }
        std.egress_spec = 2;
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
