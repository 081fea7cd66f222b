//! Tables.

use super::Gen;
use super::action::Action;
use super::function::Dir;
use super::objects::{Object, ObjectKind};
use super::types::{Kind, Ty};
use crate::feature::Feature as F;

/// A table that has not been applied yet.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// Labels for a `switch`.
    pub(crate) actions: Vec<String>,
}

/// A key element.
struct Key {
    text: String,
    kind: &'static str,
    ty: Ty,
}

/// An action of a table's list, as it is written there.
struct Listed {
    action: Action,
    /// The arguments of its directed parameters.
    bound: Vec<String>,
    annotation: &'static str,
}

const NAMES: &[&str] = &["routes", "acl", "hosts", "limits", "policy", "tunnels", "classes"];

impl Gen {
    /// A table over the actions given, declared in the body.
    pub(super) fn declare_table(&mut self, actions: &[Action], direct: &[(Object, Action)]) -> Table {
        let stem = *self.rng.pick(NAMES).unwrap_or(&"acl");
        let name = self.fresh(stem);
        let profile = direct.is_empty() && self.chance(30);
        let selector = profile && self.on(F::ActionSelector) && self.chance(60);
        let profile = selector || profile && self.on(F::ActionProfile);
        let mut keys = if self.chance(92) || profile { self.keys() } else { vec![] };
        if keys.is_empty() {
            self.note(F::Keyless);
        }
        if selector {
            for _ in 0..self.between(1, 2) {
                keys.extend(self.key("selector"));
            }
        }
        let selector = selector && keys.iter().any(|k| k.kind == "selector");
        let listed = self.listed(actions, direct, profile);
        let labels = listed.iter().map(|l| l.action.name.clone()).chain(["NoAction".to_string()]).collect();
        self.out.open(format!("table {name} {{"));
        self.write_keys(&keys);
        self.write_actions(&listed);
        if profile {
            self.write_implementation(selector);
        } else {
            self.write_default(&listed);
            if !keys.is_empty() {
                self.write_entries(&keys, &listed);
            }
        }
        for (object, _) in direct {
            let (word, feature) = match object.kind {
                ObjectKind::DirectCounter => ("counters", F::DirectCounter),
                _ => ("meters", F::DirectMeter),
            };
            self.note(feature);
            self.out.line(format!("{word} = {};", object.name));
        }
        if self.chance(40) {
            let size = self.between(16, 128);
            self.out.line(format!("size = {size};"));
        }
        self.out.close("}");
        Table { name, actions: labels }
    }

    fn keys(&mut self) -> Vec<Key> {
        let mut keys = vec![];
        let mut lpm = false;
        for _ in 0..self.between(1, 3) {
            let kind = match self.below(9) {
                0 | 1 if !lpm && self.on(F::Lpm) => "lpm",
                2 | 3 if self.on(F::Ternary) => "ternary",
                4 | 5 if self.on(F::Range) => "range",
                6 if self.on(F::Optional) => "optional",
                _ => "exact",
            };
            lpm |= kind == "lpm";
            keys.extend(self.key(kind));
        }
        keys
    }

    fn key(&mut self, kind: &'static str) -> Option<Key> {
        let computed = self.on(F::ComputedKey) && self.chance(20);
        let (text, ty) = if computed {
            let width = *self.rng.pick(&[8, 16])?;
            let pure = std::mem::replace(&mut self.cx.pure, self.config.portable);
            let text = self.bits(width, 2);
            self.cx.pure = pure;
            self.note(F::ComputedKey);
            (format!("{text} @name(\"computed{}\")", self.below(1000)), Ty::Bit(width))
        } else if kind == "ternary" && self.chance(20) || kind == "exact" && self.chance(10) {
            (self.validity()?, Ty::Bool)
        } else {
            let portable = self.config.portable;
            let place = self.some_place(|g, p| {
                let number = match p.ty {
                    Ty::Bit(n) => kind != "range" || n <= 32,
                    Ty::Bool | Ty::Int(_) => matches!(kind, "exact" | "optional") && !portable,
                    Ty::Named(_) => match g.types.kind(&p.ty) {
                        Some(Kind::SerEnum(..)) => matches!(kind, "exact" | "optional" | "ternary"),
                        Some(Kind::Enum(_)) => kind == "exact" && !portable,
                        _ => false,
                    },
                    _ => false,
                };
                number && (p.write || p.standard) && !p.text.contains("timestamp")
            })?;
            (place.text, place.ty)
        };
        self.note(match kind {
            "lpm" => F::Lpm,
            "ternary" => F::Ternary,
            "range" => F::Range,
            "optional" => F::Optional,
            "selector" => F::Selector,
            _ => F::Exact,
        });
        Some(Key { text, kind, ty })
    }

