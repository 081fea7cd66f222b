//! Calls of value externs: code packs the numbers of arguments, the runtime calls, and code unpacks the results.
//!
//! ```text
//! seen.call(q, r)       place for keys:  | q.address 4 | q.port 2 | r.port 2 | result 1 |      bytes, most significant first
//! ```

use super::place::Place;
use super::{Code, Made};
use crate::layout::{Kind, Node, kind_of};
use crate::notes::ValueCall;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::ValueCallee;
use ir::{Call, Direction, Expr, ExprKind, Type, TypeKind};

/// Maximum number of bytes of a call's numbers: the place for keys has room for them.
const MOST_BYTES: usize = 512;

/// A number of an argument.
struct Number<'a> {
    from: Source<'a>,
    kind: Kind,
    is_signed: bool,
}

/// Source of a number.
enum Source<'a> {
    Expr(&'a Expr),
    Node(&'a Node),
}

/// Destination of a number that a call returns.
struct Target<'a> {
    /// `None`: nobody takes the result.
    place: Option<(Place<'a>, Kind)>,
    width: u32,
    /// For an `inout` argument, the position among the inputs of the initial value.
    initial: Option<usize>,
}

impl<'a> Code<'a, '_> {
    /// Compiles a call whose result goes to `to`. Returns false, without any code, if only the interpreter can execute the call.
    pub(crate) fn call_value(
        &mut self,
        callee: ValueCallee,
        call: &'a Call,
        to: Option<&'a Expr>,
    ) -> Made<bool> {
        let Some((numbers, targets)) = self.passed(callee, call, to) else { return Ok(false) };
        let inputs = numbers.iter().map(|number| number.kind.width()).collect();
        let outputs = targets.iter().map(|target| target.width).collect();
        let note = ValueCall::new(callee, inputs, outputs);
        if note.bytes > MOST_BYTES {
            return Ok(false);
        }
        if self.ahead {
            return Ok(true);
        }
        let values = numbers.iter().map(|number| self.number_of(number)).collect::<Made<Vec<_>>>()?;
        let room = self.at(self.layout.homes.keys);
        let mut at = 0;
        for (number, value) in numbers.iter().zip(&values) {
            at = self.pack(room, at, *value, number.kind.width(), number.is_signed);
        }
        let first = self.at(self.layout.homes.keys + at as i32);
        self.clear(first, note.bytes - at as usize);
        let mut initial = at;
        for target in &targets {
            match target.initial {
                Some(number) => initial = self.pack(room, initial, values[number], target.width, false),
                None => initial += target.width.div_ceil(8),
            }
        }
        let id = self.number(types::I32, self.notes.value_calls.len() as u64);
        self.notes.value_calls.push(note);
        self.b.ins().call(self.calls.value_call, &[self.context, id]);
        for Target { place, width, .. } in targets {
            let bits = width.next_multiple_of(8);
            if let Some((place, kind)) = place {
                let value = self.load_field(room, at * 8, bits, Kind::Bits(bits));
                self.give(&place, kind, value)?;
            }
            at += bits / 8;
        }
        Ok(true)
    }

    /// Stores a number `at` bytes after `room`, with copies of its sign in unused bits. Returns the byte after it.
    fn pack(&mut self, room: Value, at: u32, value: Value, width: u32, is_signed: bool) -> u32 {
        let bytes = width.div_ceil(8);
        let value = if is_signed { self.extend_sign(value, width) } else { value };
        self.store_bytes(room, at, bytes, value);
        at + bytes
    }

    fn number_of(&mut self, number: &Number<'a>) -> Made<Value> {
        match number.from {
            Source::Expr(expr) => self.value(expr),
            Source::Node(node) => self.read(&Place::Node(node)),
        }
    }

    /// The numbers that go in and come out; `None` if the interpreter has one of them.
    fn passed(
        &self,
        callee: ValueCallee,
        call: &'a Call,
        to: Option<&'a Expr>,
    ) -> Option<(Vec<Number<'a>>, Vec<Target<'a>>)> {
        let signature = callee.signature(self.program)?;
        let (mut numbers, mut targets) = (vec![], vec![]);
        for (arg, param) in call.args.iter().zip(&signature.params) {
            let arg = arg.as_ref()?;
            let first = numbers.len();
            if param.direction != Direction::Out {
                self.numbers(arg, &mut numbers)?;
            }
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                let is_inout = param.direction == Direction::InOut;
                let parts = self.targets(arg)?.into_iter().enumerate();
                targets.extend(parts.map(|(at, (place, kind))| Target {
                    width: kind.width(),
                    place: Some((place, kind)),
                    initial: is_inout.then_some(first + at),
                }));
            }
        }
        if let Some(to) = to {
            let parts = self.targets(to)?.into_iter();
            targets.extend(parts.map(|(place, kind)| Target {
                width: kind.width(),
                place: Some((place, kind)),
                initial: None,
            }));
        } else {
            // The extern gives its result even if nobody takes it.
            let mut widths = vec![];
            ir_value::numbers::widths(self.program, &signature.returns, &mut widths);
            targets.extend(widths.into_iter().map(|width| Target { place: None, width, initial: None }));
        }
        Some((numbers, targets))
    }

    /// Adds the numbers of an argument.
    fn numbers(&self, expr: &'a Expr, numbers: &mut Vec<Number<'a>>) -> Option<()> {
        if let Some(kind) = kind_of(self.program, &expr.ty).filter(|_| self.places().can(expr)) {
            numbers.push(Number {
                from: Source::Expr(expr),
                kind,
                is_signed: self.places().is_signed(&expr.ty),
            });
            return Some(());
        }
        match &expr.kind {
            ExprKind::Aggregate(parts) => parts.iter().try_for_each(|part| self.numbers(part, numbers)),
            _ => match self.places().find(expr)? {
                Place::Node(node) => self.numbers_in(node, &expr.ty, numbers),
                _ => None,
            },
        }
    }

    fn numbers_in(&self, node: &'a Node, ty: &Type, numbers: &mut Vec<Number<'a>>) -> Option<()> {
        match node {
            Node::Scalar(index) => {
                let kind = self.layout.scalars[*index].kind;
                let is_signed = self.places().is_signed(ty);
                numbers.push(Number { from: Source::Node(node), kind, is_signed });
                Some(())
            }
            Node::Struct(nodes) => {
                let Type::Named(id) = self.program.representation(ty) else { return None };
                let TypeKind::Struct(fields) = &self.program.type_decl(*id).kind else { return None };
                let mut each = nodes.iter().zip(fields);
                each.try_for_each(|(node, field)| self.numbers_in(node, &field.ty, numbers))
            }
            _ => None,
        }
    }

    /// The places of the numbers in a place; `None` if one is the interpreter's.
    fn targets(&self, to: &'a Expr) -> Option<Vec<(Place<'a>, Kind)>> {
        if let Some(target) = self.places().scalar(to) {
            return Some(vec![target]);
        }
        let Place::Node(node) = self.places().find(to)? else { return None };
        let mut found = vec![];
        self.scalars(node, &mut found).then_some(found)
    }

    /// False if there is more in it.
    fn scalars(&self, node: &'a Node, found: &mut Vec<(Place<'a>, Kind)>) -> bool {
        match node {
            Node::Scalar(index) => {
                found.push((Place::Node(node), self.layout.scalars[*index].kind));
                true
            }
            Node::Struct(nodes) => nodes.iter().all(|node| self.scalars(node, found)),
            _ => false,
        }
    }
}
