// assert and assume: nothing where they hold, the end of the packet where they do not (BMv2 stops as a whole).
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<32>, bit<8>>(1) reached;

    action check_port() {
        assert(hdr.data.port != 9);
    }

    apply {
        sm.egress_spec = 1;
        assert(hdr.data.op != 1);
        assume(hdr.data.op != 2);
        check_port();
        bit<32> count;
        reached.read(count, 0);
        reached.write(0, count + 1);
        hdr.data.b = count;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        assert(hdr.data.op != 3 || sm.egress_port == 2);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
