#include <core.p4>
#include <v1model.p4>

// Entries that time out, in a table with counters and in one without, and ports in a value set.

header h_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> result;
}

struct headers {
    h_t h;
}

struct metadata {
    bit<1> is_link;
}

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    value_set<bit<9>>(4) links;
    value_set<bit<8>>(4) kinds;

    state start {
        packet.extract(hdr.h);
        transition select(sm.ingress_port) {
            links: link;
            default: kind;
        }
    }
    state link {
        meta.is_link = 1;
        transition kind;
    }
    state kind {
        transition select(hdr.h.a) {
            kinds: reject_it;
            default: accept;
        }
    }
    state reject_it {
        hdr.h.c = 0x77;
        transition accept;
    }
}

control Verify(inout headers hdr, inout metadata meta) {
    apply {}
}

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets) hits;
    action put(bit<8> value, bit<9> port) {
        hdr.h.b = value;
        sm.egress_spec = port;
    }
    action none() {}
    action add(bit<8> value) {
        hits.count();
        hdr.h.result = value;
    }
    table plain {
        key = { hdr.h.a: exact; }
        actions = { put; none; }
        default_action = none();
        support_timeout = true;
    }
    table counted {
        key = { hdr.h.a: ternary; }
        actions = { add; none; }
        default_action = none();
        counters = hits;
        support_timeout = true;
    }
    apply {
        sm.egress_spec = 1;
        plain.apply();
        counted.apply();
        if (meta.is_link == 1) {
            hdr.h.c = 0x55;
        }
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {}
}

control Compute(inout headers hdr, inout metadata meta) {
    apply {}
}

control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h);
    }
}

V1Switch(P(), Verify(), I(), E(), Compute(), D()) main;
