//! `main`.

use crate::print::Printer;
use ir::{Arch, StageKind};

impl Printer<'_> {
    pub(crate) fn main(&mut self) {
        if !matches!(self.program.arch, Arch::V1Model(_)) {
            return;
        }
        let Some(arch) = self.globals.arch else { return };
        let mut blocks = vec![];
        for facts in arch.stages {
            let Some(stage) = self.program.stage(facts.name) else { continue };
            let name = match stage.kind {
                StageKind::Parse(id) => self.globals.parsers.get(id.index()),
                StageKind::Control(id) | StageKind::Deparse(id) => self.globals.controls.get(id.index()),
                StageKind::TrafficManager => None,
            };
            blocks.extend(name.map(|name| format!("{name}()")));
        }
        self.blank();
        self.line(&format!("{}({}) main;", arch.package, blocks.join(", ")));
    }
}
