// Registers, counters, meters: out of range does nothing; counters and meters see the length that came in.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>, bit<16>>(4) cells;
    counter<bit<16>>(4, CounterType.packets_and_bytes) counted;
    meter<bit<16>>(4, MeterType.packets) limit;
    direct_counter(CounterType.bytes) hits;
    direct_meter<bit<8>>(MeterType.bytes) rate;

    action seen() {
        hits.count();
    }
    action metered() {
        rate.read(meta.kept_too);
        hdr.data.port = meta.kept_too;
    }
    table counts {
        key = { hdr.data.a: exact; }
        actions = { seen; NoAction; }
        counters = hits;
    }
    table meters {
        key = { hdr.data.a: exact; }
        actions = { metered; NoAction; }
        meters = rate;
        const entries = { 7: metered(); }
    }

    apply {
        sm.egress_spec = 1;
        if (hdr.data.op == 0) {
            cells.read(hdr.data.b, hdr.data.a);
        } else if (hdr.data.op == 1) {
            cells.write(hdr.data.a, hdr.data.b);
        } else if (hdr.data.op == 2) {
            hdr.extra.setValid();
            counted.count(hdr.data.a);
        } else if (hdr.data.op == 3) {
            limit.execute_meter(hdr.data.a, hdr.data.port);
        } else if (hdr.data.op == 4) {
            counts.apply();
        } else {
            meters.apply();
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
