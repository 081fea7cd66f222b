//! The text of a program.

use super::Program;
use crate::op::Op;
use crate::packet::{Kind, VERSION, format as format_number};
use std::fmt::Write as _;

/// The whole source.
pub(super) fn source(program: &Program) -> String {
    let parts = [
        head(program),
        headers(program),
        parser(program),
        controls(program),
        ingress(program),
        tail(program),
    ];
    parts.join("\n")
}

fn lanes(program: &Program) -> std::ops::Range<u8> {
    0..program.layout.lanes
}

/// A line for each lane.
fn each(program: &Program, line: impl Fn(u8) -> String) -> String {
    lanes(program).map(|lane| line(lane) + "\n").collect()
}

fn head(program: &Program) -> String {
    let layout = &program.layout;
    let operators: Vec<&str> = program.operators.iter().map(|op| op.word()).collect();
    let mut text = format!(
        "// Key-value pairs reduced on their path: {} lanes, {} slots a lane, {} channels, {}.\n\
         // Written by p4rack.\n\n\
         #include <core.p4>\n#define V1MODEL_VERSION 20200408\n#include <v1model.p4>\n\n\
         const bit<16> TYPE_IPV4 = 0x0800;\nconst bit<8>  PROTO_UDP = 17;\nconst bit<16> AGG_PORT = {};\n\
         const bit<4>  VERSION = {VERSION};\nconst bit<4>  FORMAT = {};\n\n",
        layout.lanes,
        program.slots(),
        program.channels,
        operators.join(", "),
        program.port,
        format_number(layout),
    );
    for kind in Kind::ALL {
        let name = format!("{kind:?}").to_uppercase();
        let _ = writeln!(text, "const bit<4>  {name} = {};", kind as u8);
    }
    for op in &program.operators {
        let _ = writeln!(text, "const bit<4>  {} = {};", op.word().to_uppercase(), *op as u8);
    }
    let _ = write!(
        text,
        "\n// Slots of each lane, in two banks for each job; rows of a bank.\nconst bit<32> SLOTS = {};\nconst bit<32> ROWS = {};\n\
         // Packets that are remembered, and packets of each channel among them.\nconst bit<32> CELLS = {};\nconst bit<32> WINDOW = {};\n\
         const bit<32> BANKS = {};\n\
         // Packets in a queue from which on packets are marked (ECN).\nconst bit<19> MARK_AT = {};\n\n\
         // What the lanes do with a packet.\nconst bit<2> NOTHING = 0;\nconst bit<2> FOLD = 1;\nconst bit<2> FETCH = 2;\nconst bit<2> EMPTY = 3;\n",
        program.slots(),
        layout.rows(),
        program.cells(),
        layout.window,
        2 * program.jobs,
        program.mark_at,
    );
    text
}

/// Bits of the map of lanes.
fn map_bits(program: &Program) -> u32 {
    if program.layout.has_extension() { 128 } else { 32 }
}

fn headers(program: &Program) -> String {
    let layout = &program.layout;
    let tag = layout.tag_bits;
    let (extension, more) = if layout.has_extension() {
        ("header more_h {\n    bit<96> valid;\n}\n\n", "    more_h     more;\n")
    } else {
        ("", "")
    };
    let lanes = each(program, |lane| format!("    lane_h     lane_{lane};"));
    format!(
        "typedef bit<48>  mac_t;
typedef bit<32>  ipv4_t;
typedef bit<9>   port_t;
typedef bit<{tag}> tag_t;
typedef bit<{}> map_t;

header ethernet_t {{
    mac_t   dst_addr;
    mac_t   src_addr;
    bit<16> ether_type;
}}

header ipv4_h {{
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
}}

header udp_t {{
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> len;
    bit<16> checksum;
}}

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
    bit<16> index;
    tag_t   tag;
    bit<32> value;
}}

struct headers_t {{
    ethernet_t ethernet;
    ipv4_h     ipv4;
    udp_t      udp;
    agg_h      agg;
{more}{lanes}}}

struct metadata_t {{
    // From the tables.
    bit<16> boot;
    bit<16> number;
    port_t  reducer_port;
    bit<32> bank;
    bit<32> first_slot;
    bit<32> first_cell;
    // Lanes that travel on, and how many they are.
    map_t   map;
    bit<16> pairs;
}}

