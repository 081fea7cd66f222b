#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t {
    bit<32> src;
    bit<32> dst;
    bit<16> port;
    bit<8> kind;
}

struct headers {
    h_t h;
}

struct metadata {
    bit<8> class;
    bit<2> color;
}

register<bit<32>, bit<8>>(256) everywhere;

@id(7)
action count_everywhere(bit<8> at) {
    everywhere.write(at, 1);
}

parser P(packet_in packet,
         out headers hdr,
         inout metadata meta,
         inout standard_metadata_t std) {
    @match_hint value_set<bit<8>>(4) kinds;
    @name("of.ports") value_set<tuple<bit<16>, bit<8>>>(8) ports;

    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.port, hdr.h.kind) {
            ports: accept;
            (80, kinds): accept;
            default: accept;
        }
    }
}

control V(inout headers hdr, inout metadata meta) {
    apply { }
}

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.bytes) rate;
    @name("shared") action_profile(64) profile;

    @name("forward")
    action send(inout bit<8> class, bit<9> port, @id(2) bit<8> extra) {
        std.egress_spec = port;
        class = class + extra;
        hits.count();
    }

    action drop() {
        mark_to_drop(std);
    }

    action color() {
        rate.read(meta.color);
    }

    table acl {
        key = {
            hdr.h.src: ternary;
            hdr.h.dst & 0xffffff00: exact @name("network");
            hdr.h.isValid(): exact;
            hdr.h.port: range;
            hdr.h.kind: optional;
            meta.class[3:0]: ternary @name("low class");
        }
        actions = {
            send(meta.class);
            @tableonly drop;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (0x0a000000 &&& 0xff000000, 0, true, 0 .. 1023, 6, _): send(meta.class, 1, 2);
            (_, 0, true, 80 .. 80, _, 0x1 &&& 0x3): drop() @reason("web");
            (_, _, false, _, _, _): drop();
        }
        size = 100;
        counters = hits;
    }

    @hidden
    table prioritised {
        key = {
            hdr.h.dst: ternary;
        }
        actions = {
            drop;
            count_everywhere;
            NoAction;
        }
        default_action = drop();
        entries = {
            const priority = 10: 0x0a000000 &&& 0xff000000: drop();
            priority = 20: 0x0a000001 &&& 0xffffffff: count_everywhere(3);
        }
        largest_priority_wins = false;
    }

    table routes {
        key = {
            hdr.h.dst: lpm;
            hdr.h.src: selector;
            hdr.h.port: selector;
        }
        actions = {
            drop;
            color;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1024;
        implementation = action_selector(HashAlgorithm.crc16, 128, 10);
        meters = rate;
        support_timeout = true;
    }

    table members {
        key = {
            hdr.h.kind: exact;
        }
        actions = {
            drop;
            NoAction;
        }
        default_action = NoAction();
        implementation = profile;
    }

    table keyless {
        actions = {
            count_everywhere;
        }
        default_action = count_everywhere(255);
    }

    apply {
        switch (acl.apply().action_run) {
            send:
            drop: {
                prioritised.apply();
            }
            default: {
                count_everywhere(1);
            }
        }
        if (routes.apply().hit && !members.apply().miss) {
            bool found = keyless.apply().hit;
            if (found) {
                exit;
            }
        }
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    table again {
        key = {
            std.egress_port: exact;
        }
        actions = {
            count_everywhere;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        again.apply();
    }
}

control C(inout headers hdr, inout metadata meta) {
    apply { }
}

control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.h);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
