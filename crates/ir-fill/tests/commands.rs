//! Files of commands for `simple_switch_CLI`: their effects, and refusals as in BMv2.
//!
//! Before, commands were tested one form each, by people who wrote the right form: what BMv2 refuses was taken.

use base_bits::Bits;
use base_diag::{Diagnostic, Severity, SourceMap, Span, Style, render};
use base_time::{Duration, Time};
use control_writes::{ActionCall, Entry, EntryKey, Match, OneShot, OneShotAction, Run, Watch};
use device::{Options, Switch};
use ir::Program;
use ir_fill::{Resolver, Write};
use p4_arch::Texts;
use p4_entries::read_commands;
use std::sync::Arc;

fn compiled(text: &str) -> Arc<Program> {
    let (texts, options) = ([("test.p4", text)], p4_syntax::Options::default());
    let program = ir_elaborate::program("test.p4", &Texts(&texts), &options, &mut SourceMap::new());
    Arc::new(program.unwrap_or_else(|found| panic!("{found:?}")))
}

fn l2() -> Arc<Program> {
    compiled(include_str!("../../cli/tests/run/l2.p4"))
}

/// The program of [`l2`] with another ingress, which computes a `crc16_custom`; `@` stands before `main`.
fn hashing(annotation: &str) -> Arc<Program> {
    let text = format!(
        "#include <core.p4>\n#include <v1model.p4>\nheader h_t {{ bit<16> a; }}\nstruct hs {{ h_t h; }}\nstruct m_t {{}}\n\
         parser P(packet_in p, out hs h, inout m_t m, inout standard_metadata_t s) {{\n\
             state start {{ p.extract(h.h); transition accept; }} }}\n\
         control V(inout hs h, inout m_t m) {{ apply {{}} }}\n\
         control I(inout hs h, inout m_t m, inout standard_metadata_t s) {{ apply {{\n\
             s.egress_spec = 1;\n\
             hash(h.h.a, HashAlgorithm.crc16_custom, 16w0, {{ h.h.a }}, 32w0x10000); }} }}\n\
         control E(inout hs h, inout m_t m, inout standard_metadata_t s) {{ apply {{}} }}\n\
         control D(packet_out p, in hs h) {{ apply {{ p.emit(h.h); }} }}\n\
         {annotation} V1Switch(P(), V(), I(), E(), V(), D()) main;\n"
    );
    compiled(&text)
}

/// A switch that the commands have filled, or what is said of them.
fn filled(program: &Arc<Program>, commands: &str) -> Result<Switch, String> {
    let mut map = SourceMap::new();
    let file = map.add_file("commands.txt", commands, Span::NONE).expect("room");
    let base = map.file(file).map_or(0, |file| file.base());
    let mut switch = ir_interp::switch(Arc::clone(program), Options::default()).expect("it runs");
    match written_to(&mut switch, commands, base) {
        Ok(_) => Ok(switch),
        Err(found) => Err(found.iter().map(|d| render(d, &map, Style::Plain)).collect()),
    }
}

/// Writes what commands say to a switch; gives the warnings about them.
fn written_to(switch: &mut Switch, commands: &str, base: u32) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let (statements, problems) = read_commands(commands, base);
    if problems.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(problems);
    }
    Resolver::new(switch.program())?.fill(&statements, switch)?;
    Ok(problems)
}

/// Each of these is refused, with these words.
fn refused(commands: &str, words: &[&str]) {
    let said = filled(&l2(), commands).err().unwrap_or_else(|| panic!("this is taken:\n{commands}"));
    words.iter().for_each(|word| assert!(said.contains(word), "no `{word}` in\n{said}"));
}

/// The entries of `l2`: address and action, in the order they were added.
fn l2_entries(commands: &str) -> Vec<String> {
    let switch = filled(&l2(), commands).unwrap_or_else(|said| panic!("{said}"));
    let shown = |entry: &device::TableEntry| {
        let Run::Action(ActionCall { action, args }) = &entry.run else { panic!("no action") };
        let args: Vec<String> = args.iter().map(|arg| arg.to_hex()).collect();
        format!("{:?} {action}({})", entry.key.matches, args.join(", "))
    };
    switch.table_entries("l2").expect("the table").iter().map(shown).collect()
}

