#include <core.p4>
#include <v1model.p4>

error {
    BadOptions,
    Unsupported
}

@p4runtime_translation("example.org/port", 32)
type bit<9> port_t;

enum Color {
    RED,
    GREEN
}

enum bit<16> EtherType {
    IPV4 = 0x0800,
    VLAN = 0x8100
}

enum int<8> Level {
    LOW = -1,
    HIGH = 5
}

struct tag_t {
    bit<4> hi;
    bit<4> lo;
}

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    EtherType kind;
}

header vlan_t {
    tag_t tag;
    bool dei;
    bit<7> pad;
    bit<16> type;
}

header options_t {
    bit<8> length;
    varbit<320> data;
}

header a_t {
    bit<8> x;
}

header b_t {
    bit<8> y;
    int<8> z;
}

header_union u_t {
    a_t a;
    b_t b;
}

struct headers {
    ethernet_t eth;
    vlan_t[4] vlan;
    options_t options;
    u_t u;
}

struct Pair_bit8 {
    bit<8> first;
    bool second;
}

struct metadata {
    @field_list(1, 2) port_t port;
    Color color;
    Level level;
    tuple<bit<8>, bool> pair;
    Pair_bit8 generic;
    bit<140> wide;
    error reason;
}

parser P(packet_in packet,
         out headers hdr,
         inout metadata meta,
         inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.kind) {
            EtherType.VLAN: vlan;
            (EtherType)16w0x88a8: vlan;
            default: rest;
        }
    }

    @loop
    state vlan {
        packet.extract(hdr.vlan.next);
        verify(hdr.vlan.lastIndex < 3, error.StackOutOfBounds);
        transition select(hdr.vlan.last.type, hdr.vlan.last.dei) {
            (0x8100, _): vlan;
            (0x0800 &&& 0x0f00, true): rest;
            (0x1000 .. 0x1fff, false): rest;
            default: reject;
        }
    }

    state rest {
        bit<8> length = packet.lookahead<bit<8>>();
        if (length > 3) {
            packet.extract(hdr.options, (bit<32>)length * 8);
        } else {
            packet.advance(8);
            meta.reason = error.BadOptions;
        }
        packet.extract(hdr.u.a);
        transition accept;
    }
}

control V(inout headers hdr, inout metadata meta) {
    apply { }
}

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    bit<8> small;
    int<8> level = -3;

    apply {
        meta.port = (port_t)std.ingress_port;
        meta.port = (port_t)9w5;
        std.egress_spec = (bit<9>)meta.port;
        meta.color = Color.GREEN;
        meta.level = Level.LOW;
        meta.level = (Level)8s7;
        meta.pair = { 1, true };
        meta.generic = { 2, false };
        small = meta.pair[0] + meta.generic.first;
        meta.wide = 0xfffffffffffffffffffffffffffffffffff;
        hdr.u.b = { 1, -2 };
        hdr.u.b = (b_t){#};
        hdr.vlan[1] = { { 1, 2 }, true, 0, 0x0800 };
        hdr.vlan[2].setInvalid();
        hdr.vlan.push_front(1);
        hdr.vlan[small].pad = 1;
        if (hdr.u.b.isValid() || hdr.u.isValid()) {
            small = (bit<8>)hdr.u.b.z;
        }
        if (hdr.eth == { 1, 2, EtherType.IPV4 }) {
            level = level |-| 1;
        }
        if (meta.reason == error.NoMatch) {
            small[3:0] = small[7:4];
        }
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply { }
}

control C(inout headers hdr, inout metadata meta) {
    apply { }
}

control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
