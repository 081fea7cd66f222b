//! `[[app]]`: a program, its entries, and where its regions run.
//!
//! ```toml
//! [[app]]
//! name = "router"               # default: the program's file name
//! program = "router.p4"         # relative to this file
//! defines = { WIDE = 1 }        # as -D
//! include = ["lib"]             # directories for included files (as -I), relative to this file
//! entries = "entries.stf"       # table entries: STF, TOML, commands, P4Runtime updates
//! handlers = ["snat.c"]         # sources of the program's handlers in C
//! origin = "tor"                # owns the ports and the traffic manager; ["tor1", "tor2"]: two independent switches with the same helpers
//! devices = ["nic"]             # helpers; default: the devices named in `map`, or all devices if there is one app
//! map = { Acl = "nic" }         # devices of regions; the others run at the origin. "plan": the best plan by the objectives of `[plan]`
//!                               # Acl = { device = "nic", policy = "call" }: a policy for one region
//!                               # Acl = { device = "nic", spares = ["nic2"] }: a spare takes over when the device fails
//! policy = "direct"             # after a region, the packet goes to the device of the next section; "call": first back to the device around the region;
//!                               # "failover": as "direct", with spares; "shard": R = { devices = ["nic1", "nic2"], policy = "shard" }, flows are divided,
//!                               # with `replicas = 2`, another device takes over where one has failed
//!                               # map = { R = "nat" } with the name of a `[[group]]`: its servers share the flows, see `group.rs`
//! spares = ["nic2"]             # of all regions in `map` that name no spares of their own, in order. A number, with `map = "plan"`: so many for each
//!                               # device, which the planner chooses
//! failover = { tick = "1ms" }   # thresholds, where they differ from those of the rack: see `failover.rs`
//! regions = "marked"            # regions: those marked in the program, or each use of a table or extern ("tables"), each
//!                               # named block and control ("blocks"), consecutive slices ("chain"), statements that the origin's class
//!                               # cannot execute ("beyond"), or as chosen by the planner ("auto")
//! shares = { Acl = "20%" }      # maximum share of the incoming traffic that passes a region, for plans; default: all
//! runtime = "full"              # what hand-overs carry; "headerless": nothing, the link says the position; "headerless-ipv4": nothing, the fragment
//!                               # offset does; "auto": as little as is exact and has enough links, for each device
//! with_header = ["fpga"]        # devices whose hand-overs have a header although those of the runtime have none
//! epoch = 1                     # number of this plan, which hand-overs carry
//! affinity = "medium"           # flows at the switch or at helpers: see `pinning.rs`
//! order = "keep"                # packets of one flow keep their order; "any": they may be reordered
//! class = "ipv4.dst in 10.1.0.0/16"   # the app's packets, if several apps share a device; default: the packets of no other app
//! priority = 1                  # of overlapping classes, the one with the largest number gets the packet
//! parsers = "own"               # "share": one parser, and one set of headers, with other apps of the device that share theirs and whose parsers agree
//! long_frames = "refuse"        # refuses the split if hand-overs of long frames exceed the MTU of a link; "drop": accepts their loss
//! ```
//!
//! A rack may have several apps. Those with the same origin share it, if each of them runs there as a whole or has an affinity: each has the packets of its class. To one app, another
//! app's devices are like hosts that send frames.

use crate::failover::{self, Failover, FailoverKeys};
use crate::group::{self, Group};
use crate::names::Names;
use crate::pinning::{self, Pinning};
use crate::runtime::{self, Runtime};
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{DeviceId, Probability, Spanned};
use base_diag::codes::merge;
use base_diag::{Diagnostic, Span};
use toml::de::DeValue;
use traffic_classes::Class;

