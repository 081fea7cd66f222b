//! A short run, the coverage, and the shrinker.

use p4_generate::check::{Finding, Step, Steps, check, inputs_of};
use p4_generate::inputs::Inputs;
use p4_generate::{Config, Coverage, Shrunk, generate, killed, shrink};

use crate::support;

use support::with_stack;

#[test]
fn programs_pass_and_their_packets_come_out() {
    with_stack(|| {
        let config = Config { packets: 8, ..Config::default() };
        let mut frames = 0;
        for seed in features::seeds(15, 40) {
            let made = generate(seed, &config);
            match check(&made.source, Steps::ALL, config.packets, seed, None) {
                Ok(passed) => frames += passed.outcome.outputs.iter().map(Vec::len).sum::<usize>(),
                Err(finding) => panic!("seed {seed}: {finding:#?}\n{}", made.source),
            }
        }
        assert!(frames > 100, "{frames} frames");
    });
}

#[test]
fn portable_programs_pass_too() {
    with_stack(|| {
        let config = Config { packets: 8, portable: true, ..Config::default() };
        for seed in 1..=15 {
            let made = generate(seed, &config);
            if let Err(finding) = check(&made.source, Steps::ALL, config.packets, seed, None) {
                panic!("seed {seed}: {finding:#?}\n{}", made.source);
            }
        }
    });
}

#[test]
fn every_feature_is_in_one_of_a_hundred_programs() {
    with_stack(|| {
        let mut coverage = Coverage::default();
        for seed in 0..1000 {
            coverage.add(&generate(seed, &Config::default()).features);
        }
        assert_eq!(coverage.rare(), [], "{}", coverage.table());
    });
}

#[test]
fn the_same_seed_gives_the_same_program() {
    with_stack(|| {
        let program = |seed| generate(seed, &Config::default()).source;
        assert_eq!(program(7), program(7));
        assert_ne!(program(7), program(8));
        assert_eq!(inputs_of(&program(7), 5, 7), inputs_of(&program(7), 5, 7));
    });
}

#[test]
fn what_a_finding_needs_is_left_by_the_shrinker() {
    with_stack(|| {
        let judge = |source: &str, inputs: &Inputs| {
            let passes = check(source, Steps::NONE, 0, 0, Some(inputs));
            let wrong = passes.is_ok() && source.contains(".push_front(") && !inputs.packets.is_empty();
            wrong.then(|| Finding { step: Step::Run, summary: "it pushes".into(), details: String::new() })
        };
        let found = (1..).find_map(|seed| {
            let source = generate(seed, &Config::default()).source;
            let inputs = inputs_of(&source, 3, seed)?;
            Some((judge(&source, &inputs)?, source, inputs))
        });
        let (finding, source, inputs) = found.expect("a program that pushes");
        let small = shrink(Shrunk { source, inputs, finding }, 3000, &judge);
        assert!(small.source.contains(".push_front("));
        assert_eq!((small.inputs.packets.len(), small.inputs.writes.len()), (1, 0));
        let statements = small.source.matches(';').count();
        assert!(statements < 20, "{}", small.source);
    });
}

/// Every fault in a lowered program is noticed.
#[test]
fn broken_forms_are_killed() {
    with_stack(|| {
        type Fault = fn(&mut ir::Program);
        let faults: &[(&str, Fault)] = &[
            ("an if takes the other arm", |program| {
                let blocks = program.controls.iter_mut().map(|c| &mut c.body);
                for stmt in blocks.flat_map(|b| &mut b.stmts) {
                    if let ir::StmtKind::If(_, yes, no) = &mut stmt.kind {
                        std::mem::swap(yes, no);
                    }
                }
            }),
            ("the last statement of ingress is lost", |program| {
                let ingress = program.stage_control("ingress").expect("ingress");
                program.controls[ingress.index()].body.stmts.pop();
            }),
            ("an action does nothing", |program| {
                let actions = program.controls.iter_mut().flat_map(|c| &mut c.actions);
                { actions }.for_each(|a| a.body.stmts.clear());
            }),
            ("states end early", |program| {
                for state in program.parsers.iter_mut().flat_map(|p| &mut p.states) {
                    if let ir::Transition::Goto(next) = &mut state.transition {
                        *next = ir::StateRef::Accept;
                    }
                }
            }),
        ];
        let config = Config { packets: 10, ..Config::default() };
        for (name, fault) in faults {
            let form = |program: &ir::Program| {
                let mut lowered = ir_lower::lower(program).ok()?;
                fault(&mut lowered);
                Some(lowered)
            };
            let after = killed(&form, &config, 50, 1);
            assert!(after.is_some(), "{name}: nothing notices it");
        }
        let sound = |program: &ir::Program| ir_lower::lower(program).ok();
        assert_eq!(killed(&sound, &config, 10, 1), None);
    });
}
