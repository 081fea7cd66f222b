//! The conversion on one screen.

use crate::check::check;
use crate::externs::replace_externs;
use crate::frame::{Parts, frame};
use crate::original::{METADATA, has_code};
use crate::{
    accesses, bridge, carries, checksums, digests, direct_counters, hashes, lengths, parser_bits,
    parser_errors, parser_masks, parser_writes, selectors, times, verified,
};
use crate::{conditions, fences, steps, sums};
use base_diag::Diagnostic;
use base_diag::codes::tna::CONVERT;
use ir::{Arch, Program, StmtKind, Type, TypeKind, visit};

/// A program for TNA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Converted {
    /// Source of the program.
    pub text: String,
    /// Differences from the original, in sentences.
    pub notes: Vec<String>,
}

/// Freedom of the new program to differ.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Times count steps of 1,024 ns: a Tofino cannot divide its nanoseconds by 1,000.
    pub ticks: bool,
}

/// Converts a program for v1model.
pub fn convert(program: &Program, options: Options) -> Result<Converted, Vec<Diagnostic>> {
    let mut program = program.clone();
    let has_lengths = lengths::decide(&mut program);
    parser_errors::decide(&mut program);
    let bridge = check(&program, options)?;
    let reads_length = bridge::reads_length(&program);
    let found = target_p4::check(&program);
    if !found.is_empty() {
        return Err(found);
    }
    ir_lower::check_inlining(&program)?;
    let has_egress = program.stage("egress").is_some_and(|stage| has_code(&program, stage));
    program.arch = Arch::Tna(1);
    program.annotations.clear();
    let verifies = verified::is_read(&program);
    if verifies {
        verified::replace(&mut program);
    } else {
        checksums::leave_out_verification(&mut program);
    }
    if exits(&program) {
        // An `exit` would leave the blocks of TNA, too.
        let _ = ir_lower::hoist_effects(&mut program);
        let _ = ir_lower::eliminate_exits(&mut program);
    }
    let has_sums = checksums::has_updates(&program);
    let conditions = checksums::replace(&mut program);
    let ticks = times::are_read(&program);
    let has_digests = digests::are_sent(&program);
    digests::replace(&mut program);
    hashes::replace(&mut program);
    let odd_cells = accesses::odd_cells(&program);
    let has_selectors = selectors::are_used(&program);
    selectors::replace(&mut program);
    direct_counters::replace(&mut program);
    accesses::replace(&mut program);
    parser_masks::replace(&mut program);
    parser_bits::join(&mut program);
    parser_writes::move_assignments(&mut program);
    replace_externs(&mut program);
    carries::replace(&mut program);
    sums::divide(&mut program);
    steps::split_actions(&mut program);
    conditions::divide(&mut program);
    fences::build(&mut program);
    if let Some(bridge) = &bridge {
        bridge::adjust_counters(&mut program, bridge.bytes);
    }
    // No field of it is read: `error` is no type of metadata on Tofino.
    for decl in program.types.iter_mut().filter(|decl| decl.name == METADATA) {
        if let TypeKind::Struct(fields) = &mut decl.kind {
            fields.iter_mut().for_each(|field| field.annotations.clear());
            fields.iter_mut().filter(|f| f.ty == Type::Error).for_each(|field| field.ty = Type::Bit(8));
        }
    }
    let Some(text) = frame(
        &target_p4::print(&program),
        Parts {
            has_egress,
            has_sums,
            conditions: conditions.as_deref(),
            has_digests,
            verifies,
            ticks,
            reads_length,
        },
        bridge.as_ref(),
    ) else {
        return Err(vec![Diagnostic::error(CONVERT, "`main` is no `V1Switch` of six blocks")]);
    };
    let mut notes = vec![
        "packets that the parser rejects are dropped on Tofino; v1model passes them to ingress".to_string(),
        "a register can be read and written once for each packet on Tofino: `p4rack check --device tofino1` \
         reports further accesses"
            .to_string(),
    ];
    if bridge.is_some() {
        notes.push("counters of egress count the bytes of the packet as it leaves ingress".to_string());
    }
    if ticks {
        notes.push("times count steps of 1,024 ns, and begin again after 78 hours".to_string());
    }
    notes.extend(odd_cells);
    if has_selectors {
        notes.push("a group of a selector has at most 120 members".to_string());
    }
    if verifies {
        notes.push("a checksum of 0xffff counts as wrong, also that of fields that are all zero".to_string());
    }
    if has_lengths {
        notes.push(
            "frames have at least 60 bytes; comparisons of `packet_length` that this decides are left out"
                .to_string(),
        );
    }
    Ok(Converted { text, notes })
}

fn exits(program: &Program) -> bool {
    let mut found = false;
    let bodies = program
        .controls
        .iter()
        .flat_map(|control| control.actions.iter().map(|action| &action.body).chain([&control.body]));
    bodies.chain(program.functions.iter().map(|function| &function.body)).for_each(|body| {
        visit::stmts(body, &mut |stmt| found |= matches!(stmt.kind, StmtKind::Exit));
    });
    found
}
