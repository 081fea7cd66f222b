// SPDX-License-Identifier: Apache-2.0
//
// The rate of a link and its congestion, at leaf and spine switches; leaf.p4 says how the form EXACT differs.

#if !defined(EXACT) && !defined(EXACT_RATE)
#include <p4rack/blocks/rate-interval/interval=7,cells=16,as=Estimator.p4>
#else
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
