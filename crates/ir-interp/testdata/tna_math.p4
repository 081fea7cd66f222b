// Math units in register actions, and the metadata of ports.
#include "tna_common.p4"

struct port_md_t {
    bit<16> vlan;
    bit<8>  class;
    bit<9>  peer;
    bit<7>  rest;
}

struct local_t {
    port_md_t port;
}

parser IngressParser(packet_in packet, out headers_t hdr, out local_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        meta.port = port_metadata_unpack<port_md_t>(packet);
        packet.extract(hdr.data);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout local_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<bit<32>, bit<8>>(1) cell;
    // A quarter, the square, ten times the root, 4096 over x.
    MathUnit<bit<32>>(MathOp_t.MUL, 1, 4) quarter;
    MathUnit<bit<32>>(MathOp_t.SQR, 1) square;
    MathUnit<bit<32>>(MathOp_t.SQRT, 10) root;
    MathUnit<bit<32>>(MathOp_t.DIV, 4096) inverse;
    // The position of the highest bit, by a table of ones: 2^2 * 1 * 2^e.
    MathUnit<bit<32>>(false, 0, 2, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 5}) highest;
    RegisterAction<bit<32>, bit<8>, bit<32>>(cell) by_quarter = {
        void apply(inout bit<32> value, out bit<32> result) { value = quarter.execute(hdr.data.b); result = value; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(cell) by_square = {
        void apply(inout bit<32> value, out bit<32> result) { value = square.execute(hdr.data.b); result = value; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(cell) by_root = {
        void apply(inout bit<32> value, out bit<32> result) { value = root.execute(hdr.data.b); result = value; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(cell) by_inverse = {
        void apply(inout bit<32> value, out bit<32> result) { value = inverse.execute(hdr.data.b); result = value; }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(cell) by_highest = {
        void apply(inout bit<32> value, out bit<32> result) { value = highest.execute(hdr.data.b); result = value; }
    };
    // The unit's argument may be the cell.
    RegisterAction<bit<32>, bit<8>, bit<32>>(cell) again = {
        void apply(inout bit<32> value, out bit<32> result) { value = quarter.execute(value); result = value; }
    };

    apply {
        tm.ucast_egress_port = (PortId_t)hdr.data.port;
        switch (hdr.data.op) {
            0: { hdr.data.b = by_quarter.execute(0); }
            1: { hdr.data.b = by_square.execute(0); }
            2: { hdr.data.b = by_root.execute(0); }
            3: { hdr.data.b = by_inverse.execute(0); }
            4: { hdr.data.b = by_highest.execute(0); }
            5: { hdr.data.b = again.execute(0); }
            6: {
                tm.ucast_egress_port = meta.port.peer;
                hdr.data.a = meta.port.vlan;
                hdr.data.port = meta.port.class;
                hdr.data.b = (bit<32>)meta.port.rest;
            }
            default: {}
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in local_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), PlainEgressParser(), PlainEgress(),
         PlainEgressDeparser()) pipe;
Switch(pipe) main;
