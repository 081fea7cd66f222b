// SPDX-License-Identifier: Apache-2.0
//
// A router for IPv4 and IPv6 with an access list for each: ternary over addresses, protocol, ports and TCP flags.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ipv6_h     ipv6;
    tcp_t      tcp;
    udp_t      udp;
}

struct metadata_t {
    bit<16>    l4_src;
    bit<16>    l4_dst;
    bit<8>     tcp_flags;
    next_hop_t next_hop;
}

parser AclParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            TYPE_IPV6: parse_ipv6;
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

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next_header) {
            PROTO_TCP: parse_tcp;
            PROTO_UDP: parse_udp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4_src = hdr.tcp.src_port;
        meta.l4_dst = hdr.tcp.dst_port;
        meta.tcp_flags = hdr.tcp.flags;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4_src = hdr.udp.src_port;
        meta.l4_dst = hdr.udp.dst_port;
        transition accept;
    }
}

control AclVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control AclIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action permit() { }

    action deny() {
        mark_to_drop(standard_metadata);
        exit;
    }

    table acl_v4 {
        key = {
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            meta.l4_src: ternary;
            meta.l4_dst: ternary;
            meta.tcp_flags: ternary;
        }
        actions = { permit; deny; }
        default_action = permit();
        size = 1024;
    }

    table acl_v6 {
        key = {
            hdr.ipv6.src_addr: ternary;
            hdr.ipv6.dst_addr: ternary;
            hdr.ipv6.next_header: ternary;
            meta.l4_src: ternary;
            meta.l4_dst: ternary;
            meta.tcp_flags: ternary;
        }
        actions = { permit; deny; }
        default_action = permit();
        size = 1024;
    }

    action set_next_hop(next_hop_t next_hop) {
        meta.next_hop = next_hop;
    }

    table routes_v4 {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
        size = 131072;
    }

    table routes_v6 {
        key = { hdr.ipv6.dst_addr: lpm; }
        actions = { set_next_hop; drop; }
        default_action = drop();
        size = 131072;
    }

    action forward(port_t port, mac_t src_addr, mac_t dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_addr;
        hdr.ethernet.dst_addr = dst_addr;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (standard_metadata.checksum_error == 0 && hdr.ipv4.ttl > 1) {
                acl_v4.apply();
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                routes_v4.apply();
            }
        } else if (hdr.ipv6.isValid() && hdr.ipv6.hop_limit > 1) {
            acl_v6.apply();
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            routes_v6.apply();
        }
        if (meta.next_hop != 0) {
            next_hops.apply();
        } else {
            drop();
        }
    }
}

control AclEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply { }
}

control AclCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control AclDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(AclParser(), AclVerify(), AclIngress(), AclEgress(), AclCompute(), AclDeparser()) main;