// What a packet asks of all lanes.
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

fn parser(program: &Program) -> String {
    let last = program.layout.lanes - 1;
    let next = |lane: u8| if lane == last { "accept".into() } else { format!("has_{}", lane + 1) };
    let lanes = each(program, |lane| {
        let (valid, next) = (valid(program, lane), next(lane));
        format!(
            "    state has_{lane} {{ transition select({valid}) {{ 1: lane_{lane}; default: {next}; }} }}\n    \
             state lane_{lane} {{ packet.extract(hdr.lane_{lane}); transition {next}; }}"
        )
    });
    let agg = if program.layout.has_extension() { "packet.extract(hdr.more);\n        " } else { "" };
    format!(
        "parser AggParser(packet_in packet,
                 out headers_t hdr,
                 inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {{
    state start {{
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {{
            TYPE_IPV4: parse_ipv4;
            default: accept;
        }}
    }}

    state parse_ipv4 {{
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.flags & 1, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {{
            (5, 0, 0, PROTO_UDP): parse_udp;
            default: accept;
        }}
    }}

    state parse_udp {{
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {{
            AGG_PORT: parse_agg;
            default: accept;
        }}
    }}

    state parse_agg {{
        packet.extract(hdr.agg);
        {agg}transition select(hdr.agg.type) {{
            DATA: has_0;
            default: accept;
        }}
    }}

{lanes}}}
"
    )
}

/// Folds `held` and the lane's value into `held`.
fn fold(op: Op) -> &'static str {
    match op {
        Op::Add => "held = held + lane.value;",
        Op::Max => "held = held > lane.value ? held : lane.value;",
        Op::Min => "held = held < lane.value ? held : lane.value;",
        Op::Or => "held = held | lane.value;",
    }
}

/// An array of pairs: one register of both, or two where a tag is a whole key.
struct Array {
    name: &'static str,
    is_split: bool,
}

impl Array {
    fn declare(&self, size: &str) -> String {
        let name = self.name;
        if self.is_split {
            return format!(
                "    register<tag_t, bit<32>>({size}) {name}_tags;\n    register<bit<32>, bit<32>>({size}) {name}_values;\n"
            );
        }
        format!("    register<bit<64>, bit<32>>({size}) {name};\n")
    }

    /// Into `tag` and `held`.
    fn read(&self, at: &str, indent: usize) -> String {
        let (name, indent) = (self.name, " ".repeat(indent));
        if self.is_split {
            return format!("{name}_tags.read(tag, {at});\n{indent}{name}_values.read(held, {at});");
        }
        format!("{name}.read(pair, {at});\n{indent}tag = pair[63:32];\n{indent}held = pair[31:0];")
    }

    fn write(&self, at: &str, tag: &str, value: &str, indent: usize) -> String {
        let (name, indent) = (self.name, " ".repeat(indent));
        if self.is_split {
            return format!("{name}_tags.write({at}, {tag});\n{indent}{name}_values.write({at}, {value});");
        }
        format!("{name}.write({at}, {tag} ++ {value});")
    }
}

