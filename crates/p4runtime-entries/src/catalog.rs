//! What ids of a P4Info stand for.

use crate::fault::{Result, Within, fault, listed};
use p4runtime_proto::p4::config::v1::{
    Action, ActionProfile, Counter, Meter, P4Info, P4NamedType, Preamble, Register, Table, ValueSet,
    p4_new_type_spec::Representation, p4_new_type_translation::SdnType,
};
use std::collections::BTreeMap;

/// A P4Info by ids.
pub(crate) struct Catalog<'i> {
    info: &'i P4Info,
    tables: BTreeMap<u32, &'i Table>,
    actions: BTreeMap<u32, &'i Action>,
}

/// Something with a preamble.
pub(crate) trait Described {
    fn preamble(&self) -> Option<&Preamble>;

    /// The control-plane name.
    fn name(&self) -> &str {
        self.preamble().map_or("", |preamble| preamble.name.as_str())
    }

    fn id(&self) -> u32 {
        self.preamble().map_or(0, |preamble| preamble.id)
    }
}

macro_rules! described {
    ($($ty:ty),*) => {$(
        impl Described for $ty {
            fn preamble(&self) -> Option<&Preamble> {
                self.preamble.as_ref()
            }
        }
    )*};
}

described!(Action, ActionProfile, Counter, Meter, Register, Table, ValueSet);

impl<'i> Catalog<'i> {
    pub(crate) fn new(info: &'i P4Info) -> Catalog<'i> {
        Catalog {
            info,
            tables: info.tables.iter().map(|t| (t.id(), t)).collect(),
            actions: info.actions.iter().map(|a| (a.id(), a)).collect(),
        }
    }

    pub(crate) fn table(&self, id: u32) -> Result<&'i Table> {
        match self.tables.get(&id) {
            Some(table) => Ok(*table),
            None => unknown("table", id, &self.info.tables),
        }
        .within("table_id")
    }

    pub(crate) fn action(&self, id: u32) -> Option<&'i Action> {
        self.actions.get(&id).copied()
    }

    pub(crate) fn profile(&self, id: u32) -> Result<&'i ActionProfile> {
        find("action profile", id, &self.info.action_profiles).within("action_profile_id")
    }

    pub(crate) fn counter(&self, id: u32) -> Result<&'i Counter> {
        find("counter", id, &self.info.counters).within("counter_id")
    }

    pub(crate) fn meter(&self, id: u32) -> Result<&'i Meter> {
        find("meter", id, &self.info.meters).within("meter_id")
    }

    pub(crate) fn register(&self, id: u32) -> Result<&'i Register> {
        find("register", id, &self.info.registers).within("register_id")
    }

    pub(crate) fn value_set(&self, id: u32) -> Result<&'i ValueSet> {
        find("value set", id, &self.info.value_sets).within("value_set_id")
    }

    /// True if values of the type are strings on the control plane's side.
    pub(crate) fn is_string(&self, type_name: Option<&P4NamedType>) -> bool {
        let types = self.info.type_info.as_ref().map(|info| &info.new_types);
        let spec = type_name.and_then(|name| types?.get(&name.name));
        match spec.and_then(|spec| spec.representation.as_ref()) {
            Some(Representation::TranslatedType(translation)) => {
                matches!(translation.sdn_type, Some(SdnType::SdnString(_)))
            }
            _ => false,
        }
    }
}

fn find<'i, T: Described>(kind: &str, id: u32, all: &'i [T]) -> Result<&'i T> {
    match all.iter().find(|thing| thing.id() == id) {
        Some(thing) => Ok(thing),
        None => unknown(kind, id, all),
    }
}

fn unknown<T, D: Described>(kind: &str, id: u32, all: &[D]) -> Result<T> {
    let known = listed(all.iter().map(|thing| (thing.id(), thing.name())));
    fault(format!("there is no {kind} {id}"), "the program's P4Info does not have this id").help(|| known)
}
