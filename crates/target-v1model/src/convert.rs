//! The conversion on one screen.

use crate::context::{Context, types_of};
use crate::deparser;
use crate::halves::{egress, ingress};
use crate::instances::{self, Initial};
use crate::parser::parser;
use crate::skeleton::Skeleton;
use crate::usage::{Usage, check_architecture, check_residuals};
use base_diag::{Diagnostic, Span};
use device::tna::Half;
use ir::{ControlId, Owner, Program, Type, TypeDecl, TypeKind, build};

/// A program for v1model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Converted {
    /// Source of the program.
    pub text: String,
    /// Registers whose cells do not begin with zero.
    pub initial: Vec<Initial>,
    /// Rules for control planes, in sentences.
    pub notes: Vec<String>,
}

/// Converts a program for TNA or T2NA.
pub fn convert(program: &Program) -> Result<Converted, Vec<Diagnostic>> {
    check_architecture(program)?;
    ir_lower::check_inlining(program)?;
    check_residuals(program)?;
    let mut program = program.clone();
    for pass in [
        ir_lower::hoist_effects,
        ir_lower::eliminate_exits,
        ir_lower::eliminate_returns,
        ir_lower::expand_register_actions,
        ir_lower::inline_functions,
        ir_lower::inline_controls,
        ir_lower::expand_loops,
        ir_lower::hoist_locals,
        ir_lower::inline_parsers,
        ir_lower::fold_constants,
    ] {
        let _ = pass(&mut program);
    }
    let usage = Usage::of(&program)?;
    let added = usage.added_headers();
    for (name, bits) in &added {
        header(&mut program, name, *bits);
    }
    let skeleton = Skeleton::add_to(&mut program, &usage)?;
    extend(&mut program, &skeleton, &usage);
    let original = program.clone();
    let mut context = Context {
        program: &original,
        skeleton: &skeleton,
        usage: &usage,
        port_metadata: None,
        found: vec![],
    };
    let (parsed, of_ingress) = parser(&mut context);
    let mut emits = vec![];
    let mut codes = vec![];
    for half in 0..usage.halves() {
        let (code, emitted) = deparser::split(original.control(usage.deparsers[half]), &mut context.found);
        codes.push(code);
        emits.push(emitted);
    }
    if usage.mirrors_in_ingress(&original) {
        let checked =
            deparser::check_order(&original, &context.types(Half::Ingress).0, &parsed, of_ingress, &emits[0]);
        context.found.extend(checked.err());
    }
    let mut controls = skeleton.parts.clone();
    let first = controls.len();
    controls.push(skeleton.no_checksum.clone());
    let mut compute = skeleton.no_checksum.clone();
    compute.name = "NoChecksums".into();
    controls.push(compute);
    controls.push(ingress(&mut context, &codes[0]));
    controls.push(egress(&mut context, codes.get(1)));
    controls.push(deparser::deparser(&mut context, &emits));
    let unpacks = context.port_metadata.is_some();
    let mut found = context.found;
    let initial = instances::convert(&mut program, &skeleton, &mut found);
    found.dedup();
    if !found.is_empty() {
        return Err(found);
    }
    for (at, control) in controls.iter_mut().enumerate() {
        let is_left =
            |id: &ir::InstanceId| program.instances[id.index()].owner != Owner::Control(ControlId(u32::MAX));
        control.instances.retain(is_left);
        for id in &control.instances {
            program.instances[id.index()].owner = Owner::Control(at.into());
        }
    }
    if unpacks {
        instances::add_port_metadata(
            &mut program,
            &skeleton,
            usage.generation,
            &mut controls[first + 2],
            first + 2,
        );
    }
    program.functions.clear();
    program.parsers = vec![parsed];
    program.controls = controls;
    let ids = [first, first + 2, first + 3, first + 1, first + 4].map(ControlId::from);
    skeleton.finish(&mut program, ids);
    let text = target_p4::print(&program);
    let generates = original.instances.iter().any(|known| known.name == p4_arch::tna::GENERATOR[0].name);
    Ok(Converted { text, initial, notes: notes(&usage, generates) })
}

/// Fields for the headers and metadata of both halves, and for the intrinsic metadata that blocks get.
fn extend(program: &mut Program, skeleton: &Skeleton, usage: &Usage) {
    let mut headers: Vec<(String, Type)> = vec![];
    let mut metadata: Vec<(String, Type)> = vec![];
    for (name, _) in usage.added_headers() {
        let ty = program.types.iter().position(|decl| decl.name == format!("{name}_h"));
        headers.extend(ty.map(|ty| (name, Type::Named(ty.into()))));
    }
    for half in 0..usage.halves() {
        let name = ["ingress", "egress"][half];
        let (of_headers, of_metadata) = types_of(program, usage, half);
        headers.push((name.to_string(), of_headers.clone()));
        metadata.push((format!("{name}_metadata"), of_metadata.clone()));
        let blocks = [usage.controls[half], usage.deparsers[half]].map(|id| program.control(id));
        let parser = program.parser(usage.parsers[half]);
        let all = [(&parser.params, &parser.vars)]
            .into_iter()
            .chain(blocks.map(|control| (&control.params, &control.vars)));
        for ty in all.flat_map(|(params, vars)| params.iter().map(|param| &vars[param.index()].ty)) {
            if let Type::Named(id) = ty
                && *ty != of_headers
                && *ty != of_metadata
            {
                let name = program.type_decl(*id).name.to_string();
                if !metadata.iter().any(|(known, _)| *known == name) {
                    metadata.push((name, ty.clone()));
                }
            }
        }
    }
    for (id, fields) in [(skeleton.headers, headers), (skeleton.metadata, metadata)] {
        let fields = fields.into_iter().map(|(name, ty)| build::struct_field(&name, ty));
        if let TypeKind::Struct(known) = &mut program.types[id.index()].kind {
            known.extend(fields);
        }
    }
}

/// A new header of one field. Types stand after those that they use, so that this comes before the skeleton's.
fn header(program: &mut Program, name: &str, bits: u32) {
    let kind = TypeKind::Header(vec![build::struct_field("data", Type::Bit(bits))]);
    program.types.push(TypeDecl {
        name: format!("{name}_h").into(),
        kind,
        annotations: vec![],
        span: Span::NONE,
    });
}

fn notes(usage: &Usage, generates: bool) -> Vec<String> {
    let mut notes = vec![format!(
        "a packet with several destinations needs the clone session {}, with any port",
        crate::COPIES
    )];
    if !usage.skips_egress {
        notes.push("packets pass the pipeline twice, the second time by recirculation".to_string());
    }
    if generates {
        notes.push("v1model has no packet generator: its packets do not come".to_string());
    }
    notes
}
