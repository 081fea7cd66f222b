#include <core.p4>
#include <psa.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header tag_t {
    bit<32> value;
}

struct headers_t {
    ethernet_t eth;
    tag_t tag;
}

struct metadata_t {
    bit<8> class;
}

struct empty_t {}

struct clone_t {
    bit<16> why;
}

parser IP(packet_in packet, out headers_t hdr, inout metadata_t meta, in psa_ingress_parser_input_metadata_t istd,
          in clone_t resubmit_meta, in empty_t recirculate_meta) {
    state start {
        packet.extract(hdr.eth);
        transition accept;
    }
}

control I(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
          inout psa_ingress_output_metadata_t ostd) {
    Register<bit<32>, bit<8>>(16) seen;
    action forward(PortId_t port) {
        send_to_port(ostd, port);
    }
    table route {
        key = { hdr.eth.dst: exact; }
        actions = { forward; NoAction; }
    }
    apply {
        route.apply();
        seen.write(meta.class, seen.read(meta.class) + 1);
    }
}

control ID(packet_out packet, out clone_t clone_i2e_meta, out clone_t resubmit_meta, out metadata_t normal_meta,
           inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_clone_i2e(istd)) {
            clone_i2e_meta.why = 7;
        }
        if (psa_normal(istd)) {
            normal_meta = meta;
        }
        packet.emit(hdr.eth);
    }
}

parser EP(packet_in packet, out headers_t hdr, inout metadata_t meta, in psa_egress_parser_input_metadata_t istd,
          in metadata_t normal_meta, in clone_t clone_i2e_meta, in empty_t clone_e2e_meta) {
    state start {
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_I2E: cloned;
            default: normal;
        }
    }
    state cloned {
        meta.class = (bit<8>)clone_i2e_meta.why;
        transition rest;
    }
    state normal {
        meta = normal_meta;
        transition rest;
    }
    state rest {
        packet.extract(hdr.eth);
        transition accept;
    }
}

control E(inout headers_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
          inout psa_egress_output_metadata_t ostd) {
    apply {
        hdr.tag.setValid();
        hdr.tag.value = (bit<32>)meta.class;
    }
}

control ED(packet_out packet, out empty_t clone_e2e_meta, out empty_t recirculate_meta, inout headers_t hdr,
           in metadata_t meta, in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr);
    }
}

IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
