//! Pinning on one screen.

use crate::body;
use crate::copies;
use crate::key;
use crate::metadata::{self, EXTERNAL, PINNED_BITS, RESIDENT, SHARD_BITS};
use crate::objects::{self, Doubled};
use crate::request::{Affinity, Pinned, Request, Resident};
use base_diag::{Diagnostic, codes::pin as codes};
use ir::{Arch, Callee, Control, Expr, ExprKind, Name, Program, Role, StmtKind, Type, TypeId, build, visit};
use std::collections::BTreeMap;

/// Pins the flows of `program`. All that is wrong is reported at once.
pub fn pin(program: &Program, request: &Request) -> Result<Pinned, Vec<Diagnostic>> {
    let mut out = open(program)?;
    let mut pinned = Pinned {
        program: Program { types: vec![], ..out.clone() },
        flow_manager: None,
        resident_action: None,
        tables: vec![],
        whole: Default::default(),
        actions: vec![],
        objects: vec![],
        region: None,
        shards: request.shards.as_ref().map_or(0, |shards| shards.count),
    };
    // All flows are at the switch: the program runs there unchanged.
    if request.affinity == Affinity::High {
        pinned.program = out;
        return Ok(pinned);
    }
    let ingress = out.stage_control("ingress").ok_or_else(|| vec![lacks()])?;
    let roles = out.stage("ingress").map(|stage| stage.roles.clone()).unwrap_or_default();
    let control = out.control(ingress).clone();
    let (metadata_type, whole) = metadata_of(&control, &roles).ok_or_else(|| vec![lacks()])?;
    let is_medium = request.affinity == Affinity::Medium;
    let mut wrong = vec![];
    let mut note = |found: Vec<Diagnostic>| wrong.extend(found);
    let key = match is_medium || request.shards.is_some() {
        true => key::resolve(&out, &control, &roles, &request.key).map_err(&mut note).unwrap_or_default(),
        false => vec![],
    };
    let doubled = match is_medium {
        true => objects::doubled(&out, ingress).map_err(&mut note).unwrap_or_default(),
        false => Doubled::default(),
    };
    let lists = metadata::field_lists(&out).map_err(&mut note).unwrap_or_default();
    metadata::check_parts(&out, metadata_type).map_err(|found| note(vec![found])).unwrap_or_default();
    note(check_names(request, &control));
    note(check_shards(request));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // Nothing is changed before all checks have passed, since all mistakes are reported at once.
    let mut field = |name: &str, width: u32, annotations| {
        let at = metadata::add_field(&mut out, metadata_type, name, width, annotations, &lists)?;
        Some(build::field(whole.clone(), at, Type::Bit(width)))
    };
    let place = field("pinned", PINNED_BITS, vec![]).ok_or_else(|| vec![lacks()])?;
    let shard = request.shards.as_ref().and_then(|shards| {
        let says = metadata::says_shard(&request.region, shards.count);
        field("shard", SHARD_BITS, vec![says])
    });

    let copies = copies::make(&mut out, ingress, &doubled, &|table| resident(request, table));
    let is_whole =
        |table: &&ir::TableId| resident(request, &control.tables[table.index()]) == Resident::Whole;
    let whole = copies.tables.keys().filter(is_whole);
    pinned.whole = whole.map(|table| control.tables[table.index()].control_plane_name.clone()).collect();
    let mut control = std::mem::replace(&mut out.controls[ingress.index()], control);
    let mut shares = match (&request.shards, &shard) {
        (Some(shards), Some(shard)) => body::compute_shard(&mut out, &mut control, &key, shards, shard),
        _ => vec![],
    };
    let external = std::mem::take(&mut control.body);
    let annotations = external.annotations.clone();
    let is = |value: u64| build::equals(place.clone(), build::bits(PINNED_BITS, value));
    let stmts = if is_medium {
        let mut resident = external.clone();
        copies.block(&mut control, &mut resident, BTreeMap::new());
        let manager = body::flow_manager(&mut control, &key, &request.key, &place, request.flows);
        let table = &control.tables[manager.index()];
        pinned.flow_manager = Some(table.control_plane_name.clone());
        let action = table.actions.first().map(|run| run.action);
        pinned.resident_action = action.map(|id| control.actions[id.index()].control_plane_name.clone());
        let missed = build::expr(ExprKind::ApplyMiss(manager), Type::Bool);
        // The shard number is computed only for packets that leave for a helper.
        let look_up = match shares.is_empty() {
            true => build::stmt(StmtKind::Apply(manager)),
            false => build::if_then(missed, shares),
        };
        vec![
            build::if_then(is(0), vec![look_up]),
            build::if_else(is(RESIDENT), resident.stmts, vec![body::region(&request.region, external)]),
        ]
    } else {
        shares.push(build::assign(place.clone(), build::bits(PINNED_BITS, EXTERNAL)));
        vec![build::if_then(is(0), shares), body::region(&request.region, external)]
    };
    control.body = ir::Block { annotations, stmts };
    out.controls[ingress.index()] = control;
    [pinned.tables, pinned.actions, pinned.objects] = copies.names(&out, ingress);
    pinned.region = Some(request.region.clone());
    if cfg!(debug_assertions)
        && let Err(errors) = ir::verify::verify(&out)
    {
        panic!("the pinned program is not well formed: {errors:#?}");
    }
    pinned.program = out;
    Ok(pinned)
}

