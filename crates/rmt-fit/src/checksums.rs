//! Tables that the open compiler adds for checksums under a condition.
//!
//! ```text
//! if (meta.changed == 1) { hdr.ipv4.checksum = sum.update({ .. }); }        in a deparser
//! ```
//!
//! The deparser emits the new checksum if one bit is set, and that of the packet if another is. A table after all others of its half sets
//! both: it matches the bits of the condition and the header's validity. A header's validity alone takes no table. (In the compiler:
//! `add_checksum_condition_table`.)

use crate::field::{Access, Fields, Scope};
use crate::unit::{Fixed, Kind, Match, Unit, UnitId};
use base_diag::Span;
use ir::{Block, Callee, Control, Expr, ExprKind, Program, Stmt, StmtKind};
use std::collections::{BTreeMap, BTreeSet};

/// A checksum that a deparser writes.
struct Checksum {
    /// The field's name, from the header on.
    name: String,
    span: Span,
    /// Validity of its header.
    valid: Access,
    /// Bits of all conditions, without that validity.
    conditions: Vec<Access>,
    /// Statements that write it under conditions.
    updates: u32,
    /// A statement writes it wherever the header is valid.
    is_always: bool,
}

/// Adds the tables that the checksums of a deparser need.
pub(crate) fn add_tables(
    program: &Program,
    control: &Control,
    scope: &Scope<'_>,
    fields: &mut Fields,
    units: &mut Vec<Unit>,
) {
    let mut found = Found { program, scope, fields, checksums: BTreeMap::new() };
    found.block(&control.body, &mut vec![]);
    let checksums: Vec<Checksum> =
        found.checksums.into_values().filter(|checksum| !checksum.is_always).collect();
    if checksums.is_empty() {
        return;
    }
    let bits = checksums.iter().map(|checksum| 1 + checksum.updates).sum();
    let container = fields.temporary(bits, scope.half());
    for checksum in checksums {
        let before: BTreeSet<UnitId> =
            (0..units.len()).filter(|at| units[*at].half == scope.half()).collect();
        let bits = 1 + checksum.conditions.len() as u32;
        // Entries match packets with the header.
        let of = Match {
            ternary: false,
            key_bits: bits,
            entries: 1 << (bits - 1).min(10),
            rows_per_100: 100,
            actions: 1,
            data_bits: 1 + checksum.updates,
            pointer_bits: 0,
            indirect: false,
        };
        units.push(Unit {
            name: format!("the condition of {}", checksum.name),
            span: checksum.span,
            half: scope.half(),
            kind: Kind::Table(of),
            matches: [checksum.valid].into_iter().chain(checksum.conditions).collect(),
            reads: vec![],
            // The compiler puts the bits of all checksums into one container, which a stage writes once.
            writes: vec![container],
            instructions: 1,
            fixed: Fixed::default(),
            hashes: vec![],
            side: vec![],
            before,
            guards: vec![],
            stage: None,
        });
    }
}

struct Found<'a, 's> {
    program: &'a Program,
    scope: &'a Scope<'s>,
    fields: &'a mut Fields,
    checksums: BTreeMap<Access, Checksum>,
}

impl Found<'_, '_> {
    fn block(&mut self, block: &Block, conditions: &mut Vec<Access>) {
        for stmt in &block.stmts {
            match &stmt.kind {
                StmtKind::Block(inner) => self.block(inner, conditions),
                StmtKind::If(condition, yes, no) => {
                    let own = self.scope.reads(self.fields, condition);
                    let outer = conditions.len();
                    conditions.extend(own);
                    self.block(yes, conditions);
                    self.block(no, conditions);
                    conditions.truncate(outer);
                }
                StmtKind::Assign(place, value) if self.is_update(value) => {
                    self.update(stmt, place, conditions)
                }
                _ => {}
            }
        }
    }

    fn is_update(&self, value: &Expr) -> bool {
        let ExprKind::Call(call) = &value.kind else { return false };
        let Callee::Method(id, method) = call.callee else { return false };
        let object = self.program.extern_object(self.program.instance(id).object);
        object.name == "Checksum" && object.methods.get(method as usize).is_some_and(|m| m.name == "update")
    }

    fn update(&mut self, stmt: &Stmt, place: &Expr, conditions: &[Access]) {
        let ExprKind::Field(header, _) = &place.kind else { return };
        let [field] = self.scope.place(self.fields, place)[..] else { return };
        let Some(valid) = self.scope.shared_valid(self.fields, header) else { return };
        let name = self.fields.get(field.field).name.clone();
        let known = self.checksums.entry(field).or_insert(Checksum {
            name,
            span: stmt.span,
            valid,
            conditions: vec![],
            updates: 0,
            is_always: false,
        });
        let mut is_always = true;
        for condition in conditions.iter().filter(|condition| **condition != valid) {
            is_always = false;
            if !known.conditions.contains(condition) {
                known.conditions.push(*condition);
            }
        }
        known.is_always |= is_always;
        known.updates += 1;
    }
}
