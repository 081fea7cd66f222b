// FlexSwitch's Fig. 4: XCP's parameters at staggered moments. phi is new at the end of an interval of 1,024 units of time; the coefficient xi = phi / sum
// is new whenever the sum of the weights since its last evaluation reaches a power of two, so that the division is a shift by a constant.
//
// The power is the largest one that is at most the sum of the last whole interval: xi is evaluated once or twice in an interval.
#include <v1model.p4>
#include <p4rack/blocks/periodic/interval=10,cells=2,as=Ends.p4>
#include <p4rack/blocks/rate-interval/interval=10,cells=2,as=Total.p4>

header packet_h { bit<32> now; bit<32> weight; bit<32> spare; }
header result_h { bit<32> phi; bit<32> xi; bit<32> reached; bit<8> shift; bit<8> ends; }
struct headers_t { packet_h packet; result_h result; }
struct metadata_t { bit<32> phi; bit<32> total; bit<32> limit; bit<32> quotient; bit<8> shift; }

parser P(packet_in p, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.packet); transition accept; }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Ends() ends;
    Total() total;
    register<bit<32>>(1) phis;
    register<bit<32>>(1) sums;
    register<bit<32>>(1) coefficients;

    action by_512() { meta.limit = 512; meta.shift = 9; meta.quotient = meta.phi >> 9; }
    action by_1024() { meta.limit = 1024; meta.shift = 10; meta.quotient = meta.phi >> 10; }
    action by_2048() { meta.limit = 2048; meta.shift = 11; meta.quotient = meta.phi >> 11; }
    action by_4096() { meta.limit = 4096; meta.shift = 12; meta.quotient = meta.phi >> 12; }
    table powers {
        key = { meta.total: ternary; }
        actions = { by_512; by_1024; by_2048; by_4096; }
        const default_action = by_512();
        const entries = {
            1024 &&& 0xfffffc00: by_1024();
            2048 &&& 0xfffff800: by_2048();
            4096 &&& 0xfffff000: by_4096();
        }
    }

    apply {
        bit<1> due;
        bit<32> ended;
        ends.apply(0, hdr.packet.now, due, ended);
        phis.read(meta.phi, 0);
        if (due == 1) { meta.phi = hdr.packet.spare; }
        phis.write(0, meta.phi);
        total.apply(0, hdr.packet.now, hdr.packet.weight, meta.total);
        powers.apply();

        bit<32> sum;
        bit<32> reached = 0;
        sums.read(sum, 0);
        sum = sum + hdr.packet.weight;
        if (sum >= meta.limit) { reached = sum; sum = 0; }
        sums.write(0, sum);
        bit<32> xi;
        coefficients.read(xi, 0);
        if (reached != 0) { xi = meta.quotient; }
        coefficients.write(0, xi);

        hdr.result.setValid();
        hdr.result.phi = meta.phi;
        hdr.result.xi = xi;
        hdr.result.reached = reached;
        hdr.result.shift = meta.shift;
        hdr.result.ends = (bit<8>)due;
        sm.egress_spec = 1;
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply {} }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.result); } }
V1Switch(P(), C(), I(), E(), C(), D()) main;
