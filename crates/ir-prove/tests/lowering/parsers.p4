#include "common.p4"

error { Odd }

parser Items(packet_in packet, inout headers_t hdr, in bit<8> most, out bit<8> got) {
    bit<8> count = 0;
    state start {
        bit<8> fresh;
        fresh = fresh + 1;
        count = count + fresh;
        packet.extract(hdr.items.next);
        transition select(hdr.items.last.kind & 1, count) {
            (1, 0 .. 2): start;
            (1, _): reject;
            default: done;
        }
    }
    state done { got = count + most; transition select(got) { 9: reject; default: accept; } }
}
parser One(packet_in packet, out item_t item) { state start { packet.extract(item); transition accept; } }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Items() items;
    One() one;
    bit<8> rounds = 0;
    state start {
        packet.extract(hdr.base);
        inner_t ahead = packet.lookahead<inner_t>();
        meta.n = ahead.y;
        items.apply(packet, hdr, hdr.base.b, meta.m);
        verify(hdr.items.last.value > 40, error.Odd);
        rounds = rounds + meta.m;
        transition select(packet.lookahead<bit<8>>(), hdr.base.c) {
            (0 .. 63, _): deep;
            (64 .. 127, _): union_item;
            (128 .. 191, 0 .. 200): again;
            default: accept;
        }
    }
    state again {
        if (hdr.base.d == 0) { one.apply(packet, hdr.extra); } else { packet.advance(8); }
        hdr.base.d = hdr.base.d + rounds;
        transition select(hdr.base.d) { 0 .. 99: again; 100 .. 200: extra; default: accept; }
    }
    state extra { one.apply(packet, hdr.extra); transition accept; }
    state deep { packet.extract(hdr.either.deep); transition accept; }
    state union_item { packet.extract(hdr.either.item); transition select(hdr.either.item.value) { 0: deep; default: accept; } }
}
control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 3;
        if (std.parser_error == error.Odd) { hdr.base.a = 0xee; }
        if (std.parser_error == error.StackOutOfBounds) { hdr.base.a = 0xdd; }
        if (std.parser_error == error.PacketTooShort) { hdr.base.a = 0xcc; }
        hdr.base.b = meta.m;
        hdr.base.c = meta.n;
        hdr.items.push_front(1);
        hdr.items[0] = { 1, 2 };
    }
}
V1Switch(Parse(), Nothing(), In(), Out(), Nothing(), Emit()) main;
