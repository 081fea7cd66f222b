//! Runs one stage on a packet: parser, controls, deparser.

use super::externs::{FrameCall, V1};
use super::layout::{Layout, StageName};
use super::packet::Packet;
use crate::machine::{Flow, Frame, Machine, Scope, Stop};
use crate::packet_in::Input;
use crate::plan::Plan;
use crate::region::Path;
use crate::state::State;
use crate::trace::EventKind;
use crate::value::Value;
use base_bits::BitWriter;
use base_diag::Span;
use base_time::Time;
use ir::{ControlId, ErrorId, Program, Role, VarId};

/// What stages need beside the packet.
pub(super) struct Stages<'a> {
    pub(super) program: &'a Program,
    pub(super) plan: &'a Plan,
    pub(super) layout: &'a Layout,
    pub(super) state: &'a mut State,
    pub(super) now: Time,
    pub(super) drop_port: u32,
    /// Steps that this packet may still take in this pass.
    pub(super) fuel: u64,
}

/// Where a control begins.
pub(super) enum Start<'s> {
    /// At its start.
    Begin,
    /// In the middle, with these values of the control's variables or, without any, all zero.
    At(&'s Path, Option<Vec<Value>>),
}

/// How a control ended.
pub(super) enum Ended {
    /// Normally, or by `exit`.
    Done,
    /// In the call of a frame extern.
    Called(FrameCall),
}

impl Stages<'_> {
    /// Parses `packet.frame` into headers and payload, writes the parser error, and takes the parser's changes
    /// of metadata.
    pub(super) fn parse(&mut self, packet: &mut Packet) -> Result<(), Stop> {
        self.stage(StageName::Parser, true);
        let layout = self.layout;
        packet.headers = Value::zero(self.program, &layout.headers);
        packet.payload.clear();
        let parser = self.program.parser(layout.parser);
        let scope = Scope::Parser(layout.parser, parser);
        let vars = self.plan.parser_vars(layout.parser);
        let roles = layout.roles(StageName::Parser);
        let mut machine = self.machine(packet, scope, vars, Input::new(packet.frame.clone()));
        machine.enter(&parser.params, roles, packet)?;
        let result = machine.run_parser(layout.parser, parser);
        machine.leave(&parser.params, roles, packet);
        packet.payload = machine.input.rest().to_vec();
        self.fuel = machine.fuel;
        let error = match result {
            Ok(()) | Err(Stop::Exit) => ErrorId(0),
            Err(Stop::Reject(error)) => error,
            Err(other) => return Err(other),
        };
        if error != ErrorId(0) {
            let name = self.program.errors.get(error.index()).cloned().unwrap_or_default();
            self.state.trace.add(|| EventKind::ParserError { error: name });
        }
        self.stage(StageName::Parser, false);
        layout.set(&mut packet.standard, "parser_error", u128::from(error.0));
        Ok(())
    }

    /// Runs a control stage.
    pub(super) fn control(
        &mut self,
        stage: StageName,
        packet: &mut Packet,
        start: Start,
    ) -> Result<Ended, Stop> {
        self.stage(stage, true);
        let id = self.control_of(stage);
        let control = self.program.control(id);
        let roles = self.layout.roles(stage);
        let (path, saved) = match start {
            Start::Begin => (None, None),
            Start::At(path, saved) => (Some(path), saved),
        };
        let vars = saved.unwrap_or_else(|| self.plan.control_vars(id));
        let mut machine = self.machine(packet, Scope::Control(id, control), vars, Input::default());
        machine.enter(&control.params, roles, packet)?;
        let result = match path {
            None => machine.run(&control.locals).and_then(|_| machine.run_block(&control.body)),
            Some(path) => machine.run_from(&control.body, path),
        };
        machine.leave(&control.params, roles, packet);
        let call = machine.arch.frame_call.take();
        let vars = std::mem::take(&mut machine.frame.vars);
        let checksum_error = machine.arch.checksum_error;
        self.fuel = machine.fuel;
        self.stage(stage, false);
        if stage == StageName::Verify {
            self.layout.set(&mut packet.standard, "checksum_error", u128::from(checksum_error));
        }
        match (result, call) {
            (Ok(Flow::Next | Flow::Return(_)) | Err(Stop::Exit), _) => Ok(Ended::Done),
            (Ok(_), _) => Err(Stop::Broken("break or continue outside a loop")),
            (Err(Stop::FrameCall(instance)), Some(mut call)) => {
                call.instance = instance;
                call.vars = vars;
                Ok(Ended::Called(call))
            }
            (Err(stop), _) => Err(stop),
        }
    }

    /// The packet's bytes by the program's own deparser: emitted headers, then the payload.
    pub(super) fn deparse(&mut self, packet: &mut Packet) -> Result<Vec<u8>, Stop> {
        self.stage(StageName::Deparser, true);
        let id = self.layout.deparser;
        let control = self.program.control(id);
        let roles = self.layout.roles(StageName::Deparser);
        let vars = self.plan.control_vars(id);
        let mut machine = self.machine(packet, Scope::Control(id, control), vars, Input::default());
        machine.enter(&control.params, roles, packet)?;
        let result = machine.run(&control.locals).and_then(|_| machine.run_block(&control.body));
        machine.leave(&control.params, roles, packet);
        let mut output = std::mem::take(&mut machine.output);
        self.fuel = machine.fuel;
        self.stage(StageName::Deparser, false);
        match result {
            Ok(_) | Err(Stop::Exit) => {
                output.pad();
                output.push_bytes(&packet.payload);
                Ok(output.finish())
            }
            Err(stop) => Err(stop),
        }
    }

    /// A stage begins or ends.
    fn stage(&mut self, stage: StageName, enter: bool) {
        self.state.trace.stand_at(Span::NONE);
        self.state.trace.add(|| EventKind::Stage { stage: stage.name(), enter });
    }

    fn control_of(&self, stage: StageName) -> ControlId {
        match stage {
            StageName::Verify => self.layout.verify,
            StageName::Egress => self.layout.egress,
            StageName::Compute => self.layout.compute,
            StageName::Deparser => self.layout.deparser,
            StageName::Ingress | StageName::Parser => self.layout.ingress,
        }
    }

    fn machine<'m>(
        &'m mut self,
        packet: &mut Packet,
        scope: Scope<'m>,
        vars: Vec<Value>,
        input: Input,
    ) -> Machine<'m, V1<'m>> {
        Machine {
            program: self.program,
            plan: self.plan,
            arch: V1::new(self.layout, packet, self.now, self.drop_port),
            state: self.state,
            frame: Frame { scope, vars },
            input,
            output: BitWriter::new(),
            fuel: self.fuel,
        }
    }
}

