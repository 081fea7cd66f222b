//! `[[group]]`: servers that share the flows of handlers and regions. `[[membership]]`: servers that are added and removed while the rack runs.
//!
//! ```toml
//! [[group]]
//! name = "nat"                  # as handlers (`@remote(group = "nat")`) and maps (`map = { Count = "nat" }`) name it
//! servers = ["s1", "s2", "s3"]  # devices that may be members, 64 at most
//! members = ["s1", "s2"]        # at first; default: all servers
//! idle = "130s"                 # a flow without packets for this time has ended; longer than any handler keeps its state
//! variant = "exact"             # each packet of a flow reaches the server that has its state; "pin": for handlers that keep no state of a
//!                               # flow (`keeps = "0s"`): buckets move at once, and `idle` is left out; "bloom": CLIP's two Bloom filters, which
//!                               # break some flows
//! cells = 131072                # with "bloom": of each of a filter's two arrays, a power of two
//! buckets = 1024                # new flows of handlers are hashed into this many buckets, a power of two; a region states its number in `@flow`
//! dedup = true                  # a call that a link doubles is handled once and answered once; default false
//! max_age = "1ms"               # a server drops calls that have waited for it for longer; default: never
//! patience = "200us"            # a question between servers is repeated after this time; must exceed the longest round trip
//! settle = "1ms"                # a server that has lost a bucket is asked for its flows at this interval
//! hold = "1ms"                  # a server that has not answered for this time has failed
//!                               # defaults of `p4rack switch`, where devices are processes: 50 ms, 200 ms, 1 s
//! scale = { capacity = 100000 } # the group grows and shrinks by itself; a server can do this many calls a second. Other keys and their
//!                               # defaults: up = 0.75, up_for = "2s", down = 0.3, down_for = "30s", cooldown = "10s", min = 1,
//!                               # max: all servers, weights = false (true: fewer new flows for members with more load)
//!
//! [[membership]]
//! group = "nat"
//! at = "5ms"
//! add = "s3"                    # or `remove`: it gets no new flows, and leaves after its last one; or `drain`: it gets no new flows, and stays
//! weight = 2                    # share of new flows of a server that is added; default 1
//! ```
//!
//! The failure of a server is a `[[fault]]` of kind `device-down`. A server that returns is a member again.

use crate::names::Names;
use crate::section::{Item, Reader, Section, unknown_name};
use crate::{DeviceId, NodeId, Spanned, value};
use base_diag::codes::rack as codes;
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Time};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use toml::de::DeValue;

/// Servers of a group at most.
const MOST_SERVERS: usize = 64;

/// Cells of an array of a Bloom filter at most.
const MOST_CELLS: u32 = 1 << 20;

/// Buckets of a group at most.
const MOST_BUCKETS: u32 = 1 << 16;

/// Servers that share flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Name of the group.
    pub name: Spanned<String>,
    /// Devices that may be members; a member's number is its place here.
    pub servers: Vec<Spanned<DeviceId>>,
    /// Members at first.
    pub members: Vec<DeviceId>,
    /// A flow without packets for so long has ended.
    pub idle: Spanned<Duration>,
    /// How flows keep their server.
    pub variant: Variant,
    /// The group grows and shrinks by itself.
    pub scale: Option<Scale>,
    /// A call that comes twice, or is answered twice, counts once.
    pub dedup: bool,
    /// Servers drop calls that have waited for longer.
    pub max_age: Option<Duration>,
    /// Buckets of flows of handlers.
    pub buckets: u32,
    /// Times in virtual time, or of processes after [`Rack::of_processes`](crate::Rack::of_processes).
    pub pace: Pace,
    /// Times where devices are processes.
    pub pace_of_processes: Pace,
    /// Place in the file.
    pub span: Span,
}

/// How flows of a group keep their server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// Each packet of a flow reaches the server that has its state.
    Exact,
    /// Servers keep nothing of a flow.
    Pin,
    /// Two Bloom filters tell old flows from new ones; some flows break.
    Bloom {
        /// Cells of each of a filter's two arrays: a power of two.
        cells: u32,
    },
}

