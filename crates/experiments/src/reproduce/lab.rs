//! Runs of racks from a directory, as they are or changed.

use base_diag::codes::emulate as codes;
use base_diag::{Diagnostic, SourceMap};
use base_time::Time;
use device_control::Codes;
use p4rack::rack::{Racked, load_as};
use p4rack::up::bring_up_in;
use rack_emulator::{Emulator, RunReport};
use rack_model::Rack;
use std::path::PathBuf;

/// Directory of the racks, and options of runs.
pub struct Lab<'a> {
    /// The directory of the racks.
    pub racks: PathBuf,
    /// Links have their full rates.
    pub full_rate: bool,
    /// When runs end at the latest, if not when their files say.
    pub until: Option<Time>,
    /// Source map of the files read.
    pub map: &'a mut SourceMap,
    /// Callback for the progress.
    pub show_progress: &'a mut dyn FnMut(&str),
    /// Machine code, shared by the racks: most differ in links, loads and faults alone.
    pub codes: Codes,
}

#[cfg(test)]
impl Lab<'static> {
    /// The racks of a directory of examples, for a test: what it borrows is never freed.
    pub fn of_examples(directory: &str) -> Lab<'static> {
        let racks = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(directory);
        let map = Box::leak(Box::new(SourceMap::new()));
        let show_progress = Box::leak(Box::new(|_: &str| ()));
        Lab { racks, full_rate: false, until: None, map, show_progress, codes: Codes::default() }
    }
}

impl Lab<'_> {
    /// The rack of a file.
    pub fn rack(&mut self, file: &str) -> Result<Racked, Vec<Diagnostic>> {
        self.changed(file, &|_| ())
    }

    /// The rack that `change` makes of a file's.
    pub fn changed(&mut self, file: &str, change: &dyn Fn(&mut Rack)) -> Result<Racked, Vec<Diagnostic>> {
        let (full_rate, until) = (self.full_rate, self.until);
        let set = |rack: &mut Rack| {
            if full_rate {
                rack.at_full_rate();
            }
            rack.until = until.or(rack.until);
            change(rack);
        };
        let racked = load_as(&self.racks.join(file), &[], self.map, &set, &mut |_| ())?;
        Ok(Racked { codes: self.codes.clone(), ..racked })
    }

    /// Runs a rack in one of its stages, or in none.
    pub fn run(
        &mut self,
        racked: &Racked,
        stage: Option<&str>,
    ) -> Result<(Emulator, RunReport), Vec<Diagnostic>> {
        let missing =
            |why| vec![Diagnostic::error(codes::EMULATION, why).note(racked.rack.name.value.as_str())];
        let at = stage.map(|name| racked.rack.stage_named(name)).transpose().map_err(missing)?;
        (self.show_progress)(&format!("{} {}", racked.rack.name.value, stage.unwrap_or_default()));
        let mut running = bring_up_in(racked, at)?;
        let report = running.run()?;
        Ok((running.emulator, report))
    }
}

/// Detaches a phase from its predecessor, so that it has only its own additions.
pub fn alone(rack: &mut Rack, name: &str) {
    for stage in rack.stages.iter_mut().filter(|stage| stage.name.value == name) {
        stage.after = None;
    }
}

/// Keeps only the workloads with these names.
pub fn only(rack: &mut Rack, names: &[&str]) {
    rack.workloads.retain(|workload| names.contains(&workload.name.value.as_str()));
    let known = |name: &str| names.contains(&name);
    rack.stages.iter_mut().for_each(|stage| stage.paper.retain(|(name, _)| known(&name.value)));
}
