// Key-value pairs reduced on their path: 4 lanes, 2048 slots a lane, 8 channels, add, max.
// Written by p4rack.

#include <core.p4>
#include <tna.p4>

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
const bit<4>  MAX = 1;

// Slots of each lane, in two banks for each job; rows of a bank.
const bit<32> SLOTS = 2048;
const bit<32> ROWS = 1024;
// Packets that are remembered, and packets of each channel among them.
const bit<32> CELLS = 512;
const bit<32> WINDOW = 64;
const bit<32> BANKS = 2;
// Mirror session of the copies of requests; its port is AROUND, by which packets come around.
const bit<10> COPIES = 1;
const bit<9>  AROUND = 68;
// UDP length up to which a packet has room for another row.
const bit<16> MOST_LENGTH = 1439;
// Cells of a queue, of 80 bytes each, from which on packets are marked (ECN).
const bit<32> MARK_AT = 64;

// Kinds of packets. Those that only pass:
typedef bit<8> kind_t;
const kind_t PASSES = 0;
// Streams of pairs: DATA, what another switch has left, and a row of another switch.
const kind_t IS_DATA = 1;
const kind_t IS_LEFT = 2;
const kind_t IS_ROW = 3;
// Requests. A long READ asks for several answers, a half one for the values of a row whose tags it has.
const kind_t IS_OPEN = 4;
const kind_t IS_CLOSE = 5;
const kind_t IS_READ = 6;
const kind_t IS_LONG = 7;
const kind_t IS_HALF = 8;
const kind_t IS_CLEAR = 9;
// A request for no rows, or for too many.
const kind_t IS_WRONG = 10;
// A packet that makes no sense to its job; a damaged one.
const kind_t IS_BAD = 11;
const kind_t IS_DAMAGED = 12;
// Another boot number, another port, a bank that has changed on the way.
const kind_t MISFITS = 13;
const kind_t REFUSED = 14;
const kind_t DROPPED = 15;

// Tasks of lanes, and ways of a packet.
typedef bit<8> task_t;
const task_t GO_ON = 0;
const task_t FOLD = 1;
const task_t FOLD_ROW = 2;
const task_t FETCH_TAGS = 3;
const task_t FETCH_VALUES = 4;
const task_t EMPTY = 5;
const task_t SPLIT = 6;
const task_t REPORT = 7;
const task_t REPORT_BACK = 8;
const task_t ANSWER_OPEN = 9;
const task_t ANSWER_CLOSE = 10;
const task_t ANSWER_READ = 11;
const task_t ANSWER_CLEAR = 12;
const task_t REFUSE = 13;
const task_t DROP = 14;

// The bank of a packet: of another generation, closed, or open.
typedef bit<8> bank_t;
const bank_t OTHER = 0;
const bank_t SHUT = 1;
const bank_t FREE = 2;

// The number of a packet: before that in its cell, the same, or after it.
typedef bit<8> age_t;
const age_t OLD = 0;
const age_t SAME = 1;
const age_t NEW = 2;

// Lanes that stay in a packet.
typedef bit<8> keep_t;
const keep_t KEEP_ALL = 0;
const keep_t KEEP_MAP = 1;
const keep_t KEEP_NONE = 2;

// Steps of egress, and reasons why a packet comes around: its next row, or the values of a row.
typedef bit<8> step_t;
const step_t PLAIN = 0;
const step_t ON = 1;
const step_t BACK = 2;
const step_t NEXT_ROW = 3;
const step_t VALUES = 4;
const step_t TWO_WAYS = 5;
// The first byte of a mirrored packet.
const step_t COPY = 6;

typedef bit<48>  mac_t;
typedef bit<32>  ipv4_t;
typedef bit<9>   port_t;
typedef bit<32>  tag_t;
typedef bit<32>  map_t;

// From ingress to egress, and before packets that come around.
header bridge_h {
    step_t  step;
    // Rows of a request for several answers that its copy goes on with.
    bit<16> rest;
}

header copy_h {
    step_t step;
}

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
    // The halves of `aux`: of a request for rows, those that were read, and all.
    bit<16> read;
    bit<16> count;
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
    bridge_h   bridge;
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
    // The step of a packet that comes around.
    step_t  around;
    // The checksum of IPv4 is wrong.
    bit<1>  damaged;
    // From the tables.
    bit<1>  is_served;
    bit<1>  is_planned;
    bit<1>  is_routed;
    bit<16> boot;
    bit<16> number;
    port_t  reducer_port;
    port_t  next_port;
    mac_t   next_hop;
    // Another switch folds what this one leaves.
    bit<1>  has_parent;
    bit<32> first_bank;
    bit<32> first_slot;
    bit<32> first_cell;
    // Differences from what the job has; 0 if there are none.
    bit<16> other_boot;
    bit<16> other_number;
    bit<9>  other_port;
    // The lowest byte of the generation.
    bit<8>  parity;
    // The row that lanes fetch or empty; whether rows are left, whether the packet is too long for another one.
    bit<16> row;
    bit<16> left;
    bit<16> excess;
    // Rows of a request beyond its first answer.
    bit<16> rest;
    kind_t  kind;
    bank_t  bank;
    age_t   age;
    task_t  task;
    keep_t  keep;
    // Lanes whose pairs travel on, and those of the first copy of the packet.
    map_t   sent;
    map_t   map;
    bit<1>  sent_0;
    bit<1>  sent_1;
    bit<1>  sent_2;
    bit<1>  sent_3;
}

