//! Bits of one header that several states of a parser select on become one key.
//!
//! Before: `select(hdr.p4rack.has_tcp) { 1: get_tcp; default: has_udp; }`, `select(hdr.p4rack.has_udp) { 1: get_udp; default: rest; }`
//! After:  `select(hdr.p4rack.has_tcp, hdr.p4rack.has_udp) { (1, _): get_tcp; .. }`, `select(hdr.p4rack.has_tcp, hdr.p4rack.has_udp) { (_, 1): get_udp; .. }`
//!
//! Why: the parser of a Tofino keeps what it selects on in three registers of 8, 8 and 16 bits, and the open compiler takes one for each key
//! that states further on still need.

use crate::original::path;
use ir::{Expr, ExprKind, Keyset, Program, Transition, Type, VarId};
use std::collections::BTreeMap;

/// Bits of the largest register.
const MOST_BITS: usize = 16;

/// A variable, and the fields that lead to a header.
type Header = (VarId, Vec<u32>);

/// Joins the keys of all parsers.
pub(crate) fn join(program: &mut Program) {
    for parser in &mut program.parsers {
        let mut bits: BTreeMap<Header, BTreeMap<u32, Expr>> = BTreeMap::new();
        for state in &parser.states {
            let Some((header, field, expr)) = bit(&state.transition) else { continue };
            bits.entry(header).or_default().insert(field, expr.clone());
        }
        bits.retain(|_, fields| (2..=MOST_BITS).contains(&fields.len()));
        for state in &mut parser.states {
            let Some((header, field, _)) = bit(&state.transition) else { continue };
            let (Some(fields), Transition::Select(select)) = (bits.get(&header), &mut state.transition)
            else {
                continue;
            };
            let at = fields.range(..field).count();
            select.exprs = fields.values().cloned().collect();
            for case in select.cases.iter_mut().filter(|case| !matches!(case.keys[..], [Keyset::DontCare])) {
                let key = std::mem::replace(&mut case.keys, vec![Keyset::DontCare; fields.len()]);
                case.keys.splice(at..=at, key).for_each(drop);
            }
        }
    }
}

/// The bit of a header that alone decides about the next state: the header, the number of the field, the whole.
fn bit(transition: &Transition) -> Option<(Header, u32, &Expr)> {
    let Transition::Select(select) = transition else { return None };
    let [expr] = &select.exprs[..] else { return None };
    let ExprKind::Field(header, field) = &expr.kind else { return None };
    (expr.ty == Type::Bit(1)).then_some((path(header)?, *field, expr))
}
