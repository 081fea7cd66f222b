// The data plane of fail-over: the machines of the crate `failover` (docs/internals/failover.md) as controls.
//
// TARGETS: the most targets of an edge. LEAVING: edges that leave here. ARRIVING: edges that arrive here. REGION_BITS, ADDRESS_BITS, PORT_BITS: as in hand-overs.
// EDGES_OF, PORTS, EDGES_FROM: sizes of tables. SHARDS: entries of the map of shards, if there are shards with replicas.

#if V1MODEL_VERSION >= 20200408
#define REGISTER(T) register<T, bit<32>>
#else
#define REGISTER(T) register<T>
#endif

#ifdef SHARDS
// Packets of a shard without an edge find an edge that leads nowhere.
#define CELLS (LEAVING + 1)
#define NOWHERE LEAVING
#else
#define CELLS LEAVING
#define NOWHERE 0
#endif

#define PACKET 0
#define PROBE 1
#define REPORT 2
#define TICK 3

// A hand-over leaves, a report has come, or time has passed. `leaves` is 0 for what ends here, and where no target is left.
control Leave(inout bit<2> kind, inout bit<1> ask, inout bit<32> generation, inout bit<32> sequence, inout bit<16> gaps,
              in bit<REGION_BITS> region, in bit<48> now, out bit<1> leaves, out bit<PORT_BITS> port
#ifdef SHARDS
              , inout bit<16> of_edge, in bit<16> shard
#endif
              ) {
    // Written by the controller alone.
    REGISTER(bit<TARGETS>)(CELLS) forgiven;
    REGISTER(bit<TARGETS>)(CELLS) barred;
    // Written by the device's agent alone.
    REGISTER(bit<TARGETS>)(CELLS) down;
    // Written here alone.
    REGISTER(bit<TARGETS>)(CELLS) failed;
    REGISTER(bit<TARGETS>)(CELLS) left;
    REGISTER(bit<TARGETS>)(CELLS) used;
    REGISTER(bit<32>)(CELLS) generations;
    REGISTER(bit<32>)(CELLS) sequences;
    REGISTER(bit<1>)(CELLS) waiting;
    REGISTER(bit<32>)(CELLS) asked;
    REGISTER(bit<48>)(CELLS) asked_at;
    REGISTER(bit<8>)(CELLS) missed;
    REGISTER(bit<32>)(CELLS) acked;
    REGISTER(bit<16>)(CELLS) gaps_seen;
    REGISTER(bit<16>)(CELLS) gaps_now;

    bit<32> edge = NOWHERE;
    bit<TARGETS> all = 0;
    bit<32> every = 0;
    bit<48> after = 0;
    bit<48> patience = 0;
    bit<8> most_missed = 0;
    bit<16> most_gaps = 0;
    bit<32> window = 0;
    bit<TARGETS> is_used = 0;

    action miss() {}
    // `window_mask`: the hand-overs of a window less 1.
    action use(bit<32> number, bit<TARGETS> targets, bit<32> ask_every, bit<48> ask_after, bit<48> bears,
               bit<8> missed_limit, bit<16> gaps_limit, bit<32> window_mask) {
        edge = number;
        all = targets;
        every = ask_every;
        after = ask_after;
        patience = bears;
        most_missed = missed_limit;
        most_gaps = gaps_limit;
        window = window_mask;
    }
    table edge_of {
        key = {
            region: exact;
#ifdef SHARDS
            of_edge: exact;
#endif
        }
        actions = { use; miss; }
        const default_action = miss();
        size = EDGES_OF;
    }
    action forward(bit<PORT_BITS> to) {
        port = to;
        leaves = 1;
    }
    table port_of {
        key = { edge: exact; is_used: exact; }
        actions = { forward; miss; }
        const default_action = miss();
        size = PORTS;
    }
#ifdef SHARDS
    action lead(bit<16> to) {
        of_edge = to;
    }
    // From a shard to the edge of its replicas.
    table map {
        key = { region: exact; shard: exact; }
        actions = { lead; miss; }
        const default_action = miss();
        size = SHARDS;
    }
#endif

    apply {
        leaves = 0;
        port = 0;
#ifdef SHARDS
        if (kind == PACKET) {
            of_edge = 0;
            map.apply();
        }
#endif
        edge_of.apply();
        bit<TARGETS> is_forgiven;
        bit<TARGETS> is_barred;
        bit<TARGETS> is_down;
        bit<TARGETS> has_failed;
        bit<TARGETS> is_left;
        bit<32> of_now;
        bit<32> last;
        bit<1> waits;
        bit<32> last_asked;
        bit<48> last_asked_at;
        bit<8> misses;
        bit<32> reached;
        bit<16> seen;
        bit<16> missing;
        forgiven.read(is_forgiven, edge);
        barred.read(is_barred, edge);
        down.read(is_down, edge);
        failed.read(has_failed, edge);
        left.read(is_left, edge);
        used.read(is_used, edge);
        generations.read(of_now, edge);
        sequences.read(last, edge);
        waiting.read(waits, edge);
        asked.read(last_asked, edge);
        asked_at.read(last_asked_at, edge);
        missed.read(misses, edge);
        acked.read(reached, edge);
        gaps_seen.read(seen, edge);
        gaps_now.read(missing, edge);

        // Targets whose port is down have failed, if another one may be used: the controller lets them back, and not the port. Where no other
        // one is usable, those that were left because of their port are, once it is up.
        bit<TARGETS> up = all & ~is_barred & ~is_down;
        bit<TARGETS> usable = up & ~(has_failed ^ is_forgiven);
        is_left = is_left & (has_failed ^ is_forgiven);
        if ((usable | (up & is_left)) != 0) {
            bit<TARGETS> gone = all & ~is_barred & is_down & ~(has_failed ^ is_forgiven);
            has_failed = has_failed ^ gone;
            is_left = is_left | gone;
        }

        bit<1> fails = 0;
        bit<1> is_late = 0;
        if (kind == REPORT) {
            bit<32> ahead = sequence - last;
            if (generation == of_now && is_used != 0 && (ahead == 0 || ahead >= 0x80000000)) {
                bit<32> more = sequence - reached;
                if (more != 0 && more < 0x80000000) {
                    reached = sequence;
                    misses = 0;
                }
                bit<32> open = last_asked - reached;
                if (open == 0 || open >= 0x80000000) {
                    waits = 0;
                }
                bit<16> added = gaps - seen;
                if (added != 0 && added < 0x8000) {
                    seen = gaps;
                    missing = missing |+| added;
                }
                if (missing >= most_gaps) {
                    fails = 1;
                }
            }
        } else if (waits == 1 && now - last_asked_at > patience) {
            is_late = 1;
            misses = misses |+| 1;
            if (misses >= most_missed) {
                fails = 1;
            }
        }
        if (fails == 1) {
            if (usable == 0) {
                is_left = is_left & ~(is_used & up);
            }
            has_failed = has_failed ^ (is_used & usable);
            usable = usable & ~is_used;
            is_used = 0;
            waits = 0;
        }
        if (kind != REPORT) {
            if (usable == 0) {
                usable = up & is_left;
                if ((usable & is_used) != 0) {
                    usable = is_used;
                }
            }
            bit<TARGETS> target = usable & (0 - usable);
            bit<1> is_new = 0;
            if (target != is_used) {
                is_new = 1;
            }
            bit<1> is_due = is_late;
            if (kind == TICK) {
                if (is_new == 1 || (waits == 0 && now - last_asked_at >= after)) {
                    is_due = 1;
                }
            }
            if (kind != TICK || is_due == 1) {
                if (is_new == 1) {
                    if (target != 0) {
                        of_now = of_now + 1;
                    }
                    // 0 says that nothing has arrived.
                    if (of_now == 0) {
                        of_now = 1;
                    }
                    is_used = target;
                    last = 0;
                    waits = 0;
                    last_asked = 0;
                    last_asked_at = 0;
                    misses = 0;
                    reached = 0;
                    seen = 0;
                    missing = 0;
                }
                if (target != 0) {
                    last = last + 1;
                    if ((last & window) == 0) {
                        missing = 0;
                    }
                    ask = is_due | is_new;
                    if (waits == 0 && (last - last_asked >= every || now - last_asked_at >= after)) {
                        ask = 1;
                    }
                    if (ask == 1) {
                        waits = 1;
                        last_asked = last;
                        last_asked_at = now;
                    }
                    if (kind == TICK) {
                        kind = PROBE;
                    }
                    generation = of_now;
                    sequence = last;
                    gaps = 0;
                    port_of.apply();
                }
            }
        }

        failed.write(edge, has_failed);
        left.write(edge, is_left);
        used.write(edge, is_used);
        generations.write(edge, of_now);
        sequences.write(edge, last);
        waiting.write(edge, waits);
        asked.write(edge, last_asked);
        asked_at.write(edge, last_asked_at);
        missed.write(edge, misses);
        acked.write(edge, reached);
        gaps_seen.write(edge, seen);
        gaps_now.write(edge, missing);
    }
}

