// The data plane of the policy `shard`: from a flow's shard to the device that serves it.
//
// EDGES: sites that hand-overs leave for. DEVICES: the most devices of one. SHARDS: all shards together. PORTS: size of the table of ports. PORT_BITS: as in hand-overs.

#if V1MODEL_VERSION >= 20200408
#define REGISTER(T) register<T, bit<32>>
#else
#define REGISTER(T) register<T>
#endif

// `leaves` is 0 where no device serves the shard.
control Shard(in bit<16> edge, in bit<16> shard, out bit<1> leaves, out bit<PORT_BITS> port) {
    // Bit n: the device with the number n takes no packets. A port that goes down can set it without the controller, which clears it.
    REGISTER(bit<DEVICES>)(EDGES) down;

    bit<DEVICES> serves = 0;
    bit<DEVICES> is_spare = 0;

    action miss() {}
    // One bit each, or none.
    action serve(bit<DEVICES> primary, bit<DEVICES> backup) {
        serves = primary;
        is_spare = backup;
    }
    // Written by the controller where shards move.
    table map {
        key = { edge: exact; shard: exact; }
        actions = { serve; miss; }
        const default_action = miss();
        size = SHARDS;
    }
    action forward(bit<PORT_BITS> to) {
        port = to;
        leaves = 1;
    }
    table port_of {
        key = { edge: exact; serves: exact; }
        actions = { forward; miss; }
        const default_action = miss();
        size = PORTS;
    }

    apply {
        leaves = 0;
        port = 0;
        map.apply();
        bit<DEVICES> is_down;
        down.read(is_down, (bit<32>)edge);
        if (is_down & serves != 0) {
            serves = is_spare;
        }
        if (is_down & serves == 0) {
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
    Shard() shard;
    apply {
        bit<1> yes = 0;
        bit<PORT_BITS> port = 0;
        shard.apply(0, 0, yes, port);
    }
}
control Out(inout headers h, inout metadata m, inout standard_metadata_t s) { apply {} }
control Checksum(inout headers h, inout metadata m) { apply {} }
control D(packet_out p, in headers h) { apply {} }
V1Switch(P(), Checksum(), In(), Out(), Checksum(), D()) main;