/// A program that the rack runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct App {
    /// Name of the app.
    pub name: Spanned<String>,
    /// The path of the program, as written.
    pub program: Spanned<String>,
    /// Preprocessor macros with their texts.
    pub defines: Vec<(Spanned<String>, Spanned<String>)>,
    /// Directories of included files, as written.
    pub include: Vec<Spanned<String>>,
    /// The path of the table entries, as written.
    pub entries: Option<Spanned<String>>,
    /// Sources of the program's handlers in C, as written.
    pub handlers: Vec<Spanned<String>>,
    /// The device that owns ports and traffic manager.
    pub origin: Spanned<DeviceId>,
    /// Other switches that run the program for their own packets, with the same helpers.
    pub other_origins: Vec<Spanned<DeviceId>>,
    /// Other devices that it names as its own.
    pub helpers: Vec<Spanned<DeviceId>>,
    /// Placement of the regions.
    pub map: Regions,
    /// Number of spares that the planner chooses for each device of its plan.
    pub planned_spares: u32,
    /// Method of finding regions.
    pub cuts: Cuts,
    /// Largest share of the app's packets that enters a region; unknown for regions not listed.
    pub shares: Vec<(Spanned<String>, Spanned<Probability>)>,
    /// Flows that the switch processes.
    pub pinning: Option<Pinning>,
    /// When a device with spares has failed.
    pub failover: Failover,
    /// The same where each device is a process.
    pub failover_of_processes: Failover,
    /// The number of the plan, carried by hand-overs.
    pub epoch: u32,
    /// Runtime of hand-overs.
    pub runtime: Runtime,
    /// Devices whose hand-overs have a header although those of the runtime have none.
    pub with_header: Vec<Spanned<DeviceId>>,
    /// Frames that may be too long for a link once they are handed over are dropped there; else such a rack is refused.
    pub drops_long_frames: bool,
    /// Packets of the app, if it shares its device with other apps; `None`: the packets of no other app.
    pub class: Option<Spanned<Class>>,
    /// If classes overlap, the app with the largest priority gets the packet.
    pub priority: Option<Spanned<u32>>,
    /// The app has one parser with others of its device that share theirs, too, where they agree.
    pub shares_parser: bool,
    /// True if packets of one flow may be reordered; otherwise p4rack warns where they could be.
    pub any_order: bool,
    /// Place in the file.
    pub span: Span,
}

impl App {
    /// A program at one switch, with the defaults of all other keys.
    pub fn new(
        name: Spanned<String>,
        program: Spanned<String>,
        origin: Spanned<DeviceId>,
        span: Span,
    ) -> App {
        App {
            name,
            program,
            defines: vec![],
            include: vec![],
            entries: None,
            handlers: vec![],
            origin,
            other_origins: vec![],
            helpers: vec![],
            map: Regions::ByHand(vec![]),
            planned_spares: 0,
            cuts: Cuts::default(),
            shares: vec![],
            pinning: None,
            failover: Failover::default(),
            failover_of_processes: Failover::default(),
            epoch: 1,
            runtime: Runtime::default(),
            with_header: vec![],
            drops_long_frames: false,
            class: None,
            priority: None,
            shares_parser: false,
            any_order: false,
            span,
        }
    }

    /// The devices that it names.
    pub fn devices(&self) -> impl Iterator<Item = Spanned<DeviceId>> {
        let placed = match &self.map {
            Regions::ByHand(map) => map.as_slice(),
            Regions::Planned => &[],
        };
        let placed = placed.iter().flat_map(|p| std::iter::once(&p.device).chain(&p.spares));
        std::iter::once(&self.origin).chain(&self.other_origins).chain(&self.helpers).chain(placed).cloned()
    }
}

/// Placement of regions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Regions {
    /// As the file says, in its order; others at the origin. The splitter knows which exist.
    ByHand(Vec<Placement>),
    /// Chosen by the planner.
    Planned,
}

/// Method of finding regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cuts {
    /// Regions marked in the program.
    #[default]
    Marked,
    /// Each statement that applies a table or calls an extern.
    Tables,
    /// Each block with a `@name`, each control that is applied.
    Blocks,
    /// The bodies, link by link.
    Chain,
    /// Each statement that the origin's class cannot execute.
    Beyond,
    /// All cuts: chains, and inside of them each statement that applies a table or calls an extern.
    Auto,
}

const CUTS: [(&str, Option<Cuts>); 6] = [
    ("marked", Some(Cuts::Marked)),
    ("tables", Some(Cuts::Tables)),
    ("blocks", Some(Cuts::Blocks)),
    ("chain", Some(Cuts::Chain)),
    ("beyond", Some(Cuts::Beyond)),
    ("auto", Some(Cuts::Auto)),
];

