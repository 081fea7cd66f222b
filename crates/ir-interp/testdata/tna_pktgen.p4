// The packet generator: packets by timers, and for ports that go down, are forwarded with what their headers say.
#include "tna_common.p4"

header report_t {
    bit<8>  pipe;
    bit<8>  app;
    bit<16> batch;
    bit<16> packet;
}

struct generated_t {
    pktgen_timer_header_t     timer;
    pktgen_port_down_header_t down;
    report_t                  report;
    data_t                    data;
}

parser IngressParser(packet_in packet, out generated_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        transition select(ig.ingress_port, packet.lookahead<bit<8>>()) {
            (68, 7): down;
            (6, 7): down;
            (68, _): timer;
            (6, _): timer;
            default: data;
        }
    }
    state timer {
        packet.extract(hdr.timer);
        transition data;
    }
    state down {
        packet.extract(hdr.down);
        transition data;
    }
    state data {
        packet.extract(hdr.data);
        transition accept;
    }
}

control Ingress(inout generated_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    apply {
        tm.bypass_egress = 1;
        if (hdr.timer.isValid()) {
            tm.ucast_egress_port = 1;
            hdr.report = {6w0 ++ hdr.timer.pipe_id, (bit<8>)hdr.timer.app_id, hdr.timer.batch_id, hdr.timer.packet_id};
            hdr.timer.setInvalid();
        } else if (hdr.down.isValid()) {
            tm.ucast_egress_port = 2;
            hdr.report = {6w0 ++ hdr.down.pipe_id, (bit<8>)hdr.down.app_id, 7w0 ++ hdr.down.port_num, hdr.down.packet_id};
            hdr.down.setInvalid();
        } else {
            tm.ucast_egress_port = 3;
        }
    }
}

control IngressDeparser(packet_out packet, inout generated_t hdr, in meta_t meta,
                        in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    apply { packet.emit(hdr); }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), PlainEgressParser(), PlainEgress(), PlainEgressDeparser()) pipe;
Switch(pipe) main;
