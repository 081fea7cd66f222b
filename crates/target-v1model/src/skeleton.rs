//! The parts of a converted program that are the same for all, compiled from text and added to the original program.

use crate::usage::Usage;
use base_diag::{Diagnostic, SourceMap, Span};
use ir::{Control, ControlId, ExternFunctionId, ExternId, Parser, Program, StageKind, Type, TypeId};
use ir_merge::Ids;

/// The clone session by which a packet with several destinations goes to all of them: larger than all of a Tofino.
pub const COPIES: u32 = 1024;

const TEXT: &str = include_str!("skeleton.p4");

/// The additions to a program.
pub(crate) struct Skeleton {
    /// Types of the headers and of the metadata, the last of the program.
    pub(crate) headers: TypeId,
    pub(crate) metadata: TypeId,
    /// Blocks of the stages, empty but for calls of the parts.
    pub(crate) parser: Parser,
    pub(crate) no_checksum: Control,
    pub(crate) ingress: Control,
    pub(crate) egress: Control,
    pub(crate) deparser: Control,
    /// `Manage`, `Send`, `Leave`, `Finish`.
    pub(crate) parts: Vec<Control>,
    ids: Ids,
    source: Program,
}

impl Skeleton {
    /// Compiles the text and adds its types and externs to `program`.
    pub(crate) fn add_to(program: &mut Program, usage: &Usage) -> Result<Skeleton, Vec<Diagnostic>> {
        let text = format!(
            "#define RESUBMITTED {}\n#define MIRRORED {}\n#define CPU_PORT {}\n#define BACK {}\n#define COPIES {COPIES}\n{TEXT}",
            p4_arch::tna::port_metadata_bits(usage.generation),
            usage.mirrored.iter().copied().max().unwrap_or(0).max(1),
            p4_arch::tna::cpu_port(usage.generation),
            if usage.generation == 1 { 68 } else { 6 },
        );
        let source = compiler::reparse("skeleton.p4", &text, &mut SourceMap::new())?;
        let source = Program::clone(&source);
        let mut ids =
            Ids { errors: source.errors.iter().map(|name| error(program, name)).collect(), ..Ids::default() };
        let first = program.types.len();
        ids.types = (first..first + source.types.len()).map(TypeId::from).collect();
        let first = program.externs.len();
        ids.externs = (0..source.externs.len())
            .map(|at| {
                // Packets have one type in both.
                let name = &source.externs[at].name;
                let known = program.externs.iter().position(|object| object.name == *name);
                ExternId::from(known.unwrap_or(first + at))
            })
            .collect();
        let first = program.extern_functions.len();
        ids.extern_functions =
            (first..first + source.extern_functions.len()).map(ExternFunctionId::from).collect();
        ids.instances = program.instances.len() as u32;
        let is_part = |at: usize| {
            let runs = |kind: StageKind| {
                kind == StageKind::Control(at.into()) || kind == StageKind::Deparse(at.into())
            };
            !source.stages.iter().any(|stage| runs(stage.kind))
        };
        let parts: Vec<usize> = (0..source.controls.len()).filter(|at| is_part(*at)).collect();
        let place = |at: usize| parts.iter().position(|part| *part == at).map(ControlId::from);
        ids.controls = (0..source.controls.len()).map(place).collect();
        for mut decl in source.types.iter().cloned() {
            ids.type_kind(&mut decl.kind);
            decl.span = Span::NONE;
            program.types.push(decl);
        }
        for mut object in source.externs.iter().cloned() {
            object.constructors.iter_mut().flatten().for_each(|param| ids.ty(&mut param.ty));
            object.methods.iter_mut().for_each(|method| ids.signature(&mut method.signature));
            program.externs.push(object);
        }
        for mut function in source.extern_functions.iter().cloned() {
            ids.signature(&mut function.signature);
            program.extern_functions.push(function);
        }
        let named =
            |name: &str| source.types.iter().position(|decl| decl.name == name).map(|at| ids.types[at]);
        let (Some(headers), Some(metadata)) = (named("v1model_headers"), named("v1model_metadata")) else {
            return Err(vec![]);
        };
        let control = |name: &str| {
            let mut found = source.controls.iter().find(|control| control.name == name).cloned()?;
            found.vars.iter_mut().for_each(|var| ids.ty(&mut var.ty));
            ids.stmts(&mut found.locals);
            ids.block(&mut found.body);
            Some(found)
        };
        let mut parser = source.parsers.first().cloned().ok_or_else(Vec::new)?;
        parser.vars.iter_mut().for_each(|var| ids.ty(&mut var.ty));
        let blocks = ["NoChecksum", "ConvertedIngress", "ConvertedEgress", "ConvertedDeparser"].map(control);
        let [Some(no_checksum), Some(ingress), Some(egress), Some(deparser)] = blocks else {
            return Err(vec![]);
        };
        let parts = parts.iter().filter_map(|at| control(&source.controls[*at].name)).collect();
        Ok(Skeleton { headers, metadata, parser, no_checksum, ingress, egress, deparser, parts, ids, source })
    }

    /// A type of v1model.
    pub(crate) fn ty(&self, name: &str) -> Type {
        let at = self.source.types.iter().position(|decl| decl.name == name);
        at.map_or(Type::Void, |at| Type::Named(self.ids.types[at]))
    }

    /// An extern of v1model.
    pub(crate) fn object(&self, name: &str) -> ExternId {
        let at = self.source.externs.iter().position(|object| object.name == name);
        at.map_or(ExternId(u32::MAX), |at| self.ids.externs[at])
    }

    /// A function of v1model.
    pub(crate) fn function(&self, name: &str) -> ExternFunctionId {
        let at = self.source.extern_functions.iter().position(|function| function.name == name);
        at.map_or(ExternFunctionId(u32::MAX), |at| self.ids.extern_functions[at])
    }

    /// Index of a method of an extern of v1model.
    pub(crate) fn method(&self, object: &str, method: &str) -> u32 {
        let found = self.source.externs.iter().find(|known| known.name == object);
        let at = found.and_then(|object| object.methods.iter().position(|known| known.name == method));
        at.map_or(u32::MAX, |at| at as u32)
    }

    /// The stages and `main` of v1model, with blocks in this order: parser, the parts, checksums (one block for both), ingress, egress,
    /// deparser.
    pub(crate) fn finish(&self, program: &mut Program, controls: [ControlId; 5]) {
        let [verify, ingress, egress, compute, deparser] = controls;
        program.stages = self.source.stages.clone();
        program.main = self.source.main.clone();
        program.arch = self.source.arch.clone();
        program.annotations.clear();
        for stage in &mut program.stages {
            stage.kind = match (stage.name.as_str(), stage.kind) {
                ("parser", _) => StageKind::Parse(0usize.into()),
                ("verify_checksum", _) => StageKind::Control(verify),
                ("ingress", _) => StageKind::Control(ingress),
                ("egress", _) => StageKind::Control(egress),
                ("compute_checksum", _) => StageKind::Control(compute),
                ("deparser", _) => StageKind::Deparse(deparser),
                (_, kind) => kind,
            };
        }
    }
}

fn error(program: &mut Program, name: &ir::Name) -> ir::ErrorId {
    let known = program.errors.iter().position(|error| error == name);
    let at = known.unwrap_or_else(|| {
        program.errors.push(name.clone());
        program.errors.len() - 1
    });
    at.into()
}
