// SPDX-License-Identifier: Apache-2.0
//
// CONGA's leaf on a Tofino: the rules of leaf.p4 as two controls, which baseline/tofino.p4 applies. p4rack fit baseline/tofino.p4 -D CONGA --device tofino1
//
//   ingress:  leaf -> metrics of the paths to it, feedback -> least congested uplink -> uplink of the flowlet
//   egress:   rate of the uplink in the last interval -> its congestion -> VXLAN with uplink, congestion, feedback
//
// Metrics are in four registers, one for each uplink, so a packet reads all of a leaf. Uplinks of equal congestion are chosen by chance: two random
// bits change their order. What differs from leaf.p4:
//
// - Intervals are 2^17 ns, 131 us, instead of 128; flowlets end after 0.5 ms and metrics are forgotten after 10 ms, to the nanosecond.
// - Flowlets have one table of 65,536 cells instead of the block `flowlet`, whose two rows take three stages more. Two flows in one cell share a route.
// - Baseline's tables encapsulate, by the tunnel to the leaf; a packet for a host elsewhere takes no group of links.

// Bytes of the outer headers.
const bit<16> OUTER = 50;
const bit<32> FLOWLET = 500000;
const bit<32> FORGOTTEN = 10000000;

struct interval_t { bit<32> last; bit<32> passed; }
struct amounts_t { bit<32> now; bit<32> before; }
struct heard_t { bit<32> metric; bit<32> at; }
struct flowlet_t { bit<32> at; bit<32> uplink; }

// The congestion of the paths by one uplink, by leaf. `metric` has 2 bits after it, for the uplink's place among equal ones.
control Metric(in bit<1> puts, in bit<4> source, in bit<1> gets, in bit<4> leaf, in bit<32> value, in bit<32> now, out bit<32> metric) {
    Register<heard_t, bit<4>>(16) heard;
    RegisterAction<heard_t, bit<4>, bit<32>>(heard) put = {
        void apply(inout heard_t cell) {
            cell.metric = value;
            cell.at = now;
        }
    };
    RegisterAction<heard_t, bit<4>, bit<32>>(heard) get = {
        void apply(inout heard_t cell, out bit<32> result) {
            if (now - cell.at > FORGOTTEN) {
                cell.metric = 0;
            }
            result = cell.metric;
        }
    };

    apply {
        metric = 0;
        if (puts == 1) {
            put.execute(source);
        } else if (gets == 1) {
            metric = get.execute(leaf);
        }
    }
}

