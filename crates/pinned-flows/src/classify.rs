//! The flow of a packet: what the program's parser takes off it.

use crate::tables::Flow;
use base_bits::Bits;
use base_diag::Diagnostic;
use base_time::Time;
use control_writes::{Match, Write};
use dataplane_api::{Device, Port};
use device::trace::EventKind;
use device::{Options, Switch};
use ir::{Block, Name, Program};
use ir_keys::{Keys, Part, Source};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names the flows of packets that come to the switch.
pub struct Classifier {
    /// The program's parser, without the rest of the program.
    parser: Switch,
    parts: Vec<Part>,
}

impl Classifier {
    /// `program` is the program that was pinned, `keys` are its keys.
    ///
    /// # Errors
    ///
    /// The interpreter's, for a program that it cannot run.
    pub fn new(program: &Program, keys: &Keys, options: Options) -> Result<Classifier, Vec<Diagnostic>> {
        let mut parser = program.clone();
        for control in &mut parser.controls {
            control.body = Block { annotations: vec![], stmts: vec![] };
        }
        let mut parser = ir_interp::switch(Arc::new(parser), options)?;
        parser.set_trace(true);
        Ok(Classifier { parser, parts: keys.key.parts.clone() })
    }

    /// The value sets have these members from now on.
    pub fn follow(&mut self, sets: &BTreeMap<Name, Vec<Vec<Match>>>) {
        for (set, members) in sets {
            let write = Write::ValueSet { set: set.clone(), members: members.clone() };
            // The devices could write it.
            let _ = self.parser.write(&write, Time::ZERO);
        }
    }

    /// The flow of a frame. A part of a header that it does not have is 0.
    pub fn flow(&mut self, port: Port, frame: &[u8]) -> Flow {
        // Headers are taken off on the way in.
        let _ = self.parser.ingress(port, frame.to_vec(), Time::ZERO);
        let first = |part: &Part| match part.source {
            Source::Port => Bits::new(part.width, u128::from(port)),
            Source::Field(_) => Bits::zero(part.width),
        };
        let mut flow: Flow = self.parts.iter().map(first).collect();
        for event in self.parser.take_trace() {
            let EventKind::Extract { header, fields, .. } = event.kind else { continue };
            for (part, value) in self.parts.iter().zip(&mut flow) {
                let name = part.name.strip_prefix(header.as_str()).and_then(|rest| rest.strip_prefix('.'));
                let Some(name) = name.filter(|_| matches!(part.source, Source::Field(_))) else { continue };
                let shown = fields.iter().find(|(field, _)| field == name);
                if let Some(bits) = shown.and_then(|(_, shown)| shown.bits()) {
                    *value = bits.clone();
                }
            }
        }
        flow
    }
}

/// Bytes by which flows differ, for hashes: their parts are of fixed widths.
pub fn flow_bytes(flow: &Flow) -> Vec<u8> {
    let mut writer = base_bits::BitWriter::new();
    flow.iter().for_each(|part| writer.push(part));
    writer.finish()
}
