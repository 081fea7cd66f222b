//! A table as the source says it: keys, actions, default action, entries.

use super::{ActionSpec, DEFAULT_SIZE, DirectCells, Entry, Journal, KeySpec, Rank, Run, Table};
use base_bits::Bits;
use base_diag::codes::run as codes;
use base_diag::{Diagnostic, Span};
use control_writes::{EntryKey, Match};
use indexmap::IndexMap;
use ir::{
    AnnotationBody, AnnotationValue, Arch, Const, Control, Expr, ExprKind, InstanceId, Keyset, MatchKind,
    Name, Program, Type,
};
use ir_value::Value;
use ir_value::operate;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The table `table` of `control`.
pub(crate) fn build(program: &Program, control: &Control, table: &ir::Table) -> Result<Table, Diagnostic> {
    let matched = table.keys.iter().filter(|k| k.match_kind != MatchKind::Selector);
    let keys = matched
        .map(|k| key_spec(program, &k.name, &k.match_kind, &k.expr.ty, k.expr.span))
        .collect::<Result<Vec<_>, _>>()?;
    let actions = table
        .actions
        .iter()
        .map(|a| action_spec(control, a))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| broken(table))?;
    let default = match table.actions.get(table.default_action.action as usize) {
        Some(_) => (table.default_action.action, data(program, &table.default_action.args, table.span)?),
        None => return Err(broken(table)),
    };
    let entries_wanted = table.entries.len() as u64;
    let mut built = Table {
        control_plane_name: table.control_plane_name.clone(),
        rank: Rank::of(&keys),
        keys,
        actions,
        first_default: default.clone(),
        default,
        default_is_const: table.default_action.is_const,
        of_default: matches!(program.arch, Arch::Psa { .. } | Arch::Tna(_) | Arch::T2na)
            .then(DirectCells::default),
        entries: IndexMap::default(),
        const_entries: table.const_entries,
        // The entries of the source always fit.
        size: table.size.unwrap_or(DEFAULT_SIZE).max(entries_wanted),
        implementation: table.implementation,
        counters: table.counters,
        count_slots: Default::default(),
        meters: table.meters,
        registers: direct_register(table),
        next_handle: 0,
        of_source: 0,
        idle_timeouts: supports_timeout(table),
        notes_hits: Arc::new(AtomicU64::new(u64::from(
            table.meters.is_some() || direct_register(table).is_some(),
        ))),
        idle: vec![],
        journal: Journal::default(),
    };
    for (position, entry) in table.entries.iter().enumerate() {
        add_entry(program, table, &mut built, position, entry)?;
    }
    built.of_source = built.entries.len();
    Ok(built)
}

/// `registers = ...` of TNA.
fn direct_register(table: &ir::Table) -> Option<InstanceId> {
    table.properties.iter().find_map(|(name, value)| match value.kind {
        ExprKind::Const(Const::Instance(id)) if name == "registers" => Some(id),
        _ => None,
    })
}

fn supports_timeout(table: &ir::Table) -> bool {
    let on = |value: &Expr| matches!(value.kind, ExprKind::Const(Const::Bool(true)));
    table
        .properties
        .iter()
        .any(|(name, value)| matches!(name.as_str(), "support_timeout" | "idle_timeout") && on(value))
}

fn broken(table: &ir::Table) -> Diagnostic {
    Diagnostic::error(codes::NOT_SUPPORTED, "the table cannot be run")
        .at(table.span, "it names unknown actions")
}

/// The key element `name`; its type must be a scalar.
pub(crate) fn key_spec(
    program: &Program,
    name: &Name,
    kind: &MatchKind,
    ty: &Type,
    span: Span,
) -> Result<KeySpec, Diagnostic> {
    let zero = Value::zero(program, ty).to_key();
    let width = match program.representation(ty) {
        Type::Varbit(_) => None,
        _ => zero.map(|bits| bits.width()),
    };
    let problem =
        |what: String| Err(Diagnostic::error(codes::NOT_SUPPORTED, "match not supported").at(span, what));
    // TNA's number of a partition; it matches as such.
    let kind = match kind {
        MatchKind::Other(name) if name == "atcam_partition_index" => &MatchKind::Exact,
        kind => kind,
    };
    match (kind, width) {
        (MatchKind::Other(kind), _) => {
            problem(format!("only v1model's and core.p4's match kinds, not `{kind}`"))
        }
        (_, None) => problem("keys of this type cannot be matched".to_string()),
        (_, Some(width)) => Ok(KeySpec {
            name: name.clone(),
            kind: kind.clone(),
            ty: ty.clone(),
            width,
            signed: operate::is_signed(program, ty),
        }),
    }
}

