// Key-value pairs reduced on their path: 4 lanes, 2048 slots a lane, 8 channels, add.
// Written by p4rack.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8>  PROTO_UDP = 17;
const bit<16> AGG_PORT = 42606;
const bit<4>  VERSION = 3;
const bit<4>  FORMAT = 5;

const bit<4>  DATA = 1;
const bit<4>  ACK = 2;
const bit<4>  OVERFLOW = 3;
const bit<4>  END = 4;
const bit<4>  ENDACK = 5;
const bit<4>  OPEN = 6;
const bit<4>  OPENED = 7;
const bit<4>  CLOSE = 8;
const bit<4>  CLOSED = 9;
const bit<4>  READ = 10;
const bit<4>  READREPLY = 11;
const bit<4>  CLEAR = 12;
const bit<4>  CLEARED = 13;
const bit<4>  BOOT = 14;
const bit<4>  START = 15;
const bit<4>  ADD = 0;

// Slots of each lane, in two banks for each job; rows of a bank.
const bit<32> SLOTS = 2048;
const bit<32> ROWS = 1024;
// Packets that are remembered, and packets of each channel among them.
const bit<32> CELLS = 512;
const bit<32> WINDOW = 64;
const bit<32> BANKS = 2;
// Clone session of the copies of requests; its port may be any.
const bit<32> COPIES = 1;
// Limit on the rows of a READ or CLEAR; UDP length up to which a packet has room for another row.
const bit<32> MOST_ROWS = 256;
const bit<16> MOST_LENGTH = 1439;
// Packets in a queue from which on packets are marked (ECN).
const bit<19> MARK_AT = 64;

// What the lanes do with a packet.
const bit<2> NOTHING = 0;
const bit<2> FOLD = 1;
const bit<2> FETCH = 2;
const bit<2> EMPTY = 3;

typedef bit<48>  mac_t;
typedef bit<32>  ipv4_t;
typedef bit<9>   port_t;
typedef bit<32> tag_t;
typedef bit<32> map_t;

header ethernet_t {
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    ipv4_t  src_addr;
    ipv4_t  dst_addr;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> len;
    bit<16> checksum;
}

header agg_h {
    bit<4>  version;
    bit<4>  type;
    bit<4>  op;
    bit<4>  format;
    bit<16> job;
    bit<32> generation;
    bit<16> boot;
    bit<16> channel;
    bit<32> seq;
    bit<32> valid;
    bit<32> aux;
}

header lane_h {
    bit<16> index;
    tag_t   tag;
    bit<32> value;
}

// The map of a row that was read before; its pairs follow.
header row_h {
    bit<8> valid;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
    lane_h     lane_0;
    lane_h     lane_1;
    lane_h     lane_2;
    lane_h     lane_3;
    row_h      row;
}

struct metadata_t {
    // From the tables.
    bit<16> boot;
    bit<16> number;
    port_t  reducer_port;
    // Another switch folds what this one leaves.
    bit<1>  has_parent;
    bit<32> bank;
    bit<32> first_slot;
    bit<32> first_cell;
    // Lanes that travel on, and how many they are.
    map_t   map;
    bit<16> pairs;
    // The packet has another row to read or to empty.
    bit<1>  again;
    // Rows of a request for several answers that its copy goes on with.
    @field_list(1)
    bit<32> rest;
}

// The request of a packet to all lanes.
struct task_t {
    bit<2>  what;
    bit<4>  op;
    // The bank's first slot in each lane, and the row to fetch or empty.
    bit<32> first_slot;
    bit<32> row;
    // The packet's place among those that are remembered.
    bit<32> cell;
}

