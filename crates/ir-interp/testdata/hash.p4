// hash(result, algorithm, base, data, max): `op` chooses the algorithm, `b` is the data, `a` gets the result.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        bit<32> wide = 0;
        switch (hdr.data.op) {
            0: { hash(wide, HashAlgorithm.crc32, 32w0, { hdr.data.b }, 64w0x100000000); }
            1: { hash(wide, HashAlgorithm.crc16, 32w0, { hdr.data.b }, 32w0x10000); }
            2: { hash(wide, HashAlgorithm.csum16, 32w0, { hdr.data.b }, 32w0x10000); }
            3: { hash(wide, HashAlgorithm.xor16, 32w0, { hdr.data.b }, 32w0x10000); }
            4: { hash(wide, HashAlgorithm.identity, 32w0, { hdr.data.b }, 64w0x100000000); }
            // base + H mod max; max 0 counts as 1; fields of invalid headers are left out.
            5: { hash(wide, HashAlgorithm.identity, 32w100, { hdr.data.b }, 32w10); }
            6: { hash(wide, HashAlgorithm.identity, 32w100, { hdr.data.b }, 32w0); }
            7: { hash(wide, HashAlgorithm.identity, 32w0, { hdr.extra.value, hdr.data.b[7:0] }, 32w0x10000); }
            8: { hash(wide, HashAlgorithm.identity, 32w0, { hdr.data.b[3:0] }, 32w0x10000); }
            9: { hash(wide, HashAlgorithm.crc32_custom, 32w0, { hdr.data.b }, 64w0x100000000); }
            10: { hash(wide, HashAlgorithm.crc16_custom, 32w0, { hdr.data.b }, 32w0x10000); }
            // The sum has 64 bits and is cut then.
            11: { hash(wide, HashAlgorithm.identity, 32w0xffffffff, { hdr.data.b }, 32w2); }
            12: { hash(wide, HashAlgorithm.identity, 32w7, { hdr.data.b }, 32w1); }
            default: { }
        }
        hdr.data.b = wide;
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
