// Keys that are looked up before packets run: fields at known places of the frame, behind an optional tag, and after they have been written. The kind of the first byte
// says what else happens to the packet: between the check of a checksum and its update in particular.
#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8>  what;
    bit<8>  number;
    bit<16> type;
}

header tag_t {
    bit<32> tag;
}

header ip_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  ttl;
    bit<16> length;
    bit<16> checksum;
    bit<16> pad;
    bit<32> from;
    bit<32> to;
    bit<32> a;
    bit<32> b;
    bit<32> c;
    bit<32> d;
    bit<32> e;
    bit<32> f;
}

struct headers_t {
    kind_t kind;
    tag_t  tag;
    ip_t   ip;
    ip_t   spare;
}

struct metadata_t {
    bit<32> scratch;
}

#define SUMMED { hdr.ip.version, hdr.ip.ihl, hdr.ip.ttl, hdr.ip.length, hdr.ip.pad, hdr.ip.from, hdr.ip.to, \
    hdr.ip.a, hdr.ip.b, hdr.ip.c, hdr.ip.d, hdr.ip.e, hdr.ip.f }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.type) {
            0x0800: ip;
            0x8100: tag;
            default: accept;
        }
    }
    state tag {
        packet.extract(hdr.tag);
        packet.extract(hdr.ip);
        transition accept;
    }
    state ip {
        packet.extract(hdr.ip);
        transition accept;
    }
}

control V(inout headers_t hdr, inout metadata_t meta) {
    apply { verify_checksum(hdr.ip.isValid(), SUMMED, hdr.ip.checksum, HashAlgorithm.csum16); }
}

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action route(bit<9> port) { standard.egress_spec = port; }
    table routes {
        key = { hdr.ip.to : lpm; }
        actions = { route; NoAction; }
        size = 4096;
    }
    action rewrite(bit<32> to) { hdr.ip.to = to; }
    table sessions {
        key = { hdr.ip.from : exact; hdr.ip.to : exact; hdr.kind.number : exact; }
        actions = { rewrite; NoAction; }
        size = 4096;
    }
    action note(bit<16> pad) { hdr.ip.pad = pad; }
    table late {
        key = { hdr.ip.to : lpm; }
        actions = { note; NoAction; }
        size = 4096;
    }

    apply {
        standard.egress_spec = 1;
        if (hdr.ip.isValid() && standard.checksum_error == 0) {
            routes.apply();
#ifndef FEW
            sessions.apply();
#endif
            if (hdr.kind.what & 0x40 != 0) { hdr.ip.to = hdr.ip.to ^ 0x1041; }
            if (hdr.kind.what & 0x10 != 0) { hdr.ip.from = hdr.ip.from + 1; }
            late.apply();
            hdr.ip.ttl = hdr.ip.ttl - 1;
            switch (hdr.kind.what & 7) {
                1: { hdr.ip.length[11:4] = 0x5a; }
                2: { hdr.ip.setInvalid(); }
                3: { hdr.spare = hdr.ip; hdr.spare.c = 7; hdr.ip = hdr.spare; }
                4: { hdr.ip.setInvalid(); hdr.ip.setValid(); hdr.ip.from = 9; }
#ifdef CLONES
                5: { clone(CloneType.I2E, 2); }
#endif
                6: { random(meta.scratch, 5, 5); hdr.ip.from = meta.scratch; }
                7: { random(hdr.ip.from, 6, 6); }
                default: { }
            }
        }
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { if (hdr.kind.what & 0x20 != 0) { hdr.ip.version = 3; } }
}

control C(inout headers_t hdr, inout metadata_t meta) {
    apply {
#ifdef FEW
        for (bit<8> round = 0; round < 2; round = round + 1) {
            update_checksum(hdr.ip.isValid(), SUMMED, hdr.ip.checksum, HashAlgorithm.csum16);
            hdr.ip.f = hdr.ip.f + 1;
        }
#endif
        update_checksum(hdr.ip.isValid(), SUMMED, hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.kind);
        packet.emit(hdr.tag);
        packet.emit(hdr.ip);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
