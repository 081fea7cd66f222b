//! Behaviour of a program on its inputs.

use crate::inputs::Inputs;
use dataplane_api::{Counters, Device, DropReason, Output, Registry};
use device::{Options, Switch};
use ir::Program;
use ir_value::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The frames each packet gave.
    pub outputs: Vec<Vec<Output>>,
    /// The digests each packet sent.
    pub digests: Vec<Vec<Value>>,
    /// The lines each packet logged.
    pub logs: Vec<Vec<String>>,
    /// State of the program at the end.
    pub state: BTreeMap<String, Vec<u8>>,
    /// Packets received, sent, made and dropped.
    pub counters: Counters,
    /// Writes that the device refused, by position.
    pub refused: Vec<(usize, String)>,
}

impl Outcome {
    /// True if a packet took more steps than it may.
    fn ran_out(&self) -> bool {
        let limits = [DropReason::StepLimit, DropReason::PassLimit, DropReason::ParserLimit];
        limits.iter().any(|l| self.counters.dropped.contains_key(l))
    }

    /// True if the interpreter found the program broken.
    pub fn broken(&self) -> bool {
        self.counters.dropped.contains_key(&DropReason::Internal)
    }

    /// The first difference from this [reference](reference()) in words; none if they are equal. Where the reference runs out of steps,
    /// their number shows, which is nobody's promise; where only the other does, it takes far too many.
    pub fn difference(&self, other: &Outcome) -> Option<String> {
        if self.ran_out() {
            return None;
        }
        if other.ran_out() {
            return Some(format!(
                "a packet takes more than {SPARE} times the steps: {:?}",
                other.counters.dropped
            ));
        }
        if self.refused != other.refused {
            return Some(format!("control plane: {:?} against {:?}", self.refused, other.refused));
        }
        for at in 0..self.outputs.len() {
            let here = |o: &Outcome| (o.outputs[at].clone(), o.digests[at].clone(), o.logs[at].clone());
            let (one, two) = (here(self), here(other));
            if one != two {
                return Some(format!("packet {at}:\n  {}\n  {}", describe(&one), describe(&two)));
            }
        }
        for (name, bytes) in &self.state {
            if other.state.get(name) != Some(bytes) {
                return Some(format!("state of `{name}`: {bytes:?} against {:?}", other.state.get(name)));
            }
        }
        let same = self.state.len() == other.state.len() && self.counters == other.counters;
        (!same).then(|| format!("counters: {:?} against {:?}", self.counters, other.counters))
    }
}

fn describe((outputs, digests, logs): &(Vec<Output>, Vec<Value>, Vec<String>)) -> String {
    let hex = |frame: &[u8]| frame.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let frames: Vec<String> = outputs.iter().map(|o| format!("port {} {}", o.port, hex(&o.frame))).collect();
    format!("frames [{}], digests {digests:?}, log {logs:?}", frames.join(", "))
}

/// Step budget of another form of a program, relative to that of the reference.
const SPARE: u64 = 16;

/// Runs the program with which others are compared.
pub fn reference(program: &Arc<Program>, inputs: &Inputs) -> Result<Outcome, String> {
    let most = Options::default().step_limit;
    run_with(program, inputs, Options { step_limit: most / SPARE, ..options() })
}

/// Runs the program; an error is why the interpreter refuses it.
pub fn run(program: &Arc<Program>, inputs: &Inputs) -> Result<Outcome, String> {
    run_with(program, inputs, options())
}

/// Options of a device that offers every extern that generated programs call.
pub(crate) fn options() -> Options {
    Options { registry: registry(), ..Options::default() }
}

/// The externs that generated programs call.
pub(crate) fn registry() -> Registry {
    let mut registry = Registry::default();
    netfn_values::register(&mut registry);
    registry
}

fn run_with(program: &Arc<Program>, inputs: &Inputs, options: Options) -> Result<Outcome, String> {
    let made = ir_interp::switch(Arc::clone(program), options);
    let switch = made.map_err(|problems| {
        let text = |d: &base_diag::Diagnostic| {
            let labels: Vec<&str> = d.labels.iter().map(|l| l.text.as_str()).collect();
            format!("{}: {}", d.title, labels.join(", "))
        };
        problems.iter().map(text).collect::<Vec<_>>().join("\n")
    })?;
    Ok(run_on(switch, inputs))
}

/// Runs the program of a fresh switch.
pub fn run_on(mut switch: Switch, inputs: &Inputs) -> Outcome {
    let mut refused = vec![];
    for (at, write) in inputs.writes.iter().enumerate() {
        if let Err(error) = write.apply(&mut switch) {
            refused.push((at, error.message));
        }
    }
    let (mut outputs, mut digests, mut logs) = (vec![], vec![], vec![]);
    let mut waiting = vec![];
    for (number, packet) in inputs.packets.iter().enumerate() {
        // Both modes of a device: a packet at once, and in halves, where two packets wait at the same time.
        outputs.push(match number % 3 {
            0 => switch.process(packet.port, &packet.frame, packet.at),
            1 => {
                waiting = switch.ingress(packet.port, packet.frame.clone(), packet.at);
                vec![]
            }
            _ => {
                let mut queued = switch.ingress(packet.port, packet.frame.clone(), packet.at);
                queued.append(&mut waiting);
                switch.drain(queued, packet.at)
            }
        });
        digests.push(switch.take_digests().into_iter().map(|d| d.data).collect());
        logs.push(switch.take_log());
    }
    let (state, counters) = (switch.state(), switch.counters().clone());
    Outcome { outputs, digests, logs, state, counters, refused }
}
