//! Packets along random paths through the parser.

use super::pool::Pool;
use base_bits::{BitWriter, Bits};
use base_time::Rng;
use ir::{
    Call, Callee, Expr, ExprKind, Keyset, Parser, Program, Select, StageKind, StateRef, StmtKind, Transition,
    Type, VarId,
};
use std::collections::BTreeMap;

/// Limit on the states of a path.
const LONGEST_PATH: usize = 48;

/// Makes packets for a program.
pub struct PacketMaker<'a> {
    program: &'a Program,
    parser: Option<&'a Parser>,
}

/// A header on the path: the place it was extracted into, and its fields.
struct Made {
    place: Place,
    fields: Vec<Bits>,
}

/// A variable of the outermost parser and the fields below it.
type Place = (VarId, Vec<u32>);

/// Arguments of the parameters of the running parser; empty for the outermost.
type Bound = BTreeMap<VarId, Place>;

/// A path under construction.
struct Path<'w> {
    made: Vec<Made>,
    /// States that may still be entered.
    left: usize,
    pool: &'w mut Pool,
    rng: &'w mut Rng,
}

impl<'a> PacketMaker<'a> {
    /// For this program.
    pub fn new(program: &'a Program) -> PacketMaker<'a> {
        let parser = program.stages.iter().find_map(|s| match s.kind {
            StageKind::Parse(id) => Some(program.parser(id)),
            _ => None,
        });
        PacketMaker { program, parser }
    }

    /// A packet; now and then one that is cut short or just noise.
    pub fn packet(&self, pool: &mut Pool, rng: &mut Rng) -> Vec<u8> {
        if rng.chance(1, 50) {
            let length = rng.index(80);
            return rng.bytes(length);
        }
        let made = self.path(pool, rng);
        let mut writer = BitWriter::new();
        made.iter().flat_map(|m| &m.fields).for_each(|f| writer.push(f));
        let mut bytes = writer.finish();
        if rng.chance(1, 30) {
            bytes.truncate(rng.index(bytes.len() + 1));
            return bytes;
        }
        let payload = rng.index(48);
        bytes.extend(rng.bytes(payload));
        bytes
    }

    fn path(&self, pool: &mut Pool, rng: &mut Rng) -> Vec<Made> {
        let mut path = Path { made: vec![], left: LONGEST_PATH, pool, rng };
        if let Some(parser) = self.parser {
            self.walk(parser, None, &mut path);
        }
        path.made
    }

    /// Through the states of a parser, and of those that it applies.
    fn walk(&self, parser: &Parser, bound: Option<&Bound>, path: &mut Path) {
        let mut at = 0;
        while let (Some(state), Some(left)) = (parser.states.get(at), path.left.checked_sub(1)) {
            path.left = left;
            for stmt in &state.stmts {
                match &stmt.kind {
                    StmtKind::Extract { header, .. } => {
                        let made = self.header(header, bound, path);
                        path.made.extend(made);
                    }
                    StmtKind::Call(call) => self.apply(call, bound, path),
                    _ => {}
                }
            }
            let next = match &state.transition {
                Transition::Goto(next) => *next,
                Transition::Select(select) => self.take_case(select, bound, path),
            };
            match next {
                StateRef::State(id) => at = id.index(),
                StateRef::Accept | StateRef::Reject => break,
            }
        }
    }

    fn apply(&self, call: &Call, bound: Option<&Bound>, path: &mut Path) {
        let Callee::Parser(id) = call.callee else { return };
        let Some(parser) = self.program.parsers.get(id.index()) else { return };
        let places = parser.params.iter().zip(&call.args);
        let places = places.filter_map(|(param, arg)| Some((*param, target(arg.as_ref()?, bound)?)));
        self.walk(parser, Some(&places.collect()), path);
    }

    fn header(&self, header: &Expr, bound: Option<&Bound>, path: &mut Path) -> Option<Made> {
        let place = target(header, bound)?;
        let mut fields = vec![];
        self.fields(&header.ty, &mut |width| fields.push(path.pool.draw(width, path.rng)));
        Some(Made { place, fields })
    }

    fn fields(&self, ty: &Type, f: &mut dyn FnMut(u32)) {
        for field in self.program.fields(ty) {
            match self.program.representation(&field.ty) {
                Type::Bit(n) | Type::Int(n) => f(*n),
                Type::Bool => f(1),
                Type::Varbit(_) => f(0),
                inner => self.fields(inner, f),
            }
        }
    }

    /// Chooses a case and makes the fields it looks at fit.
    fn take_case(&self, select: &Select, bound: Option<&Bound>, path: &mut Path) -> StateRef {
        // Paths that continue see more of the program than those that end here.
        let on: Vec<_> = select.cases.iter().filter(|c| matches!(c.next, StateRef::State(_))).collect();
        let any: Vec<_> = select.cases.iter().collect();
        let cases = if on.is_empty() || path.rng.chance(1, 5) { &any } else { &on };
        let Some(case) = path.rng.pick(cases) else { return StateRef::Reject };
        if case.keys.len() == select.exprs.len() {
            for (expr, key) in select.exprs.iter().zip(&case.keys) {
                fit(expr, key, bound, path);
            }
        }
        case.next
    }
}

/// Makes the field that `expr` looks at, if it is one, match `key`.
fn fit(expr: &Expr, key: &Keyset, bound: Option<&Bound>, path: &mut Path) {
    let Some((place, index)) = field_of(expr, bound) else { return };
    let Some(header) = path.made.iter_mut().rev().find(|m| m.place == place) else { return };
    let Some(field) = header.fields.get_mut(index as usize) else { return };
    match key {
        Keyset::Value(e) => set(field, constant(e)),
        Keyset::Mask(value, mask) => {
            if let (Some(value), Some(mask)) = (constant(value), constant(mask)) {
                // The expression may be a part of the field.
                let (value, mask) = (value.resize(field.width()), mask.resize(field.width()));
                let kept = field.and(&mask.not());
                set(field, Some(kept.or(&value.and(&mask))));
            }
        }
        Keyset::Range(lo, hi) => set(field, constant(if path.rng.next_bool() { lo } else { hi })),
        Keyset::DontCare | Keyset::ValueSet(_) => set(field, Some(path.pool.draw(field.width(), path.rng))),
    }
}

fn set(field: &mut Bits, value: Option<Bits>) {
    if let Some(value) = value.filter(|v| v.width() == field.width()) {
        *field = value;
    }
}

fn constant(expr: &Expr) -> Option<Bits> {
    match &expr.kind {
        ExprKind::Const(ir::Const::Bits(bits)) => Some(bits.clone()),
        ExprKind::Cast(inner) => constant(inner),
        _ => None,
    }
}

/// The header and field an expression looks at, slices and casts aside.
fn field_of(expr: &Expr, bound: Option<&Bound>) -> Option<(Place, u32)> {
    match &expr.kind {
        ExprKind::Field(base, index) => {
            let base = match &base.kind {
                ExprKind::Last(stack) => stack,
                _ => base,
            };
            Some((place_of(base, bound)?, *index))
        }
        ExprKind::Cast(inner) => field_of(inner, bound),
        _ => None,
    }
}

/// Place that a header is extracted to; all elements of a stack are one place.
fn target(expr: &Expr, bound: Option<&Bound>) -> Option<Place> {
    match &expr.kind {
        ExprKind::Next(stack) => place_of(stack, bound),
        _ => place_of(expr, bound),
    }
}

fn place_of(expr: &Expr, bound: Option<&Bound>) -> Option<Place> {
    match &expr.kind {
        ExprKind::Var(var) => match bound {
            Some(bound) => bound.get(var).cloned(),
            None => Some((*var, vec![])),
        },
        ExprKind::Field(base, index) => {
            let (var, mut path) = place_of(base, bound)?;
            path.push(*index);
            Some((var, path))
        }
        _ => None,
    }
}