parser AggParser(packet_in packet,
                 out headers_t hdr,
                 out metadata_t meta,
                 out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() sum;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
        transition select(ig_intr_md.ingress_port) {
            AROUND: parse_bridge;
            default: parse_ethernet;
        }
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
        meta.around = hdr.bridge.step;
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        sum.add(hdr.ipv4);
        meta.damaged = (bit<1>)sum.verify();
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0 &&& 1, 0, PROTO_UDP): parse_udp;
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
        meta.parity = hdr.agg.generation[7:0];
        transition select(meta.around, hdr.agg.type) {
            (PLAIN, DATA): has_0;
            (VALUES, READ): tag_0;
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

    // A row with the tags of all lanes; the tag 0 is an empty slot.
    state tag_0 { transition select(packet.lookahead<bit<48>>()[31:0]) { 0: empty_0; default: full_0; } }
    state empty_0 { packet.advance(80); transition tag_1; }
    state full_0 { packet.extract(hdr.lane_0); meta.sent_0 = 1; transition tag_1; }
    state tag_1 { transition select(packet.lookahead<bit<48>>()[31:0]) { 0: empty_1; default: full_1; } }
    state empty_1 { packet.advance(80); transition tag_2; }
    state full_1 { packet.extract(hdr.lane_1); meta.sent_1 = 1; transition tag_2; }
    state tag_2 { transition select(packet.lookahead<bit<48>>()[31:0]) { 0: empty_2; default: full_2; } }
    state empty_2 { packet.advance(80); transition tag_3; }
    state full_2 { packet.extract(hdr.lane_2); meta.sent_2 = 1; transition tag_3; }
    state tag_3 { transition select(packet.lookahead<bit<48>>()[31:0]) { 0: empty_3; default: full_3; } }
    state empty_3 { packet.advance(80); transition accept; }
    state full_3 { packet.extract(hdr.lane_3); meta.sent_3 = 1; transition accept; }
}

struct pair_t {
    tag_t   tag;
    bit<32> value;
}

// One lane: an array of slots, a tag and a value each. The tag 0 is an empty slot.
control Lane(inout lane_h lane, in task_t task, in age_t age, in bit<4> op, in bit<32> first_slot, in bit<8> parity, inout bit<1> sent) {
    Register<pair_t, bit<32>>(SLOTS) slots;
    RegisterAction<pair_t, bit<32>, bit<1>>(slots) add_to_slot = {
        void apply(inout pair_t slot, out bit<1> misses) {
            if (slot.tag == 0) {
                slot.tag = lane.tag;
                slot.value = lane.value;
                misses = 0;
            } else if (slot.tag == lane.tag) {
                slot.value = slot.value + lane.value;
                misses = 0;
            } else {
                misses = 1;
            }
        }
    };
    RegisterAction<pair_t, bit<32>, bit<1>>(slots) max_to_slot = {
        void apply(inout pair_t slot, out bit<1> misses) {
            if (slot.tag == 0) {
                slot.tag = lane.tag;
                slot.value = lane.value;
                misses = 0;
            } else if (slot.tag == lane.tag) {
                slot.value = max(slot.value, lane.value);
                misses = 0;
            } else {
                misses = 1;
            }
        }
    };
    // A lane with the value 1 empties the slot.
    RegisterAction<pair_t, bit<32>, tag_t>(slots) tag_of_slot = {
        void apply(inout pair_t slot, out tag_t tag) {
            tag = slot.tag;
            if (lane.value == 1) {
                slot.tag = 0;
            }
        }
    };
    RegisterAction<pair_t, bit<32>, bit<32>>(slots) value_of_slot = {
        void apply(inout pair_t slot, out bit<32> value) {
            value = slot.value;
        }
    };

    action fold_add() { sent = add_to_slot.execute(first_slot[31:11] ++ parity[0:0] ++ lane.index[9:0]); }
    action fold_max() { sent = max_to_slot.execute(first_slot[31:11] ++ parity[0:0] ++ lane.index[9:0]); }
    action fetch_tag() { lane.tag = tag_of_slot.execute(first_slot[31:11] ++ parity[0:0] ++ lane.index[9:0]); }
    action fetch_value() { lane.value = value_of_slot.execute(first_slot[31:11] ++ parity[0:0] ++ lane.index[9:0]); }

    table visits {
        key = {
            task: ternary;
            age: ternary;
            op: ternary;
            lane.isValid(): ternary;
        }
        actions = { fold_add; fold_max; fetch_tag; fetch_value; NoAction; }
        const default_action = NoAction();
        const entries = {
            (FOLD, NEW, ADD, true): fold_add();
            (FOLD, NEW, MAX, true): fold_max();
            (FETCH_TAGS, _, _, _): fetch_tag();
            (EMPTY, _, _, _): fetch_tag();
            (FETCH_VALUES, _, _, true): fetch_value();
        }
        size = 5;
    }

    apply {
        visits.apply();
    }
}

