//! Packet pinning of an app (ExoPlane §3): which of its flows the switch processes, and which its helpers.
//!
//! ```toml
//! [[app]]
//! program = "firewall.p4"
//! origin = "edge"
//! affinity = "medium"           # "high": all flows at the switch; "low": all at helpers; "medium": resident flows at the switch
//! devices = ["nic1", "nic2"]    # the helpers
//! flows = 1024                  # entries of the flow manager, with "medium"; "plan": as many as the planner chooses
//! share = "25%"                 # traffic of the app, for the planner: see `demand.rs`
//! distribution = { zipf = 0.99, flows = 100000 }
//! flow_key = ["hdr.ipv4.src"]   # fields that identify a flow; default: the union key that `p4rack analyze` shows
//! shard_key = ["hdr.ipv4.src"]  # fields that select the helper; a pair ["a", "b"] is swapped in packets of the other direction
//! shards = 6                    # default: N (N - 1) for N helpers, so that the others share the flows of a failed helper equally
//! replicas = 2                  # helpers of each shard: where one fails, the next takes over; default 1: packets for a helper that has failed are lost
//!
//! promote = "auto"              # popular flows move to the switch; default: only those of `[[move]]`
//! window = "100ms"              # interval at which packets of flows are compared; default 100ms
//! idle = "2s"                   # a flow at the switch without a packet for this time moves back; default 2s
//!
//! hold = ["connections"]        # tables in which new flows have no entry: their packets wait until the controller has written it; for `p4rack switch`
//! patience = "1s"               # then packets that wait are dropped; default 1s
//!
//! [app.objects.connections]     # a table of the program, by its name or its whole control-plane name
//! entries = 65536               # its size, instead of the program's
//! resident = 1024               # entries of its copy at the switch, or "all"; default: all if it has no more than `flows`, else `flows`
//! ```

use crate::Spanned;
use crate::app;
use crate::demand::{self, Demand};
use crate::section::{Item, Reader, Section};
use crate::value;
use base_diag::Span;
use base_time::Duration;
use toml::de::DeValue;

/// The region of the flows that are not resident.
pub const EXTERNAL: &str = "external";

/// The devices that process flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affinity {
    /// All at the switch.
    High,
    /// Resident ones at the switch, the others at helpers.
    Medium,
    /// All at helpers.
    Low,
}

const AFFINITIES: [(&str, Option<Affinity>); 3] =
    [("high", Some(Affinity::High)), ("medium", Some(Affinity::Medium)), ("low", Some(Affinity::Low))];

/// How an app's flows are pinned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pinning {
    /// The devices that process flows.
    pub affinity: Spanned<Affinity>,
    /// Entries of the flow manager.
    pub flows: u64,
    /// The planner chooses `flows`; place in the file.
    pub is_planned: Option<Span>,
    /// Traffic of the app, if the file describes it.
    pub demand: Option<Demand>,
    /// Fields that identify a flow, by their names in ingress; `None`: derived from the program.
    pub flow_key: Option<Vec<Spanned<String>>>,
    /// Fields by which flows are divided among helpers; `None`: derived from the program.
    pub shard_key: Option<Vec<Spanned<ShardPart>>>,
    /// Number of shards; `None`: as many as the helpers need.
    pub shards: Option<u16>,
    /// Helpers of each shard.
    pub replicas: u32,
    /// Popular flows come to the switch; none if only moves of the file count.
    pub promote: Option<Promotion>,
    /// Packets of new flows wait for entries of these tables.
    pub hold: Vec<Spanned<String>>,
    /// Time for which they wait.
    pub patience: Duration,
    /// Sizes of tables.
    pub objects: Vec<ObjectSize>,
    /// Devices of the flows that are not resident.
    pub helpers: usize,
}

/// How popular flows are promoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promotion {
    /// Interval at which packets of flows are compared.
    pub window: Duration,
    /// A flow at the switch without a packet for so long makes room.
    pub idle: Duration,
    /// Place in the file.
    pub span: Span,
}

/// A part of a shard key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShardPart {
    /// The same in both directions.
    One(String),
    /// Two that change places in the other direction.
    Pair(String, String),
}

