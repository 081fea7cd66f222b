// Tables of each kind: SIZE entries each.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header packet_t { bit<48> exact; bit<32> prefix; bit<64> masked; bit<8> range; bit<32> found; }

struct headers_t { packet_t packet; }
struct metadata_t { }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.packet); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets) hits;

    action found(bit<32> value) { hdr.packet.found = hdr.packet.found + value; }

    table exacts {
        key = { hdr.packet.exact: exact; }
        actions = { found; @defaultonly NoAction; }
        default_action = NoAction();
        counters = hits;
        size = SIZE;
    }

    table prefixes {
        key = { hdr.packet.prefix: lpm; }
        actions = { found; @defaultonly NoAction; }
        default_action = NoAction();
        size = SIZE;
    }

    table masked {
        key = { hdr.packet.masked: ternary; }
        actions = { found; @defaultonly NoAction; }
        default_action = NoAction();
        size = SIZE;
    }

    table ranges {
        key = { hdr.packet.range: range; }
        actions = { found; @defaultonly NoAction; }
        default_action = NoAction();
        size = SIZE;
    }

    apply {
        standard.egress_spec = 1;
        exacts.apply();
        prefixes.apply();
        masked.apply();
        ranges.apply();
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.packet); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