/// When a group grows and shrinks by itself. Loads are in thousandths of `capacity`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Calls a second that a server can do.
    pub capacity: u64,
    /// The group grows if the mean load was above this for `up_for`.
    pub up: u32,
    /// See `up`.
    pub up_for: Duration,
    /// The group shrinks if the mean load was below this for `down_for`.
    pub down: u32,
    /// See `down`.
    pub down_for: Duration,
    /// Nothing changes for so long after a change.
    pub cooldown: Duration,
    /// Members at least.
    pub min: u32,
    /// Members at most.
    pub max: u32,
    /// Members with more load get fewer new flows.
    pub weighs: bool,
}

/// Times of a group that depend on how fast its devices answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// A question between servers is asked again after so long.
    pub patience: Duration,
    /// A server that has lost a bucket is asked for its flows after so long.
    pub settle: Duration,
    /// A server that has been away for so long is dead.
    pub hold: Duration,
}

const EMULATED: Pace =
    Pace { patience: Duration::from_us(200), settle: Duration::from_ms(1), hold: Duration::from_ms(1) };

/// A process that waits for a processor is not dead.
const PROCESSES: Pace =
    Pace { patience: Duration::from_ms(50), settle: Duration::from_ms(200), hold: Duration::from_ms(1_000) };

/// A change of a group's members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Membership {
    /// Place of the group in the rack's list.
    pub group: usize,
    /// When it is asked for.
    pub at: Time,
    /// The server that comes or goes.
    pub server: Spanned<DeviceId>,
    /// The change.
    pub change: MemberChange,
}

/// A change of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberChange {
    /// The server gets new flows, by its weight.
    Add {
        /// Buckets are shared out by weight.
        weight: u32,
    },
    /// The server gets no new flows, and leaves after its last one.
    Remove,
    /// The server gets no new flows, and stays.
    Drain,
}

impl Group {
    /// The number of a server in the group.
    pub fn number(&self, server: DeviceId) -> Option<usize> {
        self.servers.iter().position(|known| known.value == server)
    }
}

/// The group that a value of a map names.
pub(crate) fn named<'g>(groups: &'g [Group], item: Item<'_>) -> Option<&'g Group> {
    let DeValue::String(name) = item.value else { return None };
    groups.iter().find(|group| group.name.value == **name)
}

const VARIANTS: [(&str, Option<Variant>); 3] = [
    ("exact", Some(Variant::Exact)),
    ("pin", Some(Variant::Pin)),
    // As large as those in CLIP's table II.
    ("bloom", Some(Variant::Bloom { cells: 1 << 17 })),
];

