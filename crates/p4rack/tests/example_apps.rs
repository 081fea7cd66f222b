//! The example apps with their controllers on racks: flows move between the switch and two helpers by themselves while controllers write, a helper fails, and what
//! must be true of each app is true, as on one device (`app-trials`).

use crate::moves::load;
use crate::running_flows::{Rig, write};
use app_trials::frames::{Flow, UDP, packet};
use app_trials::network::{Engine, Network, OneDevice, Report, bits, entry, route, routed};
use app_trials::traffic::{Sizes, Traffic};
use app_trials::{acl, firewall, nat, net_cache, syn_proxy, univmon, vpn};
use base_bits::Bits;
use base_time::{Duration, Time};
use control_writes::{Count, Data, Entry, EntryKey, Run, Write};
use dataplane_api::Device as _;
use device_control::Direct;
use ir::{Name, Program};
use p4rack::rack::Racked;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{
    DigestEntry, DigestListAck, Entity, Update, digest_entry, entity::Entity as Kind, p4_data::Data as Value,
    stream_message_request::Update as Asked, stream_message_response::Update as Message, update::Type,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A switch, two helpers, and an app on them. `more` are further keys of it.
fn rack(app: &str, more: &str) -> Racked {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/apps");
    let mut text = "[rack]\nseed = 1\n[device.edge]\nclass = \"switch\"\n[device.nic1]\nclass = \"smartnic\"\n[device.nic2]\nclass = \"smartnic\"\n".to_string();
    for host in 1..4 {
        text += &format!(
            "[host.h{host}]\nmac = \"02:00:00:00:00:{host:02}\"\nip = \"10.0.{host}.1/24\"\n\
             [[link]]\nends = [\"h{host}\", \"edge:{host}\"]\nrate = \"1Gbit/s\"\ndelay = \"1us\"\n"
        );
    }
    for helper in [1, 2] {
        text += &format!(
            "[[link]]\nends = [\"nic{helper}:1\", \"edge:{}\"]\nrate = \"10Gbit/s\"\ndelay = \"1us\"\nmtu = 2000\n",
            4 + helper
        );
    }
    text += &format!(
        "[[app]]\nname = \"app\"\nprogram = \"{}\"\norigin = \"edge\"\n{more}",
        apps.join(format!("{app}.p4")).display()
    );
    load(&text, &format!("example-{app}"))
}

/// Flows on a switch and helpers; windows of popularity are so long.
fn medium(flows: u32, window: &str) -> String {
    format!(
        "devices = [\"nic1\", \"nic2\"]\naffinity = \"medium\"\nflows = {flows}\norder = \"any\"\npromote = \"auto\"\nwindow = \"{window}\"\nidle = \"30s\"\n[app.objects.routes]\nresident = \"all\"\n"
    )
}

/// A rack as the network of an app.
struct Pinned {
    rig: Rig<Direct>,
    whole: Arc<Program>,
    /// Names of digests, and the copies of counters.
    digests: BTreeMap<u32, String>,
    copies: BTreeMap<Name, Name>,
    /// Actions of the entries that there are.
    entries: BTreeMap<(Name, EntryKey), Run<Name>>,
    frames: u64,
    fails_at: u64,
    /// Time before each frame.
    step: Duration,
}

/// Time between the frames of trials in which no time passes otherwise.
const STEP: Duration = Duration::from_us(20);

impl Pinned {
    /// The rack; its first helper fails after so many frames.
    fn new(racked: &Racked, fails_at: u64) -> Pinned {
        let whole = Arc::clone(&racked.apps[0].whole);
        let mut rig = Rig::new(racked, Direct);
        let info = p4info::p4info(&whole).expect("it has a P4Info");
        let mut digests = BTreeMap::new();
        for digest in &info.digests {
            let preamble = digest.preamble.clone().unwrap_or_default();
            let config = digest_entry::Config { max_list_size: 1, ..Default::default() };
            let entry = DigestEntry { digest_id: preamble.id, config: Some(config) };
            let entity = Entity { entity: Some(Kind::DigestEntry(entry)) };
            let update = Update { r#type: Type::Insert as i32, entity: Some(entity) };
            assert_eq!(rig.done(write(vec![update], Atomicity::ContinueOnError)), Ok(()));
            digests.insert(preamble.id, preamble.name);
        }
        let copied = racked.apps[0].pinned.iter().flat_map(|one| &one.pinned.objects);
        let copies = copied.map(|copy| (copy.original.clone(), copy.resident.clone())).collect();
        Pinned {
            rig,
            whole,
            digests,
            copies,
            entries: BTreeMap::new(),
            frames: 0,
            fails_at,
            step: Duration::ZERO,
        }
    }

    /// The first helper is given up: its shards are the other's.
    fn fail(&mut self) {
        let edge = self.rig.rack.devices().next().expect("there is a switch");
        let mut switch = edge.switch();
        let map = switch.tables().find(|table| table.ends_with("p4rack_shard.map")).map(str::to_string);
        let map = map.expect("flows are sharded");
        let mut moved = 0;
        for mut entry in switch.table_entries(&map).expect("it is there") {
            let Run::Action(call) = &mut entry.run else { continue };
            if call.args[0].low_u64() == 1 {
                call.args[0] = Bits::new(call.args[0].width(), 2);
                let to = Some(Box::new(Entry::new(entry.run)));
                let write = Write::Entry { table: map.as_str().into(), key: entry.key, to, count: None };
                switch.write(&write, Time::ZERO).expect("the entry is there");
                moved += 1;
            }
        }
        assert!(moved > 0);
    }

    /// Frames that each device has received.
    fn received(&mut self) -> Vec<u64> {
        self.rig.rack.devices().map(|device| device.switch().counters().received).collect()
    }
}

impl Network for Pinned {
    fn frame(&mut self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.pass(self.step);
        self.frames += 1;
        if self.frames == self.fails_at {
            self.fail();
        }
        self.rig.frame(port, frame)
    }

    fn reports(&mut self) -> Vec<Report> {
        // Reports wait for the next tick.
        self.rig.pass(Duration::ZERO);
        let mut all = vec![];
        for message in std::mem::take(&mut self.rig.sent) {
            let Some(Message::Digest(list)) = message.update else { continue };
            let name = &self.digests[&list.digest_id];
            all.extend(list.data.iter().map(|data| (name.clone(), fields(data.data.as_ref()))));
            let ack = DigestListAck { digest_id: list.digest_id, list_id: list.list_id };
            self.rig.say(Asked::DigestAck(ack));
        }
        all
    }

    fn write(&mut self, one: Write<Name>) -> Result<(), String> {
        // By P4Runtime each of 65,536 cells is written, which takes longer than the packets of a window.
        if features::is_long()
            && let Write::RegisterReset { .. } = &one
        {
            let edge = self.rig.rack.devices().next().ok_or("there is no switch")?;
            let mut switch = edge.switch();
            return switch.write(&one, Time::ZERO).map_err(|error| error.message);
        }
        let (mut one, mut kind) = (one, Type::Modify);
        if let Write::Entry { table, key, to, .. } = &mut one {
            let at = (table.clone(), key.clone());
            kind = match (&to, self.entries.get(&at)) {
                (Some(_), None) => Type::Insert,
                (Some(_), Some(_)) => Type::Modify,
                (None, Some(run)) => {
                    *to = Some(Box::new(control_writes::Entry::new(run.clone())));
                    Type::Delete
                }
                (None, None) => return Ok(()),
            };
            match to.as_ref().filter(|_| kind != Type::Delete) {
                Some(entry) => drop(self.entries.insert(at, entry.run.clone())),
                None => drop(self.entries.remove(&at)),
            }
        }
        let mut updates =
            device_control::updates(&[one], &self.whole).map_err(|found| format!("{found:?}"))?;
        updates.iter_mut().for_each(|update| update.set_type(kind));
        self.rig.done(write(updates, Atomicity::ContinueOnError)).map_err(|status| format!("{status:?}"))
    }

    fn count(&mut self, counter: &str, index: u64) -> Count {
        let copy = self.copies.get(&Name::from(counter)).cloned();
        let names = [Some(Name::from(counter)), copy];
        let mut sum = Count::default();
        for device in self.rig.rack.devices() {
            for name in names.iter().flatten() {
                let one = device.switch().counter_read(name, index).unwrap_or_default();
                sum = Count { packets: sum.packets + one.packets, bytes: sum.bytes + one.bytes };
            }
        }
        sum
    }

    fn cell(&mut self, register: &str, index: u64) -> u128 {
        let mut cells = self.rig.rack.devices().filter_map(|device| {
            match device.switch().register_data(register, index) {
                Ok(Some(Data::Bits(bits))) => Some(bits.low_u128()),
                _ => None,
            }
        });
        cells.next().unwrap_or(0)
    }

    fn pass(&mut self, span: Duration) {
        let until = self.rig.now + span;
        while self.rig.now < until {
            self.rig.pass(until.since(self.rig.now));
        }
    }
}

/// The numbers of a digest.
fn fields(data: Option<&Value>) -> Vec<u128> {
    match data {
        Some(Value::Bitstring(bytes)) => {
            vec![bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))]
        }
        Some(Value::Struct(all) | Value::Tuple(all)) => {
            all.members.iter().flat_map(|member| fields(member.data.as_ref())).collect()
        }
        _ => vec![],
    }
}

