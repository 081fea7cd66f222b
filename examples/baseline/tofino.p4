// SPDX-License-Identifier: Apache-2.0
//
// The switch of baseline.p4 for Tofino: the same tables, entries and packets.
//
//   ingress: port -> VLAN -> STP -> tunnel end? -> MACs: learn, bridge -> route: host, prefix -> group of paths -> rewrite -> group of links
//   egress: protocol; VLAN tag -> tunnel header -> counters
//
// A header, bridge_h, takes to egress what ingress has found. A protocol of FlexSwitch is a control of egress, in a file of its own, which a macro
// adds (RCP, XCP, CONGA); CONGA also has one of ingress.
//
// p4rack fit tofino.p4 --device tofino1
// p4rack fit tofino.p4 -D RCP --device tofino1

#include <core.p4>
#include <tna.p4>

#ifdef RCP
#define PROTOCOL rcp
#define PORT_PROTOCOL PORT_RCP
#include "../rcp/header.p4"
typedef rcp_h protocol_h;
#define INTERVAL 18
#endif
#ifdef XCP
#define PROTOCOL xcp
#define PORT_PROTOCOL PORT_XCP
#include "../xcp/header.p4"
typedef xcp_h protocol_h;
#define INTERVAL 18
#endif

#ifdef CONGA
#define PROTOCOL
#define INTERVAL 17
#endif

// What ingress has found, for egress, and the bytes of this header.
header bridge_h {
    bit<16> bd_out;
    bit<16> hash;
    bit<2>  unused_0;
    bit<14> tunnel_out;
    bit<7>  unused_1;
    bit<9>  ingress_port;
#ifdef PROTOCOL
    // When the packet came, in units of 2^INTERVAL ns.
    bit<32> interval;
#endif
#ifdef CONGA
    bit<1>  unused_2;
    bit<1>  to_leaf;
    bit<2>  uplink;
    bit<4>  unused_3;
    bit<3>  ce;
    bit<2>  fb_lb_tag;
    bit<3>  fb_metric;
#endif
}
#ifdef CONGA
#define BRIDGE 14
#elif defined(PROTOCOL)
#define BRIDGE 12
#else
#define BRIDGE 8
#endif

#define TOFINO
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
    bit<9>    known_at;
    nexthop_t nexthop;
    bit<16>   group;
    bit<16>   hash;
    bit<10>   lag;
    bit<14>   tunnel_out;
    bd_t      bd_out;
    bit<16>   l4_src;
    bit<16>   l4_dst;
    bit<9>    port;
#ifdef CONGA
    bit<1>    to_leaf;
    bit<2>    uplink;
    bit<2>    fb_lb_tag;
    bit<3>    fb_metric;
#endif
}

#ifdef RCP
#include "../rcp/tofino.p4"
#endif
#ifdef XCP
#include "../xcp/tofino.p4"
#endif
#ifdef CONGA
#include "../conga/tofino.p4"
#endif

struct out_t {
    bit<8>  tunnel_kind_out;
    bit<24> vni;
    bit<16> length;
}

parser BaselineIngressParser(packet_in packet, out headers_t hdr, out metadata_t meta, out ingress_intrinsic_metadata_t ig) {
    state start {
        packet.extract(ig);
        packet.advance(PORT_METADATA_SIZE);
        meta = { 0, 0, 0, 0, 0, 0, 0, 0, 511, 0, 0, 0, 0, 0, 0, 0, 0, ig.ingress_port
#ifdef CONGA
            , 0, 0, 0, 0
#endif
        };
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

control BaselineIngress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig,
                        in ingress_intrinsic_metadata_from_parser_t prsr, inout ingress_intrinsic_metadata_for_deparser_t dprsr,
                        inout ingress_intrinsic_metadata_for_tm_t tm) {
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash_v4;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash_v6;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash_frame;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) port_counts;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) vlan_counts;
    Counter<bit<64>, bit<10>>(INTERFACES, CounterType_t.PACKETS_AND_BYTES) interface_counts;

    action drop() { dprsr.drop_ctl = 1; }

    // Ports.
    action port_is(bit<10> interface) { meta.interface = interface; port_counts.count(); }
    action no_port() { dprsr.drop_ctl = 1; port_counts.count(); }
    table ports {
        key = { ig.ingress_port: exact; }
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
    action no_domain() { dprsr.drop_ctl = 1; vlan_counts.count(); }
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
        key = { ig.ingress_port: exact; meta.bd: exact; }
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
    action known(bit<9> port) { meta.known_at = port; }
    table sources {
        key = { meta.bd: exact; hdr.ethernet.src: exact; }
        actions = { known; NoAction; }
        default_action = NoAction();
        size = MACS;
        idle_timeout = true;
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
    action flood(bit<16> group) { tm.mcast_grp_a = group; meta.bd_out = meta.bd; }
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
    ActionProfile(GROUP_SLOTS) path_members;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) path_hash;
    ActionSelector(path_members, path_hash, SelectorMode_t.FAIR, 64, GROUPS) path_choice;
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
    action link(bit<9> port) { tm.ucast_egress_port = port; }
    ActionProfile(2048) link_members;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) link_hash;
    ActionSelector(link_members, link_hash, SelectorMode_t.FAIR, 16, 1024) link_choice;
    table links {
        key = { meta.lag: exact; meta.hash: selector; }
        actions = { link; drop; }
        implementation = link_choice;
        size = 1024;
    }

