//! Actions with their data.

use crate::catalog::{Catalog, Described};
use crate::fault::{Result, Within, fault, listed};
use crate::matches::number;
use base_diag::Span;
use p4_entries::{Args, Named, Value};
use p4runtime_proto::p4::config::v1::action_ref::Scope;
use p4runtime_proto::p4::config::v1::{self, ActionRef, Table};
use p4runtime_proto::p4::v1::Action;

/// What an action is wanted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum For {
    Entry,
    Default,
}

/// An action of a table, by name, with its data.
pub(crate) fn action(
    catalog: &Catalog<'_>,
    tables: &[&Table],
    wanted: For,
    given: &Action,
    span: Span,
) -> Result<(Named, Args)> {
    let known = of_tables(catalog, tables, wanted, given.action_id).within("action_id")?;
    for (index, param) in given.params.iter().enumerate() {
        let params = &known.params;
        if !params.iter().any(|p| p.id == param.param_id) {
            let names = listed(params.iter().map(|p| (p.id, p.name.as_str())));
            return fault(format!("there is no parameter {}", param.param_id), "the action has no such id")
                .help(|| names)
                .within("param_id")
                .at("params", index)
                .about(|| format!("action `{}`", known.name()));
        }
    }
    let mut args = vec![];
    for param in &known.params {
        let mut all = given.params.iter().enumerate().filter(|(_, p)| p.param_id == param.id);
        let value = match (all.next(), all.next()) {
            (Some((index, found)), None) => {
                let value = number(catalog, &found.value, param.bitwidth, param.type_name.as_ref());
                value.within("value").at("params", index)
            }
            (None, _) => {
                fault("a parameter is missing", format!("{} `{}` has no value", param.id, param.name))
            }
            (Some(_), Some((index, _))) => {
                fault("a parameter is given twice", "it stands before it").at("params", index)
            }
        };
        let value = value.about(|| format!("parameter `{}` of action `{}`", param.name, known.name()))?;
        args.push((Named { text: param.name.clone(), span }, Value { value, span }));
    }
    let in_order = args.into_iter().map(|(_, value)| value).collect();
    Ok((Named { text: known.name().to_string(), span }, Args::InOrder(in_order)))
}

/// The action with this id, if one of the tables may run it so.
fn of_tables<'i>(catalog: &Catalog<'i>, tables: &[&Table], wanted: For, id: u32) -> Result<&'i v1::Action> {
    let refs = || tables.iter().flat_map(|table| &table.action_refs);
    let name = |r: &ActionRef| catalog.action(r.id).map_or("", |a| a.name());
    let Some(found) = refs().find(|r| r.id == id) else {
        let known = listed(refs().map(|r| (r.id, name(r))));
        return fault(format!("the table has no action {id}"), "no action of its list has this id")
            .help(|| known);
    };
    let only = match (found.scope(), wanted) {
        (Scope::DefaultOnly, For::Entry) => Some("default"),
        (Scope::TableOnly, For::Default) => Some("table"),
        _ => None,
    };
    if let Some(only) = only {
        return fault("an action that cannot stand here", format!("`{}` is `@{only}only`", name(found)));
    }
    match catalog.action(id) {
        Some(action) => Ok(action),
        None => fault(format!("P4Info describes no action {id}"), "it is hidden"),
    }
}
