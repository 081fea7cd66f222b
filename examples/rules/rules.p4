// SPDX-License-Identifier: Apache-2.0
//
// Counters of Snort's rules in the network: a rule matches packets by addresses, protocol, port and TCP's flags, and is reported when one source, or
// one destination, has had so many of them in a window of time (Snort's detection_filter: track by_src or by_dst, count, seconds).
//
//   rule (ternary) -> number, tracked address, window, count -> three counters by hash, the least of them -> digest when it reaches the count
//
// Other rules count the different destinations of a source, or the different sources of a destination: bits of a row by the hash of the tracked address,
// and the number of bits that are set.
//
// A counter is good for one window, and is taken over by the first packet of another, so nothing is cleared. Counters are never too small: errors only
// report too early. The content of packets is not looked at: a rule with content belongs on a server that gets the packets of the sources named here.
//
// Every operation is one of a limited switch (p4rack check rules.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

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

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}

header tcp_h {
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<8>  offset;
    bit<8>  flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

// A rule that was reached, and the source or destination.
struct alert_t {
    bit<16> rule;
    bit<32> address;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
    tcp_h      tcp;
}

struct metadata_t { }

parser RulesParser(packet_in packet,
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
            (5, 0, PROTOCOL_TCP): parse_ports;
            (5, 0, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition select(hdr.ipv4.protocol) {
            PROTOCOL_TCP: parse_tcp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control RulesVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// The number of packets of a key in a window, at most 2^24 - 1: never too small. Rows hash rotated keys: a CRC of the key after a constant would
// differ from that of the key by a constant, and two keys that share a cell of one row would share one of each.
control Count(in bit<48> key, in bit<8> window, out bit<24> least) {
    // Window, count.
    register<bit<32>, bit<32>>(16384) counts_0;
    register<bit<32>, bit<32>>(16384) counts_1;
    register<bit<32>, bit<32>>(16384) counts_2;

    apply {
        bit<32> index;
        bit<32> cell;
        bit<24> count;
        hash(index, HashAlgorithm.crc32, 32w0, { key }, 32w16384);
        counts_0.read(cell, index);
        // A cell of another window counts as empty.
        count = cell[31:24] == window ? cell[23:0] : 0;
        count = count |+| 1;
        counts_0.write(index, window ++ count);
        least = count;
        hash(index, HashAlgorithm.crc32, 32w0, { key[16:0] ++ key[47:17] }, 32w16384);
        counts_1.read(cell, index);
        // A cell of another window counts as empty.
        count = cell[31:24] == window ? cell[23:0] : 0;
        count = count |+| 1;
        counts_1.write(index, window ++ count);
        least = count < least ? count : least;
        hash(index, HashAlgorithm.crc32, 32w0, { key[33:0] ++ key[47:34] }, 32w16384);
        counts_2.read(cell, index);
        // A cell of another window counts as empty.
        count = cell[31:24] == window ? cell[23:0] : 0;
        count = count |+| 1;
        counts_2.write(index, window ++ count);
        least = count < least ? count : least;
    }
}

// The number of different addresses of a key in a window, for the packet that adds one; 0 for all others. Of n addresses, 256 (1 - e^(-n/256)) are
// counted, as some share a bit: 38 of 41, 83 of 100.
control Distinct(in bit<48> key, in bit<32> other, in bit<8> window, out bit<24> number) {
    // The window in which each bit was set, with a 1 before it, for 1,024 rows of 256 bits.
    register<bit<16>, bit<32>>(262144) bits;
    // Window, number of bits set, for each row.
    register<bit<32>, bit<32>>(1024) counts;

    apply {
        number = 0;
        bit<32> row;
        hash(row, HashAlgorithm.crc32, 32w0, { key }, 32w1024);
        bit<32> column;
        hash(column, HashAlgorithm.crc32, 32w0, { other }, 32w256);
        bit<32> index = (row << 8) | column;
        bit<16> seen;
        bits.read(seen, index);
        bits.write(index, 8w1 ++ window);
        if (seen != 8w1 ++ window) {
            bit<32> cell;
            counts.read(cell, row);
            number = cell[31:24] == window ? cell[23:0] : 0;
            number = number + 1;
            counts.write(row, window ++ number);
        }
    }
}

control RulesIngress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    Count() packets;
    Distinct() addresses;
    bit<16> rule = 0;
    bit<32> address = 0;
    bit<1> is_distinct = 0;
    bit<32> other = 0;
    bit<8> window = 0;
    bit<24> limit = 0;
    bit<16> dst_port = 0;
    bit<8> flags = 0;

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

    // Windows of 2^20, 2^22 and 2^25 us: about 1, 4 and 34 seconds.
    action source_in_1s(bit<16> number, bit<24> count) {
        rule = number;
        limit = count;
        address = hdr.ipv4.src_addr;
        window = standard_metadata.ingress_global_timestamp[27:20];
    }

    action source_in_4s(bit<16> number, bit<24> count) {
        rule = number;
        limit = count;
        address = hdr.ipv4.src_addr;
        window = standard_metadata.ingress_global_timestamp[29:22];
    }

    action source_in_34s(bit<16> number, bit<24> count) {
        rule = number;
        limit = count;
        address = hdr.ipv4.src_addr;
        window = standard_metadata.ingress_global_timestamp[32:25];
    }

    action destination_in_1s(bit<16> number, bit<24> count) {
        rule = number;
        limit = count;
        address = hdr.ipv4.dst_addr;
        window = standard_metadata.ingress_global_timestamp[27:20];
    }

    action destination_in_4s(bit<16> number, bit<24> count) {
        rule = number;
        limit = count;
        address = hdr.ipv4.dst_addr;
        window = standard_metadata.ingress_global_timestamp[29:22];
    }

    action destination_in_34s(bit<16> number, bit<24> count) {
        rule = number;
        limit = count;
        address = hdr.ipv4.dst_addr;
        window = standard_metadata.ingress_global_timestamp[32:25];
    }

    action destinations_of_source_in_4s(bit<16> number, bit<24> count) {
        source_in_4s(number, count);
        is_distinct = 1;
        other = hdr.ipv4.dst_addr;
    }

    action sources_of_destination_in_4s(bit<16> number, bit<24> count) {
        destination_in_4s(number, count);
        is_distinct = 1;
        other = hdr.ipv4.src_addr;
    }

    // Numbers begin at 1.
    table rules {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            dst_port: ternary;
            flags: ternary;
        }
        actions = { source_in_1s; source_in_4s; source_in_34s; destination_in_1s; destination_in_4s; destination_in_34s; destinations_of_source_in_4s; sources_of_destination_in_4s; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        hosts.apply();
        if (hdr.ipv4.isValid()) {
            dst_port = hdr.ports.isValid() ? hdr.ports.dst_port : 0;
            flags = hdr.tcp.isValid() ? hdr.tcp.flags : 0;
            rules.apply();
            if (rule != 0) {
                bit<24> found;
                if (is_distinct == 1) {
                    addresses.apply(rule ++ address, other, window, found);
                } else {
                    packets.apply(rule ++ address, window, found);
                }
                // Once in a window: counts of a key grow by one.
                if (found == limit) {
                    digest<alert_t>(1, { rule, address });
                }
            }
        }
    }
}

control RulesEgress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    apply { }
}

control RulesUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control RulesDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
        packet.emit(hdr.tcp);
    }
}

V1Switch(RulesParser(), RulesVerify(), RulesIngress(), RulesEgress(), RulesUpdate(), RulesDeparser()) main;
