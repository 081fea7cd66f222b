// SPDX-License-Identifier: Apache-2.0
//
// CONGA (Alizadeh et al., SIGCOMM'14) at a leaf switch: bursts of a flow (flowlets) take the path that is least congested.
//
//   from a host:   destination -> leaf -> metrics of the paths to it -> uplink of a new flowlet -> VXLAN with uplink, congestion, feedback
//   from a spine:  congestion of the path that the packet took -> table from the leaf;  feedback -> table to the leaf;  decapsulate -> host
//
// A path has 3 bits of congestion: the largest share of a link's rate, in eighths. The source leaf writes that of its uplink, spines raise it, the
// destination leaf keeps it and sends it back in packets the other way, the metrics of one uplink in each.
//
// Every operation is one of a limited switch (p4rack check leaf.p4 --device flexswitch). As FlexSwitch (NSDI'17, section 4.3) says, a limited switch
// cannot search all metrics; with at most four uplinks it can, since the metrics of a leaf fit into one cell. The congestion of an uplink comes back with
// the metrics of its path: an array cannot choose the uplink and count its bytes, too. Metrics are forgotten after about 10 ms.
//
// Macros choose other forms, for software devices:
//
//   EXACT    as published: all rounds of the estimator of congestion one after the other, and the present congestion of the leaf's own uplinks.
//   EXACT_RATE, EXACT_OWN    the first or the second of these alone.
//   EXACT_BURSTS    a cell for each flow instead of the block `flowlet`.
//   ECMP     paths by the hash of the flow.
//   WCMP     the same by weights (Zhou et al., EuroSys'14): a leaf has 16 slots, and a path as many of them as its weight says.
//   PRESTO   each 64 KB of a flow take the next slot (He et al., SIGCOMM'15). The receivers' TCP puts packets in order.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#ifdef WCMP
#define SLOTS
#endif
#ifdef PRESTO
#define SLOTS
#endif
#ifdef SLOTS
#define ECMP
#endif
#ifdef EXACT_BURSTS
@value_extern("keyed-register")
extern Bursts {
    Bursts(bit<32> size);
    @noSideEffects bit<34> read(in bit<104> key);
    void write(in bit<104> key, in bit<34> value);
}

// The block `flowlet` with a cell for each flow: time of the last packet, and route.
control Flowlet(in bit<104> item, in bit<32> now, in bit<2> wish, out bit<2> route, out bit<1> begins) {
    Bursts(1048576) bursts;

    apply {
        bit<34> known = bursts.read(item);
        route = known[1:0];
        begins = 0;
        if (now - known[33:2] > 500) {
            route = wish;
            begins = 1;
        }
        bursts.write(item, now ++ route);
    }
}
#elif !defined(ECMP)
#include <p4rack/blocks/flowlet/columns=32768,routes=4,timeout=500,key=104.p4>
#endif
#include "headers.p4"
#include "congestion.p4"
#include "metrics.p4"

const bit<8> PROTOCOL_TCP = 6;
// Bytes of the outer headers.
const bit<32> OUTER = 50;

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
}

// Ethernet, IPv4 and the ports of UDP, as far as the parser looks ahead.
header peek_h {
    bit<112> ethernet;
    bit<8>   version_ihl;
    bit<64>  before;
    bit<8>   protocol;
    bit<96>  between;
    bit<16>  dst_port;
}

struct headers_t {
    ethernet_t outer_ethernet;
    ipv4_h     outer_ipv4;
    udp_h      outer_udp;
    vxlan_h    vxlan;
    ethernet_t ethernet;
    ipv4_h     ipv4;
    ports_h    ports;
}

struct metadata_t {
    // The packet goes to another leaf, or has come from one.
    bit<1>  is_remote;
    bit<1>  is_from_spine;
    bit<4>  own;
    bit<4>  leaf;
    // Uplinks that lead to the leaf, one bit each.
    bit<4>  usable;
    // Number of uplinks, a power of two, less one.
    bit<2>  wrap;
    bit<8>  rates;
}

parser LeafParser(packet_in packet,
                  out headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        // Frames of hosts may be shorter than the headers of VXLAN, but not than Ethernet's.
        transition select(standard_metadata.packet_length) {
            0 .. 63: parse_inner;
            default: peek;
        }
    }

    state peek {
        ethernet_t ethernet = packet.lookahead<ethernet_t>();
        transition select(ethernet.ether_type) {
            TYPE_IPV4: peek_udp;
            default: parse_inner;
        }
    }

    state peek_udp {
        peek_h first = packet.lookahead<peek_h>();
        transition select(first.version_ihl, first.protocol, first.dst_port) {
            (0x45, PROTOCOL_UDP, PORT_VXLAN): parse_outer;
            default: parse_inner;
        }
    }

    state parse_outer {
        packet.extract(hdr.outer_ethernet);
        packet.extract(hdr.outer_ipv4);
        packet.extract(hdr.outer_udp);
        packet.extract(hdr.vxlan);
        transition parse_inner;
    }

    state parse_inner {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_ports;
            (5, 0, PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(hdr.ports);
        transition accept;
    }
}

control LeafVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control LeafIngress(inout headers_t hdr,
                    inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
#ifndef ECMP
    Flowlet() flowlets;
#endif
    Estimator() links;
    Congestion() congestion_of;
    Replace() replace_to;
    Replace() replace_came;
    Age() age;
    Replace() replace_from;
    Slot() slot;
    // By leaf: congestion of the paths to it, and of those from it with the uplink of that leaf whose metric is sent back next.
    // Of the former, also when each came, and the time of the last packet.
    register<bit<40>, bit<32>>(16) to_leaf;
    register<bit<14>, bit<32>>(16) from_leaf;
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action local(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action remote(bit<4> own, bit<4> leaf) {
        meta.is_remote = 1;
        meta.own = own;
        meta.leaf = leaf;
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { local; remote; drop; }
        default_action = drop();
        size = 4096;
    }

    action paths(bit<4> usable, bit<2> wrap, bit<8> rates) {
        meta.usable = usable;
        meta.wrap = wrap;
        meta.rates = rates;
    }

    // Uplinks that lead to a leaf, and 2 bits for the rate of each: 0 is 500 Mbit/s, 1, 2 and 3 are 1, 2 and 4 Gbit/s.
    table leaves {
        key = { meta.leaf: exact; }
        actions = { paths; drop; }
        default_action = drop();
        size = 16;
    }

    bit<2> uplink = 0;

#ifdef SLOTS
    bit<4> place = 0;

    action via(bit<2> path) {
        uplink = path;
    }

    // The paths of a leaf in 16 slots.
    table slots {
        key = { meta.leaf: exact; place: exact; }
        actions = { via; drop; }
        default_action = drop();
        size = 256;
    }
#endif
#ifdef PRESTO
    // Bytes of flows, by hash.
    register<bit<32>, bit<32>>(4096) sent;
#endif

    action send(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table uplinks {
        key = { uplink: exact; }
        actions = { send; drop; }
        default_action = drop();
        size = 4;
    }

    action encapsulate() {
        hdr.outer_ethernet = { 0x02000000fffe, 0x02000000ffff, TYPE_IPV4 };
        hdr.outer_ipv4 = { 4, 5, 0, standard_metadata.packet_length[15:0] + 36, 0, 2, 0, 64, PROTOCOL_UDP, 0, 28w0x0aff000 ++ meta.own, 28w0x0aff000 ++ meta.leaf };
        hdr.outer_udp = { 49152, PORT_VXLAN, standard_metadata.packet_length[15:0] + 16, 0 };
        hdr.vxlan = { 8, 0, 2w0 ++ uplink, 0, 0, 0, 0, 0, 1, 0 };
    }

    apply {
        bit<32> now = standard_metadata.ingress_global_timestamp[31:0];
        bit<32> length = standard_metadata.packet_length;
        meta.is_from_spine = (bit<1>)hdr.vxlan.isValid();
        hosts.apply();
        if (meta.is_from_spine == 1) {
            if (meta.is_remote == 1) {
                // Not for a host here.
                drop();
            }
            meta.is_remote = 1 - meta.is_remote;
            meta.leaf = hdr.outer_ipv4.src_addr[3:0];
        }
        if (meta.is_remote == 1) {
            bit<32> index = (bit<32>)meta.leaf;
            bit<40> known;
            to_leaf.read(known, index);
            metrics_t metrics = known[11:0];
            bit<12> came = known[23:12];
            bit<16> moment = now[27:12];
            age.apply(metrics, came, known[39:24], moment);
            if (meta.is_from_spine == 1) {
                replace_to.apply(metrics, hdr.vxlan.fb_lb_tag[1:0], hdr.vxlan.fb_metric);
                replace_came.apply(came, hdr.vxlan.fb_lb_tag[1:0], moment[2:0]);
            }
            to_leaf.write(index, moment ++ came ++ metrics);
            if (meta.is_from_spine == 0) {
                leaves.apply();
                bit<104> flow = 0;
                if (hdr.ports.isValid()) {
                    flow = hdr.ipv4.src_addr ++ hdr.ipv4.dst_addr ++ hdr.ipv4.protocol ++ hdr.ports.src_port ++ hdr.ports.dst_port;
                }
                bit<32> chance;
#ifdef ECMP
                hash(chance, HashAlgorithm.crc32, 32w0, { flow }, 33w0x100000000);
#else
                hash(chance, HashAlgorithm.crc32, 32w0, { flow, now }, 33w0x100000000);
#endif
#ifndef SLOTS
                // The least congested, by chance among equal ones; 8 is no path.
                bit<4> first = 1w0 ++ metrics[2:0];
                bit<4> second = 1w0 ++ metrics[5:3];
                bit<4> third = 1w0 ++ metrics[8:6];
                bit<4> fourth = 1w0 ++ metrics[11:9];
#ifdef ECMP
                first = 0;
                second = 0;
                third = 0;
                fourth = 0;
#endif
#if defined(EXACT) || defined(EXACT_OWN)
                // The present congestion of the uplinks.
                bit<3> own;
                bit<32> sum;
                links.apply(0, now, 0, sum);
                congestion_of.apply(sum, meta.rates[1:0], own);
                first = 1w0 ++ own > first ? 1w0 ++ own : first;
                links.apply(1, now, 0, sum);
                congestion_of.apply(sum, meta.rates[3:2], own);
                second = 1w0 ++ own > second ? 1w0 ++ own : second;
                links.apply(2, now, 0, sum);
                congestion_of.apply(sum, meta.rates[5:4], own);
                third = 1w0 ++ own > third ? 1w0 ++ own : third;
                links.apply(3, now, 0, sum);
                congestion_of.apply(sum, meta.rates[7:6], own);
                fourth = 1w0 ++ own > fourth ? 1w0 ++ own : fourth;
#endif
                first = meta.usable[0:0] == 1 ? first : 8;
                second = meta.usable[1:1] == 1 ? second : 8;
                third = meta.usable[2:2] == 1 ? third : 8;
                fourth = meta.usable[3:3] == 1 ? fourth : 8;
                bit<2> low = 0;
                if (second < first || (second == first && chance[7:7] == 1)) {
                    first = second;
                    low = 1;
                }
                bit<2> high = 2;
                if (fourth < third || (fourth == third && chance[7:7] == 1)) {
                    third = fourth;
                    high = 3;
                }
                if (third < first || (third == first && chance[12:12] == 1)) {
                    low = high;
                }
#endif
#ifdef SLOTS
                place = chance[15:12];
#ifdef PRESTO
                bit<32> bytes_before;
                sent.read(bytes_before, 20w0 ++ chance[11:0]);
                sent.write(20w0 ++ chance[11:0], bytes_before + length);
                place = place + bytes_before[19:16];
#endif
                slots.apply();
#elif defined(ECMP)
                uplink = low;
#else
                bit<1> begins;
                flowlets.apply(flow, now, low, uplink, begins);
#endif
                uplinks.apply();
                bit<32> bytes;
                links.apply(2w0 ++ uplink, now, length + OUTER, bytes);
                bit<2> rate = meta.rates[1:0];
                if (uplink == 1) {
                    rate = meta.rates[3:2];
                } else if (uplink == 2) {
                    rate = meta.rates[5:4];
                } else if (uplink == 3) {
                    rate = meta.rates[7:6];
                }
                bit<3> congestion;
                congestion_of.apply(bytes, rate, congestion);
                encapsulate();
                hdr.vxlan.ce = congestion;
            }
            bit<14> feedback;
            from_leaf.read(feedback, index);
            if (meta.is_from_spine == 1) {
                metrics = feedback[11:0];
                replace_from.apply(metrics, hdr.vxlan.lb_tag[1:0], hdr.vxlan.ce);
                feedback = feedback[13:12] ++ metrics;
                hdr.outer_ethernet.setInvalid();
                hdr.outer_ipv4.setInvalid();
                hdr.outer_udp.setInvalid();
                hdr.vxlan.setInvalid();
            } else {
                bit<3> value;
                slot.apply(feedback[11:0], feedback[13:12], value);
                hdr.vxlan.fb_lb_tag = 2w0 ++ feedback[13:12];
                hdr.vxlan.fb_metric = value;
                feedback = ((feedback[13:12] + 1) & meta.wrap) ++ feedback[11:0];
            }
            from_leaf.write(index, feedback);
        }
    }
}

control LeafEgress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply { }
}

control LeafUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.outer_ipv4.isValid(),
            { hdr.outer_ipv4.version, hdr.outer_ipv4.ihl, hdr.outer_ipv4.tos, hdr.outer_ipv4.total_len, hdr.outer_ipv4.identification,
              hdr.outer_ipv4.flags, hdr.outer_ipv4.frag_offset, hdr.outer_ipv4.ttl, hdr.outer_ipv4.protocol, hdr.outer_ipv4.src_addr,
              hdr.outer_ipv4.dst_addr },
            hdr.outer_ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control LeafDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.outer_ethernet);
        packet.emit(hdr.outer_ipv4);
        packet.emit(hdr.outer_udp);
        packet.emit(hdr.vxlan);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
    }
}

V1Switch(LeafParser(), LeafVerify(), LeafIngress(), LeafEgress(), LeafUpdate(), LeafDeparser()) main;