impl Machine<'_, V1<'_>> {
    /// Binds the block's parameters to the packet, which is empty until [`leave`](Machine::leave).
    fn enter(&mut self, params: &[VarId], roles: &[Role], packet: &mut Packet) -> Result<(), Stop> {
        self.spend(1)?;
        if let (Scope::Control(id, _), Some(at)) =
            (self.frame.scope, roles.iter().position(|r| *r == Role::Metadata))
        {
            let is_half = [self.arch.layout.ingress, self.arch.layout.egress].contains(&id);
            self.arch.metadata = params.get(at).filter(|_| is_half).map(|var| (id, *var));
        }
        for (param, role) in params.iter().zip(roles) {
            if let Some(part) = part_mut(packet, *role) {
                let value = std::mem::replace(part, Value::Void);
                self.set_var(*param, value)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, params: &[VarId], roles: &[Role], packet: &mut Packet) {
        for (param, role) in params.iter().zip(roles) {
            if let Some(part) = part_mut(packet, *role) {
                *part = self.take_var(*param);
            }
        }
        packet.orders = self.arch.orders;
        packet.truncate = self.arch.truncate;
        packet.length = self.arch.length;
        packet.payload = std::mem::take(&mut self.arch.payload);
    }
}

fn part_mut(packet: &mut Packet, role: Role) -> Option<&mut Value> {
    match role {
        Role::Headers => Some(&mut packet.headers),
        Role::Metadata => Some(&mut packet.metadata),
        Role::StandardMetadata => Some(&mut packet.standard),
        _ => None,
    }
}
