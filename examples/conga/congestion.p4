// SPDX-License-Identifier: Apache-2.0
//
// The rate of a link and its congestion, at leaf and spine switches; leaf.p4 says how the form EXACT differs.

// The discounting rate estimator of a link: X += bytes of each packet, X -= X/4 each 40 us.
control Estimator(in bit<4> index, in bit<32> now, in bit<32> amount, out bit<32> value) {
    register<bit<64>, bit<32>>(16) cells;

    apply {
        bit<64> cell;
        cells.read(cell, (bit<32>)index);
        value = cell[31:0];
        bit<32> last = cell[63:32];
#if defined(EXACT) || defined(EXACT_RATE)
        for (bit<32> round = 0; round < 64 && now - last >= 40; round = round + 1) {
            value = value - (value >> 2);
            last = last + 40;
        }
        if (now - last >= 40) {
            value = 0;
            last = now;
        }
#else
        // Without loops: 16, 8, 4, 2 rounds and one, as sums of shifts; 32 leave 0.01 %.
        if (now - last >= 1280) {
            value = 0;
            last = now;
        }
        if (now - last >= 640) {
            value = (value >> 7) + (value >> 9);
            last = last + 640;
        }
        if (now - last >= 320) {
            value = (value >> 4) + (value >> 5) + (value >> 8) + (value >> 9);
            last = last + 320;
        }
        if (now - last >= 160) {
            value = (value >> 2) + (value >> 4) + (value >> 8);
            last = last + 160;
        }
        if (now - last >= 80) {
            value = (value >> 1) + (value >> 4);
            last = last + 80;
        }
        if (now - last >= 40) {
            value = value - (value >> 2);
            last = last + 40;
        }
#endif
        value = value + amount;
        cells.write((bit<32>)index, last ++ value);
    }
}

// The congestion of a link in eighths of its rate.
control Congestion(in bit<32> bytes, in bit<2> rate, out bit<3> congestion) {
#if defined(EXACT) || defined(EXACT_RATE)
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

    // By the estimator, bytes in 160 us.
    table metrics {
        key = { rate: exact; bytes: range; }
        actions = { metric; }
        const default_action = metric(0);
        size = 32;
        const entries = {
            // 500 Mbit/s
            (0, 1250 .. 2499): metric(1);
            (0, 2500 .. 3749): metric(2);
            (0, 3750 .. 4999): metric(3);
            (0, 5000 .. 6249): metric(4);
            (0, 6250 .. 7499): metric(5);
            (0, 7500 .. 8749): metric(6);
            (0, 8750 .. 0xffffffff): metric(7);
            // 1 Gbit/s
            (1, 2500 .. 4999): metric(1);
            (1, 5000 .. 7499): metric(2);
            (1, 7500 .. 9999): metric(3);
            (1, 10000 .. 12499): metric(4);
            (1, 12500 .. 14999): metric(5);
            (1, 15000 .. 17499): metric(6);
            (1, 17500 .. 0xffffffff): metric(7);
            // 2 Gbit/s
            (2, 5000 .. 9999): metric(1);
            (2, 10000 .. 14999): metric(2);
            (2, 15000 .. 19999): metric(3);
            (2, 20000 .. 24999): metric(4);
            (2, 25000 .. 29999): metric(5);
            (2, 30000 .. 34999): metric(6);
            (2, 35000 .. 0xffffffff): metric(7);
            // 4 Gbit/s
            (3, 10000 .. 19999): metric(1);
            (3, 20000 .. 29999): metric(2);
            (3, 30000 .. 39999): metric(3);
            (3, 40000 .. 49999): metric(4);
            (3, 50000 .. 59999): metric(5);
            (3, 60000 .. 69999): metric(6);
            (3, 70000 .. 0xffffffff): metric(7);
        }
    }

    apply {
        metrics.apply();
        congestion = found;
    }
#endif
}
