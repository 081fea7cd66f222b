//! Actions with their data (P4Runtime 1.5, section 9.1.2).

use crate::catalog::{Catalog, Described};
use crate::change::ActionCall;
use crate::fault::{Result, Within, fault, listed};
use crate::number;
use base_bits::Bits;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::action_ref::Scope;
use p4runtime_proto::p4::config::v1::{self, ActionRef, Table};
use p4runtime_proto::p4::v1::{self as p4, action::Param};

/// Use of an action: in an entry, or as a default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum For {
    Entry,
    Default,
}

/// An action that one of the tables may run so.
pub(crate) fn decode(
    catalog: &Catalog,
    tables: &[&Table],
    wanted: For,
    given: &p4::Action,
) -> Result<ActionCall> {
    let known = of_tables(catalog, tables, wanted, given.action_id).within("action_id")?;
    for (index, param) in given.params.iter().enumerate() {
        let params = &known.params;
        if !params.iter().any(|p| p.id == param.param_id) {
            let names = listed(params.iter().map(|p| (p.id, p.name.as_str())));
            return fault(
                format!("there is no parameter {}", param.param_id),
                "the action has no parameter with this id",
            )
            .help(|| names)
            .within("param_id")
            .at("params", index)
            .about(|| format!("action `{}`", known.name()));
        }
    }
    let mut args = Vec::with_capacity(known.params.len());
    for param in &known.params {
        let mut all = given.params.iter().enumerate().filter(|(_, p)| p.param_id == param.id);
        let value = match (all.next(), all.next()) {
            (Some((index, found)), None) => {
                let value = number::unsigned(&found.value, param.bitwidth);
                value.within("value").at("params", index)
            }
            (None, _) => {
                fault("a parameter is missing", format!("{} `{}` has no value", param.id, param.name))
            }
            (Some(_), Some((index, _))) => {
                fault("a parameter is given twice", "an earlier parameter has this id").at("params", index)
            }
        };
        args.push(value.about(|| format!("parameter `{}` of action `{}`", param.name, known.name()))?);
    }
    if let Some(restriction) = catalog.restrictions().action(given.action_id) {
        restriction.allows_action(&args).about(|| format!("action `{}`", known.name()))?;
    }
    Ok(ActionCall { action: given.action_id, args })
}

/// The call in canonical form.
pub(crate) fn encode(catalog: &Catalog, call: &ActionCall) -> p4::Action {
    let params = catalog.action(call.action).map_or(&[][..], |action| &action.params);
    let params = params.iter().zip(&call.args);
    let param = |(param, value): (&v1::action::Param, &Bits)| Param {
        param_id: param.id,
        value: number::encode(value),
    };
    p4::Action { action_id: call.action, params: params.map(param).collect() }
}

/// The action with this id, if one of the tables may run it so.
fn of_tables<'i>(catalog: &'i Catalog, tables: &[&Table], wanted: For, id: u32) -> Result<&'i v1::Action> {
    let refs = || tables.iter().flat_map(|table| &table.action_refs);
    let name = |r: &ActionRef| catalog.action(r.id).map_or("", |a| a.name());
    let Some(found) = refs().find(|r| r.id == id) else {
        let known = listed(refs().map(|r| (r.id, name(r))));
        return fault(
            format!("the table has no action {id}"),
            "its list of actions does not contain this id",
        )
        .help(|| known);
    };
    let only = match (found.scope(), wanted) {
        (Scope::DefaultOnly, For::Entry) => Some("default"),
        (Scope::TableOnly, For::Default) => Some("table"),
        _ => None,
    };
    if let Some(only) = only {
        return fault("the action is not allowed here", format!("`{}` is `@{only}only`", name(found)))
            .code(Code::PermissionDenied);
    }
    match catalog.action(id) {
        Some(action) => Ok(action),
        None => fault(format!("P4Info describes no action {id}"), "the action is hidden"),
    }
}
