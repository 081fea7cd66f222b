//! From `main` to the stages (P4-16 §13.1): the order of blocks, by the architecture's facts.
//!
//! For an architecture that the program declares itself only the blocks are known: each is a stage, named by its place
//! in `main`, with parameters of unknown roles.

use base_diag::Span;
use ir::{Arch, PackageArg, Role, Stage, StageKind, Type};
use p4_arch::{Architecture, StageFacts};
use p4_check::typed::{self, Constructed, Package, PackageId};
use smol_str::SmolStr;

use crate::annotation::{annotations, wrong_ticks};
use crate::elaborator::Elaborator;
use crate::refuse;
use crate::value::{Made, Object, Value};

/// A block that `main` is given.
struct Block {
    /// The parameters that lead to it, with dots.
    path: String,
    object: Object,
}

/// A stage's blocks as the IR knows them.
struct Body {
    kind: StageKind,
    params: Vec<Type>,
}

impl Elaborator<'_> {
    fn main_package(&self) -> Option<(typed::InstanceId, PackageId)> {
        let main = self.typed.main?;
        match self.typed.instances[main].construct.of {
            Constructed::Package(package) => Some((main, package)),
            _ => None,
        }
    }

    /// Looks up the facts of the architecture that `main` is for.
    pub(crate) fn find_architecture(&mut self) {
        let Some((main, package)) = self.main_package() else { return };
        let written = &self.typed.instances[main].annotations;
        self.out.annotations = annotations(written);
        wrong_ticks(written).for_each(|(span, why)| self.report(refuse::wrong_tick(span, why)));
        let name = self.typed.packages[package].name.text.clone();
        self.arch = p4_arch::ARCHITECTURES.into_iter().find(|arch| self.is_declared(arch, &name));
        self.declared = self.arch.map(Architecture::declared).unwrap_or_default();
        self.out.arch = match self.arch.map(|arch| arch.name) {
            Some("v1model") => Arch::V1Model(self.v1model_version()),
            Some("psa") => Arch::Psa { dpdk: self.methods_of("Counter") > 1 },
            Some("pna") => Arch::Pna { dpdk: self.methods_of("ipsec_accelerator") > 0 },
            Some("tna") => Arch::Tna(self.tofino_generation()),
            Some("t2na") => Arch::T2na,
            _ => Arch::Other(name),
        };
    }

    /// True if the program has the architecture's packages, and `main` is one of them.
    fn is_declared(&self, arch: &Architecture, main: &str) -> bool {
        let params = |package: &Package| {
            package.params.iter().map(|p| self.typed.vars[*p].name.text.as_str()).collect::<Vec<_>>()
        };
        let has = |name: &str, wanted: &[&str]| {
            self.typed.packages.iter().any(|(_, p)| p.name.text == name && params(p) == wanted)
        };
        arch.mains.contains(&main) && arch.packages.iter().all(|p| has(p.name, p.params))
    }

    /// The value of `V1MODEL_VERSION`, which v1model.p4 keeps in a constant.
    fn v1model_version(&self) -> u32 {
        let mut versions = self.typed.consts.iter().filter(|(_, c)| c.name.text == "__v1model_version");
        let value = versions.next().and_then(|(_, c)| u32::try_from(c.value.as_int()?).ok());
        value.unwrap_or(20180101)
    }

    fn methods_of(&self, object: &str) -> usize {
        let mut externs = self.typed.externs.iter().filter(|(_, e)| e.name.text == object);
        externs.next().map_or(0, |(_, e)| e.methods.len())
    }

    /// The generation that `tna.p4` was included for: queues have 5 bits in the first, 7 in the second.
    fn tofino_generation(&self) -> u32 {
        let structs = self.typed.structs.iter().map(|(_, s)| s);
        let to_manager = structs.filter(|s| s.name.text == "ingress_intrinsic_metadata_for_tm_t");
        let mut fields = to_manager.flat_map(|s| &s.fields).filter(|f| f.name.text == "qid");
        let width = fields.next().and_then(|f| self.representation(&f.ty).fixed_width());
        if width == Some(7) { 2 } else { 1 }
    }

    /// Makes `main` and lists its stages.
    pub(crate) fn bind_stages(&mut self) {
        let Some((main, _)) = self.main_package() else {
            self.report(refuse::no_main());
            return;
        };
        let span = self.typed.instances[main].span;
        let Object::Package(made) = self.global(main) else { return };
        let mut blocks = vec![];
        find_blocks(&made, "", &mut blocks);
        // The name of the stage that each block became.
        let mut names = vec![None; blocks.len()];
        if let Some(arch) = self.arch {
            self.known_stages(arch, &blocks, &mut names, span);
        }
        for (block, name) in blocks.iter().zip(&mut names) {
            if name.is_none() {
                *name = Some(self.unknown_stage(block));
            }
        }
        let mut names = names.into_iter().flatten();
        self.out.main = self.package(&made, &mut names, span);
    }

    /// The stages of each pipeline in the architecture's order; the first pipeline's have the plain names.
    fn known_stages(
        &mut self,
        arch: &'static Architecture,
        blocks: &[Block],
        names: &mut [Option<SmolStr>],
        span: Span,
    ) {
        let mut pipes: Vec<&str> = vec![];
        for (_, pipe) in blocks.iter().filter_map(|b| arch.stage_at(&b.path)) {
            if !pipes.contains(&pipe) {
                pipes.push(pipe);
            }
        }
        for (index, pipe) in pipes.iter().enumerate() {
            for facts in arch.stages {
                let name: SmolStr =
                    if index == 0 { facts.name.into() } else { format!("{pipe}.{}", facts.name).into() };
                let is_this = |b: &Block| {
                    arch.stage_at(&b.path).is_some_and(|(f, p)| f.name == facts.name && p == *pipe)
                };
                if facts.kind == p4_arch::StageKind::TrafficManager {
                    self.add_stage(name, StageKind::TrafficManager, vec![]);
                } else if let Some(at) = blocks.iter().position(is_this)
                    && let Some((kind, roles)) = self.known_stage(facts, &blocks[at].object, span)
                {
                    names[at] = Some(self.add_stage(name, kind, roles));
                }
            }
        }
        self.check_parameters(arch);
    }

    /// Parameters of stages are of the kinds that the architecture allows.
    fn check_parameters(&mut self, arch: &'static Architecture) {
        let wanted: Vec<Role> = arch.structs.iter().map(|wanted| role(*wanted)).collect();
        let mut wrong: Vec<(&Type, &ir::Var, Role)> = vec![];
        for stage in &self.out.stages {
            let (params, vars) = match stage.kind {
                StageKind::Parse(id) => (&self.out.parser(id).params, &self.out.parser(id).vars),
                StageKind::Control(id) | StageKind::Deparse(id) => {
                    (&self.out.control(id).params, &self.out.control(id).vars)
                }
                StageKind::TrafficManager => continue,
            };
            let vars = params.iter().filter_map(|id| vars.get(id.index()));
            for (var, role) in vars.zip(&stage.roles) {
                if wanted.contains(role)
                    && !self.is_struct(&var.ty)
                    && wrong.iter().all(|(ty, ..)| **ty != var.ty)
                {
                    wrong.push((&var.ty, var, *role));
                }
            }
        }
        let found: Vec<_> = wrong
            .into_iter()
            .map(|(ty, var, role)| refuse::stage_parameter(arch.name, var, role, self.noun(ty)))
            .collect();
        found.into_iter().for_each(|diagnostic| self.report(diagnostic));
    }

    fn is_struct(&self, ty: &Type) -> bool {
        matches!(ty, Type::Named(id) if matches!(self.out.type_decl(*id).kind, ir::TypeKind::Struct(_)))
    }

    /// Kind of a type, for messages.
    fn noun(&self, ty: &Type) -> &'static str {
        match ty {
            Type::Bit(_) | Type::Int(_) => "a number",
            Type::Bool => "a bool",
            Type::Varbit(_) => "a varbit",
            Type::Error => "an error",
            Type::Stack(element, _) if !self.is_struct(element) => "a header stack",
            Type::Stack(..) => "an array",
            Type::Tuple(_) => "a tuple",
            Type::Named(id) => match self.out.type_decl(*id).kind {
                ir::TypeKind::Header(_) => "a header",
                ir::TypeKind::Union(_) => "a header union",
                ir::TypeKind::Struct(_) => "a struct",
                ir::TypeKind::Enum(_) | ir::TypeKind::SerEnum { .. } => "an enum",
                ir::TypeKind::New(_) => "a newtype",
            },
            _ => "something else",
        }
    }

    fn known_stage(
        &mut self,
        facts: &StageFacts,
        object: &Object,
        span: Span,
    ) -> Option<(StageKind, Vec<Role>)> {
        let body = self.body(object)?;
        let kind = match (facts.kind, body.kind) {
            (p4_arch::StageKind::Deparse, StageKind::Control(id)) => StageKind::Deparse(id),
            (_, kind) => kind,
        };
        if body.params.len() > facts.roles.len() {
            self.refuse(&format!("a block of another shape for `{}`", facts.name), span);
            return None;
        }
        Some((kind, facts.roles.iter().take(body.params.len()).map(|r| role(*r)).collect()))
    }

    /// A block whose moment is not known.
    fn unknown_stage(&mut self, block: &Block) -> SmolStr {
        let Some(body) = self.body(&block.object) else { return SmolStr::default() };
        let is = |ty: &Type, name: &str| matches!(ty, Type::Extern(id, _) if self.out.extern_object(*id).name == name);
        let kind = match body.kind {
            StageKind::Control(id) if body.params.iter().any(|ty| is(ty, "packet_out")) => {
                StageKind::Deparse(id)
            }
            kind => kind,
        };
        let packet = match kind {
            StageKind::Parse(_) => "packet_in",
            StageKind::Deparse(_) => "packet_out",
            _ => "",
        };
        let role = |ty: &Type| if is(ty, packet) { Role::Packet } else { Role::Other };
        let roles = body.params.iter().map(role).collect();
        self.add_stage(block.path.as_str().into(), kind, roles)
    }

    /// Adds a stage and gives its name. A block that is given twice is one stage.
    fn add_stage(&mut self, name: SmolStr, kind: StageKind, roles: Vec<Role>) -> SmolStr {
        let same = |s: &&Stage| s.kind == kind && kind != StageKind::TrafficManager;
        if let Some(known) = self.out.stages.iter().find(same) {
            return known.name.clone();
        }
        self.out.stages.push(Stage { name: name.clone(), kind, roles });
        name
    }

    fn body(&self, object: &Object) -> Option<Body> {
        let types = |params: &[ir::VarId], vars: &[ir::Var]| {
            params.iter().filter_map(|p| vars.get(p.index())).map(|v| v.ty.clone()).collect()
        };
        match object {
            Object::Parser(id) => {
                let parser = self.out.parser(*id);
                Some(Body { kind: StageKind::Parse(*id), params: types(&parser.params, &parser.vars) })
            }
            Object::Control(id) => {
                let control = self.out.control(*id);
                Some(Body { kind: StageKind::Control(*id), params: types(&control.params, &control.vars) })
            }
            _ => None,
        }
    }

    /// The arguments of `main`, its blocks by the names of their stages.
    fn package(&mut self, made: &Made, names: &mut impl Iterator<Item = SmolStr>, span: Span) -> ir::Package {
        let mut args = vec![];
        for (param, ty, value) in &made.args {
            let arg = match value {
                Value::Object(Object::Parser(_) | Object::Control(_)) => names.next().map(PackageArg::Stage),
                Value::Object(Object::Package(inner)) => {
                    Some(PackageArg::Package(self.package(inner, names, span)))
                }
                value => self.constant(value, ty, span).map(PackageArg::Value),
            };
            match arg {
                Some(arg) => args.push((param.clone(), arg)),
                None => self.refuse("a package argument of this type", span),
            }
        }
        ir::Package { name: made.name.clone(), args }
    }
}

