//! Calls of value externs: code puts the numbers of arguments together, the runtime calls, and code brings the results where they
//! belong.

use super::place::Place;
use super::{Code, Made, PLAIN, type_of};
use crate::layout::{Kind, Node};
use crate::notes::{Slot, ValueCall};
use cranelift_codegen::ir::{InstBuilder, types};
use device::ValueCallee;
use ir::{Call, Direction, Expr};

/// Maximum number of scalars that a call returns: the place for keys has room for this number of pairs of words.
const MOST_GIVEN: usize = 32;

/// Destination of a call's numeric result.
type Target<'a> = (Place<'a>, Kind);

impl<'a> Code<'a, '_> {
    /// Compiles a call whose result goes to `to`. Returns false, without any code, if only the interpreter can execute the call.
    pub(crate) fn call_value(
        &mut self,
        callee: ValueCallee,
        call: &'a Call,
        to: Option<&'a Expr>,
    ) -> Made<bool> {
        let Some(signature) = callee.signature(self.program) else { return Ok(false) };
        let (mut numbers, mut inputs, mut targets, mut slots) = (vec![], vec![], vec![], vec![]);
        let mut given = 0;
        for (arg, param) in call.args.iter().zip(&signature.params) {
            let Some(arg) = arg else { return Ok(false) };
            let into = param.direction != Direction::Out;
            if into {
                let Some(value) = self.given(arg, &mut numbers) else { return Ok(false) };
                inputs.push(value);
            }
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                let Some(parts) = self.targets(arg) else { return Ok(false) };
                let from = |at: usize| into.then_some(given + at);
                slots.extend(
                    parts
                        .iter()
                        .enumerate()
                        .map(|(at, (_, kind))| Slot { width: kind.width(), from: from(at) }),
                );
                given += if into { parts.len() } else { 0 };
                targets.extend(parts);
            } else {
                let mut widths = vec![];
                ir_value::numbers::widths(self.program, &arg.ty, &mut widths);
                given += widths.len();
            }
        }
        if let Some(to) = to {
            let Some(parts) = self.targets(to) else { return Ok(false) };
            slots.extend(parts.iter().map(|(_, kind)| Slot { width: kind.width(), from: None }));
            targets.extend(parts);
        } else {
            // The extern gives its result even if nobody takes it.
            let mut widths = vec![];
            ir_value::numbers::widths(self.program, &signature.returns, &mut widths);
            slots.extend(widths.into_iter().map(|width| Slot { width, from: None }));
        }
        if slots.len() > MOST_GIVEN {
            return Ok(false);
        }
        if self.ahead {
            return Ok(true);
        }
        let values = numbers.iter().map(|number| self.value(number)).collect::<Made<Vec<_>>>()?;
        for (at, value) in values.into_iter().enumerate() {
            self.store_key_pair(at, value);
        }
        inputs.iter().for_each(|given| self.spill_given(given));
        let id = self.number(types::I32, self.notes.value_calls.len() as u64);
        self.notes.value_calls.push(ValueCall { callee, inputs, slots });
        self.b.ins().call(self.calls.value_call, &[self.context, id]);
        for (at, (place, kind)) in targets.into_iter().enumerate() {
            let from = self.layout.homes.keys + 16 * at as i32;
            let value = self.b.ins().load(type_of(kind), PLAIN, self.frame, from);
            self.give(&place, kind, value)?;
        }
        Ok(true)
    }

    /// The places of the numbers in a place; `None` if one is the interpreter's.
    fn targets(&self, to: &'a Expr) -> Option<Vec<Target<'a>>> {
        if let Some(target) = self.places().scalar(to) {
            return Some(vec![target]);
        }
        let Place::Node(node) = self.places().find(to)? else { return None };
        let mut found = vec![];
        self.scalars(node, &mut found).then_some(found)
    }

    /// False if there is more in it.
    fn scalars(&self, node: &'a Node, found: &mut Vec<Target<'a>>) -> bool {
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
