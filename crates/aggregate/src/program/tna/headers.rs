//! Headers, metadata, and the parser of ingress.

use crate::program::Program;
use crate::program::text::{NETWORK, PARSE_UDP, SELECT_IPV4, each, folded_kinds};

pub(super) fn headers(program: &Program) -> String {
    let lanes = each(program, |lane| format!("    lane_h     lane_{lane};"));
    let flags = each(program, |lane| format!("    bit<1>  sent_{lane};"));
    format!(
        "typedef bit<48>  mac_t;
typedef bit<32>  ipv4_t;
typedef bit<9>   port_t;
typedef bit<32>  tag_t;
typedef bit<32>  map_t;

// From ingress to egress, and before packets that come around.
header bridge_h {{
    step_t  step;
    // Rows of a request for several answers that its copy goes on with.
    bit<16> rest;
}}

header copy_h {{
    step_t step;
}}

{NETWORK}

header agg_h {{
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
}}

header lane_h {{
    bit<16> index;
    tag_t   tag;
    bit<32> value;
}}

// The map of a row that was read before; its pairs follow.
header row_h {{
    bit<{row}> valid;
}}

struct headers_t {{
    bridge_h   bridge;
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
{lanes}    row_h      row;
}}

struct metadata_t {{
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
{flags}}}
",
        row = 8 * program.layout.block_bytes(),
    )
}

/// Fields of the metadata beside the flags of lanes.
const FIELDS: usize = 29;

pub(super) fn parser(program: &Program) -> String {
    let last = program.layout.lanes - 1;
    let next = |name: &str, lane: u8| match lane == last {
        true => "accept".to_string(),
        false => format!("{name}_{}", lane + 1),
    };
    let lanes = each(program, |lane| {
        let next = next("has", lane);
        format!(
            "    state has_{lane} {{ transition select(hdr.agg.valid[{lane}:{lane}]) {{ 1: lane_{lane}; default: {next}; }} }}\n    \
             state lane_{lane} {{ packet.extract(hdr.lane_{lane}); transition {next}; }}"
        )
    });
    let tags = each(program, |lane| {
        let next = next("tag", lane);
        format!(
            "    state tag_{lane} {{ transition select(packet.lookahead<bit<48>>()[31:0]) {{ 0: empty_{lane}; default: full_{lane}; }} }}\n    \
             state empty_{lane} {{ packet.advance(80); transition {next}; }}\n    \
             state full_{lane} {{ packet.extract(hdr.lane_{lane}); meta.sent_{lane} = 1; transition {next}; }}"
        )
    });
    let folded: String =
        folded_kinds(program).iter().map(|kind| format!("            (PLAIN, {kind}): has_0;\n")).collect();
    let zeros = vec!["0"; FIELDS + usize::from(program.layout.lanes)].join(", ");
    format!(
        "parser AggParser(packet_in packet,
                 out headers_t hdr,
                 out metadata_t meta,
                 out ingress_intrinsic_metadata_t ig_intr_md) {{
    Checksum() sum;

    state start {{
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        meta = {{ {zeros} }};
        transition select(ig_intr_md.ingress_port) {{
            AROUND: parse_bridge;
            default: parse_ethernet;
        }}
    }}

    state parse_bridge {{
        packet.extract(hdr.bridge);
        meta.around = hdr.bridge.step;
        transition parse_ethernet;
    }}

    state parse_ethernet {{
        packet.extract(hdr.ethernet);
{SELECT_IPV4}
    }}

    state parse_ipv4 {{
        packet.extract(hdr.ipv4);
        sum.add(hdr.ipv4);
        meta.damaged = (bit<1>)sum.verify();
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {{
            (5, 0 &&& 1, 0, PROTO_UDP): parse_udp;
            default: accept;
        }}
    }}

{PARSE_UDP}

    state parse_agg {{
        packet.extract(hdr.agg);
        meta.parity = hdr.agg.generation[7:0];
        transition select(meta.around, hdr.agg.type) {{
{folded}            (VALUES, READ): tag_0;
            default: accept;
        }}
    }}

{lanes}
    // A row with the tags of all lanes; the tag 0 is an empty slot.
{tags}}}
"
    )
}
