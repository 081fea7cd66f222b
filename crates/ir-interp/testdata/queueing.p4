// What the queue says: zero in ingress; in egress times that fit each other. `a` has a bit for each fact.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = (PortId_t)hdr.data.port;
        if (sm.enq_timestamp == 0 && sm.enq_qdepth == 0 && sm.deq_timedelta == 0 && sm.deq_qdepth == 0) {
            hdr.data.a[0:0] = 1;
        }
        if (sm.egress_global_timestamp == 0 && sm.egress_port == 0 && sm.egress_rid == 0) {
            hdr.data.a[1:1] = 1;
        }
        if (sm.ingress_global_timestamp > 0) {
            hdr.data.a[2:2] = 1;
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.egress_global_timestamp >= sm.ingress_global_timestamp) {
            hdr.data.a[4:4] = 1;
        }
        bit<48> enqueued = (bit<48>)sm.enq_timestamp;
        if (enqueued >= sm.ingress_global_timestamp && enqueued <= sm.egress_global_timestamp) {
            hdr.data.a[5:5] = 1;
        }
        if (enqueued + (bit<48>)sm.deq_timedelta <= sm.egress_global_timestamp) {
            hdr.data.a[6:6] = 1;
        }
        // One packet at a time: nobody is before it, nobody behind.
        if (sm.enq_qdepth == 0 && sm.deq_qdepth == 0) {
            hdr.data.a[7:7] = 1;
        }
        if (sm.egress_port == (PortId_t)hdr.data.port && sm.egress_spec == 0) {
            hdr.data.a[8:8] = 1;
        }
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
