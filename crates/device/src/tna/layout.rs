//! Positions of the stages and the intrinsic metadata in a program.

use crate::half::{Half, Halves};
use base_diag::Diagnostic;
use base_diag::codes::tna as codes;
use ir::{Arch, ExprKind, InstanceId, PackageArg, Program, Role, Type, TypeId, visit};

/// Type of what ingress asks of the traffic manager.
pub const TO_MANAGER: &str = "ingress_intrinsic_metadata_for_tm_t";
/// Type of what ingress asks of its deparser.
pub const INGRESS_DEPARSER: &str = "ingress_intrinsic_metadata_for_deparser_t";
/// Type of what egress asks of its deparser.
pub const EGRESS_DEPARSER: &str = "egress_intrinsic_metadata_for_deparser_t";

/// Type of what the parser of a half says: time and error.
pub fn from_parser(half: Half) -> &'static str {
    match half {
        Half::Ingress => "ingress_intrinsic_metadata_from_parser_t",
        Half::Egress => "egress_intrinsic_metadata_from_parser_t",
    }
}

/// Facts about a program, computed once.
pub(crate) struct Layout {
    pub(crate) halves: Halves,
    /// The control looks at `parser_err` itself: packets that the parser refuses reach it.
    pub(crate) reads_parser_error: bool,
    /// 1 or 2.
    pub(super) generation: u32,
    /// The register with the metadata of ports.
    pub(super) port_metadata: Option<InstanceId>,
}

impl Layout {
    pub(crate) fn new(program: &Program) -> Result<Layout, Vec<Diagnostic>> {
        check_pipes(program).map_err(|problem| vec![problem])?;
        let Some(halves) = Halves::of(program) else {
            return Err(vec![
                Diagnostic::error(codes::PIPES, "a stage of the pipeline is missing")
                    .note("each of its six blocks has to be a block of its own"),
            ]);
        };
        Ok(Layout {
            halves,
            reads_parser_error: reads_parser_error(program),
            generation: generation(program),
            port_metadata: port_metadata(program),
        })
    }

    /// Types of headers and metadata; there is no metadata that goes all the way.
    pub(crate) fn types(&self, half: Half) -> [Type; 3] {
        self.halves.types(half, [Role::Headers, Role::Metadata, Role::StandardMetadata])
    }

    /// Bits of what the control plane sets for a port, before a frame.
    pub(super) fn port_metadata_bits(&self) -> u32 {
        p4_arch::tna::port_metadata_bits(self.generation)
    }
}

/// Refuses programs for several pipes, with a ghost thread, or with several parsers.
pub(crate) fn check_pipes(program: &Program) -> Result<(), Diagnostic> {
    let [(_, PackageArg::Package(pipe)), rest @ ..] = program.main.args.as_slice() else {
        return Err(Diagnostic::error(codes::PIPES, "`main` has no pipeline"));
    };
    if !rest.is_empty() {
        let what = format!("programs for {} pipes cannot be run", rest.len() + 1);
        return Err(Diagnostic::error(codes::PIPES, what)
            .note("one pipeline runs, for all ports")
            .help("give `Switch` the pipeline that is to run, and no other"));
    }
    if program.main.name == "MultiParserSwitch" {
        return Err(Diagnostic::error(codes::PIPES, "pipelines with several parsers cannot be run")
            .help("use `Pipeline` and `Switch`, with one parser for all ports"));
    }
    if pipe.args.iter().any(|(param, _)| param == "ghost") {
        return Err(Diagnostic::error(codes::PIPES, "a ghost thread cannot be run")
            .note("it gets the depth of each queue in each clock cycle, which the device does not model")
            .help("leave the last argument of `Pipeline` out"));
    }
    Ok(())
}

/// Generation of the Tofino that a program is for: 1 or 2.
pub fn generation(program: &Program) -> u32 {
    if program.arch == Arch::Tna(1) { 1 } else { 2 }
}

/// The register with the metadata of ports.
fn port_metadata(program: &Program) -> Option<InstanceId> {
    let is_it = |instance: &ir::Instance| instance.name == p4_arch::tna::PORT_METADATA;
    program.instances.iter().position(is_it).map(InstanceId::from)
}

/// Type of that name that the program declares.
pub(super) fn named(program: &Program, name: &str) -> Option<Type> {
    let at = program.types.iter().position(|ty| ty.name == name)?;
    Some(Type::Named(TypeId::from(at)))
}

fn reads_parser_error(program: &Program) -> bool {
    let Some(ty) = named(program, from_parser(Half::Ingress)) else { return false };
    let Some(field) = program.fields(&ty).iter().position(|field| field.name == "parser_err") else {
        return false;
    };
    let mut reads = false;
    let mut look = |expr: &ir::Expr| {
        visit::subexprs(expr, &mut |expr| {
            if let ExprKind::Field(base, at) = &expr.kind {
                reads |= base.ty == ty && *at as usize == field;
            }
        });
    };
    for control in &program.controls {
        let actions = control.actions.iter().map(|action| &action.body);
        for body in actions.chain([&control.body]) {
            visit::all_exprs(body, &mut look);
        }
        control.tables.iter().flat_map(|table| &table.keys).for_each(|key| look(&key.expr));
    }
    reads
}
