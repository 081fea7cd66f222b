//! Ingress: tables, banks, cells, and the way of a packet.

use super::entries::{Decisions, join};
use crate::op::Op;
use crate::packet::MOST_ROWS;
use crate::program::Program;
use crate::program::text::each;

const OF_KINDS: [(&str, &str); 11] = [
    ("agg", "hdr.agg.isValid()"),
    ("error", "ig_prsr_md.parser_err"),
    ("damaged", "meta.damaged"),
    ("around", "meta.around"),
    ("version", "hdr.agg.version"),
    ("type", "hdr.agg.type"),
    ("op", "hdr.agg.op"),
    ("format", "hdr.agg.format"),
    ("valid", "hdr.agg.valid"),
    ("read", "hdr.agg.read"),
    ("count", "hdr.agg.count"),
];

const OF_REQUESTS: [(&str, &str); 7] = [
    ("kind", "meta.kind"),
    ("served", "meta.is_served"),
    ("planned", "meta.is_planned"),
    ("around", "meta.around"),
    ("boot", "meta.other_boot"),
    ("number", "meta.other_number"),
    ("port", "meta.other_port"),
];

const OF_PLANS: [(&str, &str); 7] = [
    ("kind", "meta.kind"),
    ("bank", "meta.bank"),
    ("around", "meta.around"),
    ("left", "meta.left"),
    ("excess", "meta.excess"),
    ("rest", "meta.rest"),
    ("parent", "meta.has_parent"),
];

const OF_NUMBERS: [(&str, &str); 2] = [("kind", "meta.kind"), ("bank", "meta.bank")];

const OF_MAPS: [(&str, &str); 2] = [("task", "meta.task"), ("age", "meta.age")];

const OF_ENDS: [(&str, &str); 6] = [
    ("task", "meta.task"),
    ("age", "meta.age"),
    ("map", "meta.map"),
    ("parent", "meta.has_parent"),
    ("routed", "meta.is_routed"),
    ("ecn", "hdr.ipv4.ecn"),
];

/// Packets of the operator by their kinds.
fn kinds_of(op: Op, program: &Program, kinds: &mut Decisions) {
    let op = op.word().to_uppercase();
    let sound =
        [("agg", "true"), ("error", "0"), ("damaged", "0"), ("version", "VERSION"), ("format", "FORMAT")];
    let known: Vec<(&str, &str)> = sound.into_iter().chain([("op", op.as_str())]).collect();
    let mut row = |values: &[(&str, &str)], kind: &str| {
        kinds.row(&[known.as_slice(), values].concat(), &format!("is({kind})"));
    };
    let absent = u64::from(u32::MAX) << program.layout.lanes & u64::from(u32::MAX);
    let lanes = format!("0 &&& {absent:#010x}");
    row(&[("type", "DATA"), ("valid", &lanes)], "IS_DATA");
    if program.is_parent {
        row(&[("type", "OVERFLOW"), ("read", "0"), ("count", "0"), ("valid", &lanes)], "IS_LEFT");
        row(&[("type", "READREPLY"), ("valid", &lanes)], "IS_ROW");
    }
    row(&[("type", "OPEN")], "IS_OPEN");
    row(&[("type", "CLOSE")], "IS_CLOSE");
    // 1 to MOST_ROWS rows, a power of two.
    let of_rows = ["READ", "CLEAR"];
    let (most, fewer) = (MOST_ROWS.to_string(), format!("0 &&& {:#06x}", 0xffff & !(MOST_ROWS - 1)));
    for name in of_rows {
        row(&[("around", "PLAIN"), ("type", name), ("count", "0")], "IS_WRONG");
    }
    for count in [most.as_str(), &fewer] {
        let fresh = [("around", "PLAIN"), ("read", "0"), ("count", count)];
        let mut row = |name, valid, kind| {
            row(&[&fresh[..], &[("type", name), ("valid", valid)]].concat(), kind);
        };
        row("READ", "0", "IS_READ");
        row("READ", "0 &&& 0xffff0000", "IS_LONG");
        row("CLEAR", "0", "IS_CLEAR");
    }
    for name in of_rows {
        row(&[("around", "PLAIN"), ("type", name)], "IS_WRONG");
    }
    // Those that come around were looked at before. If nothing is read yet, `valid` is no map.
    row(&[("around", "VALUES"), ("type", "READ")], "IS_HALF");
    row(&[("type", "READ"), ("valid", "0")], "IS_READ");
    row(&[("type", "READ"), ("read", "0")], "IS_LONG");
    row(&[("type", "READ")], "IS_READ");
    row(&[("type", "CLEAR")], "IS_CLEAR");
}

