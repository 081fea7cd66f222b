//! Diagnostics of a program that does not fit: the resource, the stage, the tables, the smallest change that would help.

use crate::amount::{Amounts, Resource};
use crate::field::FieldId;
use crate::fit::{self, Fit, Lack, Pipe};
use crate::graph;
use crate::layout;
use crate::place;
use crate::unit::{Kind, Unit, UnitId};
use base_diag::codes::plan::NO_FIT;
use base_diag::{Diagnostic, SourceMap};

/// Tables that are tried for a smaller size.
const TRIED: usize = 3;
/// Validity bits that an error names.
const NAMED: usize = 4;

impl Fit {
    /// Why the program does not fit; nothing if it does.
    pub fn diagnostics(&self, map: &SourceMap) -> Vec<Diagnostic> {
        let mut found = vec![];
        for pipe in &self.pipes {
            for problem in &pipe.problems {
                let title = format!("{} cannot do this", self.device.name);
                found.push(
                    Diagnostic::error(NO_FIT, title)
                        .at(problem.span, problem.what.clone())
                        .help(problem.help.clone()),
                );
            }
            found.extend(pipe.lacks.iter().map(|lack| self.lack(pipe, lack, map)));
        }
        found
    }

    fn lack(&self, pipe: &Pipe, lack: &Lack, map: &SourceMap) -> Diagnostic {
        let error = |title: String| Diagnostic::error(NO_FIT, title);
        let device = &self.device;
        match lack {
            Lack::Stages => self.stages(pipe, map),
            Lack::Unit(id, resource) => self.unit(&pipe.units[*id], *resource, map),
            Lack::Circle => {
                error("tables wait for each other".to_string()).help("apply them in one order on all paths")
            }
            Lack::Phv => {
                let all: u32 = pipe.phv.iter().map(|c| c.normal() + c.mocha + c.tagalong).sum();
                error(format!("{} has too few containers", device.name))
                    .note(format!("headers and metadata take {all} containers"))
                    .help("read fewer fields, or emit fewer headers")
            }
            Lack::Parser(half) => error(format!("{} has too few parser states", device.name))
                .note(format!(
                    "{} takes {} of {}",
                    half.name(),
                    pipe.parser_states[*half as usize],
                    device.parser.states
                ))
                .help("parse fewer headers, or select on fewer values"),
            Lack::Pov(half) => error(format!("{} has too few validity bits", device.name))
                .note(format!(
                    "{} takes {} of {}",
                    half.name(),
                    pipe.pov_bits[*half as usize],
                    device.phv.pov_bits
                ))
                .help("declare fewer headers"),
            Lack::Power => {
                let percent = pipe.power.unwrap_or(0) / 10_000;
                let error = error(format!("{} has too little power", device.name))
                    .note(format!("what a packet searches takes {percent} % of the budget"));
                self.advise(error, pipe, map)
            }
        }
    }

    /// A unit that no stage can hold.
    fn unit(&self, unit: &Unit, resource: Option<Resource>, map: &SourceMap) -> Diagnostic {
        let device = &self.device;
        let name = unit.title(map);
        let Some(resource) = resource else {
            return Diagnostic::error(NO_FIT, format!("`{name}` finds no stage"))
                .at(unit.span, "much larger than the device");
        };
        let error = Diagnostic::error(NO_FIT, format!("no stage of {} can hold `{name}`", device.name));
        if let Some((side, blocks)) = layout::largest_object(device, unit)
            && blocks > device.memory.object_rams
        {
            let most = device.memory.object_rams;
            let words = u64::from(most.saturating_sub(1)) * u64::from(device.memory.sram_words);
            let cells = words * u64::from(side.per_word) / u64::from(side.words_per_cell.max(1));
            return error
                .at(unit.span, format!("uses `{}`", side.name))
                .note(format!(
                    "`{}` takes {blocks} blocks of memory; one object has at most {most}",
                    side.name
                ))
                .help(format!("give `{}` at most {cells} cells", side.name));
        }
        let error = error.at(unit.span, format!("takes more {} than a stage has", resource.name()));
        let limit = Amounts::of(&device.stage)[resource];
        error
            .note(format!("a stage has {limit} {}", resource.name()))
            .help("divide the table, or match on fewer bits")
    }

    /// Too many stages: by a chain of dependencies, or by memory.
    fn stages(&self, pipe: &Pipe, map: &SourceMap) -> Diagnostic {
        let device = &self.device;
        let used = pipe.placement.stages.len();
        let title = format!("{} stages needed, {} has {}", used, device.name, device.stages);
        let mut error = Diagnostic::error(NO_FIT, title);
        let chain = graph::chain(pipe.units.len(), &pipe.dependencies);
        if chain.len() as u32 >= device.stages {
            for d in &chain {
                let (from, to) = (pipe.units[d.from].title(map), pipe.units[d.to].title(map));
                error = error.note(format!(
                    "`{to}` waits for `{from}`: {} dependency on {}",
                    d.reason.name(),
                    pipe.field_name(d)
                ));
            }
            let over = chain.len() as u32 + 1 - device.stages;
            return error.help(format!("break the chain: {over} of these dependencies must go"));
        }
        if pipe.validity.stages_without <= device.stages {
            return shared_validity(error, pipe);
        }
        if let Some(full) = self.fullest(pipe) {
            error = error.note(full);
        }
        let beyond = pipe.placement.stages.iter().skip(device.stages as usize).flat_map(|s| &s.parts);
        let mut names: Vec<String> =
            beyond.map(|(id, _)| format!("`{}`", pipe.units[*id].title(map))).collect();
        names.dedup();
        error = error.note(format!("after stage {}: {}", device.stages, names.join(", ")));
        self.advise(error, pipe, map)
    }

