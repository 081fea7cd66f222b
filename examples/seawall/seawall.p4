// SPDX-License-Identifier: Apache-2.0
//
// Marks for Seawall (Shieh et al., NSDI'11): a packet that finds at least K packets in the queue of its port is marked by ECN, and its DSCP names the
// link. Hosts divide each link among tenants by weights (kind = "seawall"): a source has one rate for each link that marks its packets.
//
//   queue length when the packet was enqueued >= K of its port, ECN capable, not marked -> congestion experienced, dscp = link
//
// Every operation is one of a limited switch (p4rack check seawall.p4 --device flexswitch).

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<2> NOT_CAPABLE = 0;
const bit<2> CONGESTION_EXPERIENCED = 3;

header ethernet_t {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
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

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
}

struct metadata_t { }

parser SeawallParser(packet_in packet,
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
        transition accept;
    }
}

control SeawallVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SeawallIngress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { forward; drop; }
        default_action = drop();
        size = 4096;
    }

    apply {
        hosts.apply();
    }
}

control SeawallEgress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    bit<19> threshold = 0x7ffff;
    bit<6> number = 0;

    // K, in packets, and the number of the link, which is not 0.
    action mark_from(bit<19> packets, bit<6> link) {
        threshold = packets;
        number = link;
    }

    table marks {
        key = { standard_metadata.egress_port: exact; }
        actions = { mark_from; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        marks.apply();
        // The checksum below is that of a header without options. The first congested link on the path is the one that is named.
        if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5 && hdr.ipv4.ecn != NOT_CAPABLE && hdr.ipv4.ecn != CONGESTION_EXPERIENCED) {
            if (standard_metadata.enq_qdepth >= threshold) {
                hdr.ipv4.ecn = CONGESTION_EXPERIENCED;
                hdr.ipv4.dscp = number;
            }
        }
    }
}

control SeawallUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control SeawallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(SeawallParser(), SeawallVerify(), SeawallIngress(), SeawallEgress(), SeawallUpdate(), SeawallDeparser()) main;
