// What most tests of TNA and T2NA share: one header that says what is done with the packet, blocks that do nothing, and a
// parser that skips the switch's metadata.
#include <core.p4>
#ifdef TOFINO2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

header data_t {
    bit<8>  op;
    bit<8>  port;
    bit<16> a;
    bit<32> b;
}

struct headers_t {
    data_t data;
}

struct meta_t {}

parser PlainIngressParser(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.data);
        transition accept;
    }
}

control PlainIngressDeparser(packet_out packet, inout headers_t hdr, in meta_t meta,
                             in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

parser PlainEgressParser(packet_in packet, out headers_t hdr, out meta_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        packet.extract(hdr.data);
        transition accept;
    }
}

control PlainEgress(inout headers_t hdr, inout meta_t meta, in egress_intrinsic_metadata_t eg,
                    in egress_intrinsic_metadata_from_parser_t prsr,
                    inout egress_intrinsic_metadata_for_deparser_t dprsr,
                    inout egress_intrinsic_metadata_for_output_port_t oport) {
    apply {}
}

control PlainEgressDeparser(packet_out packet, inout headers_t hdr, in meta_t meta,
                            in egress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}
