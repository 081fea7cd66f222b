// What most tests share: one header, kept as it is; user metadata with two field lists.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

// What the tests do with a packet stands in `op`.
header data_t {
    bit<8>  op;
    bit<8>  port;
    bit<16> a;
    bit<32> b;
}

header extra_t {
    bit<16> value;
}

struct headers_t {
    data_t  data;
    extra_t extra;
}

struct meta_t {
    @field_list(1, 2) bit<16> kept;
    @field_list(2)    bit<8>  kept_too;
    bit<16>           lost;
}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control C(inout headers_t hdr, inout meta_t meta) {
    apply { }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
        packet.emit(hdr.extra);
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    apply { }
}
