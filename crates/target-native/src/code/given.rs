//! v1model's externs in the runtime: code assembles the values of a call and stores its result.
//!
//! ```text
//! random(r, lo, hi), meter.execute_meter(i, r), direct_meter.read(r)    numbers in, a number out
//! digest(_, data), log_msg("...", data)                                 a value in: numbers, and what lies in the frame
//! ```

use super::place::Place;
use super::{Code, Made, PLAIN, type_of};
use crate::layout::{Kind, NONE, kind_of};
use crate::notes::{Given, Message};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use device::reports::digest_name;
use ir::{Const, Expr, ExprKind, InstanceId, Type};

/// Maximum number of scalars in a value: the place for keys has room for this number of pairs of words.
const MOST_NUMBERS: usize = 32;

impl<'a> Code<'a, '_> {
    /// Uniform in `lo..=hi`; the result is left alone if the range is empty.
    pub(crate) fn random(&mut self, result: &'a Expr, lo: &'a Expr, hi: &'a Expr) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(result) else { return Ok(false) };
        if !self.places().can(lo) || !self.places().can(hi) {
            return Ok(false);
        }
        if self.ahead {
            return Ok(true);
        }
        let bounds = [self.value(lo)?, self.value(hi)?];
        for (at, bound) in bounds.into_iter().enumerate() {
            self.store_key_pair(at, bound);
        }
        let call = self.b.ins().call(self.calls.random, &[self.context]);
        let is_drawn = self.b.inst_results(call)[0];
        self.branch(
            is_drawn,
            |code| {
                let drawn = code.b.ins().load(type_of(kind), PLAIN, code.frame, code.layout.homes.keys);
                code.give(&place, kind, drawn)
            },
            |_| Ok(()),
        )?;
        Ok(true)
    }

    /// Out of range the result is left alone.
    pub(crate) fn execute_meter(
        &mut self,
        instance: InstanceId,
        index: &'a Expr,
        result: &'a Expr,
    ) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(result) else { return Ok(false) };
        let Some(index) = self.word(index)? else { return Ok(false) };
        if self.ahead {
            return Ok(true);
        }
        let bytes = self.counted();
        let instance = self.number(types::I32, u64::from(instance.0));
        let green = self.number(types::I64, 0);
        let call = self.b.ins().call(self.calls.meter, &[self.context, instance, index, bytes, green]);
        let colour = self.b.inst_results(call)[0];
        self.give_colour(&place, kind, colour)
    }

    /// Reads the meter's result from the hit of its table; after a miss the result argument is unchanged.
    pub(crate) fn read_meter(&mut self, instance: InstanceId, result: &'a Expr) -> Made<bool> {
        let Some((place, kind)) = self.places().scalar(result) else { return Ok(false) };
        if self.ahead {
            return Ok(true);
        }
        let instance = self.number(types::I32, u64::from(instance.0));
        let block = self.number(types::I32, self.block as u64);
        let call = self.b.ins().call(self.calls.colour, &[self.context, block, instance]);
        let colour = self.b.inst_results(call)[0];
        self.give_colour(&place, kind, colour)
    }

    fn give_colour(&mut self, place: &Place<'a>, kind: Kind, colour: Value) -> Made<bool> {
        let is_one = self.b.ins().icmp_imm_s(IntCC::NotEqual, colour, NONE);
        self.branch(is_one, |code| code.give(place, kind, colour), |_| Ok(()))?;
        Ok(true)
    }

    pub(crate) fn digest(&mut self, data: &'a Expr) -> Made<bool> {
        let mut numbers = vec![];
        let Some(given) = self.given(data, &mut numbers) else { return Ok(false) };
        let name = digest_name(self.program, &data.ty);
        self.report(&numbers, Message::Digest(name, given))
    }

    pub(crate) fn log(&mut self, message: &'a Expr, data: Option<&'a Expr>) -> Made<bool> {
        let ExprKind::Const(Const::Str(line)) = &message.kind else { return Ok(false) };
        let mut numbers = vec![];
        let given = data.map(|data| self.given(data, &mut numbers).ok_or(()));
        let Ok(given) = given.transpose() else { return Ok(false) };
        self.report(&numbers, Message::Log(line.to_string(), given))
    }

    /// How a value is put together, and the numbers in it; `None` if code cannot.
    pub(crate) fn given(&self, expr: &'a Expr, numbers: &mut Vec<&'a Expr>) -> Option<Given> {
        if let Some(kind) = kind_of(self.program, &expr.ty).filter(|_| self.places().can(expr)) {
            numbers.push(expr);
            return (numbers.len() <= MOST_NUMBERS).then_some(Given::Number(numbers.len() - 1, kind));
        }
        match &expr.kind {
            ExprKind::Aggregate(parts) if self.is_struct(&expr.ty) => {
                parts.iter().map(|part| self.given(part, numbers)).collect::<Option<_>>().map(Given::Struct)
            }
            ExprKind::Aggregate(parts) if self.program.is_header(&expr.ty) => {
                parts.iter().map(|part| self.given(part, numbers)).collect::<Option<_>>().map(Given::Header)
            }
            _ => match self.places().find(expr)? {
                Place::Node(node) => Some(Given::Node(node.clone())),
                _ => None,
            },
        }
    }

    fn is_struct(&self, ty: &Type) -> bool {
        match self.program.representation(ty) {
            Type::Tuple(_) => true,
            Type::Named(id) => matches!(self.program.type_decl(*id).kind, ir::TypeKind::Struct(_)),
            _ => false,
        }
    }

    pub(crate) fn report(&mut self, numbers: &[&'a Expr], message: Message) -> Made<bool> {
        if self.ahead {
            return Ok(true);
        }
        let values = numbers.iter().map(|number| self.value(number)).collect::<Made<Vec<_>>>()?;
        for (at, value) in values.into_iter().enumerate() {
            self.store_key_pair(at, value);
        }
        match &message {
            Message::Digest(_, data) | Message::Log(_, Some(data)) => self.spill_given(data),
            Message::Mirror(_, Some(data)) | Message::Resubmission(Some(data)) => self.spill_given(data),
            Message::Log(_, None) | Message::Mirror(_, None) | Message::Resubmission(None) => {}
        }
        let id = self.number(types::I32, self.notes.messages.len() as u64);
        self.notes.messages.push(message);
        self.b.ins().call(self.calls.report, &[self.context, id]);
        Ok(true)
    }

    pub(crate) fn spill_given(&mut self, given: &Given) {
        match given {
            Given::Number(..) => {}
            Given::Node(node) => self.spill(node),
            Given::Struct(parts) | Given::Header(parts) => {
                parts.iter().for_each(|part| self.spill_given(part));
            }
        }
    }
}
