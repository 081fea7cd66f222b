// SPDX-License-Identifier: Apache-2.0
//
// A router that also carries packets through tunnels: the first switch puts a header in front of IPv4, the switches between forward by its
// number alone, and the last one takes it off. The choice of the tunnel is a region.

#include "headers.p4"

const bit<16> TYPE_TUNNEL = 0x1212;

header tunnel_h {
    bit<16> ether_type;
    bit<16> number;
}

struct headers_t {
    ethernet_t ethernet;
    tunnel_h   tunnel;
    ipv4_h     ipv4;
}

struct metadata_t {
    ipv4_t next_hop;
}

parser TunnelParser(packet_in packet,
                    out headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_TUNNEL: parse_tunnel;
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_tunnel {
        packet.extract(hdr.tunnel);
        transition select(hdr.tunnel.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control TunnelVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5, IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control TunnelIngress(inout headers_t hdr,
                      inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
#include "routing.p4"

    action enter(bit<16> number) {
        hdr.tunnel.setValid();
        hdr.tunnel.ether_type = hdr.ethernet.ether_type;
        hdr.tunnel.number = number;
        hdr.ethernet.ether_type = TYPE_TUNNEL;
    }

    table entrances {
        key = { hdr.ipv4.dst_addr: exact; }
        actions = { enter; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action through(ipv4_t next_hop, bit<9> port) {
        meta.next_hop = next_hop;
        standard_metadata.egress_spec = port;
    }

    action leave() {
        hdr.ethernet.ether_type = hdr.tunnel.ether_type;
        hdr.tunnel.setInvalid();
    }

    table tunnels {
        key = { hdr.tunnel.number: exact; }
        actions = { through; leave; drop; }
        default_action = drop();
        size = 64;
    }

    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1) {
            if (!hdr.tunnel.isValid()) {
                @region("Tunnel") {
                    entrances.apply();
                }
            }
            if (hdr.tunnel.isValid()) {
                tunnels.apply();
            }
            if (!hdr.tunnel.isValid() && standard_metadata.egress_spec != DROP) {
                ipv4_forwarding.apply();
            }
            if (standard_metadata.egress_spec != DROP) {
                neighbours.apply();
            }
        } else {
            drop();
        }
    }
}

control TunnelEgress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    apply { }
}

control TunnelCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control TunnelDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tunnel);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(TunnelParser(), TunnelVerify(), TunnelIngress(), TunnelEgress(), TunnelCompute(), TunnelDeparser()) main;
