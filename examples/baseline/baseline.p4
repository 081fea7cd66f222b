// SPDX-License-Identifier: Apache-2.0
//
// A switch of a data centre without any protocol of FlexSwitch: what a protocol's resources are added to (Table 4 of FlexSwitch, whose baseline follows
// DC.P4). Layer 2 with flooding, learning and spanning tree; layer 3 for IPv4 and IPv6 with virtual routers; groups of links and of paths; tunnels by
// VXLAN, NVGRE, Geneve and GRE; counters of ports, VLANs and interfaces.
//
//   port -> VLAN -> STP -> tunnel end? -> MACs: learn, bridge -> route: host, prefix -> group of paths -> rewrite -> group of links
//   egress: VLAN tag -> tunnel header -> counters
//
// p4rack fit baseline.p4 --device tofino1
//
// No rack of the examples runs it. Fragments of a tunnel's packets, ARP and lists of access rules are left out, as in the paper's features.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

#include "headers.p4"

struct metadata_t {
    bd_t      bd;
    vrf_t     vrf;
    bit<10>   interface;
    bit<8>    tunnel;       // 0: none; 1: VXLAN, 2: NVGRE, 3: Geneve, 4: GRE
    bit<24>   vni;
    bit<1>    routes;
    bit<1>    routed;
    bit<2>    stp;          // 0: forwards, 1: learns, 2: blocks
    bit<1>    known;
    nexthop_t nexthop;
    bit<16>   group;
    bit<16>   hash;
    bit<10>   lag;
    bit<14>   tunnel_out;
    bd_t      bd_out;
    bit<8>    tunnel_kind_out;
    bit<16>   length;
    bit<16>   l4_src;
    bit<16>   l4_dst;
}

parser BaselineParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8100: vlan;
            0x0800: ipv4;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.type) {
            0x0800: ipv4;
            0x86dd: ipv6;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (0, 5, 6): tcp;
            (0, 5, 17): udp;
            (0, 5, 47): gre;
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next) {
            6: tcp;
            17: udp;
            47: gre;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.tcp);
        meta.l4_src = hdr.tcp.src;
        meta.l4_dst = hdr.tcp.dst;
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
        meta.l4_src = hdr.udp.src;
        meta.l4_dst = hdr.udp.dst;
        transition select(hdr.udp.dst) {
            4789: vxlan;
            6081: geneve;
            default: accept;
        }
    }
    state vxlan {
        packet.extract(hdr.vxlan);
        meta.tunnel = 1;
        meta.vni = hdr.vxlan.vni;
        transition inner_ethernet;
    }
    state geneve {
        packet.extract(hdr.geneve);
        meta.tunnel = 3;
        meta.vni = hdr.geneve.vni;
        transition select(hdr.geneve.options, hdr.geneve.protocol) {
            (0, 0x6558): inner_ethernet;
            default: accept;
        }
    }
    state gre {
        packet.extract(hdr.gre);
        transition select(hdr.gre.flags, hdr.gre.protocol) {
            (2, 0x6558): nvgre;
            (0, 0x0800): gre_ipv4;
            (0, 0x86dd): gre_ipv6;
            default: accept;
        }
    }
    state nvgre {
        packet.extract(hdr.nvgre);
        meta.tunnel = 2;
        meta.vni = hdr.nvgre.tni;
        transition inner_ethernet;
    }
    state gre_ipv4 {
        meta.tunnel = 4;
        transition inner_ipv4;
    }
    state gre_ipv6 {
        meta.tunnel = 4;
        transition inner_ipv6;
    }
    state inner_ethernet {
        packet.extract(hdr.inner_ethernet);
        transition select(hdr.inner_ethernet.type) {
            0x0800: inner_ipv4;
            0x86dd: inner_ipv6;
            default: accept;
        }
    }
    state inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        transition accept;
    }
    state inner_ipv6 {
        packet.extract(hdr.inner_ipv6);
        transition accept;
    }
}

control BaselineVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control BaselineIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) port_counts;
    direct_counter(CounterType.packets_and_bytes) vlan_counts;
    counter<bit<32>>(INTERFACES, CounterType.packets_and_bytes) interface_counts;

    action drop() { mark_to_drop(standard_metadata); }

    // Ports.
    action port_is(bit<10> interface) { meta.interface = interface; port_counts.count(); }
    action no_port() { mark_to_drop(standard_metadata); port_counts.count(); }
    table ports {
        key = { standard_metadata.ingress_port: exact; }
        actions = { port_is; no_port; }
        default_action = no_port();
        counters = port_counts;
        size = 512;
    }
    // The bridge domain of a port and VLAN.
    action domain(bd_t bd, vrf_t vrf) { meta.bd = bd; meta.vrf = vrf; vlan_counts.count(); }
    action domain_tagged(bd_t bd, vrf_t vrf) {
        meta.bd = bd;
        meta.vrf = vrf;
        hdr.ethernet.type = hdr.vlan.type;
        hdr.vlan.setInvalid();
        vlan_counts.count();
    }
    action no_domain() { mark_to_drop(standard_metadata); vlan_counts.count(); }
    table domains {
        key = { meta.interface: exact; hdr.vlan.isValid(): exact; hdr.vlan.vid: exact; }
        actions = { domain; domain_tagged; no_domain; }
        default_action = no_domain();
        counters = vlan_counts;
        size = VLANS;
    }
    // Spanning tree.
    action tree_state(bit<2> stp) { meta.stp = stp; }
    table spanning_tree {
        key = { standard_metadata.ingress_port: exact; meta.bd: exact; }
        actions = { tree_state; NoAction; }
        default_action = NoAction();
        size = VLANS;
    }
    // Tunnels that end here.
    action end_ethernet(bd_t bd, vrf_t vrf) {
        meta.bd = bd;
        meta.vrf = vrf;
        hdr.ethernet = hdr.inner_ethernet;
        hdr.ipv4 = hdr.inner_ipv4;
        hdr.ipv6 = hdr.inner_ipv6;
        hdr.udp.setInvalid();
        hdr.gre.setInvalid();
        hdr.nvgre.setInvalid();
        hdr.vxlan.setInvalid();
        hdr.geneve.setInvalid();
        hdr.inner_ethernet.setInvalid();
        hdr.inner_ipv4.setInvalid();
        hdr.inner_ipv6.setInvalid();
    }
    action end_ip(vrf_t vrf) {
        meta.vrf = vrf;
        meta.routes = 1;
        hdr.ipv4 = hdr.inner_ipv4;
        hdr.ipv6 = hdr.inner_ipv6;
        hdr.gre.setInvalid();
        hdr.inner_ipv4.setInvalid();
        hdr.inner_ipv6.setInvalid();
    }
    table tunnel_sources {
        key = { meta.vrf: exact; hdr.ipv4.src: exact; meta.tunnel: exact; }
        actions = { NoAction; drop; }
        default_action = drop();
        size = TUNNELS;
    }
    action is_own() { }
    table tunnel_addresses {
        key = { meta.vrf: exact; hdr.ipv4.dst: exact; meta.tunnel: exact; }
        actions = { is_own; NoAction; }
        default_action = NoAction();
        size = 512;
    }
    table tunnels {
        key = { meta.tunnel: exact; meta.vni: exact; }
        actions = { end_ethernet; end_ip; drop; }
        default_action = drop();
        size = TUNNELS;
    }
    // MAC addresses.
    action known(bit<9> port) { meta.known = (bit<1>)(port == standard_metadata.ingress_port); }
    table sources {
        key = { meta.bd: exact; hdr.ethernet.src: exact; }
        actions = { known; NoAction; }
        default_action = NoAction();
        size = MACS;
        support_timeout = true;
    }
    action to_router() { meta.routes = 1; }
    table router_addresses {
        key = { meta.bd: exact; hdr.ethernet.dst: exact; }
        actions = { to_router; NoAction; }
        default_action = NoAction();
        size = 512;
    }
    action bridge(bit<10> lag) { meta.lag = lag; meta.bd_out = meta.bd; }
    action bridge_tunnel(nexthop_t nexthop) { meta.nexthop = nexthop; }
    action flood(bit<16> group) { standard_metadata.mcast_grp = group; meta.bd_out = meta.bd; }
    table destinations {
        key = { meta.bd: exact; hdr.ethernet.dst: exact; }
        actions = { bridge; bridge_tunnel; flood; NoAction; }
        default_action = NoAction();
        size = MACS;
    }
    table floods {
        key = { meta.bd: exact; }
        actions = { flood; drop; }
        default_action = drop();
        size = VLANS;
    }
    // Routes.
    action route(nexthop_t nexthop) { meta.nexthop = nexthop; meta.routed = 1; }
    action route_group(bit<16> group) { meta.group = group; meta.routed = 1; }
    table hosts_v4 {
        key = { meta.vrf: exact; hdr.ipv4.dst: exact; }
        actions = { route; route_group; NoAction; }
        default_action = NoAction();
        size = HOSTS_V4;
    }
    table prefixes_v4 {
        key = { meta.vrf: exact; hdr.ipv4.dst: lpm; }
        actions = { route; route_group; drop; }
        default_action = drop();
        size = PREFIXES_V4;
    }
    table hosts_v6 {
        key = { meta.vrf: exact; hdr.ipv6.dst: exact; }
        actions = { route; route_group; NoAction; }
        default_action = NoAction();
        size = HOSTS_V6;
    }
    table prefixes_v6 {
        key = { meta.vrf: exact; hdr.ipv6.dst: lpm; }
        actions = { route; route_group; drop; }
        default_action = drop();
        size = PREFIXES_V6;
    }
    // Groups of paths: 1,024 of up to 64 next hops, 16 on average.
    action path(nexthop_t nexthop) { meta.nexthop = nexthop; }
    action_selector(HashAlgorithm.crc16, GROUP_SLOTS, 16) path_choice;
    table paths {
        key = { meta.group: exact; meta.hash: selector; }
        actions = { path; NoAction; }
        default_action = NoAction();
        implementation = path_choice;
        size = GROUPS;
    }
    action next_tunnel(bit<10> lag, bd_t bd, bit<14> tunnel) {
        meta.lag = lag;
        meta.bd_out = bd;
        meta.tunnel_out = tunnel;
    }
    action next(bit<10> lag, bd_t bd, mac_t src, mac_t dst) {
        meta.lag = lag;
        meta.bd_out = bd;
        hdr.ethernet.src = src;
        hdr.ethernet.dst = dst;
    }
    table nexthops {
        key = { meta.nexthop: exact; }
        actions = { next; next_tunnel; drop; }
        default_action = drop();
        size = HOSTS_V4;
    }
    // Groups of links.
    action link(bit<9> port) { standard_metadata.egress_spec = port; }
    action_selector(HashAlgorithm.crc16, 2048, 16) link_choice;
    table links {
        key = { meta.lag: exact; meta.hash: selector; }
        actions = { link; drop; }
        implementation = link_choice;
        size = 1024;
    }

    apply {
        ports.apply();
        domains.apply();
        interface_counts.count((bit<32>)meta.interface);
        spanning_tree.apply();
        if (meta.tunnel != 0) {
            if (tunnel_addresses.apply().hit) {
                tunnel_sources.apply();
                tunnels.apply();
            }
        }
        if (meta.stp != 2) {
            sources.apply();
            if (meta.known == 0) {
                digest<learned_t>(1, { meta.bd, hdr.ethernet.src, standard_metadata.ingress_port });
            }
        }
        if (meta.stp != 0) {
            drop();
        } else {
            if (hdr.ipv4.isValid()) {
                hash(meta.hash, HashAlgorithm.crc16, 16w0, { hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4_src, meta.l4_dst }, 32w65536);
            } else if (hdr.ipv6.isValid()) {
                hash(meta.hash, HashAlgorithm.crc16, 16w0, { hdr.ipv6.src, hdr.ipv6.dst, hdr.ipv6.next, meta.l4_src, meta.l4_dst }, 32w65536);
            } else {
                hash(meta.hash, HashAlgorithm.crc16, 16w0, { hdr.ethernet.src, hdr.ethernet.dst, hdr.ethernet.type }, 32w65536);
            }
            router_addresses.apply();
            if (meta.routes == 1 && hdr.ipv4.isValid()) {
                if (!hosts_v4.apply().hit) {
                    prefixes_v4.apply();
                }
            } else if (meta.routes == 1 && hdr.ipv6.isValid()) {
                if (!hosts_v6.apply().hit) {
                    prefixes_v6.apply();
                }
            } else if (!destinations.apply().hit) {
                floods.apply();
            }
            paths.apply();
            if (meta.nexthop != 0) {
                nexthops.apply();
            }
            if (meta.routed == 1) {
                if (hdr.ipv4.isValid()) {
                    hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
                } else {
                    hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
                }
            }
            if (meta.lag != 0) {
                links.apply();
            }
        }
    }
}

control BaselineEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) port_counts;
    direct_counter(CounterType.packets_and_bytes) vlan_counts;

    action drop() { mark_to_drop(standard_metadata); }

    // The tag of a bridge domain at a port.
    action untagged() { vlan_counts.count(); }
    action tagged(bit<12> vid) {
        hdr.vlan.setValid();
        hdr.vlan.vid = vid;
        hdr.vlan.type = hdr.ethernet.type;
        hdr.ethernet.type = 0x8100;
        vlan_counts.count();
    }
    action not_here() { mark_to_drop(standard_metadata); vlan_counts.count(); }
    table tags {
        key = { standard_metadata.egress_port: exact; meta.bd_out: exact; }
        actions = { untagged; tagged; not_here; }
        default_action = not_here();
        counters = vlan_counts;
        size = VLANS;
    }
    action blocked() { mark_to_drop(standard_metadata); }
    table spanning_tree {
        key = { standard_metadata.egress_port: exact; meta.bd_out: exact; }
        actions = { blocked; NoAction; }
        default_action = NoAction();
        size = VLANS;
    }
    // Tunnels that begin here.
    action carried() {
        hdr.inner_ethernet = hdr.ethernet;
        hdr.inner_ipv4 = hdr.ipv4;
        hdr.inner_ipv6 = hdr.ipv6;
        hdr.inner_tcp = hdr.tcp;
        hdr.inner_udp = hdr.udp;
        hdr.ipv6.setInvalid();
        hdr.tcp.setInvalid();
        hdr.udp.setInvalid();
        hdr.ipv4.setValid();
        hdr.ethernet.type = 0x0800;
    }
    action in_vxlan(bit<24> vni) { meta.tunnel_kind_out = 1; meta.vni = vni; carried(); }
    action in_nvgre(bit<24> vni) { meta.tunnel_kind_out = 2; meta.vni = vni; carried(); }
    action in_geneve(bit<24> vni) { meta.tunnel_kind_out = 3; meta.vni = vni; carried(); }
    action in_gre() { meta.tunnel_kind_out = 4; carried(); hdr.inner_ethernet.setInvalid(); }
    table tunnels {
        key = { meta.tunnel_out: exact; }
        actions = { in_vxlan; in_nvgre; in_geneve; in_gre; drop; }
        default_action = drop();
        size = TUNNELS;
    }
    action vxlan() {
        hdr.udp.setValid();
        hdr.udp.dst = 4789;
        hdr.udp.src = meta.hash;
        hdr.udp.length = meta.length + 16;
        hdr.vxlan.setValid();
        hdr.vxlan.flags = 8;
        hdr.vxlan.vni = meta.vni;
        hdr.ipv4.protocol = 17;
        hdr.ipv4.total_len = meta.length + 36;
    }
    action geneve() {
        hdr.udp.setValid();
        hdr.udp.dst = 6081;
        hdr.udp.src = meta.hash;
        hdr.udp.length = meta.length + 16;
        hdr.geneve.setValid();
        hdr.geneve.protocol = 0x6558;
        hdr.geneve.vni = meta.vni;
        hdr.ipv4.protocol = 17;
        hdr.ipv4.total_len = meta.length + 36;
    }
    action nvgre() {
        hdr.gre.setValid();
        hdr.gre.flags = 2;
        hdr.gre.protocol = 0x6558;
        hdr.nvgre.setValid();
        hdr.nvgre.tni = meta.vni;
        hdr.ipv4.protocol = 47;
        hdr.ipv4.total_len = meta.length + 28;
    }
    action gre() {
        hdr.gre.setValid();
        hdr.gre.protocol = 0x0800;
        hdr.ipv4.protocol = 47;
        hdr.ipv4.total_len = meta.length + 10;
    }
    table encapsulations {
        key = { meta.tunnel_kind_out: exact; }
        actions = { vxlan; geneve; nvgre; gre; NoAction; }
        default_action = NoAction();
        size = 8;
    }
    action addresses(bit<32> src, bit<32> dst, mac_t from, mac_t to) {
        hdr.ethernet.src = from;
        hdr.ethernet.dst = to;
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.ttl = 64;
        hdr.ipv4.src = src;
        hdr.ipv4.dst = dst;
    }
    table tunnel_ends {
        key = { meta.tunnel_out: exact; }
        actions = { addresses; drop; }
        default_action = drop();
        size = TUNNELS;
    }
    action count_port() { port_counts.count(); }
    table ports {
        key = { standard_metadata.egress_port: exact; }
        actions = { count_port; }
        default_action = count_port();
        counters = port_counts;
        size = 512;
    }

    apply {
        meta.length = standard_metadata.packet_length[15:0];
        if (standard_metadata.egress_rid != 0 && standard_metadata.egress_port == standard_metadata.ingress_port) {
            drop();
        }
        spanning_tree.apply();
        if (meta.tunnel_out != 0) {
            tunnels.apply();
            encapsulations.apply();
            tunnel_ends.apply();
        }
        tags.apply();
        ports.apply();
    }
}

control BaselineUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(hdr.inner_ipv4.isValid() && hdr.inner_ipv4.ihl == 5,
            { hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.diffserv, hdr.inner_ipv4.total_len, hdr.inner_ipv4.identification, hdr.inner_ipv4.flags,
              hdr.inner_ipv4.frag_offset, hdr.inner_ipv4.ttl, hdr.inner_ipv4.protocol, hdr.inner_ipv4.src, hdr.inner_ipv4.dst },
            hdr.inner_ipv4.checksum, HashAlgorithm.csum16);
    }
}

control BaselineDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}

V1Switch(BaselineParser(), BaselineVerify(), BaselineIngress(), BaselineEgress(), BaselineUpdate(), BaselineDeparser()) main;
