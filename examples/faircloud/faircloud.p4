// SPDX-License-Identifier: Apache-2.0
//
// FairCloud (Popa et al., SIGCOMM'12), approximated: a machine has the same weight however many others it talks to, so a pair of machines has a share of
// each one's weight. A switch with eight queues gives each range of weights a priority.
//
//   destinations of the source and sources of the destination (bits set in a row by hash) -> weight 1/N of each -> sum -> priority
//
// A machine has a row of 256 bits by the hash of its address; a peer sets the bit of its own hash. Windows have 2^20 us, about a second; bits and counts
// carry the number of theirs, so nothing is cleared. The count is the larger one of this window and the one before. Every operation is one of a limited
// switch (p4rack check faircloud.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
}

struct metadata_t { }

parser FaircloudParser(packet_in packet,
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
        transition accept;
    }
}

control FaircloudVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// The number of machines that a machine has exchanged packets with, in this window or the one before.
control Peers(in bit<32> machine, in bit<32> peer, in bit<8> window, out bit<16> number) {
    // The window and the bit, for 1,024 rows of 256 bits.
    register<bit<8>, bit<32>>(262144) bits;
    // The window, and the number of bits set in the one before and in this one, for each row.
    register<bit<40>, bit<32>>(1024) counts;

    apply {
        bit<32> row;
        hash(row, HashAlgorithm.crc32, 32w0, { machine }, 32w1024);
        bit<32> column;
        hash(column, HashAlgorithm.crc32, 32w0, { peer[15:0] ++ peer[31:16] }, 32w256);
        bit<32> cell = (row << 8) | column;
        bit<8> seen;
        bits.read(seen, cell);
        bits.write(cell, window);
        bit<40> counted;
        counts.read(counted, row);
        bit<16> before = counted[31:16];
        bit<16> now = counted[15:0];
        if (counted[39:32] != window) {
            bit<8> last = window == 1 ? 8w128 : window - 1;
            before = counted[39:32] == last ? now : 0;
            now = 0;
        }
        if (seen != window) {
            now = now + 1;
        }
        counts.write(row, window ++ before ++ now);
        number = before > now ? before : now;
    }
}

// 128 / number.
control Weight(in bit<16> number, out bit<16> weight) {
    bit<16> found = 1;

    action weighs(bit<16> value) {
        found = value;
    }

    table weights {
        key = { number: range; }
        actions = { weighs; }
        const default_action = weighs(1);
        const entries = {
            1 .. 1: weighs(128);
            2 .. 2: weighs(64);
            3 .. 3: weighs(43);
            4 .. 4: weighs(32);
            5 .. 5: weighs(26);
            6 .. 6: weighs(21);
            7 .. 8: weighs(17);
            9 .. 11: weighs(13);
            12 .. 15: weighs(10);
            16 .. 22: weighs(7);
            23 .. 31: weighs(5);
            32 .. 63: weighs(3);
        }
    }

    apply {
        weights.apply();
        weight = found;
    }
}

control FaircloudIngress(inout headers_t hdr,
                         inout metadata_t meta,
                         inout standard_metadata_t standard_metadata) {
    Peers() destinations;
    Peers() sources;
    Weight() of_source;
    Weight() of_destination;
    bit<16> weight = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    action queue(bit<3> priority) {
        standard_metadata.priority = priority;
    }

    // By the weight of the pair, at most 256.
    table queues {
        key = { weight: range; }
        actions = { queue; }
        const default_action = queue(0);
        const entries = {
            193 .. 256: queue(7);
            129 .. 192: queue(6);
            97 .. 128: queue(5);
            65 .. 96: queue(4);
            33 .. 64: queue(3);
            17 .. 32: queue(2);
            9 .. 16: queue(1);
        }
    }

    apply {
        // From 1 to 128: never 0, the value of cells that were not written.
        bit<8> window = (1w0 ++ standard_metadata.ingress_global_timestamp[26:20]) + 1;
        hosts.apply();
        // Other packets are few, and urgent.
        standard_metadata.priority = 7;
        if (hdr.ipv4.isValid()) {
            bit<16> number;
            destinations.apply(hdr.ipv4.src_addr, hdr.ipv4.dst_addr, window, number);
            bit<16> own;
            of_source.apply(number, own);
            sources.apply(hdr.ipv4.dst_addr, hdr.ipv4.src_addr, window, number);
            bit<16> other;
            of_destination.apply(number, other);
            weight = own + other;
            queues.apply();
        }
    }
}

control FaircloudEgress(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    apply { }
}

control FaircloudUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control FaircloudDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(FaircloudParser(), FaircloudVerify(), FaircloudIngress(), FaircloudEgress(), FaircloudUpdate(), FaircloudDeparser()) main;