fn find_blocks(made: &Made, path: &str, found: &mut Vec<Block>) {
    for (param, _, value) in &made.args {
        let path = if path.is_empty() { param.to_string() } else { format!("{path}.{param}") };
        match value {
            Value::Object(object @ (Object::Parser(_) | Object::Control(_))) => {
                found.push(Block { path, object: object.clone() });
            }
            Value::Object(Object::Package(inner)) => find_blocks(inner, &path, found),
            _ => {}
        }
    }
}

fn role(from: p4_arch::Role) -> Role {
    use p4_arch::Carried;
    match from {
        p4_arch::Role::Packet => Role::Packet,
        p4_arch::Role::Headers => Role::Headers,
        p4_arch::Role::Metadata => Role::Metadata,
        p4_arch::Role::StandardMetadata => Role::StandardMetadata,
        p4_arch::Role::Input => Role::Input,
        p4_arch::Role::Output => Role::Output,
        p4_arch::Role::Carried(by) => Role::Carried(match by {
            Carried::Normal => ir::Carried::Normal,
            Carried::CloneI2e => ir::Carried::CloneI2e,
            Carried::CloneE2e => ir::Carried::CloneE2e,
            Carried::Resubmit => ir::Carried::Resubmit,
            Carried::Recirculate => ir::Carried::Recirculate,
        }),
    }
}