/// The long form has a million packets; `P4RACK_PARTS` divides it among processes with other seeds.
fn many(few: u64, all: u64) -> u64 {
    if features::is_long() { all / features::setting("P4RACK_PARTS", 1) } else { few }
}

/// Seed of the trials: processes with other ones run other packets.
fn seed() -> u64 {
    features::setting("P4RACK_SEED", 1)
}

/// Runs a trial on a rack whose first helper fails half way. Packets went to the switch and both helpers, and flows moved.
fn through<T: std::fmt::Debug>(
    app: &str,
    more: &str,
    half: u64,
    trial: impl Fn(&mut Pinned) -> Result<T, String>,
) -> T {
    through_in(Duration::ZERO, (app, more), half, trial)
}

/// The same with time between frames.
fn through_in<T: std::fmt::Debug>(
    step: Duration,
    (app, more): (&str, &str),
    half: u64,
    trial: impl Fn(&mut Pinned) -> Result<T, String>,
) -> T {
    let racked = rack(app, more);
    let mut on = Pinned { step, ..Pinned::new(&racked, half) };
    let outcome = trial(&mut on).unwrap_or_else(|why| panic!("{app}: {why}"));
    let (shown, received) = (on.rig.app(), on.received());
    println!(
        "{app}: {outcome:?}; {} frames, {received:?} received, {} promoted, {} demoted, {} at the switch",
        on.frames, shown.promoted, shown.demoted, shown.resident
    );
    assert!(on.frames > half, "the helper has not failed");
    assert!(shown.promoted > 5 && shown.demoted > 0, "flows have not moved: {shown:?}");
    let [edge, one, other] = received[..] else { panic!("three devices") };
    // Packets of flows at the switch go to no helper, all others to one of them, and back.
    let helped = one + other;
    assert!(one > 0 && other > one && edge - helped == on.frames && helped < on.frames, "{received:?}");
    outcome
}

