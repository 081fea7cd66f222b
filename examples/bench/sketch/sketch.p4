// SPDX-License-Identifier: Apache-2.0
//
// Heavy hitters: a count-min sketch of four rows over the five-tuple (Cormode, Muthukrishnan 2005), in front of a
// router. A flow whose estimate reaches the threshold is reported to the controller, once.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

const bit<32> COLUMNS = 1 << 16;
const bit<33> ALL_OF_32 = 1 << 32;

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    tcp_t      tcp;
    udp_t      udp;
}

struct metadata_t {
    bit<16>    l4_src;
    bit<16>    l4_dst;
    bit<32>    threshold;
    next_hop_t next_hop;
}

struct heavy_t {
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
    bit<8>  protocol;
    bit<16> l4_src;
    bit<16> l4_dst;
    bit<32> packets;
}

parser SketchParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTO_TCP): parse_tcp;
            (5, 0, PROTO_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src = hdr.tcp.src_port;
        meta.l4_dst = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src = hdr.udp.src_port;
        meta.l4_dst = hdr.udp.dst_port;
        transition accept;
    }
}

control SketchVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

// One row: counts the flow in its column, and gives the count.
control Row(in bit<16> column, out bit<32> count) {
    register<bit<32>, bit<32>>(COLUMNS) cells;

    apply {
        cells.read(count, (bit<32>)column);
        count = count |+| 1;
        cells.write((bit<32>)column, count);
    }
}

control SketchIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    Row() row_1;
    Row() row_2;
    Row() row_3;
    Row() row_4;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_threshold(bit<32> packets) {
        meta.threshold = packets;
    }

    // By traffic class; zero is no threshold.
    table thresholds {
        key = { hdr.ipv4.dscp: exact; }
        actions = { set_threshold; }
        default_action = set_threshold(0);
        size = 64;
    }

    action set_next_hop(next_hop_t next_hop) {
        meta.next_hop = next_hop;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
        size = 131072;
    }

    action forward(port_t port, mac_t src_addr, mac_t dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        if (!hdr.ipv4.isValid() || standard_metadata.checksum_error == 1 || hdr.ipv4.ttl < 2) {
            drop();
            return;
        }
        // CRCs of the same fields behind different constants differ by a constant: flows that meet in one row would
        // meet in all. So the fields stand in two orders, and each CRC gives the columns of two rows.
        bit<32> forth;
        bit<32> back;
        hash(forth, HashAlgorithm.crc32, 32w0,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, meta.l4_src, meta.l4_dst }, ALL_OF_32);
        hash(back, HashAlgorithm.crc32, 32w0,
             { meta.l4_dst, meta.l4_src, hdr.ipv4.protocol, hdr.ipv4.dst_addr, hdr.ipv4.src_addr }, ALL_OF_32);
        bit<32> estimate;
        bit<32> other;
        row_1.apply(forth[15:0], estimate);
        row_2.apply(forth[31:16], other);
        estimate = other < estimate ? other : estimate;
        row_3.apply(back[15:0], other);
        estimate = other < estimate ? other : estimate;
        row_4.apply(back[31:16], other);
        estimate = other < estimate ? other : estimate;
        thresholds.apply();
        if (estimate == meta.threshold) {
            digest<heavy_t>(1, { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
                                 meta.l4_src, meta.l4_dst, estimate });
        }
        switch (routes.apply().action_run) {
            set_next_hop: { next_hops.apply(); }
            default: { }
        }
    }
}

control SketchEgress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply { }
}

control SketchCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control SketchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(SketchParser(), SketchVerify(), SketchIngress(), SketchEgress(), SketchCompute(), SketchDeparser()) main;
