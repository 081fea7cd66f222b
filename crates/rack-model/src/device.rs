//! `[device.NAME]`: something that runs a pipeline.
//!
//! ```toml
//! [device.nic]
//! class = "smartnic"        # tofino1, tofino2, flexswitch, switch, smartnic, fpga or cpu; legacy: a fixed-function switch without a program
//! service = "2us"           # service time of a packet; default by class
//! parallel = 8              # number of packets processed in parallel; default by class
//! backlog = 1024            # maximum number of waiting packets; further packets are dropped
//! trim = true               # UDP packets that find the queue of their port full leave as headers; default: all packets are dropped there
//! entries = "tor.stf"       # entries of this device, in addition to those of the app
//! externs = ["beacon"]      # frame externs and value externs of the device; { beacon = "2us" }: with the time of a call;
//!                           # { beacon = { time = "2us", rate = "8Gbit/s" } }: also with its maximum rate; `full_rate` as for links
//! extends = "core"          # for a legacy switch: the device that it extends, port by port
//! resources = { Tables = 24, EntryBits = "20000000" }   # capacities for plans, by variable
//! match_kinds = ["exact", "lpm"]   # match kinds of table keys that the device supports; default: all
//! ```

use crate::Spanned;
use crate::section::{Entry, Item, Reader, Section};
use crate::value;
use base_time::{Duration, Rate};
use device_classes::{DeviceClass, Profile};
use toml::de::DeValue;

/// A device of the rack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Name of the device.
    pub name: Spanned<String>,
    /// Class of the device.
    pub class: DeviceClass,
    /// Time of a packet inside the device, without waiting.
    pub service: Duration,
    /// Number of packets processed in parallel. The rate of the device is `parallel` packets every `service`.
    pub parallel: u32,
    /// Maximum number of packets that wait for processing.
    pub backlog: u32,
    /// Packets that find the queue of their port full leave without most of their payload.
    pub trim: bool,
    /// For a legacy switch: the device that it extends with ports.
    pub extends: Option<Spanned<String>>,
    /// Path of the device's own entries, as written.
    pub entries: Option<Spanned<String>>,
    /// The frame externs and value externs it offers.
    pub externs: Vec<Spanned<String>>,
    /// Costs of extern calls, by extern; calls of externs not listed are free.
    pub calls: Vec<(String, Call)>,
    /// Capacities of scarce resources: variable and quantity, as written.
    pub resources: Vec<(Spanned<String>, Spanned<String>)>,
    /// Match kinds that it supports, as P4 names them; none if it supports all.
    pub match_kinds: Option<Spanned<Vec<String>>>,
}

/// Costs of a call of an extern on a device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Call {
    /// Added latency of a packet.
    pub time: Duration,
    /// Maximum rate of frames; `None` if frames never wait for one another.
    pub rate: Option<Rate>,
    /// Maximum rate of a call in a run at full rate.
    pub full_rate: Option<Rate>,
}

impl Device {
    /// Cost of a call of the extern `name`.
    pub fn call(&self, name: &str) -> Call {
        let known = self.calls.iter().find(|(known, _)| known == name);
        known.map_or(Call::default(), |(_, call)| *call)
    }

    /// A device called `name` with the defaults of its class and no externs.
    pub fn new(name: &str, class: DeviceClass) -> Device {
        let Profile { service, parallel, .. } = *class.profile();
        Device {
            name: name.into(),
            class,
            service,
            parallel,
            backlog: BACKLOG,
            trim: false,
            extends: None,
            entries: None,
            externs: vec![],
            calls: vec![],
            resources: vec![],
            match_kinds: None,
        }
    }
}

/// All classes by their words.
fn classes() -> [(&'static str, Option<DeviceClass>); 8] {
    DeviceClass::ALL.map(|class| (class.word(), Some(class)))
}

const BACKLOG: u32 = 1024;

/// Names, and the costs of calls.
type Externs = (Vec<Spanned<String>>, Vec<(String, Call)>);

/// A list of names, or names with costs.
fn externs(r: &mut Reader, item: Item<'_>) -> Option<Externs> {
    let DeValue::Table(table) = item.value else { return Some((value::list(r, item, value::name)?, vec![])) };
    let entries = r.entries(table);
    let names = entries.iter().map(|entry| Spanned::new(entry.key.to_string(), entry.key_span)).collect();
    let calls = entries.iter().filter_map(|entry| Some((entry.key.to_string(), call(r, entry)?)));
    Some((names, calls.collect()))
}

/// Time of calls, or a table with the time and more.
fn call(r: &mut Reader, entry: &Entry<'_>) -> Option<Call> {
    if !matches!(entry.item.value, DeValue::Table(_)) {
        return Some(Call { time: value::duration(r, entry.item)?, ..Call::default() });
    }
    let mut s = Section::new(r, format!("extern `{}`", entry.key), entry.key_span, entry.item)?;
    let time = s.optional(r, "time", value::duration);
    let rate = s.optional(r, "rate", value::rate).map(|rate| rate.value);
    let full_rate = s.optional(r, "full_rate", value::rate).map(|rate| rate.value);
    s.finish(r);
    Some(Call { time: time.map_or(Duration::ZERO, |time| time.value), rate, full_rate: full_rate.or(rate) })
}

/// Match kinds of v1model and PSA.
const MATCH_KINDS: [(&str, Option<&str>); 5] = [
    ("exact", Some("exact")),
    ("lpm", Some("lpm")),
    ("ternary", Some("ternary")),
    ("range", Some("range")),
    ("optional", Some("optional")),
];

pub(crate) fn read(r: &mut Reader, name: Spanned<String>, item: Item<'_>) -> Option<Device> {
    let mut s = Section::new(r, format!("device `{}`", name.value), name.span, item)?;
    let class = s.required(r, "class", "\"switch\"", |r, i| value::choice(r, i, &classes()));
    let service = s.optional(r, "service", value::duration);
    let parallel = s.optional(r, "parallel", |r, i| value::small(r, i, 1..=1_000_000));
    let backlog = s.optional(r, "backlog", |r, i| value::small(r, i, 1..=1_000_000));
    let trim = s.optional(r, "trim", value::boolean);
    let extends = s.optional(r, "extends", value::string);
    let entries = s.optional(r, "entries", value::string);
    let externs = s.optional(r, "externs", externs);
    let resources = s.optional(r, "resources", |r, i| value::texts(r, i, "{ Tables = 24 }"));
    let match_kinds =
        s.optional(r, "match_kinds", |r, i| value::list(r, i, |r, i| value::choice(r, i, &MATCH_KINDS)));
    for key in ["profile", "ports"] {
        s.later(r, key);
    }
    s.finish(r);
    let mut device = Device::new(&name.value, class?.value);
    device.name = name;
    device.service = service.map_or(device.service, |s| s.value);
    device.parallel = parallel.map_or(device.parallel, |p| p.value);
    device.backlog = backlog.map_or(device.backlog, |b| b.value);
    device.trim = trim.is_some_and(|trim| trim.value);
    device.extends = extends;
    device.entries = entries;
    (device.externs, device.calls) = externs.map_or((vec![], vec![]), |e| e.value);
    device.resources = resources.map_or(vec![], |list| list.value);
    let names =
        |kinds: Vec<Spanned<&'static str>>| kinds.into_iter().map(|kind| kind.value.to_string()).collect();
    device.match_kinds = match_kinds.map(|kinds| Spanned::new(names(kinds.value), kinds.span));
    Some(device)
}
