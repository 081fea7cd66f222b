// SPDX-License-Identifier: Apache-2.0
//
// Measurement in three steps (OpenSketch, NSDI'13): hash, classify, count.
//
//   classify   the table `classes` gives a packet a class by addresses, protocol and ports, and a limit of bytes
//   hash       class and flow (addresses, protocol, ports) choose a cell in each of three rows, and a bit of the class
//   count      packets and bytes of the class; bytes of the flow, a count-min sketch; bits set by the flows of the class
//
// All counts are of a window of 2^20 us, about a second. Cells carry its number, so nothing is cleared. When the bytes of a flow pass the limit of
// its class, a digest names class and flow, once in a window. A packet with EtherType 0x88b7 is a query: the switch answers it on the same
// port with the counts of a class. Of 8,192 bits, `bits` set ones stand for -8192 ln(1 - bits / 8192) flows.
//
// Every operation is one of a limited switch (p4rack check opensketch.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_QUERY = 0x88b7;
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

// A query has the class; the answer has the counts of the present window.
header query_h {
    bit<8>  class;
    bit<8>  window;
    bit<32> packets;
    bit<32> bytes;
    bit<32> bits;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
    query_h    query;
}

struct heavy_t {
    bit<8>  class;
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
}

struct metadata_t { }

parser SketchParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            TYPE_QUERY: parse_query;
            default: accept;
        }
    }

    state parse_query {
        packet.extract(hdr.query);
        transition accept;
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
        transition accept;
    }
}

control SketchVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// The bytes of a key in a window, before and after the packet: never too few. Rows hash rotated keys: a CRC of the key after a constant would differ
// from that of the key by a constant, and two keys that share a cell of one row would share one of each.
control Bytes(in bit<112> key, in bit<8> window, in bit<32> amount, out bit<32> before, out bit<32> after) {
    // Window, bytes.
    register<bit<40>, bit<32>>(16384) bytes_0;
    register<bit<40>, bit<32>>(16384) bytes_1;
    register<bit<40>, bit<32>>(16384) bytes_2;

    apply {
        bit<32> index;
        bit<40> cell;
        bit<32> known;
        bit<32> more;
        hash(index, HashAlgorithm.crc32, 32w0, { key }, 32w16384);
        bytes_0.read(cell, index);
        // A cell of another window counts as empty.
        known = cell[39:32] == window ? cell[31:0] : 0;
        more = known |+| amount;
        bytes_0.write(index, window ++ more);
        before = known;
        after = more;
        hash(index, HashAlgorithm.crc32, 32w0, { key[36:0] ++ key[111:37] }, 32w16384);
        bytes_1.read(cell, index);
        // A cell of another window counts as empty.
        known = cell[39:32] == window ? cell[31:0] : 0;
        more = known |+| amount;
        bytes_1.write(index, window ++ more);
        before = known < before ? known : before;
        after = more < after ? more : after;
        hash(index, HashAlgorithm.crc32, 32w0, { key[73:0] ++ key[111:74] }, 32w16384);
        bytes_2.read(cell, index);
        // A cell of another window counts as empty.
        known = cell[39:32] == window ? cell[31:0] : 0;
        more = known |+| amount;
        bytes_2.write(index, window ++ more);
        before = known < before ? known : before;
        after = more < after ? more : after;
    }
}

control SketchIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    // Window, packets and bytes of each class.
    register<bit<72>, bit<32>>(256) totals;
    // Window of the packet that set the bit; 8,192 for each class.
    register<bit<8>, bit<32>>(2097152) marks;
    // Window and number of bits set of each class.
    register<bit<40>, bit<32>>(256) marked;
    Bytes() flows;
    bit<8> class = 0;
    bit<32> limit = 0;
    bit<16> src_port = 0;
    bit<16> dst_port = 0;

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

    action measure(bit<8> number, bit<32> bytes) {
        class = number;
        limit = bytes;
    }

    // Numbers begin at 1.
    table classes {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            src_port: ternary;
            dst_port: ternary;
        }
        actions = { measure; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        bit<8> window = standard_metadata.ingress_global_timestamp[27:20];
        bit<1> is_new = 0;
        if (hdr.query.isValid()) {
            class = hdr.query.class;
            standard_metadata.egress_spec = standard_metadata.ingress_port;
        } else {
            hosts.apply();
            if (hdr.ipv4.isValid()) {
                src_port = hdr.ports.isValid() ? hdr.ports.src_port : 0;
                dst_port = hdr.ports.isValid() ? hdr.ports.dst_port : 0;
                classes.apply();
            }
        }
        if (class != 0) {
            bit<32> of_class = (bit<32>)class;
            bit<72> total;
            totals.read(total, of_class);
            bit<32> packets = total[71:64] == window ? total[63:32] : 0;
            bit<32> bytes = total[71:64] == window ? total[31:0] : 0;
            bit<32> length = 0;
            if (hdr.ipv4.isValid()) {
                packets = packets |+| 1;
                length = (bit<32>)hdr.ipv4.total_len;
                bytes = bytes |+| length;
            }
            totals.write(of_class, window ++ packets ++ bytes);
            if (hdr.ipv4.isValid()) {
                bit<112> key = class ++ hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.ipv4.protocol ++ src_port ++ dst_port;
                bit<32> index;
                hash(index, HashAlgorithm.crc32, 32w0, { key }, 32w8192);
                index = (of_class << 13) | index;
                bit<8> seen;
                marks.read(seen, index);
                marks.write(index, window);
                is_new = seen == window ? 1w0 : 1w1;
                bit<32> before;
                bit<32> after;
                flows.apply(key, window, length, before, after);
                if (before <= limit && after > limit) {
                    digest<heavy_t>(1, { class, hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, src_port, dst_port });
                }
            }
            bit<40> number;
            marked.read(number, of_class);
            bit<32> set = number[39:32] == window ? number[31:0] : 0;
            set = is_new == 1 ? set + 1 : set;
            marked.write(of_class, window ++ set);
            if (hdr.query.isValid()) {
                hdr.query.window = window;
                hdr.query.packets = packets;
                hdr.query.bytes = bytes;
                hdr.query.bits = set;
            }
        }
    }
}

control SketchEgress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply { }
}

control SketchUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SketchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.query);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(SketchParser(), SketchVerify(), SketchIngress(), SketchEgress(), SketchUpdate(), SketchDeparser()) main;
