// SPDX-License-Identifier: Apache-2.0
//
// CONGA (Alizadeh et al., SIGCOMM'14) at a spine switch: packets learn the congestion of the link that they take.
//
//   outer destination -> leaf -> port -> congestion of its link in 3 bits -> ce = max(ce, congestion)
//
// Every operation is one of a limited switch (p4rack check spine.p4 --device flexswitch); EXACT has CONGA's estimator instead of the rate in the last
// 128 us, see leaf.p4.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#ifndef EXACT
#include <p4rack/blocks/rate-interval/interval=7,cells=16,as=Estimator.p4>
#endif

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

#ifdef EXACT
// The discounting rate estimator of a link: X += bytes of each packet, X -= X/4 each 40 us.
control Estimator(in bit<4> index, in bit<32> now, in bit<32> amount, out bit<32> value) {
    register<bit<64>, bit<32>>(16) cells;

    apply {
        bit<64> cell;
        cells.read(cell, (bit<32>)index);
        value = cell[31:0];
        bit<32> last = cell[63:32];
        for (bit<32> round = 0; round < 64 && now - last >= 40; round = round + 1) {
            value = value - (value >> 2);
            last = last + 40;
        }
        if (now - last >= 40) {
            value = 0;
            last = now;
        }
        value = value + amount;
        cells.write((bit<32>)index, last ++ value);
    }
}
#endif

// The congestion of a link in eighths of its rate.
control Congestion(in bit<32> bytes, in bit<2> rate, out bit<3> congestion) {
#ifdef EXACT
    apply {
        // An eighth of the bytes in tau, 160 us, at 500 Mbit/s and its doubles.
        bit<32> step = 32w1250 << rate;
        congestion = 0;
        for (bit<32> round = 1; round < 8; round = round + 1) {
            if (bytes >= round * step) {
                congestion = round[2:0];
            }
        }
    }
#else
    bit<3> found = 0;

    action metric(bit<3> value) {
        found = value;
    }

    // Bytes in 128 us.
    table metrics {
        key = { rate: exact; bytes: range; }
        actions = { metric; }
        const default_action = metric(0);
        size = 32;
        const entries = {
            // 500 Mbit/s
            (0, 1000 .. 1999): metric(1);
            (0, 2000 .. 2999): metric(2);
            (0, 3000 .. 3999): metric(3);
            (0, 4000 .. 4999): metric(4);
            (0, 5000 .. 5999): metric(5);
            (0, 6000 .. 6999): metric(6);
            (0, 7000 .. 0xffffffff): metric(7);
            // 1 Gbit/s
            (1, 2000 .. 3999): metric(1);
            (1, 4000 .. 5999): metric(2);
            (1, 6000 .. 7999): metric(3);
            (1, 8000 .. 9999): metric(4);
            (1, 10000 .. 11999): metric(5);
            (1, 12000 .. 13999): metric(6);
            (1, 14000 .. 0xffffffff): metric(7);
            // 2 Gbit/s
            (2, 4000 .. 7999): metric(1);
            (2, 8000 .. 11999): metric(2);
            (2, 12000 .. 15999): metric(3);
            (2, 16000 .. 19999): metric(4);
            (2, 20000 .. 23999): metric(5);
            (2, 24000 .. 27999): metric(6);
            (2, 28000 .. 0xffffffff): metric(7);
            // 4 Gbit/s
            (3, 8000 .. 15999): metric(1);
            (3, 16000 .. 23999): metric(2);
            (3, 24000 .. 31999): metric(3);
            (3, 32000 .. 39999): metric(4);
            (3, 40000 .. 47999): metric(5);
            (3, 48000 .. 55999): metric(6);
            (3, 56000 .. 0xffffffff): metric(7);
        }
    }

    apply {
        metrics.apply();
        congestion = found;
    }
#endif
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
