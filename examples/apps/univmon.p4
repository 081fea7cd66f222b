// UnivMon: one sketch of all traffic, from which the controller estimates heavy flows, the number of flows, their entropy, and change.
//
// A flow has a level: how many of the first bits of a hash are one, at most 15. Level j samples the flows whose level is at least j. Each packet counts once, in the
// part of its flow's own level: a count sketch of five rows by 2,048 columns. The sketch of level j is the sum of parts j to 15, since all levels have the same hashes;
// so a packet needs five registers and no more, however many levels sample it.
//
// Flows whose estimate in their part is at least the threshold of the level are reported, each once until the controller clears `known`.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

struct metadata_t {
    ports_t l4;
    bit<16> sample;
    bit<8>  level;
    bit<32> threshold;
}

struct heavy_flow_t {
    ipv4_t  src;
    ipv4_t  dst;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
    bit<8>  level;
}

parser MonParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    PARSE_L4(meta.l4)
}

control MonVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// A row: counts +1 or -1 in the flow's column. `votes` counts rows whose estimate is at least the threshold.
control Row(in bit<8> level, in bit<32> hashed, in bit<32> threshold, inout bit<8> votes) {
    register<int<32>, bit<16>>(32768) cells;

    apply {
        bit<16> at = (bit<16>)(level[3:0] ++ hashed[10:0]);
        int<32> count;
        cells.read(count, at);
        if (hashed[31:31] == 1) {
            count = count + 1;
            cells.write(at, count);
        } else {
            count = count - 1;
            cells.write(at, count);
            count = -count;
        }
        if (count >= (int<32>)threshold) { votes = votes + 1; }
    }
}

#define L4_PORTS meta.l4.src, meta.l4.dst

control MonIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Row() row_0;
    Row() row_1;
    Row() row_2;
    Row() row_3;
    Row() row_4;
    // A Bloom filter of reported flows, with two hashes.
    register<bit<1>, bit<16>>(65536) known;
    register<bit<1>, bit<16>>(65536) known_too;

    ROUTES(1024)

    action level_is(bit<8> level) { meta.level = level; }
    table levels {
        key = { meta.sample: lpm; }
        actions = { level_is; }
        const default_action = level_is(15);
        const entries = {
            0x0000 &&& 0x8000: level_is(0);
            0x8000 &&& 0xc000: level_is(1);
            0xc000 &&& 0xe000: level_is(2);
            0xe000 &&& 0xf000: level_is(3);
            0xf000 &&& 0xf800: level_is(4);
            0xf800 &&& 0xfc00: level_is(5);
            0xfc00 &&& 0xfe00: level_is(6);
            0xfe00 &&& 0xff00: level_is(7);
            0xff00 &&& 0xff80: level_is(8);
            0xff80 &&& 0xffc0: level_is(9);
            0xffc0 &&& 0xffe0: level_is(10);
            0xffe0 &&& 0xfff0: level_is(11);
            0xfff0 &&& 0xfff8: level_is(12);
            0xfff8 &&& 0xfffc: level_is(13);
            0xfffc &&& 0xfffe: level_is(14);
        }
    }

    action threshold_is(bit<32> packets) { meta.threshold = packets; }
    table thresholds {
        key = { meta.level: exact; }
        actions = { threshold_is; }
        default_action = threshold_is(0x7fffffff);
        size = 16;
    }

    apply {
        if (!hdr.ipv4.isValid() || hdr.ipv4.ttl <= 1) {
            mark_to_drop(standard_metadata);
            return;
        }
        hash(meta.sample, HashAlgorithm.crc16, 16w0, { L4_PORTS, hdr.ipv4.protocol, hdr.ipv4.dst, hdr.ipv4.src }, 32w0x10000);
        levels.apply();
        thresholds.apply();
        // The same polynomial over the fields in another order is another function.
        bit<8> votes = 0;
        bit<32> h0;
        bit<32> h1;
        bit<32> h2;
        bit<32> h3;
        bit<32> h4;
        hash(h0, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, L4_PORTS }, 33w0x100000000);
        hash(h1, HashAlgorithm.crc32, 32w0, { hdr.ipv4.dst, hdr.ipv4.src, L4_PORTS, hdr.ipv4.protocol }, 33w0x100000000);
        hash(h2, HashAlgorithm.crc32, 32w0, { L4_PORTS, hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol }, 33w0x100000000);
        hash(h3, HashAlgorithm.crc32, 32w0, { hdr.ipv4.src, L4_PORTS, hdr.ipv4.protocol, hdr.ipv4.dst }, 33w0x100000000);
        hash(h4, HashAlgorithm.crc32, 32w0, { hdr.ipv4.dst, hdr.ipv4.protocol, L4_PORTS, hdr.ipv4.src }, 33w0x100000000);
        row_0.apply(meta.level, h0, meta.threshold, votes);
        row_1.apply(meta.level, h1, meta.threshold, votes);
        row_2.apply(meta.level, h2, meta.threshold, votes);
        row_3.apply(meta.level, h3, meta.threshold, votes);
        row_4.apply(meta.level, h4, meta.threshold, votes);
        // The median of five estimates is at least the threshold.
        if (votes >= 3) {
            bit<1> one;
            bit<1> other;
            known.read(one, h0[26:11]);
            known.write(h0[26:11], 1);
            known_too.read(other, h1[26:11]);
            known_too.write(h1[26:11], 1);
            if (one == 0 || other == 0) {
                heavy_flow_t heavy = { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, L4_PORTS, meta.level };
                digest(1, heavy);
            }
        }
        routes.apply();
    }
}

control MonEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control MonCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control MonDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(MonParser(), MonVerify(), MonIngress(), MonEgress(), MonCompute(), MonDeparser()) main;