/// The ports on which a frame to everybody leaves.
fn flooded(commands: &str) -> Vec<u32> {
    let commands = format!("table_add l2 flood ff:ff:ff:ff:ff:ff => 7\n{commands}");
    let mut switch = filled(&l2(), &commands).unwrap_or_else(|said| panic!("{said}"));
    let frame = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1, 0x88, 0xb5]].concat();
    let mut ports: Vec<u32> = switch.process(1, &frame, Time::ZERO).iter().map(|out| out.port).collect();
    ports.sort_unstable();
    ports
}

#[test]
fn entries_are_changed_by_their_handles() {
    let add = "table_add l2 forward 1 => 2\ntable_add l2 forward 2 => 3\ntable_add l2 drop 3 =>\n";
    assert_eq!(l2_entries(add).len(), 3);
    let modified = l2_entries(&format!("{add}table_modify l2 forward 1 => 9\ntable_modify l2 drop 0\n"));
    assert!(modified[0].ends_with("I.drop()"), "{modified:?}");
    assert!(modified[1].ends_with("I.forward(0x9)"), "{modified:?}");
    // A place that is free is taken again, with the next version of its handle: 2^24 + 1.
    let again = format!("{add}table_delete l2 1\ntable_add l2 forward 4 => 5\n");
    let changed = l2_entries(&format!("{again}table_modify l2 forward 16777217 6\n"));
    assert_eq!(changed.len(), 3);
    assert!(changed[2].ends_with("I.forward(0x6)"), "{changed:?}");
    refused(&format!("{again}table_delete l2 1\n"), &["no entry with handle 1", "0, 16777217, 2"]);
    refused("table_delete l2 0\n", &["`I.l2` has no entry with handle 0"]);
    refused(&format!("{add}table_modify l2 forward 0\n"), &["takes 1 values, not 0"]);
    assert_eq!(l2_entries(&format!("{add}table_clear l2\n")).len(), 0);
    let after = format!("{add}table_clear l2\ntable_add l2 drop 9 =>\ntable_modify l2 forward 0 => 1\n");
    assert!(l2_entries(&after)[0].ends_with("I.forward(0x1)"));
}

#[test]
fn tables_and_counters_are_reset() {
    let commands = "table_set_default l2 forward 3\ntable_reset_default l2\ncounter_write ports 1 5 60\n\
        counter_write ports 2 1 1\ncounter_reset ports\ncounter_reset hits\n";
    let switch = filled(&l2(), commands).unwrap_or_else(|said| panic!("{said}"));
    assert_eq!(switch.table_default("l2").expect("the table").0, "I.drop");
    assert_eq!(switch.counter_read("ports", 1).expect("the counter").packets, 0);
    refused("counter_reset seen\n", &["there is no counter `seen`"]);
}

#[test]
fn keys_have_the_form_of_their_kind() {
    refused("table_add acl drop 1 5->6 => 1\n", &["wants a mask here", "0x0a&&&0xff"]);
    refused("table_add acl drop 1&&&1 5 => 1\n", &["wants an end here"]);
    refused("table_add acl drop 1&&&1 5->6 =>\n", &["a priority is missing at the end"]);
    refused("table_add l2 drop 1 => 10\n", &["takes 0 values, not 1"]);
    refused(
        "act_prof_create_member ways forward 3\ntable_indirect_add choice 1 => 0 7\n",
        &["have no priority"],
    );
    refused("table_add l2 forward 1 => 600\n", &["`port` has 9 bits"]);
}

