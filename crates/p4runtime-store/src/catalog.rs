//! Objects of a P4Info by id.

use crate::fault::{Result, Within, fault, listed};
use crate::restriction::Restrictions;
use control_writes::{Kind, SESSION_GROUPS};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::{
    Action, ActionProfile, Counter, Digest, DirectCounter, DirectMeter, Extern, ExternInstance, Meter,
    P4Info, Preamble, Register, Table, ValueSet,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most replicas of a group or session, with their backups. All copies of a packet exist at once: 40 MB for packets of 10 kB.
pub(crate) const MOST_REPLICAS: usize = 1 << 12;

/// A P4Info by ids.
#[derive(Clone, Debug)]
pub struct Catalog {
    info: Arc<P4Info>,
    tables: BTreeMap<u32, usize>,
    actions: BTreeMap<u32, usize>,
    restrictions: Arc<Restrictions>,
    numbers: Numbers,
}

/// The numbers that a program's architecture has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Bits of a port; P4Runtime's have 32 at most.
    pub port_bits: u32,
    /// Width of multicast groups in bits; at most 32 in P4Runtime.
    pub group_bits: u32,
}

impl Numbers {
    /// Widths of the architecture that the P4Info names, for when the program itself is not known.
    pub fn of(info: &P4Info) -> Numbers {
        let arch = info.pkg_info.as_ref().map_or("", |package| package.arch.as_str());
        match arch {
            "v1model" | "tna" | "t2na" => Numbers { port_bits: 9, group_bits: 16 },
            _ => Numbers { port_bits: 32, group_bits: 32 },
        }
    }
}

/// Something with a preamble.
pub trait Described {
    /// Id, names and annotations.
    fn preamble(&self) -> Option<&Preamble>;

    /// The control-plane name.
    fn name(&self) -> &str {
        self.preamble().map_or("", |preamble| preamble.name.as_str())
    }

    /// The id; 0 without a preamble.
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

described!(
    Action,
    ActionProfile,
    Counter,
    Digest,
    DirectCounter,
    DirectMeter,
    ExternInstance,
    Meter,
    Register,
    Table,
    ValueSet
);

impl Catalog {
    /// Catalog with the widths of the P4Info's architecture. If several objects have one id, the first counts.
    pub fn new(info: Arc<P4Info>) -> Catalog {
        let numbers = Numbers::of(&info);
        Catalog::with(info, numbers)
    }

    /// The same of a program whose numbers are known.
    pub fn with(info: Arc<P4Info>, numbers: Numbers) -> Catalog {
        let places = |ids: Vec<u32>| ids.into_iter().enumerate().rev().map(|(at, id)| (id, at)).collect();
        Catalog {
            tables: places(info.tables.iter().map(Described::id).collect()),
            actions: places(info.actions.iter().map(Described::id).collect()),
            restrictions: Arc::new(Restrictions::new(&info)),
            info,
            numbers,
        }
    }

    /// True if default actions have direct counters and meters, for misses. v1model counts and measures hits alone.
    pub fn counts_misses(&self) -> bool {
        matches!(self.arch(), "psa" | "tna" | "t2na")
    }

    /// Refuses direct counters and meters of default actions where there are none.
    pub(crate) fn may_count_misses(&self) -> Result<()> {
        match self.counts_misses() {
            true => Ok(()),
            false => {
                let what = "default actions have no direct counters and meters";
                fault(what, "v1model counts and meters only hits").code(Code::Unimplemented)
            }
        }
    }

    fn arch(&self) -> &str {
        self.info.pkg_info.as_ref().map_or("", |package| package.arch.as_str())
    }

    /// The bits of a port.
    pub(crate) fn port_bits(&self) -> u32 {
        self.numbers.port_bits.min(u32::BITS)
    }

    /// The greatest number of a multicast group.
    pub(crate) fn last_group(&self) -> u32 {
        u32::MAX >> (u32::BITS - self.numbers.group_bits.clamp(1, u32::BITS))
    }

    /// The greatest class of service of a clone: v1model's `priority` has 3 bits.
    pub(crate) fn last_class(&self) -> u8 {
        if self.arch() == "v1model" { 7 } else { u8::MAX }
    }

    /// Properties of the platform that the program requires (`@platform_property`) and the server lacks; the
    /// specification has a server refuse such a program (section 6.2.1).
    pub fn unmet_properties(&self) -> Option<String> {
        let wanted = self.info.pkg_info.as_ref()?.platform_properties.as_ref()?;
        let groups = self.last_group().saturating_sub(SESSION_GROUPS);
        let bounds = [
            ("multicast_group_table_size", wanted.multicast_group_table_size, groups),
            (
                "multicast_group_table_max_replicas_per_entry",
                wanted.multicast_group_table_max_replicas_per_entry,
                MOST_REPLICAS as u32,
            ),
        ];
        let too_many = |(_, wanted, most): &(&str, i32, u32)| i64::from(*wanted) > i64::from(*most);
        let (name, wanted, most) = bounds.into_iter().find(too_many)?;
        Some(format!("the program requires {wanted} for `{name}`, and the switch has {most}"))
    }

