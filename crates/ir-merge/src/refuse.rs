//! Refusals: programs that cannot be merged, and classes that overlap (with a packet of both).

use crate::app::App;
use crate::effects::{self, Effects};
use base_diag::codes::merge as codes;
use base_diag::{Diagnostic, Span};
use ir::{Arch, Control, Expr, ExprKind, Program, Role, StmtKind, VarId, visit};
use traffic_classes::{Class, Layer};

/// Everything that is wrong with the apps; nothing of it concerns their classes.
pub fn check(apps: &[App<'_>], effects: &[Effects]) -> Vec<Diagnostic> {
    let mut found = vec![];
    let spare = effects::spare_list(effects);
    let refused = |app: &App<'_>, why: &str| {
        Diagnostic::error(codes::NOT_MERGED, format!("`{}` cannot be merged with other programs", app.name))
            .note(why)
    };
    if apps.len() > MOST {
        let title = format!("{} programs cannot be merged", apps.len());
        found
            .push(Diagnostic::error(codes::NOT_MERGED, title).note(format!("at most {MOST} share a switch")));
    }
    for (app, effects) in apps.iter().zip(effects) {
        let program = app.program;
        let mut refuse = |why: &str| found.push(refused(app, why));
        match (&program.arch, &apps[0].program.arch) {
            (Arch::V1Model(version), Arch::V1Model(first)) if version == first => {}
            (Arch::V1Model(version), Arch::V1Model(first)) => {
                let why = format!(
                    "it is written for V1MODEL_VERSION {version}, `{}` for {first}: define the same for all programs",
                    apps[0].name
                );
                refuse(&why);
                continue;
            }
            _ => {
                refuse("it is not written for v1model");
                continue;
            }
        }
        if !target_stages(program) {
            refuse("it does not have all stages of v1model");
            continue;
        }
        if let Some(name) = program.frame_externs().first() {
            refuse(&format!(
                "it calls the frame extern `{name}`: frames continue in a program's own ingress"
            ));
        }
        if !program.ticks().is_empty() {
            refuse("it has ticks (`@tick`), whose frames the class of the app would have to select");
        }
        // Counters of the merged program see one length: an app cannot set its own.
        let fields = program.types.iter().flat_map(|decl| match &decl.kind {
            ir::TypeKind::Struct(fields) => fields.as_slice(),
            _ => &[],
        });
        if { fields }.flat_map(|f| &f.annotations).any(|a| a.name == p4_arch::v1model::COUNTED_LENGTH) {
            refuse("it sets the length that counters use (`@counted_length`)");
        }
        for call in &effects.old_calls {
            refuse(
                &format!("it calls `{call}`: `{call}_preserving_field_list` can be merged")
                    .replace("clone3_preserving", "clone_preserving"),
            );
        }
        if effects.clones() && spare.is_none() {
            refuse(
                "it clones packets, whose app would have to be in a field list, and the programs use all 256",
            );
        }
        if effects.list_unknown {
            refuse("the number of a field list is not a constant");
        }
        // A clone of a recirculated packet has no metadata that says whose it is; classes that read headers could then assign it to another app.
        let looks_at_headers =
            |app: &App<'_>| app.class.as_ref().is_some_and(|class| class.layer() > Layer::Port);
        if effects.clones_ingress && effects.recirculates && apps.iter().any(looks_at_headers) {
            refuse(
                "it clones packets in ingress and recirculates them: a clone of a packet that was recirculated is parsed \
                 without metadata, and its headers may be those of another class. Classes of ports alone can be merged",
            );
        }
        if let Some(deparser) = program.stage_control("deparser").map(|id| program.control(id))
            && let Some(span) = beyond_emits(program, deparser)
        {
            let label = "more than emitting the program's headers";
            let title = format!("`{}` cannot be merged with other programs", app.name);
            let why = "a deparser does not see metadata: it cannot determine the app of its packet";
            found.push(Diagnostic::error(codes::NOT_MERGED, title).at(span, label).note(why));
        }
    }
    found
}

/// Most apps: numbers of eight bits, 0 is none.
const MOST: usize = 255;

/// All blocks are there, with the usual roles.
fn target_stages(program: &Program) -> bool {
    p4_arch::v1model::ARCHITECTURE.stages.iter().all(|facts| {
        program.stage(facts.name).is_some_and(|stage| {
            let known = |role: &Role| {
                matches!(role, Role::Packet | Role::Headers | Role::Metadata | Role::StandardMetadata)
            };
            stage.roles.len() == facts.roles.len() && stage.roles.iter().all(known)
        })
    })
}