/// A region and its device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The name that marks the region in the program.
    pub region: Spanned<String>,
    /// Device of the region.
    pub device: Spanned<DeviceId>,
    /// Devices that take over, in order, where those before have failed; those that share the flows, under `Shard` and `Group`.
    pub spares: Vec<Spanned<DeviceId>>,
    /// Policy of the edges that leave the region.
    pub policy: Policy,
    /// Devices of each shard, under `Shard`; else 1.
    pub replicas: u32,
}

/// Device that continues after a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Control passes directly to the device of the next section.
    #[default]
    Direct,
    /// Back to the device around the region, which called it.
    Call,
    /// To where it is needed next; hand-overs go to a spare where the device has failed.
    Failover,
    /// To where it is needed next; flows are divided among several devices.
    Shard,
    /// Back to the device around the region; the servers of a group share the flows.
    Group,
}

impl Placement {
    /// A region on a group; none if the group has no servers.
    pub fn on_group(region: Spanned<String>, group: &Group, span: Span) -> Option<Placement> {
        let (first, others) = group.servers.split_first()?;
        let device = Spanned::new(first.value, span);
        Some(Placement { region, device, spares: others.to_vec(), policy: Policy::Group, replicas: 1 })
    }
}

/// Most devices of a shard: each is a bit.
const MOST_REPLICAS: u32 = 32;

const POLICIES: [(&str, Option<Policy>); 5] = [
    ("direct", Some(Policy::Direct)),
    ("call", Some(Policy::Call)),
    ("failover", Some(Policy::Failover)),
    ("shard", Some(Policy::Shard)),
    ("group", Some(Policy::Group)),
];

const ORDERS: [(&str, Option<bool>); 2] = [("keep", Some(false)), ("any", Some(true))];

const PARSERS: [(&str, Option<bool>); 2] = [("own", Some(false)), ("share", Some(true))];

const LONG_FRAMES: [(&str, Option<bool>); 2] = [("refuse", Some(false)), ("drop", Some(true))];

