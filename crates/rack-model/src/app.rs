//! `[[app]]`: a program, its entries, and where its regions run.
//!
//! ```toml
//! [[app]]
//! name = "router"               # default: the program's file name
//! program = "router.p4"         # beside this file
//! defines = { WIDE = 1 }        # as -D
//! include = ["lib"]             # as -I: where included files are looked for, beside this file
//! entries = "entries.stf"       # what fills the devices: STF, TOML, commands, P4Runtime updates
//! origin = "tor"                # owns the ports and the traffic manager; ["tor1", "tor2"]: each on its own, with the same helpers
//! devices = ["nic"]             # where its regions may run besides; default: what `map` names, or all devices if there is one app
//! map = { Acl = "nic" }         # what does not run at the origin; "plan": what is best by the objectives of `[plan]`
//!                               # Acl = { device = "nic", policy = "call" }: by a policy of its own
//! policy = "direct"             # after a region control goes to where it is needed next; "call": back to the device around it first
//! regions = "marked"            # what can be placed: what the program marks, or each use of a table or extern ("tables"), each
//!                               # named block and control ("blocks"), the bodies in links ("chain"), what the origin's class
//!                               # cannot do ("beyond"), or all that can be cut ("auto")
//! shares = { Acl = "20%" }      # how much of what comes in passes a region, at most; plans count on it; default: all of it
//! epoch = 1                     # the number that hand-overs of this plan carry
//! order = "keep"                # of packets of one flow: "any" if it does not matter
//! long_frames = "refuse"        # frames that are too long for a link once they are handed over: "drop" accepts their loss
//! ```
//!
//! A rack may have several apps, each on devices of its own. To one app, another app's devices are like hosts: frames
//! come from them.

use crate::names::Names;
use crate::section::{Item, Reader, Section};
use crate::value;
use crate::{DeviceId, Probability, Spanned};
use base_diag::Span;
use toml::de::DeValue;

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
    /// The device that owns ports and traffic manager.
    pub origin: Spanned<DeviceId>,
    /// Other switches that run the program for their own packets, with the same helpers.
    pub other_origins: Vec<Spanned<DeviceId>>,
    /// Other devices that it names as its own.
    pub helpers: Vec<Spanned<DeviceId>>,
    /// Placement of the regions.
    pub map: Regions,
    /// Method of finding regions.
    pub cuts: Cuts,
    /// Largest share of the app's packets that enters a region; unknown for regions not listed.
    pub shares: Vec<(Spanned<String>, Spanned<Probability>)>,
    /// The number of the plan, carried by hand-overs.
    pub epoch: u32,
    /// Frames that may be too long for a link once they are handed over are dropped there; else such a rack is refused.
    pub drops_long_frames: bool,
    /// Packets of one flow may leave in another order than they came in; else there is a warning where they may.
    pub any_order: bool,
    /// Place in the file.
    pub span: Span,
}

impl App {
    /// The devices that it names.
    pub fn devices(&self) -> impl Iterator<Item = Spanned<DeviceId>> {
        let placed = match &self.map {
            Regions::ByHand(map) => map.as_slice(),
            Regions::Planned => &[],
        };
        let placed = placed.iter().map(|placement| &placement.device);
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
    /// How control leaves it.
    pub policy: Policy,
}

/// Device that continues after a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Control passes directly to the device of the next section.
    #[default]
    Direct,
    /// Back to the device around the region, which called it.
    Call,
}

const POLICIES: [(&str, Option<Policy>); 5] = [
    ("direct", Some(Policy::Direct)),
    ("call", Some(Policy::Call)),
    ("failover", None),
    ("shard", None),
    ("group", None),
];

const RUNTIMES: [(&str, Option<()>); 3] =
    [("full", Some(())), ("headerless", None), ("headerless-ipv4", None)];

const ORDERS: [(&str, Option<bool>); 2] = [("keep", Some(false)), ("any", Some(true))];

const LONG_FRAMES: [(&str, Option<bool>); 2] = [("refuse", Some(false)), ("drop", Some(true))];

pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names) -> Option<App> {
    let mut s = Section::new(r, "this app".to_string(), item.span, item)?;
    let name = s.optional(r, "name", value::name);
    let program = s.required(r, "program", "\"router.p4\"", value::string);
    let defines = s.optional(r, "defines", defines);
    let include = s.optional(r, "include", |r, i| value::list(r, i, value::string));
    let entries = s.optional(r, "entries", value::string);
    let device = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.device(r, Spanned::new(name.as_str(), i.span))
    };
    let origins = s.required(r, "origin", "\"tor\"", |r, i| origins(r, i, device));
    let helpers = s.optional(r, "devices", |r, i| value::list(r, i, device));
    let policy = s.optional(r, "policy", |r, i| value::choice(r, i, &POLICIES));
    let usual = policy.as_ref().map_or(Policy::Direct, |p| p.value);
    let map = s.optional(r, "map", |r, i| regions(r, i, usual, device));
    if let (Some(Spanned { value: Regions::Planned, .. }), Some(Spanned { value: Policy::Call, span })) =
        (&map, &policy)
    {
        r.bad_value(*span, "planned regions cannot be called", "plans support only the policy `direct`");
    }
    let cuts = s.optional(r, "regions", |r, i| value::choice(r, i, &CUTS));
    let shares = s.optional(r, "shares", shares);
    let epoch = s.optional(r, "epoch", |r, i| value::small(r, i, 0..=255));
    s.optional(r, "runtime", |r, i| value::choice(r, i, &RUNTIMES));
    let long_frames = s.optional(r, "long_frames", |r, i| value::choice(r, i, &LONG_FRAMES));
    let any_order = s.optional(r, "order", |r, i| value::choice(r, i, &ORDERS));
    for key in ["traffic", "objective"] {
        s.later(r, key);
    }
    s.finish(r);
    let program = program?;
    let mut origins = origins?.value.into_iter();
    Some(App {
        name: name.unwrap_or_else(|| program.clone().map(|path| stem(&path).to_string())),
        program,
        defines: defines.map_or(vec![], |d| d.value),
        include: include.map_or(vec![], |i| i.value),
        entries,
        origin: origins.next()?,
        other_origins: origins.collect(),
        helpers: helpers.map_or(vec![], |h| h.value),
        map: map.map_or(Regions::ByHand(vec![]), |m| m.value),
        cuts: cuts.map_or(Cuts::Marked, |c| c.value),
        shares: shares.map_or(vec![], |shares| shares.value),
        epoch: epoch.map_or(1, |e| e.value),
        drops_long_frames: long_frames.is_some_and(|l| l.value),
        any_order: any_order.is_some_and(|o| o.value),
        span: item.span,
    })
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

pub(crate) fn regions<'t>(
    r: &mut Reader,
    item: Item<'t>,
    usual: Policy,
    device: impl Fn(&mut Reader, Item<'t>) -> Option<DeviceId>,
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
        if !matches!(entry.item.value, DeValue::Table(_)) {
            let device = Spanned::new(device(r, entry.item)?, entry.item.span);
            return Some(Placement { region, device, policy: usual });
        }
        let mut s = Section::new(r, format!("region `{}`", entry.key), entry.key_span, entry.item)?;
        let device = s.required(r, "device", "\"nic\"", &device);
        let policy = s.optional(r, "policy", |r, i| value::choice(r, i, &POLICIES));
        s.finish(r);
        Some(Placement { region, device: device?, policy: policy.map_or(usual, |p| p.value) })
    });
    Some(Regions::ByHand(read.collect()))
}