#ifdef CONGA
    LeafIngress() conga;

    // The port of an uplink.
    table uplinks {
        key = { meta.uplink: exact; }
        actions = { link; NoAction; }
        default_action = NoAction();
        size = 4;
    }
#endif

    apply {
#ifdef CONGA
        conga.apply(hdr, meta, ig);
#endif
        ports.apply();
        domains.apply();
        interface_counts.count(meta.interface);
        spanning_tree.apply();
        if (meta.tunnel != 0) {
            if (tunnel_addresses.apply().hit) {
                tunnel_sources.apply();
                tunnels.apply();
            }
        }
        if (meta.stp != 2) {
            sources.apply();
            if (meta.known_at != ig.ingress_port) {
                dprsr.digest_type = 1;
            }
        }
        if (meta.stp != 0) {
            drop();
        } else {
            if (hdr.ipv4.isValid()) {
                meta.hash = hash_v4.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4_src, meta.l4_dst });
            } else if (hdr.ipv6.isValid()) {
                meta.hash = hash_v6.get({ hdr.ipv6.src, hdr.ipv6.dst, hdr.ipv6.next, meta.l4_src, meta.l4_dst });
            } else {
                meta.hash = hash_frame.get({ hdr.ethernet.src, hdr.ethernet.dst, hdr.ethernet.type });
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
#ifdef CONGA
            if (meta.to_leaf == 1) {
                uplinks.apply();
            } else
#endif
            if (meta.lag != 0) {
                links.apply();
            }
        }
        hdr.bridge.setValid();
        hdr.bridge.bd_out = meta.bd_out;
        hdr.bridge.hash = meta.hash;
        hdr.bridge.tunnel_out = meta.tunnel_out;
        hdr.bridge.ingress_port = ig.ingress_port;
#ifdef PROTOCOL
        hdr.bridge.interval = (bit<32>)ig.ingress_mac_tstamp[47:INTERVAL];
#endif
#ifdef CONGA
        hdr.bridge.to_leaf = meta.to_leaf;
        hdr.bridge.uplink = meta.uplink;
        hdr.bridge.fb_lb_tag = meta.fb_lb_tag;
        hdr.bridge.fb_metric = meta.fb_metric;
#endif
    }
}

control BaselineIngressDeparser(packet_out packet, inout headers_t hdr, in metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t dprsr) {
    Digest<learned_t>() learned;
    Checksum() sum;

    apply {
        if (dprsr.digest_type == 1) {
            learned.pack({ meta.bd, hdr.ethernet.src, meta.port });
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = sum.update({ hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
                hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst });
        }
        packet.emit(hdr);
    }
}