fn controls(program: &Program) -> String {
    let is_split = program.layout.tag_bits != crate::Layout::SHORT_TAG;
    let slots = Array { name: "slots", is_split };
    let shadow = Array { name: "shadow", is_split };
    let mut folds = String::new();
    for op in &program.operators {
        let name = op.word().to_uppercase();
        let _ = write!(folds, "if (task.op == {name}) {{ {} }} else ", fold(*op));
    }
    let folds = folds.trim_end_matches(" else ");
    let zero = if is_split { "0" } else { "32w0" };
    let (declared, signature, miss, repeat) = if program.layout.evict {
        (
            format!(
                "    // The pair that left with each packet: a duplicate sends it again.\n{}",
                shadow.declare("CELLS")
            ),
            "in bit<1> was_sent, ",
            format!(
                "{}
                    {}
                    lane.tag = tag;
                    lane.value = held;
                    sent = 1;",
                slots.write("at", "lane.tag", "lane.value", 20),
                shadow.write("task.cell", "tag", "held", 20)
            ),
            format!(
                "
        }} else if (task.what == NOTHING && was_sent == 1 && lane.isValid()) {{
            {}
            lane.tag = tag;
            lane.value = held;",
                shadow.read("task.cell", 12)
            ),
        )
    } else {
        (String::new(), "", "sent = 1;".into(), String::new())
    };
    let pair = if is_split { "" } else { "    bit<64> pair;\n" };
    format!(
        "// One lane: an array of slots, a tag and a value each. The tag 0 is an empty slot.
control Lane(inout lane_h lane, in task_t task, {signature}out bit<1> sent) {{
{}{declared}{pair}    tag_t tag;
    bit<32> at;
    bit<32> held;

    apply {{
        sent = 0;
        if (task.what == FOLD) {{
            if (lane.isValid()) {{
                at = task.first_slot + ((bit<32>)lane.index & (ROWS - 1));
                {}
                if (tag == 0) {{
                    {}
                }} else if (tag == lane.tag) {{
                    {folds}
                    {}
                }} else {{
                    {miss}
                }}
            }}
        }} else if (task.what == FETCH) {{
            {}
            if (tag != 0) {{
                lane.setValid();
                lane.index = (bit<16>)task.row;
                lane.tag = tag;
                lane.value = held;
                sent = 1;
            }}
        }} else if (task.what == EMPTY) {{
            {}{repeat}
        }}
    }}
}}

{}",
        slots.declare("SLOTS"),
        slots.read("at", 16),
        slots.write("at", "lane.tag", "lane.value", 20),
        slots.write("at", "lane.tag", "held", 20),
        slots.read("task.first_slot + task.row", 12),
        slots.write("task.first_slot + task.row", zero, "32w0", 12),
        quad()
    )
}

/// Four lanes: one action for each set of lanes that leave.
fn quad() -> String {
    let names = ["a", "b", "c", "d"];
    let leaves = |kept: usize| names.iter().enumerate().filter(move |(at, _)| kept >> at & 1 == 0);
    let action = |kept: usize| {
        let removed: String = leaves(kept).map(|(_, name)| format!("{name}.setInvalid(); ")).collect();
        let count = kept.count_ones();
        let counted = if count > 0 { format!("pairs = pairs + {count}; ") } else { String::new() };
        format!("    action keep_{kept}() {{ {removed}{counted}}}\n")
    };
    let actions: String = (0..16).map(action).collect();
    let list: String = (0..16).map(|kept| format!("keep_{kept}; ")).collect();
    let entries: String = (0..16).map(|kept| format!("            {kept}: keep_{kept}();\n")).collect();
    format!(
        "// Of four lanes, those in `kept` stay in the packet. One action for each set: all validity bits stand in one container of a
// pipeline, so that two actions on them take two stages.
control Quad(inout lane_h a, inout lane_h b, inout lane_h c, inout lane_h d, in bit<4> kept, inout bit<16> pairs) {{
{actions}
    table leave {{
        key = {{ kept: exact; }}
        actions = {{ {list}}}
        const default_action = keep_15();
        const entries = {{
{entries}        }}
    }}

    apply {{
        leave.apply();
    }}
}}
"
    )
}

