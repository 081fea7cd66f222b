//! Union keys of generated programs: what a packet changes outside of the union key and of all conditions changes no key that is
//! looked up. The interpreter is the judge.

use base_bits::Bits;
use base_time::Rng;
use device::trace::{Event, EventKind};
use ir::Program;
use ir_keys::{Input, Inputs, Keys, Reason, Source, keys};
use p4_generate::inputs::{self, Packet, Write};
use p4_generate::{Config, generate};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support;

use support::with_stack;

/// A lookup: table and key.
type Lookup = (String, Vec<Option<Bits>>);

fn compiled(source: &str) -> Program {
    let texts = [("program.p4", source)];
    let made = ir_elaborate::program(
        "program.p4",
        &p4_arch::Texts(&texts),
        &p4_syntax::Options::default(),
        &mut base_diag::SourceMap::new(),
    );
    made.expect("a generated program compiles")
}

/// The steps of a packet in a fresh device.
fn steps(program: &Arc<Program>, writes: &[Write], packet: &Packet) -> Vec<Event> {
    let mut registry = dataplane_api::Registry::default();
    netfn_values::register(&mut registry);
    let options = device::Options { registry, ..device::Options::default() };
    let mut switch = ir_interp::switch(Arc::clone(program), options).expect("the interpreter runs it");
    for write in writes {
        // Some are refused, in all devices alike.
        let _ = write.apply(&mut switch);
    }
    switch.set_trace(true);
    switch.process(packet.port, &packet.frame, packet.at);
    switch.take_trace()
}

fn lookups(events: &[Event]) -> Vec<Lookup> {
    let lookup = |event: &Event| match &event.kind {
        EventKind::Table { table, keys, .. } => {
            Some((table.to_string(), keys.iter().map(|key| key.value.bits().cloned()).collect()))
        }
        _ => None,
    };
    events.iter().filter_map(lookup).collect()
}

/// Positions of the fields that the parser has taken off the packet, in bits, by name.
fn fields(program: &Program, events: &[Event]) -> BTreeMap<String, (usize, usize)> {
    let mut at = 0;
    let mut found = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::Extract { header, bits, fields } => {
                let mut spot = at;
                // Headers extracted by a sub-parser have other names there.
                let fields = if header.starts_with("hdr.") { fields.as_slice() } else { &[] };
                for (name, shown) in fields {
                    let Some(bits) = shown.bits() else { break };
                    let width = bits.width() as usize;
                    // Elements of a stack have one name.
                    let header = header.split('[').next().unwrap_or_default();
                    let header = header.trim_end_matches(".next");
                    found.insert(format!("{header}.{name}@{spot}"), (spot, width));
                    spot += width;
                }
                at += *bits as usize;
            }
            EventKind::Advance { bits } => at += *bits as usize,
            EventKind::Stage { stage, enter: true } if stage == "ingress" => break,
            _ => {}
        }
    }
    let _ = program;
    found
}

/// Whether the keys of the program say which fields matter: none depends on content of objects.
fn is_judged(keys: &Keys) -> bool {
    let is_free = |input: &Input| {
        matches!(input, Input::State(_) | Input::AnotherPass | Input::Unknown | Input::Payload(_))
    };
    let bad = |reason: &Reason| matches!(reason, Reason::Depends { on, .. } if is_free(on));
    !keys.obstacles.iter().any(|obstacle| bad(&obstacle.reason)) && !keys.conditions.iter().any(is_free)
}

fn flip(frame: &mut [u8], bit: usize) {
    if let Some(byte) = frame.get_mut(bit / 8) {
        *byte ^= 0x80 >> (bit % 8);
    }
}

#[derive(Default, Debug)]
struct Tried {
    judged: usize,
    changed: usize,
    lookups: usize,
}

fn try_program(seed: u64, forget: Option<usize>, tried: &mut Tried) -> Result<(), String> {
    let config = Config { packets: 4, ..Config::default() };
    let source = generate(seed, &config).source;
    let program = Arc::new(compiled(&source));
    let keys = keys(&program);
    if !is_judged(&keys) {
        return Ok(());
    }
    tried.judged += 1;
    let kept = keys.key.parts.iter().enumerate().filter(|(at, _)| forget.is_none_or(|n| at % 3 != n));
    let mut fixed: Vec<String> = kept
        .filter(|(_, part)| part.source != Source::Port)
        .map(|(_, part)| without_elements(&part.name))
        .collect();
    let conditions: &Inputs = &keys.conditions;
    fixed.extend(conditions.iter().map(Input::to_string));
    let given = inputs::inputs(&program, config.packets, seed);
    let mut rng = Rng::new(seed).split("keys");
    for packet in &given.packets {
        let before = steps(&program, &given.writes, packet);
        let expected = lookups(&before);
        let free = fields(&program, &before);
        let free = free.iter().filter(|(name, _)| {
            let name = name.split('@').next().unwrap_or_default();
            !fixed.iter().any(|known| same_field(known, name))
        });
        let mut other = packet.clone();
        let mut names = vec![];
        for (name, (at, width)) in free {
            for bit in *at..at + width {
                if rng.chance(1, 2) {
                    flip(&mut other.frame, bit);
                    names.push(name.clone());
                }
            }
        }
        if names.is_empty() {
            continue;
        }
        tried.changed += 1;
        tried.lookups += expected.len();
        let found = lookups(&steps(&program, &given.writes, &other));
        if found != expected {
            names.dedup();
            return Err(format!("seed {seed}: after {names:?}\n{expected:?}\n{found:?}\n{keys}\n{source}"));
        }
    }
    Ok(())
}

/// `hdr.stack[1].f` is a field of the stack.
fn without_elements(name: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in name.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

/// Parsers and ingress may name the headers differently.
fn same_field(one: &str, other: &str) -> bool {
    let below = |name: &str| name.split_once('.').map_or(name.to_string(), |(_, rest)| rest.to_string());
    below(one) == below(other)
}

#[test]
fn what_is_outside_of_the_union_key_changes_no_lookup() {
    with_stack(|| {
        let mut tried = Tried::default();
        for seed in features::seeds(75, 3000) {
            try_program(seed, None, &mut tried).unwrap_or_else(|found| panic!("{found}"));
        }
        assert!(tried.judged > 20 && tried.changed > 40 && tried.lookups > 40, "{tried:?}");
        println!("{tried:?}");
    });
}

#[test]
fn a_union_key_that_lacks_parts_is_noticed() {
    with_stack(|| {
        let notices = |forget| {
            let mut tried = Tried::default();
            (1..=150).any(|seed| try_program(seed, Some(forget), &mut tried).is_err())
        };
        assert!((0..3).all(notices));
    });
}