#[test]
fn multicast_is_that_of_bmv2() {
    let group = "mc_mgrp_create 7\nmc_node_create 0 1 3\nmc_node_create 5 2\n";
    assert_eq!(flooded(&format!("{group}mc_node_associate 7 0\nmc_node_associate 7 1\n")), [1, 2, 3]);
    refused(
        &format!("{group}mc_node_associate 8 0\n"),
        &["there is no multicast group 8", "mc_mgrp_create 8"],
    );
    let twice = format!("{group}mc_mgrp_create 8\nmc_node_associate 7 0\nmc_node_associate 8 0\n");
    refused(&twice, &["node 0 is in group 7 already"]);
    refused("mc_node_create 0 1 2 1\n", &["a port occurs twice"]);
    refused("mc_node_create 0 600\n", &["port 600 does not fit into the 9 bits", "from 0 to 510"]);
    refused("mc_mgrp_create 70000\n", &["group 70000 does not fit into the 16 bits"]);
    // A node without ports, and one of LAGs: of a LAG's ports the one that 255 modulo their number chooses.
    let lag = "mc_mgrp_create 7\nmc_node_create 0\nmc_node_create 0 4 | 1 2\nmc_node_associate 7 0\n\
        mc_node_associate 7 1\nmc_set_lag_membership 1 5 6\n";
    assert_eq!(flooded(lag), [4, 6]);
    assert_eq!(flooded(&format!("{lag}mc_node_update 0 8\nmc_node_dissociate 7 1\n")), [8]);
    assert_eq!(flooded(&format!("{lag}mc_node_destroy 1\n")), [0u32; 0]);
    // The place of a node that was destroyed is taken by the next.
    let again = format!("{lag}mc_node_destroy 0\nmc_node_create 0 9\nmc_node_associate 7 0\n");
    assert_eq!(flooded(&again), [4, 6, 9]);
    refused(&format!("{lag}mc_mgrp_destroy 7\nmc_node_associate 7 0\n"), &["there is no multicast group 7"]);
}

#[test]
fn parameters_of_checks() {
    // CRC-16/CCITT-FALSE of 0x1234.
    let run = |program: &Arc<Program>, commands: &str| {
        let mut switch = filled(program, commands).unwrap_or_else(|said| panic!("{said}"));
        switch.process(0, &[0x12, 0x34], Time::ZERO)[0].frame.clone()
    };
    let ccitt = [0x0e, 0xc9];
    let set = "set_crc16_parameters calc 0x1021 0xffff 0 false false\n";
    assert_eq!(run(&hashing(""), set), ccitt);
    assert_eq!(run(&hashing("@crc16_custom(0x1021, 0xffff, 0, false, false)"), ""), ccitt);
    assert_ne!(run(&hashing(""), ""), ccitt);
    let with_program = |commands: &str| filled(&hashing(""), commands).err().unwrap_or_default();
    let other = "set_crc16_parameters calc_0 0x8005 0 0 1 1\n";
    assert!(with_program(other).contains("there is no calculation with `crc16_custom` `calc_0`"));
    assert!(with_program("set_crc32_parameters calc 1 2 3 0 0\n").contains("there is no calculation"));
    assert!(with_program("set_crc16_parameters calc 0x11021 0 0 0 0\n").contains("of at most 16 bits"));
    assert!(with_program("set_crc32_parameters calc 1 2 3 maybe 0\n").contains("neither true nor false"));
    let wrong =
        ir_interp::switch(hashing("@crc16_custom(1, 2)"), Options::default()).err().expect("it is wrong");
    assert!(wrong[0].title.contains("`@crc16_custom` of `main`"), "{wrong:?}");
    // The printed program has the parameters too.
    let printed = target_p4::print(&hashing("@crc16_custom(0x1021, 0xffff, 0, false, false)"));
    let again = compiled(&printed);
    assert_eq!(run(&again, ""), ccitt);
    // A block's parameters are those of its calls, also in the printed program.
    let mut enclosed = Arc::unwrap_or_clone(hashing("@crc16_custom(1, 2, 3, false, false)"));
    let crc = control_writes::Crc {
        polynomial: 0x1021,
        initial: 0xffff,
        final_xor: 0,
        reflect_data: false,
        reflect_remainder: false,
    };
    assert!(device::annotate_crc(&mut enclosed, Some("calc"), 16, crc));
    let printed = target_p4::print(&enclosed);
    assert!(printed.contains("@crc16_custom(4129, 65535, 0, false, false)"), "{printed}");
    for program in [Arc::new(enclosed), compiled(&printed)] {
        assert_eq!(run(&program, ""), ccitt);
        assert_ne!(run(&program, "set_crc16_parameters calc 0x8005 0 0 1 1\n"), ccitt);
    }
    let wrong = compiled(&printed.replace("@crc16_custom(4129", "@crc16_custom(true"));
    let wrong = ir_interp::switch(wrong, Options::default()).err().expect("it is wrong");
    assert!(wrong[0].title.contains("`@crc16_custom` of a block"), "{wrong:?}");
}