/// `known` are the groups before this one.
pub(crate) fn read(r: &mut Reader, item: Item<'_>, names: &Names, known: &[Group]) -> Option<Group> {
    let mut s = Section::new(r, "this group".to_string(), item.span, item)?;
    let device = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.device(r, Spanned::new(name.as_str(), i.span))
    };
    let name = s.required(r, "name", "\"nat\"", value::name);
    let servers = s.required(r, "servers", "[\"s1\", \"s2\"]", |r, i| value::list(r, i, device));
    let members = s.optional(r, "members", |r, i| value::list(r, i, device));
    let variant = s.optional(r, "variant", |r, i| value::choice(r, i, &VARIANTS));
    let mut variant = variant.map_or(Variant::Exact, |variant| variant.value);
    let idle = match variant == Variant::Pin {
        false => s.required(r, "idle", "\"10s\"", value::interval),
        true => {
            if let Some(idle) = s.optional(r, "idle", value::interval) {
                r.bad_value(idle.span, "`idle` of a group that remembers no flows", "leave it out");
            }
            // No flow is remembered, so none ends: any value does.
            Some(Spanned::new(Duration::from_ms(1_000), item.span))
        }
    };
    let wanted = s.optional(r, "cells", |r, i| {
        let range = 2..=MOST_CELLS;
        power_of_two(r, i, range, "the index of a cell is bits of a hash")
    });
    match (&mut variant, wanted) {
        (Variant::Bloom { cells }, Some(wanted)) => *cells = wanted.value,
        (Variant::Exact | Variant::Pin, Some(wanted)) => {
            r.bad_value(
                wanted.span,
                "`cells` of a group without filters",
                "only `variant = \"bloom\"` has some",
            );
        }
        (_, None) => {}
    }
    let mut scale = s.optional(r, "scale", scale);
    let buckets = s.optional(r, "buckets", buckets);
    let dedup = s.optional(r, "dedup", value::boolean);
    let max_age = s.optional(r, "max_age", value::interval);
    let patience = s.optional(r, "patience", value::interval);
    let settle = s.optional(r, "settle", value::interval);
    let hold = s.optional(r, "hold", value::interval);
    s.finish(r);
    let (name, servers) = (name?, servers?);
    let before = r.diagnostics.error_count();
    check_name(r, &name, names, known);
    check_servers(r, &servers, known);
    if let Some(Spanned { value: scale, span }) = &mut scale {
        scale.max = scale.max.min(servers.value.len() as u32);
        if scale.max < scale.min {
            let why = format!("it has {} servers", servers.value.len());
            r.bad_value(*span, "the group can never have `min` members", why);
        }
    }
    let members = members.map_or_else(
        || servers.value.iter().map(|server| server.value).collect(),
        |members| check_members(r, &members, &servers.value, names),
    );
    if r.diagnostics.error_count() > before {
        return None;
    }
    let over = |usual: Pace| Pace {
        patience: patience.as_ref().map_or(usual.patience, |patience| patience.value),
        settle: settle.as_ref().map_or(usual.settle, |settle| settle.value),
        hold: hold.as_ref().map_or(usual.hold, |hold| hold.value),
    };
    Some(Group {
        name,
        servers: servers.value,
        members,
        idle: idle?,
        variant,
        scale: scale.map(|scale| scale.value),
        dedup: dedup.is_some_and(|dedup| dedup.value),
        max_age: max_age.map(|age| age.value),
        buckets: buckets.map_or(1024, |buckets| buckets.value),
        pace: over(EMULATED),
        pace_of_processes: over(PROCESSES),
        span: item.span,
    })
}

fn scale(r: &mut Reader, item: Item<'_>) -> Option<Scale> {
    let mut s = Section::new(r, "this `scale`".to_string(), item.span, item)?;
    let capacity = s.required(r, "capacity", "100000", |r, i| value::integer(r, i, 1..=1_000_000_000_000));
    let up = s.optional(r, "up", value::thousandths);
    let up_for = s.optional(r, "up_for", value::interval);
    let down = s.optional(r, "down", value::thousandths);
    let down_for = s.optional(r, "down_for", value::interval);
    let cooldown = s.optional(r, "cooldown", value::interval);
    let members = 1..=MOST_SERVERS as u32;
    let min = s.optional(r, "min", |r, i| value::small(r, i, members.clone()));
    let max = s.optional(r, "max", |r, i| value::small(r, i, members.clone()));
    let weighs = s.optional(r, "weights", value::boolean);
    s.finish(r);
    let scale = Scale {
        capacity: capacity?.value,
        up: up.map_or(750, |up| up.value),
        up_for: up_for.map_or(Duration::from_s(2), |time| time.value),
        down: down.as_ref().map_or(300, |down| down.value),
        down_for: down_for.map_or(Duration::from_s(30), |time| time.value),
        cooldown: cooldown.map_or(Duration::from_s(10), |time| time.value),
        min: min.map_or(1, |min| min.value),
        max: max.map_or(MOST_SERVERS as u32, |max| max.value),
        weighs: weighs.is_some_and(|weighs| weighs.value),
    };
    if scale.down >= scale.up {
        let why = "it would grow and shrink for ever: let `down` be less";
        r.bad_value(down.map_or(item.span, |down| down.span), "`down` is not less than `up`", why);
        return None;
    }
    Some(scale)
}

