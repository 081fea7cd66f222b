//! `main`.

use crate::print::Printer;
use ir::{Package, PackageArg, StageKind};

impl Printer<'_> {
    pub(crate) fn main(&mut self) {
        let package = self.package(&self.program.main);
        self.blank();
        self.line(&format!("{package} main;"));
    }

    /// `IngressPipeline(IP(), IG(), ID())`
    fn package(&self, package: &Package) -> String {
        let args: Vec<String> = package.args.iter().map(|(_, arg)| self.package_arg(arg)).collect();
        format!("{}({})", package.name, args.join(", "))
    }

    fn package_arg(&self, arg: &PackageArg) -> String {
        match arg {
            PackageArg::Package(inner) => self.package(inner),
            PackageArg::Value(ty, value) => self.constant(value, ty, true),
            PackageArg::Stage(stage) => {
                let name = self.program.stage(stage).and_then(|stage| match stage.kind {
                    StageKind::Parse(id) => self.globals.parsers.get(id.index()),
                    StageKind::Control(id) | StageKind::Deparse(id) => self.globals.controls.get(id.index()),
                    StageKind::TrafficManager => None,
                });
                format!("{}()", name.map_or("?", String::as_str))
            }
        }
    }
}