#[test]
fn what_only_shows_is_passed_over() {
    let program = l2();
    let text = "help\ntable_dump l2\nset_queue_depth 64\ntable_dump acl\ntable_add l2 drop 1 =>\n";
    let mut switch = ir_interp::switch(program, Options::default()).expect("it runs");
    let warnings = written_to(&mut switch, text, 1).expect("it is read");
    let titles: Vec<&str> = warnings.iter().map(|warning| warning.title.as_str()).collect();
    assert_eq!(titles, ["`set_queue_depth` is skipped", "3 commands that only print something are skipped"]);
    assert_eq!(warnings[1].notes, ["they are: help, table_dump"]);
}

/// A table whose entries name members and groups of `paths`: what runs writes a byte. A header is taken where its first byte is in
/// the value set.
fn selecting() -> Arc<Program> {
    let text = "#include <core.p4>\n#include <v1model.p4>\nheader h_t { bit<8> a; bit<8> b; }\nstruct hs { h_t h; }\nstruct m_t {}\n\
         parser P(packet_in p, out hs h, inout m_t m, inout standard_metadata_t s) {\n\
             value_set<bit<8>>(4) firsts;\n\
             state start { transition select(p.lookahead<bit<8>>()) { firsts: take; default: accept; } }\n\
             state take { p.extract(h.h); transition accept; } }\n\
         control V(inout hs h, inout m_t m) { apply {} }\n\
         control I(inout hs h, inout m_t m, inout standard_metadata_t s) {\n\
             action set(bit<8> v) { h.h.b = v; }\n\
             @name(\"paths\") action_selector(HashAlgorithm.crc16, 16, 8) paths;\n\
             table t { key = { h.h.a: exact; h.h.b: selector; } actions = { set; NoAction; } implementation = paths; }\n\
             apply { s.egress_spec = 1; t.apply(); } }\n\
         control E(inout hs h, inout m_t m, inout standard_metadata_t s) { apply {} }\n\
         control D(packet_out p, in hs h) { apply { p.emit(h.h); } }\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;\n";
    compiled(text)
}

/// Bytes that entry 1, which refers to a member, and entry 2, which refers to a group, write.
fn written(commands: &str) -> [u8; 2] {
    let mut switch = filled(&selecting(), commands).unwrap_or_else(|said| panic!("{said}"));
    [1, 2].map(|first| switch.process(0, &[first, 0], Time::ZERO)[0].frame[1])
}

#[test]
fn members_and_groups_change() {
    let start = "pvs_add firsts 1\npvs_add firsts 2\nact_prof_create_member paths set 7\n\
        act_prof_create_member paths set 8\nact_prof_create_group paths\n\
        act_prof_add_member_to_group paths 0 0\ntable_indirect_add t 1 => 0\n\
        table_indirect_add_with_group t 2 => 0\n";
    assert_eq!(written(start), [7, 7]);
    let with = |more: &str| written(&format!("{start}{more}"));
    assert_eq!(with("act_prof_modify_member paths set 0 => 9\n"), [9, 9]);
    let other = "act_prof_remove_member_from_group paths 0 0\nact_prof_add_member_to_group paths 1 0\n";
    assert_eq!(with(other), [7, 8]);
    // The handle of a member that was deleted is given again.
    let again = "act_prof_create_member paths set 5\nact_prof_delete_member paths 1\n\
        act_prof_create_member paths set 6\nact_prof_remove_member_from_group paths 0 0\n\
        act_prof_add_member_to_group paths 1 0\n";
    assert_eq!(with(again), [7, 6]);
    let group = "act_prof_create_group paths\nact_prof_add_member_to_group paths 1 1\ntable_delete t 1\n\
        table_indirect_add_with_group t 2 => 1\nact_prof_delete_group paths 0\n";
    assert_eq!(with(group), [7, 8]);
    assert_eq!(with("pvs_remove firsts 2\npvs_remove firsts 3\n"), [7, 0], "2 is not extracted");
    for (more, words) in [
        ("act_prof_delete_member paths 0\n", "entries name this member"),
        ("table_delete t 0\nact_prof_delete_member paths 0\n", "group 0 has this member"),
        ("act_prof_delete_group paths 0\n", "entries name this group"),
        ("act_prof_modify_member paths set 4 1\n", "there is no such member"),
        ("act_prof_remove_member_from_group paths 1 0\n", "the group has no such member"),
        ("act_prof_add_member_to_group paths 0 0\n", "the group has this member already"),
        ("act_prof_delete_group paths 3\n", "there is no such group"),
        ("table_indirect_set_default_with_group t 0\n", "a default that names a group"),
        ("table_indirect_set_default t 7\n", "there is no member `7`"),
        (
            "table_delete t 0\nact_prof_remove_member_from_group paths 0 0\n\
          table_indirect_set_default t 0\nact_prof_delete_member paths 0\n",
            "it is the default of `I.t`",
        ),
    ] {
        let said = filled(&selecting(), &format!("{start}{more}")).err();
        assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{more}: {said:?}");
    }
}

