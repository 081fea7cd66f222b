// SPDX-License-Identifier: Apache-2.0
//
// Sizes and headers of the baseline switch, in both forms: baseline.p4 and tofino.p4.

#define MACS 16384
#define HOSTS_V4 16384
#define PREFIXES_V4 8192
#define HOSTS_V6 4096
#define PREFIXES_V6 2048
#define VLANS 4096
#define TUNNELS 4096
#define GROUPS 1024
#define GROUP_SLOTS 16384
#define INTERFACES 1024

typedef bit<48> mac_t;
typedef bit<16> bd_t;      // bridge domain
typedef bit<12> vrf_t;     // virtual router
typedef bit<16> nexthop_t;

header ethernet_t { mac_t dst; mac_t src; bit<16> type; }
header vlan_t { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> type; }
header ipv4_h {
    bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> total_len; bit<16> identification; bit<3> flags; bit<13> frag_offset; bit<8> ttl;
    bit<8> protocol; bit<16> checksum; bit<32> src; bit<32> dst;
}
header ipv6_h { bit<4> version; bit<8> traffic_class; bit<20> flow_label; bit<16> length; bit<8> next; bit<8> hop_limit; bit<128> src; bit<128> dst; }
header udp_h { bit<16> src; bit<16> dst; bit<16> length; bit<16> checksum; }
header tcp_h { bit<16> src; bit<16> dst; bit<32> seq; bit<32> ack; bit<8> offset; bit<8> flags; bit<16> window; bit<16> checksum; bit<16> urgent; }
#ifdef CONGA
header vxlan_h {
    bit<8> flags; bit<1> reserved_0; bit<4> lb_tag; bit<3> ce; bit<1> reserved_1; bit<4> fb_lb_tag; bit<3> fb_metric; bit<8> reserved; bit<24> vni;
    bit<8> reserved2;
}
#else
header vxlan_h { bit<8> flags; bit<24> reserved; bit<24> vni; bit<8> reserved2; }
#endif
header geneve_h { bit<2> version; bit<6> options; bit<8> flags; bit<16> protocol; bit<24> vni; bit<8> reserved; }
header gre_h { bit<4> flags; bit<9> reserved; bit<3> version; bit<16> protocol; }
header nvgre_h { bit<24> tni; bit<8> flow; }

struct headers_t {
#ifdef TOFINO
    bridge_h   bridge;
#endif
    ethernet_t ethernet;
    vlan_t     vlan;
    ipv4_h     ipv4;
    ipv6_h     ipv6;
    gre_h      gre;
    nvgre_h    nvgre;
    udp_h      udp;
    tcp_h      tcp;
    vxlan_h    vxlan;
    geneve_h   geneve;
    ethernet_t inner_ethernet;
    ipv4_h     inner_ipv4;
    ipv6_h     inner_ipv6;
    tcp_h      inner_tcp;
    udp_h      inner_udp;
#ifdef PORT_PROTOCOL
    protocol_h PROTOCOL;
#endif
}

struct learned_t { bd_t bd; mac_t src; bit<9> port; }
