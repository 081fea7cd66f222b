// Tables of one prefix each, of several widths; each says which entry fits.
#include <core.p4>
#include <v1model.p4>

header packet_t {
    bit<24>  a;
    bit<32>  b;
    bit<45>  c;
    bit<3>   pad;
    bit<64>  d;
    bit<128> e;
    bit<23>  f;
    bit<1>   more_pad;
}

header said_t {
    bit<16> a;
    bit<16> b;
    bit<16> c;
    bit<16> d;
    bit<16> e;
    bit<16> f;
}

struct headers_t {
    said_t   said;
    packet_t packet;
}

struct metadata_t {}

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.packet);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

#define TABLE(name) \
    action say_##name(bit<16> number) { hdr.said.name = number; } \
    table name { \
        key = { hdr.packet.name : lpm; } \
        actions = { say_##name; @defaultonly NoAction; } \
        default_action = NoAction(); \
        size = 4096; \
    }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    TABLE(a)
    TABLE(b)
    TABLE(c)
    TABLE(d)
    TABLE(e)
    TABLE(f)

    apply {
        standard.egress_spec = 1;
        hdr.said.setValid();
        hdr.said = { 0, 0, 0, 0, 0, 0 };
        a.apply();
        b.apply();
        c.apply();
        d.apply();
        e.apply();
        f.apply();
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.said);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