#[test]
fn a_default_that_names_a_member_follows_it() {
    let start = "pvs_add firsts 1\npvs_add firsts 2\nact_prof_create_member paths set 7\n\
        act_prof_create_member paths set 8\ntable_indirect_add t 1 => 1\ntable_indirect_set_default t 0\n";
    let with = |more: &str| written(&format!("{start}{more}"));
    assert_eq!(with(""), [8, 7]);
    assert_eq!(with("act_prof_modify_member paths set 0 => 9\n"), [8, 9]);
    assert_eq!(with("act_prof_modify_member paths set 1 => 9\n"), [9, 7]);
    assert_eq!(with("table_indirect_set_default t 1\nact_prof_modify_member paths set 0 => 9\n"), [8, 8]);
    // Another default ends it.
    let reset = "table_reset_default t\nact_prof_modify_member paths set 0 => 9\n";
    assert_eq!(with(reset), [8, 0]);
    assert_eq!(with(&format!("{reset}act_prof_delete_member paths 0\n")), [8, 0]);
    let text = "table_indirect_set_default l2 0\n";
    let said = filled(&l2(), text).err().unwrap_or_default();
    assert!(said.contains("name no members"), "{said}");
}

/// A ternary table with an entry of its own that is constant, with counts and idle timeouts; what runs writes a byte.
fn ranked() -> Arc<Program> {
    compiled(
        "#include <core.p4>\n#include <v1model.p4>\nheader h_t { bit<8> a; bit<8> b; }\nstruct hs { h_t h; }\nstruct m_t {}\n\
         parser P(packet_in p, out hs h, inout m_t m, inout standard_metadata_t s) {\n\
             state start { p.extract(h.h); transition accept; } }\n\
         control V(inout hs h, inout m_t m) { apply {} }\n\
         control I(inout hs h, inout m_t m, inout standard_metadata_t s) {\n\
             direct_counter(CounterType.packets) hits;\n\
             action set(bit<8> v) { h.h.b = v; }\n\
             table t { key = { h.h.a: ternary; } actions = { set; NoAction; } counters = hits; support_timeout = true;\n\
                 entries = { const 0x55: set(5); } }\n\
             apply { s.egress_spec = 1; t.apply(); } }\n\
         control E(inout hs h, inout m_t m, inout standard_metadata_t s) { apply {} }\n\
         control D(packet_out p, in hs h) { apply { p.emit(h.h); } }\n\
         V1Switch(P(), V(), I(), E(), V(), D()) main;\n",
    )
}

fn byte(switch: &mut Switch, first: u8) -> u8 {
    switch.process(0, &[first, 0], Time::ZERO)[0].frame[1]
}

#[test]
fn the_smallest_priority_wins_and_no_entry_is_there_twice() {
    let both = "table_add t set 0x10&&&0xf0 => 1 20\ntable_add t set 0x11&&&0xff => 2 10\n";
    let mut switch = filled(&ranked(), both).unwrap_or_else(|said| panic!("{said}"));
    assert_eq!([0x11, 0x12].map(|first| byte(&mut switch, first)), [2, 1]);
    let turned = both.replace(" 20\n", " 5\n");
    let mut switch = filled(&ranked(), &turned).unwrap_or_else(|said| panic!("{said}"));
    assert_eq!([0x11, 0x12].map(|first| byte(&mut switch, first)), [1, 1]);
    let said = filled(&ranked(), &format!("{both}table_add t set 0x1f&&&0xf0 => 3 20\n")).err();
    assert!(said.as_ref().is_some_and(|said| said.contains("`I.t` has this entry already")), "{said:?}");
    // The same key with another priority is another entry.
    assert!(filled(&ranked(), &format!("{both}table_add t set 0x1f&&&0xf0 => 3 21\n")).is_ok());
}