// Of two lanes, those in `kept` stay in the packet.
control Two(inout lane_h one, inout lane_h other, in keep_t keep, in bit<2> kept) {
    action neither() { one.setInvalid(); other.setInvalid(); }
    action only_one() { other.setInvalid(); }
    action only_other() { one.setInvalid(); }

    table leave {
        key = { keep: exact; kept: exact; }
        actions = { neither; only_one; only_other; NoAction; }
        const default_action = NoAction();
        const entries = {
            (KEEP_NONE, 0): neither();
            (KEEP_NONE, 1): neither();
            (KEEP_NONE, 2): neither();
            (KEEP_NONE, 3): neither();
            (KEEP_MAP, 0): neither();
            (KEEP_MAP, 1): only_one();
            (KEEP_MAP, 2): only_other();
        }
        size = 7;
    }

    apply {
        leave.apply();
    }
}

struct held_t {
    bit<32> generation;
    bit<32> is_open;
}

control AggIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   in ingress_intrinsic_metadata_t ig_intr_md,
                   in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<held_t, bit<32>>(BANKS) banks;
    Register<bit<32>, bit<32>>(CELLS) cells;
    Register<map_t, bit<32>>(CELLS) overflows;
    // Packets from ports that no job plans, and packets that make no sense.
    Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) refused;
    Hash<map_t>(HashAlgorithm_t.IDENTITY) joined;
    Lane() fold_0;
    Lane() fold_1;
    Lane() fold_2;
    Lane() fold_3;
    Two() two_0;
    Two() two_1;

    RegisterAction<held_t, bit<32>, bank_t>(banks) look = {
        void apply(inout held_t held, out bank_t found) {
            if (held.generation != hdr.agg.generation) {
                found = OTHER;
            } else if (held.is_open == 0) {
                found = SHUT;
            } else {
                found = FREE;
            }
        }
    };
    RegisterAction<held_t, bit<32>, bank_t>(banks) open = {
        void apply(inout held_t held, out bank_t found) {
            if (held.generation < hdr.agg.generation) {
                held.generation = hdr.agg.generation;
                held.is_open = 1;
                found = FREE;
            } else if (held.generation == hdr.agg.generation) {
                found = FREE;
            } else {
                found = OTHER;
            }
        }
    };
    RegisterAction<held_t, bit<32>, bank_t>(banks) close = {
        void apply(inout held_t held, out bank_t found) {
            if (held.generation == hdr.agg.generation) {
                held.is_open = 0;
                found = SHUT;
            } else {
                found = OTHER;
            }
        }
    };
    RegisterAction<held_t, bit<32>, bit<32>>(banks) show = {
        void apply(inout held_t held, out bit<32> generation) {
            generation = held.generation;
        }
    };
    RegisterAction<bit<32>, bit<32>, age_t>(cells) number = {
        void apply(inout bit<32> cell, out age_t age) {
            if (hdr.agg.seq > cell) {
                cell = hdr.agg.seq;
                age = NEW;
            } else if (hdr.agg.seq == cell) {
                age = SAME;
            } else {
                age = OLD;
            }
        }
    };
    RegisterAction<map_t, bit<32>, map_t>(overflows) new_map = {
        void apply(inout map_t map, out map_t result) {
            map = meta.sent;
            result = map;
        }
    };
    RegisterAction<map_t, bit<32>, map_t>(overflows) old_map = {
        void apply(inout map_t map, out map_t result) {
            result = map;
        }
    };

    // A device adds its earlier starts to `boot`: what the registers hold does not outlive one.
    @boot_number("boot")
    action serve(bit<16> boot, bit<16> number, port_t reducer_port, bit<1> has_parent, bit<32> first_bank, bit<32> first_slot) {
        meta.is_served = 1;
        meta.boot = boot;
        meta.number = number;
        meta.reducer_port = reducer_port;
        meta.has_parent = has_parent;
        meta.first_bank = first_bank;
        meta.first_slot = first_slot;
        meta.other_boot = boot ^ hdr.agg.boot;
        meta.other_number = number ^ hdr.agg.channel;
        meta.other_port = reducer_port ^ ig_intr_md.ingress_port;
    }

    // The boot number of a job's entry counts the starts of the switch.
    table jobs {
        key = { hdr.agg.job: exact; }
        actions = { serve; NoAction; }
        const default_action = NoAction();
        size = 1;
    }

    action accept_from(bit<32> first_cell) {
        meta.is_planned = 1;
        meta.first_cell = first_cell;
    }

    table senders {
        key = {
            ig_intr_md.ingress_port: exact @name("standard_metadata.ingress_port");
            hdr.agg.job: exact;
            hdr.agg.type: exact;
            hdr.agg.channel: exact;
        }
        actions = { accept_from; NoAction; }
        const default_action = NoAction();
        size = 8;
    }

    action forward(port_t port, mac_t next_hop) {
        meta.is_routed = 1;
        meta.next_port = port;
        meta.next_hop = next_hop;
    }

    action drop() {
        meta.is_routed = 0;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; }
        const default_action = drop();
        size = 1024;
    }

    action is(kind_t kind) {
        meta.kind = kind;
    }

    // Requests for rows are for 1 to 256 of them.
    table kinds {
        key = {
            hdr.agg.isValid(): ternary;
            ig_prsr_md.parser_err: ternary;
            meta.damaged: ternary;
            meta.around: ternary;
            hdr.agg.version: ternary;
            hdr.agg.type: ternary;
            hdr.agg.op: ternary;
            hdr.agg.format: ternary;
            hdr.agg.valid: ternary;
            hdr.agg.read: ternary;
            hdr.agg.count: ternary;
        }
        actions = { is; }
        const default_action = is(IS_DAMAGED);
        const entries = {
            (true, 0, 0, _, VERSION, DATA, ADD, FORMAT, 0 &&& 0xfffffff0, _, _): is(IS_DATA);
            (true, 0, 0, _, VERSION, OPEN, ADD, FORMAT, _, _, _): is(IS_OPEN);
            (true, 0, 0, _, VERSION, CLOSE, ADD, FORMAT, _, _, _): is(IS_CLOSE);
            (true, 0, 0, PLAIN, VERSION, READ, ADD, FORMAT, _, _, 0): is(IS_WRONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, ADD, FORMAT, _, _, 0): is(IS_WRONG);
            (true, 0, 0, PLAIN, VERSION, READ, ADD, FORMAT, 0, 0, 256): is(IS_READ);
            (true, 0, 0, PLAIN, VERSION, READ, ADD, FORMAT, 0 &&& 0xffff0000, 0, 256): is(IS_LONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, ADD, FORMAT, 0, 0, 256): is(IS_CLEAR);
            (true, 0, 0, PLAIN, VERSION, READ, ADD, FORMAT, 0, 0, 0 &&& 0xff00): is(IS_READ);
            (true, 0, 0, PLAIN, VERSION, READ, ADD, FORMAT, 0 &&& 0xffff0000, 0, 0 &&& 0xff00): is(IS_LONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, ADD, FORMAT, 0, 0, 0 &&& 0xff00): is(IS_CLEAR);
            (true, 0, 0, PLAIN, VERSION, READ, ADD, FORMAT, _, _, _): is(IS_WRONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, ADD, FORMAT, _, _, _): is(IS_WRONG);
            (true, 0, 0, VALUES, VERSION, READ, ADD, FORMAT, _, _, _): is(IS_HALF);
            (true, 0, 0, _, VERSION, READ, ADD, FORMAT, 0, _, _): is(IS_READ);
            (true, 0, 0, _, VERSION, READ, ADD, FORMAT, _, 0, _): is(IS_LONG);
            (true, 0, 0, _, VERSION, READ, ADD, FORMAT, _, _, _): is(IS_READ);
            (true, 0, 0, _, VERSION, CLEAR, ADD, FORMAT, _, _, _): is(IS_CLEAR);
            (true, 0, 0, _, VERSION, DATA, MAX, FORMAT, 0 &&& 0xfffffff0, _, _): is(IS_DATA);
            (true, 0, 0, _, VERSION, OPEN, MAX, FORMAT, _, _, _): is(IS_OPEN);
            (true, 0, 0, _, VERSION, CLOSE, MAX, FORMAT, _, _, _): is(IS_CLOSE);
            (true, 0, 0, PLAIN, VERSION, READ, MAX, FORMAT, _, _, 0): is(IS_WRONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, MAX, FORMAT, _, _, 0): is(IS_WRONG);
            (true, 0, 0, PLAIN, VERSION, READ, MAX, FORMAT, 0, 0, 256): is(IS_READ);
            (true, 0, 0, PLAIN, VERSION, READ, MAX, FORMAT, 0 &&& 0xffff0000, 0, 256): is(IS_LONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, MAX, FORMAT, 0, 0, 256): is(IS_CLEAR);
            (true, 0, 0, PLAIN, VERSION, READ, MAX, FORMAT, 0, 0, 0 &&& 0xff00): is(IS_READ);
            (true, 0, 0, PLAIN, VERSION, READ, MAX, FORMAT, 0 &&& 0xffff0000, 0, 0 &&& 0xff00): is(IS_LONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, MAX, FORMAT, 0, 0, 0 &&& 0xff00): is(IS_CLEAR);
            (true, 0, 0, PLAIN, VERSION, READ, MAX, FORMAT, _, _, _): is(IS_WRONG);
            (true, 0, 0, PLAIN, VERSION, CLEAR, MAX, FORMAT, _, _, _): is(IS_WRONG);
            (true, 0, 0, VALUES, VERSION, READ, MAX, FORMAT, _, _, _): is(IS_HALF);
            (true, 0, 0, _, VERSION, READ, MAX, FORMAT, 0, _, _): is(IS_READ);
            (true, 0, 0, _, VERSION, READ, MAX, FORMAT, _, 0, _): is(IS_LONG);
            (true, 0, 0, _, VERSION, READ, MAX, FORMAT, _, _, _): is(IS_READ);
            (true, 0, 0, _, VERSION, CLEAR, MAX, FORMAT, _, _, _): is(IS_CLEAR);
            (true, 0, 0, _, _, DATA, _, _, _, _, _): is(IS_BAD);
            (true, 0, 0, _, _, OPEN, _, _, _, _, _): is(IS_BAD);
            (true, 0, 0, _, _, CLOSE, _, _, _, _, _): is(IS_BAD);
            (true, 0, 0, _, _, READ, _, _, _, _, _): is(IS_BAD);
            (true, 0, 0, _, _, CLEAR, _, _, _, _, _): is(IS_BAD);
            (_, 0, 0, _, _, _, _, _, _, _, _): is(PASSES);
        }
        size = 42;
    }

    action pass() { meta.kind = PASSES; }
    action refuse() { meta.kind = REFUSED; }
    action give_up() { meta.kind = DROPPED; }
    action misfit() { meta.kind = MISFITS; }
    // A reducer that does not know the switch learns the last generation of the bank.
    action show_bank() {
        meta.kind = MISFITS;
        hdr.agg.seq = show.execute(meta.first_bank[31:1] ++ meta.parity[0:0]);
    }
    action look_at_bank() { meta.bank = look.execute(meta.first_bank[31:1] ++ meta.parity[0:0]); }
    action open_bank() { meta.bank = open.execute(meta.first_bank[31:1] ++ meta.parity[0:0]); }
    action close_bank() { meta.bank = close.execute(meta.first_bank[31:1] ++ meta.parity[0:0]); }

    // Requests name the switch; they come from the reducer, with the right boot number.
    table requests {
        key = {
            meta.kind: ternary;
            meta.is_served: ternary;
            meta.is_planned: ternary;
            meta.around: ternary;
            meta.other_boot: ternary;
            meta.other_number: ternary;
            meta.other_port: ternary;
        }
        actions = { pass; refuse; give_up; misfit; show_bank; look_at_bank; open_bank; close_bank; }
        const default_action = pass();
        const entries = {
            (IS_DAMAGED, _, _, _, _, _, _): refuse();
            (_, 0, _, _, _, _, _): pass();
            (PASSES, _, _, _, _, _, _): pass();
            (IS_BAD, _, _, _, _, _, _): refuse();
            (IS_DATA, _, 1, _, _, _, _): look_at_bank();
            (IS_DATA, _, _, _, _, _, _): refuse();
            (IS_OPEN, _, _, PLAIN, 0, 0, 0): open_bank();
            (IS_CLOSE, _, _, PLAIN, 0, 0, 0): close_bank();
            (_, _, _, PLAIN, 0, 0, 0): look_at_bank();
            (IS_OPEN, _, _, PLAIN, _, 0, 0): show_bank();
            (_, _, _, PLAIN, _, 0, 0): misfit();
            (_, _, _, PLAIN, _, 0, _): refuse();
            (_, _, _, _, 0, 0, _): look_at_bank();
            (_, _, _, _, _, 0, _): give_up();
        }
        size = 14;
    }

    action read_row() {
        hdr.lane_0.setValid();
        hdr.lane_0.index = meta.row;
        hdr.lane_0.value = 0;
        hdr.lane_1.setValid();
        hdr.lane_1.index = meta.row;
        hdr.lane_1.value = 0;
        hdr.lane_2.setValid();
        hdr.lane_2.index = meta.row;
        hdr.lane_2.value = 0;
        hdr.lane_3.setValid();
        hdr.lane_3.index = meta.row;
        hdr.lane_3.value = 0;
    }

    action clear_row() {
        hdr.lane_0.setValid();
        hdr.lane_0.index = meta.row;
        hdr.lane_0.value = 1;
        hdr.lane_1.setValid();
        hdr.lane_1.index = meta.row;
        hdr.lane_1.value = 1;
        hdr.lane_2.setValid();
        hdr.lane_2.index = meta.row;
        hdr.lane_2.value = 1;
        hdr.lane_3.setValid();
        hdr.lane_3.index = meta.row;
        hdr.lane_3.value = 1;
    }

    // Requests bring no lanes.
    table rows {
        key = { meta.kind: exact; }
        actions = { read_row; clear_row; NoAction; }
        const default_action = NoAction();
        const entries = {
            IS_READ: read_row();
            IS_LONG: read_row();
            IS_CLEAR: clear_row();
        }
        size = 3;
    }

    action compare() { meta.age = number.execute(meta.first_cell[31:6] ++ hdr.agg.seq[5:0]); }

    table numbers {
        key = {
            meta.kind: ternary;
            meta.bank: ternary;
        }
        actions = { compare; NoAction; }
        const default_action = NoAction();
        const entries = {
            (IS_DATA, FREE): compare();
        }
        size = 1;
    }

    action plan(task_t task, keep_t keep) {
        meta.task = task;
        meta.keep = keep;
    }

    // Nothing is read yet, and `valid` is no map.
    action fetch_first() {
        meta.task = FETCH_TAGS;
        meta.keep = KEEP_ALL;
        hdr.agg.valid = 0;
    }

    table plans {
        key = {
            meta.kind: ternary;
            meta.bank: ternary;
            meta.around: ternary;
            meta.left: ternary;
            meta.excess: ternary;
            meta.rest: ternary;
            meta.has_parent: ternary;
        }
        actions = { plan; fetch_first; }
        const default_action = plan(DROP, KEEP_ALL);
        const entries = {
            (PASSES, _, _, _, _, _, _): plan(GO_ON, KEEP_ALL);
            (REFUSED, _, _, _, _, _, _): plan(REFUSE, KEEP_ALL);
            (DROPPED, _, _, _, _, _, _): plan(DROP, KEEP_ALL);
            (MISFITS, _, _, _, _, _, _): plan(REPORT_BACK, KEEP_NONE);
            (IS_DATA, FREE, _, _, _, _, 1): plan(FOLD, KEEP_MAP);
            (IS_DATA, FREE, _, _, _, _, _): plan(FOLD, KEEP_NONE);
            (IS_DATA, _, _, _, _, _, _): plan(REPORT, KEEP_NONE);
            (IS_OPEN, FREE, _, _, _, _, _): plan(ANSWER_OPEN, KEEP_NONE);
            (IS_OPEN, _, _, _, _, _, _): plan(DROP, KEEP_ALL);
            (_, FREE, _, _, _, _, _): plan(DROP, KEEP_ALL);
            (_, OTHER, PLAIN, _, _, _, _): plan(REPORT_BACK, KEEP_NONE);
            (_, OTHER, _, _, _, _, _): plan(DROP, KEEP_ALL);
            (IS_CLOSE, _, _, _, _, _, _): plan(ANSWER_CLOSE, KEEP_NONE);
            (IS_HALF, _, _, _, _, _, _): plan(FETCH_VALUES, KEEP_ALL);
            (IS_LONG, _, _, _, _, 0, _): fetch_first();
            (IS_LONG, _, _, _, _, _, _): plan(SPLIT, KEEP_NONE);
            (IS_READ, _, _, 0, _, _, _): plan(ANSWER_READ, KEEP_NONE);
            (IS_READ, _, _, _, 0, _, _): plan(FETCH_TAGS, KEEP_ALL);
            (IS_READ, _, _, _, _, _, _): plan(ANSWER_READ, KEEP_NONE);
            (IS_CLEAR, _, _, 0, _, _, _): plan(ANSWER_CLEAR, KEEP_NONE);
            (IS_CLEAR, _, _, _, _, _, _): plan(EMPTY, KEEP_NONE);
        }
        size = 21;
    }

    action keep_map() { meta.map = new_map.execute(meta.first_cell[31:6] ++ hdr.agg.seq[5:0]); }
    action take_map() { meta.map = old_map.execute(meta.first_cell[31:6] ++ hdr.agg.seq[5:0]); }

    // Duplicates of a packet get the map of the first copy.
    table maps {
        key = {
            meta.task: ternary;
            meta.age: ternary;
        }
        actions = { keep_map; take_map; NoAction; }
        const default_action = NoAction();
        const entries = {
            (FOLD, NEW): keep_map();
            (FOLD, SAME): take_map();
        }
        size = 2;
    }

    action first_row() {
        hdr.agg.valid = meta.sent;
    }

    action next_row() {
        hdr.row.setValid();
        hdr.row.valid = hdr.agg.valid[7:0];
        hdr.agg.valid = meta.sent;
    }

    // The pairs of a row come before those of earlier rows; an empty row adds nothing.
    table joins {
        key = { meta.task: ternary; meta.sent: ternary; hdr.agg.valid: ternary; }
        actions = { first_row; next_row; NoAction; }
        const default_action = NoAction();
        const entries = {
            (FETCH_VALUES, 0, _): NoAction();
            (FETCH_VALUES, _, 0): first_row();
            (FETCH_VALUES, _, _): next_row();
        }
        size = 3;
    }

    action drop_it() {
        ig_dprsr_md.drop_ctl = 1;
    }

    action refuse_it() {
        refused.count(0);
        ig_dprsr_md.drop_ctl = 1;
    }

    action send_on(step_t step) {
        hdr.bridge.step = step;
        ig_tm_md.ucast_egress_port = meta.next_port;
        hdr.ethernet.dst_addr = meta.next_hop;
    }

    action go_on() {
        send_on(PLAIN);
    }

    // The packet did not fit the state of the switch.
    action report() {
        send_on(ON);
        hdr.agg.type = BOOT;
        hdr.agg.boot = meta.boot;
        hdr.agg.channel = meta.number;
        hdr.agg.valid = 0;
    }

    action answer(bit<4> type) {
        hdr.bridge.step = BACK;
        ig_tm_md.ucast_egress_port = meta.reducer_port;
        hdr.agg.type = type;
    }

    action answer_empty(bit<4> type) {
        answer(type);
        hdr.agg.valid = 0;
    }

    action report_back() {
        answer_empty(BOOT);
        hdr.agg.boot = meta.boot;
        hdr.agg.channel = meta.number;
    }

    action acknowledge(bit<16> is_marked) {
        hdr.bridge.step = BACK;
        ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;
        hdr.agg.type = ACK;
        hdr.agg.valid = hdr.agg.valid & meta.map;
        hdr.agg.read = 0;
        hdr.agg.count = is_marked;
    }

    action leave_pairs(bit<4> type) {
        send_on(ON);
        hdr.agg.type = type;
        hdr.agg.valid = hdr.agg.valid & meta.map;
    }

    action come_for_values() {
        hdr.bridge.step = VALUES;
        ig_tm_md.ucast_egress_port = AROUND;
    }

    action come_for_rows() {
        hdr.bridge.step = NEXT_ROW;
        ig_tm_md.ucast_egress_port = AROUND;
        hdr.agg.read = hdr.agg.read + 1;
    }

    // A READ for several answers: `valid` is the number of rows of one.
    action split() {
        hdr.bridge.step = TWO_WAYS;
        hdr.bridge.rest = meta.rest;
        ig_tm_md.ucast_egress_port = AROUND;
        hdr.agg.count = hdr.agg.valid[15:0];
        hdr.agg.valid = 0;
    }

    table ends {
        key = {
            meta.task: ternary;
            meta.age: ternary;
            meta.map: ternary;
            meta.has_parent: ternary;
            meta.is_routed: ternary;
            hdr.ipv4.ecn: ternary;
        }
        actions = { drop_it; refuse_it; go_on; report; report_back; acknowledge; leave_pairs; answer; answer_empty; come_for_values; come_for_rows; split; }
        const default_action = drop_it();
        const entries = {
            (GO_ON, _, _, _, 1, _): go_on();
            (REPORT, _, _, _, 1, _): report();
            (REPORT_BACK, _, _, _, _, _): report_back();
            (FOLD, OLD, _, _, _, _): drop_it();
            (FOLD, _, 0, _, _, 3): acknowledge(1);
            (FOLD, _, 0, _, _, _): acknowledge(0);
            (FOLD, _, _, 0, _, 3): acknowledge(1);
            (FOLD, _, _, 0, _, _): acknowledge(0);
            (FOLD, _, _, _, 1, _): leave_pairs(OVERFLOW);
            (ANSWER_OPEN, _, _, _, _, _): answer_empty(OPENED);
            (ANSWER_CLOSE, _, _, _, _, _): answer_empty(CLOSED);
            (ANSWER_READ, _, _, _, _, _): answer(READREPLY);
            (ANSWER_CLEAR, _, _, _, _, _): answer_empty(CLEARED);
            (FETCH_TAGS, _, _, _, _, _): come_for_values();
            (FETCH_VALUES, _, _, _, _, _): come_for_rows();
            (EMPTY, _, _, _, _, _): come_for_rows();
            (SPLIT, _, _, _, _, _): split();
            (REFUSE, _, _, _, _, _): refuse_it();
        }
        size = 18;
    }

    apply {
        hdr.bridge.setValid();
        meta.row = (hdr.agg.seq[15:0] + hdr.agg.read) & (bit<16>)(ROWS - 1);
        meta.left = hdr.agg.read ^ hdr.agg.count;
        meta.excess = hdr.udp.len |-| MOST_LENGTH;
        meta.rest = hdr.agg.count |-| hdr.agg.valid[15:0];
        if (hdr.agg.isValid()) {
            jobs.apply();
            senders.apply();
        }
        if (hdr.ipv4.isValid()) {
            routes.apply();
        }
        kinds.apply();
        requests.apply();
        rows.apply();
        numbers.apply();
        plans.apply();
        fold_0.apply(hdr.lane_0, meta.task, meta.age, hdr.agg.op, meta.first_slot, meta.parity, meta.sent_0);
        fold_1.apply(hdr.lane_1, meta.task, meta.age, hdr.agg.op, meta.first_slot, meta.parity, meta.sent_1);
        fold_2.apply(hdr.lane_2, meta.task, meta.age, hdr.agg.op, meta.first_slot, meta.parity, meta.sent_2);
        fold_3.apply(hdr.lane_3, meta.task, meta.age, hdr.agg.op, meta.first_slot, meta.parity, meta.sent_3);
        meta.sent = joined.get({ meta.sent_3, meta.sent_2, meta.sent_1, meta.sent_0 });
        maps.apply();
        joins.apply();
        two_0.apply(hdr.lane_0, hdr.lane_1, meta.keep, meta.map[1:0]);
        two_1.apply(hdr.lane_2, hdr.lane_3, meta.keep, meta.map[3:2]);
        ends.apply();
    }
}

