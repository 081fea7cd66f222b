// SPDX-License-Identifier: Apache-2.0
//
// RCP (Dukkipati 2008) on a switch: each packet learns the least rate that a switch on its path offers, and senders pace by it.
//
//   a packet of RCP:  forward -> measure its output port (bytes, queue, flows) -> new rate, once in an interval -> rate = min(rate, offered)
//
// FlexSwitch (NSDI'17, section 4.1): R += (alpha S - beta Q) / N. A bitmap counts the flows N of a port, tables give the quotient, and the queue Q is
// what has come less what the link takes. Every operation is one of a limited switch (p4rack check rcp.p4 --device flexswitch).
//
// Macros choose other forms, for software devices:
//
//   EXACT       the same formula, with the flows counted one by one and a division: p4rack block's exact twins, in place. EXACT_FLOWS and EXACT_SHARE
//               have one of the two.
//   FABRIC      64 ports with rate control instead of four, and 1,024 cells of the bitmap of flows for each instead of 8,192.
//   DUKKIPATI   the original: R += R (T/d) (alpha (C - y) - beta q/d) / C. The mean round trip d is that of the headers, q is measured at
//               the queue. It multiplies, divides, loops, and reads in ingress what egress wrote.
//
// alpha = 1/2, beta = 1/4, C is the virtual capacity. T, the interval, is 256 us: not less than most round trips. Rates inside are bytes per
// interval with 8 bits after the point. The first packet of an interval computes the rate from the interval before.

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
#define EXACT_FLOWS
#define EXACT_SHARE
#endif
#ifdef DUKKIPATI
#define EXACT_SHARE
#endif
#ifdef EXACT_SHARE
@value_extern("divide")
extern bool divide(inout bit<64> number, in bit<32> by, out bit<32> rest);
#else
#include <p4rack/blocks/divide-normalised/mantissa=8,point=6,as=Share.p4>
#endif
#ifndef DUKKIPATI
#ifdef EXACT_FLOWS
@value_extern("keyed-register")
extern Flows {
    Flows(bit<32> size);
    @noSideEffects bit<32> read(in bit<104> key);
    void write(in bit<104> key, in bit<32> value);
}
#else
// Each port counts its own flows.
#ifdef FABRIC
#include <p4rack/blocks/bitmap/cells=65536,groups=64,key=96,window=8.p4>
#else
#include <p4rack/blocks/bitmap/cells=32768,groups=4,key=96,window=8.p4>
#endif
#endif
#endif

#include "header.p4"

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
// The least rate: a hundredth of a packet of 1,500 bytes in an interval.
const bit<32> LEAST = 15 << 8;

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
    rcp_h      rcp;
}

struct metadata_t {
    bit<1>  is_controlled;
    // The packet belongs to a flow that asks for a rate: RCP, and no acknowledgement.
    bit<1>  asks;
    slot_t  slot;
    // gamma C, in bytes per interval.
    bit<32> capacity;
    // Bytes that the link takes in an interval.
    bit<32> drain;
    // Bytes that have come for the output port, with this packet's.
    bit<32> arrived;
}

#ifdef DUKKIPATI
// For each slot, the bytes that had come when the packet came that left last: the rest is in the queue. Egress writes, ingress reads.
register<bit<32>, bit<32>>(PORTS) left_up_to;
#endif

parser RcpParser(packet_in packet,
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
            (_, PORT_RCP): parse_rcp;
            (PORT_RCP, _): parse_rcp;
            default: accept;
        }
    }

    state parse_rcp {
        packet.extract(hdr.rcp);
        transition accept;
    }
}

control RcpVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