control LeafIngress(inout headers_t hdr, inout metadata_t meta, in ingress_intrinsic_metadata_t ig) {
    Metric() metric_0;
    Metric() metric_1;
    Metric() metric_2;
    Metric() metric_3;
    Random<bit<2>>() dice;

    bit<1>  comes;
    bit<4>  source;
    bit<4>  leaf;
    bit<2>  wrap;
    bit<32> place_0;
    bit<32> place_1;
    bit<32> place_2;
    bit<32> place_3;

    action comes_from(bit<4> number) {
        comes = 1;
        source = number;
    }
    action comes_from_none() {
        comes = 0;
        source = 0;
    }
    // Leaves by the addresses of their tunnels.
    table sources {
        key = { hdr.vxlan.isValid(): exact; hdr.ipv4.src: exact; }
        actions = { comes_from; comes_from_none; }
        default_action = comes_from_none();
        size = 16;
    }
    // The number of uplinks less one, and of each uplink its number, and 32 more if it does not lead to the leaf.
    action goes_to(bit<4> number, bit<2> last, bit<32> uplink_0, bit<32> uplink_1, bit<32> uplink_2, bit<32> uplink_3) {
        meta.to_leaf = 1;
        leaf = number;
        wrap = last;
        place_0 = uplink_0;
        place_1 = uplink_1;
        place_2 = uplink_2;
        place_3 = uplink_3;
    }
    action goes_to_none() {
        leaf = 0;
        wrap = 0;
        place_0 = 0;
        place_1 = 0;
        place_2 = 0;
        place_3 = 0;
    }
    // Hosts behind other leaves.
    table hosts {
        key = { hdr.ethernet.dst: exact; }
        actions = { goes_to; goes_to_none; }
        default_action = goes_to_none();
        size = 4096;
    }

    // Congestion of the paths from a leaf, by its uplinks, and whose turn is next.
    bit<32> congestion = 0;
    Register<bit<8>, bit<6>>(64) from_leaf;
    RegisterAction<bit<8>, bit<6>, bit<8>>(from_leaf) keep = {
        void apply(inout bit<8> cell) { cell = congestion[7:0]; }
    };
    RegisterAction<bit<8>, bit<6>, bit<8>>(from_leaf) report = {
        void apply(inout bit<8> cell, out bit<8> result) { result = cell; }
    };
    Register<bit<8>, bit<4>>(16) turns;
    RegisterAction<bit<8>, bit<4>, bit<8>>(turns) turn = {
        void apply(inout bit<8> cell, out bit<8> result) {
            result = cell;
            if (cell >= (bit<8>)wrap) {
                cell = 0;
            } else {
                cell = cell + 1;
            }
        }
    };

    bit<32> now = 0;
    bit<32> wish = 0;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) cell_of_flow;
    Register<flowlet_t, bit<16>>(65536) flowlets;
    RegisterAction<flowlet_t, bit<16>, bit<32>>(flowlets) ride = {
        void apply(inout flowlet_t cell, out bit<32> result) {
            if (now - cell.at > FLOWLET) {
                cell.uplink = wish;
            }
            cell.at = now;
            result = cell.uplink;
        }
    };
    bit<16> flow = 0;
    bit<32> uplink = 0;
    bit<32> value = 0;
    bit<32> first;
    bit<32> second;
    bit<32> third;
    bit<32> fourth;
    bit<8>  which = 0;
    bit<8>  reported = 0;
    bit<32> chance = 0;

    apply {
        now = ig.ingress_mac_tstamp[31:0];
        hosts.apply();
        sources.apply();
        flow = cell_of_flow.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4_src, meta.l4_dst });
        value = 27w0 ++ hdr.vxlan.fb_metric ++ 2w0;
        congestion = 29w0 ++ hdr.vxlan.ce;
        chance = 30w0 ++ dice.get();
        if (comes == 1) {
            keep.execute(source ++ hdr.vxlan.lb_tag[1:0]);
        } else if (meta.to_leaf == 1) {
            which = turn.execute(leaf);
            reported = report.execute(leaf ++ which[1:0]);
        }
        metric_0.apply((bit<1>)(comes == 1 && hdr.vxlan.fb_lb_tag == 0), source, meta.to_leaf, leaf, value, now, first);
        metric_1.apply((bit<1>)(comes == 1 && hdr.vxlan.fb_lb_tag == 1), source, meta.to_leaf, leaf, value, now, second);
        metric_2.apply((bit<1>)(comes == 1 && hdr.vxlan.fb_lb_tag == 2), source, meta.to_leaf, leaf, value, now, third);
        metric_3.apply((bit<1>)(comes == 1 && hdr.vxlan.fb_lb_tag == 3), source, meta.to_leaf, leaf, value, now, fourth);
        if (meta.to_leaf == 1) {
            // Metric, then the place: the number of the uplink with some bits changed.
            place_0 = place_0 ^ chance;
            place_1 = place_1 ^ chance;
            place_2 = place_2 ^ chance;
            place_3 = place_3 ^ chance;
            first = first | place_0;
            second = second | place_1;
            third = third | place_2;
            fourth = fourth | place_3;
            first = min(first, second);
            third = min(third, fourth);
            first = min(first, third);
            wish = first ^ chance;
            uplink = ride.execute(flow);
            meta.uplink = uplink[1:0];
            meta.fb_lb_tag = which[1:0];
            meta.fb_metric = reported[2:0];
        }
    }
}

// The congestion of the output link.
control Protocol(inout headers_t hdr, in egress_intrinsic_metadata_t eg) {
    Register<interval_t, bit<9>>(512) intervals;
    RegisterAction<interval_t, bit<9>, bit<32>>(intervals) pass = {
        void apply(inout interval_t cell, out bit<32> passed) {
            cell.passed = hdr.bridge.interval - cell.last;
            cell.last = hdr.bridge.interval;
            passed = cell.passed;
        }
    };

    bit<32> bytes = 0;
    Register<amounts_t, bit<9>>(512) amounts;
    RegisterAction<amounts_t, bit<9>, bit<32>>(amounts) add = {
        void apply(inout amounts_t cell, out bit<32> result) {
            cell.now = cell.now + bytes;
            result = cell.before;
        }
    };
    RegisterAction<amounts_t, bit<9>, bit<32>>(amounts) begin = {
        void apply(inout amounts_t cell, out bit<32> result) {
            cell.before = cell.now;
            cell.now = bytes;
            result = cell.before;
        }
    };
    RegisterAction<amounts_t, bit<9>, bit<32>>(amounts) begin_after = {
        void apply(inout amounts_t cell, out bit<32> result) {
            cell.before = 0;
            cell.now = bytes;
            result = 0;
        }
    };

    bit<20> sent = 0;
    bit<32> amount = 0;
    action congestion_is(bit<3> eighths) { hdr.bridge.ce = eighths; }
    // Eighths of the rate of a port by bytes in 131 us.
    table congestion {
        key = { eg.egress_port: ternary; sent: range; }
        actions = { congestion_is; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    bit<32> passed = 0;

    apply {
        passed = pass.execute(eg.egress_port);
        if (hdr.bridge.to_leaf == 1) {
            bytes = (bit<32>)(eg.pkt_length + OUTER - BRIDGE);
        } else {
            bytes = (bit<32>)(eg.pkt_length - BRIDGE);
        }
        if (passed == 0) {
            amount = add.execute(eg.egress_port);
        } else if (passed == 1) {
            amount = begin.execute(eg.egress_port);
        } else {
            amount = begin_after.execute(eg.egress_port);
        }
        sent = amount[19:0];
        congestion.apply();
    }
}
