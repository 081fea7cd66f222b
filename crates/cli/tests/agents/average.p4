// Writes the moving average of what frames say into them, and sends them to port 2. The average is the memory of an extern.
#include <core.p4>
#include <v1model.p4>

@value_extern("ewma")
extern Ewma {
    Ewma(bit<8> shift);
    bit<32> update(in bit<32> sample);
}

header sample_t {
    bit<32> sample;
    bit<32> average;
}

struct headers_t {
    sample_t sample;
}

struct meta_t {}

parser AverageParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.sample);
        transition accept;
    }
}

control AverageVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control AverageIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    Ewma(1) average;
    apply {
        hdr.sample.average = average.update(hdr.sample.sample);
        sm.egress_spec = 2;
    }
}

control AverageEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {}
}

control AverageCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control AverageDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.sample);
    }
}

V1Switch(AverageParser(), AverageVerify(), AverageIngress(), AverageEgress(), AverageCompute(), AverageDeparser()) main;