// The rate that a port offers, in bytes per interval with 8 bits after the point.
control Offer(in headers_t hdr, in metadata_t meta, in bit<32> now, in bit<32> bytes, in bit<32> queue, out bit<32> rate) {
    RateInterval() arrivals;
    Periodic() intervals;
    // 0 stands for the capacity, before the first interval has ended.
    register<bit<32>, bit<32>>(PORTS) rates;
#ifdef DUKKIPATI
    // The sum of round trip times bytes, in units of 16, and the bytes, of packets that know a round trip.
    RateInterval() trips;
    RateInterval() tripped;
    // Mean round trip in us with 8 bits after the point.
    register<bit<32>, bit<32>>(PORTS) means;
#else
#ifdef EXACT_FLOWS
    // The last interval in which a flow of a slot sent.
    Flows(1048576) flows_seen;
#else
    Bitmap() flows_seen;
#endif
#ifndef EXACT_SHARE
    Share() share;
#endif
    // The number of flows in the last interval, and so far in this one.
    register<bit<64>, bit<32>>(PORTS) counts;
    // Bytes at the end of the last interval.
    register<bit<32>, bit<32>>(PORTS) queues;
#endif

    apply {
        bit<32> index = (bit<32>)meta.slot;
        bit<32> arrived;
        arrivals.apply(meta.slot, now, bytes, arrived);
        bit<1> due;
        bit<32> ended;
        intervals.apply(meta.slot, now, due, ended);
        bit<32> capacity = meta.capacity << 8;

#ifdef DUKKIPATI
        bit<32> weight = 0;
        bit<32> weighed = 0;
        if (meta.asks == 1 && hdr.rcp.rtt_us != 0) {
            weighed = bytes;
            bit<64> product = (bit<64>)bytes * (bit<64>)hdr.rcp.rtt_us;
            weight = product[35:4];
        }
        bit<32> sum;
        trips.apply(meta.slot, now, weight, sum);
        bit<32> of;
        tripped.apply(meta.slot, now, weighed, of);
        bit<32> mean;
        means.read(mean, index);
        rates.read(rate, index);
        rate = rate == 0 ? capacity : rate;
        if (due == 1) {
            bit<32> rest;
            if (of != 0) {
                bit<64> sample = (bit<64>)sum << 12;
                divide(sample, of, rest);
                mean = mean == 0 ? sample[31:0] : mean - (mean >> 2) + (sample[31:0] >> 2);
                means.write(index, mean);
            }
            // d, at least T: then T/d = min(d, T)/d.
            bit<32> trip = mean < 65536 ? 32w65536 : mean;
            // beta q T/d, times 4.
            bit<64> queued = (bit<64>)queue << 16;
            divide(queued, trip, rest);
            bit<64> room = (bit<64>)meta.capacity << 1;
            bit<64> used = ((bit<64>)arrived << 1) + queued;
            bit<1> falls = (bit<1>)(used > room);
            bit<64> by = falls == 1 ? used - room : room - used;
            by = by < 0x3fffff ? by : 0x3fffff;
            bit<64> old = (bit<64>)rate;
            // Once for the last interval that had packets, and for each without any since.
            for (bit<32> round = 0; round < ended && round < 32; round = round + 1) {
                bit<64> change = old * by;
                divide(change, meta.capacity, rest);
                change = change << 14;
                divide(change, trip, rest);
                old = falls == 0 ? old + change : old - (change < old ? change : old);
                old = old < (bit<64>)capacity ? old : (bit<64>)capacity;
                falls = 0;
                by = room;
            }
            rate = old[31:0];
            rate = rate > LEAST ? rate : LEAST;
            rates.write(index, rate);
        }
#else
        bit<64> counted;
        counts.read(counted, index);
        // A slow flow may send nothing in an interval: the greater of two counts.
        bit<32> flows = counted[31:0] > counted[63:32] ? counted[31:0] : counted[63:32];
        bit<32> count = due == 1 ? 32w0 : counted[31:0];
        if (meta.asks == 1) {
            bit<96> flow = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.udp.src_port ++ hdr.udp.dst_port;
#ifdef EXACT_FLOWS
            if (flows_seen.read((bit<8>)meta.slot ++ flow) != now >> 8) {
                flows_seen.write((bit<8>)meta.slot ++ flow, now >> 8);
                count = count + 1;
            }
#else
            flows_seen.apply(meta.slot, flow, now[15:8], count);
#endif
        }
        if (due == 1) {
            counts.write(index, counted[31:0] ++ count);
        } else {
            counts.write(index, counted[63:32] ++ count);
        }
        rates.read(rate, index);
        rate = rate == 0 ? capacity : rate;
        if (due == 1) {
            bit<32> standing;
            queues.read(standing, index);
            standing = (standing + arrived) |-| meta.drain;
            queues.write(index, standing);
            // (alpha S - beta Q), times 4.
            bit<32> room = meta.capacity << 1;
            bit<32> used = (arrived << 1) + standing;
            if (ended != 1) {
                // There are intervals without packets and flows.
                flows = 1;
            }
            if (flows == 0) {
                flows = 1;
            }
            bit<1> falls = (bit<1>)(used > room);
            bit<32> by = falls == 1 ? used - room : room - used;
            // With 8 bits after the point, divided by 4: 6 bits after the point.
            bit<32> change;
#ifdef EXACT_SHARE
            bit<32> rest;
            bit<64> quotient = (bit<64>)by << 6;
            divide(quotient, flows, rest);
            change = quotient[31:0];
#else
            share.apply(by, flows, change);
#endif
            if (ended != 1) {
                change = change << 1;
            }
            if (falls == 0) {
                rate = rate |+| change;
            } else {
                rate = rate |-| change;
            }
            rate = rate < capacity ? rate : capacity;
            rate = rate > LEAST ? rate : LEAST;
            rates.write(index, rate);
        }
#endif
    }
}

control RcpIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    Offer() offer;
    register<bit<32>, bit<32>>(PORTS) bytes_arrived;

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

    // Both in bytes of frames per 256 us: the virtual capacity gamma C, and what the link takes.
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
                bit<32> index = (bit<32>)meta.slot;
                bit<32> bytes = standard_metadata.packet_length;
                bit<32> before;
                bytes_arrived.read(before, index);
                meta.arrived = before + bytes;
                bytes_arrived.write(index, meta.arrived);
                bit<32> queue = 0;
#ifdef DUKKIPATI
                bit<32> left;
                left_up_to.read(left, index);
                queue = before - left;
#endif
                meta.asks = (bit<1>)(hdr.rcp.isValid() && hdr.rcp.flags & RCP_ACK == 0);
                bit<32> rate;
                offer.apply(hdr, meta, standard_metadata.ingress_global_timestamp[31:0], bytes, queue, rate);
                // 8000 / 256 / 256 kbit/s = 125 / 1024.
                bit<48> kbit = (bit<48>)rate;
                kbit = (kbit << 7) - (kbit << 1) - kbit;
                bit<32> offered = kbit[41:10];
                if (meta.asks == 1 && offered < hdr.rcp.rate) {
                    hdr.rcp.rate = offered;
                }
            }
        }
    }
}

control RcpEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply {
#ifdef DUKKIPATI
        if (meta.is_controlled == 1) {
            left_up_to.write((bit<32>)meta.slot, meta.arrived);
        }
#endif
    }
}

control RcpUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control RcpDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.rcp);
    }
}

V1Switch(RcpParser(), RcpVerify(), RcpIngress(), RcpEgress(), RcpUpdate(), RcpDeparser()) main;
