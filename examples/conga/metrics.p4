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
