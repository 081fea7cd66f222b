//! Runs one stage on a packet: parser, control, deparser.

use super::embed::HalfDone;
use super::externs::PsaArch;
use super::layout::{Half, Param, Stage};
use super::packet::{Packet, Pass};
use crate::fields;
use crate::life::Life;
use crate::machine::{Flow, Frame, Machine, Scope, Stop};
use crate::packet_in::Input;
use crate::switch::Core;
use crate::trace::EventKind;
use crate::value::Value;
use base_bits::BitWriter;
use base_diag::Span;
use base_time::Time;
use ir::{Carried, ControlId, ErrorId, Name, Role};

/// What stages need beside the packet.
pub(super) struct Stages<'c> {
    pub(super) core: &'c mut Core,
    pub(super) half: &'c Half,
    pub(super) now: Time,
    pub(super) life: &'c Life,
}

impl Stages<'_> {
    /// Parser, control and deparser on one packet, as it comes to this half. `facts` are the fields of the input
    /// metadata, `initial` those of the output metadata that are not 0 at the start. Gives the deparsed packet.
    pub(super) fn run(
        &mut self,
        packet: &Packet,
        facts: Vec<(&'static str, u128)>,
        initial: &[(&'static str, u128)],
    ) -> Result<HalfDone, Stop> {
        let program = self.core.program.clone();
        let zero = |role: Role| Value::zero(&program, &self.half.control.ty(role));
        let mut pass = Pass {
            headers: zero(Role::Headers),
            metadata: zero(Role::Metadata),
            output: zero(Role::Output),
            payload: vec![],
            length: packet.frame.len() as u64,
            facts,
            carried: packet.carried.iter().cloned().collect(),
        };
        for (field, value) in initial {
            fields::set(&program, &self.half.control.ty(Role::Output), &mut pass.output, field, *value);
        }
        self.parse(&mut pass, packet.frame.clone())?;
        self.control(&mut pass)?;
        let frame = self.deparse(&mut pass)?;
        Ok(HalfDone { output: pass.output, carried: pass.carried, frame })
    }

    fn parse(&mut self, pass: &mut Pass, frame: Vec<u8>) -> Result<(), Stop> {
        let half = self.half;
        let program = self.core.program.clone();
        let parser = program.parser(half.parser.id);
        let vars = self.core.plan.parser_vars(half.parser.id);
        let scope = Scope::Parser(half.parser.id, parser);
        let error = self.stage(&half.parser, pass, scope, vars, Input::new(frame), |machine, pass| {
            let result = machine.run_parser(half.parser.id, parser);
            pass.payload = machine.input.rest().to_vec();
            match result {
                Ok(()) | Err(Stop::Exit) => Ok(ErrorId(0)),
                Err(Stop::Reject(error)) => Ok(error),
                Err(other) => Err(other),
            }
        })?;
        if error != ErrorId(0) {
            let name = program.errors.get(error.index()).cloned().unwrap_or_default();
            self.core.state.trace.add(|| EventKind::ParserError { error: name });
        }
        pass.facts.push(("parser_error", u128::from(error.0)));
        pass.carried.clear();
        Ok(())
    }

    fn control(&mut self, pass: &mut Pass) -> Result<(), Stop> {
        let half = self.half;
        self.block(&half.control, pass, |_, _| ())
    }

    /// The packet's bytes: emitted headers, then the payload. What the deparser gives along stays in `pass`.
    fn deparse(&mut self, pass: &mut Pass) -> Result<Vec<u8>, Stop> {
        let half = self.half;
        self.block(&half.deparser, pass, |machine, pass| {
            let mut output = std::mem::take(&mut machine.output);
            output.pad();
            output.push_bytes(&pass.payload);
            output.finish()
        })
    }

    /// Runs the body of a control, and then `after`.
    fn block<T>(
        &mut self,
        stage: &Stage<ControlId>,
        pass: &mut Pass,
        after: impl FnOnce(&mut Machine<'_, PsaArch>, &mut Pass) -> T,
    ) -> Result<T, Stop> {
        let program = self.core.program.clone();
        let control = program.control(stage.id);
        let vars = self.core.plan.control_vars(stage.id);
        let scope = Scope::Control(stage.id, control);
        self.stage(stage, pass, scope, vars, Input::default(), |machine, pass| {
            match machine.run(&control.locals).and_then(|_| machine.run_block(&control.body)) {
                Ok(Flow::Next | Flow::Return(_)) | Err(Stop::Exit) => Ok(after(machine, pass)),
                Ok(_) => Err(Stop::Broken("break or continue outside a loop")),
                Err(stop) => Err(stop),
            }
        })
    }

    /// Runs a stage: binds its parameters, does `work`, and takes back what the parameters became.
    fn stage<'m, Id, T>(
        &'m mut self,
        stage: &Stage<Id>,
        pass: &mut Pass,
        scope: Scope<'m>,
        vars: Vec<Value>,
        input: Input,
        work: impl FnOnce(&mut Machine<'m, PsaArch>, &mut Pass) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.tell(&stage.name, true);
        let core = &mut *self.core;
        let mut machine = Machine {
            program: &core.program,
            plan: &core.plan,
            arch: PsaArch::new(self.now, pass.length),
            state: &mut core.state,
            frame: Frame { scope, vars },
            input,
            output: BitWriter::new(),
            fuel: self.life.steps(),
        };
        let entered = machine.spend(1).and_then(|()| enter(&mut machine, &stage.params, pass));
        let result = entered.and_then(|()| work(&mut machine, pass));
        leave(&mut machine, &stage.params, pass);
        self.life.set_steps(machine.fuel);
        machine.state.trace.stand_at(Span::NONE);
        let name = stage.name.clone();
        machine.state.trace.add(|| EventKind::Stage { stage: name, enter: false });
        result
    }

    fn tell(&mut self, stage: &Name, enter: bool) {
        self.core.state.trace.stand_at(Span::NONE);
        self.core.state.trace.add(|| EventKind::Stage { stage: stage.clone(), enter });
    }
}

fn enter(machine: &mut Machine<'_, PsaArch>, params: &[Param], pass: &mut Pass) -> Result<(), Stop> {
    for param in params {
        let value = match param.role {
            Role::Headers => std::mem::replace(&mut pass.headers, Value::Void),
            Role::Metadata => std::mem::replace(&mut pass.metadata, Value::Void),
            Role::Output => pass.output.clone(),
            Role::Input => {
                let mut value = Value::zero(machine.program, &param.ty);
                for (name, number) in &pass.facts {
                    fields::set(machine.program, &param.ty, &mut value, name, *number);
                }
                value
            }
            Role::Carried(by) => match pass.carried.iter().find(|(way, _)| *way == by) {
                Some((_, value)) => value.clone(),
                None => Value::zero(machine.program, &param.ty),
            },
            Role::Packet | Role::StandardMetadata | Role::Other => continue,
        };
        machine.set_var(param.var, value)?;
    }
    Ok(())
}

fn leave(machine: &mut Machine<'_, PsaArch>, params: &[Param], pass: &mut Pass) {
    for param in params {
        match param.role {
            Role::Headers => pass.headers = machine.take_var(param.var),
            Role::Metadata => pass.metadata = machine.take_var(param.var),
            Role::Output => pass.output = machine.take_var(param.var),
            Role::Carried(by) => give_along(pass, by, machine.take_var(param.var)),
            Role::Packet | Role::StandardMetadata | Role::Input | Role::Other => {}
        }
    }
}

fn give_along(pass: &mut Pass, by: Carried, value: Value) {
    pass.carried.retain(|(way, _)| *way != by);
    pass.carried.push((by, value));
}
