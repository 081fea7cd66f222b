//! A packet's path as `p4.bm.PacketTrace`: a tree of packets.

use super::{colour_word, drop_word, key_text, position, source};
use base_diag::SourceMap;
use base_time::Time;
use device::{Cause, Event, EventKind, PacketId, Shown};
use p4runtime_proto::p4::bm;
use std::collections::BTreeMap;

/// Maximum depth of a tree: a packet takes two levels of messages, and the steps of the last one some more. Deeper packets
/// become branches of the deepest packet that may have some.
const DEEPEST: usize = (p4runtime_proto::MAX_DEPTH - 10) / 2;

/// One trace for each packet that has no origin among `events`: what came in, and what timers made.
pub fn traces(events: &[Event], at: Time, map: &SourceMap) -> Vec<bm::PacketTrace> {
    let mut nodes: BTreeMap<PacketId, Node> = BTreeMap::new();
    let mut order = vec![];
    for event in events {
        let node = nodes.entry(event.packet).or_insert_with(|| {
            order.push(event.packet);
            Node::default()
        });
        node.add(event, map);
    }
    let mut depths: BTreeMap<PacketId, usize> = BTreeMap::new();
    let mut parents: BTreeMap<PacketId, PacketId> = BTreeMap::new();
    for id in &order {
        let mut parent = nodes.get(id).map(|n| n.from).filter(|p| depths.contains_key(p));
        while let Some(above) = parent
            && depths.get(&above).is_some_and(|depth| *depth >= DEEPEST)
        {
            parent = parents.get(&above).copied();
        }
        depths.insert(*id, parent.and_then(|p| depths.get(&p)).map_or(0, |depth| depth + 1));
        if let Some(parent) = parent {
            parents.insert(*id, parent);
        }
    }
    // Children come after their parents: from the last on, each is put into its own.
    let mut roots = vec![];
    for id in order.iter().rev() {
        let Some(mut node) = nodes.remove(id) else { continue };
        node.tree.branches.reverse();
        match parents.get(id).and_then(|parent| nodes.get_mut(parent)) {
            Some(parent) => parent.tree.branches.push(node.branch(*id)),
            None => roots.push(node.root(*id, at)),
        }
    }
    roots.reverse();
    roots
}

#[derive(Default)]
struct Node {
    from: PacketId,
    cause: Option<Cause>,
    port: u32,
    bytes: u64,
    tree: bm::TraceTree,
}

impl Node {
    fn add(&mut self, event: &Event, map: &SourceMap) {
        use bm::trace_tree::Outcome;
        match &event.kind {
            EventKind::Begin { from, cause, port, bytes } => {
                self.from = *from;
                self.cause = Some(cause.clone());
                self.port = port.unwrap_or(0);
                self.bytes = *bytes;
            }
            EventKind::Transmit { port, frame } => {
                self.tree.outcome = Some(Outcome::Transmit(bm::Transmit {
                    egress_port: *port,
                    packet_size: u32::try_from(frame.len()).unwrap_or(u32::MAX),
                    payload: frame.clone(),
                }));
            }
            EventKind::Drop { reason } => {
                self.tree.outcome = Some(Outcome::Drop(bm::Drop { reason: drop_word(*reason).to_string() }));
            }
            kind => {
                let source_info = position(map, event.span).map(|place| bm::SourceInfo {
                    file: place.file.to_string(),
                    line: place.line,
                    column: place.column,
                    source_fragment: source(map, event.span),
                });
                self.tree.events.push(bm::TraceEvent { event: step(kind, map), source_info });
            }
        }
    }

    fn root(self, id: PacketId, at: Time) -> bm::PacketTrace {
        let input = bm::InputPacket {
            packet_id: u64::from(id.0),
            ingress_port: self.port,
            packet_size: self.bytes,
            picoseconds: at.as_ps(),
        };
        bm::PacketTrace { input: Some(input), root: Some(self.tree) }
    }

    fn branch(self, id: PacketId) -> bm::Branch {
        let (cause, session_id, replica_id) = match self.cause {
            Some(Cause::Received) => (bm::Cause::Received, 0, 0),
            Some(Cause::FrameExtern) => (bm::Cause::FrameExtern, 0, 0),
            Some(Cause::IngressClone { session }) => (bm::Cause::IngressClone, session, 0),
            Some(Cause::EgressClone { session }) => (bm::Cause::EgressClone, session, 0),
            Some(Cause::Replica { rid }) => (bm::Cause::Replica, 0, u32::from(rid)),
            Some(Cause::Resubmitted) => (bm::Cause::Resubmitted, 0, 0),
            Some(Cause::Recirculated) => (bm::Cause::Recirculated, 0, 0),
            None => (bm::Cause::Unspecified, 0, 0),
        };
        bm::Branch {
            packet_id: u64::from(id.0),
            from_packet_id: u64::from(self.from.0),
            cause: cause.into(),
            session_id,
            replica_id,
            subtree: Some(self.tree),
        }
    }
}

fn value(shown: &Shown) -> bm::Value {
    let (number, width) = match shown.bits() {
        Some(bits) => (bits.to_biguint().to_bytes_be(), bits.width()),
        None => (vec![], 0),
    };
    bm::Value { text: shown.text().into_owned(), number, width }
}

fn named(values: &[(ir::Name, Shown)]) -> Vec<bm::NamedValue> {
    values.iter().map(|(name, v)| bm::NamedValue { name: name.to_string(), value: Some(value(v)) }).collect()
}

fn direction(enter: bool) -> i32 {
    use bm::pipeline_stage_event::Direction;
    if enter { Direction::Enter.into() } else { Direction::Exit.into() }
}

