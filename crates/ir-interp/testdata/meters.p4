// Meters with rates: of packets (op 0), of bytes (op 1), of an entry (op 2). The peak bucket is asked first and
// what it refuses takes nothing from the other.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    meter<bit<16>>(3, MeterType.packets) packets;
    meter<bit<16>>(3, MeterType.bytes) bytes;
    direct_meter<bit<2>>(MeterType.bytes) rate;
    bit<2> colour = 3;

    action metered() {
        rate.read(colour);
    }
    table entries_with_meters {
        key = { hdr.data.a: exact; }
        actions = { metered; NoAction; }
        default_action = NoAction();
        meters = rate;
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.data.op == 0) {
            packets.execute_meter(hdr.data.a, colour);
        } else if (hdr.data.op == 1) {
            bytes.execute_meter(hdr.data.a, colour);
        } else {
            entries_with_meters.apply();
        }
        hdr.data.port = (bit<8>)colour;
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