parser AggParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, 0, PROTO_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            AGG_PORT: parse_agg;
            default: accept;
        }
    }

    state parse_agg {
        packet.extract(hdr.agg);
        transition select(hdr.agg.type) {
            DATA: has_0;
            default: accept;
        }
    }

    state has_0 { transition select(hdr.agg.valid[0:0]) { 1: lane_0; default: has_1; } }
    state lane_0 { packet.extract(hdr.lane_0); transition has_1; }
    state has_1 { transition select(hdr.agg.valid[1:1]) { 1: lane_1; default: has_2; } }
    state lane_1 { packet.extract(hdr.lane_1); transition has_2; }
    state has_2 { transition select(hdr.agg.valid[2:2]) { 1: lane_2; default: has_3; } }
    state lane_2 { packet.extract(hdr.lane_2); transition has_3; }
    state has_3 { transition select(hdr.agg.valid[3:3]) { 1: lane_3; default: accept; } }
    state lane_3 { packet.extract(hdr.lane_3); transition accept; }
}

// One lane: an array of slots, a tag and a value each. The tag 0 is an empty slot.
control Lane(inout lane_h lane, in task_t task, out bit<1> sent) {
    register<bit<64>, bit<32>>(SLOTS) slots;
    bit<64> pair;
    tag_t tag;
    bit<32> at;
    bit<32> held;

    apply {
        sent = 0;
        if (task.what == FOLD) {
            if (lane.isValid()) {
                at = task.first_slot + ((bit<32>)lane.index & (ROWS - 1));
                slots.read(pair, at);
                tag = pair[63:32];
                held = pair[31:0];
                if (tag == 0) {
                    slots.write(at, lane.tag ++ lane.value);
                } else if (tag == lane.tag) {
                    if (task.op == ADD) { held = held + lane.value; }
                    slots.write(at, lane.tag ++ held);
                } else {
                    sent = 1;
                }
            }
        } else if (task.what == FETCH) {
            slots.read(pair, task.first_slot + task.row);
            tag = pair[63:32];
            held = pair[31:0];
            if (tag != 0) {
                lane.setValid();
                lane.index = (bit<16>)task.row;
                lane.tag = tag;
                lane.value = held;
                sent = 1;
            }
        } else if (task.what == EMPTY) {
            slots.write(task.first_slot + task.row, 32w0 ++ 32w0);
        }
    }
}

// Of four lanes, those in `kept` stay in the packet. One action for each set: all validity bits stand in one container of a
// pipeline, so that two actions on them take two stages.
control Quad(inout lane_h a, inout lane_h b, inout lane_h c, inout lane_h d, in bit<4> kept, inout bit<16> pairs) {
    action keep_0() { a.setInvalid(); b.setInvalid(); c.setInvalid(); d.setInvalid(); }
    action keep_1() { b.setInvalid(); c.setInvalid(); d.setInvalid(); pairs = pairs + 1; }
    action keep_2() { a.setInvalid(); c.setInvalid(); d.setInvalid(); pairs = pairs + 1; }
    action keep_3() { c.setInvalid(); d.setInvalid(); pairs = pairs + 2; }
    action keep_4() { a.setInvalid(); b.setInvalid(); d.setInvalid(); pairs = pairs + 1; }
    action keep_5() { b.setInvalid(); d.setInvalid(); pairs = pairs + 2; }
    action keep_6() { a.setInvalid(); d.setInvalid(); pairs = pairs + 2; }
    action keep_7() { d.setInvalid(); pairs = pairs + 3; }
    action keep_8() { a.setInvalid(); b.setInvalid(); c.setInvalid(); pairs = pairs + 1; }
    action keep_9() { b.setInvalid(); c.setInvalid(); pairs = pairs + 2; }
    action keep_10() { a.setInvalid(); c.setInvalid(); pairs = pairs + 2; }
    action keep_11() { c.setInvalid(); pairs = pairs + 3; }
    action keep_12() { a.setInvalid(); b.setInvalid(); pairs = pairs + 2; }
    action keep_13() { b.setInvalid(); pairs = pairs + 3; }
    action keep_14() { a.setInvalid(); pairs = pairs + 3; }
    action keep_15() { pairs = pairs + 4; }

    table leave {
        key = { kept: exact; }
        actions = { keep_0; keep_1; keep_2; keep_3; keep_4; keep_5; keep_6; keep_7; keep_8; keep_9; keep_10; keep_11; keep_12; keep_13; keep_14; keep_15; }
        const default_action = keep_15();
        const entries = {
            0: keep_0();
            1: keep_1();
            2: keep_2();
            3: keep_3();
            4: keep_4();
            5: keep_5();
            6: keep_6();
            7: keep_7();
            8: keep_8();
            9: keep_9();
            10: keep_10();
            11: keep_11();
            12: keep_12();
            13: keep_13();
            14: keep_14();
            15: keep_15();
        }
    }

    apply {
        leave.apply();
    }
}

control AggIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    register<bit<32>, bit<32>>(BANKS) generations;
    register<bit<1>, bit<32>>(BANKS) opens;
    register<bit<32>, bit<32>>(CELLS) cells;
    register<map_t, bit<32>>(CELLS) overflows;
    // Packets from ports that no job plans, and packets that make no sense.
    counter<bit<32>>(1, CounterType.packets) refused;
    Lane() fold_0;
    Lane() fold_1;
    Lane() fold_2;
    Lane() fold_3;
    Quad() quad_0;

    task_t task;
    bit<32> generation;
    bit<1>  is_open;
    bit<32> cell;
    bit<1> sent_0;
    bit<1> sent_1;
    bit<1> sent_2;
    bit<1> sent_3;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action refuse() {
        refused.count(0);
        drop();
    }

    // A device adds its earlier starts to `boot`: what the registers hold does not outlive one.
    @boot_number("boot")
    action serve(bit<16> boot, bit<16> number, port_t reducer_port, bit<1> has_parent, bit<32> first_bank, bit<32> first_slot) {
        meta.boot = boot;
        meta.number = number;
        meta.reducer_port = reducer_port;
        meta.has_parent = has_parent;
        meta.bank = first_bank + (bit<32>)hdr.agg.generation[0:0];
        meta.first_slot = first_slot + (hdr.agg.generation[0:0] == 1 ? ROWS : 0);
    }

    // The boot number of a job's entry counts the starts of the switch.
    table jobs {
        key = { hdr.agg.job: exact; }
        actions = { serve; NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    action accept_from(bit<32> first_cell) {
        meta.first_cell = first_cell;
    }

    table senders {
        key = { standard_metadata.ingress_port: exact; hdr.agg.job: exact; hdr.agg.type: exact; hdr.agg.channel: exact; }
        actions = { accept_from; refuse; }
        const default_action = refuse();
        size = 8;
    }

    action forward(port_t port, mac_t next_hop) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst_addr = next_hop;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; }
        const default_action = drop();
        size = 1024;
    }

    // `length`: without the pairs.
    action set_length(bit<16> length) {
        hdr.udp.len = length + meta.pairs * 10;
        hdr.ipv4.total_len = 20 + hdr.udp.len;
        hdr.udp.checksum = 0;
    }

    // The packet goes back to its sender.
    action turn() {
        standard_metadata.egress_spec = standard_metadata.ingress_port;
        mac_t mac = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
        hdr.ethernet.src_addr = mac;
        ipv4_t address = hdr.ipv4.dst_addr;
        hdr.ipv4.dst_addr = hdr.ipv4.src_addr;
        hdr.ipv4.src_addr = address;
        bit<16> port = hdr.udp.dst_port;
        hdr.udp.dst_port = hdr.udp.src_port;
        hdr.udp.src_port = port;
    }

    // The packet did not fit the state of the switch.
    action report_boot() {
        hdr.agg.type = BOOT;
        hdr.agg.boot = meta.boot;
        hdr.agg.channel = meta.number;
    }

    apply {
        if (standard_metadata.checksum_error == 1 || standard_metadata.parser_error != error.NoError) {
            refuse();
            return;
        }
        bool is_asked = hdr.agg.isValid() && (hdr.agg.type == OPEN || hdr.agg.type == CLOSE || hdr.agg.type == READ || hdr.agg.type == CLEAR);
        bool is_data = hdr.agg.isValid() && hdr.agg.type == DATA;
        // Ordinary traffic, packets between hosts, and requests to other switches of the job only pass.
        bool is_ours = false;
        if ((is_asked || is_data) && jobs.apply().hit) {
            if (hdr.agg.version != VERSION || hdr.agg.format != FORMAT || hdr.agg.op != ADD || is_data && hdr.agg.valid[31:4] != 0) {
                refuse();
                return;
            }
            is_ours = is_data || hdr.agg.channel == meta.number;
        }
        if (is_ours && is_data && senders.apply().miss) {
            return;
        }
        if (is_ours) {
            generations.read(generation, meta.bank);
            opens.read(is_open, meta.bank);
            bit<32> row = hdr.agg.seq + (bit<32>)hdr.agg.aux[31:16];
            task = { NOTHING, hdr.agg.op, meta.first_slot, row & (ROWS - 1), 0 };
            // The packet comes back with the rows that it has read.
            bool is_again = standard_metadata.instance_type == 4;
            bit<16> length = 32;
            meta.map = 0;
            meta.pairs = 0;
            bool is_new = false;
            bool is_folded = false;
            if (is_data) {
                if (generation != hdr.agg.generation || is_open == 0) {
                    report_boot();
                } else {
                    task.cell = meta.first_cell + (hdr.agg.seq & (WINDOW - 1));
                    cells.read(cell, task.cell);
                    if (hdr.agg.seq < cell) {
                        drop();
                        return;
                    }
                    if (hdr.agg.seq > cell) {
                        cells.write(task.cell, hdr.agg.seq);
                        task.what = FOLD;
                        is_new = true;
                    } else {
                        overflows.read(meta.map, task.cell);
                        is_folded = meta.map == 0;
                        meta.map = meta.map & (hdr.agg.valid);
                    }
                }
            } else {
                if (!is_again && standard_metadata.ingress_port != meta.reducer_port) {
                    refuse();
                    return;
                }
                if (is_again && (hdr.agg.boot != meta.boot || generation != hdr.agg.generation)) {
                    drop();
                    return;
                }
                if (hdr.agg.boot != meta.boot) {
                    // A reducer that does not know the switch learns the last generation of the bank.
                    if (hdr.agg.type == OPEN) {
                        hdr.agg.seq = generation;
                    }
                    report_boot();
                } else if (hdr.agg.type == OPEN) {
                    if (hdr.agg.generation < generation) {
                        drop();
                        return;
                    }
                    if (hdr.agg.generation > generation) {
                        generations.write(meta.bank, hdr.agg.generation);
                        opens.write(meta.bank, 1);
                    }
                    hdr.agg.type = OPENED;
                } else if (generation != hdr.agg.generation) {
                    report_boot();
                } else if (hdr.agg.type == CLOSE) {
                    opens.write(meta.bank, 0);
                    hdr.agg.type = CLOSED;
                } else if (is_open == 1) {
                    drop();
                    return;
                } else if (!is_again && (hdr.agg.aux == 0 || hdr.agg.aux > MOST_ROWS || hdr.agg.valid[31:16] != 0 || hdr.agg.type == CLEAR && hdr.agg.valid != 0)) {
                    drop();
                    return;
                } else if (hdr.agg.type == READ) {
                    if (hdr.agg.aux[31:16] == 0) {
                        // Nothing is read yet. `valid`: rows of an answer; a copy of the request goes on with the others.
                        if (hdr.agg.valid != 0 && hdr.agg.aux > hdr.agg.valid) {
                            meta.rest = hdr.agg.aux - hdr.agg.valid;
                            hdr.agg.aux = hdr.agg.valid;
                        }
                        hdr.agg.valid = 0;
                    }
                    if (meta.rest == 0) {
                        task.what = FETCH;
                    }
                } else {
                    task.what = EMPTY;
                }
            }
            fold_0.apply(hdr.lane_0, task, sent_0);
            fold_1.apply(hdr.lane_1, task, sent_1);
            fold_2.apply(hdr.lane_2, task, sent_2);
            fold_3.apply(hdr.lane_3, task, sent_3);
            if (task.what == FOLD || task.what == FETCH) {
                meta.map = (map_t)(sent_3 ++ sent_2 ++ sent_1 ++ sent_0);
            }
            if (is_new) {
                overflows.write(task.cell, meta.map);
                is_folded = meta.map == 0;
            }
            if (task.what == FETCH) {
                if (is_again) {
                    length = hdr.udp.len;
                }
                if (meta.map != 0) {
                    if (hdr.agg.valid != 0) {
                        hdr.row.setValid();
                        hdr.row = { hdr.agg.valid[7:0] };
                        length = length + 1;
                    }
                    hdr.agg.valid = meta.map;
                }
            } else {
                hdr.agg.valid = meta.map;
            }
            bool is_stream = hdr.agg.type == DATA;
            // The mapper sends what is left past the switches.
            bool is_answer = is_stream && (is_folded || meta.has_parent == 0);
            if (is_answer) {
                // The mapper has the lanes that are left.
                meta.map = 0;
            }
            quad_0.apply(hdr.lane_0, hdr.lane_1, hdr.lane_2, hdr.lane_3, meta.map[3:0], meta.pairs);
            set_length(length);
            if (is_asked) {
                if (meta.rest != 0) {
                    standard_metadata.egress_spec = meta.reducer_port;
                    return;
                }
                if (task.what != NOTHING) {
                    hdr.agg.aux = hdr.agg.aux + 0x10000;
                    if (hdr.agg.aux[31:16] < hdr.agg.aux[15:0] && hdr.udp.len <= MOST_LENGTH) {
                        meta.again = 1;
                        standard_metadata.egress_spec = meta.reducer_port;
                        return;
                    }
                    hdr.agg.type = task.what == FETCH ? READREPLY : CLEARED;
                }
                turn();
                // A packet that has come back has no ingress port.
                standard_metadata.egress_spec = meta.reducer_port;
                return;
            }
            if (is_answer) {
                hdr.agg.type = ACK;
                hdr.agg.aux = hdr.ipv4.ecn == 3 ? 32w1 : 0;
                turn();
                return;
            }
            if (is_stream) {
                hdr.agg.type = OVERFLOW;
            }
        }
        // The only place of this table: BMv2 cannot apply a table at two places of a path.
        if (hdr.ipv4.isValid()) {
            routes.apply();
        } else {
            drop();
        }
    }
}

control AggVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control AggEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ecn != 0 && standard_metadata.enq_qdepth >= MARK_AT) {
            hdr.ipv4.ecn = 3;
        }
        // A request for several answers comes back for the first one, and its copy for the rows after those.
        if (meta.rest != 0) {
            if (standard_metadata.instance_type == 2) {
                hdr.agg.valid = hdr.agg.aux;
                hdr.agg.seq = hdr.agg.seq + hdr.agg.aux;
                hdr.agg.aux = meta.rest;
            } else {
                clone_preserving_field_list(CloneType.E2E, COPIES, 1);
            }
            meta.again = 1;
        }
        if (meta.again == 1) {
            recirculate_preserving_field_list(0);
        }
    }
}

control AggCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control AggDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.agg);
        packet.emit(hdr.lane_0);
        packet.emit(hdr.lane_1);
        packet.emit(hdr.lane_2);
        packet.emit(hdr.lane_3);
        packet.emit(hdr.row);
    }
}

V1Switch(AggParser(), AggVerify(), AggIngress(), AggEgress(), AggCompute(), AggDeparser()) main;