pub(crate) fn read(
    r: &mut Reader,
    item: Item<'_>,
    names: &Names,
    groups: &[Group],
    usual_failover: &FailoverKeys,
) -> Option<App> {
    let mut s = Section::new(r, "this app".to_string(), item.span, item)?;
    let name = s.optional(r, "name", value::name);
    let program = s.required(r, "program", "\"router.p4\"", value::string);
    let defines = s.optional(r, "defines", defines);
    let include = s.optional(r, "include", |r, i| value::list(r, i, value::string));
    let entries = s.optional(r, "entries", value::string);
    let handlers = s.optional(r, "handlers", |r, i| value::list(r, i, value::string));
    let device = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.device(r, Spanned::new(name.as_str(), i.span))
    };
    let origins = s.required(r, "origin", "\"tor\"", |r, i| origins(r, i, device));
    let helpers = s.optional(r, "devices", |r, i| value::list(r, i, device));
    let policy = s.optional(r, "policy", |r, i| value::choice(r, i, &POLICIES));
    let spares = s.optional(r, "spares", |r, i| WantedSpares::read(r, i, device));
    let (named, planned_spares) = match &spares {
        Some(Spanned { value: WantedSpares::Named(named), .. }) => (named.clone(), 0),
        Some(Spanned { value: WantedSpares::Planned(count), .. }) => (vec![], *count),
        None => (vec![], 0),
    };
    let policy_span = policy.as_ref().map(|policy| policy.span);
    let usual = Usual { policy, spares: named, groups };
    let map = s.optional(r, "map", |r, i| regions(r, i, &usual, device));
    if let Some(Spanned { value: Regions::Planned, .. }) = &map {
        let only = "plans support the policies `direct` and `failover`";
        match &usual.policy {
            Some(Spanned { value: Policy::Call, span }) => {
                r.bad_value(*span, "planned regions cannot be called", only);
            }
            Some(Spanned { value: Policy::Failover, span }) if spares.is_none() => {
                let why = "set the number of spares for each device: `spares = 1`";
                r.bad_value(*span, "nothing to fail over to", why);
            }
            Some(Spanned { value: Policy::Direct, span }) if planned_spares > 0 => {
                r.bad_value(*span, "a policy without spares", "spares need the policy `failover`");
            }
            Some(Spanned { value: Policy::Shard | Policy::Group, span }) => {
                r.bad_value(*span, "flows of planned regions cannot be divided", only);
            }
            _ => {}
        }
        if let Some(Spanned { value: WantedSpares::Named(_), span }) = &spares {
            r.bad_value(
                *span,
                "the planner chooses spares",
                "set only their number for each device: `spares = 1`",
            );
        }
    } else if let Some(Spanned { value: WantedSpares::Planned(_), span }) = &spares {
        let why = "name them, as in `[\"nic2\"]`: only `map = \"plan\"` chooses them";
        r.bad_value(*span, "a number of spares", why);
    }
    let failover = s.optional(r, "failover", |r, i| failover::read(r, i, "`failover`"));
    let cuts = s.optional(r, "regions", |r, i| value::choice(r, i, &CUTS));
    let shares = s.optional(r, "shares", shares);
    let epoch = s.optional(r, "epoch", |r, i| value::small(r, i, 0..=255));
    let (runtime, with_header) = runtime::read(r, &mut s, map.as_ref().map(|map| &map.value), device);
    let long_frames = s.optional(r, "long_frames", |r, i| value::choice(r, i, &LONG_FRAMES));
    let any_order = s.optional(r, "order", |r, i| value::choice(r, i, &ORDERS));
    let class = s.optional(r, "class", class);
    let priority = s.optional(r, "priority", |r, i| value::small(r, i, 0..=u32::MAX));
    let shares_parser = s.optional(r, "parsers", |r, i| value::choice(r, i, &PARSERS));
    let count = helpers.as_ref().map_or(0, |helpers| helpers.value.len());
    let pinning = pinning::read(r, &mut s, count);
    if pinning.is_some() {
        let elsewhere = [map.as_ref().map(|map| map.span), cuts.as_ref().map(|cuts| cuts.span), policy_span];
        for span in elsewhere.into_iter().flatten() {
            r.bad_value(
                span,
                "regions of an app with an affinity",
                "the affinity already determines what runs at the helpers: remove one of the two",
            );
        }
        if let Some(second) = origins.as_ref().and_then(|origins| origins.value.get(1)) {
            let what = "an affinity with several origins is";
            r.not_yet(second.span, what, "give each switch its own app");
        }
    }
    for key in ["traffic", "objective"] {
        s.later(r, key);
    }
    s.finish(r);
    let place = failover.as_ref().map(|keys| keys.span);
    let own_failover = failover.map_or(FailoverKeys::default(), |keys| keys.value);
    let [failover, failover_of_processes] = failover::merged(r, place, usual_failover, &own_failover);
    let program = program?;
    let mut origins = origins?.value.into_iter();
    let helpers = helpers.map_or(vec![], |h| h.value);
    let pinned = pinning.as_ref().map(|pinning| pinned_regions(pinning, &helpers));
    Some(App {
        name: name.unwrap_or_else(|| program.clone().map(|path| stem(&path).to_string())),
        program,
        defines: defines.map_or(vec![], |d| d.value),
        include: include.map_or(vec![], |i| i.value),
        entries,
        handlers: handlers.map_or(vec![], |h| h.value),
        origin: origins.next()?,
        other_origins: origins.collect(),
        helpers,
        map: pinned.or(map.map(|map| map.value)).unwrap_or(Regions::ByHand(vec![])),
        planned_spares,
        cuts: cuts.map_or(Cuts::Marked, |c| c.value),
        shares: shares.map_or(vec![], |shares| shares.value),
        pinning,
        failover,
        failover_of_processes,
        epoch: epoch.map_or(1, |e| e.value),
        runtime,
        with_header,
        drops_long_frames: long_frames.is_some_and(|l| l.value),
        class,
        priority,
        shares_parser: shares_parser.is_some_and(|s| s.value),
        any_order: any_order.is_some_and(|o| o.value),
        span: item.span,
    })
}

/// A traffic class. Mistakes in it are reported with their place in the text.
fn class(r: &mut Reader, item: Item<'_>) -> Option<Class> {
    let text = value::string(r, item)?;
    match Class::read(&text) {
        Ok(class) => Some(class),
        Err(error) => {
            let title = format!("not a traffic class: {}", error.title);
            let wrong = text
                .get(error.at.clone())
                .filter(|wrong| !wrong.is_empty())
                .unwrap_or("the end of the class");
            r.push(
                Diagnostic::error(merge::BAD_CLASS, title)
                    .at(item.span, format!("at `{wrong}`"))
                    .help(error.help),
            );
            None
        }
    }
}

