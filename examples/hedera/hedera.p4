// SPDX-License-Identifier: Apache-2.0
//
// Hedera (Al-Fares et al., NSDI'10) at an edge switch: flows take uplinks by hash; large ones are reported to the controller, which places them.
//
//   to another edge:  bytes of the flow so far -> report, if large -> uplink: of the entry `placed` if the controller has placed it, else by hash
//
// The bytes of flows are counted by a sketch whose cells are halved in each interval of 32,768 us, so the count of a flow with a constant rate is between
// the bytes of one interval and of two. A flow is reported when its count reaches the limit of its uplink, once in an interval. Every operation is one of a
// limited switch (p4rack check hedera.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include <p4rack/blocks/count-min-decay/columns=4096,key=104,as=Bytes.p4>

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
    bit<6>  dscp;
    bit<2>  ecn;
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

// A large flow, and its bytes.
struct large_t {
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> bytes;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
}

struct metadata_t { }

parser HederaParser(packet_in packet,
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
        transition accept;
    }
}

control HederaVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control HederaIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    Bytes() bytes_of;
    // By the hash of a flow, the interval in which it was last reported.
    register<bit<9>, bit<32>>(4096) reported;
    bit<1> is_remote = 0;
    bit<2> uplink = 0;
    bit<32> limit = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action local(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action remote() {
        is_remote = 1;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { local; remote; drop; }
        default_action = drop();
        size = 4096;
    }

    action via(bit<2> path) {
        uplink = path;
    }

    // Flows that the controller has placed.
    table placed {
        key = {
            hdr.ipv4.src_addr: exact;
            hdr.ipv4.dst_addr: exact;
            hdr.ipv4.protocol: exact;
            hdr.ports.src_port: exact;
            hdr.ports.dst_port: exact;
        }
        actions = { via; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    bit<3> slot = 0;

    // Uplinks of the others, in 8 slots.
    table slots {
        key = { slot: exact; }
        actions = { via; drop; }
        default_action = drop();
        size = 8;
    }

    // The limit is a tenth of the bytes that the link takes in an interval.
    action send(bit<9> port, bit<32> large) {
        standard_metadata.egress_spec = port;
        limit = large;
    }

    table uplinks {
        key = { uplink: exact; }
        actions = { send; drop; }
        default_action = drop();
        size = 4;
    }

    apply {
        hosts.apply();
        if (is_remote == 1) {
            bit<104> flow = 0;
            if (hdr.ports.isValid()) {
                flow = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.ipv4.protocol ++ hdr.ports.src_port ++ hdr.ports.dst_port;
            }
            bit<32> chance;
            hash(chance, HashAlgorithm.crc32, 32w0, { flow }, 33w0x100000000);
            slot = chance[14:12];
            slots.apply();
            if (hdr.ports.isValid()) {
                placed.apply();
            }
            uplinks.apply();
            if (hdr.ports.isValid()) {
                bit<8> interval = standard_metadata.ingress_global_timestamp[22:15];
                bit<32> sum;
                bytes_of.apply(flow, standard_metadata.packet_length, interval, sum);
                if (limit != 0 && sum >= limit) {
                    // A leading 1, so that no interval is that of the beginning.
                    bit<9> last;
                    reported.read(last, 20w0 ++ chance[11:0]);
                    reported.write(20w0 ++ chance[11:0], 1w1 ++ interval);
                    if (last != 1w1 ++ interval) {
                        digest<large_t>(1, { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.ports.src_port, hdr.ports.dst_port, sum });
                    }
                }
            }
        }
    }
}

control HederaEgress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply { }
}

control HederaUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control HederaDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(HederaParser(), HederaVerify(), HederaIngress(), HederaEgress(), HederaUpdate(), HederaDeparser()) main;
