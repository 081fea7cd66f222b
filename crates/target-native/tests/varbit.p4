// Headers of variable length: extracted, copied, made invalid and valid, moved behind others.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header first_t  { bit<8> bits; bit<8> what; }
header option_t { bit<8> kind; varbit<96> data; }
header tail_t   { bit<8> value; }

struct headers_t { first_t first; option_t one; tail_t tail; option_t two; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.first);
        packet.extract(hdr.one, (bit<32>)hdr.first.bits);
        packet.extract(hdr.tail);
        transition select(hdr.first.what[7:7]) {
            1: again;
            default: accept;
        }
    }
    state again {
        packet.extract(hdr.two, (bit<32>)hdr.tail.value);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    option_t kept;
    apply {
        standard.egress_spec = 9w2;
        if (hdr.first.what[0:0] == 1) { hdr.one.kind = hdr.one.kind + 1; }
        if (hdr.first.what[1:1] == 1) { hdr.two = hdr.one; }
        if (hdr.first.what[2:2] == 1) { hdr.one.setInvalid(); }
        if (hdr.first.what[3:3] == 1) { hdr.one.setValid(); }
        if (hdr.first.what[4:4] == 1) { kept = hdr.two; hdr.two = hdr.one; hdr.one = kept; }
        if (hdr.first.what[5:5] == 1) { hdr.tail.setInvalid(); }
        if (standard.parser_error != error.NoError) { hdr.first.bits = 0xee; }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { hdr.first.bits = (bit<8>)standard.packet_length; }
}

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.two); packet.emit(hdr.first); packet.emit(hdr.one); packet.emit(hdr.tail); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