/// Sizes of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectSize {
    /// As written.
    pub name: Spanned<String>,
    /// Entries that it holds.
    pub entries: Option<u64>,
    /// Entries of its copy at the switch.
    pub resident: Option<Resident>,
}

/// Entries of a copy at the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resident {
    /// All of the table.
    All,
    /// At most so many.
    Most(u64),
}

/// Most entries of a table.
const MOST_ENTRIES: u64 = 1 << 32;

/// Most logical shards: each is an entry at the switch.
const MOST_SHARDS: u32 = 4096;

/// Time in which packets of flows are counted and compared.
const WINDOW: Duration = Duration::from_ms(100);

/// Time without a packet after which a flow makes room.
const IDLE: Duration = Duration::from_s(2);

/// Time that a controller has for a new flow.
const PATIENCE: Duration = Duration::from_s(1);

/// The keys of an app that say it; none if it has no affinity.
pub(crate) fn read(r: &mut Reader, s: &mut Section<'_>, helpers: usize) -> Option<Pinning> {
    let mut is_wrong = false;
    let affinity = s.optional(r, "affinity", |r, i| {
        let found = value::choice(r, i, &AFFINITIES);
        is_wrong = found.is_none();
        found
    });
    let is_medium = affinity.as_ref().is_none_or(|affinity| affinity.value == Affinity::Medium);
    let flows = match &affinity {
        Some(_) if is_medium => s.required(r, "flows", "1024", flows),
        _ => s.optional(r, "flows", flows),
    };
    let demand = demand::read(r, s);
    let flow_key = s.optional(r, "flow_key", |r, i| value::list(r, i, value::string));
    let shard_key = s.optional(r, "shard_key", |r, i| value::list(r, i, shard_part));
    let shards = s.optional(r, "shards", |r, i| value::small(r, i, 1..=MOST_SHARDS));
    let replicas = app::replicas(r, s, helpers);
    let objects = s.optional(r, "objects", objects);
    let promote = s.optional(r, "promote", |r, i| value::choice(r, i, &[("auto", Some(()))]));
    let window = s.optional(r, "window", value::interval);
    let idle = s.optional(r, "idle", value::interval);
    let hold = s.optional(r, "hold", |r, i| value::list(r, i, value::string));
    let patience = s.optional(r, "patience", value::interval);
    let Some(affinity) = affinity else {
        let keys = [
            flows.as_ref().map(|v| v.span),
            flow_key.as_ref().map(|v| v.span),
            shard_key.as_ref().map(|v| v.span),
            shards.as_ref().map(|v| v.span),
            replicas.as_ref().map(|v| v.span),
            objects.as_ref().map(|v| v.span),
            promote.as_ref().map(|v| v.span),
            window.as_ref().map(|v| v.span),
            idle.as_ref().map(|v| v.span),
            hold.as_ref().map(|v| v.span),
            patience.as_ref().map(|v| v.span),
            demand.as_ref().ok().and_then(Option::as_ref).map(|v| v.flows.span),
        ];
        for span in keys.into_iter().flatten().filter(|_| !is_wrong) {
            r.bad_value(
                span,
                "flows of an app without affinity",
                "write `affinity = \"medium\"` to pin them",
            );
        }
        return None;
    };
    match (affinity.value, helpers) {
        (Affinity::High, 1..) => {
            r.bad_value(
                affinity.span,
                "all flows are at the switch",
                "leave `devices` out, or take another affinity",
            );
        }
        (Affinity::Medium | Affinity::Low, 0) => {
            r.bad_value(
                affinity.span,
                "no helper",
                "name devices for the flows that are not at the switch: `devices = [\"nic\"]`",
            );
        }
        _ => {}
    }
    if !is_medium && let Some(flows) = &flows {
        r.bad_value(flows.span, "no flow manager", "only `affinity = \"medium\"` has one");
    }
    if !is_medium && let Some(promote) = &promote {
        r.bad_value(promote.span, "no flow moves", "only `affinity = \"medium\"` has flows at both places");
    }
    let is_planned = flows.as_ref().filter(|flows| flows.value == Flows::Planned).map(|flows| flows.span);
    if let (Some(span), Err(())) = (is_planned, &demand) {
        let why = "describe the traffic: `distribution = { zipf = 0.99, flows = 10000 }`";
        r.bad_value(span, "nothing to plan flows by", why);
    }
    for span in [&window, &idle].into_iter().flatten().map(|v| v.span).filter(|_| promote.is_none()) {
        r.bad_value(span, "no flow is promoted", "write `promote = \"auto\"`");
    }
    if !is_medium && let Some(hold) = &hold {
        r.bad_value(
            hold.span,
            "no flow waits",
            "only `affinity = \"medium\"` has a flow manager, beside which flows wait",
        );
    }
    if let (Some(patience), None) = (&patience, &hold) {
        r.bad_value(patience.span, "no flow waits", "write `hold = [\"TABLE\"]`");
    }
    let promote = promote.map(|promote| Promotion {
        window: window.map_or(WINDOW, |window| window.value),
        idle: idle.map_or(IDLE, |idle| idle.value),
        span: promote.span,
    });
    Some(Pinning {
        promote,
        affinity,
        flows: match flows.map(|flows| flows.value) {
            Some(Flows::Most(most)) => most,
            Some(Flows::Planned) | None => 0,
        },
        is_planned,
        demand: demand.ok().flatten(),
        flow_key: flow_key.map(|key| key.value),
        shard_key: shard_key.map(|key| key.value),
        shards: shards.map(|shards| shards.value as u16),
        replicas: replicas.map_or(1, |replicas| replicas.value),
        hold: hold.map_or(vec![], |hold| hold.value),
        patience: patience.map_or(PATIENCE, |patience| patience.value),
        objects: objects.map_or(vec![], |objects| objects.value),
        helpers,
    })
}

