// SPDX-License-Identifier: Apache-2.0
//
// PIAS (Bai et al., NSDI'15) on a switch: a flow begins in the highest of eight priority queues and sinks with the bytes that it has sent, so that
// short flows overtake long ones and nobody has to say how long a flow is.
//
//   bytes of the flow so far (count-min sketch) -> thresholds -> priority
//
// A sketch never counts too little, so an error only lowers a priority. Every operation is one of a limited switch (p4rack check pias.p4
// --device flexswitch). Counts are not cleared: with more flows than the sketch has room for, the control plane has to reset it.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include <p4rack/blocks/count-min-conservative/rows=3,columns=16384,key=104.p4>

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

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
}

struct metadata_t { }

parser PiasParser(packet_in packet,
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

control PiasVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control PiasIngress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    CountMinConservative() flows;
    bit<32> sent = 0;

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

    // By the bytes that the flow has sent, with this packet.
    table thresholds {
        key = { sent: range; }
        actions = { queue; }
        const default_action = queue(0);
        const entries = {
            0 .. 10000: queue(7);
            10001 .. 30000: queue(6);
            30001 .. 100000: queue(5);
            100001 .. 300000: queue(4);
            300001 .. 1000000: queue(3);
            1000001 .. 3000000: queue(2);
            3000001 .. 10000000: queue(1);
        }
    }

    apply {
        hosts.apply();
        // Other packets are few, and urgent.
        standard_metadata.priority = 7;
        if (hdr.ports.isValid()) {
            flows.apply(hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.ipv4.protocol ++ hdr.ports.src_port ++ hdr.ports.dst_port,
                        standard_metadata.packet_length, sent);
            thresholds.apply();
        }
    }
}

control PiasEgress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    apply { }
}

control PiasUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control PiasDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(PiasParser(), PiasVerify(), PiasIngress(), PiasEgress(), PiasUpdate(), PiasDeparser()) main;
