// SPDX-License-Identifier: Apache-2.0
//
// An IPv4 router for racks of many switches: longest prefix, next hop, neighbour. Packets of different flows that go up
// take different ways of the same length.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<9>  port_t;
typedef bit<16> next_hop_t;

const bit<16> TYPE_IPV4 = 0x0800;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

// The first word of TCP, UDP and ICMP: what tells flows apart.
header flow_h {
    bit<32> word;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    flow_h     flow;
}

struct metadata_t {
    next_hop_t next_hop;
    ipv4_t     neighbour;
}

#define IPV4_SUMMED(h) \
    { h.version, h.ihl, h.diffserv, h.total_len, h.identification, h.flags, h.frag_offset, h.ttl, h.protocol, \
      h.src_addr, h.dst_addr }

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (0, 5, 1): parse_flow;
            (0, 5, 6): parse_flow;
            (0, 5, 17): parse_flow;
            default: accept;
        }
    }
    state parse_flow {
        packet.extract(hdr.flow);
        transition accept;
    }
}

control RouterVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    // By one next hop.
    action via(next_hop_t next_hop) {
        meta.next_hop = next_hop;
    }

    // By one of `count` next hops from `first` on; packets of one flow take the same.
    action spread(next_hop_t first, bit<16> count) {
        hash(meta.next_hop, HashAlgorithm.crc16, first,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.flow.word }, count);
    }

    // The same with another hash: where packets were spread once already, the first would choose the same for all.
    action spread_again(next_hop_t first, bit<16> count) {
        hash(meta.next_hop, HashAlgorithm.crc32, first,
             { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, hdr.flow.word }, count);
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { via; spread; spread_again; drop; }
        default_action = drop();
        size = 4096;
    }

    // To a router: the neighbour is that router.
    action to_router(port_t port, mac_t src_addr, ipv4_t neighbour) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_addr;
        meta.neighbour = neighbour;
    }

    // To a host: the neighbour is where the packet goes.
    action to_host(port_t port, mac_t src_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_addr;
        meta.neighbour = hdr.ipv4.dst_addr;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { to_router; to_host; drop; }
        default_action = drop();
        size = 1024;
    }

    action resolve(mac_t dst_addr) {
        hdr.ethernet.dst_addr = dst_addr;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // What ARP would have found.
    table neighbours {
        key = { meta.neighbour: exact; }
        actions = { resolve; drop; }
        default_action = drop();
        size = 1024;
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.version == 4 && hdr.ipv4.ihl == 5 &&
            standard_metadata.checksum_error == 0 && hdr.ipv4.ttl > 1) {
            switch (routes.apply().action_run) {
                drop: { }
                default: {
                    switch (next_hops.apply().action_run) {
                        drop: { }
                        default: { neighbours.apply(); }
                    }
                }
            }
        } else {
            drop();
        }
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control RouterCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.flow);
    }
}

V1Switch(RouterParser(), RouterVerify(), RouterIngress(), RouterEgress(), RouterCompute(), RouterDeparser()) main;