fn action_spec(control: &Control, action: &ir::ActionRef) -> Option<ActionSpec> {
    let declared = control.actions.get(action.action.index())?;
    let params = declared.params.get(action.args.len()..)?;
    let marked = |name: &str| action.annotations.iter().any(|a| a.name == name);
    let vars = params.iter().map(|p| control.vars.get(p.index()));
    Some(ActionSpec {
        control_plane_name: declared.control_plane_name.clone(),
        data: vars.map(|v| v.map(|v| (v.name.clone(), v.ty.clone()))).collect::<Option<_>>()?,
        default_only: marked("defaultonly"),
        table_only: marked("tableonly"),
    })
}

fn add_entry(
    program: &Program,
    table: &ir::Table,
    built: &mut Table,
    position: usize,
    entry: &ir::Entry,
) -> Result<(), Diagnostic> {
    let mut keys = vec![];
    let matched = table.keys.iter().zip(&entry.keys).filter(|(k, _)| k.match_kind != MatchKind::Selector);
    for (spec, (_, keyset)) in built.keys.iter().zip(matched) {
        let wanted = key_match(program, keyset).ok_or_else(|| not_constant(entry.span))?;
        keys.push(spec.normal(&wanted).map_err(|e| {
            Diagnostic::error(codes::BAD_ENTRY, "the entry does not fit its table").at(entry.span, e.message)
        })?);
    }
    let priority = if built.has_priorities() { priority(table, entry, position) } else { 0 };
    let run = Run::Action(entry.action, data(program, &entry.args, entry.span)?);
    let added = Entry {
        handle: built.next_handle,
        run,
        is_const: entry.is_const || table.const_entries,
        direct: Default::default(),
        idle: built.idle_timeouts.then(Arc::default),
    };
    built.next_handle += 1;
    built.entries.entry(EntryKey { matches: keys.into(), priority }).or_insert(Box::new(added));
    Ok(())
}

/// The rank of an entry; the greater wins. Where entries carry BMv2's `@priority(n)`, the smallest n wins, and
/// an entry without one has its position, counted from 1.
fn priority(table: &ir::Table, entry: &ir::Entry, position: usize) -> i64 {
    if table.entries.iter().any(|e| marked_priority(e).is_some()) {
        return -marked_priority(entry).unwrap_or(position as i64 + 1);
    }
    match entry.priority {
        Some(priority) if table.largest_priority_wins => i64::from(priority),
        Some(priority) => -i64::from(priority),
        None => -(position as i64),
    }
}

fn marked_priority(entry: &ir::Entry) -> Option<i64> {
    let mark = entry.annotations.iter().find(|a| a.name == "priority")?;
    match &mark.body {
        AnnotationBody::Values(values) | AnnotationBody::List(values) => match values.as_slice() {
            [AnnotationValue::Int(n)] => i64::try_from(n).ok(),
            _ => None,
        },
        AnnotationBody::Tokens(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn key_match(program: &Program, keyset: &Keyset) -> Option<Match> {
    let bits = |e: &Expr| const_value(program, e).and_then(|v| v.to_key());
    Some(match keyset {
        Keyset::DontCare => Match::Any,
        Keyset::Value(value) => Match::Exact(bits(value)?),
        Keyset::Mask(value, mask) => {
            let (value, mask) = (bits(value)?, bits(mask)?);
            let width = value.width().max(mask.width());
            let (value, mask): (Bits, Bits) = (value.resize(width), mask.resize(width));
            Match::Ternary { value: value.and(&mask), mask }
        }
        Keyset::Range(lo, hi) => Match::Range { lo: bits(lo)?, hi: bits(hi)? },
        Keyset::ValueSet(_) => return None,
    })
}

fn data(program: &Program, args: &[Expr], span: Span) -> Result<Vec<Value>, Diagnostic> {
    args.iter().map(|a| const_value(program, a)).collect::<Option<_>>().ok_or_else(|| not_constant(span))
}

fn not_constant(span: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_SUPPORTED, "the value is not known before packets arrive")
        .at(span, "entries and action data must be constants")
}

/// The value of a constant expression.
pub(crate) fn const_value(program: &Program, expr: &Expr) -> Option<Value> {
    match &expr.kind {
        ExprKind::Const(value) => Some(Value::from(value)),
        ExprKind::Cast(operand) => {
            operate::cast(program, const_value(program, operand)?, &operand.ty, &expr.ty)
        }
        ExprKind::Unary(op, operand) => operate::unary(*op, &const_value(program, operand)?),
        ExprKind::Binary(op, a, b) => {
            let signed = operate::is_signed(program, &a.ty);
            operate::binary(*op, signed, &const_value(program, a)?, &const_value(program, b)?)
        }
        ExprKind::Aggregate(parts) => {
            let parts = parts.iter().map(|p| const_value(program, p)).collect::<Option<_>>()?;
            Some(operate::aggregate(program, program.representation(&expr.ty), parts))
        }
        ExprKind::Slice { base, hi, lo } => match const_value(program, base)? {
            Value::Bits(bits) if lo <= hi && *hi < bits.width() => Some(Value::Bits(bits.slice(*hi, *lo))),
            _ => None,
        },
        ExprKind::InvalidHeader => Some(Value::zero(program, &expr.ty)),
        _ => None,
    }
}
