//! Requests of apps to the traffic manager, and how their group numbers, session numbers and field lists are kept apart.

use crate::scan;
use crate::share::Numbers;
use ir::{
    AnnotationBody, AnnotationValue, Callee, Const, Expr, ExprKind, ExternFunctionId, Program, Stmt,
    StmtKind, Type, TypeKind, build,
};
use std::collections::BTreeSet;

/// Requests of one program to the traffic manager.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    pub clones_ingress: bool,
    pub clones_egress: bool,
    pub resubmits: bool,
    pub recirculates: bool,
    pub chooses_groups: bool,
    pub exits: bool,
    /// The field lists that it names or has.
    pub lists: BTreeSet<u32>,
    /// A field list whose number is no constant.
    pub list_unknown: bool,
    /// Old calls that take the values to keep: `clone3`, `resubmit`, `recirculate`.
    pub old_calls: BTreeSet<String>,
}

/// Groups below those of clone sessions ([`control_writes::SESSION_GROUPS`]), sessions below BMv2's limit.
const GROUPS: u32 = control_writes::SESSION_GROUPS;
const SESSIONS: u32 = 1 << 15;

impl Effects {
    pub fn of(program: &Program) -> Effects {
        let mut found = Effects::default();
        scan::extern_calls(program, &mut |name, call| {
            let arg = |at: usize| call.args.get(at).and_then(Option::as_ref);
            let list = match name {
                "clone" | "clone_preserving_field_list" => {
                    let is_egress = arg(0).is_none_or(|kind| kind.kind != ExprKind::Const(Const::Enum(0)));
                    let is_ingress = arg(0).is_none_or(|kind| kind.kind != ExprKind::Const(Const::Enum(1)));
                    found.clones_egress |= is_egress;
                    found.clones_ingress |= is_ingress;
                    arg(2)
                }
                "resubmit_preserving_field_list" => {
                    found.resubmits = true;
                    arg(0)
                }
                "recirculate_preserving_field_list" => {
                    found.recirculates = true;
                    arg(0)
                }
                "clone3" | "resubmit" | "recirculate" => {
                    found.old_calls.insert(name.to_string());
                    None
                }
                _ => None,
            };
            match list.map(number) {
                Some(Some(list)) => {
                    found.lists.insert(list);
                }
                Some(None) => found.list_unknown = true,
                None => {}
            }
        });
        // Numbers of lists that no call names are taken, too: a plain clone must keep nothing of the app's.
        let fields = program.types.iter().flat_map(|decl| match &decl.kind {
            TypeKind::Struct(fields) => fields.as_slice(),
            _ => &[],
        });
        let lists = fields.flat_map(|f| &f.annotations).filter(|a| a.name == "field_list");
        found.lists.extend(lists.flat_map(|a| numbers(&a.body)));
        scan::stmts(program, &mut |stmt| found.exits |= stmt.kind == StmtKind::Exit);
        scan::exprs(program, &mut |e| found.chooses_groups |= is_group(program, e));
        found
    }

    pub fn clones(&self) -> bool {
        self.clones_ingress || self.clones_egress
    }

    /// The app's number has to go with packets that start again or are copied.
    pub fn keeps_number(&self) -> bool {
        self.clones() || self.resubmits || self.recirculates
    }
}

/// A field list that no app uses: it carries the app's number into clones. Numbers of lists have 8 bits.
pub fn spare_list(effects: &[Effects]) -> Option<u32> {
    (0..=255).find(|list| !effects.iter().any(|e| e.lists.contains(list)))
}

/// The lists of a `@field_list(1, 2)`.
fn numbers(body: &AnnotationBody) -> Vec<u32> {
    let value = |value: &AnnotationValue| match value {
        AnnotationValue::Int(n) => u32::try_from(n).ok(),
        _ => None,
    };
    match body {
        AnnotationBody::Tokens(text) => text.split([',', ' ']).filter_map(|word| word.parse().ok()).collect(),
        body => body.values().iter().filter_map(value).collect(),
    }
}

fn number(e: &Expr) -> Option<u32> {
    match &e.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u32(),
        ExprKind::Cast(inner) => number(inner),
        _ => None,
    }
}

/// `standard_metadata.mcast_grp`
fn is_group(program: &Program, e: &Expr) -> bool {
    let ExprKind::Field(base, at) = &e.kind else { return false };
    is_standard(program, &base.ty)
        && program.fields(&base.ty).get(*at as usize).is_some_and(|field| field.name == "mcast_grp")
}

fn is_standard(program: &Program, ty: &Type) -> bool {
    matches!(ty, Type::Named(id) if program.type_decl(*id).name == "standard_metadata_t")
}

