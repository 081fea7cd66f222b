//! `main`, and the declaration of its package where no architecture's file has it.

use crate::names::Taken;
use crate::print::Printer;
use ir::{Arch, Direction, Package, PackageArg, StageKind, Type, Var, VarId, VarKind};

impl Printer<'_> {
    /// Packages of the program's own architecture, with a type for each block instead of generic ones.
    pub(crate) fn package_declarations(&mut self) {
        if !matches!(self.program.arch, Arch::Other(_)) {
            return;
        }
        let program = self.program;
        let mut taken = self.globals.taken();
        self.package_declaration(&program.main, &mut taken);
    }

    /// The name of the package type, declared after what its parameters need.
    fn package_declaration(&mut self, package: &Package, taken: &mut Taken) -> String {
        let mut params = vec![];
        for (param, arg) in &package.args {
            let ty = match arg {
                PackageArg::Value(value) => self.ty(&value.ty),
                PackageArg::Package(inner) => self.package_declaration(inner, taken),
                PackageArg::Stage(stage) => self.block_type(stage, taken),
            };
            params.push(format!("{ty} {param}"));
        }
        let name = taken.pick(&package.name);
        self.blank();
        self.line(&format!("package {name}({});", params.join(", ")));
        self.packages.push(name.clone());
        name
    }

    /// Declares a type for the block of a stage, and gives its name.
    fn block_type(&mut self, stage: &str, taken: &mut Taken) -> String {
        let program = self.program;
        let block: Option<(&str, &[VarId], &[Var])> =
            program.stage(stage).and_then(|stage| match stage.kind {
                StageKind::Parse(id) => {
                    program.parsers.get(id.index()).map(|p| ("parser", &p.params[..], &p.vars[..]))
                }
                StageKind::Control(id) | StageKind::Deparse(id) => {
                    program.controls.get(id.index()).map(|c| ("control", &c.params[..], &c.vars[..]))
                }
                StageKind::TrafficManager => None,
            });
        let Some((keyword, params, vars)) = block else { return "?".to_string() };
        let name = taken.pick(&format!("{stage}_t"));
        let param = |(at, id): (usize, &VarId)| {
            let var = vars.get(id.index())?;
            let direction = match (var.kind, &var.ty) {
                (VarKind::Param(direction), ty) if !matches!(ty, Type::Extern(..)) => direction,
                _ => Direction::None,
            };
            Some(format!("{}{} p{at}", crate::externs::direction(direction), self.ty(&var.ty)))
        };
        let params: Vec<String> = params.iter().enumerate().filter_map(param).collect();
        self.blank();
        self.line(&format!("{keyword} {name}({});", params.join(", ")));
        name
    }

    pub(crate) fn main(&mut self) {
        let mut declared = std::mem::take(&mut self.packages).into_iter();
        let package = self.package(&self.program.main, &mut declared);
        self.blank();
        self.annotations(&self.program.annotations);
        self.line(&format!("{package} main;"));
    }

    /// `IngressPipeline(IP(), IG(), ID())`. Packages that were declared have names of their own, inner ones first.
    fn package(&self, package: &Package, declared: &mut impl Iterator<Item = String>) -> String {
        let given = || package.args.iter().map(|(param, _)| param.as_str());
        // Where one is left out before others, all are named.
        let in_order = match self.globals.package_params(&package.name) {
            Some(params) => given().eq(params.iter().copied().take(package.args.len())),
            None => true,
        };
        let mut args = vec![];
        for (param, arg) in &package.args {
            let value = self.package_arg(arg, declared);
            args.push(if in_order { value } else { format!("{param} = {value}") });
        }
        let name = declared.next().unwrap_or_else(|| package.name.to_string());
        format!("{name}({})", args.join(", "))
    }

    fn package_arg(&self, arg: &PackageArg, declared: &mut impl Iterator<Item = String>) -> String {
        match arg {
            PackageArg::Package(inner) => self.package(inner, declared),
            PackageArg::Value(value) => self.expr(value, Some(&value.ty), 0),
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