    /// Names the table that can be shrunk by the smallest share of its entries.
    fn advise(&self, error: Diagnostic, pipe: &Pipe, map: &SourceMap) -> Diagnostic {
        match self.smaller(pipe) {
            Some((id, size)) => {
                let unit = &pipe.units[id];
                let asked = entries(unit);
                error
                    .at(unit.span, format!("{asked} entries"))
                    .help(format!("`size = {size}` for `{}` fits", unit.title(map)))
            }
            None => error.help("make several tables smaller, or move some to another device"),
        }
    }

    /// The resource that is used most over all stages.
    fn fullest(&self, pipe: &Pipe) -> Option<String> {
        let limit = Amounts::of(&self.device.stage);
        let total = pipe.total();
        let share = |r: &Resource| u64::from(total[*r]) * 1000 / u64::from(limit[*r].max(1));
        let most = Resource::ALL.into_iter().filter(|r| limit[*r] > 0).max_by_key(share)?;
        let all = u64::from(limit[most]) * u64::from(self.device.stages);
        Some(format!("most used: {} of {all} {}", total[most], most.name()))
    }

    /// The table that can be shrunk by the smallest share of its entries, with the largest number of entries that fits.
    fn smaller(&self, pipe: &Pipe) -> Option<(UnitId, u64)> {
        let mut tables: Vec<UnitId> =
            (0..pipe.units.len()).filter(|u| entries(&pipe.units[*u]) > 1).collect();
        let blocks = |id: &UnitId| {
            let parts = pipe.placement.stages.iter().flat_map(|s| &s.parts).filter(|(u, _)| u == id);
            parts
                .map(|(_, p)| u64::from(p.amounts[Resource::Sram]) + 3 * u64::from(p.amounts[Resource::Tcam]))
                .sum::<u64>()
        };
        tables.sort_by_key(|id| std::cmp::Reverse(blocks(id)));
        let sizes = tables.into_iter().take(TRIED).filter_map(|id| Some((id, self.most_entries(pipe, id)?)));
        sizes.max_by_key(|(id, size)| u128::from(*size) * 1_000_000 / u128::from(entries(&pipe.units[*id])))
    }

    /// The most entries of a table with which all fits.
    fn most_entries(&self, pipe: &Pipe, id: UnitId) -> Option<u64> {
        let mut units = pipe.units.clone();
        let mut fits = |size: u64| {
            if let Kind::Table(of) = &mut units[id].kind {
                of.entries = size;
            }
            fit::suffices(
                &self.device,
                &place::greedy(&self.device, &units, &pipe.dependencies, &pipe.validity.apart),
            )
        };
        // In steps of a block of TCAM: a user wants a round number.
        let step = u64::from(self.device.memory.tcam_words.max(1));
        let (mut good, mut bad) = (1, entries(&pipe.units[id]).div_ceil(step));
        if !fits(good * step) {
            return fits(1).then_some(1);
        }
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if fits(middle * step) { good = middle } else { bad = middle }
        }
        Some(good * step)
    }
}

/// Names the validity bits whose writers take a stage each.
fn shared_validity(error: Diagnostic, pipe: &Pipe) -> Diagnostic {
    let writer = |bit: &FieldId| pipe.units.iter().find(|u| u.writes.iter().any(|a| a.field == *bit));
    let written = |bits: &Vec<FieldId>| bits.iter().filter(|b| writer(b).is_some()).copied().collect();
    let bits: Vec<FieldId> = pipe
        .validity
        .containers
        .iter()
        .map(written)
        .max_by_key(|bits: &Vec<FieldId>| bits.len())
        .unwrap_or_default();
    let mut names: Vec<String> =
        bits.iter().take(NAMED).map(|b| format!("`{}`", pipe.fields.get(*b).name)).collect();
    if bits.len() > NAMED {
        names.push(format!("and {} more", bits.len() - NAMED));
    }
    let error = match bits.first().and_then(writer) {
        Some(unit) => error.at(unit.span, "writes one of these bits"),
        None => error,
    };
    error
        .note(format!("{} validity bits are in one container: {}", bits.len(), names.join(", ")))
        .note("a stage writes a container in one action: tables that write these bits are in different stages")
        .help(format!(
            "write several of these bits in one table, with an action for each combination; {} stages are needed without this limit",
            pipe.validity.stages_without
        ))
}

fn entries(unit: &Unit) -> u64 {
    match &unit.kind {
        Kind::Table(of) => of.entries,
        _ => 0,
    }
}