    fn write_keys(&mut self, keys: &[Key]) {
        if keys.is_empty() {
            return;
        }
        self.out.open("key = {");
        let mut names: Vec<String> = vec![];
        for key in keys {
            let (expr, mut name) = match key.text.split_once(" @name") {
                Some((expr, name)) => (expr.to_string(), format!(" @name{name}")),
                None => (key.text.clone(), String::new()),
            };
            // One place may be matched twice, but a key's name is its own.
            let known = if name.is_empty() { expr.clone() } else { name.clone() };
            if names.contains(&known) {
                name = format!(" @name(\"again{}\")", names.len());
            }
            names.push(known);
            self.out.line(format!("{expr}: {}{name};", key.kind));
        }
        self.out.close("}");
    }

    fn listed(&mut self, actions: &[Action], direct: &[(Object, Action)], profile: bool) -> Vec<Listed> {
        let mut all: Vec<Action> = direct.iter().map(|(_, a)| a.clone()).collect();
        let mut rest = actions.to_vec();
        self.rng.shuffle(&mut rest);
        all.extend(rest.into_iter().take(self.between(1, 3) as usize));
        let mut listed = vec![];
        for action in all {
            let pure = std::mem::replace(&mut self.cx.pure, self.config.portable);
            let bound = self.arguments(action.directed(), 2);
            self.cx.pure = pure;
            let Some(bound) = bound else { continue };
            let annotation = match self.below(16) {
                0 if !profile => {
                    self.note(F::TableOnly);
                    "@tableonly "
                }
                _ => "",
            };
            listed.push(Listed { action, bound, annotation });
        }
        listed
    }

    fn write_actions(&mut self, listed: &[Listed]) {
        self.out.open("actions = {");
        for one in listed {
            let args =
                if one.bound.is_empty() { String::new() } else { format!("({})", one.bound.join(", ")) };
            self.out.line(format!("{}{}{args};", one.annotation, one.action.name));
        }
        self.out.line("NoAction;");
        self.out.close("}");
    }

    fn write_default(&mut self, listed: &[Listed]) {
        if self.chance(40) {
            return;
        }
        let fit: Vec<&Listed> =
            listed.iter().filter(|l| l.annotation.is_empty() && l.bound.is_empty()).collect();
        let text = match self.rng.pick(&fit).copied() {
            Some(one) => {
                let args = self.data_args(&one.action);
                if !args.is_empty() {
                    self.note(F::DefaultArgs);
                }
                format!("{}({})", one.action.name, args.join(", "))
            }
            None => "NoAction()".to_string(),
        };
        let constant = self.chance(30);
        if constant {
            self.note(F::ConstDefault);
        }
        self.out.line(format!("{}default_action = {text};", if constant { "const " } else { "" }));
    }

    fn data_args(&mut self, action: &Action) -> Vec<String> {
        let types: Vec<Ty> =
            action.params.iter().filter(|p| p.dir == Dir::None).map(|p| p.ty.clone()).collect();
        types.iter().map(|ty| self.plain_literal(ty)).collect()
    }

    fn write_implementation(&mut self, selector: bool) {
        if selector {
            self.note(F::ActionSelector);
            let algorithm = *self.rng.pick(&["crc16", "crc32", "identity", "csum16"]).unwrap_or(&"crc16");
            self.out.line(format!("implementation = action_selector(HashAlgorithm.{algorithm}, 32, 16);"));
        } else {
            self.note(F::ActionProfile);
            self.out.line("implementation = action_profile(32);");
        }
    }

