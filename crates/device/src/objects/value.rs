//! Value externs: instances, and the functions of a program.

use base_bits::Bits;
use base_time::Time;
use dataplane_api::ValueExtern;
use ir::{CallEffect, ExternFunctionId, InstanceId, Program, Signature};

/// A value extern with its declaration in the program.
pub(crate) struct ValueObject {
    pub(crate) object: Box<dyn ValueExtern>,
    /// For each method of the declaration; a function has one.
    pub(crate) methods: Vec<ValueMethod>,
}

/// A method of the declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueMethod {
    /// Index of the method in the extern's offer.
    pub(crate) number: usize,
    pub(crate) effect: CallEffect,
}

impl ValueObject {
    /// True if results depend on more than the arguments.
    pub(crate) fn has_memory(&self) -> bool {
        self.methods.iter().any(|method| method.effect != CallEffect::Pure)
    }

    /// The whole memory; empty without one.
    pub(crate) fn memory(&self) -> Vec<u8> {
        if self.has_memory() { self.object.snapshot() } else { vec![] }
    }

    /// Calls a method of the declaration. Outputs keep the widths of the given slots.
    pub(crate) fn call(&mut self, method: ValueMethod, inputs: &[Bits], outputs: &mut [Bits], now: Time) {
        let widths: smallvec::SmallVec<[u32; 8]> = outputs.iter().map(Bits::width).collect();
        self.object.call(method.number, inputs, outputs, now);
        for (output, width) in outputs.iter_mut().zip(widths) {
            if output.width() != width {
                *output = output.resize(width);
            }
        }
    }
}

/// Callee of a value extern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueCallee {
    /// A method of an instance.
    Method(InstanceId, u32),
    /// A function.
    Function(ExternFunctionId),
}

impl ValueCallee {
    /// Value extern that a call invokes; `None` for other calls.
    pub fn of(program: &Program, callee: &ir::Callee) -> Option<ValueCallee> {
        match callee {
            ir::Callee::ExternFunction(id) => {
                program.extern_functions.get(id.index())?.value_extern()?;
                Some(ValueCallee::Function(*id))
            }
            ir::Callee::Method(id, method) => {
                program.extern_object(program.instances.get(id.index())?.object).value_extern()?;
                Some(ValueCallee::Method(*id, *method))
            }
            _ => None,
        }
    }

    /// Declaration of the function or method.
    pub fn signature(self, program: &Program) -> Option<&Signature> {
        match self {
            ValueCallee::Function(id) => Some(&program.extern_functions.get(id.index())?.signature),
            ValueCallee::Method(id, method) => {
                let object = program.extern_object(program.instances.get(id.index())?.object);
                Some(&object.methods.get(method as usize)?.signature)
            }
        }
    }
}