fn buckets(r: &mut Reader, item: Item<'_>) -> Option<u32> {
    power_of_two(r, item, 1..=MOST_BUCKETS, "flows are divided by the lowest bits of a hash")
}

fn power_of_two(r: &mut Reader, item: Item<'_>, range: RangeInclusive<u32>, why: &str) -> Option<u32> {
    let number = value::small(r, item, range)?;
    if !number.is_power_of_two() {
        r.bad_value(item.span, "not a power of two", why);
        return None;
    }
    Some(number)
}

fn refuse(title: impl Into<String>, span: Span, why: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::BAD_VALUE, title).at(span, why)
}

fn check_name(r: &mut Reader, name: &Spanned<String>, names: &Names, known: &[Group]) {
    if names.has(&name.value) {
        let title = format!("`{}` is both a group and a device or host", name.value);
        r.push(refuse(title, name.span, "handlers and maps name groups and devices alike"));
    }
    if let Some(first) = known.iter().find(|group| group.name.value == name.value) {
        let title = format!("group `{}` is described twice", name.value);
        r.push(refuse(title, name.span, "used again here").at(first.name.span, "first used here"));
    }
}

fn check_servers(r: &mut Reader, servers: &Spanned<Vec<Spanned<DeviceId>>>, known: &[Group]) {
    if servers.value.is_empty() && !r.diagnostics.has_errors() {
        r.push(
            refuse("the group has no servers", servers.span, "no server would get its packets")
                .help("name the devices that may be members: `servers = [\"s1\", \"s2\"]`"),
        );
    }
    if servers.value.len() > MOST_SERVERS {
        let why = format!("these are {}", servers.value.len());
        r.push(refuse(format!("a group has {MOST_SERVERS} servers at most"), servers.span, why));
    }
    for (at, server) in servers.value.iter().enumerate() {
        if let Some(first) = servers.value[..at].iter().find(|first| first.value == server.value) {
            r.push(
                refuse("a server is named twice", server.span, "again").at(first.span, "first named here"),
            );
        }
        let other = known.iter().find(|group| group.number(server.value).is_some());
        if let Some(other) = other {
            let title = format!("this server is also of group `{}`", other.name.value);
            r.push(
                refuse(title, server.span, "a device is of one group")
                    .help("place what both groups run on one group"),
            );
        }
    }
}

fn check_members(
    r: &mut Reader,
    members: &Spanned<Vec<Spanned<DeviceId>>>,
    servers: &[Spanned<DeviceId>],
    names: &Names,
) -> Vec<DeviceId> {
    if members.value.is_empty() && !r.diagnostics.has_errors() {
        r.push(
            refuse("the group has no members", members.span, "no server would get its packets at first")
                .help("name at least one server, or leave `members` out: all are members then"),
        );
    }
    let mut found = vec![];
    // A list of servers that is empty is refused itself.
    for member in members.value.iter().filter(|_| !servers.is_empty()) {
        let name = names.name(NodeId::Device(member.value));
        if !servers.iter().any(|server| server.value == member.value) {
            let title = format!("`{name}` is no server of this group");
            r.push(refuse(title, member.span, "only servers can be members").help("add it to `servers`"));
        } else if found.contains(&member.value) {
            r.push(refuse(format!("member `{name}` is named twice"), member.span, "again"));
        } else {
            found.push(member.value);
        }
    }
    found
}

