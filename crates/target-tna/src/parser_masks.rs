//! Masks of a parser's `select` become masks of the values.
//!
//! Before: `transition select(hdr.ipv4.fragment & 0x1fff) { 0: ports; default: accept; }`
//! After:  `transition select(hdr.ipv4.fragment) { 0 &&& 0x1fff: ports; default: accept; }`
//!
//! Why: the parser of a Tofino compares the bits of the packet, and computes nothing.

use base_bits::Bits;
use ir::{BinaryOp, Const, Expr, ExprKind, Keyset, Program, Select, Transition};

/// Replaces the masks of all parsers.
pub(crate) fn replace(program: &mut Program) {
    let states = program.parsers.iter_mut().flat_map(|parser| &mut parser.states);
    for state in states {
        if let Transition::Select(select) = &mut state.transition {
            (0..select.exprs.len()).for_each(|at| move_mask(select, at));
        }
    }
}

/// Moves the mask of an expression to the values, if all are known.
fn move_mask(select: &mut Select, at: usize) {
    let Some((value, mask)) = masked(&select.exprs[at]) else { return };
    let (value, mask) = (value.clone(), mask.clone());
    let all = select.exprs.len();
    let mut cases = vec![];
    for case in &select.cases {
        let mut case = case.clone();
        if let [Keyset::DontCare] = case.keys[..] {
            cases.push(case);
            continue;
        }
        let Some(key) = case.keys.get(at).filter(|_| case.keys.len() == all) else { return };
        match with_mask(key, &mask, &value) {
            Some(Some(masked)) => case.keys[at] = masked,
            // No packet has the value.
            Some(None) => continue,
            None => return,
        }
        cases.push(case);
    }
    select.exprs[at] = value;
    select.cases = cases;
}

/// A value and its constant mask.
fn masked(expr: &Expr) -> Option<(&Expr, &Bits)> {
    let ExprKind::Binary(BinaryOp::BitAnd, left, right) = &expr.kind else { return None };
    [(left, right), (right, left)]
        .into_iter()
        .find_map(|(value, mask)| Some((value.as_ref(), constant(mask)?)))
}

fn constant(expr: &Expr) -> Option<&Bits> {
    if let ExprKind::Const(Const::Bits(bits)) = &expr.kind { Some(bits) } else { None }
}

/// The key for the value without its mask. `None`: not known; `Some(None)`: it never matches.
fn with_mask(key: &Keyset, mask: &Bits, of: &Expr) -> Option<Option<Keyset>> {
    let (value, own) = match key {
        Keyset::DontCare => return Some(Some(Keyset::DontCare)),
        Keyset::Value(value) => (constant(value)?.clone(), mask.clone()),
        Keyset::Mask(value, own) => {
            let own = constant(own)?;
            (constant(value)?.and(own), own.and(mask))
        }
        Keyset::Range(..) | Keyset::ValueSet(_) => return None,
    };
    let number = |bits: Bits| ir::build::expr(ExprKind::Const(Const::Bits(bits)), of.ty.clone());
    let fits = value.and(&own) == value;
    Some(fits.then(|| Keyset::Mask(number(value), number(own))))
}
