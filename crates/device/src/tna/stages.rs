//! Runs one half on a packet: parser, control, deparser.

use super::half::HalfDone;
use super::layout::{Layout, TO_MANAGER, from_parser, named};
use super::packet::Pass;
use crate::budget::PacketBudget;
use crate::core::Core;
use crate::half::Half;
use crate::runner::StageRunner;
use crate::stage::{Effects, Param, Stage, Stop, Visit};
use crate::trace::EventKind;
use base_time::Time;
use ir::{ErrorId, Role, Type};
use ir_value::{Value, fields};
use p4_arch::tna::parser_error;

/// Context of stages, beside the packet.
pub(super) struct Stages<'c> {
    pub(super) core: &'c mut Core,
    pub(super) runner: &'c mut (dyn StageRunner + 'c),
    pub(super) layout: &'c Layout,
    pub(super) half: Half,
    pub(super) now: Time,
    pub(super) budget: &'c PacketBudget,
}

impl Stages<'_> {
    /// Runs parser, control and deparser. `input` is what the parser sees, metadata first; `length` the frame's. Nothing
    /// if the parser drops the packet.
    pub(super) fn run(&mut self, input: Vec<u8>, length: u64) -> Result<Option<HalfDone>, Stop> {
        let program = self.core.program.clone();
        let blocks = self.layout.halves.half(self.half);
        let mut pass = Pass {
            headers: Value::zero(&program, &blocks.control.ty(Role::Headers)),
            metadata: Value::zero(&program, &blocks.control.ty(Role::Metadata)),
            intrinsic: self.initial(),
            payload: vec![],
            length,
        };
        let visit = self.stage(&blocks.parser, &mut pass, input);
        let error = match visit.end {
            Ok(_) => 0,
            Err(Stop::Reject(error)) => self.rejected(error),
            Err(other) => return Err(other),
        };
        pass.payload = visit.payload;
        // A Tofino drops a packet with an error of the ingress parser, unless the program reads the error; without a transition always.
        let fatal = error & parser_error::NO_MATCH != 0 || !self.layout.reads_parser_error;
        if error != 0 && self.half == Half::Ingress && fatal {
            return Ok(None);
        }
        self.parsed(&mut pass, error);
        self.stage(&blocks.control, &mut pass, vec![]).end?;
        let visit = self.stage(&blocks.deparser, &mut pass, vec![]);
        visit.end?;
        let mut frame = visit.emitted;
        frame.extend(&pass.payload);
        let Effects { mirror, resubmission, .. } = visit.effects;
        Ok(Some(HalfDone { intrinsic: pass.intrinsic, mirror, resubmission, frame }))
    }

    /// The intrinsic metadata that is not zero when a half begins: no unicast port is set.
    fn initial(&self) -> Vec<(Type, Value)> {
        let program = &self.core.program;
        let Some(ty) = named(program, TO_MANAGER) else { return vec![] };
        let mut value = Value::zero(program, &ty);
        fields::set(program, &ty, &mut value, "ucast_egress_port", u128::from(p4_arch::tna::NO_PORT));
        vec![(ty, value)]
    }

    /// The parser's own metadata: clock and error.
    fn parsed(&mut self, pass: &mut Pass, error: u64) {
        let program = self.core.program.clone();
        let Some(ty) = named(&program, from_parser(self.half)) else { return };
        let mut value = Value::zero(&program, &ty);
        let now = self.core.timestamp(self.half, self.now);
        fields::set(&program, &ty, &mut value, "global_tstamp", u128::from(now));
        fields::set(&program, &ty, &mut value, "parser_err", u128::from(error));
        store(pass, ty, value);
    }

    /// Bit of `parser_err` for a parser's error. An explicit `reject` is a select without a match.
    fn rejected(&mut self, error: ErrorId) -> u64 {
        let name = self.core.program.errors.get(error.index()).cloned().unwrap_or_default();
        let bit = parser_error::bit(&name);
        self.core.state.trace.add(|| EventKind::ParserError { error: name });
        bit
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
        Some(match param.role {
            Role::Headers => std::mem::replace(&mut pass.headers, Value::Void),
            Role::Metadata => std::mem::replace(&mut pass.metadata, Value::Void),
            Role::Input | Role::Output => match pass.intrinsic.iter().find(|(ty, _)| *ty == param.ty) {
                Some((_, value)) => value.clone(),
                None => Value::zero(&self.core.program, &param.ty),
            },
            Role::Packet | Role::StandardMetadata | Role::Carried(_) | Role::Other => return None,
        })
    }
}

/// Stores the value of a parameter at the end of its stage.
fn leave(param: &Param, pass: &mut Pass, value: Value) {
    match param.role {
        Role::Headers => pass.headers = value,
        Role::Metadata => pass.metadata = value,
        Role::Input | Role::Output => store(pass, param.ty.clone(), value),
        Role::Packet | Role::StandardMetadata | Role::Carried(_) | Role::Other => {}
    }
}

fn store(pass: &mut Pass, ty: Type, value: Value) {
    match pass.intrinsic.iter_mut().find(|(known, _)| *known == ty) {
        Some((_, known)) => *known = value,
        None => pass.intrinsic.push((ty, value)),
    }
}
