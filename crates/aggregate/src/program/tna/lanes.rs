//! The controls of one lane and of two: fold, fetch and empty slots; remove pairs from a packet.

use super::entries::Decisions;
use crate::op::Op;
use crate::program::Program;

/// Folds the lane's value into the slot's.
fn fold(op: Op) -> &'static str {
    match op {
        Op::Add => "slot.value = slot.value + lane.value;",
        Op::Max => "slot.value = max(slot.value, lane.value);",
        Op::Min => "slot.value = min(slot.value, lane.value);",
        Op::Or => "slot.value = slot.value | lane.value;",
    }
}

const KEYS: [(&str, &str); 4] = [("task", "task"), ("age", "age"), ("op", "op"), ("valid", "lane.isValid()")];

pub(super) fn controls(program: &Program) -> String {
    let mut visits = Decisions::new("visits", &KEYS);
    let (mut folds, mut actions, mut names) = (String::new(), String::new(), vec![]);
    let bits = program.layout.index_bits.into();
    let row = match bits {
        0 => String::new(),
        bits => format!(" ++ lane.index[{}:0]", bits - 1),
    };
    let at = format!("{}{row}", join_bank(bits));
    let tasks: &[&str] = if program.is_parent { &["FOLD", "FOLD_ROW"] } else { &["FOLD"] };
    for op in &program.operators {
        let (name, number) = (op.word(), op.word().to_uppercase());
        folds += &format!(
            "    RegisterAction<pair_t, bit<32>, bit<1>>(slots) {name}_to_slot = {{
        void apply(inout pair_t slot, out bit<1> misses) {{
            if (slot.tag == 0) {{
                slot.tag = lane.tag;
                slot.value = lane.value;
                misses = 0;
            }} else if (slot.tag == lane.tag) {{
                {}
                misses = 0;
            }} else {{
                misses = 1;
            }}
        }}
    }};
",
            fold(*op)
        );
        actions += &format!("    action fold_{name}() {{ sent = {name}_to_slot.execute({at}); }}\n");
        names.push(format!("fold_{name}"));
        for task in tasks {
            let values = [("task", *task), ("age", "NEW"), ("op", number.as_str()), ("valid", "true")];
            visits.row(&values, &format!("fold_{name}()"));
        }
    }
    visits.row(&[("task", "FETCH_TAGS")], "fetch_tag()");
    visits.row(&[("task", "EMPTY")], "fetch_tag()");
    visits.row(&[("task", "FETCH_VALUES"), ("valid", "true")], "fetch_value()");
    let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
    all.extend(["fetch_tag", "fetch_value", "NoAction"]);
    format!(
        "struct pair_t {{
    tag_t   tag;
    bit<32> value;
}}

// One lane: an array of slots, a tag and a value each. The tag 0 is an empty slot.
control Lane(inout lane_h lane, in task_t task, in age_t age, in bit<4> op, in bit<32> first_slot, in bit<8> parity, inout bit<1> sent) {{
    Register<pair_t, bit<32>>(SLOTS) slots;
{folds}    // A lane with the value 1 empties the slot.
    RegisterAction<pair_t, bit<32>, tag_t>(slots) tag_of_slot = {{
        void apply(inout pair_t slot, out tag_t tag) {{
            tag = slot.tag;
            if (lane.value == 1) {{
                slot.tag = 0;
            }}
        }}
    }};
    RegisterAction<pair_t, bit<32>, bit<32>>(slots) value_of_slot = {{
        void apply(inout pair_t slot, out bit<32> value) {{
            value = slot.value;
        }}
    }};

{actions}    action fetch_tag() {{ lane.tag = tag_of_slot.execute({at}); }}
    action fetch_value() {{ lane.value = value_of_slot.execute({at}); }}

{}
    apply {{
        visits.apply();
    }}
}}

{TWO}",
        visits.text(&all, "NoAction()")
    )
}

/// The bank's first slot, without the bits of a row.
fn join_bank(index_bits: u32) -> String {
    format!("first_slot[31:{}] ++ parity[0:0]", index_bits + 1)
}

/// Two lanes, whose actions are few enough for all tables to stand in one stage.
const TWO: &str = "// Of two lanes, those in `kept` stay in the packet.
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
";
