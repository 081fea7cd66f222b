// Every match kind; priorities; entries of the source and of the control plane.
#include "common.p4"

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    action set(bit<32> value) {
        hdr.data.b = value;
    }
    table exacts {
        key = { hdr.data.a: exact; hdr.data.port: exact; }
        actions = { set; }
        default_action = set(0xdead);
        size = 2;
    }
    table prefixes {
        key = { hdr.data.a: lpm; hdr.data.port: exact; }
        actions = { set; }
        default_action = set(0);
        const entries = {
            (0x1000 &&& 0xf000, 0): set(1);
            (0x1200 &&& 0xff00, 0): set(2);
            (0x1230 &&& 0xfff0, 1): set(3);
            (_, 1): set(4);
        }
    }
    table masks {
        key = { hdr.data.a: ternary; hdr.extra.isValid(): ternary; }
        actions = { set; }
        default_action = set(0);
    }
    // A prefix beside a ternary key: the priority alone decides.
    table mixed {
        key = { hdr.data.a: lpm; hdr.data.port: ternary; }
        actions = { set; }
        default_action = set(0);
        entries = {
            priority = 10: (0x1200 &&& 0xff00, _): set(1);
            priority = 20: (0x1000 &&& 0xf000, _): set(2);
            priority = 15: (0x1234, 7): set(3);
        }
    }
    table least {
        key = { hdr.data.a: ternary; }
        actions = { set; }
        default_action = set(0);
        largest_priority_wins = false;
        entries = {
            priority = 10: 0x1200 &&& 0xff00: set(1);
            priority = 20: 0x1000 &&& 0xf000: set(2);
        }
    }
    table ranges {
        key = { hdr.data.a: range; hdr.data.port: optional; }
        actions = { set; }
        default_action = set(0);
        const entries = {
            (10..20, 5): set(1);
            (15..30, _): set(2);
            (0xfff0..0xffff, _): set(3);
        }
    }
    table keyless {
        actions = { set; }
        default_action = set(0x7777);
    }

    apply {
        sm.egress_spec = 1;
        switch (hdr.data.op) {
            0: { exacts.apply(); }
            1: { prefixes.apply(); }
            2: { masks.apply(); }
            3: { mixed.apply(); }
            4: { least.apply(); }
            5: { ranges.apply(); }
            6: { if (keyless.apply().hit) { hdr.data.a = 0xffff; } }
            default: { }
        }
    }
}

V1Switch(P(), V(), I(), NoEgress(), C(), D()) main;