/// Entries of the flow manager, as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flows {
    Most(u64),
    Planned,
}

fn flows(r: &mut Reader, item: Item<'_>) -> Option<Flows> {
    match item.value {
        DeValue::String(word) if word == "plan" => Some(Flows::Planned),
        DeValue::Integer(_) => entries(r, item).map(Flows::Most),
        _ => {
            r.wrong_type(item, "a number of flows or \"plan\"", "1024");
            None
        }
    }
}

fn entries(r: &mut Reader, item: Item<'_>) -> Option<u64> {
    value::integer(r, item, 1..=MOST_ENTRIES)
}

fn shard_part(r: &mut Reader, item: Item<'_>) -> Option<ShardPart> {
    if !matches!(item.value, DeValue::Array(_)) {
        return value::string(r, item).map(ShardPart::One);
    }
    let parts = value::list(r, item, value::string)?;
    let [a, b] = parts.as_slice() else {
        r.bad_value(
            item.span,
            "not a pair",
            "two parts change places in the other direction of a connection",
        );
        return None;
    };
    Some(ShardPart::Pair(a.value.clone(), b.value.clone()))
}

fn objects(r: &mut Reader, item: Item<'_>) -> Option<Vec<ObjectSize>> {
    let DeValue::Table(table) = item.value else {
        r.wrong_type(item, "a table", "{ connections = { entries = 65536 } }");
        return None;
    };
    let mut found = vec![];
    for entry in r.entries(table) {
        let Some(mut s) = Section::new(r, format!("object `{}`", entry.key), entry.key_span, entry.item)
        else {
            continue;
        };
        let entries = s.optional(r, "entries", entries);
        let resident = s.optional(r, "resident", resident);
        s.finish(r);
        found.push(ObjectSize {
            name: Spanned::new(entry.key.to_string(), entry.key_span),
            entries: entries.map(|entries| entries.value),
            resident: resident.map(|resident| resident.value),
        });
    }
    Some(found)
}

fn resident(r: &mut Reader, item: Item<'_>) -> Option<Resident> {
    match item.value {
        DeValue::String(word) if word == "all" => Some(Resident::All),
        DeValue::Integer(_) => value::integer(r, item, 0..=MOST_ENTRIES).map(Resident::Most),
        _ => {
            r.wrong_type(item, "a number of entries or \"all\"", "1024");
            None
        }
    }
}
