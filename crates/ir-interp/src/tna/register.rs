//! Registers with their actions: a cell is read, a function of the program computes, the cell is written.

use super::externs::Tna;
use crate::externs::number_of;
use device::stage::Stop;
use ir::{Call, Const, Expr, ExprKind, ExternMethod, ExternObject, InstanceId};
use ir_value::Value;

impl Tna<'_> {
    /// The cell of a direct register; zero where no table was applied.
    pub(super) fn read_direct(&mut self, id: InstanceId) -> Result<Value, Stop> {
        let zero = Value::zero(self.program, self.type_arg(id, 0)?);
        Ok(self.state.direct_register(self.program, id, self.arch.applied)?.unwrap_or(zero))
    }

    /// `execute` or `execute_log` of a register action. An index out of range reads zero and writes nothing.
    ///
    /// The results of `apply` are its parameters after the cell: the first is returned, the others go to the `out`
    /// arguments. Arguments after those of the method are the values that the implementation captured.
    pub(super) fn execute_register(
        &mut self,
        id: InstanceId,
        method: &ExternMethod,
        args: &[Option<Expr>],
    ) -> Result<Value, Stop> {
        let program = self.program;
        let declared = program.instances.get(id.index()).ok_or(Stop::Broken("an unknown instance"))?;
        let object = program.extern_object(declared.object);
        let is_apply = |at: u32| object.methods.get(at as usize).is_some_and(|m| m.name == "apply");
        let apply = declared.methods.iter().find(|(at, _)| is_apply(*at));
        let (at, function) = *apply.ok_or(Stop::Broken("a register action without `apply`"))?;
        let Some(ExprKind::Const(Const::Instance(register))) = declared.args.first().map(|arg| &arg.kind)
        else {
            return Err(Stop::Broken("an action of no register"));
        };
        let is_direct = object.name.starts_with("Direct");
        let own = method.signature.params.len();
        let index = match (method.name.as_str(), args.first()) {
            ("execute_log", _) => self.state.next_in_log(id, *register)?,
            (_, Some(Some(index))) if !is_direct => self.eval_number(index)?,
            _ => 0,
        };
        let mut captured = vec![];
        for value in args.get(own..).unwrap_or_default() {
            captured.push(self.eval(value.as_ref().ok_or(Stop::Broken("a missing argument"))?)?);
        }
        let cell = if is_direct {
            self.state.direct_register(program, *register, self.arch.applied)?
        } else {
            self.register_cell(*register, index)?
        };
        let ty = self.type_arg(*register, 0)?;
        let declared = object.methods.get(at as usize).map_or(0, |apply| apply.signature.params.len());
        // `apply` also runs for a cell out of range, on a zero, because it may have other results; only the write is left out.
        let is_there = cell.is_some();
        let cell = cell.unwrap_or_else(|| Value::zero(program, ty));
        let mut results = self.run_with(function, declared, cell, captured)?.into_iter();
        let value = results.next().ok_or(Stop::Broken("an `apply` without a cell"))?;
        if is_there && is_direct {
            self.state.direct_register_write(program, *register, self.arch.applied, value);
        } else if is_there {
            self.state.register_write(program, *register, index, ty, value)?;
        }
        let result = results.next();
        let outs =
            args.iter().zip(&method.signature.params).filter(|(_, p)| p.direction == ir::Direction::Out);
        for (to, _) in outs {
            let value = results.next();
            if let Some(to) = to {
                let place = self.place(to)?;
                let value = value.unwrap_or_else(|| Value::zero(program, &to.ty));
                self.write(&place, value)?;
            }
        }
        let position = if is_direct { 1 } else { 2 };
        match result {
            Some(value) => Ok(value),
            None => Ok(Value::zero(program, self.type_arg(id, position)?)),
        }
    }

    /// One bit for each combination of the comparisons: that of the one that holds is set.
    pub(super) fn predicate(
        &mut self,
        id: InstanceId,
        object: &ExternObject,
        method: &ExternMethod,
        call: &Call,
    ) -> Result<Value, Stop> {
        let mut combination = 0;
        for at in 0..method.signature.params.len() {
            if let Some(Some(holds)) = call.args.get(at) {
                combination |= u32::from(self.eval_bool(holds)?) << at;
            }
        }
        // The type is the method's own, or that of the action's result.
        let position = if object.name.starts_with("Direct") { 1 } else { 2 };
        let ty = match call.type_args.first() {
            Some(ty) => self.program.representation(ty),
            None => self.type_arg(id, position)?,
        };
        number_of(ty, 1 << combination)
    }
}