parser BaselineEgressParser(packet_in packet, out headers_t hdr, out out_t meta, out egress_intrinsic_metadata_t eg) {
    state start {
        packet.extract(eg);
        packet.extract(hdr.bridge);
        meta = { 0, 0, 0 };
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
            default: accept;
        }
    }
    state ipv6 {
        packet.extract(hdr.ipv6);
        transition select(hdr.ipv6.next) {
            6: tcp;
            17: udp;
            default: accept;
        }
    }
    state tcp {
        packet.extract(hdr.tcp);
        transition accept;
    }
    state udp {
        packet.extract(hdr.udp);
#ifdef PORT_PROTOCOL
        transition select(hdr.udp.src, hdr.udp.dst) {
            (_, PORT_PROTOCOL): protocol;
            (PORT_PROTOCOL, _): protocol;
            default: accept;
        }
    }
    state protocol {
        packet.extract(hdr.PROTOCOL);
#endif
        transition accept;
    }
}

control BaselineEgress(inout headers_t hdr, inout out_t meta, in egress_intrinsic_metadata_t eg,
                       in egress_intrinsic_metadata_from_parser_t prsr, inout egress_intrinsic_metadata_for_deparser_t dprsr,
                       inout egress_intrinsic_metadata_for_output_port_t oport) {
#ifdef PROTOCOL
    Protocol() protocol;
#endif
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) port_counts;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) vlan_counts;

    action drop() { dprsr.drop_ctl = 1; }

    // The tag of a bridge domain at a port.
    action untagged() { vlan_counts.count(BRIDGE); }
    action tagged(bit<12> vid) {
        hdr.vlan.setValid();
        hdr.vlan.vid = vid;
        hdr.vlan.type = hdr.ethernet.type;
        hdr.ethernet.type = 0x8100;
        vlan_counts.count(BRIDGE);
    }
    action not_here() { dprsr.drop_ctl = 1; vlan_counts.count(BRIDGE); }
    table tags {
        key = { eg.egress_port: exact; hdr.bridge.bd_out: exact; }
        actions = { untagged; tagged; not_here; }
        default_action = not_here();
        counters = vlan_counts;
        size = VLANS;
    }
    action blocked() { dprsr.drop_ctl = 1; }
    table spanning_tree {
        key = { eg.egress_port: exact; hdr.bridge.bd_out: exact; }
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
        key = { hdr.bridge.tunnel_out: exact; }
        actions = { in_vxlan; in_nvgre; in_geneve; in_gre; drop; }
        default_action = drop();
        size = TUNNELS;
    }
    action vxlan() {
        hdr.udp.setValid();
        hdr.udp.dst = 4789;
        hdr.udp.src = hdr.bridge.hash;
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
        hdr.udp.src = hdr.bridge.hash;
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
        key = { hdr.bridge.tunnel_out: exact; }
        actions = { addresses; drop; }
        default_action = drop();
        size = TUNNELS;
    }
#ifdef CONGA
    action carry_congestion() {
        hdr.vxlan.lb_tag = 2w0 ++ hdr.bridge.uplink;
        hdr.vxlan.ce = hdr.bridge.ce;
        hdr.vxlan.fb_lb_tag = 2w0 ++ hdr.bridge.fb_lb_tag;
        hdr.vxlan.fb_metric = hdr.bridge.fb_metric;
    }
#endif
    action count_port() { port_counts.count(BRIDGE); }
    table ports {
        key = { eg.egress_port: exact; }
        actions = { count_port; }
        default_action = count_port();
        counters = port_counts;
        size = 512;
    }

    apply {
        meta.length = eg.pkt_length - BRIDGE;
#ifdef PROTOCOL
        protocol.apply(hdr, eg);
#endif
        if (eg.egress_rid != 0 && eg.egress_port == hdr.bridge.ingress_port) {
            drop();
        }
        spanning_tree.apply();
        if (hdr.bridge.tunnel_out != 0) {
            tunnels.apply();
            encapsulations.apply();
            tunnel_ends.apply();
#ifdef CONGA
            if (hdr.bridge.to_leaf == 1) {
                carry_congestion();
            }
#endif
        }
        tags.apply();
        ports.apply();
        hdr.bridge.setInvalid();
    }
}

control BaselineEgressDeparser(packet_out packet, inout headers_t hdr, in out_t meta, in egress_intrinsic_metadata_for_deparser_t dprsr) {
    Checksum() sum;

    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = sum.update({ hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
                hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst });
        }
        packet.emit(hdr);
    }
}

Pipeline(BaselineIngressParser(), BaselineIngress(), BaselineIngressDeparser(), BaselineEgressParser(), BaselineEgress(), BaselineEgressDeparser()) pipe;
Switch(pipe) main;
