// Verified on entry, over bits that are no whole bytes too; computed on exit, with payload if `op` says so.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  op;
    bit<4>  x;
    bit<4>  y;
    bit<16> sum;
    bit<16> other;
}

header maybe_t {
    bit<16> z;
}

struct headers_t {
    data_t  data;
    maybe_t maybe;
}

struct meta_t { }

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            8: more;
            default: accept;
        }
    }
    state more {
        packet.extract(hdr.maybe);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.data.op == 1, { hdr.data.op, hdr.data.x, hdr.data.y }, hdr.data.sum, HashAlgorithm.csum16);
        verify_checksum_with_payload(
            hdr.data.op == 2, { hdr.data.op, hdr.data.x, hdr.data.y }, hdr.data.sum, HashAlgorithm.csum16);
        // Of an invalid header: skipped.
        verify_checksum(hdr.data.op == 3, { hdr.data.op }, hdr.maybe.z, HashAlgorithm.csum16);
    }
}

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = sm.checksum_error == 1 ? 9w2 : 9w1;
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}

control C(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.data.op == 4, { hdr.data.op, hdr.data.x, hdr.data.y }, hdr.data.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(
            hdr.data.op == 5, { hdr.data.op, hdr.data.x, hdr.data.y }, hdr.data.sum, HashAlgorithm.csum16);
        // The invalid header's field is left out; 12 bits are filled up with zeros.
        update_checksum(
            hdr.data.op == 6, { hdr.data.op, hdr.maybe.z, hdr.data.x }, hdr.data.sum, HashAlgorithm.csum16);
        update_checksum(hdr.data.op == 7, { hdr.data.op, hdr.data.x, hdr.data.y }, hdr.data.sum, HashAlgorithm.crc16);
        update_checksum(hdr.data.op == 8, { hdr.data.op, hdr.maybe.z, hdr.data.x }, hdr.data.sum, HashAlgorithm.xor16);
    }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
        packet.emit(hdr.maybe);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