fn ingress(program: &Program) -> String {
    let layout = &program.layout;
    let instances = each(program, |lane| format!("    Lane() fold_{lane};"));
    let quads: String = (0..layout.lanes / 4).map(|quad| format!("    Quad() quad_{quad};\n")).collect();
    let locals = each(program, |lane| format!("    bit<1> sent_{lane};"));
    let was = |lane| if layout.evict { format!("meta.map[{lane}:{lane}], ") } else { String::new() };
    let applies = each(program, |lane| {
        format!("        fold_{lane}.apply(hdr.lane_{lane}, task, {}sent_{lane});", was(lane))
    });
    let kept: String = (0..layout.lanes / 4)
        .map(|quad| {
            let lane = |at| format!("hdr.lane_{}, ", 4 * quad + at);
            let four: String = (0..4).map(lane).collect();
            let (high, low) = (4 * quad + 3, 4 * quad);
            format!("        quad_{quad}.apply({four}meta.map[{high}:{low}], meta.pairs);\n")
        })
        .collect();
    let bits: Vec<String> = lanes(program).rev().map(|lane| format!("sent_{lane}")).collect();
    let map = wrap(&bits, " ++ ", "                    ");
    let present = if layout.has_extension() { "hdr.more.valid ++ hdr.agg.valid" } else { "hdr.agg.valid" };
    let (set_map, unused) = if layout.has_extension() {
        let unused = match layout.lanes {
            128 => String::new(),
            lanes => format!(" || hdr.more.valid[95:{}] != 0", lanes - 32),
        };
        ("hdr.agg.valid = meta.map[31:0];\n        hdr.more.valid = meta.map[127:32];", unused)
    } else {
        let unused = match layout.lanes {
            32 => String::new(),
            lanes => format!(" || hdr.agg.valid[31:{lanes}] != 0"),
        };
        ("hdr.agg.valid = meta.map;", unused)
    };
    let known: Vec<String> =
        program.operators.iter().map(|op| format!("hdr.agg.op != {}", op.word().to_uppercase())).collect();
    let (known, header) = (known.join(" && "), 8 + layout.header_bytes());
    let pair = layout.pair_bytes();
    format!(
        "control AggIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {{
    register<bit<32>, bit<32>>(BANKS) generations;
    register<bit<1>, bit<32>>(BANKS) opens;
    register<bit<32>, bit<32>>(CELLS) cells;
    register<map_t, bit<32>>(CELLS) spills;
    // Packets from ports that no job plans, and packets that make no sense.
    counter<bit<32>>(1, CounterType.packets) refused;
{instances}{quads}
    task_t task;
    bit<32> generation;
    bit<1>  is_open;
    bit<32> cell;
{locals}
    action drop() {{
        mark_to_drop(standard_metadata);
    }}

    action refuse() {{
        refused.count(0);
        drop();
    }}

    action serve(bit<16> boot, bit<16> number, port_t reducer_port, bit<32> first_bank, bit<32> first_slot) {{
        meta.boot = boot;
        meta.number = number;
        meta.reducer_port = reducer_port;
        meta.bank = first_bank + (bit<32>)hdr.agg.generation[0:0];
        meta.first_slot = first_slot + (hdr.agg.generation[0:0] == 1 ? ROWS : 0);
    }}

    // The boot number of a job's entry counts the restarts of the switch.
    table jobs {{
        key = {{ hdr.agg.job: exact; }}
        actions = {{ serve; NoAction; }}
        const default_action = NoAction();
        size = {jobs};
    }}

    action accept_from(bit<32> first_cell) {{
        meta.first_cell = first_cell;
    }}

    table senders {{
        key = {{ standard_metadata.ingress_port: exact; hdr.agg.job: exact; hdr.agg.channel: exact; }}
        actions = {{ accept_from; refuse; }}
        const default_action = refuse();
        size = {channels};
    }}

    action forward(port_t port, mac_t next_hop) {{
        standard_metadata.egress_spec = port;
        hdr.ethernet.dst_addr = next_hop;
    }}

    table routes {{
        key = {{ hdr.ipv4.dst_addr: lpm; }}
        actions = {{ forward; drop; }}
        const default_action = drop();
        size = 1024;
    }}

    action set_length() {{
        hdr.udp.len = {header} + meta.pairs * {pair};
        hdr.ipv4.total_len = 20 + hdr.udp.len;
        hdr.udp.checksum = 0;
    }}

    // The packet goes back to its sender.
    action turn() {{
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
    }}

    // The packet did not fit the state of the switch.
    action tell_boot() {{
        hdr.agg.type = BOOT;
        hdr.agg.boot = meta.boot;
        hdr.agg.channel = meta.number;
    }}

    apply {{
        if (standard_metadata.checksum_error == 1 || standard_metadata.parser_error != error.NoError) {{
            refuse();
            return;
        }}
        bool is_asked = hdr.agg.isValid() && (hdr.agg.type == OPEN || hdr.agg.type == CLOSE || hdr.agg.type == READ || hdr.agg.type == CLEAR);
        bool is_data = hdr.agg.isValid() && hdr.agg.type == DATA;
        if (!is_asked && !is_data || !jobs.apply().hit) {{
            // Ordinary traffic, and packets between hosts.
            if (hdr.ipv4.isValid()) {{
                routes.apply();
            }} else {{
                drop();
            }}
            return;
        }}
        if (hdr.agg.version != VERSION || hdr.agg.format != FORMAT || {known}{unused}) {{
            refuse();
            return;
        }}
        generations.read(generation, meta.bank);
        opens.read(is_open, meta.bank);
        task = {{ NOTHING, hdr.agg.op, meta.first_slot, hdr.agg.seq & (ROWS - 1), 0 }};
        meta.map = 0;
        meta.pairs = 0;
        bool is_new = false;
        bool is_folded = false;
        if (is_data) {{
            if (senders.apply().miss) {{
                return;
            }}
            if (generation != hdr.agg.generation || is_open == 0) {{
                tell_boot();
            }} else {{
                task.cell = meta.first_cell + (hdr.agg.seq & (WINDOW - 1));
                cells.read(cell, task.cell);
                if (hdr.agg.seq < cell) {{
                    drop();
                    return;
                }}
                if (hdr.agg.seq > cell) {{
                    cells.write(task.cell, hdr.agg.seq);
                    task.what = FOLD;
                    is_new = true;
                }} else {{
                    spills.read(meta.map, task.cell);
                    is_folded = meta.map == 0;
                    meta.map = meta.map & ({present});
                }}
            }}
        }} else {{
            if (standard_metadata.ingress_port != meta.reducer_port) {{
                refuse();
                return;
            }}
            if (hdr.agg.boot != meta.boot) {{
                tell_boot();
            }} else if (hdr.agg.type == OPEN) {{
                if (hdr.agg.generation < generation) {{
                    drop();
                    return;
                }}
                if (hdr.agg.generation > generation) {{
                    generations.write(meta.bank, hdr.agg.generation);
                    opens.write(meta.bank, 1);
                }}
                hdr.agg.type = OPENED;
            }} else if (generation != hdr.agg.generation) {{
                tell_boot();
            }} else if (hdr.agg.type == CLOSE) {{
                opens.write(meta.bank, 0);
                hdr.agg.type = CLOSED;
            }} else if (is_open == 1) {{
                drop();
                return;
            }} else if (hdr.agg.type == READ) {{
                task.what = FETCH;
                hdr.agg.type = READREPLY;
            }} else {{
                task.what = EMPTY;
                hdr.agg.type = CLEARED;
            }}
        }}
{applies}        if (task.what == FOLD || task.what == FETCH) {{
            meta.map = (map_t)({map});
        }}
        if (is_new) {{
            spills.write(task.cell, meta.map);
            is_folded = meta.map == 0;
        }}
{kept}        {set_map}
        set_length();
        if (is_asked) {{
            turn();
            return;
        }}
        if (hdr.agg.type == DATA) {{
            if (is_folded) {{
                hdr.agg.type = ACK;
                hdr.agg.aux = hdr.ipv4.ecn == 3 ? 32w1 : 0;
                turn();
                return;
            }}
            hdr.agg.type = SPILL;
        }}
        routes.apply();
    }}
}}
",
        jobs = program.jobs,
        channels = program.channels,
    )
}

