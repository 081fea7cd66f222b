//! The controls of one lane and of four: fold, fetch and empty slots; remove pairs from a packet.

use crate::op::Op;
use crate::program::Program;
use std::fmt::Write as _;

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

    /// Into two variables.
    fn read(&self, at: &str, (tag, value): (&str, &str), indent: usize) -> String {
        let (name, indent) = (self.name, " ".repeat(indent));
        if self.is_split {
            return format!("{name}_tags.read({tag}, {at});\n{indent}{name}_values.read({value}, {at});");
        }
        format!("{name}.read(pair, {at});\n{indent}{tag} = pair[63:32];\n{indent}{value} = pair[31:0];")
    }

    /// The value of a slot with the lane's tag.
    fn write_value(&self, at: &str, value: &str) -> String {
        match self.is_split {
            true => format!("{}_values.write({at}, {value});", self.name),
            false => self.write(at, "lane.tag", value, 0),
        }
    }

    fn write(&self, at: &str, tag: &str, value: &str, indent: usize) -> String {
        let (name, indent) = (self.name, " ".repeat(indent));
        if self.is_split {
            return format!("{name}_tags.write({at}, {tag});\n{indent}{name}_values.write({at}, {value});");
        }
        format!("{name}.write({at}, {tag} ++ {value});")
    }
}

pub(super) fn controls(program: &Program) -> String {
    if program.layout.is_dense() {
        return format!("{}\n{}", dense(program), quad());
    }
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
                    if (older_tag == lane.tag && older_tag != 0) {{
                        held = older;
                        {folds}
                        {}
                    }} else {{
                        // The new pair comes first, and the older one leaves.
                        {}
                        {}
                        if (older_tag != 0) {{
                            {}
                            lane.tag = older_tag;
                            lane.value = older;
                            sent = 1;
                        }}
                    }}",
                slots.read("at + 1", ("older_tag", "older"), 20),
                slots.write_value("at + 1", "held"),
                slots.write("at + 1", "tag", "held", 24),
                slots.write("at", "lane.tag", "lane.value", 24),
                shadow.write("task.cell", "older_tag", "older", 28)
            ),
            format!(
                "
        }} else if (task.what == NOTHING && was_sent == 1 && lane.isValid()) {{
            {}
            lane.tag = tag;
            lane.value = held;",
                shadow.read("task.cell", ("tag", "held"), 12)
            ),
        )
    } else {
        (String::new(), "", "sent = 1;".into(), String::new())
    };
    let pair = if is_split { "" } else { "    bit<64> pair;\n" };
    let (buckets, older) = if program.layout.evict {
        (
            "\n// A key has two slots side by side; the pair that came later stands first.",
            "    tag_t older_tag;\n    bit<32> older;\n",
        )
    } else {
        ("", "")
    };
    format!(
        "// One lane: an array of slots, a tag and a value each. The tag 0 is an empty slot.{buckets}
control Lane(inout lane_h lane, in task_t task, {signature}out bit<1> sent) {{
{}{declared}{pair}    tag_t tag;
    bit<32> at;
    bit<32> held;
{older}
    apply {{
        sent = 0;
        if (task.what == FOLD) {{
            if (lane.isValid()) {{
                at = task.first_slot + ((bit<32>)lane.index & (ROWS - {ways}));
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
        slots.read("at", ("tag", "held"), 16),
        slots.write("at", "lane.tag", "lane.value", 20),
        slots.write_value("at", "held"),
        slots.read("task.first_slot + task.row", ("tag", "held"), 12),
        slots.write("task.first_slot + task.row", zero, "32w0", 12),
        quad(),
        ways = program.layout.ways(),
    )
}

/// A lane of arrays: the packet's row is the slot, 0 is the value of an empty one, and every pair is folded.
fn dense(program: &Program) -> String {
    let fold = |op: &Op| format!("if (task.op == {}) {{ {} }}", op.word().to_uppercase(), fold(*op));
    let folds: Vec<String> = program.operators.iter().map(fold).collect();
    format!(
        "// One lane: an array of slots, a value each. 0 is an empty slot.
control Lane(inout lane_h lane, in task_t task, out bit<1> sent) {{
    register<bit<32>, bit<32>>(SLOTS) slots;
    bit<32> at;
    bit<32> held;

    apply {{
        sent = 0;
        at = task.first_slot + task.row;
        if (task.what == FOLD) {{
            if (lane.isValid()) {{
                slots.read(held, at);
                {}
                slots.write(at, held);
            }}
        }} else if (task.what == FETCH) {{
            slots.read(held, at);
            lane.setValid();
            lane.value = held;
            sent = 1;
        }} else if (task.what == EMPTY) {{
            slots.write(at, 0);
        }}
    }}
}}
",
        folds.join(" else ")
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
