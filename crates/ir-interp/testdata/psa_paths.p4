// Every way through the switch. `op` asks ingress: 1 clone, 2 resubmit once, 3 multicast to group `a`, 4 drop,
// 5 clone and drop, 6 recirculate once, 7 clone at egress, 8 clone at egress and drop, 9 forget to be forwarded.
// What leaves shows its path, its instance and what was carried along.
#include "psa_common.p4"

parser IP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in carried_t resubmit_meta, in carried_t recirculate_meta) {
    state start {
        meta.kept = resubmit_meta.value | recirculate_meta.value;
        transition select(istd.packet_path) {
            PSA_PacketPath_t.RECIRCULATE: marked;
            default: plain;
        }
    }
    state marked {
        packet.extract(hdr.trail);
        transition plain;
    }
    state plain {
        packet.extract(hdr.data);
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
          inout psa_ingress_output_metadata_t ostd) {
    apply {
        bit<32> port = (bit<32>)hdr.data.port;
        bool first = istd.packet_path == PSA_PacketPath_t.NORMAL;
        if (hdr.data.op != 4 && hdr.data.op != 5 && hdr.data.op != 9) {
            send_to_port(ostd, (PortId_t)port);
        }
        if (hdr.data.op == 1 || hdr.data.op == 5) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t)hdr.data.a;
        }
        if (hdr.data.op == 2 && first) {
            ostd.resubmit = true;
        }
        if (hdr.data.op == 3) {
            multicast(ostd, (MulticastGroup_t)(bit<32>)hdr.data.a);
        }
        if (hdr.data.op == 6 && first) {
            ostd.egress_port = PSA_PORT_RECIRCULATE;
        }
        ostd.class_of_service = (ClassOfService_t)2;
        // The port by which a resubmitted packet came in, and that of a recirculated one.
        hdr.data.b = (bit<32>)(PortIdUint_t)istd.ingress_port;
        hdr.data.a = hdr.data.a + 1;
    }
}

control ID(packet_out packet, out carried_t clone_i2e_meta, out carried_t resubmit_meta, out carried_t normal_meta,
           inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    apply {
        if (psa_clone_i2e(istd)) {
            clone_i2e_meta.value = 0x1111;
        }
        if (psa_resubmit(istd)) {
            resubmit_meta.value = 0x2222;
        }
        if (psa_normal(istd)) {
            normal_meta.value = meta.kept;
        }
        packet.emit(hdr.data);
    }
}

parser EP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
          in carried_t normal_meta, in carried_t clone_i2e_meta, in carried_t clone_e2e_meta) {
    state start {
        meta.kept = normal_meta.value | clone_i2e_meta.value | clone_e2e_meta.value;
        transition select(istd.packet_path) {
            PSA_PacketPath_t.CLONE_E2E: marked;
            default: plain;
        }
    }
    state marked {
        packet.extract(hdr.trail);
        transition plain;
    }
    state plain {
        packet.extract(hdr.data);
        transition accept;
    }
}

control E(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
          inout psa_egress_output_metadata_t ostd) {
    apply {
        bool is_clone = istd.packet_path == PSA_PacketPath_t.CLONE_E2E;
        hdr.trail.setValid();
        hdr.trail.path = number(istd.packet_path) + 16 * (bit<8>)(ClassOfServiceUint_t)istd.class_of_service;
        hdr.trail.instance = (bit<8>)(EgressInstanceUint_t)istd.instance;
        hdr.trail.carried = meta.kept;
        if ((hdr.data.op == 7 || hdr.data.op == 8) && !is_clone) {
            ostd.clone = true;
            ostd.clone_session_id = (CloneSessionId_t)7;
            ostd.drop = hdr.data.op == 8;
        }
    }
}

control ED(packet_out packet, out carried_t clone_e2e_meta, out carried_t recirculate_meta, inout headers_t hdr,
           in meta_t meta, in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        if (psa_clone_e2e(istd)) {
            clone_e2e_meta.value = 0x4444;
        }
        if (psa_recirculate(istd, edstd)) {
            recirculate_meta.value = 0x6666;
        }
        packet.emit(hdr);
    }
}

IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
