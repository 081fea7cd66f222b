//! Plans of flows: for people, and why there is none.

use crate::Result;
use crate::flows::FlowProblem;
use app_allocation::{
    Allocation, Alone, Effort, Limit, Margin, More, NoAllocation, ONE, Objective, Relaxation, WHOLE, WhyNot,
    allocate, margins, why_not,
};
use base_diag::Diagnostic;
use base_diag::codes::plan as codes;
use base_time::Duration;
use rack_model::Rack;
use std::fmt::Write;

/// Limits of a search: a plan of several memories may cost a millionth more than the best.
const EFFORT: Effort = Effort { states: 1 << 13, gap: 1000 };

/// A plan of flows.
pub struct FlowPlan {
    /// The problem.
    pub problem: FlowProblem,
    /// The objective.
    pub objective: Objective,
    /// The plan.
    pub allocation: Allocation,
    /// Gains from more of a resource.
    pub margins: Vec<Margin>,
    /// The switch's part on its chip.
    pub fit: ChipFit,
}

/// Whether the part of a switch fits the chip, by the model of `p4rack fit`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChipFit {
    /// The memory is no chip's, or the apps cannot be merged, which is reported where they are read.
    Unknown,
    /// The part of the best plan fits.
    Fits,
    /// The part of the best plan does not fit, that of this plan does.
    Tightened {
        /// SRAM blocks of the switch.
        of: u64,
        /// The fewest blocks with which the part did not fit.
        fails: u64,
        /// The reason.
        why: String,
    },
    /// No number of flows makes the part fit, for this reason: this is the best plan.
    Never(String),
}

impl FlowPlan {
    /// The best plan by the first objective of `[plan]`: `Latency` (default) or `Throughput`.
    pub fn new(rack: &Rack, problem: FlowProblem) -> Result<FlowPlan> {
        let objective = objective(rack)?;
        match allocate(&problem.problem, objective, &EFFORT) {
            Ok(allocation) => {
                let margins = margins(&problem.problem, objective, &EFFORT, &allocation);
                Ok(FlowPlan { problem, objective, allocation, margins, fit: ChipFit::Unknown })
            }
            Err(NoAllocation::Impossible) => Err(vec![no_plan(rack, &problem)]),
            Err(NoAllocation::GaveUp) => {
                let diagnostic = Diagnostic::error(codes::TOO_LARGE, "no plan of the flows was found");
                Err(vec![diagnostic.note("the search gave up; a plan may exist")])
            }
        }
    }

    /// Flows of an app of the rack at the switch.
    pub fn flows(&self, app: usize) -> Option<u64> {
        let at = self.problem.apps.iter().position(|known| *known == app)?;
        self.allocation.apps.get(at).map(|app| app.flows)
    }

    /// For people.
    pub fn text(&self, rack: &Rack) -> String {
        let mut out = String::new();
        let proven =
            if self.allocation.is_optimal { "the least possible" } else { "nearly the least possible" };
        let what = match self.objective {
            Objective::Latency => proven,
            Objective::Throughput => "after the throughput",
        };
        let _ = writeln!(out, "mean latency {}, {what}", time(self.allocation.latency));
        for (app, plan) in self.problem.problem.apps.iter().zip(&self.allocation.apps) {
            let _ = writeln!(
                out,
                "  {}: {} of {} flows at the switch, {} of its packets; mean latency {}{}",
                app.name,
                plan.flows,
                app.flows.flows(),
                percent(plan.share, ONE),
                time(plan.latency),
                plan.home.map_or(String::new(), |home| format!("; the others at {}", self.class(home))),
            );
        }
        let origin = &rack.devices[self.problem.origin.0 as usize].name.value;
        for app in &self.problem.problem.apps {
            let fixed = app.at_switch.iter().flat_map(|place| place.fixed.iter().enumerate());
            for (row, fixed) in fixed.filter(|(_, fixed)| **fixed > 0) {
                let row = self.row(rack, Limit::Switch(row));
                let _ = writeln!(
                    out,
                    "  {}: {fixed} of {row} for tables that do not grow with the flows",
                    app.name
                );
            }
        }
        let is_shown = |used: &&app_allocation::Used| {
            used.capacity != u64::MAX && (used.used > 0 || used.limit.is_memory())
        };
        for used in self.allocation.used.iter().filter(is_shown) {
            let _ =
                writeln!(out, "  {}: {} of {} used", self.row(rack, used.limit), used.used, used.capacity);
        }
        let _ = match &self.fit {
            ChipFit::Unknown | ChipFit::Fits => Ok(()),
            ChipFit::Tightened { of, fails, why } => writeln!(
                out,
                "  fewer than the {of} SRAM blocks of {origin} are planned, so that its part fits; with {fails}: {why}"
            ),
            ChipFit::Never(why) => {
                writeln!(out, "  the part of {origin} does not fit it with any number of flows: {why}")
            }
        };
        for (class, part) in self.allocation.throughput.iter().enumerate().filter(|(_, part)| **part < WHOLE)
        {
            let _ = writeln!(
                out,
                "  {} is overloaded: it takes {} of its traffic",
                self.class(class),
                percent(*part, WHOLE)
            );
        }
        if self.problem.problem.switch.is_empty() {
            let _ = writeln!(out, "  nothing limits `{origin}`: give it `resources = {{ EntryBits = ... }}`");
        }
        let gains: Vec<String> = self.margins.iter().filter_map(|margin| self.gain(rack, margin)).collect();
        gains.iter().for_each(|gain| out.push_str(gain));
        out
    }

    /// A row, as people name it.
    pub fn row(&self, rack: &Rack, limit: Limit) -> String {
        name(&self.problem, &rack.devices[self.problem.origin.0 as usize].name.value, limit)
    }