/// The position and width of a field of the standard metadata.
pub fn standard_field(program: &Program, standard: &Type, name: &str) -> Option<(u32, Type)> {
    let fields = program.fields(standard);
    let at = fields.iter().position(|field| field.name == name)?;
    Some((at as u32, fields[at].ty.clone()))
}

/// Each app's part of the numbers, where several of them `use` numbers below `all`.
fn divided(uses: &[bool], all: u32) -> Vec<Numbers> {
    if uses.iter().filter(|uses| **uses).count() < 2 {
        return uses.iter().map(|uses| if *uses { Numbers::ALL } else { Numbers::NONE }).collect();
    }
    let size = all / (uses.len() as u32).next_power_of_two();
    // The last number of each part is what all numbers become that are too large: the control plane never gives it.
    (0..uses.len() as u32).map(|app| Numbers { base: app * size, limit: size - 1 }).collect()
}

/// The multicast groups of each app.
pub fn groups(effects: &[Effects]) -> Vec<Numbers> {
    divided(&effects.iter().map(|e| e.chooses_groups || e.clones()).collect::<Vec<_>>(), GROUPS)
}

/// The clone sessions of each app.
pub fn sessions(effects: &[Effects]) -> Vec<Numbers> {
    divided(&effects.iter().map(Effects::clones).collect::<Vec<_>>(), SESSIONS)
}

/// `if (group >= LIMIT) { group = BASE + LIMIT; } else if (group != 0) { group = group + BASE; }`
pub fn to_merged(group: &Expr, numbers: Numbers) -> Option<Stmt> {
    if numbers.are_own() {
        return None;
    }
    let value = |value: u32| build::bits(16, value.into());
    let moved = build::assign(group.clone(), build::add(group.clone(), value(numbers.base)));
    let own = match numbers.base {
        0 => vec![],
        _ => vec![build::if_then(build::differs(group.clone(), value(0)), vec![moved])],
    };
    let is_large = build::binary(ir::BinaryOp::Ge, group.clone(), value(numbers.limit), Type::Bool);
    let none = build::assign(group.clone(), value(numbers.base + numbers.limit));
    Some(build::if_else(is_large, vec![none], own))
}

/// `if (group != 0) { group = group - BASE; }`
pub fn to_own(group: &Expr, numbers: Numbers) -> Option<Stmt> {
    let value = |value: u32| build::bits(16, value.into());
    let moved = build::assign(group.clone(), build::subtract(group.clone(), value(numbers.base)));
    (numbers.base > 0).then(|| build::if_then(build::differs(group.clone(), value(0)), vec![moved]))
}

/// The call of a clone as the merged program makes it: its session among the app's, and with a field list that keeps the app's number.
pub fn rewrite_clones(program: &mut Program, numbers: Numbers, preserving: ExternFunctionId, list: u32) {
    let is_clone: Vec<Option<bool>> = program
        .extern_functions
        .iter()
        .map(|f| match f.name.as_str() {
            "clone" if !f.user => Some(true),
            "clone_preserving_field_list" if !f.user => Some(false),
            _ => None,
        })
        .collect();
    each_call(program, &mut |call| {
        let Callee::ExternFunction(id) = call.callee else { return };
        let Some(Some(is_plain)) = is_clone.get(id.index()).copied() else { return };
        if let Some(Some(session)) = call.args.get_mut(1) {
            *session = session_of(session.clone(), numbers);
        }
        if is_plain {
            call.callee = Callee::ExternFunction(preserving);
            call.args.push(Some(build::bits(8, list.into())));
        }
    });
}

/// The smaller one of `session` and the limit, plus the base. Where the session is a variable, a saturating addition finds the
/// smaller one: the session is evaluated once.
fn session_of(session: Expr, numbers: Numbers) -> Expr {
    let span = session.span;
    let value = |value: u32| build::bits(32, value.into()).at(span);
    if numbers.are_own() {
        return session;
    }
    if let Some(known) = number(&session) {
        return value(known.min(numbers.limit) + numbers.base);
    }
    let spare = u32::MAX - numbers.limit;
    let saturated = build::binary(ir::BinaryOp::AddSat, session, value(spare), Type::Bit(32));
    build::add(build::subtract(saturated, value(spare)), value(numbers.base)).at(span)
}

/// Calls that are statements: all that ask the traffic manager for something are.
fn each_call(program: &mut Program, f: &mut dyn FnMut(&mut ir::Call)) {
    let mut visit = |block: &mut ir::Block| {
        ir::visit::stmts_mut(block, &mut |stmt| {
            if let StmtKind::Call(call) = &mut stmt.kind {
                f(call);
            }
        });
    };
    program.functions.iter_mut().for_each(|function| visit(&mut function.body));
    for control in &mut program.controls {
        control.actions.iter_mut().for_each(|action| visit(&mut action.body));
        visit(&mut control.body);
    }
}
