//! Ingress: tables, cells, banks, and the answers.

use super::headers::row_bits;
use super::{EXCHANGE, each, lanes};
use crate::program::Program;

pub(super) fn ingress(program: &Program) -> String {
    let layout = &program.layout;
    let instances = each(program, |lane| format!("    Lane() fold_{lane};"));
    let quads: String = (0..layout.lanes / 4).map(|quad| format!("    Quad() quad_{quad};\n")).collect();
    let locals = each(program, |lane| format!("    bit<1> sent_{lane};"));
    let was = |lane| if layout.evict { format!("meta.map[{lane}:{lane}], ") } else { String::new() };
    let applies = each(program, |lane| {
        format!("            fold_{lane}.apply(hdr.lane_{lane}, task, {}sent_{lane});", was(lane))
    });
    let kept: String = (0..layout.lanes / 4)
        .map(|quad| {
            let lane = |at| format!("hdr.lane_{}, ", 4 * quad + at);
            let four: String = (0..4).map(lane).collect();
            let (high, low) = (4 * quad + 3, 4 * quad);
            format!("quad_{quad}.apply({four}meta.map[{high}:{low}], meta.pairs);\n            ")
        })
        .collect();
    let bits: Vec<String> = lanes(program).rev().map(|lane| format!("sent_{lane}")).collect();
    let quads_of_bits = bits.chunks(4).map(|four| four.join(" ++ ")).collect();
    let map = concatenated(quads_of_bits, "                        ");
    let present = if layout.has_extension() { "hdr.more.valid ++ hdr.agg.valid" } else { "hdr.agg.valid" };
    let (set_map, unused) = if layout.has_extension() {
        let unused = match layout.lanes {
            128 => String::new(),
            lanes => format!(" || is_data && hdr.more.valid[95:{}] != 0", lanes - 32),
        };
        ("hdr.agg.valid = meta.map[31:0]; hdr.more.valid = meta.map[127:32];", unused)
    } else {
        let unused = match layout.lanes {
            32 => String::new(),
            lanes => format!(" || is_data && hdr.agg.valid[31:{lanes}] != 0"),
        };
        ("hdr.agg.valid = meta.map;", unused)
    };
    let too_many = match layout.has_extension() {
        true => "hdr.more.valid != 0 || hdr.agg.valid[31:16] != 0",
        false => "hdr.agg.valid[31:16] != 0",
    };
    let known: Vec<String> =
        program.operators.iter().map(|op| format!("hdr.agg.op != {}", op.word().to_uppercase())).collect();
    let (known, header) = (known.join(" && "), 8 + layout.header_bytes());
    let (pair, block) = (layout.pair_bytes(), layout.block_bytes());
    let set_row = match row_bits(program) {
        (low, 0) => format!("hdr.row = {{ hdr.agg.valid[{}:0] }};", low - 1),
        (_, high) => format!("hdr.row = {{ hdr.agg.valid, hdr.more.valid[{}:0] }};", high - 1),
    };
    // A pair that leaves its slot for another one is no pair of the mapper, and goes along.
    let leave = if layout.evict {
        ""
    } else {
        "if (is_answer) {
                // The mapper has the lanes that are left.
                meta.map = 0;
            }
            "
    };
    let (is_data, unplanned, missed, is_stream) = if program.is_parent {
        (
            "(hdr.agg.type == DATA || hdr.agg.type == READREPLY || hdr.agg.type == OVERFLOW && hdr.agg.aux == 0)",
            "NoAction",
            "if (hdr.agg.type == DATA) {
                refuse();
                return;
            }
            is_ours = false;",
            "hdr.agg.type == DATA || hdr.agg.type == OVERFLOW",
        )
    } else {
        ("hdr.agg.type == DATA", "refuse", "return;", "hdr.agg.type == DATA")
    };
    let row = match layout.is_dense() {
        // A packet's number in the round is its row.
        true => "task.row = hdr.agg.seq & (ROWS - 1);\n                        ",
        false => "",
    };
    format!(
        "control AggIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {{
    register<bit<32>, bit<32>>(BANKS) generations;
    register<bit<1>, bit<32>>(BANKS) opens;
    register<bit<32>, bit<32>>(CELLS) cells;
    register<map_t, bit<32>>(CELLS) overflows;
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

    // A device adds its earlier starts to `boot`: what the registers hold does not outlive one.
    @boot_number(\"boot\")
    action serve(bit<16> boot, bit<16> number, port_t reducer_port, bit<1> has_parent, bit<32> first_bank, bit<32> first_slot) {{
        meta.boot = boot;
        meta.number = number;
        meta.reducer_port = reducer_port;
        meta.has_parent = has_parent;
        meta.bank = first_bank + (bit<32>)hdr.agg.generation[0:0];
        meta.first_slot = first_slot + (hdr.agg.generation[0:0] == 1 ? ROWS : 0);
    }}

    // The boot number of a job's entry counts the starts of the switch.
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
        key = {{ standard_metadata.ingress_port: exact; hdr.agg.job: exact; hdr.agg.type: exact; hdr.agg.channel: exact; }}
        actions = {{ accept_from; {unplanned}; }}
        const default_action = {unplanned}();
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

    // `length`: without the pairs.
    action set_length(bit<16> length) {{
        hdr.udp.len = length + meta.pairs * {pair};
        hdr.ipv4.total_len = 20 + hdr.udp.len;
        hdr.udp.checksum = 0;
    }}

    // The packet goes back to its sender.
    action turn() {{
        standard_metadata.egress_spec = standard_metadata.ingress_port;
{EXCHANGE}
    }}

    // The packet did not fit the state of the switch.
    action report_boot() {{
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
        bool is_data = hdr.agg.isValid() && {is_data};
        // Ordinary traffic, packets between hosts, and requests to other switches of the job only pass.
        bool is_ours = false;
        if ((is_asked || is_data) && jobs.apply().hit) {{
            if (hdr.agg.version != VERSION || hdr.agg.format != FORMAT || {known}{unused}) {{
                refuse();
                return;
            }}
            is_ours = is_data || hdr.agg.channel == meta.number;
        }}
        if (is_ours && is_data && senders.apply().miss) {{
            {missed}
        }}
        if (is_ours) {{
            generations.read(generation, meta.bank);
            opens.read(is_open, meta.bank);
            bit<32> row = hdr.agg.seq + (bit<32>)hdr.agg.aux[31:16];
            task = {{ NOTHING, hdr.agg.op, meta.first_slot, row & (ROWS - 1), 0 }};
            // The packet comes back with the rows that it has read.
            bool is_again = standard_metadata.instance_type == 4;
            bit<16> length = {header};
            meta.map = 0;
            meta.pairs = 0;
            bool is_new = false;
            bool is_folded = false;
            if (is_data) {{
                if (generation != hdr.agg.generation || is_open == 0) {{
                    report_boot();
                }} else {{
                    task.cell = meta.first_cell + (hdr.agg.seq & (WINDOW - 1));
                    cells.read(cell, task.cell);
                    if (hdr.agg.seq < cell) {{
                        drop();
                        return;
                    }}
                    if (hdr.agg.seq > cell) {{
                        cells.write(task.cell, hdr.agg.seq);
                        {row}task.what = FOLD;
                        is_new = true;
                    }} else {{
                        overflows.read(meta.map, task.cell);
                        is_folded = meta.map == 0;
                        meta.map = meta.map & ({present});
                    }}
                }}
            }} else {{
                if (!is_again && standard_metadata.ingress_port != meta.reducer_port) {{
                    refuse();
                    return;
                }}
                if (is_again && (hdr.agg.boot != meta.boot || generation != hdr.agg.generation)) {{
                    drop();
                    return;
                }}
                if (hdr.agg.boot != meta.boot) {{
                    // A reducer that does not know the switch learns the last generation of the bank.
                    if (hdr.agg.type == OPEN) {{
                        hdr.agg.seq = generation;
                    }}
                    report_boot();
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
                    report_boot();
                }} else if (hdr.agg.type == CLOSE) {{
                    opens.write(meta.bank, 0);
                    hdr.agg.type = CLOSED;
                }} else if (is_open == 1) {{
                    drop();
                    return;
                }} else if (!is_again && (hdr.agg.aux == 0 || hdr.agg.aux > MOST_ROWS || {too_many} || hdr.agg.type == CLEAR && hdr.agg.valid != 0)) {{
                    drop();
                    return;
                }} else if (hdr.agg.type == READ) {{
                    if (hdr.agg.aux[31:16] == 0) {{
                        // Nothing is read yet. `valid`: rows of an answer; a copy of the request goes on with the others.
                        if (hdr.agg.valid != 0 && hdr.agg.aux > hdr.agg.valid) {{
                            meta.rest = hdr.agg.aux - hdr.agg.valid;
                            hdr.agg.aux = hdr.agg.valid;
                        }}
                        hdr.agg.valid = 0;
                    }}
                    if (meta.rest == 0) {{
                        task.what = FETCH;
                    }}
                }} else {{
                    task.what = EMPTY;
                }}
            }}
{applies}            if (task.what == FOLD || task.what == FETCH) {{
                meta.map = (map_t)({map});
            }}
            if (is_new) {{
                overflows.write(task.cell, meta.map);
                is_folded = meta.map == 0;
            }}
            if (task.what == FETCH) {{
                if (is_again) {{
                    length = hdr.udp.len;
                }}
                if (meta.map != 0) {{
                    if ({present} != 0) {{
                        hdr.row.setValid();
                        {set_row}
                        length = length + {block};
                    }}
                    {set_map}
                }}
            }} else {{
                {set_map}
            }}
            bool is_stream = {is_stream};
            // The mapper sends what is left past the switches.
            bool is_answer = is_stream && (is_folded || meta.has_parent == 0);
            {leave}{kept}set_length(length);
            if (is_asked) {{
                if (meta.rest != 0) {{
                    standard_metadata.egress_spec = meta.reducer_port;
                    return;
                }}
                if (task.what != NOTHING) {{
                    hdr.agg.aux = hdr.agg.aux + 0x10000;
                    if (hdr.agg.aux[31:16] < hdr.agg.aux[15:0] && hdr.udp.len <= MOST_LENGTH) {{
                        meta.again = 1;
                        standard_metadata.egress_spec = meta.reducer_port;
                        return;
                    }}
                    hdr.agg.type = task.what == FETCH ? READREPLY : CLEARED;
                }}
                turn();
                // A packet that has come back has no ingress port.
                standard_metadata.egress_spec = meta.reducer_port;
                return;
            }}
            if (is_answer) {{
                hdr.agg.type = ACK;
                hdr.agg.aux = hdr.ipv4.ecn == 3 ? 32w1 : 0;
                turn();
                return;
            }}
            if (is_stream) {{
                hdr.agg.type = OVERFLOW;
            }}
        }}
        // The only place of this table: BMv2 cannot apply a table at two places of a path.
        if (hdr.ipv4.isValid()) {{
            routes.apply();
        }} else {{
            drop();
        }}
    }}
}}
",
        jobs = program.jobs,
        channels = program.channels,
    )
}

/// Concatenates parts pair by pair, four to a line. A chain of as many operators would nest as deeply, and readers of BMv2's JSON limit the depth.
fn concatenated(parts: Vec<String>, indent: &str) -> String {
    let (mut parts, mut each) = (parts, 1);
    while parts.len() > 1 {
        each *= 2;
        let join = if each > 4 { format!(" ++\n{indent}") } else { " ++ ".into() };
        let pair = |two: &[String]| match two {
            [one, other] => format!("({one}){join}({other})"),
            rest => rest.concat(),
        };
        parts = parts.chunks(2).map(pair).collect();
    }
    parts.concat()
}
