//! Calls of value externs: arguments become numbers, and numbers results.

use crate::externs::arg;
use crate::machine::{Arch, Machine};
use base_bits::Bits;
use device::ValueCallee;
use device::stage::Stop;
use ir::{Call, Direction, Type};
use ir_value::{Value, numbers};

impl<A: Arch> Machine<'_, A> {
    pub(crate) fn call_value(&mut self, callee: ValueCallee, call: &Call) -> Result<Value, Stop> {
        let program = self.program;
        let signature = callee.signature(program).ok_or(Stop::Broken("an unknown extern"))?;
        let (mut inputs, mut outputs, mut back) = (vec![], vec![], vec![]);
        for (at, param) in signature.params.iter().enumerate() {
            let given = arg(&call.args, at)?;
            match param.direction {
                Direction::None | Direction::In => numbers::flatten(&self.eval(given)?, &mut inputs),
                Direction::InOut => {
                    let place = self.place(given)?;
                    let first = inputs.len();
                    numbers::flatten(&self.read(&place, &given.ty)?, &mut inputs);
                    // An `inout` result that the extern does not write keeps its value.
                    outputs.extend_from_slice(&inputs[first..]);
                    back.push((place, &given.ty));
                }
                Direction::Out => {
                    back.push((self.place(given)?, &given.ty));
                    zeros(self, &given.ty, &mut outputs)?;
                }
            }
        }
        if signature.returns != Type::Void {
            zeros(self, &signature.returns, &mut outputs)?;
        }
        // Lists cost as much as their elements would.
        self.spend((inputs.len() + outputs.len()) as u64)?;
        let now = self.arch.now();
        self.state.call_value(program, callee, &inputs, &mut outputs, now)?;
        let mut given = outputs.into_iter();
        for (place, ty) in back {
            let value = numbers::assemble(program, ty, &mut given);
            self.write(&place, value)?;
        }
        Ok(match signature.returns {
            Type::Void => Value::Void,
            ref ty => numbers::assemble(program, ty, &mut given),
        })
    }
}

/// Appends a zero for each number of a type.
fn zeros<A: Arch>(machine: &Machine<'_, A>, ty: &Type, out: &mut Vec<Bits>) -> Result<(), Stop> {
    let mut widths = vec![];
    match numbers::widths(machine.program, ty, &mut widths) {
        true => out.extend(widths.into_iter().map(Bits::zero)),
        false => return Err(Stop::Broken("a value without numbers")),
    }
    Ok(())
}
