// Each packet is told, with a number of its own.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header packet_t { bit<8> worker; bit<32> number; }

struct headers_t { packet_t packet; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.packet); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    meter<bit<32>>(1, MeterType.packets) limit;

    table kinds {
        key = { hdr.packet.worker: exact; }
        actions = { NoAction; }
        default_action = NoAction();
    }

    apply {
        standard.egress_spec = 1;
        kinds.apply();
#ifdef METER
        // The switch is locked from here on.
        bit<2> colour;
        limit.execute_meter(0, colour);
#endif
        digest(1, hdr.packet);
        log_msg("{}", { hdr.packet.number });
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.packet); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
