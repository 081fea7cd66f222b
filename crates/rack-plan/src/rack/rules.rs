//! Rules of a problem: the user's, and those that follow from externs, tables and classes.

use super::super::Result;
use super::super::cut::P4;
use super::super::limits::{self, Beyond};
use super::super::offers::{call_time, calls, offer, offered, takes};
use super::DEFAULT_SIZE;
use super::model::{ENTRY_BITS, ONE, REGISTER_BITS, TABLES, steps};
use base_diag::Span;
use ir::{Name, Program};
use ir_footprint::footprint;
use ir_split::Split;
use plan_model::flightplan::read_performance_csv;
use plan_model::{Bound, Change, Compare, Effect, Model, Prop, Role, Rule, Signature, read_rules};
use rack_model::{DeviceClass, Rack};
use std::collections::BTreeSet;

/// Rules of the user's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleText {
    /// The text.
    pub text: String,
    /// The number of its first byte.
    pub base: u32,
    /// True if the file is a table in the format of `p4rack profile` and Flightplan's scripts.
    pub is_table: bool,
}

impl RuleText {
    pub(super) fn read(&self, signature: &mut Signature) -> Result<Vec<Rule>> {
        if self.is_table {
            return read_performance_csv(&self.text, self.base, signature).map_err(|found| vec![found]);
        }
        let (rules, found) = read_rules(&self.text, self.base, signature);
        if found.has_errors() { Err(found.into_vec()) } else { Ok(rules) }
    }
}

/// Rules beside the user's: every class runs P4, and a section uses the resources of its tables.
pub(super) fn generated(
    split: &Split,
    rack: &Rack,
    program: &Program,
    model: &Model,
    beyond: &[Beyond],
    classes: &[DeviceClass],
) -> Vec<Rule> {
    // A rule of the user's replaces the generated one (docs/planning.md, A rack).
    let is_proved = |prop: &str| model.rules.iter().any(|rule| rule.head == prop);
    let rule = |name: &str, head: &str, needs: Vec<Prop>, effects: Vec<Effect>| Rule {
        name: name.into(),
        head: head.into(),
        needs,
        bounds: vec![],
        effects,
        span: Span::NONE,
    };
    let mut rules = vec![];
    if !is_proved(P4) {
        let mut classes: Vec<&Prop> = model.devices.iter().filter_map(|d| d.provides.first()).collect();
        classes.sort();
        classes.dedup();
        rules.extend(classes.iter().map(|class| rule(class, P4, vec![(*class).clone()], vec![])));
    }
    for (at, section) in split.sections.iter().enumerate() {
        let barred: Vec<DeviceClass> =
            beyond.iter().filter(|b| b.section == Some(at)).map(|b| b.class).collect();
        if !barred.is_empty() {
            let able = classes.iter().filter(|class| !barred.contains(class)).map(|class| class.word());
            let name = |class: &str| format!("{} on {class}", section.name);
            rules.extend(
                able.map(|class| {
                    rule(&name(class), &limits::runs(&section.name), vec![class.into()], vec![])
                }),
            );
        }
    }
    let mut functions: Vec<&str> = offered(rack).filter(|name| !is_proved(name)).collect();
    functions.sort_unstable();
    functions.dedup();
    rules.extend(functions.into_iter().map(|name| rule(name, name, vec![offer(name)], vec![])));
    rules.extend(calls(rack).into_iter().map(|(name, call)| {
        let latency = model
            .signature
            .role(Role::Latency)
            .map(|var| Effect { var, change: Change::Add(steps(call.time.as_ps(), 1)) });
        let rate = model.signature.role(Role::Rate).zip(call.rate);
        let bound = rate.map(|(var, rate)| Bound {
            var,
            compare: Compare::AtMost,
            value: steps(rate.bits_per_s(), 1000),
        });
        Rule {
            bounds: bound.into_iter().collect(),
            ..rule(
                &format!("{name} in {}", call.time),
                &call_time(name),
                vec![takes(name, call)],
                latency.into_iter().collect(),
            )
        }
    }));
    let mut charged: BTreeSet<Name> = BTreeSet::new();
    for section in split.sections.iter().filter(|section| !is_proved(&section.name)) {
        let tables = section.tables.iter().filter_map(|table| footprint::table(program, table));
        let bits = tables.map(|t| t.size.unwrap_or(DEFAULT_SIZE).saturating_mul(t.entry_bits));
        let bits = bits.fold(0, u64::saturating_add);
        // Regions that share an array stay together: the first one takes it.
        let own = section.state.iter().filter(|name| charged.insert((*name).clone()));
        let state = own.map(|name| footprint::register_bits(program, name));
        let state = state.fold(0, u64::saturating_add);
        let used = [
            (TABLES, section.tables.len() as i64 * ONE),
            (ENTRY_BITS, bits.min(1 << 62) as i64),
            (REGISTER_BITS, state.min(1 << 62) as i64),
        ];
        let add = |(name, value): (&str, i64)| {
            Some(Effect { var: model.signature.find(name)?, change: Change::Add(value) })
        };
        let effects = used.into_iter().filter(|(_, value)| *value > 0).filter_map(add).collect();
        rules.push(rule(&section.name, &section.name, vec![], effects));
    }
    rules
}
