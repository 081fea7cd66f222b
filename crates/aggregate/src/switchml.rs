//! A switch program that serves SwitchML's workers, with the packets of its public program over UDP (ports 0xbee0 to 0xbeef), as P4-16 for v1model.
//!
//! ```text
//! type:4  unused:1  size:3  job:8  tsi:32  pool index:16     type 1: a result; size 1: 256 bytes; pool index: bit 15 the set, bits 13 to 0 the slot
//! value:32 (64 of them)
//! exponent:16
//! ```
//!
//! A slot has two sets. A worker whose packet is in one set has the result of the other one. The first packet of a set replaces its values, the others are added (the largest
//! exponent is kept), and the last worker's packet becomes the result for all workers. A repeated packet changes nothing; if the set is complete, its sender gets the result again.
//! As in the public program, nothing tells a restart of the switch, and a copy of a packet that arrives after its slot was used again is added: packets of a worker must keep their order.

use std::fmt::Write as _;

/// Values of a packet.
pub const VALUES: usize = 64;

/// The first of 16 UDP ports.
pub const PORT: u16 = 0xbee0;

/// Most workers of a job: the bits of a map.
pub const MOST_WORKERS: u16 = 32;

/// Most slots: those that packets can name.
pub const MOST_SLOTS: u32 = 1 << 14;

/// The program with so many slots of two sets each, for all jobs together; none if packets cannot name them.
pub fn source(slots: u32) -> Option<String> {
    (1..=MOST_SLOTS).contains(&slots).then_some(())?;
    let each = |line: fn(usize) -> String| (0..VALUES).map(line).collect::<String>();
    let mut text = format!(
        "// Sums of arrays for SwitchML's workers: {slots} slots of {VALUES} values in two sets.\n// Written by p4rack.\n\n\
         #include <core.p4>\n#define V1MODEL_VERSION 20200408\n#include <v1model.p4>\n\n\
         const bit<16> TYPE_IPV4 = 0x0800;\nconst bit<8>  PROTO_UDP = 17;\nconst bit<32> SLOTS = {slots};\n\n"
    );
    text += HEADERS;
    let _ = write!(text, "header values_h {{\n{}}}\n\n", each(|at| format!("    bit<32> v{at};\n")));
    text += PARSER;
    text += INGRESS;
    text += &each(|at| format!("    register<bit<32>, bit<32>>(2 * SLOTS) values_{at};\n"));
    text += APPLY;
    text += &each(|at| {
        format!(
            "            values_{at}.read(held, at);\n            if (is_first) {{ held = hdr.values.v{at}; }} else if (!is_again) {{ held = held + hdr.values.v{at}; }}\n            \
             values_{at}.write(at, held);\n            hdr.values.v{at} = held;\n"
        )
    });
    text += TAIL;
    Some(text)
}

const HEADERS: &str = "header ethernet_h {
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

";

const PARSER: &str = "struct headers_t {
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

";

const INGRESS: &str = "control MlIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
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
";

const APPLY: &str = "
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
";

const TAIL: &str = "            if (!is_complete) {
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
";