fn kinds(program: &Program) -> String {
    let mut kinds = Decisions::new("kinds", &OF_KINDS);
    program.operators.iter().for_each(|op| kinds_of(*op, program, &mut kinds));
    let whole = [("error", "0"), ("damaged", "0")];
    let mut types = vec!["DATA", "OPEN", "CLOSE", "READ", "CLEAR"];
    if program.is_parent {
        types.push("READREPLY");
        let left = [("type", "OVERFLOW"), ("read", "0"), ("count", "0")];
        kinds.row(&[&[("agg", "true")][..], &whole, &left].concat(), "is(IS_BAD)");
    }
    for name in types {
        kinds.row(&[&[("agg", "true"), ("type", name)][..], &whole].concat(), "is(IS_BAD)");
    }
    kinds.row(&whole, "is(PASSES)");
    kinds.text(&["is"], "is(IS_DAMAGED)")
}

fn requests(program: &Program) -> String {
    let mut requests = Decisions::new("requests", &OF_REQUESTS);
    requests.row(&[("kind", "IS_DAMAGED")], "refuse()");
    requests.row(&[("served", "0")], "pass()");
    requests.row(&[("kind", "PASSES")], "pass()");
    requests.row(&[("kind", "IS_BAD")], "refuse()");
    requests.row(&[("kind", "IS_DATA"), ("planned", "1")], "look_at_bank()");
    requests.row(&[("kind", "IS_DATA")], "refuse()");
    if program.is_parent {
        // Of a stream that nobody has planned here, the packets go on.
        for kind in ["IS_LEFT", "IS_ROW"] {
            requests.row(&[("kind", kind), ("planned", "1")], "look_at_bank()");
            requests.row(&[("kind", kind)], "pass()");
        }
    }
    let right = [("boot", "0"), ("number", "0")];
    let planned = [right, [("around", "PLAIN"), ("port", "0")]].concat();
    let mut row = |values: &[&[(&str, &str)]], call: &str| requests.row(&values.concat(), call);
    row(&[&[("kind", "IS_OPEN")], &planned], "open_bank()");
    row(&[&[("kind", "IS_CLOSE")], &planned], "close_bank()");
    row(&[&planned], "look_at_bank()");
    row(&[&[("kind", "IS_OPEN"), ("around", "PLAIN"), ("number", "0"), ("port", "0")]], "show_bank()");
    row(&[&[("around", "PLAIN"), ("number", "0"), ("port", "0")]], "misfit()");
    row(&[&[("around", "PLAIN"), ("number", "0")]], "refuse()");
    row(&[&right], "look_at_bank()");
    row(&[&[("number", "0")]], "give_up()");
    let actions =
        ["pass", "refuse", "give_up", "misfit", "show_bank", "look_at_bank", "open_bank", "close_bank"];
    requests.text(&actions, "pass()")
}

/// Streams that are folded.
fn streams(program: &Program) -> &'static [&'static str] {
    if program.is_parent { &["IS_DATA", "IS_LEFT", "IS_ROW"] } else { &["IS_DATA"] }
}

