//! From `main` to the stages (P4-16 §13.1): which block runs when, by the architecture's facts.

use base_diag::Span;
use ir::{Arch, Role, Stage, StageKind};
use p4_arch::StageFacts;
use p4_check::typed::{self, Constructed, Id, Package};
use smol_str::SmolStr;

use crate::elaborator::Elaborator;
use crate::refuse;
use crate::value::{Object, Value};

impl Elaborator<'_> {
    fn main_package(&self) -> Option<(Id<typed::Instance>, Id<Package>)> {
        let main = self.typed.main?;
        match self.typed.instances[main].construct.of {
            Constructed::Package(package) => Some((main, package)),
            _ => None,
        }
    }

    /// Looks up the facts of the architecture that `main` is for.
    pub(crate) fn find_architecture(&mut self) {
        let Some((_, package)) = self.main_package() else { return };
        let decl = &self.typed.packages[package];
        let name = decl.name.text.clone();
        self.arch = p4_arch::architecture_of_package(&name).filter(|arch| {
            let params: Vec<&str> =
                decl.params.iter().map(|p| self.typed.vars[*p].name.text.as_str()).collect();
            let wanted: Vec<&str> = arch.stages.iter().filter_map(|s| s.argument).collect();
            params == wanted
        });
        self.out.arch = match self.arch {
            Some(arch) if arch.name == "v1model" => Arch::V1Model(self.v1model_version()),
            _ => Arch::Other(name),
        };
    }

    /// The value of `V1MODEL_VERSION`, which v1model.p4 keeps in a constant.
    fn v1model_version(&self) -> u32 {
        let mut versions = self.typed.consts.iter().filter(|(_, c)| c.name.text == "__v1model_version");
        let value = versions.next().and_then(|(_, c)| u32::try_from(c.value.as_int()?).ok());
        value.unwrap_or(20180101)
    }

    /// Makes `main` and lists its stages.
    pub(crate) fn bind_stages(&mut self) {
        let Some((main, package)) = self.main_package() else {
            self.report(refuse::no_main());
            return;
        };
        let span = self.typed.instances[main].span;
        let Some(arch) = self.arch else {
            self.report(refuse::unknown_architecture(&self.typed.packages[package].name.text, span));
            return;
        };
        let Object::Package(args) = self.global(main) else { return };
        for facts in arch.stages {
            if let Some(stage) = self.stage(facts, &args, span) {
                self.out.stages.push(stage);
            }
        }
    }

    fn stage(&mut self, facts: &StageFacts, args: &[(SmolStr, Value)], span: Span) -> Option<Stage> {
        let block =
            facts.argument.and_then(|name| args.iter().find(|(param, _)| param == name)).map(|(_, v)| v);
        let (kind, params) = match (facts.kind, block) {
            (p4_arch::StageKind::TrafficManager, _) => (StageKind::TrafficManager, 0),
            (p4_arch::StageKind::Parse, Some(Value::Object(Object::Parser(id)))) => {
                (StageKind::Parse(*id), self.out.parser(*id).params.len())
            }
            (p4_arch::StageKind::Control, Some(Value::Object(Object::Control(id)))) => {
                (StageKind::Control(*id), self.out.control(*id).params.len())
            }
            (p4_arch::StageKind::Deparse, Some(Value::Object(Object::Control(id)))) => {
                (StageKind::Deparse(*id), self.out.control(*id).params.len())
            }
            _ => {
                self.refuse(&format!("a package without a block for `{}`", facts.name), span);
                return None;
            }
        };
        if params != facts.roles.len() {
            self.refuse(&format!("a block of another shape for `{}`", facts.name), span);
            return None;
        }
        Some(Stage { name: facts.name.into(), kind, roles: facts.roles.iter().map(|r| role(*r)).collect() })
    }
}

fn role(from: p4_arch::Role) -> Role {
    match from {
        p4_arch::Role::Packet => Role::Packet,
        p4_arch::Role::Headers => Role::Headers,
        p4_arch::Role::Metadata => Role::Metadata,
        p4_arch::Role::StandardMetadata => Role::StandardMetadata,
    }
}