pub(crate) fn read_membership(
    r: &mut Reader,
    item: Item<'_>,
    names: &Names,
    groups: &[Group],
    has_all: bool,
) -> Option<Membership> {
    let mut s = Section::new(r, "this change".to_string(), item.span, item)?;
    let group = s.required(r, "group", "\"nat\"", |r, i| {
        let name = value::string(r, i)?;
        let at = groups.iter().position(|group| group.name.value == name);
        if at.is_none() && has_all {
            let known = groups.iter().map(|group| group.name.value.as_str());
            let title = format!("unknown group `{}`", name.escape_debug());
            r.push(unknown_name(title, Spanned::new(name.as_str(), i.span), known));
        }
        at
    });
    let at = s.required(r, "at", "\"5ms\"", value::time);
    let device = |r: &mut Reader, i: Item<'_>| {
        let name = value::string(r, i)?;
        names.device(r, Spanned::new(name.as_str(), i.span))
    };
    let before = r.diagnostics.error_count();
    let add = s.optional(r, "add", device);
    let remove = s.optional(r, "remove", device);
    let drain = s.optional(r, "drain", device);
    let weight = s.optional(r, "weight", |r, i| value::small(r, i, 1..=1_000_000));
    s.finish(r);
    if let (None, Some(weight)) = (&add, &weight) {
        r.bad_value(weight.span, "a weight of a server that is not added", "leave it out");
    }
    let weight = weight.map_or(1, |weight| weight.value);
    let wanted =
        [(add, MemberChange::Add { weight }), (remove, MemberChange::Remove), (drain, MemberChange::Drain)];
    let mut wanted = wanted.into_iter().filter_map(|(server, change)| Some((server?, change)));
    let Some((server, change)) = wanted.next() else {
        if r.diagnostics.error_count() == before {
            let problem = Diagnostic::error(codes::BAD_VALUE, "no server comes or goes");
            r.push(
                problem
                    .at(item.span, "this changes nothing")
                    .help("write `add = \"SERVER\"`, `remove = \"SERVER\"` or `drain = \"SERVER\"`"),
            );
        }
        return None;
    };
    if let Some((other, _)) = wanted.next() {
        let problem = Diagnostic::error(codes::BAD_VALUE, "one change at a time");
        r.push(
            problem
                .at(other.span, "this is another change")
                .help("write another `[[membership]]`; it may have the same time"),
        );
        return None;
    }
    let (group, at) = (group?.value, at?.value);
    if groups[group].number(server.value).is_none() {
        let name = names.name(NodeId::Device(server.value));
        let title = format!("`{name}` is no server of group `{}`", groups[group].name.value);
        let problem = Diagnostic::error(codes::BAD_VALUE, title).at(server.span, "not named by the group");
        r.push(problem.help("add it to the group's `servers`").at(groups[group].span, "this group"));
        return None;
    }
    Some(Membership { group, at, server, change })
}

/// Changes that cannot be, in the order of their times: a member that is added again, one that goes and is none, the last one that takes
/// flows.
pub(crate) fn check(r: &mut Reader, groups: &[Group], memberships: &[Membership], names: &Names) {
    let mut changes: Vec<&Membership> = memberships.iter().collect();
    // A stable sort: changes of one time are made in the order of the file.
    changes.sort_by_key(|change| change.at);
    for (at, group) in groups.iter().enumerate() {
        let mut taking: BTreeSet<DeviceId> = group.members.iter().copied().collect();
        let mut draining: BTreeSet<DeviceId> = BTreeSet::new();
        for Membership { server, change, .. } in changes.iter().filter(|change| change.group == at) {
            let name = names.name(NodeId::Device(server.value));
            let refuse =
                |title: String, why: &str| Diagnostic::error(codes::BAD_VALUE, title).at(server.span, why);
            let takes = taking.contains(&server.value);
            match change {
                MemberChange::Add { .. } if takes => {
                    r.push(refuse(format!("`{name}` is a member already"), "added again"));
                }
                MemberChange::Add { .. } => {
                    draining.remove(&server.value);
                    taking.insert(server.value);
                }
                MemberChange::Remove | MemberChange::Drain if !takes && !draining.contains(&server.value) => {
                    r.push(refuse(format!("`{name}` is no member then"), "it cannot go"));
                }
                MemberChange::Remove | MemberChange::Drain if takes && taking.len() == 1 => {
                    let title = format!("the last member of group `{}` cannot go", group.name.value);
                    r.push(
                        refuse(title, "no server would be left that takes new flows")
                            .help("add another server before"),
                    );
                }
                MemberChange::Remove | MemberChange::Drain => {
                    taking.remove(&server.value);
                    draining.insert(server.value);
                }
            }
        }
    }
}
