// Hashes, random numbers, arithmetic, counters, meters and digests.
#include "tna_common.p4"

control Ingress(inout headers_t hdr, inout meta_t meta, in ingress_intrinsic_metadata_t ig,
                in ingress_intrinsic_metadata_from_parser_t prsr,
                inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                inout ingress_intrinsic_metadata_for_tm_t tm) {
    Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc32;
    Hash<bit<8>>(HashAlgorithm_t.CRC8) crc8;
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) identity;
    Hash<bit<8>>(HashAlgorithm_t.XOR8) xor8;
    CRCPolynomial<bit<16>>(0x1021, false, false, false, 0, 0) xmodem;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, xmodem) custom;
    Random<bit<8>>() random;
    Counter<bit<64>, bit<8>>(4, CounterType_t.PACKETS_AND_BYTES) counted;
    Meter<bit<8>>(4, MeterType_t.PACKETS) limit;
    Meter<bit<8>>(4, MeterType_t.PACKETS, 13, 12, 11) named;
    DirectCounter<bit<64>>(CounterType_t.PACKETS) hits;
    DirectMeter(MeterType_t.PACKETS) rates;

    action hit() { hits.count(); hdr.data.a = 1; }
    action quiet() { hdr.data.a = 2; }
    action rated() { hdr.data.a[7:0] = rates.execute(); }
    table entries {
        key = { hdr.data.b : exact; }
        actions = { hit; quiet; }
        const default_action = hit();
        counters = hits;
    }
    table metered {
        key = { hdr.data.b : exact; }
        actions = { rated; quiet; }
        const default_action = quiet();
        meters = rates;
    }

    bit<8> index = hdr.data.a[7:0];

    apply {
        tm.ucast_egress_port = (PortId_t)hdr.data.port;
        switch (hdr.data.op) {
            0: { hdr.data.a = crc16.get(hdr.data.b); }
            1: { hdr.data.b = crc32.get({hdr.data.b}); }
            2: { hdr.data.a = 8w0 ++ crc8.get(hdr.data.b); }
            3: { hdr.data.a = identity.get(hdr.data.b); }
            4: { hdr.data.a = 8w0 ++ xor8.get({hdr.data.b}); }
            5: { hdr.data.a = custom.get({hdr.data.b[31:16], hdr.data.b[15:0]}); }
            // Zero bits go in front.
            6: { hdr.data.a = crc16.get(hdr.data.b[3:0]); }
            7: { hdr.data.b[7:0] = random.get(); }
            8: { hdr.data.a = max(hdr.data.a, hdr.data.b[15:0]); }
            9: { hdr.data.a = min(hdr.data.a, hdr.data.b[15:0]); }
            10: { funnel_shift_right(hdr.data.a, hdr.data.b[31:16], hdr.data.b[15:0], 4); }
            11: { hdr.data.b = sizeInBits(hdr.data); hdr.data.a = (bit<16>)sizeInBytes(hdr.data); }
            12: { if (is_validated(hdr.data.a)) { hdr.data.a = 1; } }
            13: { counted.count(index); }
            14: { counted.count(index, 5); }
            15: { hdr.data.a[7:0] = limit.execute(index); }
            16: { hdr.data.a[7:0] = limit.execute(index = index, color = MeterColor_t.YELLOW); }
            17: { hdr.data.a[7:0] = named.execute(index); }
            18: { entries.apply(); }
            19: { metered.apply(); }
            20: { dprsr.digest_type = 3; }
            default: {}
        }
    }
}

struct learnt_t {
    bit<16> a;
    bit<32> b;
}

control Deparser(packet_out packet, inout headers_t hdr, in meta_t meta,
                 in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Digest<learnt_t>(3) learnt;
    apply {
        if (dprsr.digest_type == 3) {
            learnt.pack({hdr.data.a, hdr.data.b});
        }
        packet.emit(hdr);
    }
}

Pipeline(PlainIngressParser(), Ingress(), Deparser(), PlainEgressParser(), PlainEgress(), PlainEgressDeparser()) pipe;
Switch(pipe) main;
