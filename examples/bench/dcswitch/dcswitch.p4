// SPDX-License-Identifier: Apache-2.0
//
// The pipeline of a data-center switch: 30 tables that bridge, route IPv4 and IPv6, filter, and spread flows over
// paths and links.
//
//   ingress:  port, VLAN, bridge domain, spanning tree, sanity, learning, class -> access lists
//             -> router's own address? -> reverse path, hosts, routes -> or: station
//             -> path, next hop -> link of the group -> last word (drop, controller)
//   egress:   port, bridge domain, source address, MTU, VLAN, class -> access list

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "../headers.p4"

typedef bit<16> ifindex_t;
typedef bit<16> bd_t;
typedef bit<16> vrf_t;
typedef bit<8>  reason_t;

const port_t CPU_PORT = 510;
const bit<33> ALL_OF_32 = 1 << 32;

const reason_t DROP_PORT = 1;
const reason_t DROP_VLAN = 2;
const reason_t DROP_BLOCKED = 3;
const reason_t DROP_INSANE = 4;
const reason_t DROP_MAC_ACL = 5;
const reason_t DROP_IP_ACL = 6;
const reason_t DROP_REVERSE_PATH = 7;
const reason_t DROP_NO_ROUTE = 8;
const reason_t DROP_NO_NEXT_HOP = 9;
const reason_t DROP_NO_LINK = 10;
const reason_t DROP_TTL = 11;
const reason_t DROP_CHECKSUM = 12;

struct headers_t {
    ethernet_t ethernet;
    vlan_t     vlan;
    ipv4_h     ipv4;
    ipv6_h     ipv6;
    tcp_t      tcp;
    udp_t      udp;
}

struct metadata_t {
    ifindex_t  ifindex;
    ifindex_t  out_ifindex;
    bd_t       bd;
    bd_t       out_bd;
    vrf_t      vrf;
    bit<16>    rmac_group;
    bit<16>    stp_group;
    bit<16>    acl_label;
    bit<1>     reverse_path;
    bit<1>     routed;
    bit<1>     to_group;
    // What was parsed, zero where the header is missing.
    bit<1>     tagged;
    bit<12>    vid;
    bit<4>     ip_version;
    bit<6>     dscp;
    bit<8>     ttl;
    bit<8>     protocol;
    bit<16>    l4_src;
    bit<16>    l4_dst;
    bit<8>     tcp_flags;
    bit<3>     traffic_class;
    bit<32>    flow_hash;
    next_hop_t next_hop;
    bit<16>    ecmp;
    bit<16>    ecmp_member;
    bit<16>    lag_member;
    reason_t   reason;
    bit<8>     mac_index;
    bit<8>     mtu_index;
    bit<1>     port_is_trunk;
}

// A station was seen at an interface where the switch does not know it.
struct learned_t {
    mac_t     addr;
    bd_t      bd;
    ifindex_t ifindex;
}