    /// Entries of the source: constant, or to be changed.
    fn write_entries(&mut self, keys: &[Key], listed: &[Listed]) {
        let fit: Vec<&Listed> = listed.iter().filter(|l| l.bound.is_empty()).collect();
        let constant = self.chance(60);
        if fit.is_empty() || self.chance(55) || (!constant && self.config.portable) {
            return;
        }
        let ranked = keys.iter().any(|k| matches!(k.kind, "ternary" | "range" | "optional"));
        // The order of constant entries is their rank.
        let priorities = ranked && !self.config.portable && !constant;
        let smallest = priorities && self.on(F::SmallestPriority) && self.chance(50);
        self.note(if constant { F::ConstEntries } else { F::MutableEntries });
        if smallest {
            self.note(F::SmallestPriority);
            self.out.line("largest_priority_wins = false;");
        }
        let mut seen: Vec<String> = vec![];
        let mut lines = vec![];
        for at in 0..self.between(1, 4) {
            let sets: Vec<String> = keys.iter().map(|k| self.keyset(k)).collect();
            let values: Vec<String> = sets.iter().map(|s| canonical(s)).collect();
            let shown = values.join(", ");
            if seen.contains(&shown) {
                continue;
            }
            seen.push(shown);
            let Some(one) = self.rng.pick(&fit).copied() else { continue };
            let args = self.data_args(&one.action);
            let keys = if sets.len() == 1 { sets.concat() } else { format!("({})", sets.join(", ")) };
            let priority = if priorities {
                self.note(F::ConstPriorities);
                format!("priority = {}: ", 10 * (at + 1) + self.between(0, 9))
            } else {
                String::new()
            };
            lines.push(format!("{priority}{keys}: {}({});", one.action.name, args.join(", ")));
        }
        self.out.open(format!("{}entries = {{", if constant { "const " } else { "" }));
        for line in lines {
            self.out.line(line);
        }
        self.out.close("}");
    }

    fn keyset(&mut self, key: &Key) -> String {
        let Ty::Bit(width) = key.ty else {
            return match (key.kind, self.chance(25)) {
                ("ternary" | "optional", true) => "_".to_string(),
                _ => self.plain_literal(&key.ty),
            };
        };
        let value = self.value_of_width(width);
        match key.kind {
            "ternary" => match self.below(3) {
                0 => "_".to_string(),
                1 => format!("{value}"),
                _ => {
                    let mask = self.value_of_width(width);
                    format!("{:#x} &&& {mask:#x}", value & mask)
                }
            },
            "lpm" if width <= 128 => {
                let length = self.between(0, width);
                let ones = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
                let mask = match length {
                    0 => return "_".to_string(),
                    _ => ones & !(ones.checked_shr(length).unwrap_or(0)),
                };
                format!("{:#x} &&& {mask:#x}", value & mask)
            }
            "range" => {
                let other = self.value_of_width(width);
                format!("{}..{}", value.min(other), value.max(other))
            }
            "optional" if self.chance(30) => "_".to_string(),
            _ => format!("{value}"),
        }
    }

    /// Applies a table that has not been.
    pub(super) fn apply_table(&mut self) -> Option<bool> {
        if self.cx.tables.is_empty() {
            return None;
        }
        let at = self.below(self.cx.tables.len() as u64) as usize;
        let table = self.cx.tables.remove(at);
        match self.below(6) {
            0 | 1 => {
                self.note(F::Hit);
                let head = match self.below(4) {
                    0 => format!("if (!{}.apply().hit)", table.name),
                    1 if !self.config.portable => {
                        self.note(F::ShortCircuit);
                        format!("if ({} && {}.apply().hit)", self.bools(1), table.name)
                    }
                    _ => format!("if ({}.apply().hit)", table.name),
                };
                self.block(&head, 2);
            }
            2 => {
                self.note(F::Miss);
                self.block(&format!("if ({}.apply().miss)", table.name), 2);
            }
            3 if !table.actions.is_empty() => {
                self.note(F::SwitchAction);
                let mut labels = table.actions.clone();
                labels.truncate(self.between(1, labels.len() as u32) as usize);
                self.out.open(format!("switch ({}.apply().action_run) {{", table.name));
                self.cases(labels);
                self.out.close("}");
            }
            _ => self.out.line(format!("{}.apply();", table.name)),
        }
        Some(false)
    }
}

/// Decimal, so that equal sets are equal texts.
fn canonical(set: &str) -> String {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).map_or(word.to_string(), |n| n.to_string()),
        None => word.rsplit('w').next().unwrap_or(word).to_string(),
    };
    set.split(' ').map(number).collect::<Vec<_>>().join(" ")
}
