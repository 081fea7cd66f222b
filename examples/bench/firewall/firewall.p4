// SPDX-License-Identifier: Apache-2.0
//
// A stateful firewall in front of a router. Flows that begin inside are noted in a Bloom filter of two arrays; from
// outside come only packets of flows that are in it, and those that the control plane lets in.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

const bit<32> FILTER_BITS = 1 << 20;

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    tcp_t      tcp;
    udp_t      udp;
}

struct metadata_t {
    bit<16>    l4_src;
    bit<16>    l4_dst;
    bit<1>     inside;
    next_hop_t next_hop;
}

parser FirewallParser(packet_in packet,
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

control FirewallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control FirewallIngress(inout headers_t hdr,
                        inout metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    register<bit<1>, bit<32>>(FILTER_BITS) filter_1;
    register<bit<1>, bit<32>>(FILTER_BITS) filter_2;
    counter<bit<32>>(2, CounterType.packets) refused;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action deny() {
        mark_to_drop(standard_metadata);
        exit;
    }

    action set_side(bit<1> inside) {
        meta.inside = inside;
    }

    table sides {
        key = { standard_metadata.ingress_port: exact; }
        actions = { set_side; deny; }
        default_action = set_side(0);
        size = 512;
    }

    action admit() { }

    // Services that may be reached from outside.
    table services {
        key = {
            hdr.ipv4.dst_addr: exact;
            hdr.ipv4.protocol: exact;
            meta.l4_dst: exact;
        }
        actions = { admit; NoAction; }
        default_action = NoAction();
        size = 4096;
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
        sides.apply();
        bool pass = true;
        if (hdr.tcp.isValid() || hdr.udp.isValid()) {
            // The flow as seen from inside.
            ipv4_t  in_addr = hdr.ipv4.src_addr;
            ipv4_t  out_addr = hdr.ipv4.dst_addr;
            bit<16> in_port = meta.l4_src;
            bit<16> out_port = meta.l4_dst;
            if (meta.inside == 0) {
                in_addr = hdr.ipv4.dst_addr;
                out_addr = hdr.ipv4.src_addr;
                in_port = meta.l4_dst;
                out_port = meta.l4_src;
            }
            bit<32> first;
            bit<32> second;
            hash(first, HashAlgorithm.crc32, 32w0,
                 { in_addr, out_addr, hdr.ipv4.protocol, in_port, out_port }, FILTER_BITS);
            hash(second, HashAlgorithm.crc32, 32w0,
                 { out_port, in_port, hdr.ipv4.protocol, out_addr, in_addr }, FILTER_BITS);
            if (meta.inside == 1) {
                filter_1.write(first, 1);
                filter_2.write(second, 1);
            } else {
                bit<1> one;
                bit<1> two;
                filter_1.read(one, first);
                filter_2.read(two, second);
                if (one == 0 || two == 0) {
                    pass = services.apply().hit;
                    if (!pass) {
                        refused.count(0);
                    }
                }
            }
        } else if (meta.inside == 0 && hdr.ipv4.protocol != PROTO_ICMP) {
            pass = false;
            refused.count(1);
        }
        if (pass) {
            switch (routes.apply().action_run) {
                set_next_hop: { next_hops.apply(); }
                default: { }
            }
        } else {
            drop();
        }
    }
}

control FirewallEgress(inout headers_t hdr,
                       inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    apply { }
}

control FirewallCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control FirewallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(FirewallParser(), FirewallVerify(), FirewallIngress(), FirewallEgress(), FirewallCompute(),
         FirewallDeparser()) main;
