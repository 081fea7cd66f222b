// SPDX-License-Identifier: Apache-2.0
//
// What the programs of this directory have in common: headers, and the sum over an IPv4 header.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;
const bit<9> DROP = 511;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
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
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}

#define IPV4_SUMMED(h) \
    { h.version, h.ihl, h.tos, h.total_len, h.identification, h.flags, h.frag_offset, h.ttl, h.protocol, \
      h.src_addr, h.dst_addr }
