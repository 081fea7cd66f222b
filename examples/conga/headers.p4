// SPDX-License-Identifier: Apache-2.0
//
// The headers of CONGA that leaf and spine switches share.

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> PORT_VXLAN = 4789;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

// VXLAN (RFC 7348) with CONGA's fields in reserved bits.
header vxlan_h {
    bit<8>  flags;
    bit<1>  reserved_0;
    bit<4>  lb_tag;       // the uplink that the source leaf chose
    bit<3>  ce;           // the largest congestion on the path so far
    bit<1>  reserved_1;
    bit<4>  fb_lb_tag;    // feedback: an uplink of the destination leaf, and the congestion of its path to here
    bit<3>  fb_metric;
    bit<8>  reserved_2;
    bit<24> vni;
    bit<8>  reserved_3;
}
