// SPDX-License-Identifier: Apache-2.0
//
// XCP (Katabi, Handley and Rohrs, SIGCOMM'02) on a switch: senders say how their windows and round trips are, and each packet learns by how much the
// window of its sender may grow and has to shrink.
//
//   a packet of XCP:  forward -> measure its output port (bytes, queue, two sums over packets) -> new coefficients, once in an interval
//                     -> positive = min(positive, offered), negative = max(negative, wanted)
//
// Once in an interval T, with the bytes y that came in it, the queue Q and the capacity C:
//
//   phi = alpha (C - y) - beta Q         bytes by which all windows should grow       alpha = 1/2, beta = 1/4
//   h   = max(0, y/8 - |phi|)            bytes that move between flows, so that windows become equal
//   xi_p = (h + max(0, phi)) / (T sum of rtt s / cwnd)        xi_n = (h + max(0, -phi)) / (T sum of s)
//
// As in FlexSwitch (NSDI'17, section 4.2), senders compute rtt s / cwnd before they send, and xi_p rtt (rtt s / cwnd) - xi_n rtt s when the
// acknowledgement comes. The paper has no h; without it windows become equal only while phi is not 0. Tables give the quotients, and the queue is what
// has come less what the link takes. Every operation is one of a limited switch (p4rack check xcp.p4 --device flexswitch).
//
// EXACT divides instead, for software devices; with FABRIC 64 ports have rate control instead of four. T is 256 us: not less than most round trips. Coefficients have 24 bits after the point, inverse
// windows 8. The first packet of an interval computes the coefficients from the intervals before.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
// Ports with rate control.
#ifdef FABRIC
#include <p4rack/blocks/rate-interval/interval=8,cells=64.p4>
#include <p4rack/blocks/periodic/interval=8,cells=64.p4>
typedef bit<6> slot_t;
const bit<32> PORTS = 64;
#else
#include <p4rack/blocks/rate-interval/interval=8,cells=4.p4>
#include <p4rack/blocks/periodic/interval=8,cells=4.p4>
typedef bit<2> slot_t;
const bit<32> PORTS = 4;
#endif
#ifdef EXACT
@value_extern("divide")
extern bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest);
#else
#include <p4rack/blocks/divide-normalised/mantissa=8,point=22,as=Rise.p4>
#include <p4rack/blocks/divide-normalised/mantissa=8,point=14,as=Fall.p4>
#endif

#include "header.p4"

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
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
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_h      udp;
    xcp_h      xcp;
}

struct metadata_t {
    bit<1>  is_controlled;
    // The packet says something of a window.
    bit<1>  asks;
    slot_t  slot;
    // C, in bytes per interval.
    bit<32> capacity;
    // Bytes that the link takes in an interval.
    bit<32> drain;
}

parser XcpParser(packet_in packet,
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
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.src_port, hdr.udp.dst_port) {
            (_, PORT_XCP): parse_xcp;
            (PORT_XCP, _): parse_xcp;
            default: accept;
        }
    }

    state parse_xcp {
        packet.extract(hdr.xcp);
        transition accept;
    }
}

control XcpVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// The coefficients that a port gives its packets.
control Coefficients(in headers_t hdr, in metadata_t meta, in bit<32> now, in bit<32> bytes, out bit<32> positive, out bit<32> negative) {
    RateInterval() arrivals;
    Periodic() intervals;
#ifndef EXACT
    Rise() rise;
    Fall() fall;
#endif
    // Sums of inverse windows, and of bytes, of packets that say something of a window: of the last interval that had any, and of this one.
    register<bit<64>, bit<32>>(PORTS) inverses;
    register<bit<64>, bit<32>>(PORTS) sizes;
    // Bytes in the queue at the end of the last interval.
    register<bit<32>, bit<32>>(PORTS) queues;
    // xi_p and xi_n of this interval.
    register<bit<32>, bit<32>>(PORTS) positives;
    register<bit<32>, bit<32>>(PORTS) negatives;

    apply {
        bit<32> index = (bit<32>)meta.slot;
        bit<32> arrived;
        arrivals.apply(meta.slot, now, bytes, arrived);
        bit<1> due;
        bit<32> ended;
        intervals.apply(meta.slot, now, due, ended);

        bit<32> inverse = meta.asks == 1 ? hdr.xcp.inverse : 0;
        bit<32> size = meta.asks == 1 ? bytes : 0;
        bit<64> sums;
        inverses.read(sums, index);
        bit<32> of_inverses = sums[31:0];
        bit<32> of_sizes;
        if (due == 1) {
            // Intervals without such packets do not count. The very first packet stands for an interval.
            of_inverses = of_inverses == 0 ? sums[63:32] : of_inverses;
            of_inverses = of_inverses == 0 ? inverse : of_inverses;
            inverses.write(index, of_inverses ++ inverse);
        } else {
            inverses.write(index, sums[63:32] ++ (sums[31:0] |+| inverse));
        }
        sizes.read(sums, index);
        of_sizes = sums[31:0];
        if (due == 1) {
            of_sizes = of_sizes == 0 ? sums[63:32] : of_sizes;
            of_sizes = of_sizes == 0 ? size : of_sizes;
            sizes.write(index, of_sizes ++ size);
        } else {
            sizes.write(index, sums[63:32] ++ (sums[31:0] |+| size));
        }
        positives.read(positive, index);
        negatives.read(negative, index);
        if (due == 1) {
            bit<32> standing;
            queues.read(standing, index);
            standing = (standing + arrived) |-| meta.drain;
            queues.write(index, standing);

            // All of these times 4: phi and its sign, h, and the bytes to give and to take.
            bit<32> room = meta.capacity << 1;
            bit<32> used = (arrived << 1) + standing;
            bit<1> falls = (bit<1>)(used > room);
            bit<32> by = falls == 1 ? used - room : room - used;
            bit<32> shuffled = (arrived >> 1) |-| by;
            bit<32> give = falls == 1 ? shuffled : shuffled + by;
            bit<32> take = falls == 1 ? shuffled + by : shuffled;

            // give / 4 / (T of_inverses / 256) with 24 bits after the point, and take / 4 / (T of_sizes).
#ifdef EXACT
            bit<32> rest;
            bit<64> quotient = (bit<64>)give << 22;
            divide(quotient, of_inverses, rest);
            positive = quotient > 0xffffffff ? 32w0xffffffff : quotient[31:0];
            quotient = (bit<64>)take << 14;
            divide(quotient, of_sizes, rest);
            negative = quotient > 0xffffffff ? 32w0xffffffff : quotient[31:0];
#else
            rise.apply(give, of_inverses, positive);
            fall.apply(take, of_sizes, negative);
#endif
            if (of_inverses == 0) {
                positive = 0;
            }
            if (of_sizes == 0) {
                negative = 0;
            }
            positives.write(index, positive);
            negatives.write(index, negative);
        }
    }
}

control XcpIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    Coefficients() coefficients;

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

    // Both in bytes of frames per 256 us: the capacity C that is shared out, and what the link takes.
    action control_rate(slot_t slot, bit<32> capacity, bit<32> drain) {
        meta.is_controlled = 1;
        meta.slot = slot;
        meta.capacity = capacity;
        meta.drain = drain;
    }

    table links {
        key = { standard_metadata.egress_spec: exact; }
        actions = { control_rate; NoAction; }
        default_action = NoAction();
        size = PORTS;
    }

    apply {
        if (hosts.apply().hit) {
            links.apply();
            if (meta.is_controlled == 1) {
                meta.asks = (bit<1>)(hdr.xcp.isValid() && hdr.xcp.flags & XCP_ACK == 0 && hdr.xcp.inverse != 0);
                bit<32> positive;
                bit<32> negative;
                coefficients.apply(hdr, meta, standard_metadata.ingress_global_timestamp[31:0], standard_metadata.packet_length, positive, negative);
                if (meta.asks == 1) {
                    hdr.xcp.positive = positive < hdr.xcp.positive ? positive : hdr.xcp.positive;
                    hdr.xcp.negative = negative > hdr.xcp.negative ? negative : hdr.xcp.negative;
                }
            }
        }
    }
}

control XcpEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply { }
}

control XcpUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control XcpDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.xcp);
    }
}

V1Switch(XcpParser(), XcpVerify(), XcpIngress(), XcpEgress(), XcpUpdate(), XcpDeparser()) main;
