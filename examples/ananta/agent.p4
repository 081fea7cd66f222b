// SPDX-License-Identifier: Apache-2.0
//
// Ananta's agent at a server (Patel et al., SIGCOMM'13): the server has an address of its own, and answers clients by the virtual one.
//
//   from the mux:     remove the outer header; destination: VIP -> server's own address
//   from the server:  source, if the table knows the port: own address -> VIP; to the client without the mux (direct server return)
//
// Port 1 leads to the network, port 2 to the server. Checksums of TCP and UDP are updated by the difference (RFC 1624).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"

const bit<9> NETWORK = 1;
const bit<9> SERVER = 2;

header checksum_of_tcp_h {
    bit<96> before;
    bit<16> checksum;
}

header checksum_of_udp_h {
    bit<16> before;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t        ethernet;
    ipv4_h            outer;
    ipv4_h            ipv4;
    ports_h           ports;
    checksum_of_tcp_h tcp;
    checksum_of_udp_h udp;
}

struct metadata_t { }

parser AgentParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_first;
            default: accept;
        }
    }

    state parse_first {
        ipv4_h first = packet.lookahead<ipv4_h>();
        transition select(first.ihl, first.protocol) {
            (5, PROTOCOL_IPIP): parse_outer;
            default: parse_ipv4;
        }
    }

    state parse_outer {
        packet.extract(hdr.outer);
        transition parse_ipv4;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_tcp;
            (5, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.ports);
        packet.extract(hdr.tcp);
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.ports);
        packet.extract(hdr.udp);
        transition accept;
    }
}

control AgentVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// The checksum with an address in the place of another one.
control Adjust(inout bit<16> checksum, in bit<32> from, in bit<32> to) {
    apply {
        bit<32> sum = 16w0 ++ ~checksum;
        sum = sum + (16w0 ++ ~from[31:16]) + (16w0 ++ ~from[15:0]) + (16w0 ++ to[31:16]) + (16w0 ++ to[15:0]);
        sum = (16w0 ++ sum[31:16]) + (16w0 ++ sum[15:0]);
        sum = (16w0 ++ sum[31:16]) + (16w0 ++ sum[15:0]);
        checksum = ~sum[15:0];
    }
}

control AgentIngress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    Adjust() adjust;
    bit<32> from = 0;
    bit<32> to = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // Packets for a VIP's port are for this address.
    action deliver(bit<32> own) {
        from = hdr.ipv4.dst_addr;
        to = own;
        hdr.ipv4.dst_addr = own;
    }

    table virtual_ports {
        key = {
            hdr.ipv4.dst_addr: exact;
            hdr.ipv4.protocol: exact;
            hdr.ports.dst_port: exact;
        }
        actions = { deliver; drop; }
        default_action = drop();
        size = 64;
    }

    // Answers of a port come from this VIP.
    action answer_as(bit<32> address) {
        from = hdr.ipv4.src_addr;
        to = address;
        hdr.ipv4.src_addr = address;
    }

    table own_ports {
        key = {
            hdr.ipv4.src_addr: exact;
            hdr.ipv4.protocol: exact;
            hdr.ports.src_port: exact;
        }
        actions = { answer_as; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    apply {
        if (standard_metadata.ingress_port == SERVER) {
            standard_metadata.egress_spec = NETWORK;
            if (hdr.ports.isValid()) {
                own_ports.apply();
            }
        } else {
            standard_metadata.egress_spec = SERVER;
            if (hdr.outer.isValid()) {
                hdr.outer.setInvalid();
                if (hdr.ports.isValid()) {
                    virtual_ports.apply();
                } else {
                    drop();
                }
            }
        }
        if (from != to) {
            if (hdr.tcp.isValid()) {
                adjust.apply(hdr.tcp.checksum, from, to);
            } else if (hdr.udp.isValid() && hdr.udp.checksum != 0) {
                adjust.apply(hdr.udp.checksum, from, to);
                if (hdr.udp.checksum == 0) {
                    hdr.udp.checksum = 0xffff;
                }
            }
        }
    }
}

control AgentEgress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    apply { }
}

control AgentUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control AgentDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(AgentParser(), AgentVerify(), AgentIngress(), AgentEgress(), AgentUpdate(), AgentDeparser()) main;