/// The program without marks, and with ingress as one piece of code.
fn open(program: &Program) -> Result<Program, Vec<Diagnostic>> {
    if !matches!(program.arch, Arch::V1Model(_)) {
        let title = format!("programs for `{}` cannot be pinned", program.main.name);
        return Err(vec![
            Diagnostic::error(codes::NOT_PINNED, title).note("only programs for v1model's `V1Switch` can be"),
        ]);
    }
    let mut open = ir_split::auto::open(program)?;
    if open.functions.iter().any(|function| uses_objects(&function.body)) {
        ir_lower::check_inlining(&open)?;
        let _ = ir_lower::hoist_effects(&mut open);
        let _ = ir_lower::eliminate_returns(&mut open);
        let _ = ir_lower::inline_functions(&mut open);
    }
    Ok(open)
}

fn uses_objects(block: &ir::Block) -> bool {
    let is_method = |callee: &Callee| matches!(callee, Callee::Method(..));
    let mut found = false;
    visit::stmts(block, &mut |stmt| {
        found |= matches!(&stmt.kind, StmtKind::Call(call) if is_method(&call.callee));
    });
    visit::all_exprs(block, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Call(call) if is_method(&call.callee));
    });
    found
}

/// The type of the metadata, and ingress's parameter that has it.
fn metadata_of(control: &Control, roles: &[Role]) -> Option<(TypeId, Expr)> {
    let at = roles.iter().position(|role| *role == Role::Metadata)?;
    let whole = build::var_of(&control.vars, *control.params.get(at)?);
    match whole.ty {
        Type::Named(id) => Some((id, whole)),
        _ => None,
    }
}

/// Entries of a table's copy.
fn resident(request: &Request, table: &ir::Table) -> Resident {
    let fits =
        table.keys.is_empty() || table.const_entries || table.size.is_some_and(|size| size <= request.flows);
    let usual = if fits { Resident::Whole } else { Resident::Most(request.flows) };
    request.resident.get(&table.control_plane_name).copied().unwrap_or(usual)
}

fn check_names(request: &Request, ingress: &Control) -> Vec<Diagnostic> {
    let known: Vec<&Name> = ingress.tables.iter().map(|table| &table.control_plane_name).collect();
    let unknown = request.resident.keys().filter(|name| !known.contains(name));
    let report = |name: &Name| {
        let title = format!("ingress has no table `{name}`");
        Diagnostic::error(codes::NOT_PINNED, title).suggest(name, known.iter().map(|name| name.as_str()))
    };
    unknown.map(report).collect()
}

fn check_shards(request: &Request) -> Vec<Diagnostic> {
    let Some(shards) = &request.shards else { return vec![] };
    let refuse = |title: &str, note: String| Diagnostic::error(codes::NOT_SHARDED, title).note(note);
    let mut wrong = vec![];
    if shards.count == 0 || shards.parts.is_empty() {
        wrong.push(
            refuse("flows cannot be divided among helpers", "no part of the flow's key is hashed".into())
                .help("name one helper, or a part of the key that all packets of a flow have in common"),
        );
    }
    let inside = |at: &usize| *at < shards.parts.len();
    let pairs = shards.pairs.iter().all(|(a, b)| inside(a) && inside(b));
    if !pairs || shards.parts.iter().any(|at| *at >= request.key.len()) {
        wrong.push(refuse(
            "a shard key names parts that the flow's key does not have",
            format!("it has {}", request.key.len()),
        ));
    }
    wrong
}

/// The program and v1model do not fit: a bug of the checks before.
fn lacks() -> Diagnostic {
    Diagnostic::error(codes::NOT_PINNED, "the program lacks something that v1model has")
}
