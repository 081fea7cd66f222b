//! The merge on one screen.

use crate::app::{App, prefixes};
use crate::builder::{Common, Source};
use crate::effects::{self, Effects};
use crate::ids::Ids;
use crate::share::{Share, Traffic};
use crate::types::Declarations;
use crate::{common_parser, controls, externs, parser, refuse, regions};
use base_diag::{Diagnostic, Span, codes::merge as codes};
use ir::{
    Annotation, AnnotationBody, AnnotationValue, Annotations, ControlId, Name, Owner, ParserId, Program,
    Role, Stage, StageKind, Type, TypeDecl, TypeId, TypeKind, build,
};
use num_bigint::BigInt;
use traffic_classes::Class;

/// Several programs as one.
#[derive(Clone, Debug)]
pub struct Merged {
    /// The program.
    pub program: Program,
    /// Each app's names and numbers there, in the order of the apps.
    pub shares: Vec<Share>,
    /// Rules that the apps' control planes have to follow, in sentences.
    pub notes: Vec<String>,
}

/// Merges the programs of `apps`. All that is wrong with them is reported at once.
pub fn merge(apps: &[App<'_>]) -> Result<Merged, Vec<Diagnostic>> {
    let effects: Vec<Effects> = apps.iter().map(|app| Effects::of(app.program)).collect();
    let mut wrong = refuse::check(apps, &effects);
    let order = refuse::order(apps).map_err(|found| wrong.extend(found)).unwrap_or_default();
    if apps.is_empty() || !wrong.is_empty() {
        return Err(wrong);
    }
    let mut declared = Declarations::default();
    let mut sources = sources(apps, &effects, &order, &mut declared);
    let own_parsers = share_parsers(apps, &mut sources);
    let keeps = effects.iter().any(Effects::keeps_number);
    let mut out = assemble(&sources, declared, lists(&effects).filter(|_| keeps));
    let common = common(&out, &sources).ok_or_else(|| vec![lacks()])?;
    let drop = externs::mark_to_drop(&mut out, &common.standard);
    let id = ParserId::from(out.parsers.len());
    let parser = parser::parser(&out, id, &common, &sources, &order, keeps)
        .map_err(|most| {
            let title = "the classes are too complex together";
            vec![
                Diagnostic::error(codes::BAD_CLASS, title)
                    .note(format!("one has more than {} cases", most.most)),
            ]
        })?
        .ok_or_else(|| vec![lacks()])?;
    out.parsers.push(parser);
    let blocks = [
        (
            "verify_checksum",
            controls::checksums(&out, &common, &sources, ("verify_checksum", "MergedVerify")),
        ),
        ("ingress", controls::ingress(&out, &common, &sources, drop)),
        ("egress", controls::egress(&out, &common, &sources)),
        (
            "compute_checksum",
            controls::checksums(&out, &common, &sources, ("compute_checksum", "MergedCompute")),
        ),
        ("deparser", controls::deparser(&common, &sources)),
    ];
    for (stage, control) in blocks {
        let control = control.ok_or_else(|| vec![lacks()])?;
        let id = ControlId::from(out.controls.len());
        out.controls.push(control);
        set_stage(&mut out, stage, id);
    }
    for stage in &mut out.stages {
        if let StageKind::Parse(parser) = &mut stage.kind {
            *parser = id;
        }
    }
    if apps.iter().any(|app| app.has_regions) {
        regions::lift(&mut out)?;
    }
    if cfg!(debug_assertions)
        && let Err(errors) = ir::verify::verify(&out)
    {
        panic!("the merged program is not well formed: {errors:#?}");
    }
    let mut notes = refuse::notes(apps, &effects);
    notes.extend(own_parsers);
    Ok(Merged { program: out, shares: sources.into_iter().map(|source| source.share).collect(), notes })
}

/// Every app with its names and numbers in the merged program.
fn sources(
    apps: &[App<'_>],
    effects: &[Effects],
    order: &[(usize, Class)],
    declared: &mut Declarations,
) -> Vec<Source> {
    let (groups, sessions) = (effects::groups(effects), effects::sessions(effects));
    let spare = effects::spare_list(effects);
    let prefixes = prefixes(apps);
    let mut sources = vec![];
    let mut base = Ids::default();
    let (mut parsers, mut kept_controls) = (0u32, 0u32);
    for (at, app) in apps.iter().enumerate() {
        let mut program = app.program.clone();
        regions::rename(&mut program, &|own| app.has_regions.then(|| regions::merged(&prefixes[at], own)));
        if effects[at].exits && !groups[at].are_own() && effects[at].chooses_groups {
            let _ = ir_lower::hoist_effects(&mut program);
            let _ = ir_lower::eliminate_exits(&mut program);
        }
        if effects[at].clones()
            && let Some(spare) = spare
            && let Some(preserving) = externs::clone_preserving_field_list(&mut program)
        {
            effects::rewrite_clones(&mut program, sessions[at], preserving, spare);
        }
        let mut ids = Ids { functions: base.functions, instances: base.instances, ..Ids::default() };
        declared.add(at, &program, &mut ids);
        let is_parser = |id: usize| program.stages.iter().any(|s| s.kind == StageKind::Parse(id.into()));
        for id in 0..program.parsers.len() {
            let kept = !is_parser(id);
            ids.parsers.push(kept.then_some(ParserId(parsers)));
            parsers += u32::from(kept);
        }
        for (id, control) in program.controls.iter().enumerate() {
            let runs = |s: &&Stage| {
                s.kind == StageKind::Control(id.into()) || s.kind == StageKind::Deparse(id.into())
            };
            let kept =
                program.stages.iter().find(runs).is_none_or(|s| controls::stands_alone(control, &s.name));
            ids.controls.push(kept.then_some(ControlId(kept_controls)));
            kept_controls += u32::from(kept);
        }
        base.functions += program.functions.len() as u32;
        base.instances += program.instances.len() as u32;
        let share = Share {
            app: app.name.clone(),
            prefix: prefixes[at].clone(),
            number: at as u8 + 1,
            groups: groups[at],
            sessions: sessions[at],
            digests: vec![],
            traffic: traffic(order, at),
        };
        let effects = effects[at].clone();
        sources.push(Source { program, ids, share, at, leader: at, headers: at, effects });
    }
    declared.rename(&prefixes);
    let merged_parser = ParserId(parsers);
    for source in &mut sources {
        source.digests(declared);
        source.rename(merged_parser);
    }
    sources
}

/// Gives apps whose parsers agree one parser. Notes say why an app keeps its own.
fn share_parsers(apps: &[App<'_>], sources: &mut [Source]) -> Vec<String> {
    let shares: Vec<bool> = apps.iter().map(|app| app.shares_parser).collect();
    let (leaders, notes) = common_parser::leaders(sources, &shares);
    let mut headers: Vec<usize> = vec![];
    for (source, leader) in sources.iter_mut().zip(leaders) {
        source.leader = leader;
        let known = headers.iter().position(|known| *known == leader);
        source.headers = known.unwrap_or(headers.len());
        headers.extend(known.is_none().then_some(leader));
    }
    notes
}

/// The packets of an app, given the order in which classes are asked.
fn traffic(order: &[(usize, Class)], app: usize) -> Traffic {
    let before = order.iter().take_while(|(at, _)| *at != app).map(|(_, class)| class.clone());
    let class = order.iter().find(|(at, _)| *at == app).map_or_else(Class::any, |(_, class)| class.clone());
    Traffic { class, before: before.collect() }
}

/// The field lists that keep the app's number: all that any app names, and the one of plain clones.
fn lists(effects: &[Effects]) -> Option<Annotation> {
    let mut lists: Vec<u32> = effects.iter().flat_map(|e| e.lists.iter().copied()).collect();
    if effects.iter().any(Effects::clones) {
        lists.extend((0..=255).find(|list| !lists.contains(list)));
    }
    lists.sort_unstable();
    lists.dedup();
    let values = lists.into_iter().map(|list| AnnotationValue::Int(BigInt::from(list))).collect();
    Some(Annotation { name: "field_list".into(), body: AnnotationBody::Values(values) })
}

/// All declarations and all blocks that stand alone, with the types of the merged headers and metadata at the end.
fn assemble(sources: &[Source], declared: Declarations, lists: Option<Annotation>) -> Program {
    let first = &sources[0].program;
    let names = ["merged_headers", "merged_metadata"].map(|name| declared.free_type_name(name));
    let mut out = Program {
        arch: first.arch.clone(),
        types: declared.types,
        errors: declared.errors,
        externs: declared.externs,
        extern_functions: declared.extern_functions,
        instances: vec![],
        functions: vec![],
        parsers: vec![],
        controls: vec![],
        stages: first.stages.clone(),
        main: first.main.clone(),
        annotations: vec![],
    };
    for source in sources.iter() {
        let (program, ids) = (&source.program, &source.ids);
        out.instances.extend(program.instances.iter().cloned());
        out.functions.extend(program.functions.iter().cloned());
        let kept = |(parser, id): (&ir::Parser, &Option<ParserId>)| id.map(|_| parser.clone());
        out.parsers.extend(program.parsers.iter().zip(&ids.parsers).filter_map(kept));
        let kept = |(control, id): (&ir::Control, &Option<ControlId>)| id.map(|_| control.clone());
        out.controls.extend(program.controls.iter().zip(&ids.controls).filter_map(kept));
    }
    let part = |source: &Source, role: Role| {
        build::struct_field(&source.share.prefix, source.type_of(role).unwrap_or(Type::Void))
    };
    let headers = sources.iter().filter(|source| source.leader == source.at).map(|leader| {
        let group = sources.iter().filter(|source| source.leader == leader.at);
        let names: Vec<&str> = group.map(|source| source.share.prefix.as_str()).collect();
        let mut name = names.join("_");
        while names.len() > 1 && sources.iter().any(|source| source.share.prefix == name.as_str()) {
            name.push('_');
        }
        build::struct_field(&name, leader.type_of(Role::Headers).unwrap_or(Type::Void))
    });
    let headers = headers.collect();
    let mut metadata = vec![build::struct_field("app", Type::Bit(8))];
    metadata[0].annotations = Annotations::from_iter(lists);
    metadata.extend(sources.iter().map(|source| part(source, Role::Metadata)));
    for (name, fields) in names.into_iter().zip([headers, metadata]) {
        let kind = TypeKind::Struct(fields);
        out.types.push(TypeDecl { name, kind, annotations: vec![], span: Span::NONE });
    }
    out
}

/// The types of what goes with a packet.
fn common(out: &Program, sources: &[Source]) -> Option<Common> {
    let named = |back: usize| Type::Named(TypeId::from(out.types.len() - back));
    let packet = |stage: &str| {
        let source = sources.first()?;
        let at = source.stage(stage)?.roles.iter().position(|role| *role == Role::Packet)?;
        match stage {
            "parser" => source.parser().map(|p| p.vars[p.params[at].index()].ty.clone()),
            _ => source.control(stage).map(|(_, c)| c.vars[c.params[at].index()].ty.clone()),
        }
    };
    Some(Common {
        headers: named(2),
        metadata: named(1),
        standard: sources.first()?.type_of(Role::StandardMetadata)?,
        packet_in: packet("parser")?,
        packet_out: packet("deparser")?,
        parts: sources
            .iter()
            .map(|source| Some((source.type_of(Role::Headers)?, source.type_of(Role::Metadata)?)))
            .collect::<Option<_>>()?,
    })
}

/// The stage runs the merged control, whose parameters are in v1model's order.
fn set_stage(out: &mut Program, name: &str, id: ControlId) {
    let Some(stage) = out.stages.iter_mut().find(|stage| stage.name == name) else { return };
    stage.kind = match stage.kind {
        StageKind::Deparse(_) => StageKind::Deparse(id),
        _ => StageKind::Control(id),
    };
}

impl Source {
    /// Merged type of what a parameter of the parser takes.
    pub fn type_of(&self, role: Role) -> Option<Type> {
        let at = self.stage("parser")?.roles.iter().position(|known| *known == role)?;
        let parser = self.parser()?;
        Some(parser.vars.get(parser.params.get(at)?.index())?.ty.clone())
    }

    /// Notes the names of the digests.
    fn digests(&mut self, declared: &Declarations) {
        let mut names = vec![];
        crate::scan::extern_calls(&self.program, &mut |name, call| {
            if let ("digest", [Type::Named(id)]) = (name, call.type_args.as_slice())
                && let Some(merged) = self.ids.types.get(id.index())
            {
                let own = self.program.type_decl(*id).name.clone();
                names.push((own, declared.types[merged.index()].name.clone()));
            }
        });
        names.sort();
        names.dedup();
        self.share.digests = names;
    }

    /// True if the app's program says to which multicast group packets go.
    pub fn chooses_groups(&self) -> bool {
        self.effects.chooses_groups
    }

    /// Gives everything in the program the number and name that it has in the merged one. Blocks keep their places.
    fn rename(&mut self, merged_parser: ParserId) {
        let Source { program, ids, share, .. } = self;
        let plane = |name: &mut Name| *name = share.name(name);
        let prefixed = |name: &mut Name| *name = format!("{}_{name}", share.prefix).into();
        // Two apps may ask for one id: ids follow from the prefixed names.
        let without_id = |annotations: &mut Annotations| annotations.retain(|a| a.name != "id");
        for function in &mut program.functions {
            prefixed(&mut function.name);
            ids.ty(&mut function.returns);
            function.vars.iter_mut().for_each(|var| ids.ty(&mut var.ty));
            ids.block(&mut function.body);
        }
        for instance in &mut program.instances {
            plane(&mut instance.control_plane_name);
            without_id(&mut instance.annotations);
            instance.object = ids.externs.get(instance.object.index()).copied().unwrap_or(instance.object);
            instance.type_args.iter_mut().for_each(|ty| ids.ty(ty));
            instance.args.iter_mut().for_each(|arg| ids.expr(arg));
            instance.methods.iter_mut().for_each(|(_, function)| function.0 += ids.functions);
            instance.owner = match instance.owner {
                Owner::Program => {
                    prefixed(&mut instance.name);
                    Owner::Program
                }
                Owner::Control(id) => {
                    ids.controls.get(id.index()).copied().flatten().map_or(Owner::Program, Owner::Control)
                }
                Owner::Parser(id) => {
                    Owner::Parser(ids.parsers.get(id.index()).copied().flatten().unwrap_or(merged_parser))
                }
            };
        }
        for parser in &mut program.parsers {
            prefixed(&mut parser.name);
            plane(&mut parser.control_plane_name);
            parser.vars.iter_mut().for_each(|var| ids.ty(&mut var.ty));
            ids.stmts(&mut parser.locals);
            parser.instances.iter_mut().for_each(|id| *id = ids.instance(*id));
            for set in &mut parser.value_sets {
                plane(&mut set.control_plane_name);
                without_id(&mut set.annotations);
                ids.ty(&mut set.ty);
            }
            for state in &mut parser.states {
                ids.stmts(&mut state.stmts);
                ids.transition(&mut state.transition);
            }
        }
        for control in &mut program.controls {
            prefixed(&mut control.name);
            plane(&mut control.control_plane_name);
            control.vars.iter_mut().for_each(|var| ids.ty(&mut var.ty));
            ids.stmts(&mut control.locals);
            control.instances.iter_mut().for_each(|id| *id = ids.instance(*id));
            for action in &mut control.actions {
                plane(&mut action.control_plane_name);
                without_id(&mut action.annotations);
                ids.block(&mut action.body);
            }
            for table in &mut control.tables {
                plane(&mut table.control_plane_name);
                without_id(&mut table.annotations);
                ids.table(table);
            }
            ids.block(&mut control.body);
        }
    }
}

/// The architecture's facts and the program do not fit: a bug of the checks before.
fn lacks() -> Diagnostic {
    Diagnostic::error(codes::NOT_MERGED, "a program lacks something that v1model has")
}