// A hand-over or a probe has come. `verdict`: 0 it is processed, 1 it came before, 2 it is of an earlier generation or too old, 3 its edge is not
// known. `reports`: `generation`, `sequence` and `gaps` go back in a report; these three change only then.
control Arrive(in bit<1> ask, inout bit<32> generation, inout bit<32> sequence, inout bit<16> gaps, in bit<REGION_BITS> region,
               in bit<ADDRESS_BITS> sender, out bit<2> verdict, out bit<1> reports
#ifdef SHARDS
               , in bit<16> of_edge
#endif
               ) {
    REGISTER(bit<32>)(ARRIVING) generations;
    REGISTER(bit<32>)(ARRIVING) highest;
    REGISTER(bit<32>)(ARRIVING) seen;
    REGISTER(bit<16>)(ARRIVING) gaps_now;

    bit<32> edge = 0;
    bit<8> tolerance = 0;
    bit<32> near = 0;

    action miss() {
        verdict = 3;
    }
    // `mask`: as many ones as `bears`, which is from 1 to 31.
    action from(bit<32> number, bit<8> bears, bit<32> mask) {
        edge = number;
        tolerance = bears;
        near = mask;
    }
    table edge_of {
        key = {
            region: exact;
            sender: exact;
#ifdef SHARDS
            of_edge: exact;
#endif
        }
        actions = { from; miss; }
        const default_action = miss();
        size = EDGES_FROM;
    }

    apply {
        verdict = 0;
        reports = 0;
        edge_of.apply();
        bit<32> of_now;
        bit<32> top;
        bit<32> bits;
        bit<16> missing;
        generations.read(of_now, edge);
        highest.read(top, edge);
        seen.read(bits, edge);
        gaps_now.read(missing, edge);

        if (verdict == 0) {
            bit<32> later = generation - of_now;
            if (of_now == 0 || (later != 0 && later < 0x80000000)) {
                of_now = generation;
                top = 0;
                bits = 0xffffffff;
                missing = 0;
            } else if (later != 0) {
                verdict = 2;
            }
        }
        if (verdict == 0) {
            bit<32> step = sequence - top;
            bit<32> lost = 0;
            if (step == 0 || step >= 0x80000000) {
                bit<32> age = top - sequence;
                if (age >= 32) {
                    verdict = 2;
                } else {
                    bit<32> one = (bit<32>) 1 << (bit<8>) age;
                    if ((bits & one) != 0) {
                        verdict = 1;
                    }
                    bits = bits | one;
                }
            } else {
                // Numbers that have not arrived and pass the tolerance now; `lost` counts their bits.
                bit<32> bears = (bit<32>) tolerance;
                bit<8> by = (bit<8>) step;
                if (step > bears) {
                    by = tolerance;
                    lost = step - bears;
                }
                bit<64> moved = (bit<64>) (~bits & near) << by;
                bit<32> passed = (bit<32>) (moved >> tolerance);
                passed = passed - ((passed >> 1) & 0x55555555);
                passed = (passed & 0x33333333) + ((passed >> 2) & 0x33333333);
                passed = (passed + (passed >> 4)) & 0x0f0f0f0f;
                passed = passed + (passed >> 8);
                passed = passed + (passed >> 16);
                lost = lost + (passed & 0x3f);
                if (step >= 32) {
                    bits = 1;
                } else {
                    bits = (bits << (bit<8>) step) | 1;
                }
                top = sequence;
                missing = missing + (bit<16>) lost;
            }
            if (verdict == 0 && (ask == 1 || lost != 0)) {
                reports = 1;
                generation = of_now;
                sequence = top;
                gaps = missing;
            }
        }

        generations.write(edge, of_now);
        highest.write(edge, top);
        seen.write(edge, bits);
        gaps_now.write(edge, missing);
    }
}
