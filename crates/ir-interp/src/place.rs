//! Places: assignable expressions. A place is evaluated once, indices included, then read and written.

use crate::machine::{Arch, Machine};
use device::stage::Stop;
use ir::{ErrorId, Expr, ExprKind, Type, VarId};
use ir_value::{Stack, Value};

/// `error.StackOutOfBounds`, which core.p4 declares in this position.
pub(crate) const STACK_OUT_OF_BOUNDS: ErrorId = ErrorId(3);

/// A variable of the running block, or a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) var: VarId,
    /// Indices of fields and elements, from the outside in.
    pub(crate) path: Vec<u32>,
    /// Highest and lowest bit, if it is a slice.
    pub(crate) slice: Option<(u32, u32)>,
    /// An index is out of range: reads give zero, writes do nothing.
    pub(crate) lost: bool,
}

/// True if `expr` is made like a place: a variable and parts of it.
pub(crate) fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(base, _) | ExprKind::Index(base, _) | ExprKind::Next(base) | ExprKind::Last(base) => {
            is_place(base)
        }
        _ => false,
    }
}

impl<A: Arch> Machine<'_, A> {
    /// Works out the place `expr`.
    pub(crate) fn place(&mut self, expr: &Expr) -> Result<Place, Stop> {
        match &expr.kind {
            ExprKind::Var(var) => Ok(Place { var: *var, path: vec![], slice: None, lost: false }),
            ExprKind::Field(base, field) => self.place_part(base, *field),
            ExprKind::Index(base, index) => {
                let place = self.place(base)?;
                let index = self.eval(index)?.to_index();
                let size = if let Type::Stack(_, size) = &base.ty { *size } else { 0 };
                // Out of range, a read gives zero and a write is lost.
                Ok(step(place, index.filter(|i| *i < size)))
            }
            ExprKind::Next(base) => {
                let place = self.place(base)?;
                let stack = self.stack_at(&place)?;
                let free = (stack.next as usize) < stack.elems.len();
                let next = stack.next;
                if free { Ok(step(place, Some(next))) } else { Err(Stop::Reject(STACK_OUT_OF_BOUNDS)) }
            }
            ExprKind::Last(base) => {
                let place = self.place(base)?;
                match self.stack_at(&place)?.next.checked_sub(1) {
                    Some(last) => Ok(step(place, Some(last))),
                    None => Err(Stop::Reject(STACK_OUT_OF_BOUNDS)),
                }
            }
            ExprKind::Slice { base, hi, lo } => Ok(slice(self.place(base)?, *hi, *lo)),
            ExprKind::SlicePlus { base, start, width } => self.place_slice_plus(base, start, *width),
            _ => Err(Stop::Broken("not a place")),
        }
    }

    fn place_part(&mut self, base: &Expr, field: u32) -> Result<Place, Stop> {
        let place = self.place(base)?;
        Ok(step(place, Some(field)))
    }

    /// Bits beyond the base are left out; if none remain the place is lost.
    fn place_slice_plus(&mut self, base: &Expr, start: &Expr, width: u32) -> Result<Place, Stop> {
        let mut place = self.place(base)?;
        let start = self.eval(start)?.to_index().unwrap_or(u32::MAX);
        let top = self.width_of(&base.ty).checked_sub(1);
        match (top, width.checked_sub(1)) {
            (Some(top), Some(more)) if start <= top => {
                Ok(slice(place, start.saturating_add(more).min(top), start))
            }
            _ => {
                place.lost = true;
                Ok(place)
            }
        }
    }

    fn width_of(&self, ty: &Type) -> u32 {
        match self.program.representation(ty) {
            Type::Bit(n) | Type::Int(n) => *n,
            _ => 0,
        }
    }

    /// The value at `place`, without looking at its slice; `None` if the place is lost.
    pub(crate) fn at(&self, place: &Place) -> Result<Option<&Value>, Stop> {
        if place.lost {
            return Ok(None);
        }
        let root = self.frame.vars.get(place.var.index());
        let found = place.path.iter().try_fold(root, |at, step| at.map(|v| v.part(*step)));
        found.flatten().ok_or(Stop::Broken("a place that does not fit its value")).map(Some)
    }

    /// See [`at`](Machine::at).
    pub(crate) fn at_mut(&mut self, place: &Place) -> Result<Option<&mut Value>, Stop> {
        if place.lost {
            return Ok(None);
        }
        let mut at = self.frame.vars.get_mut(place.var.index());
        for step in &place.path {
            at = at.and_then(|v| v.part_mut(*step));
        }
        at.ok_or(Stop::Broken("a place that does not fit its value")).map(Some)
    }

    fn stack_at(&self, place: &Place) -> Result<&Stack, Stop> {
        match self.at(place)? {
            Some(Value::Stack(stack)) => Ok(stack),
            Some(_) => Err(Stop::Broken("next or last of a value that is no stack")),
            None => Err(Stop::Reject(STACK_OUT_OF_BOUNDS)),
        }
    }

    /// Reads a place of type `ty`.
    pub(crate) fn read(&mut self, place: &Place, ty: &Type) -> Result<Value, Stop> {
        let value = match (self.at(place)?, place.slice) {
            (None, _) => Value::zero(self.program, ty),
            (Some(value), None) => value.clone(),
            (Some(Value::Bits(bits)), Some((hi, lo))) if lo <= hi && hi < bits.width() => {
                let part = bits.slice(hi, lo);
                Value::Bits(part.resize(self.width_of(ty)))
            }
            _ => return Err(Stop::Broken("a slice of what has no such bits")),
        };
        self.spend(value.leaves())?;
        Ok(value)
    }

    /// Writes a place. A valid header written into a union makes the union's other members invalid.
    pub(crate) fn write(&mut self, place: &Place, value: Value) -> Result<(), Stop> {
        if self.state.trace.on() {
            self.trace_write(place, &value);
        }
        self.store(place, value)
    }

    /// [`write`](Machine::write) without a word in the trace.
    pub(crate) fn store(&mut self, place: &Place, value: Value) -> Result<(), Stop> {
        self.spend(value.leaves())?;
        if matches!(value, Value::Header(_)) && value.is_valid() {
            self.clear_union(place)?;
        }
        let Some(at) = self.at_mut(place)? else { return Ok(()) };
        match (place.slice, &*at, &value) {
            (None, _, _) => *at = value,
            (Some((hi, lo)), Value::Bits(old), Value::Bits(new)) if lo <= hi && hi < old.width() => {
                let new = new.resize(hi - lo + 1);
                *at = Value::Bits(old.with_slice(hi, lo, &new));
            }
            _ => return Err(Stop::Broken("a slice of what has no such bits")),
        }
        Ok(())
    }

    /// If `place` is a member of a union: makes all members invalid.
    pub(crate) fn clear_union(&mut self, place: &Place) -> Result<(), Stop> {
        let mut outer = place.clone();
        if outer.path.pop().is_none() {
            return Ok(());
        }
        if let Some(Value::Union(members)) = self.at_mut(&outer)? {
            for member in members {
                if let Value::Header(header) = member {
                    header.valid = false;
                }
            }
        }
        Ok(())
    }
}

fn step(mut place: Place, index: Option<u32>) -> Place {
    match index {
        Some(index) => place.path.push(index),
        None => place.lost = true,
    }
    place
}

fn slice(mut place: Place, hi: u32, lo: u32) -> Place {
    let below = place.slice.map_or(0, |(_, low)| low);
    place.slice = Some((below.saturating_add(hi), below.saturating_add(lo)));
    place
}
