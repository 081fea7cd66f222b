// Three classes of packets, which the parser decides in several ways, and packets without one. A packet says which headers follow, and what is done with
// them: two steps of a kind and a header each.
#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header kind_t { bit<8> kind; bit<8> region; bit<16> kinds; bit<16> which; bit<16> sum; }
header item_t { bit<8> a; bit<13> b; bit<3> c; }

struct headers_t {
    kind_t kind;
    item_t h0; item_t h1; item_t h2; item_t h3; item_t h4; item_t h5; item_t h6; item_t h7; item_t h8; item_t h9; item_t h10; item_t h11;
}
struct metadata_t { bit<8> app; bit<4> region; bit<8> other; bit<8> seen; bit<48> wide; bit<4> low; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.kind);
        transition select(hdr.kind.kind) {
            1: first; 2: second; 3: third; 4: second_then_third; 5: maybe; 6: common; 7: undecided; 9: sized; default: rest;
        }
    }
    // The class, then its headers.
    state first { meta.app = 1; transition first_headers; }
    state first_headers {
        packet.extract(hdr.h0);
        transition select(hdr.h0.a[0:0]) { 1: first_more; default: common; }
    }
    state first_more { packet.extract(hdr.h1); transition accept; }
    state second { meta.app = 2; packet.extract(hdr.h2); packet.extract(hdr.h3); transition common; }
    // Packets that end before the class is decided have none.
    state third {
        packet.extract(hdr.h4);
        meta.app = 131;
        packet.extract(hdr.h5);
        transition select(hdr.h5.a[1:0]) { 0: accept; 1: second; 2: common; }
    }
    state second_then_third { meta.app = 2; transition decided_again; }
    state decided_again { packet.extract(hdr.h4); meta.app = 131; transition only_again; }
    state only_again { packet.extract(hdr.h5); transition common; }
    // Headers before the class is decided, or never is.
    state maybe {
        packet.extract(hdr.h7);
        transition select(hdr.h7.a[0:0]) { 1: first; default: rest_more; }
    }
    state undecided {
        packet.extract(hdr.h10);
        hdr.h10.setInvalid();
        hdr.h11.setValid();
        meta.other = 3;
        transition maybe;
    }
    // Rows that ask for a number again after others, and of which the length is known that the headers behind need.
    state sized {
        transition select(hdr.kind.region, standard.packet_length) {
            (1, 14 .. 32w0xffffffff): two_of_first;
            (2, 11 .. 13): one_of_second;
            (3, 9 .. 32w0xffffffff): two_of_first;
            (4, 30 .. 40): first;
            (_, 20 .. 32w0xffffffff): third;
            (1, _): first;
            (2, _): second;
            (4, _): third;
            (5, _): accept;
            (6, 12 .. 13): two_of_first;
            (8 &&& 8, 9 .. 16): one_of_second;
            (9, _): two_of_first;
            (11, _): other;
            default: rest;
        }
    }
    // The parser ends at these with headers that are known.
    state two_of_first {
        meta.app = 1;
        packet.extract(hdr.h0);
        packet.extract(hdr.h1);
        transition select(hdr.h1.a[1:0]) { 0: accept; 1: third_of_first; 2: fourth_of_first; }
    }
    // This range is not of the length.
    state other {
        meta.other = hdr.kind.region + hdr.kind.kinds[7:0];
        transition select(meta.other) { 15 .. 19: one_of_second; default: two_of_first; }
    }
    state third_of_first { packet.extract(hdr.h2); transition accept; }
    state fourth_of_first { packet.extract(hdr.h3); transition accept; }
    state one_of_second {
        meta.other = packet.lookahead<bit<8>>();
        meta.app = 2;
        packet.extract(hdr.h2);
        transition accept;
    }
    state rest {
        packet.extract(hdr.h8);
        meta.other = 7;
#ifdef COMPUTED
        meta.app = hdr.h8.a;
#endif
        transition rest_more;
    }
    state rest_more { packet.extract(hdr.h9); transition common; }
    state common { packet.extract(hdr.h6); transition accept; }
}

control V(inout headers_t hdr, inout metadata_t meta) { apply { } }

