// What Tofino 2 has differently: more metadata before a frame, mirrors of either form of a packet, its own ports, and
// register actions with several results.
#define TOFINO2
#include "tna_common.p4"

header note_t {
    bit<8> note;
}

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Register<bit<16>, bit<8>>(4) sums;
    RegisterAction2<bit<16>, bit<8>, bit<16>, bit<32>>(sums) add = {
        void apply(inout bit<16> value, out bit<16> before, out bit<32> after) {
            before = value;
            value = value + hdr.data.a;
            after = 16w0 ++ value;
        }
    };
    apply {
        tm.ucast_egress_port = (PortId_t)hdr.data.port;
        switch (hdr.data.op) {
            0: { dprsr.mirror_type = 1; hdr.data.a = 0xffff; }
            1: { dprsr.mirror_type = 1; dprsr.mirror_io_select = 1; hdr.data.a = 0xffff; }
            2: { hdr.data.a = add.execute(1, hdr.data.b); }
            3: {
                hdr.data.a = 7w0 ++ ig.ingress_port;
                if (ig.ingress_port != 6) { tm.ucast_egress_port = 6; }
            }
            default: {}
        }
    }
}

control IngressDeparser(packet_out packet, inout headers_t hdr, in meta_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Mirror(1) mirror;
    apply {
        if (dprsr.mirror_type == 1) {
            mirror.emit<note_t>(5, {0xaa});
        }
        packet.emit(hdr);
    }
}

struct noted_t {
    note_t note;
}

parser EgressParser(packet_in packet, out noted_t hdr, out meta_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        transition accept;
    }
}

control Egress(inout noted_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg,
               in egress_intrinsic_metadata_from_parser_t prsr,
               inout egress_intrinsic_metadata_for_deparser_t dprsr,
               inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {}
}

control EgressDeparser(packet_out packet, inout noted_t hdr, in meta_t meta,
                       in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

Pipeline(PlainIngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