    /// All of it.
    pub fn info(&self) -> &Arc<P4Info> {
        &self.info
    }

    /// Restrictions on entries and on action data.
    pub(crate) fn restrictions(&self) -> &Restrictions {
        &self.restrictions
    }

    /// Why restrictions of the program cannot be read, with the table or action of each.
    pub fn unread_restrictions(&self) -> &[String] {
        &self.restrictions.unread
    }

    /// The table with an id.
    pub fn table(&self, id: u32) -> Result<&Table> {
        match self.tables.get(&id).and_then(|at| self.info.tables.get(*at)) {
            Some(table) => Ok(table),
            None => unknown("table", id, &self.info.tables),
        }
        .within("table_id")
    }

    /// The action with an id, if P4Info describes it.
    pub fn action(&self, id: u32) -> Option<&Action> {
        self.actions.get(&id).and_then(|at| self.info.actions.get(*at))
    }

    /// The action profile or selector with an id.
    pub fn profile(&self, id: u32) -> Result<&ActionProfile> {
        find("action profile", id, &self.info.action_profiles).within("action_profile_id")
    }

    /// A share of a selector's size, or 0 if `profile` does not exist.
    pub(crate) fn size_of(&self, profile: u32, size: impl FnOnce(&ActionProfile) -> i64) -> i64 {
        self.profile(profile).map_or(0, size)
    }

    /// The counter with an id.
    pub fn counter(&self, id: u32) -> Result<&Counter> {
        find("counter", id, &self.info.counters).within("counter_id")
    }

    /// The meter with an id.
    pub fn meter(&self, id: u32) -> Result<&Meter> {
        find("meter", id, &self.info.meters).within("meter_id")
    }

    /// The register with an id.
    pub fn register(&self, id: u32) -> Result<&Register> {
        find("register", id, &self.info.registers).within("register_id")
    }

    /// The frame extern or value extern with an id, preceded by the id of its type.
    pub fn extern_object(&self, id: u32) -> Result<(u32, &ExternInstance)> {
        match self.extern_objects().find(|(_, object)| object.id() == id) {
            Some(found) => Ok(found),
            None => {
                let all: Vec<_> = self.extern_objects().map(|(_, object)| object.clone()).collect();
                unknown("extern object", id, &all)
            }
        }
        .within("extern_id")
    }

    /// All frame externs and value externs, each preceded by the id of its type.
    pub fn extern_objects(&self) -> impl Iterator<Item = (u32, &ExternInstance)> {
        let of = |ty: &'_ Extern| ty.extern_type_id;
        self.info.externs.iter().flat_map(move |ty| ty.instances.iter().map(move |object| (of(ty), object)))
    }

    /// The name of a thing that a write refers to.
    pub fn name_of(&self, kind: Kind, id: u32) -> Result<&str> {
        Ok(match kind {
            Kind::Table => self.table(id)?.name(),
            Kind::Action => self.action(id).map_or("", Described::name),
            Kind::Profile => self.profile(id)?.name(),
            Kind::ValueSet => self.value_set(id)?.name(),
            Kind::Digest => self.digest(id)?.name(),
            Kind::Meter => self.meter(id)?.name(),
            Kind::Counter => self.counter(id)?.name(),
            Kind::Register => self.register(id)?.name(),
            Kind::Extern => self.extern_object(id)?.1.name(),
        })
    }

    /// The value set with an id.
    pub fn value_set(&self, id: u32) -> Result<&ValueSet> {
        find("value set", id, &self.info.value_sets).within("value_set_id")
    }

    /// The digest with an id.
    pub fn digest(&self, id: u32) -> Result<&Digest> {
        find("digest", id, &self.info.digests).within("digest_id")
    }

    /// The direct counter of a table.
    pub fn direct_counter(&self, table: u32) -> Option<&DirectCounter> {
        self.info.direct_counters.iter().find(|counter| counter.direct_table_id == table)
    }

    /// The direct meter of a table.
    pub fn direct_meter(&self, table: u32) -> Option<&DirectMeter> {
        self.info.direct_meters.iter().find(|meter| meter.direct_table_id == table)
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
    fault(format!("there is no {kind} {id}"), "the program's P4Info does not have this id")
        .code(Code::NotFound)
        .help(|| known)
}
