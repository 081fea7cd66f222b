// place: R = nic
// shard: nic2
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
    counter(4, CounterType.packets) counted;
    direct_counter(CounterType.packets) hits;
    table t { key = { hdr.h.a: exact; } actions = { NoAction; } counters = hits; }
    register<bit<8>>(4) kept;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R1303] `In.kept` cannot be divided among devices: each of `nic`, `nic2` would have one
    @merge("add") register<bit<8>>(4) summed;
    meter(4, MeterType.packets) rates;
//  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R1303] `In.rates` cannot be divided among devices: each of `nic`, `nic2` would have one
    apply {
        meta.shard = hdr.h.a & 3;
        bit<8> sum;
        @region("R") {
            may_be_lost.write(0, hdr.h.a);
            of_a_flow.write((bit<32>)meta.shard, hdr.h.a);
            counted.count(0);
            t.apply();
            kept.write(0, hdr.h.a);
            summed.read(sum, 0);
            sum = sum + hdr.h.a;
            summed.write(0, sum);
            rates.execute_meter(0, hdr.h.b);
        }
        std.egress_spec = 2;
    }
}
control Out(inout headers hdr, inout metadata meta, inout standard_metadata_t std) { apply {} }
control C(inout headers hdr, inout metadata meta) { apply {} }
control D(packet_out pkt, in headers hdr) { apply { pkt.emit(hdr); } }
V1Switch(P(), C(), In(), Out(), C(), D()) main;
