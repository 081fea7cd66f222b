// The data plane of the policy `group` (docs/internals/groups.md): from a flow to the server of the group that has it.
//
// ROWS: buckets of all groups together. BLOCKS: leased blocks of all groups together. PINS: the most pinned flows. MEMBERS: of all groups. FLOW_BITS: of a flow. ALL_BITS: the same as whole words of 32
// bits. MIX_ALL: `h = h + word; MIX` for each word, the lowest first. PORT_BITS: as in hand-overs.

// A step of Jenkins' hash `one_at_a_time`, for a word.
#define MIX h = h + (h << 10); h = h ^ (h >> 6);

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
    // Both written by the group's controller.
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
            h = h + (h << 3);
            h = h ^ (h >> 11);
            h = h + (h << 15);
            bucket = (bit<16>) h & mask;
#if BLOCKS > 0
            if (block != 0) {
                leased = 1;
                leases.apply();
            } else
#endif
            if (!pins.apply().hit) {
                rows.apply();
            }
        }
        if (to != 0) {
            port_of.apply();
        }
    }
}

// A program, so that the control can be compiled. Nothing else of it is used.
struct headers {}
struct metadata {}
parser P(packet_in p, out headers h, inout metadata m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control In(inout headers h, inout metadata m, inout standard_metadata_t s) {
    Group() group;
    apply {
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
