#include "common.p4"

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.base); packet.extract(hdr.deep); transition select(hdr.base.a[0:0]) { 1: items; default: accept; } }
    state items { packet.extract(hdr.items.next); packet.extract(hdr.items.next); packet.extract(hdr.either.item); transition accept; }
}
struct report_t { bit<8> a; inner_t i; }

pair_t flipped(in pair_t p) { pair_t r = p; r.first = p.second; r.second = { p.first.y, p.first.x }; r.flag = !p.flag; return r; }

control In(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    pair_t mine = { { 1, 2 }, { 3, 4 }, true };
    item_t kept;
    apply {
        std.egress_spec = 4;
        tuple<bit<8>, inner_t> pair = { hdr.base.a, hdr.deep.i };
        inner_t from = pair[1];
        meta.pair = flipped(mine);
        meta.pair.first = { meta.pair.second.x, meta.pair.first.x };
        mine = meta.pair;
        hdr.base.b = meta.pair.first.x + meta.pair.second.y + from.x;
        if (meta.pair == mine && mine.first != meta.pair.second) { hdr.base.c = 1; }
        kept = hdr.items[0];
        if (kept == hdr.items[1]) { hdr.base.c = 2; }
        if (hdr.items[0] != hdr.either.item) { hdr.base.d = hdr.base.d + 1; }
        kept.value = 9;
        if (hdr.items[hdr.base.a & 1] == kept) { hdr.base.c = 3; }
        hdr.items[hdr.base.a & 1] = kept;
        hdr.items[hdr.base.a & 1].value = hdr.items[hdr.base.b & 1].value;
        hdr.extra = hdr.base.a > 100 ? hdr.items[1] : kept;
        either_t u = hdr.either;
        if (u.isValid()) { hdr.base.d = 5; u.deep = { { 1, 2 }, 3 }; hdr.either = u; }
        if (hdr.either.deep.isValid()) { hdr.base.d = hdr.base.d + hdr.either.deep.i.y; }
        hash(meta.sum, HashAlgorithm.crc16, 16w0, { mine, hdr.items[0].value, hdr.extra }, 16w0xffff);
        hdr.base.b = meta.sum[7:0];
        hdr.base.c[3:0] = meta.sum[11:8];
        hdr.base.c[7:4] = hdr.base.c[3:0] ^ hdr.base.d[7:4];
        digest<report_t>(1, { hdr.base.a, meta.pair.first });
        meta.two = { hdr.base.c, meta.two[0] + 1 };
        meta.two = { meta.two[1], meta.two[0] };
        hdr.base.d = meta.two[0] + hdr.base.d;
        if (hdr.base.a == 3) { hdr.items[0].setInvalid(); hdr.deep.setInvalid(); hdr.items.pop_front(1); }
    }
}
V1Switch(Parse(), Nothing(), In(), Out(), Nothing(), Emit()) main;