/// The place of something in a deparser that is no emit of the program's headers and no condition on them.
fn beyond_emits(program: &Program, deparser: &Control) -> Option<Span> {
    let mut found = None;
    let roles = &program.stage("deparser")?.roles;
    let headers =
        roles.iter().position(|role| *role == Role::Headers).and_then(|at| deparser.params.get(at))?;
    if let Some(instance) = deparser.instances.first() {
        return Some(program.instance(*instance).span);
    }
    let mut look = |e: &Expr| {
        visit::subexprs(e, &mut |part| {
            if matches!(part.kind, ExprKind::Call(_) | ExprKind::ApplyHit(_) | ExprKind::ApplyMiss(_)) {
                found = found.or(Some(part.span));
            }
        });
    };
    deparser.locals.iter().for_each(|local| visit::exprs(local, &mut look));
    let mut beyond = vec![];
    visit::stmts(&deparser.body, &mut |stmt| {
        visit::exprs(stmt, &mut look);
        match &stmt.kind {
            StmtKind::Emit(_, value) if root(value) == Some(*headers) => {}
            StmtKind::If(..) | StmtKind::Block(_) => {}
            _ => beyond.push(stmt.span),
        }
    });
    found.or(beyond.first().copied())
}

fn root(e: &Expr) -> Option<VarId> {
    match &e.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Field(base, _) | ExprKind::Index(base, _) => root(base),
        _ => None,
    }
}

/// The apps in the order in which their classes are asked, or what is wrong with the classes.
pub fn order(apps: &[App<'_>]) -> Result<Vec<(usize, Class)>, Vec<Diagnostic>> {
    let mut found = vec![];
    let mut rest = apps.iter().filter(|app| app.class.is_none());
    if let (Some(one), Some(other)) = (rest.next(), rest.next()) {
        let title = format!("`{}` and `{}` both have no class", one.name, other.name);
        let why = "one app at most takes the packets of no other app";
        found.push(Diagnostic::error(codes::CLASSES_OVERLAP, title).note(why));
    }
    for (at, app) in apps.iter().enumerate() {
        let Some(class) = &app.class else { continue };
        match class.example() {
            Err(most) => found.push(too_complex(app, most)),
            Ok(None) => {
                let title = format!("no packet belongs to the class of `{}`", app.name);
                found
                    .push(Diagnostic::error(codes::BAD_CLASS, title).note(format!("the class is `{class}`")));
            }
            Ok(Some(_)) => {}
        }
        for other in &apps[..at] {
            let Some(others) = &other.class else { continue };
            if app.priority == other.priority
                && let Ok(Some(witness)) = class.overlap(others)
            {
                let title = format!("packets belong to `{}` and to `{}`", other.name, app.name);
                let diagnostic = Diagnostic::error(codes::CLASSES_OVERLAP, title)
                    .note(format!("for example {witness}"))
                    .note(format!("`{}` takes `{others}`, `{}` takes `{class}`", other.name, app.name));
                found
                    .push(diagnostic.help("make the classes disjoint, or give a priority: the largest wins"));
            }
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    let mut order: Vec<usize> = (0..apps.len()).collect();
    // The largest priority first; the app without a class takes what no other takes.
    order.sort_by_key(|at| (apps[*at].class.is_none(), std::cmp::Reverse(apps[*at].priority)));
    let class = |at: usize| (at, apps[at].class.clone().unwrap_or_else(Class::any));
    Ok(order.into_iter().map(class).collect())
}

fn too_complex(app: &App<'_>, most: traffic_classes::TooComplex) -> Diagnostic {
    let title = format!("the class of `{}` is too complex", app.name);
    Diagnostic::error(codes::BAD_CLASS, title).note(format!("it has more than {} cases", most.most))
}

/// Rules that the apps' control planes have to follow.
pub fn notes(apps: &[App<'_>], effects: &[Effects]) -> Vec<String> {
    // The most that a class looks at: Ethernet with a tag 18, IPv6 40, or IPv4 with options 60 and ports 4.
    let bytes =
        apps.iter().filter_map(|app| app.class.as_ref()).map(Class::layer).max().map_or(
            0,
            |layer| match layer {
                Layer::Port => 0,
                Layer::Link => 18,
                Layer::Network => 58,
                Layer::Transport => 82,
            },
        );
    let clones = apps.iter().zip(effects).filter(|(_, effects)| bytes > 0 && effects.clones_ingress);
    let note = |(app, _): (&App<'_>, &Effects)| {
        format!(
            "`{}` clones in ingress, and the class of a clone is read from it: its sessions keep {bytes} bytes, or all",
            app.name
        )
    };
    clones.map(note).collect()
}
