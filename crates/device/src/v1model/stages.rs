//! Runs one stage on a packet: parser, controls, deparser.

use super::packet::Packet;
use super::switch::V1Switch;
use crate::stage::{BlockName, End, Param, Start, Stop, Visit};
use crate::trace::EventKind;
use base_time::Time;
use ir::{ErrorId, Role};
use ir_value::Value;

impl V1Switch<'_> {
    /// Parses `packet.frame` into headers and payload, writes the parser error, and takes the parser's changes
    /// of metadata.
    pub(super) fn parse(&mut self, packet: &mut Packet, now: Time) -> Result<(), Stop> {
        self.trace_stage(BlockName::Parser, true);
        packet.headers = Value::zero(&self.core.program, &self.layout.headers);
        packet.payload.clear();
        let visit = self.visit(BlockName::Parser, packet, Start::Begin, now)?;
        let error = match visit.end {
            Ok(_) => ErrorId(0),
            Err(Stop::Reject(error)) => error,
            Err(other) => return Err(other),
        };
        if error != ErrorId(0) {
            let name = self.core.program.errors.get(error.index()).cloned().unwrap_or_default();
            self.core.state.trace.add(|| EventKind::ParserError { error: name });
        }
        self.trace_stage(BlockName::Parser, false);
        self.layout.set(&mut packet.standard, "parser_error", u128::from(error.0));
        Ok(())
    }

    /// Runs a control stage.
    pub(super) fn control(
        &mut self,
        stage: BlockName,
        packet: &mut Packet,
        start: Start,
        now: Time,
    ) -> Result<End, Stop> {
        self.trace_stage(stage, true);
        let visit = self.visit(stage, packet, start, now)?;
        self.trace_stage(stage, false);
        if stage == BlockName::Verify {
            let error = u128::from(visit.effects.checksum_error);
            self.layout.set(&mut packet.standard, "checksum_error", error);
        }
        visit.end
    }

    /// The packet's bytes by the program's own deparser: emitted headers, then the payload.
    pub(super) fn deparse(&mut self, packet: &mut Packet, now: Time) -> Result<Vec<u8>, Stop> {
        self.trace_stage(BlockName::Deparser, true);
        let mut visit = self.visit(BlockName::Deparser, packet, Start::Begin, now)?;
        self.trace_stage(BlockName::Deparser, false);
        visit.end?;
        visit.emitted.extend(&packet.payload);
        Ok(visit.emitted)
    }

    /// Runs a block, for code that runs the rest; the deparser gives the frame.
    pub(crate) fn block(
        &mut self,
        block: BlockName,
        packet: &mut Packet,
        now: Time,
    ) -> Result<Option<Vec<u8>>, Stop> {
        match block {
            BlockName::Parser => self.parse(packet, now).map(|()| None),
            BlockName::Deparser => self.deparse(packet, now).map(Some),
            block => match self.control(block, packet, Start::Begin, now)? {
                End::Done => Ok(None),
                End::Called(_) => Err(Stop::Broken("a frame extern in compiled code")),
            },
        }
    }

    /// A stage begins or ends.
    fn trace_stage(&mut self, stage: BlockName, enter: bool) {
        self.core.trace_stage(&self.layout.stage(stage).name, enter);
    }

    /// A packet goes through a stage, if its budget has a step left. Checksum errors and colours of direct meters are the stage's
    /// alone.
    fn visit(
        &mut self,
        name: BlockName,
        packet: &mut Packet,
        start: Start,
        now: Time,
    ) -> Result<Visit, Stop> {
        if packet.budget.steps() == 0 {
            return Err(Stop::OutOfFuel);
        }
        let stage = self.layout.stage(name);
        let take = |part: &mut Value| std::mem::replace(part, Value::Void);
        let value = |param: &Param| Some((param.var, take(part_mut(packet, param.role)?)));
        let mut visit = Visit {
            values: stage.params.iter().filter_map(value).collect(),
            frame: std::mem::take(&mut packet.frame),
            payload: std::mem::take(&mut packet.payload),
            emitted: vec![],
            effects: std::mem::take(&mut packet.effects),
            fuel: packet.budget.steps(),
            start,
            end: Ok(End::Done),
        };
        self.runner.stage(self.core, stage, std::slice::from_mut(&mut visit), now);
        let mut values = std::mem::take(&mut visit.values).into_iter();
        for param in &stage.params {
            if let Some(part) = part_mut(packet, param.role) {
                *part = values.next().map_or(Value::Void, |(_, value)| value);
            }
        }
        packet.frame = std::mem::take(&mut visit.frame);
        packet.payload = std::mem::take(&mut visit.payload);
        packet.effects = visit.effects.clone();
        packet.effects.checksum_error = false;
        packet.effects.colours.clear();
        packet.budget.set_steps(visit.fuel);
        Ok(visit)
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
