// An action of another table reads a direct meter.
// place: R = nic
// show: need, colours
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; h_t g; }
struct metadata { bit<8> x; bit<8> y; bool flag; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition select(hdr.h.a) { 1: second; default: accept; }
    }
    state second { packet.extract(hdr.g); transition accept; }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    direct_meter<bit<8>>(MeterType.packets) m;
    action mark() { m.read(meta.x); }
    action colour() { meta.y = 1; mark(); }
    table acl {
        key = { hdr.h.a: exact; }
        actions = { mark; }
        default_action = mark();
        meters = m;
    }
    table qos {
        key = { hdr.h.b: exact; }
        actions = { mark; }
        default_action = mark();
    }
    apply {
        acl.apply();
        @region("R") {
            qos.apply();
        }
        std.egress_spec = (bit<9>)meta.x;
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
    }
}

control C(inout headers hdr, inout metadata meta) { apply { } }

control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.h); packet.emit(hdr.g); }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
