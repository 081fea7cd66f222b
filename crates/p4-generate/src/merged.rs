//! Merged programs: a packet of an app's class does in the merged program what it does in the app alone.
//!
//! The programs are merged, printed and compiled again. For each app, its entries and packets run in the app alone and, with
//! the entries of all apps, in the merged program, on the interpreter and as machine code.

use crate::check::{Finding, Outcome, Step, check_native_as, compile, finding, first_line, reference, run};
use crate::inputs::{Inputs, Packet, Write, inputs};
use device::Session;
use ir::Program;
use ir_merge::{App, Merged, Share, merge};
use ir_prove::generate::EntrySpec;
use std::sync::Arc;
use traffic_classes::Class;

/// Programs with their classes.
pub struct Trial<'a> {
    /// Name, program, and class; without one the app has the packets of no other.
    pub apps: Vec<(&'a str, Arc<Program>, Option<Class>)>,
    /// Changes the merged program before it runs, to see whether that is noticed.
    pub fault: Option<&'a dyn Fn(&mut Program)>,
    /// Machine code runs, too.
    pub native: bool,
    /// Apps have one parser where theirs agree.
    pub shares_parser: bool,
}

/// How a trial ended in which nothing was wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tried {
    /// The merge was refused, for this reason.
    Refused(String),
    /// Packets of each app that came out the same.
    Same(Vec<usize>),
}

impl Trial<'_> {
    /// The trial with inputs drawn from `seed`. Packets change their ports by `port`, which gets the app's position too.
    pub fn run(&self, packets: usize, seed: u64, port: &dyn Fn(usize, u32) -> u32) -> Result<Tried, Finding> {
        let given = self.apps.iter().zip(0..).map(|((_, program, _), at)| {
            let mut inputs = inputs(program, packets, seed + at);
            inputs.packets.iter_mut().for_each(|packet| packet.port = port(at as usize, packet.port));
            inputs
        });
        self.run_on(given.collect())
    }

    /// The trial with inputs for each app. Packets that are not of its class are left out.
    pub fn run_on(&self, mut given: Vec<Inputs>) -> Result<Tried, Finding> {
        let apps: Vec<App<'_>> = self
            .apps
            .iter()
            .map(|(name, program, class)| App {
                name: (*name).into(),
                program,
                class: class.clone(),
                priority: None,
                has_regions: false,
                shares_parser: self.shares_parser,
            })
            .collect();
        let merged = match merge(&apps) {
            Ok(merged) => merged,
            Err(found) => {
                let why = found.iter().map(|d| format!("{} ({})", d.title, d.notes.join("; ")));
                return Ok(Tried::Refused(why.collect::<Vec<_>>().join(", ")));
            }
        };
        // Some programs cannot be printed, alone or merged.
        if let Some(problem) = target_p4::check(&merged.program).first() {
            return Ok(Tried::Refused(problem.title.clone()));
        }
        let program = printed(&merged)?;
        for (at, inputs) in given.iter_mut().enumerate() {
            inputs.packets.retain(|packet| self.app_of(packet) == Some(at));
        }
        self.compare(&merged, program, &given)
    }

    /// The app that a packet belongs to.
    pub fn app_of(&self, packet: &Packet) -> Option<usize> {
        let takes = |class: &Class| class.matches(packet.port, &packet.frame);
        let first = self.apps.iter().position(|(_, _, class)| class.as_ref().is_some_and(takes));
        first.or_else(|| self.apps.iter().position(|(_, _, class)| class.is_none()))
    }

    /// Runs `given`, the inputs of each app, which are packets of its class.
    fn compare(&self, merged: &Merged, mut program: Program, given: &[Inputs]) -> Result<Tried, Finding> {
        if let Some(fault) = self.fault {
            fault(&mut program);
        }
        let program = Arc::new(program);
        let mut writes: Vec<(usize, usize, Write)> = vec![];
        for (app, (inputs, share)) in given.iter().zip(&merged.shares).enumerate() {
            for (at, write) in inputs.writes.iter().enumerate() {
                writes.extend(moved(write, share).map(|write| (app, at, write)));
            }
        }
        let mut same = vec![];
        for (app, (inputs, share)) in given.iter().zip(&merged.shares).enumerate() {
            let wrong = |why: String| finding(Step::Run, first_line(&why), why);
            let alone = reference(&self.apps[app].1, inputs).map_err(wrong)?;
            let all = Inputs {
                writes: writes.iter().map(|w| w.2.clone()).collect(),
                packets: inputs.packets.clone(),
            };
            let own = |outcome: Outcome| own(outcome, app, share, &writes, &alone);
            let together = own(run(&program, &all).map_err(wrong)?);
            if let Some(difference) = alone.difference(&together) {
                let details = format!("app {}: {difference}\n{}", share.app, target_p4::print(&program));
                return Err(finding(Step::Merge, "the merged program does something else", details));
            }
            if self.native {
                check_native_as(&program, &all, &alone, &own)?;
            }
            same.push(inputs.packets.len());
        }
        Ok(Tried::Same(same))
    }
}

/// The elaborated program of a text; the error is for a person.
pub fn program(source: &str) -> Result<Program, String> {
    compile(source).map_err(|refusal| refusal.text)
}

/// The merged program as it is printed.
pub fn printed(merged: &Merged) -> Result<Program, Finding> {
    let text = target_p4::print(&merged.program);
    compile(&text).map_err(|refusal| finding(Step::Merge, refusal.title, format!("{}\n{text}", refusal.text)))
}

/// The part of an outcome that belongs to an app.
fn own(
    outcome: Outcome,
    app: usize,
    share: &Share,
    writes: &[(usize, usize, Write)],
    alone: &Outcome,
) -> Outcome {
    let refused = outcome.refused.into_iter().filter(|(at, _)| writes[*at].0 == app).map(|(at, message)| {
        let at = writes[at].1;
        // Messages have the names of tables.
        let same = alone.refused.iter().find(|(known, _)| *known == at).map(|(_, message)| message.clone());
        (at, same.unwrap_or(message))
    });
    let state = outcome
        .state
        .into_iter()
        .filter_map(|(name, bytes)| Some((share.own_name(&name)?.to_string(), bytes)));
    Outcome { refused: refused.collect(), state: state.collect(), ..outcome }
}

/// A write as the merged program takes it; none if the app's program cannot see it.
fn moved(write: &Write, share: &Share) -> Option<Write> {
    let name = |own: &str| share.name(own);
    let spec =
        |spec: &EntrySpec| EntrySpec { table: name(&spec.table), action: name(&spec.action), ..spec.clone() };
    Some(match write {
        Write::Entry(entry) => Write::Entry(spec(entry)),
        Write::Indirect { entry, others } => Write::Indirect {
            entry: spec(entry),
            others: others.iter().map(|(action, args)| (name(action).to_string(), args.clone())).collect(),
        },
        Write::Default(entry) => Write::Default(spec(entry)),
        Write::ValueSet(set, member) => Write::ValueSet(name(set).to_string(), member.clone()),
        Write::Group(group, members) => Write::Group(share.groups.merged(*group)?, members.clone()),
        Write::Session(session, to) => {
            let group = to.group.and_then(|group| share.groups.merged(group));
            Write::Session(share.sessions.merged(*session)?, Session { group, ..*to })
        }
        Write::Register(register, index, value) => {
            Write::Register(name(register).to_string(), *index, value.clone())
        }
        Write::Meter(meter, rates) => Write::Meter(name(meter).to_string(), *rates),
    })
}
