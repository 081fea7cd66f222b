// Registers: reads and writes, actions with results and values of the packet, cells of entries, parameters.
#include "tna_common.p4"

struct pair_t {
    bit<16> low;
    bit<16> high;
}

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<bit<32>, bit<8>>(4, 7) plain;

    // An index of its actions has fewer bits than one of the register.
    Register<bit<32>, bit<32>>(4) sums;
    RegisterAction<bit<32>, bit<8>, bit<32>>(sums) add = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value + hdr.data.b;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(sums) clear = {
        void apply(inout bit<32> value) {
            value = 0;
        }
    };

    Register<pair_t, bit<8>>(2, {1, 2}) pairs;
    RegisterParam<bit<16>>(5) step;
    RegisterAction<pair_t, bit<8>, bit<16>>(pairs) swap = {
        void apply(inout pair_t value, out bit<16> high) {
            bit<16> low = value.low;
            value.low = value.high;
            value.high = low + step.read();
            high = value.high;
        }
    };

    Register<bit<16>, bit<8>>(2) trail;
    RegisterAction<bit<16>, bit<8>, bit<16>>(trail) note = {
        void apply(inout bit<16> value, out bit<16> before) {
            before = value;
            value = hdr.data.a;
        }
    };

    Register<bit<8>, bit<8>>(1) limits;
    RegisterAction<bit<8>, bit<8>, bit<8>>(limits) compare = {
        void apply(inout bit<8> value, out bit<8> result) {
            result = this.predicate(hdr.data.b > 10, hdr.data.b > 20);
            value = value |+| 100;
        }
    };

    DirectRegister<bit<16>>(3) hits;
    DirectRegisterAction<bit<16>, bit<16>>(hits) hit = {
        void apply(inout bit<16> value, out bit<16> result) {
            value = value + 1;
            result = value;
        }
    };
    action one() { hdr.data.a = hit.execute(); }
    action read() { hdr.data.a = hits.read(); }
    action write() { hits.write(hdr.data.a); }
    table entries {
        key = { hdr.data.b : exact; }
        actions = { one; read; write; }
        registers = hits;
        const entries = {
            1 : one();
            2 : one();
            3 : write();
        }
        const default_action = one();
    }

    bit<8> index = (bit<8>)hdr.data.a;

    apply {
        tm.ucast_egress_port = (PortId_t)hdr.data.port;
        switch (hdr.data.op) {
            0: { hdr.data.b = plain.read(index); }
            1: { plain.write(index, hdr.data.b); }
            2: { hdr.data.b = add.execute(index); }
            3: { hdr.data.b = clear.execute(index); }
            4: { hdr.data.a = swap.execute(index); }
            5: { hdr.data.b = 24w0 ++ compare.execute(0); }
            6: { entries.apply(); }
            7: { hdr.data.a = note.execute_log(); }
            default: {}
        }
    }
}

Pipeline(PlainIngressParser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), PlainEgress(),
         PlainEgressDeparser()) pipe;
Switch(pipe) main;
