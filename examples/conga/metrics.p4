// SPDX-License-Identifier: Apache-2.0
//
// The metrics of the paths to one leaf, in one cell of a register.

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

// Metrics that are about 10 ms old (8 to 12) are forgotten, so a path that was congested is tried again. Times are in units of 4,096 us: `came` has
// those of the metrics, 3 bits each; `last` is the time of the last packet to or from the leaf, at which the metrics were aged, too.
control Age(inout metrics_t metrics, in bit<12> came, in bit<16> last, in bit<16> now) {
    apply {
        if (now - last > 5) {
            metrics = 0;
        } else {
            if (now[2:0] - came[2:0] > 2) {
                metrics[2:0] = 0;
            }
            if (now[2:0] - came[5:3] > 2) {
                metrics[5:3] = 0;
            }
            if (now[2:0] - came[8:6] > 2) {
                metrics[8:6] = 0;
            }
            if (now[2:0] - came[11:9] > 2) {
                metrics[11:9] = 0;
            }
        }
    }
}