parser DcParser(packet_in packet,
                out headers_t hdr,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_VLAN: parse_vlan;
            TYPE_IPV4: parse_ipv4;
            TYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        meta.tagged = 1;
        meta.vid = hdr.vlan.vid;
        transition select(hdr.vlan.ether_type) {
            TYPE_IPV4: parse_ipv4;
            TYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        meta.ip_version = hdr.ipv4.version;
        meta.dscp = hdr.ipv4.dscp;
        meta.ttl = hdr.ipv4.ttl;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTO_TCP): parse_tcp;
            (5, 0, PROTO_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        meta.ip_version = hdr.ipv6.version;
        meta.dscp = hdr.ipv6.dscp;
        meta.ttl = hdr.ipv6.hop_limit;
        meta.protocol = hdr.ipv6.next_header;
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

control DcVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

// Where a packet comes from, and whether it may.
control Admission(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action refuse(reason_t reason) {
        meta.reason = reason;
    }

    action set_ifindex(ifindex_t ifindex) {
        meta.ifindex = ifindex;
    }

    table ports {
        key = { standard_metadata.ingress_port: exact; }
        actions = { set_ifindex; refuse; }
        default_action = refuse(DROP_PORT);
        size = 512;
    }

    action set_bd(bd_t bd) {
        meta.bd = bd;
        meta.out_bd = bd;
    }

    table port_vlans {
        key = {
            meta.ifindex: exact;
            meta.tagged: exact;
            meta.vid: exact;
        }
        actions = { set_bd; refuse; }
        default_action = refuse(DROP_VLAN);
        size = 4096;
    }

    action set_domain(vrf_t vrf, bit<16> rmac_group, bit<16> stp_group, bit<16> acl_label, bit<1> reverse_path) {
        meta.vrf = vrf;
        meta.rmac_group = rmac_group;
        meta.stp_group = stp_group;
        meta.acl_label = acl_label;
        meta.reverse_path = reverse_path;
    }

    table domains {
        key = { meta.bd: exact; }
        actions = { set_domain; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    action blocked() {
        meta.reason = DROP_BLOCKED;
    }

    table spanning_tree {
        key = {
            meta.ifindex: exact;
            meta.stp_group: exact;
        }
        actions = { blocked; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    action insane() {
        meta.reason = DROP_INSANE;
    }

    table sanity {
        key = {
            hdr.ethernet.src_addr: ternary;
            hdr.ethernet.ether_type: ternary;
            meta.ip_version: ternary;
            meta.ttl: ternary;
        }
        actions = { insane; NoAction; }
        default_action = NoAction();
        size = 64;
    }

    action known(ifindex_t ifindex) {
        if (ifindex != meta.ifindex) {
            digest<learned_t>(1, { hdr.ethernet.src_addr, meta.bd, meta.ifindex });
        }
    }

    action learn() {
        digest<learned_t>(1, { hdr.ethernet.src_addr, meta.bd, meta.ifindex });
    }

    table sources {
        key = {
            meta.bd: exact;
            hdr.ethernet.src_addr: exact;
        }
        actions = { known; learn; }
        default_action = learn();
        size = 65536;
    }

    action set_class(bit<3> traffic_class) {
        meta.traffic_class = traffic_class;
    }

    table classes {
        key = {
            meta.ip_version: ternary;
            meta.dscp: ternary;
        }
        actions = { set_class; }
        default_action = set_class(0);
        size = 128;
    }

    apply {
        ports.apply();
        if (meta.reason == 0) {
            port_vlans.apply();
        }
        if (meta.reason == 0) {
            domains.apply();
            spanning_tree.apply();
            sanity.apply();
            if (standard_metadata.checksum_error == 1) {
                meta.reason = DROP_CHECKSUM;
            }
        }
        if (meta.reason == 0) {
            sources.apply();
            classes.apply();
        }
        if (hdr.vlan.isValid()) {
            hdr.ethernet.ether_type = hdr.vlan.ether_type;
            hdr.vlan.setInvalid();
        }
    }
}

// Access lists of ingress.
control Filters(inout headers_t hdr, inout metadata_t meta) {
    direct_counter(CounterType.packets_and_bytes) mac_hits;
    direct_counter(CounterType.packets_and_bytes) ipv4_hits;
    direct_counter(CounterType.packets_and_bytes) ipv6_hits;

    action permit() { }

    action deny(reason_t reason) {
        meta.reason = reason;
    }

    action permit_as(bit<3> traffic_class) {
        meta.traffic_class = traffic_class;
    }

    table mac_acl {
        key = {
            meta.acl_label: ternary;
            hdr.ethernet.src_addr: ternary;
            hdr.ethernet.dst_addr: ternary;
            hdr.ethernet.ether_type: ternary;
        }
        actions = { permit; deny; }
        default_action = permit();
        counters = mac_hits;
        size = 512;
    }

    table ipv4_acl {
        key = {
            meta.acl_label: ternary;
            hdr.ipv4.src_addr: ternary;
            hdr.ipv4.dst_addr: ternary;
            hdr.ipv4.protocol: ternary;
            meta.l4_src: ternary;
            meta.l4_dst: ternary;
            meta.tcp_flags: ternary;
        }
        actions = { permit; permit_as; deny; }
        default_action = permit();
        counters = ipv4_hits;
        size = 1024;
    }

    table ipv6_acl {
        key = {
            meta.acl_label: ternary;
            hdr.ipv6.src_addr: ternary;
            hdr.ipv6.dst_addr: ternary;
            hdr.ipv6.next_header: ternary;
            meta.l4_src: ternary;
            meta.l4_dst: ternary;
            meta.tcp_flags: ternary;
        }
        actions = { permit; permit_as; deny; }
        default_action = permit();
        counters = ipv6_hits;
        size = 1024;
    }

    apply {
        mac_acl.apply();
        if (meta.reason == 0) {
            if (hdr.ipv4.isValid()) {
                ipv4_acl.apply();
            } else if (hdr.ipv6.isValid()) {
                ipv6_acl.apply();
            }
        }
    }
}

// Where a packet goes: an interface or a next hop.
control Forwarding(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action refuse(reason_t reason) {
        meta.reason = reason;
    }

    action route() {
        meta.routed = 1;
    }

    // The router's own addresses.
    table router_macs {
        key = {
            meta.rmac_group: exact;
            hdr.ethernet.dst_addr: exact;
        }
        actions = { route; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    table reverse_paths {
        key = {
            meta.vrf: exact;
            hdr.ipv4.src_addr: lpm;
        }
        actions = { NoAction; refuse; }
        default_action = refuse(DROP_REVERSE_PATH);
        size = 16384;
    }

    action set_next_hop(next_hop_t next_hop) {
        meta.next_hop = next_hop;
    }

    action set_ecmp(bit<16> ecmp) {
        meta.ecmp = ecmp;
    }

    table ipv4_hosts {
        key = {
            meta.vrf: exact;
            hdr.ipv4.dst_addr: exact;
        }
        actions = { set_next_hop; set_ecmp; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    table ipv4_routes {
        key = {
            meta.vrf: exact;
            hdr.ipv4.dst_addr: lpm;
        }
        actions = { set_next_hop; set_ecmp; refuse; }
        default_action = refuse(DROP_NO_ROUTE);
        size = 16384;
    }

    table ipv6_hosts {
        key = {
            meta.vrf: exact;
            hdr.ipv6.dst_addr: exact;
        }
        actions = { set_next_hop; set_ecmp; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    table ipv6_routes {
        key = {
            meta.vrf: exact;
            hdr.ipv6.dst_addr: lpm;
        }
        actions = { set_next_hop; set_ecmp; refuse; }
        default_action = refuse(DROP_NO_ROUTE);
        size = 16384;
    }

    action to_interface(ifindex_t ifindex) {
        meta.out_ifindex = ifindex;
    }

    // Group 1 + bridge domain has the ports of the domain.
    action flood() {
        standard_metadata.mcast_grp = 1 + meta.bd;
        meta.to_group = 1;
    }

    table stations {
        key = {
            meta.bd: exact;
            hdr.ethernet.dst_addr: exact;
        }
        actions = { to_interface; flood; }
        default_action = flood();
        size = 65536;
    }

    // Members of a path set stand one behind the other; there are 2^n.
    action set_members(bit<16> first, bit<16> mask) {
        meta.ecmp_member = first + (meta.flow_hash[15:0] & mask);
    }

    table ecmp_groups {
        key = { meta.ecmp: exact; }
        actions = { set_members; refuse; }
        default_action = refuse(DROP_NO_NEXT_HOP);
        size = 1024;
    }

    table ecmp_members {
        key = { meta.ecmp_member: exact; }
        actions = { set_next_hop; refuse; }
        default_action = refuse(DROP_NO_NEXT_HOP);
        size = 16384;
    }

    action set_egress(ifindex_t ifindex, bd_t bd, mac_t dst_addr) {
        meta.out_ifindex = ifindex;
        meta.out_bd = bd;
        hdr.ethernet.dst_addr = dst_addr;
    }

    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { set_egress; refuse; }
        default_action = refuse(DROP_NO_NEXT_HOP);
        size = 16384;
    }

    apply {
        router_macs.apply();
        if (meta.routed == 1 && hdr.ipv4.isValid()) {
            if (hdr.ipv4.ttl < 2) {
                meta.reason = DROP_TTL;
            } else {
                if (meta.reverse_path == 1) {
                    reverse_paths.apply();
                }
                if (!ipv4_hosts.apply().hit) {
                    ipv4_routes.apply();
                }
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            }
        } else if (meta.routed == 1 && hdr.ipv6.isValid()) {
            if (hdr.ipv6.hop_limit < 2) {
                meta.reason = DROP_TTL;
            } else {
                if (!ipv6_hosts.apply().hit) {
                    ipv6_routes.apply();
                }
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
        } else {
            meta.routed = 0;
            stations.apply();
        }
        if (meta.routed == 1 && meta.reason == 0) {
            if (meta.ecmp != 0) {
                ecmp_groups.apply();
                ecmp_members.apply();
            }
            next_hops.apply();
        }
    }
}

control DcIngress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    Admission() admission;
    Filters() filters;
    Forwarding() forwarding;
    counter<reason_t>(256, CounterType.packets) reasons;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action refuse(reason_t reason) {
        meta.reason = reason;
    }

    // Members of a link group stand one behind the other; there are 2^n, 1 for a port of its own.
    action set_members(bit<16> first, bit<16> mask) {
        meta.lag_member = first + (meta.flow_hash[31:16] & mask);
    }

    table lag_groups {
        key = { meta.out_ifindex: exact; }
        actions = { set_members; refuse; }
        default_action = refuse(DROP_NO_LINK);
        size = 1024;
    }

    action set_port(port_t port) {
        standard_metadata.egress_spec = port;
    }

    table lag_members {
        key = { meta.lag_member: exact; }
        actions = { set_port; refuse; }
        default_action = refuse(DROP_NO_LINK);
        size = 1024;
    }

    action to_controller() {
        standard_metadata.mcast_grp = 0;
        standard_metadata.egress_spec = CPU_PORT;
    }

    // The last word on packets that are refused, and on the control protocols of the switch itself.
    table system_acl {
        key = {
            meta.reason: ternary;
            hdr.ethernet.dst_addr: ternary;
            hdr.ethernet.ether_type: ternary;
            meta.protocol: ternary;
            meta.l4_dst: ternary;
        }
        actions = { NoAction; drop; to_controller; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            hash(meta.flow_hash, HashAlgorithm.crc32, 32w0,
                 { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, meta.protocol, meta.l4_src, meta.l4_dst }, ALL_OF_32);
        } else if (hdr.ipv6.isValid()) {
            hash(meta.flow_hash, HashAlgorithm.crc32, 32w0,
                 { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, meta.protocol, meta.l4_src, meta.l4_dst }, ALL_OF_32);
        }
        admission.apply(hdr, meta, standard_metadata);
        if (meta.reason == 0) {
            filters.apply(hdr, meta);
        }
        if (meta.reason == 0) {
            forwarding.apply(hdr, meta, standard_metadata);
        }
        if (meta.reason == 0 && meta.to_group == 0) {
            lag_groups.apply();
            lag_members.apply();
        }
        system_acl.apply();
        if (meta.reason != 0) {
            reasons.count(meta.reason);
            if (standard_metadata.egress_spec != CPU_PORT) {
                standard_metadata.mcast_grp = 0;
                drop();
            }
        }
    }
}

control DcEgress(inout headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) sent;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_port(bit<1> trunk) {
        meta.port_is_trunk = trunk;
    }

    table ports {
        key = { standard_metadata.egress_port: exact; }
        actions = { set_port; drop; }
        default_action = drop();
        size = 512;
    }

    action set_domain(bit<8> mac_index, bit<8> mtu_index) {
        meta.mac_index = mac_index;
        meta.mtu_index = mtu_index;
    }

    table domains {
        key = { meta.out_bd: exact; }
        actions = { set_domain; NoAction; }
        default_action = NoAction();
        counters = sent;
        size = 4096;
    }

    action set_source(mac_t src_addr) {
        hdr.ethernet.src_addr = src_addr;
    }

    table source_macs {
        key = { meta.mac_index: exact; }
        actions = { set_source; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    action check_mtu(bit<32> longest) {
        if (standard_metadata.packet_length > longest) {
            mark_to_drop(standard_metadata);
        }
    }

    table mtus {
        key = { meta.mtu_index: exact; }
        actions = { check_mtu; NoAction; }
        default_action = NoAction();
        size = 256;
    }

    action tag(bit<12> vid) {
        hdr.vlan.setValid();
        hdr.vlan.pcp = meta.traffic_class;
        hdr.vlan.dei = 0;
        hdr.vlan.vid = vid;
        hdr.vlan.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = TYPE_VLAN;
    }

    table vlans {
        key = {
            standard_metadata.egress_port: exact;
            meta.out_bd: exact;
        }
        actions = { tag; NoAction; }
        default_action = NoAction();
        size = 16384;
    }

    action set_dscp(bit<6> dscp) {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.dscp = dscp;
        }
        if (hdr.ipv6.isValid()) {
            hdr.ipv6.dscp = dscp;
        }
    }

    table class_marks {
        key = { meta.traffic_class: exact; }
        actions = { set_dscp; NoAction; }
        default_action = NoAction();
        size = 8;
    }

    table egress_acl {
        key = {
            standard_metadata.egress_port: ternary;
            hdr.ethernet.ether_type: ternary;
            meta.protocol: ternary;
            meta.l4_dst: ternary;
        }
        actions = { NoAction; drop; }
        default_action = NoAction();
        size = 256;
    }

    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            return;
        }
        if (meta.routed == 0 && standard_metadata.egress_port == standard_metadata.ingress_port) {
            drop();
            return;
        }
        ports.apply();
        domains.apply();
        if (meta.routed == 1) {
            source_macs.apply();
            mtus.apply();
            class_marks.apply();
        }
        egress_acl.apply();
        if (meta.port_is_trunk == 1) {
            vlans.apply();
        }
    }
}

control DcCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), IPV4_SUMMED(hdr.ipv4), hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control DcDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(DcParser(), DcVerify(), DcIngress(), DcEgress(), DcCompute(), DcDeparser()) main;
