// The data plane of the policy `shard` without replicas: from a flow's shard to the device that serves it.
//
// DEVICES: the most devices of a site. SHARDS: all shards together. PORTS: size of the table of ports. PORT_BITS: as in hand-overs.

// `leaves` is 0 where no device serves the shard.
control Shard(in bit<16> edge, in bit<16> shard, out bit<1> leaves, out bit<PORT_BITS> port) {
    bit<DEVICES> serves = 0;

    action miss() {}
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
    // One bit.
    action serve(bit<DEVICES> device) {
        serves = device;
    }
    table map {
        key = { edge: exact; shard: exact; }
        actions = { serve; miss; }
        const default_action = miss();
        size = SHARDS;
    }

    apply {
        leaves = 0;
        port = 0;
        if (map.apply().hit) {
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