    /// Text that names the increased resource.
    pub fn more(&self, rack: &Rack, margin: &Margin) -> String {
        match margin.more {
            More::Units(row, units) => format!("{units} more of {}", self.row(rack, Limit::Switch(row))),
            More::Helper(class) => format!("one more helper like {}", self.class(class)),
        }
    }

    fn class(&self, class: usize) -> &str {
        &self.problem.problem.classes[class].name
    }

    /// A line for something that would make the plan better.
    fn gain(&self, rack: &Rack, margin: &Margin) -> Option<String> {
        let now = self.allocation.throughput.iter().copied().min().unwrap_or(WHOLE);
        let mut gains = vec![];
        if margin.throughput > now {
            gains.push(format!(
                "{} instead of {} of the traffic",
                percent(margin.throughput, WHOLE),
                percent(now, WHOLE)
            ));
        }
        if margin.latency < self.allocation.latency {
            gains.push(format!("{} less mean latency", time(self.allocation.latency - margin.latency)));
        }
        (!gains.is_empty()).then(|| format!("  {}: {}\n", self.more(rack, margin), gains.join(", ")))
    }
}

fn objective(rack: &Rack) -> Result<Objective> {
    match rack.plan.objectives.first() {
        None => Ok(Objective::Latency),
        Some(first) if first.value == "Latency" => Ok(Objective::Latency),
        Some(first) if first.value == "Throughput" => Ok(Objective::Throughput),
        Some(first) => {
            let title = format!("flows are not planned for `{}`", first.value.escape_debug());
            let diagnostic =
                Diagnostic::error(codes::UNKNOWN, title).at(first.span, "the first objective counts");
            Err(vec![diagnostic.help("take `Latency` or `Throughput`")])
        }
    }
}

/// A row, as people name it.
fn name(problem: &FlowProblem, origin: &str, limit: Limit) -> String {
    let class = |class: usize| &problem.problem.classes[class];
    match limit {
        Limit::Switch(row) => format!("{} of {origin}", problem.problem.switch[row].name),
        Limit::Memory(at, row) => format!("{} of {}", class(at).memory[row].name, class(at).name),
        Limit::Bits(at) => format!("bit/s to {}", class(at).name),
        Limit::Packets(at) => format!("packets/s of {}", class(at).name),
    }
}

/// Why there is no plan, at the apps' affinities.
fn no_plan(rack: &Rack, problem: &FlowProblem) -> Diagnostic {
    let why = why_not(&problem.problem, &EFFORT).unwrap_or_default();
    let origin = rack.devices[problem.origin.0 as usize].name.value.as_str();
    let mut diagnostic = Diagnostic::error(codes::NO_PLAN, "the flows fit no device");
    for app in &problem.apps {
        let app = &rack.apps[*app];
        if let Some(pinning) = &app.pinning {
            diagnostic = diagnostic.at(pinning.affinity.span, format!("flows of `{}`", app.name.value));
        }
    }
    for note in notes(problem, origin, &why) {
        diagnostic = diagnostic.note(note);
    }
    for relaxation in &why.relaxations {
        diagnostic = diagnostic.help(help(rack, problem, origin, relaxation));
    }
    if !why.together.is_empty() {
        let all = why
            .together
            .iter()
            .map(|(limit, more)| format!("{more} more of {}", name(problem, origin, *limit)));
        diagnostic =
            diagnostic.help(format!("together, {} are enough", all.collect::<Vec<_>>().join(" and ")));
    }
    diagnostic
}

fn notes(problem: &FlowProblem, origin: &str, why: &WhyNot) -> Vec<String> {
    let app = |at: usize| &problem.problem.apps[at].name;
    let alone = why.alone.iter().map(|alone| match alone {
        Alone::NotAtSwitch(at, why) => format!("`{}` cannot run at `{origin}`: {why}", app(*at)),
        Alone::NoClass(at, _) => format!("no helper can run `{}`", app(*at)),
        Alone::TooLarge(large) => format!(
            "all flows of `{}` need {} of {}, which has {}; {} flows fit",
            app(large.app),
            large.needs,
            name(problem, origin, Limit::Switch(large.row)),
            problem.problem.switch[large.row].capacity,
            large.flows_that_fit
        ),
    });
    let conflict = why.conflict.iter().map(|limit| format!("{} is too small", name(problem, origin, *limit)));
    alone.chain(conflict).collect()
}

fn help(rack: &Rack, problem: &FlowProblem, origin: &str, relaxation: &Relaxation) -> String {
    let app = |at: usize| &problem.problem.apps[at].name;
    match relaxation {
        Relaxation::Capacity(limit, more) => {
            format!("{more} more of {} are enough", name(problem, origin, *limit))
        }
        Relaxation::Medium(at) => format!("`affinity = \"medium\"` for `{}` is enough", app(*at)),
        Relaxation::Flows(at, flows) => format!("`{}` fits with {flows} flows", app(*at)),
        Relaxation::Traffic(part) => {
            let rate = rack.plan.rate.map_or(0, |rate| rate.bits_per_s());
            let rate = u128::from(rate) * u128::from(*part) / u128::from(WHOLE);
            format!("{} of the traffic fit, {rate} bit/s", percent(*part, WHOLE))
        }
    }
}

/// `59.7 %`
fn percent(part: u64, of: u64) -> String {
    let tenths = (u128::from(part) * 2000 / u128::from(of)).div_ceil(2);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Rounded to nanoseconds.
fn time(ps: u64) -> String {
    Duration::from_ns((ps + 500) / 1000).to_string()
}