fn stage_kind(stage: &str) -> i32 {
    use bm::pipeline_stage_event::StageKind;
    if stage.contains("deparser") {
        StageKind::Deparser.into()
    } else if stage.contains("parser") {
        StageKind::Parser.into()
    } else {
        StageKind::Control.into()
    }
}

fn step(kind: &EventKind, map: &SourceMap) -> Option<bm::trace_event::Event> {
    use bm::trace_event::Event as E;
    Some(match kind {
        EventKind::Begin { .. } | EventKind::Transmit { .. } | EventKind::Drop { .. } => return None,
        EventKind::Stage { stage, enter } => E::PipelineStage(bm::PipelineStageEvent {
            stage_name: stage.to_string(),
            stage_kind: stage_kind(stage),
            direction: direction(*enter),
        }),
        EventKind::Block { block, enter } => {
            E::Block(bm::BlockEvent { name: block.to_string(), direction: direction(*enter) })
        }
        EventKind::State { parser, state } => {
            E::ParserState(bm::ParserStateEvent { parser_name: parser.to_string(), state: state.to_string() })
        }
        EventKind::Transition { parser, state, next, keys, case } => {
            let join = |parts: Vec<String>| parts.join(", ");
            E::ParserTransition(bm::ParserTransitionEvent {
                parser_name: parser.to_string(),
                from_state: state.to_string(),
                to_state: next.to_string(),
                select_value: join(keys.iter().map(|(_, v)| v.text().into_owned()).collect()),
                select_expression: join(keys.iter().map(|(at, _)| source(map, *at)).collect()),
                select_case: case.map(|case| source(map, case)).unwrap_or_default(),
            })
        }
        EventKind::Extract { header, bits, fields } => E::HeaderExtract(bm::HeaderExtractEvent {
            header: header.clone(),
            bits: *bits,
            fields: named(fields),
        }),
        EventKind::Emit { header, ty, bits, fields } => E::DeparserEmit(bm::DeparserEmitEvent {
            header_type: ty.to_string(),
            byte_length: u32::try_from(bits.div_ceil(8)).unwrap_or(u32::MAX),
            header: header.clone(),
            bits: *bits,
            fields: named(fields),
        }),
        EventKind::Advance { bits } => E::Advance(bm::AdvanceEvent { bits: *bits }),
        EventKind::ParserError { error } => E::ParserError(bm::ParserErrorEvent { error: error.to_string() }),
        EventKind::Table { table, keys, hit, action } => E::TableLookup(bm::TableLookupEvent {
            table_name: table.to_string(),
            hit: hit.is_some(),
            action_name: action.to_string(),
            keys: keys.iter().map(key_value).collect(),
            entry: hit.as_ref().map(|hit| bm::Entry {
                handle: hit.handle,
                keys: hit.keys.iter().map(key_text).collect(),
                priority: hit.priority,
                through: hit.through.clone().unwrap_or_default(),
            }),
        }),
        EventKind::Action { action, args } => E::ActionExecution(bm::ActionExecutionEvent {
            action_name: action.to_string(),
            params: args.iter().map(|(name, v)| (name.to_string(), value(v).number)).collect(),
            values: named(args),
        }),
        EventKind::Branch { taken } => E::Branch(bm::BranchEvent { taken: *taken }),
        EventKind::Switch { case } => {
            E::Switch(bm::SwitchEvent { label: case.map(|case| source(map, case)).unwrap_or_default() })
        }
        other => simple_step(other)?,
    })
}

fn key_value(key: &device::KeyRead) -> bm::KeyValue {
    bm::KeyValue {
        name: key.name.to_string(),
        match_kind: format!("{:?}", key.kind).to_lowercase(),
        value: Some(value(&key.value)),
    }
}

fn simple_step(kind: &EventKind) -> Option<bm::trace_event::Event> {
    use bm::trace_event::Event as E;
    Some(match kind {
        EventKind::Write { place, old, new } => E::Write(bm::WriteEvent {
            place: place.clone(),
            old: old.as_ref().map(value),
            new: Some(value(new)),
        }),
        EventKind::Validity { header, valid } => {
            E::Validity(bm::ValidityEvent { header: header.clone(), valid: *valid })
        }
        EventKind::Shift { stack, by } => {
            E::StackShift(bm::StackShiftEvent { stack: stack.clone(), by: *by })
        }
        EventKind::Extern { instance, name } => E::ExternCall(bm::ExternCallEvent {
            extern_instance_name: instance.as_ref().map(ToString::to_string).unwrap_or_default(),
            method: name.to_string(),
        }),
        EventKind::Count { counter, index, bytes } => {
            E::Count(bm::CountEvent { counter: counter.to_string(), index: *index, bytes: *bytes })
        }
        EventKind::Meter { meter, index, colour } => E::Meter(bm::MeterEvent {
            meter: meter.to_string(),
            index: *index,
            colour: colour_word(*colour).to_string(),
        }),
        EventKind::Log { line } => E::LogMessage(bm::LogMessageEvent { message: line.clone() }),
        EventKind::Assert { passed } => E::Assertion(bm::AssertionEvent { passed: *passed }),
        EventKind::Digest { name, data } => {
            E::Digest(bm::DigestEvent { name: name.to_string(), data: Some(value(data)) })
        }
        EventKind::Exit => E::Exit(bm::ExitEvent {}),
        EventKind::Effect { effect, target } => {
            E::Effect(bm::EffectEvent { effect: effect.to_string(), target: target.clone() })
        }
        _ => return None,
    })
}
