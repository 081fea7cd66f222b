// Packets that are dropped, sent or copied, and counted; with TIME they also tell when they came.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header what_t { bit<8> what; bit<16> number; bit<48> time; }

struct headers_t { what_t what; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.what); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<16>, bit<32>>(4) numbers;
    counter<bit<32>>(4, CounterType.packets) kinds;

    apply {
        bit<32> kind = (bit<32>)(hdr.what.what & 3);
        kinds.count(kind);
        numbers.read(hdr.what.number, kind);
        numbers.write(kind, hdr.what.number + 1);
        if (kind == 0) {
            mark_to_drop(standard);
        } else if (kind == 1) {
            standard.mcast_grp = 1;
        } else {
            standard.egress_spec = 3 + (bit<9>)kind - standard.ingress_port;
        }
#ifdef TIME
        hdr.what.time = standard.ingress_global_timestamp;
#endif
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
