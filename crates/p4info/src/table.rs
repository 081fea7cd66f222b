//! Tables (P4Runtime 1.5, section 6.4.1).

use crate::action::param_ids;
use crate::annotation::{documentation, has, structured, unstructured};
use crate::describe::Describer;
use crate::numbering::field_ids;
use crate::symbol::Kind;
use crate::types::{self, enumerator};
use base_bits::Bits;
use ir::{Const, Control, Expr, ExprKind, InstanceId, MatchKind, Program, Table, TableKey};
use p4runtime_proto::p4::config::v1::{
    self, ActionRef, MatchField, TableActionCall,
    action_ref::Scope,
    match_field::{Match, MatchType},
    table::IdleTimeoutBehavior,
    table_action_call::Argument,
};

/// The size of a table that does not say its own.
const DEFAULT_SIZE: i64 = 1024;

/// The key elements that entries match, with their ids. An id counts all elements.
pub(crate) fn match_keys(table: &Table) -> Vec<(u32, &TableKey)> {
    let ids = field_ids(&table.keys.iter().map(|key| &key.annotations).collect::<Vec<_>>());
    ids.into_iter().zip(&table.keys).filter(|(_, key)| key.match_kind != MatchKind::Selector).collect()
}

/// A constant as bits: of a bool, a number, or a value with a representation.
pub(crate) fn constant(expr: &Expr) -> Option<Bits> {
    match &expr.kind {
        ExprKind::Const(Const::Bits(bits)) => Some(bits.clone()),
        ExprKind::Const(Const::Bool(value)) => Some(Bits::from_bool(*value)),
        ExprKind::Cast(inner) => constant(inner),
        _ => None,
    }
}

impl Describer<'_> {
    pub(crate) fn tables(&mut self) {
        for (control, table) in self.used_tables() {
            let name = &table.control_plane_name;
            let Some(preamble) = self.preamble(Kind::Table, name, &table.annotations, &[]) else { continue };
            self.check_field_ids(match_keys(table).into_iter().map(|(id, _)| id), table.span);
            let default = self.default_action(control, table);
            let described = v1::Table {
                preamble: Some(preamble),
                match_fields: match_keys(table)
                    .into_iter()
                    .map(|(id, key)| self.match_field(id, key))
                    .collect(),
                action_refs: table.actions.iter().map(|a| self.action_ref(control, a)).collect(),
                const_default_action_id: if table.default_action.is_const { default.action_id } else { 0 },
                initial_default_action: Some(default),
                implementation_id: self.instance_id(Kind::ActionProfile, table.implementation),
                direct_resource_ids: self.direct_resources(table),
                size: table
                    .size
                    .and_then(|n| i64::try_from(n).ok())
                    .filter(|n| *n > 0)
                    .unwrap_or(DEFAULT_SIZE),
                idle_timeout_behavior: idle_timeout(self.program, table) as i32,
                is_const_table: table.const_entries,
                has_initial_entries: !table.entries.is_empty(),
                other_properties: None,
            };
            self.info.tables.push(described);
        }
    }

    fn instance_id(&self, kind: Kind, instance: Option<InstanceId>) -> u32 {
        instance.map_or(0, |id| self.symbols.id(kind, &self.program.instance(id).control_plane_name))
    }

    fn direct_resources(&self, table: &Table) -> Vec<u32> {
        let counter = self.instance_id(Kind::DirectCounter, table.counters);
        let meter = self.instance_id(Kind::DirectMeter, table.meters);
        [counter, meter].into_iter().filter(|id| *id != 0).collect()
    }

    fn match_field(&mut self, id: u32, key: &TableKey) -> MatchField {
        MatchField {
            id,
            name: key.name.to_string(),
            bitwidth: self.types.bits(&key.expr.ty),
            r#match: Some(match_type(&key.match_kind)),
            type_name: self.types.type_name(&key.expr.ty),
            doc: documentation(&key.annotations),
            annotations: unstructured(&key.annotations, &[]),
            structured_annotations: structured(&key.annotations),
            annotation_locations: vec![],
        }
    }

    fn action_ref(&self, control: &Control, from: &ir::ActionRef) -> ActionRef {
        let scope = if has(&from.annotations, "tableonly") {
            Scope::TableOnly
        } else if has(&from.annotations, "defaultonly") {
            Scope::DefaultOnly
        } else {
            Scope::TableAndDefault
        };
        ActionRef {
            id: self.action_of(control, from),
            scope: scope as i32,
            annotations: unstructured(&from.annotations, &[]),
            structured_annotations: structured(&from.annotations),
            annotation_locations: vec![],
        }
    }

    fn action_of(&self, control: &Control, from: &ir::ActionRef) -> u32 {
        let action = control.actions.get(from.action.index());
        action.map_or(0, |action| self.symbols.id(Kind::Action, &action.control_plane_name))
    }

    fn default_action(&self, control: &Control, table: &Table) -> TableActionCall {
        let Some(from) = table.actions.get(table.default_action.action as usize) else {
            return TableActionCall::default();
        };
        let ids = control.actions.get(from.action.index()).map_or(vec![], |a| param_ids(control, a));
        let argument = |(param_id, value): (u32, &Expr)| {
            Some(Argument { param_id, value: types::value(self.program, &value.ty, &constant(value)?) })
        };
        TableActionCall {
            action_id: self.action_of(control, from),
            arguments: ids.into_iter().zip(&table.default_action.args).filter_map(argument).collect(),
        }
    }
}

/// The match type of a kind; those that P4Info does not know go by name.
pub(crate) fn match_type(kind: &MatchKind) -> Match {
    match kind {
        MatchKind::Exact => Match::MatchType(MatchType::Exact as i32),
        MatchKind::Lpm => Match::MatchType(MatchType::Lpm as i32),
        MatchKind::Ternary => Match::MatchType(MatchType::Ternary as i32),
        MatchKind::Range => Match::MatchType(MatchType::Range as i32),
        MatchKind::Optional => Match::MatchType(MatchType::Optional as i32),
        MatchKind::Selector => Match::OtherMatchType("selector".to_string()),
        // TNA's number of a partition; it matches as such.
        MatchKind::Other(name) if name == "atcam_partition_index" => {
            Match::MatchType(MatchType::Exact as i32)
        }
        MatchKind::Other(name) => Match::OtherMatchType(name.to_string()),
    }
}

/// `support_timeout = true` of v1model, `idle_timeout = true` of TNA, `psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL` of PSA.
fn idle_timeout(program: &Program, table: &Table) -> IdleTimeoutBehavior {
    let notifies = table.properties.iter().any(|(name, value)| match (name.as_str(), &value.kind) {
        ("support_timeout" | "idle_timeout", ExprKind::Const(Const::Bool(on))) => *on,
        ("psa_idle_timeout", ExprKind::Const(Const::Enum(index))) => {
            enumerator(program, &value.ty, *index) == Some("NOTIFY_CONTROL")
        }
        _ => false,
    });
    if notifies { IdleTimeoutBehavior::NotifyControl } else { IdleTimeoutBehavior::NoTimeout }
}
