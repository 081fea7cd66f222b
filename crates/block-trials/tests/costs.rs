//! Costs that blocks state, beside the programs that are generated.

use block_trials::{compile, tofino_cost};
use ir::{Const, ExprKind, MatchKind, Program};
use p4_blocks::{Arch, BLOCKS, Block, Form};
use rmt_fit::Device;

/// Sizes beside the defaults.
fn sizes(block: &Block) -> Vec<String> {
    let mut all = vec![String::new()];
    for (name, value) in
        [("rows", 2), ("columns", 64), ("cells", 64), ("window", 3), ("slots", 16), ("mantissa", 5)]
    {
        let changed = format!("{name}={value}");
        if block.read(&changed).is_ok() {
            all.push(changed);
        }
    }
    all
}

/// Bits of all register arrays.
fn state_bits(program: &Program) -> u64 {
    let registers = program
        .instances
        .iter()
        .filter(|instance| program.extern_object(instance.object).name.as_str() == "register");
    let bits = |instance: &ir::Instance| {
        let cells = instance.args.iter().find_map(|arg| match &arg.kind {
            ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
            _ => None,
        });
        cells.expect("a size") * program.bits(&instance.type_args[0]).expect("a width")
    };
    registers.map(bits).sum()
}

#[test]
fn state_tables_and_hashes_are_those_of_the_program() {
    for block in BLOCKS {
        for text in sizes(block) {
            let request = block.read(&text).expect("possible sizes");
            let cost = (block.cost)(&request.values);
            let (program, _) = compile(block, &request, Form::Approximate);
            let at = format!("{} {text}", block.name);
            assert_eq!(state_bits(&program), cost.state_bits, "{at}: state");
            let tables = program.controls.iter().flat_map(|control| &control.tables);
            let mut found: Vec<(String, bool, u64)> = tables
                .map(|table| {
                    let ternary = table.keys.iter().any(|key| key.match_kind != MatchKind::Exact);
                    (table.name.to_string(), ternary, table.entries.len() as u64)
                })
                .collect();
            let stated = cost.tables.iter().map(|of| (of.table.to_string(), of.ternary, of.entries));
            let mut stated: Vec<(String, bool, u64)> = stated.collect();
            found.sort();
            stated.sort();
            assert_eq!(found, stated, "{at}: tables");
            let source = p4_blocks::source(block, &request, Form::Approximate);
            assert_eq!(source.matches("hash(").count(), cost.hashes as usize, "{at}: hashes");
        }
    }
}

#[test]
fn stages_are_near_those_that_a_tofino_takes() {
    let device = Device::built_in("tofino1").expect("a device");
    for block in BLOCKS.into_iter().filter(|block| block.not_for_tna.is_none()) {
        let request = p4_blocks::Request { arch: Arch::Tna, ..block.read("").expect("the defaults") };
        let stated = i64::from((block.cost)(&request.values).stages);
        let placed = tofino_cost(block, &request, &device).expect("it fits").stages;
        // The estimate is made for any switch: comparisons and writes of outputs share stages with other steps, or do not.
        assert!((placed - stated).abs() <= 3, "{}: {stated} stated, {placed} placed", block.name);
    }
}