#define STEP(KIND, WHICH, N, M) \
    if (WHICH == N) { \
        if (KIND == 1) { hdr.h##N.setValid(); } \
        else if (KIND == 2) { hdr.h##N.setInvalid(); } \
        else if (KIND == 3) { hdr.h##N.a = hdr.h##N.a + 1; } \
        else if (KIND == 4) { hdr.h##N = hdr.h##M; } \
        else if (KIND == 5) { hdr.kind.sum = hdr.kind.sum + (bit<16>)hdr.h##N.a + (bit<16>)hdr.h##N.b; } \
        else if (KIND == 6) { hdr.h##N = { 8w7, 13w9, 3w1 }; } \
        else if (KIND == 7 && hdr.h##N.isValid()) { hdr.kind.sum = hdr.kind.sum + 256; } \
    }

#define STEPS(KIND, WHICH) \
    STEP(KIND, WHICH, 0, 5) STEP(KIND, WHICH, 1, 6) STEP(KIND, WHICH, 2, 7) STEP(KIND, WHICH, 3, 8) STEP(KIND, WHICH, 4, 9) STEP(KIND, WHICH, 5, 10) \
    STEP(KIND, WHICH, 6, 11) STEP(KIND, WHICH, 7, 0) STEP(KIND, WHICH, 8, 1) STEP(KIND, WHICH, 9, 2) STEP(KIND, WHICH, 10, 3) STEP(KIND, WHICH, 11, 4)

control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 9w2;
        if (!hdr.h8.isValid()) { meta.seen = meta.seen + 8; }
        if (meta.app == 1) {
            if (hdr.kind.region[0:0] == 1) {
                meta.region = 4;
            } else {
                meta.region = 1;
                hdr.h10.setValid();
                hdr.h10.a = hdr.kind.region;
            }
        } else if (meta.app == 2) {
            meta.region = 2;
            // The class does not say what the variable is later.
            if (hdr.kind.region[1:1] == 1) { meta.app = 131; }
        } else if (meta.app == 131) {
            meta.region = hdr.kind.region[3:0];
        } else {
            meta.seen = meta.seen + 1;
        }
        STEPS(hdr.kind.kinds[7:0], hdr.kind.which[7:0])
        if (meta.region == 4) {
            if (hdr.h0.isValid()) { hdr.h0.c = 1; }
            if (hdr.kind.region[2:2] == 1) { meta.region = 5; } else { meta.region = 6; }
        }
        if (meta.region == 5) { meta.seen = meta.seen + 2; }
        if (meta.region == 6) { standard.mcast_grp = 1; }
        if (meta.region == 7) { mark_to_drop(standard); }
#ifdef CLONES
        if (meta.region == 8) { clone(CloneType.I2E, 1); }
#endif
        if (meta.app == 131) { meta.seen = meta.seen + 4; }
        if (meta.app == 1 && hdr.kind.region[3:3] == 1) { meta.seen = meta.seen + 16; }
        if (meta.app == 2 || hdr.kind.region[2:2] == 1) { meta.seen = meta.seen + 32; }
        if (!hdr.h0.isValid() || hdr.kind.region[3:3] == 1) {
            if (hdr.h0.isValid()) { meta.seen = meta.seen + 64; }
        } else if (hdr.h0.isValid() && hdr.kind.region[1:1] == 1) {
            hdr.h0.b = 77;
        }
        if (!hdr.h1.isValid()) { hdr.h1.b = 78; } else { hdr.h1.c = 2; }
        meta.wide = (bit<48>)meta.app;
        meta.low = (bit<4>)meta.app;
        STEPS(hdr.kind.kinds[15:8], hdr.kind.which[15:8])
    }
}

control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.region == 1) { hdr.h11 = hdr.h10; }
        if (meta.app == 2) { hdr.kind.sum = hdr.kind.sum + 4096; }
        hdr.kind.sum = hdr.kind.sum + (bit<16>)meta.seen * 32 + (bit<16>)meta.other + (bit<16>)meta.wide * 3 + (bit<16>)meta.low * 8;
        if (standard.parser_error == error.PacketTooShort) { hdr.kind.sum = hdr.kind.sum + 1; }
    }
}

control C(inout headers_t hdr, inout metadata_t meta) { apply { } }

control D(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.kind);
        packet.emit(hdr.h0); packet.emit(hdr.h1); packet.emit(hdr.h2); packet.emit(hdr.h3); packet.emit(hdr.h4); packet.emit(hdr.h5);
        packet.emit(hdr.h6); packet.emit(hdr.h7); packet.emit(hdr.h8); packet.emit(hdr.h9); packet.emit(hdr.h10); packet.emit(hdr.h11);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
