// SPDX-License-Identifier: Apache-2.0
//
// Two detectors of one shape: how many different things does each subject touch in a window of time?
//
//   port scan       subject: the source of a TCP SYN                   things: destination addresses with ports
//   amplification   subject: the destination of a reply of NTP         things: sources, the reflectors
//                   (UDP from port 123)
//
// A subject has a row of 256 bits by the hash of its address; a thing sets the bit of its own hash, and a counter has the number of bits set.
// When it reaches the threshold, the packet is forwarded and a digest names the subject: once in a window. A window has 2^20 us, about a second;
// bits carry its number, so nothing is cleared. Requests of NTP are not watched: their sources are forged.
//
// Two subjects with one row are taken together, and a digest names the one that was seen. Every operation is one of a limited switch
// (p4rack check detect.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

// Bits set at which a subject is reported: 64 of 256 bits are set by about 74 things.
const bit<32> THRESHOLD = 64;
const bit<16> PORT_NTP = 123;

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
    bit<32> seq;
    bit<32> ack;
    bit<8>  offset;
    bit<8>  flags;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
    tcp_h      tcp;
}

struct alarm_t {
    bit<8>  kind;     // 1: port scan, 2: amplification
    bit<32> subject;
}

struct metadata_t { }

parser DetectParser(packet_in packet,
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

control DetectVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// Whether a thing is the one that brings its subject to the threshold, in a window.
control Touched(in bit<32> subject, in bit<48> thing, in bit<8> window, out bit<1> alarm) {
    // The window and the bit, for 1,024 rows of 256 bits.
    register<bit<8>, bit<32>>(262144) bits;
    // The window and the number of bits set, for each row.
    register<bit<40>, bit<32>>(1024) counts;

    apply {
        alarm = 0;
        bit<32> row;
        hash(row, HashAlgorithm.crc32, 32w0, { subject }, 32w1024);
        bit<32> column;
        hash(column, HashAlgorithm.crc32, 32w0, { thing[15:0] ++ thing[47:16] }, 32w256);
        bit<32> cell = (row << 8) | column;
        bit<8> seen;
        bits.read(seen, cell);
        bits.write(cell, window);
        if (seen != window) {
            bit<40> counted;
            counts.read(counted, row);
            bit<32> count = 1;
            if (counted[39:32] == window) {
                count = counted[31:0] + 1;
            }
            counts.write(row, window ++ count);
            if (count == THRESHOLD) {
                alarm = 1;
            }
        }
    }
}

control DetectIngress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    Touched() scanned;
    Touched() reflected;

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

    apply {
        hosts.apply();
        // Never 0, the value of cells that were not written.
        bit<8> window = standard_metadata.ingress_global_timestamp[27:20] | 128;
        bit<1> alarm = 0;
        if (hdr.tcp.isValid()) {
            // SYN without ACK.
            if (hdr.tcp.flags & 0x12 == 2) {
                scanned.apply(hdr.ipv4.src_addr, hdr.ipv4.dst_addr ++ hdr.ports.dst_port, window, alarm);
                if (alarm == 1) {
                    digest<alarm_t>(1, { 1, hdr.ipv4.src_addr });
                }
            }
        } else if (hdr.ports.isValid() && hdr.ports.src_port == PORT_NTP) {
            reflected.apply(hdr.ipv4.dst_addr, hdr.ipv4.src_addr ++ 16w0, window, alarm);
            if (alarm == 1) {
                digest<alarm_t>(1, { 2, hdr.ipv4.dst_addr });
            }
        }
    }
}

control DetectEgress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply { }
}

control DetectUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control DetectDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
        packet.emit(hdr.tcp);
    }
}

V1Switch(DetectParser(), DetectVerify(), DetectIngress(), DetectEgress(), DetectUpdate(), DetectDeparser()) main;
