// Every hash algorithm on "123456789", the text that the catalogues of CRCs give their check values for.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header data_t {
    bit<8>  op;
    bit<56> first;
    bit<16> last;
    bit<64> result;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply {
        // The check that the sum is right is that of the sum's own algorithm.
        verify_checksum(hdr.data.op == 16, { hdr.data.first, hdr.data.last }, hdr.data.result, HashAlgorithm.crc32);
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = sm.checksum_error == 1 ? 9w2 : 9w1;
        bit<64> whole = 0;
        if (hdr.data.op == 0) {
            hash(whole, HashAlgorithm.crc32, 64w0, { hdr.data.first, hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 1) {
            hash(whole, HashAlgorithm.crc32_custom, 64w0, { hdr.data.first, hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 2) {
            hash(whole, HashAlgorithm.crc16, 64w0, { hdr.data.first, hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 3) {
            hash(whole, HashAlgorithm.crc16_custom, 64w0, { hdr.data.first, hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 4) {
            hash(whole, HashAlgorithm.csum16, 64w0, { hdr.data.first, hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 5) {
            hash(whole, HashAlgorithm.xor16, 64w0, { hdr.data.first, hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 6) {
            // All 64 bits: the modulus is the greatest there is.
            hash(whole, HashAlgorithm.identity, 64w0, { hdr.data.first, hdr.data.last }, 64w0xffffffffffffffff);
        } else if (hdr.data.op == 7) {
            // In parts of other widths: the same bits in a row.
            hash(whole, HashAlgorithm.crc32, 64w0,
                { hdr.data.first[55:53], hdr.data.first[52:17], hdr.data.first[16:0] ++ hdr.data.last }, 64w0x100000000);
        } else if (hdr.data.op == 8) {
            // 12 bits and four zeros.
            hash(whole, HashAlgorithm.crc16, 64w0, { hdr.data.first[55:44] }, 64w0x100000000);
        } else if (hdr.data.op == 9) {
            // A smaller result has the low bits.
            bit<8> low;
            hash(low, HashAlgorithm.crc16, 8w0, { hdr.data.first, hdr.data.last }, 64w0x10000);
            whole = (bit<64>)low;
        } else {
            whole = hdr.data.result;
        }
        hdr.data.result = whole;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control C(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.data.op == 17, { hdr.data.first, hdr.data.last }, hdr.data.result, HashAlgorithm.crc32);
        update_checksum_with_payload(hdr.data.op == 18, { hdr.data.first }, hdr.data.result, HashAlgorithm.crc32);
    }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
