// SPDX-License-Identifier: Apache-2.0
//
// RCP on a Tofino: FlexSwitch's form of rcp.p4 as a control of egress. baseline/tofino.p4 applies it: p4rack fit baseline/tofino.p4 -D RCP --device tofino1
//
//   stage  1: number of the interval, cell of the flow   2: bytes, flows   3-6: 2 (C - y) - Q   7: by how much, and the sign
//   stage  8-10: by how much / flows                     11: rate          12, 13: capacity less what is missing, the packet's rate
//
// A stage has each register once, so the rate is kept as what is missing to the capacity: a sum that saturates at 0 when it rises. What differs from rcp.p4:
//
// - The interval is 2^18 ns, 262 us, and a byte in an interval counts as 32 kbit/s instead of 30.5: alpha = 0.524, beta = 0.262.
// - After intervals without packets, the term of the queue counts half.
// - The lower bound of the rate holds from the second packet of an interval on; the first may be offered less.
// - Ports share one bitmap of 65,536 cells. A flow is not counted if another flow of its interval has the same cell, as one in 40 of 3,200 flows.

#include <p4rack/blocks/divide/mantissa=6,fraction=10,point=3,for=tna.p4>

struct interval_t { bit<32> last; bit<32> passed; }
struct counts_t { bit<32> now; bit<32> before; }

control Protocol(inout headers_t hdr, in egress_intrinsic_metadata_t eg) {
    Divide() divide;

    bit<1>  is_controlled;
    // In bytes per interval: twice the virtual capacity, the same after a pause, and what the link takes.
    bit<32> room;
    bit<32> room_after;
    bit<32> drain;
    // In kbit/s: the virtual capacity, and the most that may be missing.
    bit<32> capacity;
    bit<32> limit;

    action control_rate(bit<32> twice, bit<32> four_times, bit<32> drained, bit<32> kbits, bit<32> most) {
        is_controlled = 1;
        room = twice;
        room_after = four_times;
        drain = drained;
        capacity = kbits;
        limit = most;
    }
    action control_none() {
        is_controlled = 0;
        room = 0;
        room_after = 0;
        drain = 0;
        capacity = 0;
        limit = 0;
    }
    table links {
        key = { eg.egress_port: exact; }
        actions = { control_rate; control_none; }
        default_action = control_none();
        size = 512;
    }

    Register<interval_t, bit<9>>(512) intervals;
    RegisterAction<interval_t, bit<9>, bit<32>>(intervals) pass = {
        void apply(inout interval_t cell, out bit<32> passed) {
            cell.passed = hdr.bridge.interval - cell.last;
            cell.last = hdr.bridge.interval;
            passed = cell.passed;
        }
    };

    Hash<bit<16>>(HashAlgorithm_t.CRC16) cell_of_flow;
    Register<bit<8>, bit<16>>(65536) seen;
    RegisterAction<bit<8>, bit<16>, bit<32>>(seen) see = {
        void apply(inout bit<8> cell, out bit<32> result) {
            result = 0;
            if (cell != hdr.bridge.interval[7:0]) {
                result = 1;
            }
            cell = hdr.bridge.interval[7:0];
        }
    };

    bit<32> bytes = 0;
    Register<bit<32>, bit<9>>(512) amounts;
    RegisterAction<bit<32>, bit<9>, bit<32>>(amounts) add = {
        void apply(inout bit<32> cell) { cell = cell + bytes; }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(amounts) begin = {
        void apply(inout bit<32> cell, out bit<32> before) {
            before = cell;
            cell = bytes;
        }
    };

    bit<32> is_new = 0;
    action look() {
        is_new = see.execute(cell_of_flow.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.udp.src, hdr.udp.dst, eg.egress_port }));
    }
    Register<counts_t, bit<9>>(512) counts;
    RegisterAction<counts_t, bit<9>, bit<32>>(counts) count = {
        void apply(inout counts_t cell) { cell.now = cell.now + is_new; }
    };
    // A slow flow may send nothing in an interval: the greater of two counts.
    RegisterAction<counts_t, bit<9>, bit<32>>(counts) count_first = {
        void apply(inout counts_t cell, out bit<32> flows) {
            if (cell.now > cell.before) {
                flows = cell.now;
            } else {
                flows = cell.before;
            }
            cell.before = cell.now;
            cell.now = is_new;
        }
    };

    int<32> more = 0;
    Register<int<32>, bit<9>>(512) queues;
    RegisterAction<int<32>, bit<9>, int<32>>(queues) queue = {
        void apply(inout int<32> cell, out int<32> standing) {
            if (cell + more > 0) {
                cell = cell + more;
            } else {
                cell = 0;
            }
            standing = cell;
        }
    };

    bit<32> change = 0;
    Register<bit<32>, bit<9>>(512) missing;
    RegisterAction<bit<32>, bit<9>, bit<32>>(missing) rise = {
        void apply(inout bit<32> cell, out bit<32> result) {
            cell = cell |-| change;
            result = cell;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(missing) fall = {
        void apply(inout bit<32> cell, out bit<32> result) {
            if (cell > limit) {
                cell = limit;
            } else {
                cell = cell + change;
            }
            result = cell;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(missing) keep = {
        void apply(inout bit<32> cell, out bit<32> result) {
            if (cell > limit) {
                cell = limit;
            }
            result = cell;
        }
    };

    bit<32> passed = 0;
    bit<32> arrived = 0;
    bit<32> flows = 1;
    int<32> standing = 0;
    int<32> left = 0;
    bit<32> by = 0;
    bit<32> lacks = 0;
    bit<32> offered = 0;

    apply {
        links.apply();
        passed = pass.execute(eg.egress_port);
        bytes = (bit<32>)(eg.pkt_length - BRIDGE);
        if (hdr.rcp.isValid() && hdr.rcp.flags & RCP_ACK == 0) {
            look();
        }
        if (passed == 0) {
            add.execute(eg.egress_port);
            count.execute(eg.egress_port);
        } else if (passed == 1) {
            arrived = begin.execute(eg.egress_port);
            flows = count_first.execute(eg.egress_port);
        } else {
            // There are intervals without packets and flows.
            begin.execute(eg.egress_port);
            count_first.execute(eg.egress_port);
        }
        if (passed != 0) {
            more = (int<32>)(arrived - drain);
            if (passed == 1) {
                left = (int<32>)(arrived << 1);
                left = (int<32>)room - left;
            } else {
                left = (int<32>)room_after;
            }
            standing = queue.execute(eg.egress_port);
            left = left - standing;
            if (left < 0) {
                by = (bit<32>)(-left);
            } else {
                by = (bit<32>)left;
            }
            // A quarter of 32 kbit/s: 3 bits after the point.
            divide.apply(by, flows, change);
        }
        if (passed == 0) {
            lacks = keep.execute(eg.egress_port);
        } else if (left < 0) {
            lacks = fall.execute(eg.egress_port);
        } else {
            lacks = rise.execute(eg.egress_port);
        }
        offered = capacity |-| lacks;
        if (is_controlled == 1 && hdr.rcp.isValid() && hdr.rcp.flags & RCP_ACK == 0) {
            hdr.rcp.rate = min(hdr.rcp.rate, offered);
        }
    }
}
