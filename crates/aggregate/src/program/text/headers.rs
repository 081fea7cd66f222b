//! Headers, metadata, and the parser.

use super::{PARSE_UDP, SELECT_IPV4, each};
use crate::program::Program;

/// Headers before AGG's.
pub(in crate::program) const NETWORK: &str = "header ethernet_t {
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
}";

/// Bits of the map of lanes.
fn map_bits(program: &Program) -> u32 {
    if program.layout.has_extension() { 128 } else { 32 }
}

/// Bits of the map of a row in a packet: those that stand in `agg`, and those in `more`.
pub(super) fn row_bits(program: &Program) -> (u32, u32) {
    let bits = 8 * program.layout.block_bytes() as u32;
    (bits.min(32), bits.saturating_sub(32))
}

pub(super) fn headers(program: &Program) -> String {
    let layout = &program.layout;
    let (tag, place) = match layout.is_dense() {
        true => (String::new(), ""),
        false => {
            (format!("typedef bit<{}> tag_t;\n", layout.tag_bits), "    bit<16> index;\n    tag_t   tag;\n")
        }
    };
    let (extension, more) = if layout.has_extension() {
        ("header more_h {\n    bit<96> valid;\n}\n\n", "    more_h     more;\n")
    } else {
        ("", "")
    };
    let lanes = each(program, |lane| format!("    lane_h     lane_{lane};"));
    let (low, high) = row_bits(program);
    let more_of_row = if high > 0 { format!("    bit<{high}> more;\n") } else { String::new() };
    let row = format!("    bit<{low}> valid;\n{more_of_row}");
    format!(
        "typedef bit<48>  mac_t;
typedef bit<32>  ipv4_t;
typedef bit<9>   port_t;
{tag}typedef bit<{}> map_t;

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
    bit<32> aux;
}}

{extension}header lane_h {{
{place}    bit<32> value;
}}

// The map of a row that was read before; its pairs follow.
header row_h {{
{row}}}

struct headers_t {{
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
{more}{lanes}    row_h      row;
}}

struct metadata_t {{
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
}}

// The request of a packet to all lanes.
struct task_t {{
    bit<2>  what;
    bit<4>  op;
    // The bank's first slot in each lane, and the row to fetch or empty.
    bit<32> first_slot;
    bit<32> row;
    // The packet's place among those that are remembered.
    bit<32> cell;
}}
",
        map_bits(program)
    )
}

/// The bit of a lane in the packet's map.
fn valid(program: &Program, lane: u8) -> String {
    match lane.checked_sub(32) {
        Some(high) if program.layout.has_extension() => format!("hdr.more.valid[{high}:{high}]"),
        _ => format!("hdr.agg.valid[{lane}:{lane}]"),
    }
}

/// Types of packets whose pairs are folded.
pub(in crate::program) fn folded_kinds(program: &Program) -> &'static [&'static str] {
    if program.is_parent { &["DATA", "OVERFLOW", "READREPLY"] } else { &["DATA"] }
}

pub(super) fn parser(program: &Program) -> String {
    let last = program.layout.lanes - 1;
    let next = |lane: u8| if lane == last { "accept".into() } else { format!("has_{}", lane + 1) };
    let lanes = each(program, |lane| {
        let (valid, next) = (valid(program, lane), next(lane));
        format!(
            "    state has_{lane} {{ transition select({valid}) {{ 1: lane_{lane}; default: {next}; }} }}\n    \
             state lane_{lane} {{ packet.extract(hdr.lane_{lane}); transition {next}; }}"
        )
    });
    let folded = folded_kinds(program)
        .iter()
        .map(|kind| format!("{kind}: has_0;"))
        .collect::<Vec<_>>()
        .join("\n            ");
    let agg = if program.layout.has_extension() { "packet.extract(hdr.more);\n        " } else { "" };
    format!(
        "parser AggParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {{
    state start {{
        packet.extract(hdr.ethernet);
{SELECT_IPV4}
    }}

    state parse_ipv4 {{
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {{
            (5, 0, 0, PROTO_UDP): parse_udp;
            default: accept;
        }}
    }}

{PARSE_UDP}

    state parse_agg {{
        packet.extract(hdr.agg);
        {agg}transition select(hdr.agg.type) {{
            {folded}
            default: accept;
        }}
    }}

{lanes}}}
"
    )
}