fn plans(program: &Program) -> String {
    let mut plans = Decisions::new("plans", &OF_PLANS);
    let mut row = |values: &[(&str, &str)], call: &str| plans.row(values, call);
    row(&[("kind", "PASSES")], "plan(GO_ON, KEEP_ALL)");
    row(&[("kind", "REFUSED")], "plan(REFUSE, KEEP_ALL)");
    row(&[("kind", "DROPPED")], "plan(DROP, KEEP_ALL)");
    row(&[("kind", "MISFITS")], "plan(REPORT_BACK, KEEP_NONE)");
    for kind in streams(program) {
        if *kind == "IS_ROW" {
            row(&[("kind", kind), ("bank", "FREE")], "plan(FOLD_ROW, KEEP_MAP)");
        } else {
            row(&[("kind", kind), ("bank", "FREE"), ("parent", "1")], "plan(FOLD, KEEP_MAP)");
            row(&[("kind", kind), ("bank", "FREE")], "plan(FOLD, KEEP_NONE)");
        }
        row(&[("kind", kind)], "plan(REPORT, KEEP_NONE)");
    }
    row(&[("kind", "IS_OPEN"), ("bank", "FREE")], "plan(ANSWER_OPEN, KEEP_NONE)");
    row(&[("kind", "IS_OPEN")], "plan(DROP, KEEP_ALL)");
    // Rows of a closed bank alone.
    row(&[("bank", "FREE")], "plan(DROP, KEEP_ALL)");
    row(&[("bank", "OTHER"), ("around", "PLAIN")], "plan(REPORT_BACK, KEEP_NONE)");
    row(&[("bank", "OTHER")], "plan(DROP, KEEP_ALL)");
    row(&[("kind", "IS_CLOSE")], "plan(ANSWER_CLOSE, KEEP_NONE)");
    row(&[("kind", "IS_HALF")], "plan(FETCH_VALUES, KEEP_ALL)");
    row(&[("kind", "IS_LONG"), ("rest", "0")], "fetch_first()");
    row(&[("kind", "IS_LONG")], "plan(SPLIT, KEEP_NONE)");
    row(&[("kind", "IS_READ"), ("left", "0")], "plan(ANSWER_READ, KEEP_NONE)");
    row(&[("kind", "IS_READ"), ("excess", "0")], "plan(FETCH_TAGS, KEEP_ALL)");
    row(&[("kind", "IS_READ")], "plan(ANSWER_READ, KEEP_NONE)");
    row(&[("kind", "IS_CLEAR"), ("left", "0")], "plan(ANSWER_CLEAR, KEEP_NONE)");
    row(&[("kind", "IS_CLEAR")], "plan(EMPTY, KEEP_NONE)");
    plans.text(&["plan", "fetch_first"], "plan(DROP, KEEP_ALL)")
}

fn numbers(program: &Program) -> String {
    let mut numbers = Decisions::new("numbers", &OF_NUMBERS);
    for kind in streams(program) {
        numbers.row(&[("kind", kind), ("bank", "FREE")], "compare()");
    }
    numbers.text(&["compare", "NoAction"], "NoAction()")
}

fn maps(program: &Program) -> String {
    let mut maps = Decisions::new("maps", &OF_MAPS);
    let tasks: &[&str] = if program.is_parent { &["FOLD", "FOLD_ROW"] } else { &["FOLD"] };
    for task in tasks {
        maps.row(&[("task", task), ("age", "NEW")], "keep_map()");
        maps.row(&[("task", task), ("age", "SAME")], "take_map()");
    }
    maps.text(&["keep_map", "take_map", "NoAction"], "NoAction()")
}

fn ends(program: &Program) -> String {
    let mut ends = Decisions::new("ends", &OF_ENDS);
    let mut row = |values: &[(&str, &str)], call: &str| ends.row(values, call);
    row(&[("task", "GO_ON"), ("routed", "1")], "go_on()");
    row(&[("task", "REPORT"), ("routed", "1")], "report()");
    row(&[("task", "REPORT_BACK")], "report_back()");
    row(&[("task", "FOLD"), ("age", "OLD")], "drop_it()");
    // The mapper sends what is left past the switches.
    for all_of in [("map", "0"), ("parent", "0")] {
        row(&[("task", "FOLD"), all_of, ("ecn", "3")], "acknowledge(1)");
        row(&[("task", "FOLD"), all_of], "acknowledge(0)");
    }
    row(&[("task", "FOLD"), ("routed", "1")], "leave_pairs(OVERFLOW)");
    if program.is_parent {
        row(&[("task", "FOLD_ROW"), ("age", "OLD")], "drop_it()");
        row(&[("task", "FOLD_ROW"), ("routed", "1")], "leave_pairs(READREPLY)");
    }
    row(&[("task", "ANSWER_OPEN")], "answer_empty(OPENED)");
    row(&[("task", "ANSWER_CLOSE")], "answer_empty(CLOSED)");
    row(&[("task", "ANSWER_READ")], "answer(READREPLY)");
    row(&[("task", "ANSWER_CLEAR")], "answer_empty(CLEARED)");
    row(&[("task", "FETCH_TAGS")], "come_for_values()");
    row(&[("task", "FETCH_VALUES")], "come_for_rows()");
    row(&[("task", "EMPTY")], "come_for_rows()");
    row(&[("task", "SPLIT")], "split()");
    row(&[("task", "REFUSE")], "refuse_it()");
    let actions = [
        "drop_it",
        "refuse_it",
        "go_on",
        "report",
        "report_back",
        "acknowledge",
        "leave_pairs",
        "answer",
        "answer_empty",
        "come_for_values",
        "come_for_rows",
        "split",
    ];
    ends.text(&actions, "drop_it()")
}

