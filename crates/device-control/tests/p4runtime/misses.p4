// Tables of PSA whose misses count and are metered.
#include <core.p4>
#include <psa.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
struct headers_t { ethernet_t ethernet; }
struct meta_t {}
struct none_t {}

parser IngressParse(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t std,
                    in none_t again, in none_t around) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}

control Misses(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t std,
               inout psa_ingress_output_metadata_t asked) {
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) counts;
    DirectMeter(PSA_MeterType_t.PACKETS) limits;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS_AND_BYTES) all;
    DirectMeter(PSA_MeterType_t.PACKETS) total;

    action to(bit<8> port) {
        counts.count();
        if (limits.execute() != PSA_MeterColor_t.RED) {
            send_to_port(asked, (PortId_t) (bit<32>) port);
        }
    }
    action quiet() { }
    action seen() {
        all.count();
        if (total.execute() == PSA_MeterColor_t.RED) {
            ingress_drop(asked);
        }
    }
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { to; quiet; }
        default_action = to(1);
        psa_direct_counter = counts;
        psa_direct_meter = limits;
    }
    table everything {
        actions = { seen; }
        const default_action = seen();
        psa_direct_counter = all;
        psa_direct_meter = total;
    }
    apply { hosts.apply(); everything.apply(); }
}

control IngressDeparse(packet_out packet, out none_t cloned, out none_t again, out none_t normal, inout headers_t hdr,
                       in meta_t meta, in psa_ingress_output_metadata_t std) {
    apply { packet.emit(hdr.ethernet); }
}

parser EgressParse(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t std,
                   in none_t normal, in none_t cloned, in none_t cloned_again) {
    state start { transition accept; }
}

control MyEgress(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t std,
               inout psa_egress_output_metadata_t asked) {
    apply { }
}

control EgressDeparse(packet_out packet, out none_t cloned, out none_t around, inout headers_t hdr, in meta_t meta,
                      in psa_egress_output_metadata_t std, in psa_egress_deparser_input_metadata_t deparser) {
    apply { }
}

IngressPipeline(IngressParse(), Misses(), IngressDeparse()) ip;
EgressPipeline(EgressParse(), MyEgress(), EgressDeparse()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