/// Spares of an app.
enum WantedSpares {
    /// Spares of all regions.
    Named(Vec<Spanned<DeviceId>>),
    /// So many for each device of a plan.
    Planned(u32),
}

impl WantedSpares {
    fn read<'t>(
        r: &mut Reader,
        item: Item<'t>,
        device: impl Fn(&mut Reader, Item<'t>) -> Option<DeviceId>,
    ) -> Option<WantedSpares> {
        match item.value {
            DeValue::Integer(_) => Some(WantedSpares::Planned(value::small(r, item, 1..=31)?)),
            _ => Some(WantedSpares::Named(value::list(r, item, device)?)),
        }
    }
}

/// One device, or a list of several.
fn origins<'t>(
    r: &mut Reader,
    item: Item<'t>,
    device: impl Fn(&mut Reader, Item<'t>) -> Option<DeviceId>,
) -> Option<Vec<Spanned<DeviceId>>> {
    if !matches!(item.value, DeValue::Array(_)) {
        return Some(vec![Spanned::new(device(r, item)?, item.span)]);
    }
    let before = r.diagnostics.error_count();
    let origins = value::list(r, item, device)?;
    for (at, origin) in origins.iter().enumerate() {
        if origins[..at].iter().any(|known| known.value == origin.value) {
            r.bad_value(origin.span, "this origin is named twice", "name each switch once");
        }
    }
    if origins.is_empty() && r.diagnostics.error_count() == before {
        r.bad_value(item.span, "no origin", "name the switch that owns the ports");
    }
    (!origins.is_empty()).then_some(origins)
}

/// A file's name without directories and endings.
fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.split('.').find(|part| !part.is_empty()).unwrap_or(path)
}

fn defines(r: &mut Reader, item: Item<'_>) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    let defines = value::texts(r, item, "{ WIDE = 1 }")?;
    let is_macro = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (name, _) in &defines {
        if !name.value.chars().all(is_macro) || name.value.starts_with(|c: char| c.is_ascii_digit()) {
            r.bad_value(
                name.span,
                "not a macro's name",
                "letters, digits and `_`, not starting with a digit",
            );
        }
    }
    Some(defines)
}

fn shares(r: &mut Reader, item: Item<'_>) -> Option<Vec<(Spanned<String>, Spanned<Probability>)>> {
    let DeValue::Table(table) = item.value else {
        r.wrong_type(item, "a table", "{ Acl = \"20%\" }");
        return None;
    };
    let entries = r.entries(table).into_iter();
    let share = |entry: crate::section::Entry<'_>| {
        let share = value::probability(r, entry.item)?;
        let region = Spanned::new(entry.key.to_string(), entry.key_span);
        Some((region, Spanned::new(share, entry.item.span)))
    };
    Some(entries.filter_map(share).collect())
}

/// Policy and spares of the regions that say nothing, and the groups that they may name.
#[derive(Default)]
pub(crate) struct Usual<'g> {
    policy: Option<Spanned<Policy>>,
    spares: Vec<Spanned<DeviceId>>,
    groups: &'g [Group],
}

pub(crate) fn regions<'t>(
    r: &mut Reader,
    item: Item<'t>,
    usual: &Usual<'_>,
    device_of: impl Fn(&mut Reader, Item<'t>) -> Option<DeviceId>,
) -> Option<Regions> {
    let table = match item.value {
        DeValue::Table(table) => table,
        DeValue::String(word) if word == "plan" => return Some(Regions::Planned),
        _ => {
            r.wrong_type(item, "a table or \"plan\"", "{ Acl = \"nic\" }");
            return None;
        }
    };
    let entries = r.entries(table);
    let read = entries.into_iter().filter_map(|entry| {
        let region = Spanned::new(entry.key.to_string(), entry.key_span);
        if let Some(group) = group::named(usual.groups, entry.item) {
            return Placement::on_group(region, group, entry.item.span);
        }
        if !matches!(entry.item.value, DeValue::Table(_)) {
            let device = Spanned::new(device_of(r, entry.item)?, entry.item.span);
            return placement(r, region, device, None, usual);
        }
        let mut s = Section::new(r, format!("region `{}`", entry.key), entry.key_span, entry.item)?;
        let policy = s.optional(r, "policy", |r, i| value::choice(r, i, &POLICIES));
        if let Some(Spanned { value: Policy::Shard, .. }) = policy {
            let devices =
                s.required(r, "devices", "[\"nic1\", \"nic2\"]", |r, i| value::list(r, i, &device_of));
            let count = devices.as_ref().map_or(0, |devices| devices.value.len());
            let replicas = replicas(r, &mut s, count).map_or(1, |replicas| replicas.value);
            s.finish(r);
            let mut devices = devices?.value.into_iter();
            let device = devices.next()?;
            let spares = devices.collect();
            return Some(Placement { region, device, spares, policy: Policy::Shard, replicas });
        }
        let device = s.required(r, "device", "\"nic\"", &device_of);
        let spares = s.optional(r, "spares", |r, i| value::list(r, i, &device_of));
        s.finish(r);
        placement(r, region, device?, Some((policy, spares)), usual)
    });
    Some(Regions::ByHand(read.collect()))
}

