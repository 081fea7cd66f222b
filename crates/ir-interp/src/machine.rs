//! The machine that runs the blocks of a program on one packet. It depends on no architecture: an [`Arch`] defines the
//! externs.

use crate::packet_in::Input;
use crate::plan::Plan;
use base_bits::BitWriter;
use base_time::Time;
use device::State;
use device::data_plane::Application;
use device::stage::Stop;
use ir::{
    Call, Control, ControlId, ExternFunctionId, Function, InstanceId, Parser, ParserId, Program, Var, VarId,
};
use ir_value::Value;

/// End of a statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    /// The next one follows.
    Next,
    /// The innermost loop ends.
    Break,
    /// The innermost loop goes on.
    Continue,
    /// The action, function or control body ends.
    Return(Option<Value>),
}

/// Additions of an architecture to the language.
pub(crate) trait Arch: Sized {
    /// In packets, a header takes whole bytes, whatever the number of its bits.
    const WHOLE_BYTES: bool = false;

    /// Calls an extern function.
    fn function(
        machine: &mut Machine<'_, Self>,
        function: ExternFunctionId,
        call: &Call,
    ) -> Result<Value, Stop>;

    /// Calls a method of an extern instance.
    fn method(
        machine: &mut Machine<'_, Self>,
        instance: InstanceId,
        method: u32,
        call: &Call,
    ) -> Result<Value, Stop>;

    /// A table was applied. Its action has not run yet.
    fn looked_up(machine: &mut Machine<'_, Self>, applied: Application);

    /// A parser has accepted the packet.
    fn parsed(_: &mut Machine<'_, Self>, _: ParserId) -> Result<(), Stop> {
        Ok(())
    }

    /// The clock of the stage.
    fn now(&self) -> Time;

    /// A header became longer or shorter by `setValid` or `setInvalid`.
    fn resized(&mut self, bytes: i64);
}

/// The block that is running.
#[derive(Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// A parser.
    Parser(ParserId, &'a Parser),
    /// A control or one of its actions.
    Control(ControlId, &'a Control),
    /// A function.
    Function(&'a Function),
}

impl<'a> Scope<'a> {
    /// Parameters and locals.
    pub(crate) fn vars(self) -> &'a [Var] {
        match self {
            Scope::Parser(_, parser) => &parser.vars,
            Scope::Control(_, control) => &control.vars,
            Scope::Function(function) => &function.vars,
        }
    }
}

/// A block with its variables.
pub(crate) struct Frame<'a> {
    pub(crate) scope: Scope<'a>,
    /// One for each variable of the block.
    pub(crate) vars: Vec<Value>,
}

/// A program at work on one packet.
pub(crate) struct Machine<'a, A> {
    pub(crate) program: &'a Program,
    pub(crate) plan: &'a Plan,
    pub(crate) state: &'a mut State,
    pub(crate) arch: A,
    pub(crate) frame: Frame<'a>,
    /// Bytes for `packet_in` to read.
    pub(crate) input: Input,
    /// Bytes that `packet_out` wrote.
    pub(crate) output: BitWriter,
    /// Steps that may still be made.
    pub(crate) fuel: u64,
}

impl<'a, A: Arch> Machine<'a, A> {
    /// Takes `steps` off the budget.
    pub(crate) fn spend(&mut self, steps: u64) -> Result<(), Stop> {
        match self.fuel.checked_sub(steps) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => {
                self.fuel = 0;
                Err(Stop::OutOfFuel)
            }
        }
    }

    /// The control that is running.
    pub(crate) fn control(&self) -> Result<(ControlId, &'a Control), Stop> {
        match self.frame.scope {
            Scope::Control(id, control) => Ok((id, control)),
            _ => Err(Stop::Broken("a table or action outside a control")),
        }
    }

    /// The declaration of a variable of the running block.
    pub(crate) fn var(&self, id: VarId) -> Result<&'a Var, Stop> {
        self.frame.scope.vars().get(id.index()).ok_or(Stop::Broken("an unknown variable"))
    }

    /// Sets a variable of the running block.
    pub(crate) fn set_var(&mut self, id: VarId, value: Value) -> Result<(), Stop> {
        match self.frame.vars.get_mut(id.index()) {
            Some(slot) => {
                *slot = value;
                Ok(())
            }
            None => Err(Stop::Broken("an unknown variable")),
        }
    }

    /// Takes the value of a variable of the running block, which is void afterwards.
    pub(crate) fn take_var(&mut self, id: VarId) -> Value {
        self.frame.vars.get_mut(id.index()).map_or(Value::Void, |v| std::mem::replace(v, Value::Void))
    }
}
