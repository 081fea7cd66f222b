#include <core.p4>
#include <v1model.p4>

header ipv4 {
    bit<32> src;
    bit<8> ttl;
}

struct headers {
    ipv4 ip;
}

struct meta_t {
    bit<8> x;
}

bit<8> bound(in bit<8> bound) {
    return bound + 1;
}

action shared() { }

parser P(packet_in packet,
         out headers headers,
         inout meta_t meta,
         inout standard_metadata_t std) {
    state start {
        bit<8> start = 1;
        packet.extract(headers.ip);
        meta.x = start;
        transition next;
    }

    state next {
        transition accept;
    }
}

control V(inout headers hdr, inout meta_t meta) {
    apply { }
}

control Inner(inout headers hdr) {
    action shared() {
        hdr.ip.ttl = 1;
    }

    table ttl {
        key = {
            hdr.ip.ttl: exact;
        }
        actions = {
            shared;
            .shared;
            NoAction;
        }
        default_action = NoAction();
        implementation = action_profile(8);
    }

    apply {
        ttl.apply();
    }
}

control Inner_y(inout headers hdr) {
    action shared() {
        hdr.ip.ttl = 1;
    }

    table ttl {
        key = {
            hdr.ip.ttl: exact;
        }
        actions = {
            shared;
            .shared;
            NoAction;
        }
        default_action = NoAction();
        implementation = action_profile(8);
    }

    apply {
        ttl.apply();
    }
}

control I(inout headers hdr, inout meta_t meta, inout standard_metadata_t std) {
    @name(".absolute") register<bit<32>>(4) hash;
    Inner() inner;
    Inner_y() y;

    action set(bit<8> routes, bit<32> ipv4) {
        meta.x = routes;
        hash.write(ipv4, 1);
    }

    action long(@id(1) @field_with_a_long_name("and a long text") @another("which makes the line long") bit<8> x) {
        meta.x = x;
    }

    @name(".top.routes")
    table routes {
        key = {
            meta.x: exact @name("x");
        }
        actions = {
            set;
            shared;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        bit<8> ipv4 = meta.x;
        if (ipv4 == 1) {
            bit<8> ipv4 = 5;
            meta.x = ipv4;
        }
        routes.apply();
        inner.apply(hdr);
        y.apply(hdr);
        meta.x = bound(ipv4);
    }
}

control Inner_idle(inout headers hdr) {
    action shared() {
        hdr.ip.ttl = 1;
    }

    table ttl {
        key = {
            hdr.ip.ttl: exact;
        }
        actions = {
            shared;
            .shared;
            NoAction;
        }
        default_action = NoAction();
        implementation = action_profile(8);
    }

    apply {
        ttl.apply();
    }
}

control E(inout headers hdr, inout meta_t meta, inout standard_metadata_t std) {
    Inner_idle() idle;

    apply { }
}

control C(inout headers hdr, inout meta_t meta) {
    apply { }
}

control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
