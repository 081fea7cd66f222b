#include <core.p4>
#include <v1model.p4>

struct v1model_headers {}

// Fields of the list accompany a packet that is cloned, resubmitted or recirculated.
struct v1model_metadata {
    @field_list(0) bit<8>  step;
    @field_list(0) bit<9>  port;
    @field_list(0) bit<48> arrived;
    @field_list(0) bit<8>  left;
    @field_list(0) bit<8>  to;
    @field_list(0) bit<9>  unicast;
    @field_list(0) bit<16> group_a;
    @field_list(0) bit<16> group_b;
    @field_list(0) bit<1>  bypass;
    @field_list(0) bit<7>  queue;
    @field_list(0) bit<3>  class;
    @field_list(0) bit<3>  cpu_class;
    @field_list(0) bit<16> replica;
    @field_list(0) bit<19> enqueue_depth;
    @field_list(0) bit<19> dequeue_depth;
    @field_list(0) bit<32> enqueued;
    @field_list(0) bit<32> waited;
    @field_list(0) bit<1>  again;
    @field_list(0) bit<RESUBMITTED> resubmitted;
    @field_list(0) bit<8>  mirror;
    @field_list(0) bit<MIRRORED> mirrored;
    bit<16> session;
    bit<1>  resubmits;
    bit<1>  copies_to_cpu;
    bit<3>  drop;
    bit<1>  refused;
    bit<1>  unpacked;
    bit<8>  color;
}

// The traffic manager: mirror, resubmission, and the destinations that are left. Bits of `left`: processor, unicast port, two groups.
control Manage(inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.left = 0;
        meta.to = 0;
        if (meta.mirror != 0 && meta.drop[2:2] == 0) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)meta.session, 0);
        }
        if (meta.drop[0:0] == 0 && meta.resubmits == 1) {
            meta.step = 0;
            meta.again = 1;
            resubmit_preserving_field_list(0);
        } else {
            if (meta.copies_to_cpu == 1 && meta.drop[1:1] == 0) { meta.left = 1; }
            if (meta.drop[0:0] == 0) {
                if (meta.unicast != 511) { meta.left = meta.left | 2; }
                if (meta.group_a != 0) { meta.left = meta.left | 4; }
                if (meta.group_b != 0) { meta.left = meta.left | 8; }
            }
            if (meta.left == 0) {
                mark_to_drop(standard_metadata);
            } else if (meta.left & (meta.left - 1) == 0) {
                meta.to = meta.left;
                meta.left = 0;
            } else {
                standard_metadata.egress_spec = meta.port;
            }
        }
    }
}

// To the only destination.
control Send(inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.to == 1) {
            standard_metadata.egress_spec = CPU_PORT;
            meta.class = meta.cpu_class;
        } else if (meta.to == 2) {
            standard_metadata.egress_spec = meta.unicast;
        } else if (meta.to == 4) {
            standard_metadata.mcast_grp = meta.group_a;
        } else if (meta.to == 8) {
            standard_metadata.mcast_grp = meta.group_b;
        }
    }
}

// A packet that has not been in its egress yet. One with several destinations leaves a clone for all but the first.
control Leave(inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    apply {
        bool mirrored = standard_metadata.instance_type == 1 || standard_metadata.instance_type == 2 && meta.left == 0;
        if (!mirrored && meta.left != 0) {
            if (meta.left[0:0] == 1) { meta.to = 1; }
            else if (meta.left[1:1] == 1) { meta.to = 2; }
            else if (meta.left[2:2] == 1) { meta.to = 4; }
            else { meta.to = 8; }
            meta.left = meta.left ^ meta.to;
            if (meta.left != 0) {
                clone_preserving_field_list(CloneType.E2E, COPIES, 0);
            }
            meta.step = 3;
            recirculate_preserving_field_list(0);
        } else if (!mirrored && meta.bypass == 1) {
            if (standard_metadata.egress_port & 0x7f == BACK) {
                meta.port = standard_metadata.egress_port;
                meta.arrived = standard_metadata.egress_global_timestamp;
                meta.again = 0;
                meta.resubmitted = 0;
                meta.step = 2;
                recirculate_preserving_field_list(0);
            }
        } else {
            if (mirrored) {
                meta.queue = 0;
                meta.class = standard_metadata.priority;
            }
            meta.port = standard_metadata.egress_port;
            meta.replica = standard_metadata.egress_rid;
            meta.enqueue_depth = standard_metadata.enq_qdepth;
            meta.dequeue_depth = standard_metadata.deq_qdepth;
            meta.enqueued = standard_metadata.enq_timestamp;
            meta.waited = standard_metadata.deq_timedelta;
            meta.left = 0;
            meta.step = 1;
            recirculate_preserving_field_list(0);
        }
    }
}

// A packet that has been in its egress.
control Finish(inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.mirror != 0 && meta.drop[2:2] == 0) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>)meta.session, 0);
        }
        if (meta.drop[0:0] == 1) {
            mark_to_drop(standard_metadata);
        } else if (meta.port & 0x7f == BACK) {
            meta.arrived = standard_metadata.egress_global_timestamp;
            meta.again = 0;
            meta.resubmitted = 0;
            meta.step = 2;
            recirculate_preserving_field_list(0);
        }
    }
}

parser ConvertedParser(packet_in packet, out v1model_headers hdr, inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    state start { transition accept; }
}

control NoChecksum(inout v1model_headers hdr, inout v1model_metadata meta) {
    apply {}
}

control ConvertedIngress(inout v1model_headers hdr, inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    Manage() manage;
    Send() send;
    apply {
        manage.apply(meta, standard_metadata);
        send.apply(meta, standard_metadata);
        mark_to_drop(standard_metadata);
    }
}

control ConvertedEgress(inout v1model_headers hdr, inout v1model_metadata meta, inout standard_metadata_t standard_metadata) {
    Leave() leave;
    Finish() finish;
    apply {
        leave.apply(meta, standard_metadata);
        finish.apply(meta, standard_metadata);
    }
}

control ConvertedDeparser(packet_out packet, in v1model_headers hdr) {
    apply {}
}

// Declares what the converted program may use.
control Uses(inout v1model_headers hdr, inout v1model_metadata meta) {
    register<bit<32>>(1) a_register;
    counter(1, CounterType.packets) a_counter;
    direct_counter(CounterType.packets) a_direct_counter;
    meter(1, MeterType.packets) a_meter;
    direct_meter<bit<8>>(MeterType.packets) a_direct_meter;
    action_profile(1) a_profile;
    action_selector(HashAlgorithm.crc16, 1, 1) a_selector;
    action mark() {
        bit<8> color;
        a_direct_meter.read(color);
    }
    table counted { key = { meta.port : exact; } actions = { NoAction; } counters = a_direct_counter; implementation = a_profile; }
    table metered { key = { meta.port : exact; } actions = { mark; NoAction; } meters = a_direct_meter; }
    table selected { key = { meta.port : exact; meta.left : selector; } actions = { NoAction; } implementation = a_selector; }
    apply {
        bit<32> word;
        bit<8> color;
        a_register.read(word, 0);
        a_counter.count(0);
        a_meter.execute_meter(0, color);
        hash(word, HashAlgorithm.crc32, 32w0, {word}, 64w1);
        random(word, 0, 1);
        digest<bit<32>>(1, word);
        counted.apply();
        metered.apply();
        selected.apply();
    }
}

V1Switch(ConvertedParser(), NoChecksum(), ConvertedIngress(), ConvertedEgress(), Uses(), ConvertedDeparser()) main;
