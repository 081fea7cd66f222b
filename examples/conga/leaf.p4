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
// cannot search all metrics; with at most four uplinks it can, since the metrics of a leaf fit into one cell. The congestion of a link is its rate in
// the last 128 us instead of CONGA's estimator, and that of an uplink comes back with the metrics of its path.
//
// Macros choose other forms, for software devices:
//
//   EXACT    as published: the discounting estimator with tau = 160 us, and the present congestion of the leaf's own uplinks.
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
#ifndef ECMP
#include <p4rack/blocks/flowlet/columns=32768,routes=4,timeout=500,key=104.p4>
#endif
#ifndef EXACT
#include <p4rack/blocks/rate-interval/interval=7,cells=16,as=Estimator.p4>
#endif

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> PORT_VXLAN = 4789;
// Bytes of the outer headers.
const bit<32> OUTER = 50;

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

header ports_h {
    bit<16> src_port;
    bit<16> dst_port;
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
        bit<304> start_of = packet.lookahead<bit<304>>();
        transition select(start_of[191:184], start_of[119:112], start_of[15:0]) {
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

// 3 bits for each of four uplinks.
typedef bit<12> metrics_t;

control Slot(in metrics_t cell, in bit<2> uplink, out bit<3> value) {
    apply {
        value = cell[2:0];
        if (uplink == 1) {
            value = cell[5:3];
        } else if (uplink == 2) {
            value = cell[8:6];
        } else if (uplink == 3) {
            value = cell[11:9];
        }
    }
}

control Replace(inout metrics_t cell, in bit<2> uplink, in bit<3> value) {
    apply {
        if (uplink == 0) {
            cell[2:0] = value;
        } else if (uplink == 1) {
            cell[5:3] = value;
        } else if (uplink == 2) {
            cell[8:6] = value;
        } else {
            cell[11:9] = value;
        }
    }
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
    Replace() replace_from;
    Slot() slot;
    // By leaf: congestion of the paths to it, and of those from it with the uplink of that leaf whose metric is sent back next.
    register<metrics_t, bit<32>>(16) to_leaf;
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
            metrics_t metrics;
            to_leaf.read(metrics, index);
            if (meta.is_from_spine == 1) {
                replace_to.apply(metrics, hdr.vxlan.fb_lb_tag[1:0], hdr.vxlan.fb_metric);
                to_leaf.write(index, metrics);
            } else {
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
#ifdef EXACT
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
