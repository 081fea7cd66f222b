//! Packets along random ways through the parser.

use super::pool::Pool;
use base_bits::{BitWriter, Bits};
use base_time::Rng;
use ir::{
    Expr, ExprKind, Keyset, Parser, Program, Select, StageKind, StateRef, StmtKind, Transition, Type, VarId,
};

/// Most states a way goes through.
const LONGEST_WAY: usize = 48;

/// Makes packets for a program.
pub struct PacketMaker<'a> {
    program: &'a Program,
    parser: Option<&'a Parser>,
}

/// A header on the way: which place it was extracted into, and its fields.
struct Made {
    place: Place,
    fields: Vec<Bits>,
}

/// A variable and the fields below it.
type Place = (VarId, Vec<u32>);

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
        let made = self.way(pool, rng);
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

    fn way(&self, pool: &mut Pool, rng: &mut Rng) -> Vec<Made> {
        let mut made = vec![];
        let Some(parser) = self.parser else { return made };
        let mut at = 0;
        for _ in 0..LONGEST_WAY {
            let Some(state) = parser.states.get(at) else { break };
            for stmt in &state.stmts {
                if let StmtKind::Extract { header, .. } = &stmt.kind {
                    made.extend(self.header(header, pool, rng));
                }
            }
            let next = match &state.transition {
                Transition::Goto(next) => *next,
                Transition::Select(select) => self.take_case(select, &mut made, pool, rng),
            };
            match next {
                StateRef::State(id) => at = id.index(),
                StateRef::Accept | StateRef::Reject => break,
            }
        }
        made
    }

    fn header(&self, header: &Expr, pool: &mut Pool, rng: &mut Rng) -> Option<Made> {
        let place = match &header.kind {
            ExprKind::Next(stack) => place_of(stack)?,
            _ => place_of(header)?,
        };
        let mut fields = vec![];
        self.fields(&header.ty, &mut |width| fields.push(pool.draw(width, rng)));
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
    fn take_case(&self, select: &Select, made: &mut [Made], pool: &mut Pool, rng: &mut Rng) -> StateRef {
        // Ways that go on see more of the program than those that end here.
        let on: Vec<_> = select.cases.iter().filter(|c| matches!(c.next, StateRef::State(_))).collect();
        let any: Vec<_> = select.cases.iter().collect();
        let cases = if on.is_empty() || rng.chance(1, 5) { &any } else { &on };
        let Some(case) = rng.pick(cases) else { return StateRef::Reject };
        if case.keys.len() == select.exprs.len() {
            for (expr, key) in select.exprs.iter().zip(&case.keys) {
                self.fit(expr, key, made, pool, rng);
            }
        }
        case.next
    }

    fn fit(&self, expr: &Expr, key: &Keyset, made: &mut [Made], pool: &mut Pool, rng: &mut Rng) {
        let Some((place, index)) = field_of(expr) else { return };
        let Some(header) = made.iter_mut().rev().find(|m| m.place == place) else { return };
        let Some(field) = header.fields.get_mut(index as usize) else { return };
        match key {
            Keyset::Value(e) => set(field, constant(e)),
            Keyset::Mask(value, mask) => {
                if let (Some(value), Some(mask)) = (constant(value), constant(mask)) {
                    let kept = field.and(&mask.not());
                    set(field, Some(kept.or(&value.and(&mask))));
                }
            }
            Keyset::Range(lo, hi) => set(field, constant(if rng.next_bool() { lo } else { hi })),
            Keyset::DontCare | Keyset::ValueSet(_) => set(field, Some(pool.draw(field.width(), rng))),
        }
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
fn field_of(expr: &Expr) -> Option<(Place, u32)> {
    match &expr.kind {
        ExprKind::Field(base, index) => {
            let base = match &base.kind {
                ExprKind::Last(stack) => stack,
                _ => base,
            };
            Some((place_of(base)?, *index))
        }
        ExprKind::Cast(inner) => field_of(inner),
        _ => None,
    }
}

fn place_of(expr: &Expr) -> Option<Place> {
    match &expr.kind {
        ExprKind::Var(var) => Some((*var, vec![])),
        ExprKind::Field(base, index) => {
            let (var, mut path) = place_of(base)?;
            path.push(*index);
            Some((var, path))
        }
        _ => None,
    }
}
