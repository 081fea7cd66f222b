// Sums of arrays for SwitchML's workers: 8192 slots of 64 values in two sets.
// Written by p4rack.

#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8>  PROTO_UDP = 17;
const bit<32> SLOTS = 8192;

header ethernet_h {
    bit<48> dst_addr;
    bit<48> src_addr;
    bit<16> ether_type;
}

header ipv4_h {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> total_len;
    bit<16> identification;
    bit<3>  flags;
    bit<13> frag_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> hdr_checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
}

header udp_h {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header switchml_h {
    bit<4>  msg_type;
    bit<1>  unused;
    bit<3>  size;
    bit<8>  job;
    bit<32> tsi;
    bit<16> pool_index;
}

header exponents_h {
    bit<16> e0;
}

header values_h {
    bit<32> v0;
    bit<32> v1;
    bit<32> v2;
    bit<32> v3;
    bit<32> v4;
    bit<32> v5;
    bit<32> v6;
    bit<32> v7;
    bit<32> v8;
    bit<32> v9;
    bit<32> v10;
    bit<32> v11;
    bit<32> v12;
    bit<32> v13;
    bit<32> v14;
    bit<32> v15;
    bit<32> v16;
    bit<32> v17;
    bit<32> v18;
    bit<32> v19;
    bit<32> v20;
    bit<32> v21;
    bit<32> v22;
    bit<32> v23;
    bit<32> v24;
    bit<32> v25;
    bit<32> v26;
    bit<32> v27;
    bit<32> v28;
    bit<32> v29;
    bit<32> v30;
    bit<32> v31;
    bit<32> v32;
    bit<32> v33;
    bit<32> v34;
    bit<32> v35;
    bit<32> v36;
    bit<32> v37;
    bit<32> v38;
    bit<32> v39;
    bit<32> v40;
    bit<32> v41;
    bit<32> v42;
    bit<32> v43;
    bit<32> v44;
    bit<32> v45;
    bit<32> v46;
    bit<32> v47;
    bit<32> v48;
    bit<32> v49;
    bit<32> v50;
    bit<32> v51;
    bit<32> v52;
    bit<32> v53;
    bit<32> v54;
    bit<32> v55;
    bit<32> v56;
    bit<32> v57;
    bit<32> v58;
    bit<32> v59;
    bit<32> v60;
    bit<32> v61;
    bit<32> v62;
    bit<32> v63;
}

struct headers_t {
    ethernet_h  ethernet;
    ipv4_h      ipv4;
    udp_h       udp;
    switchml_h  switchml;
    values_h    values;
    exponents_h exponents;
}

struct metadata_t {
    bit<32> worker;
    bit<32> all;
    bit<16> group;
    bit<32> first_slot;
    bit<32> slots;
}

parser MlParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            TYPE_IPV4: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (4, 5, 0, PROTO_UDP): udp;
            default: accept;
        }
    }

    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            0xbee0 &&& 0xfff0: switchml;
            default: accept;
        }
    }

    state switchml {
        packet.extract(hdr.switchml);
        transition select(hdr.switchml.size) {
            1: values;
            default: accept;
        }
    }

    state values {
        packet.extract(hdr.values);
        packet.extract(hdr.exponents);
        transition accept;
    }
}

control MlVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control MlIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // Packets for SwitchML that are not those of a worker.
    counter<bit<32>>(1, CounterType.packets) refused;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action refuse() {
        refused.count(0);
        mark_to_drop(standard_metadata);
    }

    // The worker's bit, the number of workers, their multicast group, and the slots of the job.
    action serve(bit<32> worker, bit<32> all, bit<16> group, bit<32> first_slot, bit<32> slots) {
        meta.worker = worker;
        meta.all = all;
        meta.group = group;
        meta.first_slot = first_slot;
        meta.slots = slots;
    }

    table workers {
        key = {
            standard_metadata.ingress_port: exact;
            hdr.ipv4.src_addr: exact;
            hdr.switchml.job: exact;
        }
        actions = { serve; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    action forward(bit<9> port, bit<48> next_hop) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst_addr = next_hop;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }

    // Workers whose packets are in a set, and how many of its present use; 0: all.
    register<bit<32>, bit<32>>(2 * SLOTS) seen;
    register<bit<32>, bit<32>>(2 * SLOTS) counts;
    register<bit<16>, bit<32>>(2 * SLOTS) exponents;
    register<bit<32>, bit<32>>(2 * SLOTS) values_0;
    register<bit<32>, bit<32>>(2 * SLOTS) values_1;
    register<bit<32>, bit<32>>(2 * SLOTS) values_2;
    register<bit<32>, bit<32>>(2 * SLOTS) values_3;
    register<bit<32>, bit<32>>(2 * SLOTS) values_4;
    register<bit<32>, bit<32>>(2 * SLOTS) values_5;
    register<bit<32>, bit<32>>(2 * SLOTS) values_6;
    register<bit<32>, bit<32>>(2 * SLOTS) values_7;
    register<bit<32>, bit<32>>(2 * SLOTS) values_8;
    register<bit<32>, bit<32>>(2 * SLOTS) values_9;
    register<bit<32>, bit<32>>(2 * SLOTS) values_10;
    register<bit<32>, bit<32>>(2 * SLOTS) values_11;
    register<bit<32>, bit<32>>(2 * SLOTS) values_12;
    register<bit<32>, bit<32>>(2 * SLOTS) values_13;
    register<bit<32>, bit<32>>(2 * SLOTS) values_14;
    register<bit<32>, bit<32>>(2 * SLOTS) values_15;
    register<bit<32>, bit<32>>(2 * SLOTS) values_16;
    register<bit<32>, bit<32>>(2 * SLOTS) values_17;
    register<bit<32>, bit<32>>(2 * SLOTS) values_18;
    register<bit<32>, bit<32>>(2 * SLOTS) values_19;
    register<bit<32>, bit<32>>(2 * SLOTS) values_20;
    register<bit<32>, bit<32>>(2 * SLOTS) values_21;
    register<bit<32>, bit<32>>(2 * SLOTS) values_22;
    register<bit<32>, bit<32>>(2 * SLOTS) values_23;
    register<bit<32>, bit<32>>(2 * SLOTS) values_24;
    register<bit<32>, bit<32>>(2 * SLOTS) values_25;
    register<bit<32>, bit<32>>(2 * SLOTS) values_26;
    register<bit<32>, bit<32>>(2 * SLOTS) values_27;
    register<bit<32>, bit<32>>(2 * SLOTS) values_28;
    register<bit<32>, bit<32>>(2 * SLOTS) values_29;
    register<bit<32>, bit<32>>(2 * SLOTS) values_30;
    register<bit<32>, bit<32>>(2 * SLOTS) values_31;
    register<bit<32>, bit<32>>(2 * SLOTS) values_32;
    register<bit<32>, bit<32>>(2 * SLOTS) values_33;
    register<bit<32>, bit<32>>(2 * SLOTS) values_34;
    register<bit<32>, bit<32>>(2 * SLOTS) values_35;
    register<bit<32>, bit<32>>(2 * SLOTS) values_36;
    register<bit<32>, bit<32>>(2 * SLOTS) values_37;
    register<bit<32>, bit<32>>(2 * SLOTS) values_38;
    register<bit<32>, bit<32>>(2 * SLOTS) values_39;
    register<bit<32>, bit<32>>(2 * SLOTS) values_40;
    register<bit<32>, bit<32>>(2 * SLOTS) values_41;
    register<bit<32>, bit<32>>(2 * SLOTS) values_42;
    register<bit<32>, bit<32>>(2 * SLOTS) values_43;
    register<bit<32>, bit<32>>(2 * SLOTS) values_44;
    register<bit<32>, bit<32>>(2 * SLOTS) values_45;
    register<bit<32>, bit<32>>(2 * SLOTS) values_46;
    register<bit<32>, bit<32>>(2 * SLOTS) values_47;
    register<bit<32>, bit<32>>(2 * SLOTS) values_48;
    register<bit<32>, bit<32>>(2 * SLOTS) values_49;
    register<bit<32>, bit<32>>(2 * SLOTS) values_50;
    register<bit<32>, bit<32>>(2 * SLOTS) values_51;
    register<bit<32>, bit<32>>(2 * SLOTS) values_52;
    register<bit<32>, bit<32>>(2 * SLOTS) values_53;
    register<bit<32>, bit<32>>(2 * SLOTS) values_54;
    register<bit<32>, bit<32>>(2 * SLOTS) values_55;
    register<bit<32>, bit<32>>(2 * SLOTS) values_56;
    register<bit<32>, bit<32>>(2 * SLOTS) values_57;
    register<bit<32>, bit<32>>(2 * SLOTS) values_58;
    register<bit<32>, bit<32>>(2 * SLOTS) values_59;
    register<bit<32>, bit<32>>(2 * SLOTS) values_60;
    register<bit<32>, bit<32>>(2 * SLOTS) values_61;
    register<bit<32>, bit<32>>(2 * SLOTS) values_62;
    register<bit<32>, bit<32>>(2 * SLOTS) values_63;

    apply {
        if (!hdr.ipv4.isValid() || standard_metadata.checksum_error == 1 || standard_metadata.parser_error != error.NoError) {
            drop();
        } else if (!hdr.switchml.isValid()) {
            if (hdr.ipv4.ttl > 1) { routes.apply(); } else { drop(); }
        } else if (!hdr.exponents.isValid()) {
            refuse();
        } else if (!workers.apply().hit) {
            refuse();
        } else if ((bit<32>)hdr.switchml.pool_index[13:0] >= meta.slots) {
            refuse();
        } else {
            bit<32> slot = meta.first_slot + (bit<32>)hdr.switchml.pool_index[13:0];
            bit<32> at = (slot << 1) | (bit<32>)hdr.switchml.pool_index[15:15];
            bit<32> held;
            bit<32> other;
            seen.read(held, at);
            seen.read(other, at ^ 1);
            bool is_again = (held & meta.worker) != 0;
            bit<32> count;
            counts.read(count, at);
            bool is_first = count == 0 && !is_again;
            if (!is_again) {
                seen.write(at, held | meta.worker);
                // The worker has the result of the other set: its bit there is free.
                seen.write(at ^ 1, other & ~meta.worker);
                count = count + 1;
                if (count == meta.all) { count = 0; }
                counts.write(at, count);
            }
            // It stays complete until the first packet of its next use, whoever is in the other set by then.
            bool is_complete = count == 0;
            bit<16> exponent;
            exponents.read(exponent, at);
            if (is_first || (!is_again && hdr.exponents.e0 > exponent)) { exponent = hdr.exponents.e0; }
            exponents.write(at, exponent);
            hdr.exponents.e0 = exponent;
            values_0.read(held, at);
            if (is_first) { held = hdr.values.v0; } else if (!is_again) { held = held + hdr.values.v0; }
            values_0.write(at, held);
            hdr.values.v0 = held;
            values_1.read(held, at);
            if (is_first) { held = hdr.values.v1; } else if (!is_again) { held = held + hdr.values.v1; }
            values_1.write(at, held);
            hdr.values.v1 = held;
            values_2.read(held, at);
            if (is_first) { held = hdr.values.v2; } else if (!is_again) { held = held + hdr.values.v2; }
            values_2.write(at, held);
            hdr.values.v2 = held;
            values_3.read(held, at);
            if (is_first) { held = hdr.values.v3; } else if (!is_again) { held = held + hdr.values.v3; }
            values_3.write(at, held);
            hdr.values.v3 = held;
            values_4.read(held, at);
            if (is_first) { held = hdr.values.v4; } else if (!is_again) { held = held + hdr.values.v4; }
            values_4.write(at, held);
            hdr.values.v4 = held;
            values_5.read(held, at);
            if (is_first) { held = hdr.values.v5; } else if (!is_again) { held = held + hdr.values.v5; }
            values_5.write(at, held);
            hdr.values.v5 = held;
            values_6.read(held, at);
            if (is_first) { held = hdr.values.v6; } else if (!is_again) { held = held + hdr.values.v6; }
            values_6.write(at, held);
            hdr.values.v6 = held;
            values_7.read(held, at);
            if (is_first) { held = hdr.values.v7; } else if (!is_again) { held = held + hdr.values.v7; }
            values_7.write(at, held);
            hdr.values.v7 = held;
            values_8.read(held, at);
            if (is_first) { held = hdr.values.v8; } else if (!is_again) { held = held + hdr.values.v8; }
            values_8.write(at, held);
            hdr.values.v8 = held;
            values_9.read(held, at);
            if (is_first) { held = hdr.values.v9; } else if (!is_again) { held = held + hdr.values.v9; }
            values_9.write(at, held);
            hdr.values.v9 = held;
            values_10.read(held, at);
            if (is_first) { held = hdr.values.v10; } else if (!is_again) { held = held + hdr.values.v10; }
            values_10.write(at, held);
            hdr.values.v10 = held;
            values_11.read(held, at);
            if (is_first) { held = hdr.values.v11; } else if (!is_again) { held = held + hdr.values.v11; }
            values_11.write(at, held);
            hdr.values.v11 = held;
            values_12.read(held, at);
            if (is_first) { held = hdr.values.v12; } else if (!is_again) { held = held + hdr.values.v12; }
            values_12.write(at, held);
            hdr.values.v12 = held;
            values_13.read(held, at);
            if (is_first) { held = hdr.values.v13; } else if (!is_again) { held = held + hdr.values.v13; }
            values_13.write(at, held);
            hdr.values.v13 = held;
            values_14.read(held, at);
            if (is_first) { held = hdr.values.v14; } else if (!is_again) { held = held + hdr.values.v14; }
            values_14.write(at, held);
            hdr.values.v14 = held;
            values_15.read(held, at);
            if (is_first) { held = hdr.values.v15; } else if (!is_again) { held = held + hdr.values.v15; }
            values_15.write(at, held);
            hdr.values.v15 = held;
            values_16.read(held, at);
            if (is_first) { held = hdr.values.v16; } else if (!is_again) { held = held + hdr.values.v16; }
            values_16.write(at, held);
            hdr.values.v16 = held;
            values_17.read(held, at);
            if (is_first) { held = hdr.values.v17; } else if (!is_again) { held = held + hdr.values.v17; }
            values_17.write(at, held);
            hdr.values.v17 = held;
            values_18.read(held, at);
            if (is_first) { held = hdr.values.v18; } else if (!is_again) { held = held + hdr.values.v18; }
            values_18.write(at, held);
            hdr.values.v18 = held;
            values_19.read(held, at);
            if (is_first) { held = hdr.values.v19; } else if (!is_again) { held = held + hdr.values.v19; }
            values_19.write(at, held);
            hdr.values.v19 = held;
            values_20.read(held, at);
            if (is_first) { held = hdr.values.v20; } else if (!is_again) { held = held + hdr.values.v20; }
            values_20.write(at, held);
            hdr.values.v20 = held;
            values_21.read(held, at);
            if (is_first) { held = hdr.values.v21; } else if (!is_again) { held = held + hdr.values.v21; }
            values_21.write(at, held);
            hdr.values.v21 = held;
            values_22.read(held, at);
            if (is_first) { held = hdr.values.v22; } else if (!is_again) { held = held + hdr.values.v22; }
            values_22.write(at, held);
            hdr.values.v22 = held;
            values_23.read(held, at);
            if (is_first) { held = hdr.values.v23; } else if (!is_again) { held = held + hdr.values.v23; }
            values_23.write(at, held);
            hdr.values.v23 = held;
            values_24.read(held, at);
            if (is_first) { held = hdr.values.v24; } else if (!is_again) { held = held + hdr.values.v24; }
            values_24.write(at, held);
            hdr.values.v24 = held;
            values_25.read(held, at);
            if (is_first) { held = hdr.values.v25; } else if (!is_again) { held = held + hdr.values.v25; }
            values_25.write(at, held);
            hdr.values.v25 = held;
            values_26.read(held, at);
            if (is_first) { held = hdr.values.v26; } else if (!is_again) { held = held + hdr.values.v26; }
            values_26.write(at, held);
            hdr.values.v26 = held;
            values_27.read(held, at);
            if (is_first) { held = hdr.values.v27; } else if (!is_again) { held = held + hdr.values.v27; }
            values_27.write(at, held);
            hdr.values.v27 = held;
            values_28.read(held, at);
            if (is_first) { held = hdr.values.v28; } else if (!is_again) { held = held + hdr.values.v28; }
            values_28.write(at, held);
            hdr.values.v28 = held;
            values_29.read(held, at);
            if (is_first) { held = hdr.values.v29; } else if (!is_again) { held = held + hdr.values.v29; }
            values_29.write(at, held);
            hdr.values.v29 = held;
            values_30.read(held, at);
            if (is_first) { held = hdr.values.v30; } else if (!is_again) { held = held + hdr.values.v30; }
            values_30.write(at, held);
            hdr.values.v30 = held;
            values_31.read(held, at);
            if (is_first) { held = hdr.values.v31; } else if (!is_again) { held = held + hdr.values.v31; }
            values_31.write(at, held);
            hdr.values.v31 = held;
            values_32.read(held, at);
            if (is_first) { held = hdr.values.v32; } else if (!is_again) { held = held + hdr.values.v32; }
            values_32.write(at, held);
            hdr.values.v32 = held;
            values_33.read(held, at);
            if (is_first) { held = hdr.values.v33; } else if (!is_again) { held = held + hdr.values.v33; }
            values_33.write(at, held);
            hdr.values.v33 = held;
            values_34.read(held, at);
            if (is_first) { held = hdr.values.v34; } else if (!is_again) { held = held + hdr.values.v34; }
            values_34.write(at, held);
            hdr.values.v34 = held;
            values_35.read(held, at);
            if (is_first) { held = hdr.values.v35; } else if (!is_again) { held = held + hdr.values.v35; }
            values_35.write(at, held);
            hdr.values.v35 = held;
            values_36.read(held, at);
            if (is_first) { held = hdr.values.v36; } else if (!is_again) { held = held + hdr.values.v36; }
            values_36.write(at, held);
            hdr.values.v36 = held;
            values_37.read(held, at);
            if (is_first) { held = hdr.values.v37; } else if (!is_again) { held = held + hdr.values.v37; }
            values_37.write(at, held);
            hdr.values.v37 = held;
            values_38.read(held, at);
            if (is_first) { held = hdr.values.v38; } else if (!is_again) { held = held + hdr.values.v38; }
            values_38.write(at, held);
            hdr.values.v38 = held;
            values_39.read(held, at);
            if (is_first) { held = hdr.values.v39; } else if (!is_again) { held = held + hdr.values.v39; }
            values_39.write(at, held);
            hdr.values.v39 = held;
            values_40.read(held, at);
            if (is_first) { held = hdr.values.v40; } else if (!is_again) { held = held + hdr.values.v40; }
            values_40.write(at, held);
            hdr.values.v40 = held;
            values_41.read(held, at);
            if (is_first) { held = hdr.values.v41; } else if (!is_again) { held = held + hdr.values.v41; }
            values_41.write(at, held);
            hdr.values.v41 = held;
            values_42.read(held, at);
            if (is_first) { held = hdr.values.v42; } else if (!is_again) { held = held + hdr.values.v42; }
            values_42.write(at, held);
            hdr.values.v42 = held;
            values_43.read(held, at);
            if (is_first) { held = hdr.values.v43; } else if (!is_again) { held = held + hdr.values.v43; }
            values_43.write(at, held);
            hdr.values.v43 = held;
            values_44.read(held, at);
            if (is_first) { held = hdr.values.v44; } else if (!is_again) { held = held + hdr.values.v44; }
            values_44.write(at, held);
            hdr.values.v44 = held;
            values_45.read(held, at);
            if (is_first) { held = hdr.values.v45; } else if (!is_again) { held = held + hdr.values.v45; }
            values_45.write(at, held);
            hdr.values.v45 = held;
            values_46.read(held, at);
            if (is_first) { held = hdr.values.v46; } else if (!is_again) { held = held + hdr.values.v46; }
            values_46.write(at, held);
            hdr.values.v46 = held;
            values_47.read(held, at);
            if (is_first) { held = hdr.values.v47; } else if (!is_again) { held = held + hdr.values.v47; }
            values_47.write(at, held);
            hdr.values.v47 = held;
            values_48.read(held, at);
            if (is_first) { held = hdr.values.v48; } else if (!is_again) { held = held + hdr.values.v48; }
            values_48.write(at, held);
            hdr.values.v48 = held;
            values_49.read(held, at);
            if (is_first) { held = hdr.values.v49; } else if (!is_again) { held = held + hdr.values.v49; }
            values_49.write(at, held);
            hdr.values.v49 = held;
            values_50.read(held, at);
            if (is_first) { held = hdr.values.v50; } else if (!is_again) { held = held + hdr.values.v50; }
            values_50.write(at, held);
            hdr.values.v50 = held;
            values_51.read(held, at);
            if (is_first) { held = hdr.values.v51; } else if (!is_again) { held = held + hdr.values.v51; }
            values_51.write(at, held);
            hdr.values.v51 = held;
            values_52.read(held, at);
            if (is_first) { held = hdr.values.v52; } else if (!is_again) { held = held + hdr.values.v52; }
            values_52.write(at, held);
            hdr.values.v52 = held;
            values_53.read(held, at);
            if (is_first) { held = hdr.values.v53; } else if (!is_again) { held = held + hdr.values.v53; }
            values_53.write(at, held);
            hdr.values.v53 = held;
            values_54.read(held, at);
            if (is_first) { held = hdr.values.v54; } else if (!is_again) { held = held + hdr.values.v54; }
            values_54.write(at, held);
            hdr.values.v54 = held;
            values_55.read(held, at);
            if (is_first) { held = hdr.values.v55; } else if (!is_again) { held = held + hdr.values.v55; }
            values_55.write(at, held);
            hdr.values.v55 = held;
            values_56.read(held, at);
            if (is_first) { held = hdr.values.v56; } else if (!is_again) { held = held + hdr.values.v56; }
            values_56.write(at, held);
            hdr.values.v56 = held;
            values_57.read(held, at);
            if (is_first) { held = hdr.values.v57; } else if (!is_again) { held = held + hdr.values.v57; }
            values_57.write(at, held);
            hdr.values.v57 = held;
            values_58.read(held, at);
            if (is_first) { held = hdr.values.v58; } else if (!is_again) { held = held + hdr.values.v58; }
            values_58.write(at, held);
            hdr.values.v58 = held;
            values_59.read(held, at);
            if (is_first) { held = hdr.values.v59; } else if (!is_again) { held = held + hdr.values.v59; }
            values_59.write(at, held);
            hdr.values.v59 = held;
            values_60.read(held, at);
            if (is_first) { held = hdr.values.v60; } else if (!is_again) { held = held + hdr.values.v60; }
            values_60.write(at, held);
            hdr.values.v60 = held;
            values_61.read(held, at);
            if (is_first) { held = hdr.values.v61; } else if (!is_again) { held = held + hdr.values.v61; }
            values_61.write(at, held);
            hdr.values.v61 = held;
            values_62.read(held, at);
            if (is_first) { held = hdr.values.v62; } else if (!is_again) { held = held + hdr.values.v62; }
            values_62.write(at, held);
            hdr.values.v62 = held;
            values_63.read(held, at);
            if (is_first) { held = hdr.values.v63; } else if (!is_again) { held = held + hdr.values.v63; }
            values_63.write(at, held);
            hdr.values.v63 = held;
            if (!is_complete) {
                drop();
            } else {
                hdr.switchml.msg_type = 1;
                bit<48> card = hdr.ethernet.dst_addr;
                hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
                hdr.ethernet.src_addr = card;
                bit<32> address = hdr.ipv4.dst_addr;
                hdr.ipv4.dst_addr = hdr.ipv4.src_addr;
                hdr.ipv4.src_addr = address;
                hdr.ipv4.ttl = 64;
                bit<16> port = hdr.udp.dst_port;
                hdr.udp.dst_port = hdr.udp.src_port;
                hdr.udp.src_port = port;
                hdr.udp.checksum = 0;
                if (is_again) {
                    standard_metadata.egress_spec = standard_metadata.ingress_port;
                } else {
                    standard_metadata.mcast_grp = meta.group;
                }
            }
        }
    }
}

control MlEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action to(bit<48> card, bit<32> address) {
        hdr.ethernet.dst_addr = card;
        hdr.ipv4.dst_addr = address;
    }

    // A member of a group; what is not copied has the replica id 0.
    table receivers {
        key = { standard_metadata.egress_rid: exact; }
        actions = { to; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    apply {
        receivers.apply();
    }
}

control MlCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification, hdr.ipv4.flags,
              hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control MlDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(MlParser(), MlVerify(), MlIngress(), MlEgress(), MlCompute(), MlDeparser()) main;
