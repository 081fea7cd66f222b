// SPDX-License-Identifier: Apache-2.0
//
// XCP on a Tofino: the equations of xcp.p4 as a control of egress. baseline/tofino.p4 applies it: p4rack fit baseline/tofino.p4 -D XCP --device tofino1
//
//   stage  1: number of the interval   2: bytes, sums over packets   3-6: |2 (C - y) - Q| and its sign   7: bytes to give and to take
//   stage  8-10: quotients             11: coefficients              12: the packet's
//
// y/8 - |phi| and |phi| add up to the greater of y/8 and |phi|: one operation for each of the two numbers of bytes. What differs from xcp.p4:
//
// - The interval is 2^18 ns, 262 us, and coefficients are those of 256 us: alpha = 0.512, beta = 0.256.
// - The very first packet does not stand for an interval: coefficients are 0 until an interval has ended.
// - Quotients are those of the block `divide` instead of its normalised form, which takes three stages more: within 2.6 % on average.

#include <p4rack/blocks/divide/mantissa=6,fraction=10,point=22,as=Rise,for=tna.p4>
#include <p4rack/blocks/divide/mantissa=6,fraction=10,point=14,as=Fall,for=tna.p4>

struct interval_t { bit<32> last; bit<32> passed; }
// The sum so far in an interval, and that of the last interval that had any.
struct sums_t { bit<32> now; bit<32> before; }

control Protocol(inout headers_t hdr, in egress_intrinsic_metadata_t eg) {
    Rise() rise;
    Fall() fall;

    // In bytes per interval: twice the capacity, and what the link takes.
    bit<32> room;
    bit<32> drain;
    bit<1>  is_controlled;

    action control_rate(bit<32> twice, bit<32> drained) {
        is_controlled = 1;
        room = twice;
        drain = drained;
    }
    action control_none() {
        is_controlled = 0;
        room = 0;
        drain = 0;
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

    bit<32> inverse = 0;
    Register<sums_t, bit<9>>(512) inverses;
    RegisterAction<sums_t, bit<9>, bit<32>>(inverses) add_inverse = {
        void apply(inout sums_t cell) { cell.now = cell.now |+| inverse; }
    };
    RegisterAction<sums_t, bit<9>, bit<32>>(inverses) begin_inverse = {
        void apply(inout sums_t cell, out bit<32> sum) {
            if (cell.now != 0) {
                cell.before = cell.now;
            }
            cell.now = inverse;
            sum = cell.before;
        }
    };

    bit<32> size = 0;
    Register<sums_t, bit<9>>(512) sizes;
    RegisterAction<sums_t, bit<9>, bit<32>>(sizes) add_size = {
        void apply(inout sums_t cell) { cell.now = cell.now |+| size; }
    };
    RegisterAction<sums_t, bit<9>, bit<32>>(sizes) begin_size = {
        void apply(inout sums_t cell, out bit<32> sum) {
            if (cell.now != 0) {
                cell.before = cell.now;
            }
            cell.now = size;
            sum = cell.before;
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

    bit<32> rises_by = 0;
    Register<bit<32>, bit<9>>(512) positives;
    RegisterAction<bit<32>, bit<9>, bit<32>>(positives) positive_is = {
        void apply(inout bit<32> cell, out bit<32> result) {
            cell = rises_by;
            result = cell;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(positives) positive_none = {
        void apply(inout bit<32> cell, out bit<32> result) {
            cell = 0;
            result = 0;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(positives) positive_was = {
        void apply(inout bit<32> cell, out bit<32> result) { result = cell; }
    };

    bit<32> falls_by = 0;
    Register<bit<32>, bit<9>>(512) negatives;
    RegisterAction<bit<32>, bit<9>, bit<32>>(negatives) negative_is = {
        void apply(inout bit<32> cell, out bit<32> result) {
            cell = falls_by;
            result = cell;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(negatives) negative_none = {
        void apply(inout bit<32> cell, out bit<32> result) {
            cell = 0;
            result = 0;
        }
    };
    RegisterAction<bit<32>, bit<9>, bit<32>>(negatives) negative_was = {
        void apply(inout bit<32> cell, out bit<32> result) { result = cell; }
    };

    bit<32> passed = 0;
    bit<32> arrived = 0;
    bit<32> of_inverses = 0;
    bit<32> of_sizes = 0;
    bit<32> eighth = 0;
    int<32> standing = 0;
    int<32> left = 0;
    bit<32> by = 0;
    bit<32> give = 0;
    bit<32> take = 0;
    bit<32> positive = 0;
    bit<32> negative = 0;

    apply {
        links.apply();
        passed = pass.execute(eg.egress_port);
        bytes = (bit<32>)(eg.pkt_length - BRIDGE);
        if (hdr.xcp.isValid() && hdr.xcp.flags & XCP_ACK == 0 && hdr.xcp.inverse != 0) {
            inverse = hdr.xcp.inverse;
            size = (bit<32>)(eg.pkt_length - BRIDGE);
        }
        if (passed == 0) {
            add.execute(eg.egress_port);
            add_inverse.execute(eg.egress_port);
            add_size.execute(eg.egress_port);
        } else {
            of_inverses = begin_inverse.execute(eg.egress_port);
            of_sizes = begin_size.execute(eg.egress_port);
            if (passed == 1) {
                arrived = begin.execute(eg.egress_port);
            } else {
                // There are intervals without packets.
                begin.execute(eg.egress_port);
            }
            more = (int<32>)(arrived - drain);
            left = (int<32>)(arrived << 1);
            left = (int<32>)room - left;
            // As all of these, times 4.
            eighth = arrived >> 1;
            standing = queue.execute(eg.egress_port);
            left = left - standing;
            if (left < 0) {
                by = (bit<32>)(-left);
            } else {
                by = (bit<32>)left;
            }
            if (left < 0) {
                take = max(eighth, by);
                give = eighth |-| by;
            } else {
                give = max(eighth, by);
                take = eighth |-| by;
            }
            rise.apply(give, of_inverses, rises_by);
            fall.apply(take, of_sizes, falls_by);
        }
        if (passed == 0) {
            positive = positive_was.execute(eg.egress_port);
        } else if (of_inverses == 0) {
            positive = positive_none.execute(eg.egress_port);
        } else {
            positive = positive_is.execute(eg.egress_port);
        }
        if (passed == 0) {
            negative = negative_was.execute(eg.egress_port);
        } else if (of_sizes == 0) {
            negative = negative_none.execute(eg.egress_port);
        } else {
            negative = negative_is.execute(eg.egress_port);
        }
        if (is_controlled == 1 && hdr.xcp.isValid() && hdr.xcp.flags & XCP_ACK == 0 && hdr.xcp.inverse != 0) {
            hdr.xcp.positive = min(hdr.xcp.positive, positive);
            hdr.xcp.negative = max(hdr.xcp.negative, negative);
        }
    }
}
