// SPDX-License-Identifier: Apache-2.0
//
// CONGA (Alizadeh et al., SIGCOMM'14) at a spine switch: packets learn the congestion of the link that they take.
//
//   outer destination -> leaf -> port -> congestion of its link in 3 bits -> ce = max(ce, congestion)
//
// Every operation is one of a limited switch (p4rack check spine.p4 --device flexswitch); EXACT has the rounds of the estimator of
// congestion one after the other, see leaf.p4.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include "headers.p4"
#include "congestion.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_h      udp;
    vxlan_h    vxlan;
}

struct metadata_t { }

parser SpineParser(packet_in packet,
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
        transition select(hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (5, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            PORT_VXLAN: parse_vxlan;
            default: accept;
        }
    }

    state parse_vxlan {
        packet.extract(hdr.vxlan);
        transition accept;
    }
}

control SpineVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SpineIngress(inout headers_t hdr,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    Estimator() links;
    Congestion() congestion_of;
    bit<4> link = 0;
    bit<2> rate = 0;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action send(bit<9> port, bit<4> number, bit<2> link_rate) {
        standard_metadata.egress_spec = port;
        link = number;
        rate = link_rate;
    }

    // Ports to leaves, their numbers, and rates: 0 is 500 Mbit/s, 1, 2 and 3 are 1, 2 and 4 Gbit/s.
    table leaves {
        key = { hdr.ipv4.dst_addr: exact; }
        actions = { send; drop; }
        default_action = drop();
        size = 16;
    }

    apply {
        if (!hdr.vxlan.isValid()) {
            drop();
        } else if (leaves.apply().hit) {
            bit<32> bytes;
            links.apply(link, standard_metadata.ingress_global_timestamp[31:0], standard_metadata.packet_length, bytes);
            bit<3> congestion;
            congestion_of.apply(bytes, rate, congestion);
            if (congestion > hdr.vxlan.ce) {
                hdr.vxlan.ce = congestion;
            }
        }
    }
}

control SpineEgress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    apply { }
}

control SpineUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control SpineDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.vxlan);
    }
}

V1Switch(SpineParser(), SpineVerify(), SpineIngress(), SpineEgress(), SpineUpdate(), SpineDeparser()) main;
