//! Writes entries to a device: names are resolved, values get the widths of their keys and parameters.

use super::entries::stf;
use super::handles::Handles;
use base_bits::Bits;
use base_bits::num_bigint::BigUint;
use base_diag::codes::run::ENTRY_REFUSED;
use base_diag::{Diagnostic, Span, did_you_mean};
use base_time::{Duration, Time};
use dataplane_api::EntryError;
use ir::{MatchKind, Program};
use ir_interp::{Count, Crc, KeyMatch, KeySpec, MeterRate, Session, Switch};
use p4_entries::{Args, CustomCrc, Keys, Match, Named, Rate, Run, Statement, Value};
use std::collections::BTreeMap;

/// Does what `statements` say; all that is refused is told.
pub fn fill(statements: &[Statement], program: &Program, switch: &mut Switch) -> Result<(), Vec<Diagnostic>> {
    let mut filler = Filler {
        program,
        switch,
        members: BTreeMap::new(),
        groups: BTreeMap::new(),
        handles: Handles::default(),
    };
    let mut problems = vec![];
    for statement in statements {
        match statement {
            Statement::Stf(statement) => {
                if let Err(found) = stf(std::slice::from_ref(statement), filler.switch) {
                    problems.extend(found);
                }
            }
            _ => {
                if let Err(problem) = filler.write(statement) {
                    problems.push(*problem);
                }
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

struct Filler<'f> {
    program: &'f Program,
    switch: &'f mut Switch,
    /// Numbers of members by profile and label.
    members: BTreeMap<(String, String), u32>,
    /// Numbers of groups by profile and label.
    groups: BTreeMap<(String, String), u32>,
    handles: Handles,
}

/// The data of an action, and the priority if it stood with it.
type Data = (Vec<Bits>, Option<i64>);

fn refuse(span: Span, error: EntryError) -> Box<Diagnostic> {
    let problem = Diagnostic::error(ENTRY_REFUSED, "this does not fit the program").at(span, error.message);
    Box::new(match error.help {
        Some(help) => problem.help(help),
        None => problem,
    })
}

fn wrong(span: Span, label: impl Into<String>) -> Box<Diagnostic> {
    refuse(span, EntryError { message: label.into(), help: None })
}

/// No such name; `known` are those there are.
fn unknown(kind: &str, name: &Named, known: &[&str]) -> Box<Diagnostic> {
    let help = match did_you_mean(&name.text, known.iter().copied()) {
        Some(near) => Some(format!("did you mean `{near}`?")),
        None if known.is_empty() => None,
        None => Some(format!("there are: {}", known.join(", "))),
    };
    refuse(name.span, EntryError { message: format!("there is no {kind} `{}`", name.text), help })
}

impl Filler<'_> {
    fn write(&mut self, statement: &Statement) -> Result<(), Box<Diagnostic>> {
        match statement {
            Statement::Entry { table, keys, run, priority, idle_timeout, rates, span } => {
                let handle = self.entry(table, keys, run, *priority, *span)?;
                let direct = self.direct(&table.text, handle, *idle_timeout, *rates);
                direct.map_err(|e| refuse(*span, e))
            }
            Statement::Default { table, action, args, span } => {
                self.switch.table_keys(&table.text).map_err(|e| refuse(table.span, e))?;
                let (data, _) = self.data(table, action, args)?;
                self.switch.table_set_default(&table.text, &action.text, &data).map_err(|e| refuse(*span, e))
            }
            Statement::Member { profile, label, action, args, span } => {
                let (name, table) = self.profile(profile)?;
                let (data, _) = self.data(&table, action, args)?;
                let added = self.switch.member_add(&table.text, &action.text, &data);
                let number = added.map_err(|e| refuse(*span, e))?;
                self.label(name, label, number, true)
            }
            Statement::Group { profile, label, members, span } => {
                let (name, table) = self.profile(profile)?;
                let numbers =
                    members.iter().map(|m| self.find(&name, m, true)).collect::<Result<Vec<_>, _>>()?;
                let added = self.switch.group_add(&table.text, &numbers);
                let number = added.map_err(|e| refuse(*span, e))?;
                self.label(name, label, number, false)
            }
            Statement::Multicast { group, members, span } => {
                let fits = self.switch.check_group(*group);
                let fits = fits
                    .and_then(|()| members.iter().try_for_each(|(port, _)| self.switch.check_port(*port)));
                fits.map_err(|e| refuse(*span, e))?;
                self.switch.multicast_group_set(*group, members.clone());
                Ok(())
            }
            Statement::Clone { session, port, group, span } => {
                if let Some(port) = port {
                    self.switch.check_port(*port).map_err(|e| refuse(*span, e))?;
                }
                self.switch.clone_session_set(
                    *session,
                    Some(Session { port: *port, group: *group, ..Session::default() }),
                );
                Ok(())
            }
            _ => self.change(statement),
        }
    }

    /// A change of an entry that is there, or of a whole table.
    fn change(&mut self, statement: &Statement) -> Result<(), Box<Diagnostic>> {
        match statement {
            Statement::Modify { table, handle, action, args, span } => {
                let (name, entry) = self.handle(table, handle)?;
                let (data, _) = self.data(table, action, args)?;
                let done = self.switch.table_modify_handle(&name, entry, &action.text, &data);
                done.map_err(|e| refuse(*span, e))
            }
            Statement::Delete { table, handle } => {
                let (name, entry) = self.handle(table, handle)?;
                let done = self.switch.table_delete_handle(&name, entry);
                done.map_err(|e| refuse(handle.span, e))?;
                self.handles.removed(&name, entry);
                Ok(())
            }
            Statement::Timeout { table, handle, timeout, span } => {
                let (name, entry) = self.handle(table, handle)?;
                let timeout = (*timeout > Duration::ZERO).then_some(*timeout);
                let done = self.switch.table_set_idle_timeout(&name, entry, timeout, Time::ZERO);
                done.map_err(|e| refuse(*span, e))
            }
            Statement::Clear(table) => {
                let name = self.table(table)?;
                self.handles.cleared(&name);
                self.switch.table_clear(&name).map_err(|e| refuse(table.span, e))
            }
            Statement::ResetDefault(table) => {
                self.switch.table_reset_default(&table.text).map_err(|e| refuse(table.span, e))
            }
            Statement::ResetCounter(name) => {
                self.switch.counter_reset(&name.text).map_err(|e| refuse(name.span, e))
            }
            Statement::ClearValueSet(name) => {
                self.switch.value_set_clear(&name.text).map_err(|e| refuse(name.span, e))
            }
            Statement::CustomCrc { width, crc, .. } => {
                self.switch.set_custom_crc(*width, custom(*crc));
                Ok(())
            }
            _ => self.object(statement),
        }
    }

    /// The table's whole name, and the device's handle of its entry.
    fn handle(&mut self, table: &Named, handle: &Value<u64>) -> Result<(String, u64), Box<Diagnostic>> {
        let name = self.table(table)?;
        let entry = self.handles.find(&name, handle.value).map_err(|e| refuse(handle.span, e))?;
        Ok((name, entry))
    }

    /// The table's whole name; from now on its entries have handles.
    fn table(&mut self, table: &Named) -> Result<String, Box<Diagnostic>> {
        let name = self.switch.table_name(&table.text).map_err(|e| refuse(table.span, e))?.to_string();
        self.handles.know(&name, self.switch).map_err(|e| refuse(table.span, e))?;
        Ok(name)
    }

    fn object(&mut self, statement: &Statement) -> Result<(), Box<Diagnostic>> {
        match statement {
            Statement::Register { name, index, value } => {
                let width = u32::try_from(value.value.bits()).unwrap_or(u32::MAX).max(1);
                let bits = Bits::from_biguint(width, value.value.clone());
                self.switch.register_value(&name.text, *index).map_err(|e| refuse(name.span, e))?;
                self.switch.register_write(&name.text, *index, &bits).map_err(|e| refuse(value.span, e))
            }
            Statement::Counter { name, index, packets, bytes, .. } => {
                let count = Count { packets: *packets, bytes: *bytes };
                self.switch.counter_write(&name.text, *index, count).map_err(|e| refuse(name.span, e))
            }
            Statement::Meter { name, index, committed, peak, span } => {
                let (committed, peak) = (rate(*committed), rate(*peak));
                match index {
                    Some(index) => self.switch.meter_set_rates(&name.text, *index, committed, peak),
                    None => self.switch.meter_array_set_rates(&name.text, committed, peak),
                }
                .map_err(|e| refuse(*span, e))
            }
            Statement::ValueSet { name, member, span } => {
                let member: Vec<KeyMatch> = member.iter().map(|m| plain(&m.value)).collect();
                self.switch.value_set_add(&name.text, &member).map_err(|e| refuse(*span, e))
            }
            _ => Ok(()),
        }
    }

    fn entry(
        &mut self,
        table: &Named,
        keys: &Keys,
        run: &Run,
        priority: Option<i64>,
        span: Span,
    ) -> Result<u64, Box<Diagnostic>> {
        let specs = self.switch.table_keys(&table.text).map_err(|e| refuse(table.span, e))?.to_vec();
        let name = self.table(table)?;
        if let (Keys::AsInBmv2(_), Run::Member(_) | Run::Group(_)) = (keys, run) {
            self.priority_stands(&table.text, priority, span)?;
        }
        let keys = matches(&specs, keys, span)?;
        let done = match run {
            Run::Action(action, args) => {
                let (data, with) = self.data(table, action, args)?;
                self.switch.table_add(&table.text, &keys, &action.text, &data, priority.or(with))
            }
            Run::Member(label) => {
                let (profile, _) = self.profile(table)?;
                let number = self.find(&profile, label, true)?;
                self.switch.table_add_member(&table.text, &keys, number, priority)
            }
            Run::Group(label) => {
                let (profile, _) = self.profile(table)?;
                let number = self.find(&profile, label, false)?;
                self.switch.table_add_group(&table.text, &keys, number, priority)
            }
        };
        let entry = done.map_err(|e| refuse(span, e))?;
        self.handles.added(&name, entry);
        Ok(entry)
    }

    /// `simple_switch_CLI` wants a priority where entries have some, and nowhere else.
    fn priority_stands(&self, table: &str, priority: Option<i64>, span: Span) -> Result<(), Box<Diagnostic>> {
        let ranked = self.switch.table_has_priorities(table).unwrap_or(false);
        match (ranked, priority) {
            (true, None) => Err(no_priority(span)),
            (false, Some(_)) => Err(wrong(span, "entries of this table have no priority")),
            _ => Ok(()),
        }
    }

    /// What an entry has beside its action. Its time begins with the device's.
    fn direct(
        &mut self,
        table: &str,
        handle: u64,
        idle_timeout: Option<Duration>,
        rates: Option<(Rate, Rate)>,
    ) -> Result<(), EntryError> {
        if idle_timeout.is_some() {
            self.switch.table_set_idle_timeout(table, handle, idle_timeout, Time::ZERO)?;
        }
        match rates {
            Some((committed, peak)) => {
                self.switch.direct_meter_set_rates(table, handle, rate(committed), rate(peak))
            }
            None => Ok(()),
        }
    }

    /// The action's data in the order of its parameters.
    fn data(&self, table: &Named, action: &Named, args: &Args) -> Result<Data, Box<Diagnostic>> {
        let params =
            self.switch.action_params(&table.text, &action.text).map_err(|e| refuse(action.span, e))?;
        let fitted = |(name, width): &(String, u32), arg: &Value<BigUint>| {
            if arg.value.bits() > u64::from(*width) {
                return Err(wrong(arg.span, format!("`{name}` has {width} bits: this does not fit")));
            }
            Ok(Bits::from_biguint(*width, arg.value.clone()))
        };
        let (given, priority) = match args {
            Args::Named(given) => {
                let names: Vec<&str> = params.iter().map(|(n, _)| n.as_str()).collect();
                if let Some((name, _)) = given.iter().find(|(n, _)| !names.contains(&n.text.as_str())) {
                    return Err(unknown("parameter", name, &names));
                }
                let data = params.iter().map(|param| {
                    let found = given.iter().find(|(name, _)| name.text == param.0);
                    let (_, arg) = found
                        .ok_or_else(|| wrong(action.span, format!("a value for `{}` is missing", param.0)))?;
                    fitted(param, arg)
                });
                return Ok((data.collect::<Result<_, _>>()?, None));
            }
            Args::InOrder(given) => (given.as_slice(), None),
            Args::AndPriority(given) => {
                let ranked = self.switch.table_has_priorities(&table.text).unwrap_or(false);
                match given.split_last() {
                    _ if ranked && given.len() == params.len() => return Err(no_priority(action.span)),
                    Some((last, rest)) if ranked && given.len() == params.len() + 1 => {
                        let least = i64::try_from(&last.value);
                        let least = least.map_err(|_| wrong(last.span, "this priority is too large"))?;
                        (rest, Some(-least))
                    }
                    _ => (given.as_slice(), None),
                }
            }
        };
        if given.len() != params.len() {
            let names: Vec<&str> = params.iter().map(|(n, _)| n.as_str()).collect();
            let message = format!("`{}` takes {} values, not {}", action.text, params.len(), given.len());
            let help = (!names.is_empty()).then(|| format!("in order: {}", names.join(", ")));
            return Err(refuse(action.span, EntryError { message, help }));
        }
        let data = params.iter().zip(given).map(|(param, arg)| fitted(param, arg));
        Ok((data.collect::<Result<_, _>>()?, priority))
    }

    /// The profile's name and a table that uses it; `name` is either's.
    fn profile(&self, name: &Named) -> Result<(String, Named), Box<Diagnostic>> {
        let tables = self.program.controls.iter().flat_map(|c| &c.tables);
        let with: Vec<(&str, &str)> = tables
            .filter_map(|t| {
                let instance = self.program.instances.get(t.implementation?.index())?;
                Some((instance.control_plane_name.as_str(), t.control_plane_name.as_str()))
            })
            .collect();
        let is = |known: &str| known == name.text || known.ends_with(&format!(".{}", name.text));
        let found = with.iter().find(|(profile, table)| is(profile) || is(table));
        let Some((profile, table)) = found else {
            let known: Vec<&str> = with.iter().map(|(profile, _)| *profile).collect();
            return Err(unknown("action profile or selector", name, &known));
        };
        Ok((profile.to_string(), Named { text: table.to_string(), span: name.span }))
    }

    fn label(
        &mut self,
        profile: String,
        label: &Named,
        number: u32,
        member: bool,
    ) -> Result<(), Box<Diagnostic>> {
        let labels = if member { &mut self.members } else { &mut self.groups };
        match labels.insert((profile, label.text.clone()), number) {
            Some(_) => Err(wrong(label.span, "this name is taken already")),
            None => Ok(()),
        }
    }

    fn find(&self, profile: &str, label: &Named, member: bool) -> Result<u32, Box<Diagnostic>> {
        let (labels, kind) = if member { (&self.members, "member") } else { (&self.groups, "group") };
        if let Some(number) = labels.get(&(profile.to_string(), label.text.clone())) {
            return Ok(*number);
        }
        let known: Vec<&str> =
            labels.keys().filter(|(of, _)| of == profile).map(|(_, label)| label.as_str()).collect();
        Err(unknown(kind, label, &known))
    }
}

fn rate(rate: Rate) -> MeterRate {
    MeterRate { per_gigamicrosecond: rate.per_gigamicrosecond, burst: rate.burst }
}

/// One match for each key of the table.
fn matches(specs: &[KeySpec], keys: &Keys, span: Span) -> Result<Vec<KeyMatch>, Box<Diagnostic>> {
    match keys {
        Keys::InOrder(given) | Keys::AsInBmv2(given) => {
            if given.len() != specs.len() {
                let names: Vec<&str> = specs.iter().map(|s| s.name.as_str()).collect();
                let message = format!("the table has {} keys, not {}", specs.len(), given.len());
                let help = (!names.is_empty()).then(|| format!("in order: {}", names.join(", ")));
                return Err(refuse(span, EntryError { message, help }));
            }
            if let Keys::AsInBmv2(_) = keys {
                specs.iter().zip(given).try_for_each(|(spec, value)| has_form(spec, value))?;
            }
            specs.iter().zip(given).map(|(spec, value)| key(spec, value)).collect()
        }
        Keys::Named(given) => {
            let mut wanted = vec![None; specs.len()];
            for (name, value) in given {
                let tail = format!(".{}", name.text);
                let exact = specs.iter().position(|s| s.name == name.text);
                let at = exact.or_else(|| specs.iter().position(|s| s.name.ends_with(&tail)));
                let (Some(spec), Some(slot)) =
                    (at.and_then(|at| specs.get(at)), at.and_then(|at| wanted.get_mut(at)))
                else {
                    let known: Vec<&str> = specs.iter().map(|s| s.name.as_str()).collect();
                    return Err(unknown("key", name, &known));
                };
                if slot.is_some() {
                    return Err(wrong(name.span, "this key is given already"));
                }
                *slot = Some(key(spec, value)?);
            }
            let zero = |spec: &KeySpec| match spec.kind {
                MatchKind::Exact => KeyMatch::Exact(Bits::zero(spec.width)),
                _ => KeyMatch::Any,
            };
            Ok(specs.iter().zip(wanted).map(|(spec, wanted)| wanted.unwrap_or_else(|| zero(spec))).collect())
        }
    }
}

/// Refuses what `simple_switch_CLI` does: it takes one form for each kind of key.
fn has_form(spec: &KeySpec, value: &Value<Match>) -> Result<(), Box<Diagnostic>> {
    let (form, example) = match (&spec.kind, &value.value) {
        (MatchKind::Lpm, Match::Prefix(..))
        | (MatchKind::Ternary | MatchKind::Optional, Match::Mask(..))
        | (MatchKind::Range, Match::Range(..)) => return Ok(()),
        (MatchKind::Lpm, _) => ("a prefix length", "10.0.0.0/8"),
        (MatchKind::Ternary | MatchKind::Optional, _) => ("a mask", "0x0a&&&0xff"),
        (MatchKind::Range, _) => ("an end", "1->5"),
        _ => return Ok(()),
    };
    let message = format!("`{}` wants {form} here", spec.name);
    Err(refuse(value.span, EntryError { message, help: Some(format!("for example: `{example}`")) }))
}

fn no_priority(span: Span) -> Box<Diagnostic> {
    let message = "a priority is missing at the end: the table has ternary, optional or range keys";
    let help = Some("the smallest number wins".to_string());
    refuse(span, EntryError { message: message.to_string(), help })
}

fn custom(crc: CustomCrc) -> Crc {
    let CustomCrc { polynomial, initial, final_xor, reflect_data, reflect_remainder } = crc;
    Crc { polynomial, initial, final_xor, reflect_data, reflect_remainder }
}

fn key(spec: &KeySpec, value: &Value<Match>) -> Result<KeyMatch, Box<Diagnostic>> {
    let fits = |number: &BigUint| match number.bits() > u64::from(spec.width) {
        true => Err(wrong(value.span, format!("`{}` has {} bits: this does not fit", spec.name, spec.width))),
        false => Ok(()),
    };
    match &value.value {
        Match::Exact(number) | Match::Prefix(number, _) => fits(number)?,
        Match::Mask(number, mask) => fits(number).and(fits(mask))?,
        Match::Range(lo, hi) => fits(lo).and(fits(hi))?,
        Match::Any => {}
    }
    let bits = |n: &BigUint| Bits::from_biguint(spec.width, n.clone());
    let refused = |what: &str| {
        let kind = format!("{:?}", spec.kind).to_lowercase();
        Err(wrong(value.span, format!("`{}` is an {kind} key: it cannot match {what}", spec.name)))
    };
    Ok(match (&value.value, &spec.kind) {
        (Match::Exact(n), _) => KeyMatch::Exact(bits(n)),
        (Match::Prefix(..), MatchKind::Exact | MatchKind::Range | MatchKind::Optional) => {
            return refused("a prefix");
        }
        (Match::Prefix(_, length), _) if *length > spec.width => {
            let label = format!("`{}` has {} bits: a prefix is no longer", spec.name, spec.width);
            return Err(wrong(value.span, label));
        }
        (Match::Prefix(n, length), _) => KeyMatch::Lpm { value: bits(n), prefix_len: *length },
        (Match::Mask(..), MatchKind::Exact | MatchKind::Range | MatchKind::Optional) => {
            return refused("a mask");
        }
        (Match::Mask(n, mask), _) => KeyMatch::Ternary { value: bits(n), mask: bits(mask) },
        (Match::Range(lo, hi), MatchKind::Range) => KeyMatch::Range { lo: bits(lo), hi: bits(hi) },
        (Match::Range(..), _) => return refused("a range"),
        (Match::Any, MatchKind::Exact) => return refused("anything"),
        (Match::Any, _) => KeyMatch::Any,
    })
}

/// A match whose width nobody knows here.
fn plain(wanted: &Match) -> KeyMatch {
    let bits =
        |n: &BigUint| Bits::from_biguint(u32::try_from(n.bits()).unwrap_or(u32::MAX).max(1), n.clone());
    match wanted {
        Match::Exact(n) => KeyMatch::Exact(bits(n)),
        Match::Prefix(n, length) => KeyMatch::Lpm { value: bits(n), prefix_len: *length },
        Match::Mask(n, mask) => KeyMatch::Ternary { value: bits(n), mask: bits(mask) },
        Match::Range(lo, hi) => KeyMatch::Range { lo: bits(lo), hi: bits(hi) },
        Match::Any => KeyMatch::Any,
    }
}
