//! Stages.

use super::Verifier;
use crate::{Name, Package, PackageArg, Role, Stage, StageKind, Type, Var, VarId};
use base_diag::Span;

impl Verifier<'_> {
    pub(super) fn stages(&mut self) {
        let program = self.program;
        self.unique("members", program.stages.iter().map(|stage| &stage.name));
        for stage in &program.stages {
            self.at(format!("stage {}", stage.name), |v| v.stage(stage));
        }
    }

    /// Every block of `main` is a stage, and every stage with a block is there.
    pub(super) fn main(&mut self) {
        let mut named = vec![];
        self.package(&self.program.main, &mut named);
        for stage in &self.program.stages {
            let good = stage.kind == StageKind::TrafficManager || named.contains(&&stage.name);
            self.require(good, Span::NONE, |_| format!("stage `{}` is not in it", stage.name));
        }
    }

    fn package<'a>(&mut self, package: &'a Package, named: &mut Vec<&'a Name>) {
        self.unique("parameters", package.args.iter().map(|(param, _)| param));
        for (param, arg) in &package.args {
            match arg {
                PackageArg::Stage(name) => {
                    let good = self.program.stage(name).is_some_and(|s| s.kind != StageKind::TrafficManager);
                    self.require(good, Span::NONE, |_| format!("`{param}` is no stage with a block"));
                    named.push(name);
                }
                PackageArg::Package(inner) => self.package(inner, named),
                PackageArg::Value(value) => {
                    let good = self.is_constant(value);
                    self.require(good, Span::NONE, |_| format!("`{param}` is not of its type"));
                }
            }
        }
    }

    fn stage(&mut self, stage: &Stage) {
        let program = self.program;
        let block: Option<(&[VarId], &[Var])> = match stage.kind {
            StageKind::Parse(id) => program.parsers.get(id.index()).map(|p| (&p.params[..], &p.vars[..])),
            StageKind::Control(id) | StageKind::Deparse(id) => {
                program.controls.get(id.index()).map(|c| (&c.params[..], &c.vars[..]))
            }
            StageKind::TrafficManager => Some((&[], &[])),
        };
        let Some((params, vars)) = block else {
            return self.error(Span::NONE, "the block that it runs does not exist");
        };
        self.require(params.len() == stage.roles.len(), Span::NONE, |_| {
            format!("{} roles for {} parameters", stage.roles.len(), params.len())
        });
        let packet = match stage.kind {
            StageKind::Parse(_) => Some("packet_in"),
            StageKind::Deparse(_) => Some("packet_out"),
            _ => None,
        };
        for (id, role) in params.iter().zip(&stage.roles) {
            let ty = vars.get(id.index()).map(|var| &var.ty);
            let object = match ty {
                Some(Type::Extern(id, _)) => program.externs.get(id.index()).map(|e| e.name.as_str()),
                _ => None,
            };
            let good = match role {
                Role::Packet => object.is_some() && object == packet,
                Role::Other => true,
                _ => object.is_none(),
            };
            self.require(good, Span::NONE, |_| format!("parameter {} has another role", id.index()));
        }
    }
}
