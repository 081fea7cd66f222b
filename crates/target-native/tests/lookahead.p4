// Looks further ahead than a register is wide: slices of a number, and the fields of a struct.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header seen_t { bit<8> first; bit<32> last; bit<13> odd; bit<3> three; bit<64> mid; bit<32> near; bit<8> bits; bit<4> half; bit<204> wide; }

struct headers_t { seen_t seen; }
struct metadata_t { }

struct ahead_t {
    bit<48>  dst;
    bit<3>   three;
    bool     flag;
    int<12>  signed;
    bit<64>  mid;
    bit<32>  near;
}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    ahead_t ahead;
    state start {
        hdr.seen.setValid();
        hdr.seen.half = 0xa;
        hdr.seen.wide = 204w0x123456789abcdef0fedcba98765432100112233445566778899;
        hdr.seen.first = packet.lookahead<bit<8>>();
        transition select(packet.lookahead<bit<144>>()[7:0]) {
            0 .. 99: number;
            100 .. 199: fields;
            default: accept;
        }
    }
    state number {
        packet.advance(8);
        hdr.seen.last = packet.lookahead<bit<272>>()[31:0];
        hdr.seen.odd = packet.lookahead<bit<269>>()[200:188];
        hdr.seen.mid = packet.lookahead<bit<300>>()[99:36] + (bit<64>)packet.lookahead<bit<137>>()[136:131];
        transition accept;
    }
    state fields {
        ahead = packet.lookahead<ahead_t>();
        hdr.seen.three = ahead.three;
        hdr.seen.mid = ahead.mid + (bit<64>)(bit<12>)ahead.signed;
        hdr.seen.near = ahead.near;
        hdr.seen.bits = ahead.flag ? 8w1 : 0;
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 9w2;
        if (standard.parser_error != error.NoError) { hdr.seen.bits = hdr.seen.bits | 8w0x80; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.seen); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
