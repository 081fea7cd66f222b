// What each extern gives; `op` says which.
#include "psa_common.p4"

parser IP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t istd,
          in none_t resubmit_meta, in none_t recirculate_meta) {
    state start {
        packet.extract(hdr.data);
        verify(hdr.data.op != 0xee, error.NoMatch);
        transition accept;
    }
}

control I(inout headers_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t istd,
          inout psa_ingress_output_metadata_t ostd) {
    Register<bit<32>, bit<16>>(4, 0x0000abcd) cells;
    Counter<bit<32>, bit<16>>(4, PSA_CounterType_t.PACKETS_AND_BYTES) counted;
    Meter<bit<16>>(4, PSA_MeterType_t.PACKETS) limit;
    DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS) hits;
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc;
    Hash<bit<32>>(PSA_HashAlgorithm_t.IDENTITY) same;
    Random<bit<16>>(5, 5) five;


    action count_it() {
        hits.count();
    }
    action leave_it() { }
    table counts {
        key = { hdr.data.a: exact; }
        actions = { count_it; leave_it; NoAction; }
        psa_direct_counter = hits;
    }

    apply {
        send_to_port(ostd, (PortId_t)1);
        PSA_MeterColor_t colour = PSA_MeterColor_t.GREEN;
        switch (hdr.data.op) {
            0: { hdr.data.b = cells.read(hdr.data.a); }
            1: { cells.write(hdr.data.a, hdr.data.b); }
            2: { counted.count(hdr.data.a); }
            3: { colour = limit.execute(hdr.data.a); }
            4: { colour = limit.execute(hdr.data.a, PSA_MeterColor_t.YELLOW); }
            5: { counts.apply(); }
            6: { hdr.data.b = crc.get_hash({ hdr.data.b }); }
            7: { hdr.data.b = same.get_hash(32w100, { hdr.data.b }, 32w10); }
            8: { hdr.data.b = same.get_hash({ hdr.data.b[3:0] }); }
            9: { hdr.data.a = five.read(); }
            default: { }
        }
        if (hdr.data.op == 3 || hdr.data.op == 4) {
            if (colour == PSA_MeterColor_t.YELLOW) {
                hdr.data.b = 1;
            } else if (colour == PSA_MeterColor_t.RED) {
                hdr.data.b = 2;
            } else {
                hdr.data.b = 0;
            }
        }
        if (istd.parser_error != error.NoError) {
            hdr.data.a = 0xdead;
        }
    }
}

control ID(packet_out packet, out none_t clone_i2e_meta, out none_t resubmit_meta, out none_t normal_meta,
           inout headers_t hdr, in meta_t meta, in psa_ingress_output_metadata_t istd) {
    Digest<data_t>() learnt;
    apply {
        if (hdr.data.op == 10) {
            learnt.pack(hdr.data);
        }
        packet.emit(hdr.data);
    }
}

parser EP(packet_in packet, out headers_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t istd,
          in none_t normal_meta, in none_t clone_i2e_meta, in none_t clone_e2e_meta) {
    InternetChecksum() sum;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.ONES_COMPLEMENT16) whole;
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            11: added;
            12: taken_away;
            13: saved;
            14: over_parts;
            default: accept;
        }
    }
    state added {
        sum.add({ hdr.data.b });
        hdr.data.a = sum.get();
        transition accept;
    }
    state taken_away {
        sum.add({ hdr.data.b });
        sum.subtract({ hdr.data.b[15:0] });
        hdr.data.a = sum.get();
        transition accept;
    }
    state saved {
        sum.add({ hdr.data.b });
        bit<16> state_of = sum.get_state();
        sum.clear();
        hdr.data.b = sum.get() ++ state_of;
        sum.set_state(state_of);
        hdr.data.a = sum.get();
        transition accept;
    }
    state over_parts {
        whole.update({ hdr.data.b[31:16] });
        whole.update(hdr.data.b[15:0]);
        hdr.data.a = whole.get();
        transition accept;
    }
}

control E(inout headers_t hdr, inout meta_t meta, in psa_egress_input_metadata_t istd,
          inout psa_egress_output_metadata_t ostd) {
    apply { }
}

control ED(packet_out packet, out none_t clone_e2e_meta, out none_t recirculate_meta, inout headers_t hdr,
           in meta_t meta, in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply {
        packet.emit(hdr);
    }
}

IngressPipeline(IP(), I(), ID()) ip;
EgressPipeline(EP(), E(), ED()) ep;
PSA_Switch(ip, PacketReplicationEngine(), ep, BufferingQueueingEngine()) main;