#[test]
fn an_entry_keeps_its_timeout_and_a_constant_one_its_action() {
    let entry = "table_add t set 1&&&0xff => 1 20\n";
    let idle = |more: &str| {
        let mut switch = filled(&ranked(), &format!("{entry}{more}")).unwrap_or_else(|said| panic!("{said}"));
        switch.take_idle(Time::ZERO + Duration::from_ms(3)).len()
    };
    assert_eq!(idle(""), 0);
    assert_eq!(idle("table_set_timeout t 1 2\n"), 1);
    assert_eq!(idle("table_set_timeout t 1 2\ntable_modify t set 1 9\n"), 1);
    assert_eq!(idle("table_set_timeout t 1 2\ntable_set_timeout t 1 0\n"), 0);
    for change in ["table_modify t set 0 9\n", "table_set_timeout t 0 2\n", "table_delete t 0\n"] {
        let said = filled(&ranked(), change).err();
        assert!(
            said.as_ref().is_some_and(|said| said.contains("of `I.t` is constant")),
            "{change}: {said:?}"
        );
    }
}

#[test]
fn a_direct_counter_is_reset_for_all_entries() {
    let program = ranked();
    let mut switch = ir_interp::switch(Arc::clone(&program), Options::default()).expect("it runs");
    let mut resolver = Resolver::new(&program).expect("it runs");
    let mut fill = |switch: &mut Switch, commands: &str| {
        let (statements, problems) = read_commands(commands, 1);
        assert_eq!(problems, []);
        resolver.fill(&statements, switch).unwrap_or_else(|found| panic!("{found:?}"));
    };
    let counts = |switch: &Switch| -> Vec<u64> {
        switch.table_entries("t").expect("the table").iter().map(|entry| entry.count.packets).collect()
    };
    fill(&mut switch, "table_add t set 1&&&0xff => 1 20\n");
    for first in [1, 1, 0x55] {
        byte(&mut switch, first);
    }
    assert_eq!(counts(&switch), [1, 2]);
    fill(&mut switch, "counter_reset hits\n");
    assert_eq!(counts(&switch), [0, 0]);
}

/// A group of an entry's own takes the place of the one that was there: both would not fit.
#[test]
fn a_group_of_its_own_goes_with_its_entry() {
    let program = selecting();
    let mut switch = ir_interp::switch(Arc::clone(&program), Options::default()).expect("it runs");
    let mut resolver = Resolver::new(&program).expect("it runs");
    let (statements, _) = read_commands("pvs_add firsts 1\n", 1);
    resolver.fill(&statements, &mut switch).expect("it is written");
    let write = |to: Option<u8>| {
        let call = |value: u8| ActionCall { action: "I.set".into(), args: vec![Bits::new(8, value.into())] };
        let one = |value| OneShotAction { call: call(value), weight: 1, watch: Watch::No };
        let set = |value: u8| OneShot {
            actions: vec![one(value); 16],
            size_semantics: Default::default(),
            selection_mode: Default::default(),
        };
        let key = EntryKey { matches: [Match::Exact(Bits::new(8, 1))].into(), priority: 0 };
        let to = to.map(|value| Box::new(Entry::new(Run::OneShot(set(value)))));
        Write::Entry { table: "I.t".into(), key, to, count: None }
    };
    for value in [3, 4] {
        switch.write(&write(Some(value)), Time::ZERO).expect("there is room for one group of sixteen");
        assert_eq!(byte(&mut switch, 1), value);
    }
    switch.write(&write(None), Time::ZERO).expect("it is there");
    assert_eq!(byte(&mut switch, 1), 0);
    switch.write(&write(Some(5)), Time::ZERO).expect("there is room again");
}