/// A list over several lines.
fn wrap(items: &[String], join: &str, indent: &str) -> String {
    let lines: Vec<String> = items.chunks(12).map(|line| line.join(join)).collect();
    lines.join(&format!("{join}\n{indent}"))
}

fn tail(program: &Program) -> String {
    let lanes = each(program, |lane| format!("        packet.emit(hdr.lane_{lane});"));
    let more = if program.layout.has_extension() { "        packet.emit(hdr.more);\n" } else { "" };
    let summed = "hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16";
    format!(
        "control AggVerify(inout headers_t hdr, inout metadata_t meta) {{
    apply {{
        verify_checksum({summed});
    }}
}}

control AggEgress(inout headers_t hdr,
                  inout metadata_t meta,
                  inout standard_metadata_t standard_metadata) {{
    apply {{
        if (hdr.ipv4.isValid() && hdr.ipv4.ecn != 0 && standard_metadata.enq_qdepth >= MARK_AT) {{
            hdr.ipv4.ecn = 3;
        }}
    }}
}}

control AggCompute(inout headers_t hdr, inout metadata_t meta) {{
    apply {{
        update_checksum({summed});
    }}
}}

control AggDeparser(packet_out packet, in headers_t hdr) {{
    apply {{
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.agg);
{more}{lanes}    }}
}}

V1Switch(AggParser(), AggVerify(), AggIngress(), AggEgress(), AggCompute(), AggDeparser()) main;
"
    )
}
