// Key-value pairs reduced on their path: 64 lanes, 128 slots a lane, 3 channels, add.
// Written by p4rack.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8>  PROTO_UDP = 17;
const bit<16> AGG_PORT = 42606;
const bit<4>  VERSION = 3;
const bit<4>  FORMAT = 4;

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
const bit<32> SLOTS = 128;
const bit<32> ROWS = 64;
// Packets that are remembered, and packets of each channel among them.
const bit<32> CELLS = 768;
const bit<32> WINDOW = 256;
const bit<32> BANKS = 2;
// Clone session of the copies of requests; its port may be any.
const bit<32> COPIES = 1;
// Limit on the rows of a READ or CLEAR; UDP length up to which a packet has room for another row.
const bit<32> MOST_ROWS = 256;
const bit<16> MOST_LENGTH = 64;
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
typedef bit<128> tag_t;
typedef bit<128> map_t;

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

header more_h {
    bit<96> valid;
}

header lane_h {
    bit<16> index;
    tag_t   tag;
    bit<32> value;
}

// The map of a row that was read before; its pairs follow.
header row_h {
    bit<32> valid;
    bit<32> more;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
    more_h     more;
    lane_h     lane_0;
    lane_h     lane_1;
    lane_h     lane_2;
    lane_h     lane_3;
    lane_h     lane_4;
    lane_h     lane_5;
    lane_h     lane_6;
    lane_h     lane_7;
    lane_h     lane_8;
    lane_h     lane_9;
    lane_h     lane_10;
    lane_h     lane_11;
    lane_h     lane_12;
    lane_h     lane_13;
    lane_h     lane_14;
    lane_h     lane_15;
    lane_h     lane_16;
    lane_h     lane_17;
    lane_h     lane_18;
    lane_h     lane_19;
    lane_h     lane_20;
    lane_h     lane_21;
    lane_h     lane_22;
    lane_h     lane_23;
    lane_h     lane_24;
    lane_h     lane_25;
    lane_h     lane_26;
    lane_h     lane_27;
    lane_h     lane_28;
    lane_h     lane_29;
    lane_h     lane_30;
    lane_h     lane_31;
    lane_h     lane_32;
    lane_h     lane_33;
    lane_h     lane_34;
    lane_h     lane_35;
    lane_h     lane_36;
    lane_h     lane_37;
    lane_h     lane_38;
    lane_h     lane_39;
    lane_h     lane_40;
    lane_h     lane_41;
    lane_h     lane_42;
    lane_h     lane_43;
    lane_h     lane_44;
    lane_h     lane_45;
    lane_h     lane_46;
    lane_h     lane_47;
    lane_h     lane_48;
    lane_h     lane_49;
    lane_h     lane_50;
    lane_h     lane_51;
    lane_h     lane_52;
    lane_h     lane_53;
    lane_h     lane_54;
    lane_h     lane_55;
    lane_h     lane_56;
    lane_h     lane_57;
    lane_h     lane_58;
    lane_h     lane_59;
    lane_h     lane_60;
    lane_h     lane_61;
    lane_h     lane_62;
    lane_h     lane_63;
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
        packet.extract(hdr.more);
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
    state has_3 { transition select(hdr.agg.valid[3:3]) { 1: lane_3; default: has_4; } }
    state lane_3 { packet.extract(hdr.lane_3); transition has_4; }
    state has_4 { transition select(hdr.agg.valid[4:4]) { 1: lane_4; default: has_5; } }
    state lane_4 { packet.extract(hdr.lane_4); transition has_5; }
    state has_5 { transition select(hdr.agg.valid[5:5]) { 1: lane_5; default: has_6; } }
    state lane_5 { packet.extract(hdr.lane_5); transition has_6; }
    state has_6 { transition select(hdr.agg.valid[6:6]) { 1: lane_6; default: has_7; } }
    state lane_6 { packet.extract(hdr.lane_6); transition has_7; }
    state has_7 { transition select(hdr.agg.valid[7:7]) { 1: lane_7; default: has_8; } }
    state lane_7 { packet.extract(hdr.lane_7); transition has_8; }
    state has_8 { transition select(hdr.agg.valid[8:8]) { 1: lane_8; default: has_9; } }
    state lane_8 { packet.extract(hdr.lane_8); transition has_9; }
    state has_9 { transition select(hdr.agg.valid[9:9]) { 1: lane_9; default: has_10; } }
    state lane_9 { packet.extract(hdr.lane_9); transition has_10; }
    state has_10 { transition select(hdr.agg.valid[10:10]) { 1: lane_10; default: has_11; } }
    state lane_10 { packet.extract(hdr.lane_10); transition has_11; }
    state has_11 { transition select(hdr.agg.valid[11:11]) { 1: lane_11; default: has_12; } }
    state lane_11 { packet.extract(hdr.lane_11); transition has_12; }
    state has_12 { transition select(hdr.agg.valid[12:12]) { 1: lane_12; default: has_13; } }
    state lane_12 { packet.extract(hdr.lane_12); transition has_13; }
    state has_13 { transition select(hdr.agg.valid[13:13]) { 1: lane_13; default: has_14; } }
    state lane_13 { packet.extract(hdr.lane_13); transition has_14; }
    state has_14 { transition select(hdr.agg.valid[14:14]) { 1: lane_14; default: has_15; } }
    state lane_14 { packet.extract(hdr.lane_14); transition has_15; }
    state has_15 { transition select(hdr.agg.valid[15:15]) { 1: lane_15; default: has_16; } }
    state lane_15 { packet.extract(hdr.lane_15); transition has_16; }
    state has_16 { transition select(hdr.agg.valid[16:16]) { 1: lane_16; default: has_17; } }
    state lane_16 { packet.extract(hdr.lane_16); transition has_17; }
    state has_17 { transition select(hdr.agg.valid[17:17]) { 1: lane_17; default: has_18; } }
    state lane_17 { packet.extract(hdr.lane_17); transition has_18; }
    state has_18 { transition select(hdr.agg.valid[18:18]) { 1: lane_18; default: has_19; } }
    state lane_18 { packet.extract(hdr.lane_18); transition has_19; }
    state has_19 { transition select(hdr.agg.valid[19:19]) { 1: lane_19; default: has_20; } }
    state lane_19 { packet.extract(hdr.lane_19); transition has_20; }
    state has_20 { transition select(hdr.agg.valid[20:20]) { 1: lane_20; default: has_21; } }
    state lane_20 { packet.extract(hdr.lane_20); transition has_21; }
    state has_21 { transition select(hdr.agg.valid[21:21]) { 1: lane_21; default: has_22; } }
    state lane_21 { packet.extract(hdr.lane_21); transition has_22; }
    state has_22 { transition select(hdr.agg.valid[22:22]) { 1: lane_22; default: has_23; } }
    state lane_22 { packet.extract(hdr.lane_22); transition has_23; }
    state has_23 { transition select(hdr.agg.valid[23:23]) { 1: lane_23; default: has_24; } }
    state lane_23 { packet.extract(hdr.lane_23); transition has_24; }
    state has_24 { transition select(hdr.agg.valid[24:24]) { 1: lane_24; default: has_25; } }
    state lane_24 { packet.extract(hdr.lane_24); transition has_25; }
    state has_25 { transition select(hdr.agg.valid[25:25]) { 1: lane_25; default: has_26; } }
    state lane_25 { packet.extract(hdr.lane_25); transition has_26; }
    state has_26 { transition select(hdr.agg.valid[26:26]) { 1: lane_26; default: has_27; } }
    state lane_26 { packet.extract(hdr.lane_26); transition has_27; }
    state has_27 { transition select(hdr.agg.valid[27:27]) { 1: lane_27; default: has_28; } }
    state lane_27 { packet.extract(hdr.lane_27); transition has_28; }
    state has_28 { transition select(hdr.agg.valid[28:28]) { 1: lane_28; default: has_29; } }
    state lane_28 { packet.extract(hdr.lane_28); transition has_29; }
    state has_29 { transition select(hdr.agg.valid[29:29]) { 1: lane_29; default: has_30; } }
    state lane_29 { packet.extract(hdr.lane_29); transition has_30; }
    state has_30 { transition select(hdr.agg.valid[30:30]) { 1: lane_30; default: has_31; } }
    state lane_30 { packet.extract(hdr.lane_30); transition has_31; }
    state has_31 { transition select(hdr.agg.valid[31:31]) { 1: lane_31; default: has_32; } }
    state lane_31 { packet.extract(hdr.lane_31); transition has_32; }
    state has_32 { transition select(hdr.more.valid[0:0]) { 1: lane_32; default: has_33; } }
    state lane_32 { packet.extract(hdr.lane_32); transition has_33; }
    state has_33 { transition select(hdr.more.valid[1:1]) { 1: lane_33; default: has_34; } }
    state lane_33 { packet.extract(hdr.lane_33); transition has_34; }
    state has_34 { transition select(hdr.more.valid[2:2]) { 1: lane_34; default: has_35; } }
    state lane_34 { packet.extract(hdr.lane_34); transition has_35; }
    state has_35 { transition select(hdr.more.valid[3:3]) { 1: lane_35; default: has_36; } }
    state lane_35 { packet.extract(hdr.lane_35); transition has_36; }
    state has_36 { transition select(hdr.more.valid[4:4]) { 1: lane_36; default: has_37; } }
    state lane_36 { packet.extract(hdr.lane_36); transition has_37; }
    state has_37 { transition select(hdr.more.valid[5:5]) { 1: lane_37; default: has_38; } }
    state lane_37 { packet.extract(hdr.lane_37); transition has_38; }
    state has_38 { transition select(hdr.more.valid[6:6]) { 1: lane_38; default: has_39; } }
    state lane_38 { packet.extract(hdr.lane_38); transition has_39; }
    state has_39 { transition select(hdr.more.valid[7:7]) { 1: lane_39; default: has_40; } }
    state lane_39 { packet.extract(hdr.lane_39); transition has_40; }
    state has_40 { transition select(hdr.more.valid[8:8]) { 1: lane_40; default: has_41; } }
    state lane_40 { packet.extract(hdr.lane_40); transition has_41; }
    state has_41 { transition select(hdr.more.valid[9:9]) { 1: lane_41; default: has_42; } }
    state lane_41 { packet.extract(hdr.lane_41); transition has_42; }
    state has_42 { transition select(hdr.more.valid[10:10]) { 1: lane_42; default: has_43; } }
    state lane_42 { packet.extract(hdr.lane_42); transition has_43; }
    state has_43 { transition select(hdr.more.valid[11:11]) { 1: lane_43; default: has_44; } }
    state lane_43 { packet.extract(hdr.lane_43); transition has_44; }
    state has_44 { transition select(hdr.more.valid[12:12]) { 1: lane_44; default: has_45; } }
    state lane_44 { packet.extract(hdr.lane_44); transition has_45; }
    state has_45 { transition select(hdr.more.valid[13:13]) { 1: lane_45; default: has_46; } }
    state lane_45 { packet.extract(hdr.lane_45); transition has_46; }
    state has_46 { transition select(hdr.more.valid[14:14]) { 1: lane_46; default: has_47; } }
    state lane_46 { packet.extract(hdr.lane_46); transition has_47; }
    state has_47 { transition select(hdr.more.valid[15:15]) { 1: lane_47; default: has_48; } }
    state lane_47 { packet.extract(hdr.lane_47); transition has_48; }
    state has_48 { transition select(hdr.more.valid[16:16]) { 1: lane_48; default: has_49; } }
    state lane_48 { packet.extract(hdr.lane_48); transition has_49; }
    state has_49 { transition select(hdr.more.valid[17:17]) { 1: lane_49; default: has_50; } }
    state lane_49 { packet.extract(hdr.lane_49); transition has_50; }
    state has_50 { transition select(hdr.more.valid[18:18]) { 1: lane_50; default: has_51; } }
    state lane_50 { packet.extract(hdr.lane_50); transition has_51; }
    state has_51 { transition select(hdr.more.valid[19:19]) { 1: lane_51; default: has_52; } }
    state lane_51 { packet.extract(hdr.lane_51); transition has_52; }
    state has_52 { transition select(hdr.more.valid[20:20]) { 1: lane_52; default: has_53; } }
    state lane_52 { packet.extract(hdr.lane_52); transition has_53; }
    state has_53 { transition select(hdr.more.valid[21:21]) { 1: lane_53; default: has_54; } }
    state lane_53 { packet.extract(hdr.lane_53); transition has_54; }
    state has_54 { transition select(hdr.more.valid[22:22]) { 1: lane_54; default: has_55; } }
    state lane_54 { packet.extract(hdr.lane_54); transition has_55; }
    state has_55 { transition select(hdr.more.valid[23:23]) { 1: lane_55; default: has_56; } }
    state lane_55 { packet.extract(hdr.lane_55); transition has_56; }
    state has_56 { transition select(hdr.more.valid[24:24]) { 1: lane_56; default: has_57; } }
    state lane_56 { packet.extract(hdr.lane_56); transition has_57; }
    state has_57 { transition select(hdr.more.valid[25:25]) { 1: lane_57; default: has_58; } }
    state lane_57 { packet.extract(hdr.lane_57); transition has_58; }
    state has_58 { transition select(hdr.more.valid[26:26]) { 1: lane_58; default: has_59; } }
    state lane_58 { packet.extract(hdr.lane_58); transition has_59; }
    state has_59 { transition select(hdr.more.valid[27:27]) { 1: lane_59; default: has_60; } }
    state lane_59 { packet.extract(hdr.lane_59); transition has_60; }
    state has_60 { transition select(hdr.more.valid[28:28]) { 1: lane_60; default: has_61; } }
    state lane_60 { packet.extract(hdr.lane_60); transition has_61; }
    state has_61 { transition select(hdr.more.valid[29:29]) { 1: lane_61; default: has_62; } }
    state lane_61 { packet.extract(hdr.lane_61); transition has_62; }
    state has_62 { transition select(hdr.more.valid[30:30]) { 1: lane_62; default: has_63; } }
    state lane_62 { packet.extract(hdr.lane_62); transition has_63; }
    state has_63 { transition select(hdr.more.valid[31:31]) { 1: lane_63; default: accept; } }
    state lane_63 { packet.extract(hdr.lane_63); transition accept; }
}

