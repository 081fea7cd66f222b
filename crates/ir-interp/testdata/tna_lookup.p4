// Ways to store tables that do not change their results, hashes of other algorithms, the priority of a packet before ingress.
#include "tna_common.p4"

parser Parser(packet_in packet, out headers_t hdr, out meta_t meta, out ingress_intrinsic_metadata_t ig) {
    ParserPriority() priority;

    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            4: urgent;
            default: accept;
        }
    }
    state urgent {
        priority.set(7);
        transition accept;
    }
}

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Hash<bit<32>>(HashAlgorithm_t.RANDOM) random;
    Hash<bit<32>>(HashAlgorithm_t.RANDOM) same;
    Hash<bit<64>>(HashAlgorithm_t.CRC64) crc64;
    Alpm(number_partitions = 1024, subtrees_per_partition = 2) prefixes;
    Atcam(3) partitions;

    action set(bit<16> a) { hdr.data.a = a; }
    table routes {
        key = { hdr.data.b : lpm; }
        actions = { set; }
        const default_action = set(0);
        implementation = prefixes;
        size = 1024;
    }
    table masks {
        key = { hdr.data.b : ternary; hdr.data.a : atcam_partition_index; }
        actions = { set; }
        const default_action = set(0);
        atcam = partitions;
        size = 1024;
    }

    apply {
        tm.ucast_egress_port = (PortId_t)hdr.data.port;
        switch (hdr.data.op) {
            0: { hdr.data.b = random.get({ hdr.data.a, hdr.data.b }) ^ same.get({ hdr.data.a, hdr.data.b }); }
            1: { hdr.data.a = (bit<16>) (crc64.get(hdr.data.b) >> 48); hdr.data.b = crc64.get(hdr.data.b)[31:0]; }
            2: { routes.apply(); }
            3: { masks.apply(); }
            5: { hdr.data.b = random.get(hdr.data.b); }
            default: {}
        }
    }
}

Pipeline(Parser(), Ingress(), PlainIngressDeparser(), PlainEgressParser(), PlainEgress(), PlainEgressDeparser()) pipe;
Switch(pipe) main;