/// One device with the app.
fn alone(app: &str) -> OneDevice {
    OneDevice::of(app, Engine::Native).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn the_gateway_is_the_same_on_a_rack() {
    let packets = many(3000, 1_000_000);
    let on_rack = through("vpn", &medium(4, "500us"), packets / 2, |on| vpn::trial(on, packets, seed()));
    assert_eq!(vpn::trial(&mut alone("vpn"), packets, seed()), Ok(on_rack));
}

#[test]
fn verdicts_are_the_same_on_a_rack() {
    let packets = many(3000, 1_000_000);
    let more = format!("shard_key = [[\"hdr.ipv4.src\", \"hdr.ipv4.dst\"]]\n{}", medium(12, "10ms"));
    let on_rack = through_in(STEP, ("acl", &more), packets / 2, |on| acl::trial(on, packets, seed()));
    assert_eq!(acl::trial(&mut alone("acl"), packets, seed()), Ok(on_rack));
}

#[test]
fn answers_pass_a_firewall_on_a_rack() {
    let packets = many(3000, 1_000_000);
    // A table whose entries have counters is copied whole.
    let more = medium(12, "5ms") + "[app.objects.sources]\nresident = \"all\"\n";
    let on_rack =
        through_in(STEP, ("firewall", &more), packets / 2, |on| firewall::trial(on, packets, seed()));
    assert_eq!(firewall::trial(&mut alone("firewall"), packets, seed()), Ok(on_rack));
}

/// ExoPlane's first packet (T3): it waits for its entry, which both replicas of its shard have in the same moment.
#[test]
fn a_held_packet_waits_for_no_second_replica() {
    let more = "devices = [\"nic1\", \"nic2\"]\naffinity = \"medium\"\nflows = 12\norder = \"any\"\nreplicas = 2\n\
                hold = [\"outbound\"]\n[app.objects]\nroutes = { resident = \"all\" }\nsources = { resident = \"all\" }\n";
    let racked = rack("firewall", more);
    let mut on = Pinned::new(&racked, 0);
    on.write(route("FirewallIngress", 0, 0, 2)).expect("a route");
    let is_inside = Some(("FirewallIngress.is_inside", vec![]));
    on.write(entry("FirewallIngress.sides", &[bits(9, 1u32)], is_inside)).expect("a side");
    let flow = Flow { protocol: UDP, src: (0x0a01_0001, 4000), dst: (0xc633_6401, 53) };
    let [first, second] = [[1; 20], [2; 20]].map(|payload| packet(flow, &payload));
    assert_eq!(on.frame(1, &first), [(2, routed(&first, 2))], "the first packet asks, and passes");
    assert_eq!(on.frame(1, &second), [], "the second one waits");
    let begun = on.rig.now;
    firewall::Connections::default().take(&mut on).expect("the controller writes");
    assert_eq!(on.rig.frames, [(2, routed(&second, 2))]);
    assert_eq!(on.rig.now, begun, "no time has passed");
    let has_entry = |device: &mut device_control::Controlled| {
        device.switch().table_entries("FirewallIngress.outbound").is_ok_and(|entries| entries.len() == 1)
    };
    assert_eq!(on.rig.rack.devices().map(has_entry).filter(|has| *has).count(), 2);
}

#[test]
fn the_nats_are_the_same_on_racks() {
    let packets = many(3000, 1_000_000);
    for (app, kind) in [("nat", nat::Kind::Tenants), ("vm-nat", nat::Kind::Machines)] {
        let on_rack =
            through(app, &medium(12, "2s"), packets / 2, |on| nat::trial(on, kind, packets, seed()));
        assert_eq!(nat::trial(&mut alone(app), kind, packets, seed()), Ok(on_rack));
    }
}

#[test]
fn streams_pass_a_proxy_on_a_rack() {
    let connections = many(15, 20_000);
    let on_rack =
        through("syn-proxy", &medium(12, "2ms"), 400, |on| syn_proxy::trial(on, connections, seed()));
    assert_eq!(syn_proxy::trial(&mut alone("syn-proxy"), connections, seed()), Ok(on_rack));
    assert!(on_rack.packets >= many(500, 1_000_000), "{on_rack:?}");
}

/// The app is at the switch alone, which has received all frames: a helper that fails changes nothing.
fn at_switch(on: &mut Pinned, outcome: &impl std::fmt::Debug) {
    println!("{outcome:?}; {} frames", on.frames);
    assert_eq!(on.received(), [on.frames]);
}

/// Apps with `affinity = "high"`: all at the switch.
#[test]
fn cache_and_monitor_are_the_same_on_racks() {
    let high = "affinity = \"high\"\n";
    let racked = rack("netcache", high);
    let mut on = Pinned::new(&racked, 0);
    let queries = many(400, 700_000);
    let on_rack = net_cache::trial(&mut on, queries, seed()).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(net_cache::trial(&mut alone("netcache"), queries, seed()), Ok(on_rack));
    assert!(on_rack.packets >= many(400, 1_000_000), "{on_rack:?}");
    at_switch(&mut on, &on_rack);
    let racked = rack("univmon", high);
    let mut on = Pinned::new(&racked, 0);
    univmon::configure(&mut on).expect("a route");
    let found = univmon::trial(
        &mut on,
        &mut Traffic::new(2000, 990, Sizes::DataCentre, seed()),
        many(1500, 1_000_000),
    );
    at_switch(&mut on, &found.unwrap_or_else(|why| panic!("{why}")));
}