control AggDeparser(packet_out packet,
                    inout headers_t hdr,
                    in metadata_t meta,
                    in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        packet.emit(hdr.bridge);
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

struct egress_headers_t {
    copy_h     copy;
    bridge_h   bridge;
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
}

struct egress_metadata_t {
    bit<10> session;
    // The first byte of a copy: the open compiler takes no constant there.
    step_t  first;
    bit<32> excess;
}

parser AggEgressParser(packet_in packet,
                       out egress_headers_t hdr,
                       out egress_metadata_t meta,
                       out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        meta = { 0, 0, 0 };
        transition select(packet.lookahead<step_t>()) {
            COPY: parse_copy;
            default: parse_bridge;
        }
    }

    state parse_copy {
        packet.extract(hdr.copy);
        transition parse_bridge;
    }

    state parse_bridge {
        packet.extract(hdr.bridge);
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.bridge.step) {
            PLAIN: accept;
            default: parse_agg;
        }
    }

    state parse_agg {
        packet.extract(hdr.udp);
        packet.extract(hdr.agg);
        transition accept;
    }
}

control AggEgress(inout egress_headers_t hdr,
                  inout egress_metadata_t meta,
                  in egress_intrinsic_metadata_t eg_intr_md,
                  in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
                  inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
                  inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    // The length of the packet counts the bridge.
    action set_length() {
        hdr.ipv4.total_len = eg_intr_md.pkt_length - 17;
        hdr.udp.len = eg_intr_md.pkt_length - 37;
        hdr.udp.checksum = 0;
    }

    action leave() {
        hdr.bridge.setInvalid();
    }

    action leave_shorter() {
        set_length();
        hdr.bridge.setInvalid();
    }

    // The packet goes back to its sender.
    action turn() {
        set_length();
        hdr.bridge.setInvalid();
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

    // A request for several answers comes around for the first one.
    action mirror() {
        hdr.bridge.step = NEXT_ROW;
        eg_dprsr_md.mirror_type = 1;
        meta.session = COPIES;
        meta.first = COPY;
    }

    // Its copy comes around for the rows after those.
    action shift() {
        hdr.copy.setInvalid();
        hdr.agg.valid = 16w0 ++ hdr.agg.count;
        hdr.agg.seq = hdr.agg.seq + (bit<32>)hdr.agg.count;
        hdr.agg.count = hdr.bridge.rest;
    }

    table steps {
        key = { hdr.copy.isValid(): exact; hdr.bridge.step: exact; }
        actions = { leave; leave_shorter; turn; set_length; mirror; shift; NoAction; }
        const default_action = NoAction();
        const entries = {
            (false, PLAIN): leave();
            (false, ON): leave_shorter();
            (false, BACK): turn();
            (false, NEXT_ROW): set_length();
            (false, VALUES): set_length();
            (false, TWO_WAYS): mirror();
            (true, NEXT_ROW): shift();
        }
        size = 7;
    }

    apply {
        steps.apply();
        meta.excess = (bit<32>)eg_intr_md.enq_qdepth |-| (MARK_AT - 1);
        if (hdr.ipv4.isValid() && hdr.ipv4.ecn != 0 && meta.excess != 0) {
            hdr.ipv4.ecn = 3;
        }
    }
}

control AggEgressDeparser(packet_out packet,
                          inout egress_headers_t hdr,
                          in egress_metadata_t meta,
                          in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    Checksum() sum;
    Mirror(1) copies;

    apply {
        hdr.ipv4.hdr_checksum = sum.update({
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
            hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr
        });
        if (eg_dprsr_md.mirror_type == 1) {
            copies.emit<copy_h>(meta.session, { meta.first });
        }
        packet.emit(hdr.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.agg);
    }
}

Pipeline(AggParser(), AggIngress(), AggDeparser(), AggEgressParser(), AggEgress(), AggEgressDeparser()) pipe;
Switch(pipe) main;
