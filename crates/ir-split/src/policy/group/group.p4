// The data plane of the policy `group` (docs/internals/groups.md): from a flow to the server of the group that has it.
//
// NUMBERS: 1 if calls are numbered. CELL_BITS: of the index into an array of a filter, 0 without filters. ALL_CELLS: of such an array for all groups. GROUPS: groups. ROWS: buckets of all groups together. BLOCKS: leased blocks of all groups together. PINS: the most pinned flows. MEMBERS: of all groups. FLOW_BITS: of a flow. ALL_BITS: the same as whole words of 32
// bits. MIX_ALL: `h = h + word; MIX` for each word, the lowest first. PORT_BITS: as in hand-overs.

// A step of Jenkins' hash `one_at_a_time`, for a word, and its last one.
#define MIX h = h + (h << 10); h = h ^ (h >> 6);
#define MIX_LAST h = h + (h << 3); h = h ^ (h >> 11); h = h + (h << 15);

#if NUMBERS || CELL_BITS > 0
#if V1MODEL_VERSION >= 20200408
#define REGISTER(T) register<T, bit<32>>
#else
#define REGISTER(T) register<T>
#endif
#endif

// `block`: the leased block that the packet belongs to, or 0. Frames to the server that has its lease are marked by `leased`; no other server knows
// anything of the block.
// `mask`: the number of buckets, a power of two, less 1. A hand-over of the program has `to` 0 and gets its server. A frame from one server to another, or of the controller, has its receiver
// and passes. `leaves` is 0 where no server is known.
control Group(in bit<16> edge, in bit<16> mask, in bit<FLOW_BITS> flow,
#if BLOCKS > 0
              in bit<16> block, inout bit<1> leased,
#endif
              inout bit<8> to, inout bit<8> other, inout bit<16> bucket, out bit<1> leaves, out bit<PORT_BITS> port) {
    action miss() {}
    // Members by their number plus 1. `previous` is 0 if there is none.
    action use(bit<8> current, bit<8> previous) {
        to = current;
        other = previous;
    }
    // All tables but `port_of` are written by the group's controller.
    table pins {
        key = { edge: exact; flow: exact; }
        actions = { use; miss; }
        const default_action = miss();
        size = PINS;
    }
    table rows {
        key = { edge: exact; bucket: exact; }
        actions = { use; miss; }
        const default_action = miss();
        size = ROWS;
    }
#if CELL_BITS > 0
    // CLIP's two Bloom filters, with one array for each of two hashes. A packet reads or writes each array once. The cells of a filter are those with its
    // mark. Marks are even and odd in turn.
    REGISTER(bit<16>)(ALL_CELLS) even_low;
    REGISTER(bit<16>)(ALL_CELLS) even_high;
    REGISTER(bit<16>)(ALL_CELLS) odd_low;
    REGISTER(bit<16>)(ALL_CELLS) odd_high;
    bit<16> newer = 0;
    bit<16> older = 0;
    action turn(bit<16> mark_of_current, bit<16> mark_of_older) {
        newer = mark_of_current;
        older = mark_of_older;
    }
    table roles {
        key = { edge: exact; }
        actions = { turn; miss; }
        const default_action = miss();
        size = GROUPS;
    }
#endif
#if BLOCKS > 0
    table leases {
        key = { edge: exact; block: exact; }
        actions = { use; miss; }
        const default_action = miss();
        size = BLOCKS;
    }
#endif
    action forward(bit<PORT_BITS> by) {
        port = by;
        leaves = 1;
    }
    table port_of {
        key = { edge: exact; to: exact; }
        actions = { forward; miss; }
        const default_action = miss();
        size = MEMBERS;
    }

    apply {
        leaves = 0;
        port = 0;
        if (to == 0) {
            bit<ALL_BITS> all = (bit<ALL_BITS>) flow;
            bit<32> h = 0;
            MIX_ALL
            MIX_LAST
            bucket = (bit<16>) h & mask;
#if BLOCKS > 0
            if (block != 0) {
                leased = 1;
                leases.apply();
            } else
#endif
            if (!pins.apply().hit) {
                rows.apply();
#if CELL_BITS > 0
                if (roles.apply().hit) {
                    h = h + 0x9E3779B9;
                    MIX
                    MIX_LAST
                    bit<32> first = (bit<32>) edge << CELL_BITS;
                    bit<32> low = first + (h & ((1 << CELL_BITS) - 1));
                    bit<32> high = first + (h >> (32 - CELL_BITS));
                    bit<16> at_low = 0;
                    bit<16> at_high = 0;
                    if (newer[0:0] == 0) {
                        even_low.write(low, newer);
                        even_high.write(high, newer);
                        odd_low.read(at_low, low);
                        odd_high.read(at_high, high);
                    } else {
                        odd_low.write(low, newer);
                        odd_high.write(high, newer);
                        even_low.read(at_low, low);
                        even_high.read(at_high, high);
                    }
                    if (at_low == older && at_high == older && other != 0) {
                        to = other;
                    }
                    // No server asks another one.
                    other = 0;
                }
#endif
            }
        }
        if (to != 0) {
            port_of.apply();
        }
    }
}

#if NUMBERS
// Calls that are out, by the lowest bits of their number. A number that is not out any more has come back before, or 65,536 calls ago.
// The first number follows from the time, so that numbers from before a restart do not come again: 16 calls a microsecond.
// `returns`: 0 gives the call a number, 1 looks whether its number is out.
control Calls(in bit<1> returns, in bit<48> now, inout bit<48> call, out bit<1> again) {
    REGISTER(bit<48>)(1) last;
    REGISTER(bit<48>)(65536) open;
    apply {
        again = 0;
        if (returns == 0) {
            last.read(call, 0);
            if (call == 0) {
                call = now << 4;
            }
            call = call + 1;
            if (call == 0) {
                call = 1;
            }
            last.write(0, call);
            open.write((bit<32>) call[15:0], call);
        } else {
            bit<48> known;
            open.read(known, (bit<32>) call[15:0]);
            if (known == call) {
                open.write((bit<32>) call[15:0], 0);
            } else {
                again = 1;
            }
        }
    }
}
#endif

// A program, so that the control can be compiled. Nothing else of it is used.
struct headers {}
struct metadata {}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Group() group;
#if NUMBERS
    Calls() calls;
#endif
    apply {
#if NUMBERS
        bit<48> call = 0;
        bit<1> again = 0;
        calls.apply(0, 0, call, again);
#endif
        bit<8> to = 0;
        bit<8> other = 0;
        bit<16> bucket = 0;
        bit<1> leaves = 0;
        bit<PORT_BITS> port = 0;
#if BLOCKS > 0
        bit<1> leased = 0;
        group.apply(0, 0, 0, 0, leased, to, other, bucket, leaves, port);
#else
        group.apply(0, 0, 0, to, other, bucket, leaves, port);
#endif
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Checksum(inout headers h, inout metadata m) { apply {} }
control D(packet_out p, in headers h) { apply {} }
V1Switch(P(), Checksum(), In(), Out(), Checksum(), D()) main;