// One lane: an array of slots, a tag and a value each. The tag 0 is an empty slot.
// A key has two slots side by side; the pair that came later stands first.
control Lane(inout lane_h lane, in task_t task, in bit<1> was_sent, out bit<1> sent) {
    register<tag_t, bit<32>>(SLOTS) slots_tags;
    register<bit<32>, bit<32>>(SLOTS) slots_values;
    // The pair that left with each packet: a duplicate sends it again.
    register<tag_t, bit<32>>(CELLS) shadow_tags;
    register<bit<32>, bit<32>>(CELLS) shadow_values;
    tag_t tag;
    bit<32> at;
    bit<32> held;
    tag_t older_tag;
    bit<32> older;

    apply {
        sent = 0;
        if (task.what == FOLD) {
            if (lane.isValid()) {
                at = task.first_slot + ((bit<32>)lane.index & (ROWS - 2));
                slots_tags.read(tag, at);
                slots_values.read(held, at);
                if (tag == 0) {
                    slots_tags.write(at, lane.tag);
                    slots_values.write(at, lane.value);
                } else if (tag == lane.tag) {
                    if (task.op == ADD) { held = held + lane.value; }
                    slots_values.write(at, held);
                } else {
                    slots_tags.read(older_tag, at + 1);
                    slots_values.read(older, at + 1);
                    if (older_tag == lane.tag && older_tag != 0) {
                        held = older;
                        if (task.op == ADD) { held = held + lane.value; }
                        slots_values.write(at + 1, held);
                    } else {
                        // The new pair comes first, and the older one leaves.
                        slots_tags.write(at + 1, tag);
                        slots_values.write(at + 1, held);
                        slots_tags.write(at, lane.tag);
                        slots_values.write(at, lane.value);
                        if (older_tag != 0) {
                            shadow_tags.write(task.cell, older_tag);
                            shadow_values.write(task.cell, older);
                            lane.tag = older_tag;
                            lane.value = older;
                            sent = 1;
                        }
                    }
                }
            }
        } else if (task.what == FETCH) {
            slots_tags.read(tag, task.first_slot + task.row);
            slots_values.read(held, task.first_slot + task.row);
            if (tag != 0) {
                lane.setValid();
                lane.index = (bit<16>)task.row;
                lane.tag = tag;
                lane.value = held;
                sent = 1;
            }
        } else if (task.what == EMPTY) {
            slots_tags.write(task.first_slot + task.row, 0);
            slots_values.write(task.first_slot + task.row, 32w0);
        } else if (task.what == NOTHING && was_sent == 1 && lane.isValid()) {
            shadow_tags.read(tag, task.cell);
            shadow_values.read(held, task.cell);
            lane.tag = tag;
            lane.value = held;
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
    Lane() fold_4;
    Lane() fold_5;
    Lane() fold_6;
    Lane() fold_7;
    Lane() fold_8;
    Lane() fold_9;
    Lane() fold_10;
    Lane() fold_11;
    Lane() fold_12;
    Lane() fold_13;
    Lane() fold_14;
    Lane() fold_15;
    Lane() fold_16;
    Lane() fold_17;
    Lane() fold_18;
    Lane() fold_19;
    Lane() fold_20;
    Lane() fold_21;
    Lane() fold_22;
    Lane() fold_23;
    Lane() fold_24;
    Lane() fold_25;
    Lane() fold_26;
    Lane() fold_27;
    Lane() fold_28;
    Lane() fold_29;
    Lane() fold_30;
    Lane() fold_31;
    Lane() fold_32;
    Lane() fold_33;
    Lane() fold_34;
    Lane() fold_35;
    Lane() fold_36;
    Lane() fold_37;
    Lane() fold_38;
    Lane() fold_39;
    Lane() fold_40;
    Lane() fold_41;
    Lane() fold_42;
    Lane() fold_43;
    Lane() fold_44;
    Lane() fold_45;
    Lane() fold_46;
    Lane() fold_47;
    Lane() fold_48;
    Lane() fold_49;
    Lane() fold_50;
    Lane() fold_51;
    Lane() fold_52;
    Lane() fold_53;
    Lane() fold_54;
    Lane() fold_55;
    Lane() fold_56;
    Lane() fold_57;
    Lane() fold_58;
    Lane() fold_59;
    Lane() fold_60;
    Lane() fold_61;
    Lane() fold_62;
    Lane() fold_63;
    Quad() quad_0;
    Quad() quad_1;
    Quad() quad_2;
    Quad() quad_3;
    Quad() quad_4;
    Quad() quad_5;
    Quad() quad_6;
    Quad() quad_7;
    Quad() quad_8;
    Quad() quad_9;
    Quad() quad_10;
    Quad() quad_11;
    Quad() quad_12;
    Quad() quad_13;
    Quad() quad_14;
    Quad() quad_15;

    task_t task;
    bit<32> generation;
    bit<1>  is_open;
    bit<32> cell;
    bit<1> sent_0;
    bit<1> sent_1;
    bit<1> sent_2;
    bit<1> sent_3;
    bit<1> sent_4;
    bit<1> sent_5;
    bit<1> sent_6;
    bit<1> sent_7;
    bit<1> sent_8;
    bit<1> sent_9;
    bit<1> sent_10;
    bit<1> sent_11;
    bit<1> sent_12;
    bit<1> sent_13;
    bit<1> sent_14;
    bit<1> sent_15;
    bit<1> sent_16;
    bit<1> sent_17;
    bit<1> sent_18;
    bit<1> sent_19;
    bit<1> sent_20;
    bit<1> sent_21;
    bit<1> sent_22;
    bit<1> sent_23;
    bit<1> sent_24;
    bit<1> sent_25;
    bit<1> sent_26;
    bit<1> sent_27;
    bit<1> sent_28;
    bit<1> sent_29;
    bit<1> sent_30;
    bit<1> sent_31;
    bit<1> sent_32;
    bit<1> sent_33;
    bit<1> sent_34;
    bit<1> sent_35;
    bit<1> sent_36;
    bit<1> sent_37;
    bit<1> sent_38;
    bit<1> sent_39;
    bit<1> sent_40;
    bit<1> sent_41;
    bit<1> sent_42;
    bit<1> sent_43;
    bit<1> sent_44;
    bit<1> sent_45;
    bit<1> sent_46;
    bit<1> sent_47;
    bit<1> sent_48;
    bit<1> sent_49;
    bit<1> sent_50;
    bit<1> sent_51;
    bit<1> sent_52;
    bit<1> sent_53;
    bit<1> sent_54;
    bit<1> sent_55;
    bit<1> sent_56;
    bit<1> sent_57;
    bit<1> sent_58;
    bit<1> sent_59;
    bit<1> sent_60;
    bit<1> sent_61;
    bit<1> sent_62;
    bit<1> sent_63;

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
        size = 3;
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
        hdr.udp.len = length + meta.pairs * 22;
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
            if (hdr.agg.version != VERSION || hdr.agg.format != FORMAT || hdr.agg.op != ADD || is_data && hdr.more.valid[95:32] != 0) {
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
            bit<16> length = 44;
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
                        meta.map = meta.map & (hdr.more.valid ++ hdr.agg.valid);
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
                } else if (!is_again && (hdr.agg.aux == 0 || hdr.agg.aux > MOST_ROWS || hdr.more.valid != 0 || hdr.agg.valid[31:16] != 0 || hdr.agg.type == CLEAR && hdr.agg.valid != 0)) {
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
            fold_0.apply(hdr.lane_0, task, meta.map[0:0], sent_0);
            fold_1.apply(hdr.lane_1, task, meta.map[1:1], sent_1);
            fold_2.apply(hdr.lane_2, task, meta.map[2:2], sent_2);
            fold_3.apply(hdr.lane_3, task, meta.map[3:3], sent_3);
            fold_4.apply(hdr.lane_4, task, meta.map[4:4], sent_4);
            fold_5.apply(hdr.lane_5, task, meta.map[5:5], sent_5);
            fold_6.apply(hdr.lane_6, task, meta.map[6:6], sent_6);
            fold_7.apply(hdr.lane_7, task, meta.map[7:7], sent_7);
            fold_8.apply(hdr.lane_8, task, meta.map[8:8], sent_8);
            fold_9.apply(hdr.lane_9, task, meta.map[9:9], sent_9);
            fold_10.apply(hdr.lane_10, task, meta.map[10:10], sent_10);
            fold_11.apply(hdr.lane_11, task, meta.map[11:11], sent_11);
            fold_12.apply(hdr.lane_12, task, meta.map[12:12], sent_12);
            fold_13.apply(hdr.lane_13, task, meta.map[13:13], sent_13);
            fold_14.apply(hdr.lane_14, task, meta.map[14:14], sent_14);
            fold_15.apply(hdr.lane_15, task, meta.map[15:15], sent_15);
            fold_16.apply(hdr.lane_16, task, meta.map[16:16], sent_16);
            fold_17.apply(hdr.lane_17, task, meta.map[17:17], sent_17);
            fold_18.apply(hdr.lane_18, task, meta.map[18:18], sent_18);
            fold_19.apply(hdr.lane_19, task, meta.map[19:19], sent_19);
            fold_20.apply(hdr.lane_20, task, meta.map[20:20], sent_20);
            fold_21.apply(hdr.lane_21, task, meta.map[21:21], sent_21);
            fold_22.apply(hdr.lane_22, task, meta.map[22:22], sent_22);
            fold_23.apply(hdr.lane_23, task, meta.map[23:23], sent_23);
            fold_24.apply(hdr.lane_24, task, meta.map[24:24], sent_24);
            fold_25.apply(hdr.lane_25, task, meta.map[25:25], sent_25);
            fold_26.apply(hdr.lane_26, task, meta.map[26:26], sent_26);
            fold_27.apply(hdr.lane_27, task, meta.map[27:27], sent_27);
            fold_28.apply(hdr.lane_28, task, meta.map[28:28], sent_28);
            fold_29.apply(hdr.lane_29, task, meta.map[29:29], sent_29);
            fold_30.apply(hdr.lane_30, task, meta.map[30:30], sent_30);
            fold_31.apply(hdr.lane_31, task, meta.map[31:31], sent_31);
            fold_32.apply(hdr.lane_32, task, meta.map[32:32], sent_32);
            fold_33.apply(hdr.lane_33, task, meta.map[33:33], sent_33);
            fold_34.apply(hdr.lane_34, task, meta.map[34:34], sent_34);
            fold_35.apply(hdr.lane_35, task, meta.map[35:35], sent_35);
            fold_36.apply(hdr.lane_36, task, meta.map[36:36], sent_36);
            fold_37.apply(hdr.lane_37, task, meta.map[37:37], sent_37);
            fold_38.apply(hdr.lane_38, task, meta.map[38:38], sent_38);
            fold_39.apply(hdr.lane_39, task, meta.map[39:39], sent_39);
            fold_40.apply(hdr.lane_40, task, meta.map[40:40], sent_40);
            fold_41.apply(hdr.lane_41, task, meta.map[41:41], sent_41);
            fold_42.apply(hdr.lane_42, task, meta.map[42:42], sent_42);
            fold_43.apply(hdr.lane_43, task, meta.map[43:43], sent_43);
            fold_44.apply(hdr.lane_44, task, meta.map[44:44], sent_44);
            fold_45.apply(hdr.lane_45, task, meta.map[45:45], sent_45);
            fold_46.apply(hdr.lane_46, task, meta.map[46:46], sent_46);
            fold_47.apply(hdr.lane_47, task, meta.map[47:47], sent_47);
            fold_48.apply(hdr.lane_48, task, meta.map[48:48], sent_48);
            fold_49.apply(hdr.lane_49, task, meta.map[49:49], sent_49);
            fold_50.apply(hdr.lane_50, task, meta.map[50:50], sent_50);
            fold_51.apply(hdr.lane_51, task, meta.map[51:51], sent_51);
            fold_52.apply(hdr.lane_52, task, meta.map[52:52], sent_52);
            fold_53.apply(hdr.lane_53, task, meta.map[53:53], sent_53);
            fold_54.apply(hdr.lane_54, task, meta.map[54:54], sent_54);
            fold_55.apply(hdr.lane_55, task, meta.map[55:55], sent_55);
            fold_56.apply(hdr.lane_56, task, meta.map[56:56], sent_56);
            fold_57.apply(hdr.lane_57, task, meta.map[57:57], sent_57);
            fold_58.apply(hdr.lane_58, task, meta.map[58:58], sent_58);
            fold_59.apply(hdr.lane_59, task, meta.map[59:59], sent_59);
            fold_60.apply(hdr.lane_60, task, meta.map[60:60], sent_60);
            fold_61.apply(hdr.lane_61, task, meta.map[61:61], sent_61);
            fold_62.apply(hdr.lane_62, task, meta.map[62:62], sent_62);
            fold_63.apply(hdr.lane_63, task, meta.map[63:63], sent_63);
            if (task.what == FOLD || task.what == FETCH) {
                meta.map = (map_t)(((((sent_63 ++ sent_62 ++ sent_61 ++ sent_60) ++ (sent_59 ++ sent_58 ++ sent_57 ++ sent_56)) ++ ((sent_55 ++ sent_54 ++ sent_53 ++ sent_52) ++ (sent_51 ++ sent_50 ++ sent_49 ++ sent_48))) ++
                        (((sent_47 ++ sent_46 ++ sent_45 ++ sent_44) ++ (sent_43 ++ sent_42 ++ sent_41 ++ sent_40)) ++ ((sent_39 ++ sent_38 ++ sent_37 ++ sent_36) ++ (sent_35 ++ sent_34 ++ sent_33 ++ sent_32)))) ++
                        ((((sent_31 ++ sent_30 ++ sent_29 ++ sent_28) ++ (sent_27 ++ sent_26 ++ sent_25 ++ sent_24)) ++ ((sent_23 ++ sent_22 ++ sent_21 ++ sent_20) ++ (sent_19 ++ sent_18 ++ sent_17 ++ sent_16))) ++
                        (((sent_15 ++ sent_14 ++ sent_13 ++ sent_12) ++ (sent_11 ++ sent_10 ++ sent_9 ++ sent_8)) ++ ((sent_7 ++ sent_6 ++ sent_5 ++ sent_4) ++ (sent_3 ++ sent_2 ++ sent_1 ++ sent_0)))));
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
                    if (hdr.more.valid ++ hdr.agg.valid != 0) {
                        hdr.row.setValid();
                        hdr.row = { hdr.agg.valid, hdr.more.valid[31:0] };
                        length = length + 8;
                    }
                    hdr.agg.valid = meta.map[31:0]; hdr.more.valid = meta.map[127:32];
                }
            } else {
                hdr.agg.valid = meta.map[31:0]; hdr.more.valid = meta.map[127:32];
            }
            bool is_stream = hdr.agg.type == DATA;
            // The mapper sends what is left past the switches.
            bool is_answer = is_stream && (is_folded || meta.has_parent == 0);
            quad_0.apply(hdr.lane_0, hdr.lane_1, hdr.lane_2, hdr.lane_3, meta.map[3:0], meta.pairs);
            quad_1.apply(hdr.lane_4, hdr.lane_5, hdr.lane_6, hdr.lane_7, meta.map[7:4], meta.pairs);
            quad_2.apply(hdr.lane_8, hdr.lane_9, hdr.lane_10, hdr.lane_11, meta.map[11:8], meta.pairs);
            quad_3.apply(hdr.lane_12, hdr.lane_13, hdr.lane_14, hdr.lane_15, meta.map[15:12], meta.pairs);
            quad_4.apply(hdr.lane_16, hdr.lane_17, hdr.lane_18, hdr.lane_19, meta.map[19:16], meta.pairs);
            quad_5.apply(hdr.lane_20, hdr.lane_21, hdr.lane_22, hdr.lane_23, meta.map[23:20], meta.pairs);
            quad_6.apply(hdr.lane_24, hdr.lane_25, hdr.lane_26, hdr.lane_27, meta.map[27:24], meta.pairs);
            quad_7.apply(hdr.lane_28, hdr.lane_29, hdr.lane_30, hdr.lane_31, meta.map[31:28], meta.pairs);
            quad_8.apply(hdr.lane_32, hdr.lane_33, hdr.lane_34, hdr.lane_35, meta.map[35:32], meta.pairs);
            quad_9.apply(hdr.lane_36, hdr.lane_37, hdr.lane_38, hdr.lane_39, meta.map[39:36], meta.pairs);
            quad_10.apply(hdr.lane_40, hdr.lane_41, hdr.lane_42, hdr.lane_43, meta.map[43:40], meta.pairs);
            quad_11.apply(hdr.lane_44, hdr.lane_45, hdr.lane_46, hdr.lane_47, meta.map[47:44], meta.pairs);
            quad_12.apply(hdr.lane_48, hdr.lane_49, hdr.lane_50, hdr.lane_51, meta.map[51:48], meta.pairs);
            quad_13.apply(hdr.lane_52, hdr.lane_53, hdr.lane_54, hdr.lane_55, meta.map[55:52], meta.pairs);
            quad_14.apply(hdr.lane_56, hdr.lane_57, hdr.lane_58, hdr.lane_59, meta.map[59:56], meta.pairs);
            quad_15.apply(hdr.lane_60, hdr.lane_61, hdr.lane_62, hdr.lane_63, meta.map[63:60], meta.pairs);
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
        packet.emit(hdr.more);
        packet.emit(hdr.lane_0);
        packet.emit(hdr.lane_1);
        packet.emit(hdr.lane_2);
        packet.emit(hdr.lane_3);
        packet.emit(hdr.lane_4);
        packet.emit(hdr.lane_5);
        packet.emit(hdr.lane_6);
        packet.emit(hdr.lane_7);
        packet.emit(hdr.lane_8);
        packet.emit(hdr.lane_9);
        packet.emit(hdr.lane_10);
        packet.emit(hdr.lane_11);
        packet.emit(hdr.lane_12);
        packet.emit(hdr.lane_13);
        packet.emit(hdr.lane_14);
        packet.emit(hdr.lane_15);
        packet.emit(hdr.lane_16);
        packet.emit(hdr.lane_17);
        packet.emit(hdr.lane_18);
        packet.emit(hdr.lane_19);
        packet.emit(hdr.lane_20);
        packet.emit(hdr.lane_21);
        packet.emit(hdr.lane_22);
        packet.emit(hdr.lane_23);
        packet.emit(hdr.lane_24);
        packet.emit(hdr.lane_25);
        packet.emit(hdr.lane_26);
        packet.emit(hdr.lane_27);
        packet.emit(hdr.lane_28);
        packet.emit(hdr.lane_29);
        packet.emit(hdr.lane_30);
        packet.emit(hdr.lane_31);
        packet.emit(hdr.lane_32);
        packet.emit(hdr.lane_33);
        packet.emit(hdr.lane_34);
        packet.emit(hdr.lane_35);
        packet.emit(hdr.lane_36);
        packet.emit(hdr.lane_37);
        packet.emit(hdr.lane_38);
        packet.emit(hdr.lane_39);
        packet.emit(hdr.lane_40);
        packet.emit(hdr.lane_41);
        packet.emit(hdr.lane_42);
        packet.emit(hdr.lane_43);
        packet.emit(hdr.lane_44);
        packet.emit(hdr.lane_45);
        packet.emit(hdr.lane_46);
        packet.emit(hdr.lane_47);
        packet.emit(hdr.lane_48);
        packet.emit(hdr.lane_49);
        packet.emit(hdr.lane_50);
        packet.emit(hdr.lane_51);
        packet.emit(hdr.lane_52);
        packet.emit(hdr.lane_53);
        packet.emit(hdr.lane_54);
        packet.emit(hdr.lane_55);
        packet.emit(hdr.lane_56);
        packet.emit(hdr.lane_57);
        packet.emit(hdr.lane_58);
        packet.emit(hdr.lane_59);
        packet.emit(hdr.lane_60);
        packet.emit(hdr.lane_61);
        packet.emit(hdr.lane_62);
        packet.emit(hdr.lane_63);
        packet.emit(hdr.row);
    }
}

V1Switch(AggParser(), AggVerify(), AggIngress(), AggEgress(), AggCompute(), AggDeparser()) main;
