// The kind of the packet is not the same when it is parsed again.
// place: R = nic
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; h_t g; }
struct metadata { bit<8> x; bit<8> y; bool flag; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        meta.y = (bit<8>)std.instance_type;
//               ^^^^^^^^^^^^^^^^^^^^^^^^^ error[P4R0501] this program cannot be split yet: the parser reads `std.instance_type`, and ingress resubmits packets after a cut: the original packet is not known
        transition select(hdr.h.a) { 1: second; default: accept; }
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        @region("R") {
            meta.x = 1;
            resubmit_preserving_field_list(0);
        }
        std.egress_spec = 1;
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
    }
}

control C(inout headers hdr, inout metadata meta) { apply { } }

control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.h); packet.emit(hdr.g); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