pub(super) fn ingress(program: &Program) -> String {
    let layout = &program.layout;
    let declared = each(program, |lane| format!("    Lane() fold_{lane};"))
        + &(0..layout.lanes / 2).map(|two| format!("    Two() two_{two};\n")).collect::<String>();
    let applies = each(program, |lane| {
        format!(
            "        fold_{lane}.apply(hdr.lane_{lane}, meta.task, meta.age, hdr.agg.op, meta.first_slot, meta.parity, meta.sent_{lane});"
        )
    });
    let leave: String = (0..layout.lanes / 2)
        .map(|two| {
            let (low, high) = (2 * two, 2 * two + 1);
            format!(
                "        two_{two}.apply(hdr.lane_{low}, hdr.lane_{high}, meta.keep, meta.map[{high}:{low}]);\n"
            )
        })
        .collect();
    let flags: Vec<String> = (0..layout.lanes).rev().map(|lane| format!("meta.sent_{lane}")).collect();
    let prepared = |value: u8| {
        each(program, |lane| {
            format!(
                "        hdr.lane_{lane}.setValid();\n        hdr.lane_{lane}.index = meta.row;\n        hdr.lane_{lane}.value = {value};"
            )
        })
    };
    let emits = each(program, |lane| format!("        packet.emit(hdr.lane_{lane});"));
    let bank = "meta.first_bank[31:1] ++ meta.parity[0:0]";
    let cell = join("meta.first_cell", "hdr.agg.seq", layout.window.ilog2());
    format!(
        "struct held_t {{
    bit<32> generation;
    bit<32> is_open;
}}

