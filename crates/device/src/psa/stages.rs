//! Runs one stage on a packet: parser, control, deparser.

use super::half::HalfDone;
use super::packet::{Packet, Pass};
use crate::budget::PacketBudget;
use crate::core::Core;
use crate::half::HalfBlocks;
use crate::runner::StageRunner;
use crate::stage::{Param, Stage, Stop, Visit};
use crate::trace::EventKind;
use base_time::Time;
use ir::{Carried, ErrorId, Role};
use ir_value::{Value, fields};

/// Context of stages, beside the packet.
pub(super) struct Stages<'c> {
    pub(super) core: &'c mut Core,
    pub(super) runner: &'c mut (dyn StageRunner + 'c),
    pub(super) half: &'c HalfBlocks,
    pub(super) now: Time,
    pub(super) budget: &'c PacketBudget,
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
        self.stage(&self.half.control, &mut pass, vec![]).end?;
        let visit = self.stage(&self.half.deparser, &mut pass, vec![]);
        visit.end?;
        // Metadata from the deparser stays in `pass`.
        let mut frame = visit.emitted;
        frame.extend(&pass.payload);
        Ok(HalfDone { output: pass.output, carried: pass.carried, frame })
    }

    fn parse(&mut self, pass: &mut Pass, frame: Vec<u8>) -> Result<(), Stop> {
        let visit = self.stage(&self.half.parser, pass, frame);
        let error = match visit.end {
            Ok(_) => ErrorId(0),
            Err(Stop::Reject(error)) => error,
            Err(other) => return Err(other),
        };
        pass.payload = visit.payload;
        if error != ErrorId(0) {
            let name = self.core.program.errors.get(error.index()).cloned().unwrap_or_default();
            self.core.state.trace.add(|| EventKind::ParserError { error: name });
        }
        pass.facts.push(("parser_error", u128::from(error.0)));
        pass.carried.clear();
        Ok(())
    }

    /// Runs a stage: sets its parameters before, and stores them afterwards.
    fn stage(&mut self, stage: &Stage, pass: &mut Pass, frame: Vec<u8>) -> Visit {
        let values = stage.params.iter().filter_map(|param| Some((param.var, self.enter(param, pass)?)));
        let mut visit = Visit::begin(values.collect(), frame, pass.length, self.budget.steps());
        self.core.trace_stage(&stage.name, true);
        self.runner.stage(self.core, stage, std::slice::from_mut(&mut visit), self.now);
        self.core.trace_stage(&stage.name, false);
        self.budget.set_steps(visit.fuel);
        for (var, value) in std::mem::take(&mut visit.values) {
            if let Some(param) = stage.params.iter().find(|param| param.var == var) {
                leave(param, pass, value);
            }
        }
        visit
    }

    /// Value of a parameter at the start of its stage; `None` if it has none.
    fn enter(&self, param: &Param, pass: &mut Pass) -> Option<Value> {
        let program = &self.core.program;
        Some(match param.role {
            Role::Headers => std::mem::replace(&mut pass.headers, Value::Void),
            Role::Metadata => std::mem::replace(&mut pass.metadata, Value::Void),
            Role::Output => pass.output.clone(),
            Role::Input => {
                let mut value = Value::zero(program, &param.ty);
                for (name, number) in &pass.facts {
                    fields::set(program, &param.ty, &mut value, name, *number);
                }
                value
            }
            Role::Carried(by) => match pass.carried.iter().find(|(way, _)| *way == by) {
                Some((_, value)) => value.clone(),
                None => Value::zero(program, &param.ty),
            },
            Role::Packet | Role::StandardMetadata | Role::Other => return None,
        })
    }
}

/// Stores the value of a parameter at the end of its stage.
fn leave(param: &Param, pass: &mut Pass, value: Value) {
    match param.role {
        Role::Headers => pass.headers = value,
        Role::Metadata => pass.metadata = value,
        Role::Output => pass.output = value,
        Role::Carried(by) => give_along(pass, by, value),
        Role::Packet | Role::StandardMetadata | Role::Input | Role::Other => {}
    }
}

fn give_along(pass: &mut Pass, by: Carried, value: Value) {
    pass.carried.retain(|(way, _)| *way != by);
    pass.carried.push((by, value));
}