/// A region's own policy and spares, if it names them.
type Own = (Option<Spanned<Policy>>, Option<Spanned<Vec<Spanned<DeviceId>>>>);

fn placement(
    r: &mut Reader,
    region: Spanned<String>,
    device: Spanned<DeviceId>,
    own: Option<Own>,
    usual: &Usual<'_>,
) -> Option<Placement> {
    let (own_policy, own_spares) = own.unwrap_or_default();
    let names_spares = own_spares.is_some();
    let policy = own_policy.as_ref().or(usual.policy.as_ref().filter(|_| !names_spares));
    let spares = match (own_spares, policy) {
        (Some(own), _) => own.value,
        // It wants another policy than the others, which have spares.
        (None, Some(Spanned { value: Policy::Direct | Policy::Call, .. })) if own_policy.is_some() => vec![],
        (None, _) => usual.spares.clone(),
    };
    match policy {
        Some(Spanned { value: Policy::Failover, span }) if spares.is_empty() => {
            let why = format!("`{}` has no spare: name some with `spares = [\"...\"]`", region.value);
            r.bad_value(*span, "nothing to fail over to", why);
            return None;
        }
        Some(Spanned { value: Policy::Direct | Policy::Call, span }) if !spares.is_empty() => {
            let why = format!("`{}` has spares, which need the policy `failover`", region.value);
            r.bad_value(*span, "a policy without spares", why);
            return None;
        }
        _ => {}
    }
    if let Some(Spanned { value: Policy::Shard, span }) = policy {
        let why = format!("write `{} = {{ devices = [...], policy = \"shard\" }}`", region.value);
        r.bad_value(*span, "nothing to divide flows among", why);
        return None;
    }
    if let Some(Spanned { value: Policy::Group, span }) = policy {
        let why = format!("write `{} = \"GROUP\"`, with the name of a `[[group]]`", region.value);
        r.bad_value(*span, "no group", why);
        return None;
    }
    let inferred = if spares.is_empty() { Policy::Direct } else { Policy::Failover };
    Some(Placement { region, device, spares, policy: policy.map_or(inferred, |p| p.value), replicas: 1 })
}

/// The map of a pinned app: its only region, at all helpers.
fn pinned_regions(pinning: &Pinning, helpers: &[Spanned<DeviceId>]) -> Regions {
    let Some((device, others)) = helpers.split_first() else { return Regions::ByHand(vec![]) };
    let policy = if others.is_empty() { Policy::Direct } else { Policy::Shard };
    let region = Spanned::new(pinning::EXTERNAL.to_string(), pinning.affinity.span);
    let (spares, replicas) = (others.to_vec(), pinning.replicas);
    Regions::ByHand(vec![Placement { region, device: *device, spares, policy, replicas }])
}

/// The number of devices of each shard, of so many devices.
pub(crate) fn replicas(r: &mut Reader, s: &mut Section<'_>, devices: usize) -> Option<Spanned<u32>> {
    let replicas = s.optional(r, "replicas", |r, i| value::small(r, i, 1..=MOST_REPLICAS))?;
    if (1..replicas.value as usize).contains(&devices) {
        let why = format!("a shard is on each of `devices` once at most: write 1 to {devices}");
        r.bad_value(replicas.span, "more replicas than devices", why);
    }
    Some(replicas)
}
