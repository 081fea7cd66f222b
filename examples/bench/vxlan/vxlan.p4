// SPDX-License-Identifier: Apache-2.0
//
// A VXLAN gateway (RFC 7348): VLANs at its access ports, tunnels over IPv4 at its network ports.
//
//   access -> network:  port and VLAN give the VNI; VNI and destination give the tunnel; outer headers are pushed
//   network -> access:  outer headers are removed; VNI and destination give port and VLAN

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

typedef bit<24> vni_t;

const bit<16> IPV4_BYTES = 20;
const bit<16> OUTER_BYTES = 20 + 8 + 8;
const bit<16> TAG_BYTES = 4;

struct headers_t {
    ethernet_t outer_ethernet;
    ipv4_h     outer_ipv4;
    udp_t      outer_udp;
    vxlan_t    vxlan;
    ethernet_t ethernet;
    vlan_t     vlan;
    ipv4_h     ipv4;
}

struct metadata_t {
    vni_t   vni;
    bit<1>  tunnelled;
    bit<16> tunnel;
    // Of the frame in the tunnel.
    bit<16> inner_len;
}

parser VxlanParser(packet_in packet,
                   out headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_VLAN: parse_vlan;
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.vlan.isValid(), hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (false, 5, 0, PROTO_UDP): look_for_vxlan;
            default: accept;
        }
    }

    state look_for_vxlan {
        udp_t udp = packet.lookahead<udp_t>();
        transition select(udp.dst_port) {
            UDP_VXLAN: parse_vxlan;
            default: accept;
        }
    }

    // What was read so far are the outer headers.
    state parse_vxlan {
        hdr.outer_ethernet = hdr.ethernet;
        hdr.outer_ipv4 = hdr.ipv4;
        hdr.ipv4.setInvalid();
        packet.extract(hdr.outer_udp);
        packet.extract(hdr.vxlan);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_inner_ipv4;
            default: accept;
        }
    }

    state parse_inner_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control VxlanVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.outer_ipv4.isValid(), IPV4_SUMMED(hdr.outer_ipv4), hdr.outer_ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control VxlanIngress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_vni(vni_t vni) {
        meta.vni = vni;
    }

    table access {
        key = {
            standard_metadata.ingress_port: exact;
            hdr.vlan.vid: exact;
        }
        actions = { set_vni; @defaultonly drop; }
        default_action = drop();
        size = 4096;
    }

    // Outer destinations that are ours.
    table tunnel_ends {
        key = { hdr.outer_ipv4.dst_addr: exact; }
        actions = { NoAction; @defaultonly drop; }
        default_action = drop();
        size = 64;
    }

    action to_access(port_t port, bit<12> vid) {
        standard_metadata.egress_spec = port;
        hdr.vlan.setValid();
        hdr.vlan.pcp = 0;
        hdr.vlan.dei = 0;
        hdr.vlan.vid = vid;
        hdr.vlan.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = TYPE_VLAN;
    }

    action to_tunnel(bit<16> tunnel) {
        meta.tunnel = tunnel;
        meta.tunnelled = 1;
    }

    table stations {
        key = {
            meta.vni: exact;
            hdr.ethernet.dst_addr: exact;
        }
        actions = { to_access; to_tunnel; drop; }
        default_action = drop();
        size = 131072;
    }

    action encapsulate(port_t port, mac_t src_mac, mac_t dst_mac, ipv4_t src_addr, ipv4_t dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.outer_ethernet.setValid();
        hdr.outer_ethernet.dst_addr = dst_mac;
        hdr.outer_ethernet.src_addr = src_mac;
        hdr.outer_ethernet.ether_type = TYPE_IPV4;
        hdr.outer_ipv4.setValid();
        hdr.outer_ipv4.version = 4;
        hdr.outer_ipv4.ihl = 5;
        hdr.outer_ipv4.dscp = 0;
        hdr.outer_ipv4.ecn = 0;
        hdr.outer_ipv4.total_len = meta.inner_len + OUTER_BYTES;
        hdr.outer_ipv4.identification = 0;
        hdr.outer_ipv4.flags = 2;
        hdr.outer_ipv4.frag_offset = 0;
        hdr.outer_ipv4.ttl = 64;
        hdr.outer_ipv4.protocol = PROTO_UDP;
        hdr.outer_ipv4.src_addr = src_addr;
        hdr.outer_ipv4.dst_addr = dst_addr;
        hdr.outer_udp.setValid();
        hdr.outer_udp.dst_port = UDP_VXLAN;
        hdr.outer_udp.len = meta.inner_len + OUTER_BYTES - IPV4_BYTES;
        hdr.outer_udp.checksum = 0;
        hdr.vxlan.setValid();
        hdr.vxlan.flags = 8;
        hdr.vxlan.reserved = 0;
        hdr.vxlan.vni = meta.vni;
        hdr.vxlan.reserved2 = 0;
    }

    table tunnels {
        key = { meta.tunnel: exact; }
        actions = { encapsulate; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        if (hdr.vxlan.isValid()) {
            if (standard_metadata.checksum_error == 1 || hdr.vxlan.flags & 8 == 0 || !tunnel_ends.apply().hit) {
                drop();
                return;
            }
            meta.vni = hdr.vxlan.vni;
        } else if (hdr.vlan.isValid()) {
            if (!access.apply().hit) {
                return;
            }
            hdr.ethernet.ether_type = hdr.vlan.ether_type;
            hdr.vlan.setInvalid();
        } else {
            drop();
            return;
        }
        bool from_tunnel = hdr.vxlan.isValid();
        hdr.outer_ethernet.setInvalid();
        hdr.outer_ipv4.setInvalid();
        hdr.outer_udp.setInvalid();
        hdr.vxlan.setInvalid();
        stations.apply();
        if (meta.tunnelled == 1) {
            if (from_tunnel) {
                // Split horizon: nothing goes from tunnel to tunnel.
                drop();
            } else {
                // The tag of the access side is gone.
                meta.inner_len = (bit<16>)standard_metadata.packet_length - TAG_BYTES;
                tunnels.apply();
                bit<14> entropy;
                hash(entropy, HashAlgorithm.crc32, 14w0,
                     { hdr.ethernet.src_addr, hdr.ethernet.dst_addr, hdr.ethernet.ether_type }, 15w16384);
                hdr.outer_udp.src_port = 2w3 ++ entropy;
            }
        }
    }
}

control VxlanEgress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    apply { }
}

control VxlanCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.outer_ipv4.isValid(), IPV4_SUMMED(hdr.outer_ipv4), hdr.outer_ipv4.hdr_checksum,
                        HashAlgorithm.csum16);
    }
}

control VxlanDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.outer_ethernet);
        packet.emit(hdr.outer_ipv4);
        packet.emit(hdr.outer_udp);
        packet.emit(hdr.vxlan);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(VxlanParser(), VxlanVerify(), VxlanIngress(), VxlanEgress(), VxlanCompute(), VxlanDeparser()) main;
