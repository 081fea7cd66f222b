// SPDX-License-Identifier: Apache-2.0
//
// The headers that the mux and the agents of servers share.

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_IPIP = 4;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;

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

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}