control AggIngress(inout headers_t hdr,
                   inout metadata_t meta,
                   in ingress_intrinsic_metadata_t ig_intr_md,
                   in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {{
    Register<held_t, bit<32>>(BANKS) banks;
    Register<bit<32>, bit<32>>(CELLS) cells;
    Register<map_t, bit<32>>(CELLS) overflows;
    // Packets from ports that no job plans, and packets that make no sense.
    Counter<bit<32>, bit<1>>(1, CounterType_t.PACKETS) refused;
    Hash<map_t>(HashAlgorithm_t.IDENTITY) joined;
{declared}
    RegisterAction<held_t, bit<32>, bank_t>(banks) look = {{
        void apply(inout held_t held, out bank_t found) {{
            if (held.generation != hdr.agg.generation) {{
                found = OTHER;
            }} else if (held.is_open == 0) {{
                found = SHUT;
            }} else {{
                found = FREE;
            }}
        }}
    }};
    RegisterAction<held_t, bit<32>, bank_t>(banks) open = {{
        void apply(inout held_t held, out bank_t found) {{
            if (held.generation < hdr.agg.generation) {{
                held.generation = hdr.agg.generation;
                held.is_open = 1;
                found = FREE;
            }} else if (held.generation == hdr.agg.generation) {{
                found = FREE;
            }} else {{
                found = OTHER;
            }}
        }}
    }};
    RegisterAction<held_t, bit<32>, bank_t>(banks) close = {{
        void apply(inout held_t held, out bank_t found) {{
            if (held.generation == hdr.agg.generation) {{
                held.is_open = 0;
                found = SHUT;
            }} else {{
                found = OTHER;
            }}
        }}
    }};
    RegisterAction<held_t, bit<32>, bit<32>>(banks) show = {{
        void apply(inout held_t held, out bit<32> generation) {{
            generation = held.generation;
        }}
    }};
    RegisterAction<bit<32>, bit<32>, age_t>(cells) number = {{
        void apply(inout bit<32> cell, out age_t age) {{
            if (hdr.agg.seq > cell) {{
                cell = hdr.agg.seq;
                age = NEW;
            }} else if (hdr.agg.seq == cell) {{
                age = SAME;
            }} else {{
                age = OLD;
            }}
        }}
    }};
    RegisterAction<map_t, bit<32>, map_t>(overflows) new_map = {{
        void apply(inout map_t map, out map_t result) {{
            map = meta.sent;
            result = map;
        }}
    }};
    RegisterAction<map_t, bit<32>, map_t>(overflows) old_map = {{
        void apply(inout map_t map, out map_t result) {{
            result = map;
        }}
    }};

    // A device adds its earlier starts to `boot`: what the registers hold does not outlive one.
    @boot_number(\"boot\")
    action serve(bit<16> boot, bit<16> number, port_t reducer_port, bit<1> has_parent, bit<32> first_bank, bit<32> first_slot) {{
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
    }}

    // The boot number of a job's entry counts the starts of the switch.
    table jobs {{
        key = {{ hdr.agg.job: exact; }}
        actions = {{ serve; NoAction; }}
        const default_action = NoAction();
        size = {jobs};
    }}

    action accept_from(bit<32> first_cell) {{
        meta.is_planned = 1;
        meta.first_cell = first_cell;
    }}

    table senders {{
        key = {{
            ig_intr_md.ingress_port: exact @name(\"standard_metadata.ingress_port\");
            hdr.agg.job: exact;
            hdr.agg.type: exact;
            hdr.agg.channel: exact;
        }}
        actions = {{ accept_from; NoAction; }}
        const default_action = NoAction();
        size = {channels};
    }}

    action forward(port_t port, mac_t next_hop) {{
        meta.is_routed = 1;
        meta.next_port = port;
        meta.next_hop = next_hop;
    }}

    action drop() {{
        meta.is_routed = 0;
    }}

    table routes {{
        key = {{ hdr.ipv4.dst_addr: lpm; }}
        actions = {{ forward; drop; }}
        const default_action = drop();
        size = 1024;
    }}

    action is(kind_t kind) {{
        meta.kind = kind;
    }}

    // Requests for rows are for 1 to {MOST_ROWS} of them.
{kinds}
    action pass() {{ meta.kind = PASSES; }}
    action refuse() {{ meta.kind = REFUSED; }}
    action give_up() {{ meta.kind = DROPPED; }}
    action misfit() {{ meta.kind = MISFITS; }}
    // A reducer that does not know the switch learns the last generation of the bank.
    action show_bank() {{
        meta.kind = MISFITS;
        hdr.agg.seq = show.execute({bank});
    }}
    action look_at_bank() {{ meta.bank = look.execute({bank}); }}
    action open_bank() {{ meta.bank = open.execute({bank}); }}
    action close_bank() {{ meta.bank = close.execute({bank}); }}

    // Requests name the switch; they come from the reducer, with the right boot number.
{requests}
    action read_row() {{
{to_read}    }}

    action clear_row() {{
{to_clear}    }}

    // Requests bring no lanes.
    table rows {{
        key = {{ meta.kind: exact; }}
        actions = {{ read_row; clear_row; NoAction; }}
        const default_action = NoAction();
        const entries = {{
            IS_READ: read_row();
            IS_LONG: read_row();
            IS_CLEAR: clear_row();
        }}
        size = 3;
    }}

    action compare() {{ meta.age = number.execute({cell}); }}

{numbers}
    action plan(task_t task, keep_t keep) {{
        meta.task = task;
        meta.keep = keep;
    }}

    // Nothing is read yet, and `valid` is no map.
    action fetch_first() {{
        meta.task = FETCH_TAGS;
        meta.keep = KEEP_ALL;
        hdr.agg.valid = 0;
    }}

{plans}
    action keep_map() {{ meta.map = new_map.execute({cell}); }}
    action take_map() {{ meta.map = old_map.execute({cell}); }}

    // Duplicates of a packet get the map of the first copy.
{maps}
    action first_row() {{
        hdr.agg.valid = meta.sent;
    }}

    action next_row() {{
        hdr.row.setValid();
        hdr.row.valid = hdr.agg.valid[{row}:0];
        hdr.agg.valid = meta.sent;
    }}

    // The pairs of a row come before those of earlier rows; an empty row adds nothing.
    table joins {{
        key = {{ meta.task: ternary; meta.sent: ternary; hdr.agg.valid: ternary; }}
        actions = {{ first_row; next_row; NoAction; }}
        const default_action = NoAction();
        const entries = {{
            (FETCH_VALUES, 0, _): NoAction();
            (FETCH_VALUES, _, 0): first_row();
            (FETCH_VALUES, _, _): next_row();
        }}
        size = 3;
    }}

    action drop_it() {{
        ig_dprsr_md.drop_ctl = 1;
    }}

    action refuse_it() {{
        refused.count(0);
        ig_dprsr_md.drop_ctl = 1;
    }}

    action send_on(step_t step) {{
        hdr.bridge.step = step;
        ig_tm_md.ucast_egress_port = meta.next_port;
        hdr.ethernet.dst_addr = meta.next_hop;
    }}

    action go_on() {{
        send_on(PLAIN);
    }}

    // The packet did not fit the state of the switch.
    action report() {{
        send_on(ON);
        hdr.agg.type = BOOT;
        hdr.agg.boot = meta.boot;
        hdr.agg.channel = meta.number;
        hdr.agg.valid = 0;
    }}

    action answer(bit<4> type) {{
        hdr.bridge.step = BACK;
        ig_tm_md.ucast_egress_port = meta.reducer_port;
        hdr.agg.type = type;
    }}

    action answer_empty(bit<4> type) {{
        answer(type);
        hdr.agg.valid = 0;
    }}

    action report_back() {{
        answer_empty(BOOT);
        hdr.agg.boot = meta.boot;
        hdr.agg.channel = meta.number;
    }}

    action acknowledge(bit<16> is_marked) {{
        hdr.bridge.step = BACK;
        ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;
        hdr.agg.type = ACK;
        hdr.agg.valid = hdr.agg.valid & meta.map;
        hdr.agg.read = 0;
        hdr.agg.count = is_marked;
    }}

    action leave_pairs(bit<4> type) {{
        send_on(ON);
        hdr.agg.type = type;
        hdr.agg.valid = hdr.agg.valid & meta.map;
    }}

    action come_for_values() {{
        hdr.bridge.step = VALUES;
        ig_tm_md.ucast_egress_port = AROUND;
    }}

    action come_for_rows() {{
        hdr.bridge.step = NEXT_ROW;
        ig_tm_md.ucast_egress_port = AROUND;
        hdr.agg.read = hdr.agg.read + 1;
    }}

    // A READ for several answers: `valid` is the number of rows of one.
    action split() {{
        hdr.bridge.step = TWO_WAYS;
        hdr.bridge.rest = meta.rest;
        ig_tm_md.ucast_egress_port = AROUND;
        hdr.agg.count = hdr.agg.valid[15:0];
        hdr.agg.valid = 0;
    }}

{ends}
    apply {{
        hdr.bridge.setValid();
        meta.row = (hdr.agg.seq[15:0] + hdr.agg.read) & (bit<16>)(ROWS - 1);
        meta.left = hdr.agg.read ^ hdr.agg.count;
        meta.excess = hdr.udp.len |-| MOST_LENGTH;
        meta.rest = hdr.agg.count |-| hdr.agg.valid[15:0];
        if (hdr.agg.isValid()) {{
            jobs.apply();
            senders.apply();
        }}
        if (hdr.ipv4.isValid()) {{
            routes.apply();
        }}
        kinds.apply();
        requests.apply();
        rows.apply();
        numbers.apply();
        plans.apply();
{applies}        meta.sent = joined.get({{ {flags} }});
        maps.apply();
        joins.apply();
{leave}        ends.apply();
    }}
}}

control AggDeparser(packet_out packet,
                    inout headers_t hdr,
                    in metadata_t meta,
                    in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {{
    apply {{
        packet.emit(hdr.bridge);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.agg);
{emits}        packet.emit(hdr.row);
    }}
}}
",
        jobs = program.jobs,
        channels = program.channels,
        kinds = kinds(program),
        to_read = prepared(0),
        to_clear = prepared(1),
        requests = requests(program),
        numbers = numbers(program),
        plans = plans(program),
        maps = maps(program),
        row = 8 * layout.block_bytes() - 1,
        ends = ends(program),
        flags = flags.join(", "),
    )
}
