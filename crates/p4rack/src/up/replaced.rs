//! A rack whose controller replaces the plan while generated packets are inside, beside the same rack whose plan stays: the same
//! frames have to come out at the same hosts.
//!
//! Each packet has the rack for itself: others would overtake it on other paths. Links between devices are slow, so
//! that hand-overs are in flight while the controller works, and some of its messages are lost once the rack is up. A
//! third run with faster links detects programs whose frames depend on delays; they have no verdict.

use super::control::TIMING;
use super::{Running, bring_up_with, refused};
use crate::proof;
use crate::rack::{Racked, SplitApp};
use base_bits::Bits;
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Probability, Rng, Time};
use control_writes::{Match, Run, Write};
use controller::Timing;
use device::Options;
use ir::{InstanceId, Program};
use ir_prove::Effort;
use ir_prove::generate::{MendedPackets, Pool};
use rack_model::{DeviceId, Fault, FaultKind, HostId, NodeId, Placement, Rack, Replace, Spanned};
use std::sync::Arc;

/// Time between two packets: longer than a packet with all its results takes, and longer than a replacement.
const PERIOD: Duration = Duration::from_ms(200);

/// Number of packets per replacement.
const EVERY: usize = 3;

/// Delay of a hand-over.
const SLOW: Duration = Duration::from_ms(2);

/// Delay of a hand-over on fast links.
const QUICK: Duration = Duration::from_us(300);

/// Share of lost messages between controller and agents.
const LOSS: Probability = Probability::from_ppb(20_000_000);

/// Maximum number of packets drawn for one that is injected.
const MOST_DRAWS: usize = 100;

/// Counts of a trial.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Replaced {
    /// Packets put in.
    pub packets: usize,
    /// Frames that came out.
    pub frames: usize,
    /// Plans that took another's place.
    pub plans: u64,
}

/// Result of a trial.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The same frames arrived.
    Same(Replaced),
    /// Other frames came out.
    Differs {
        /// The packet that was put in.
        packet: Vec<u8>,
        /// With the plan that stays: hosts and frames.
        expected: Vec<(HostId, Vec<u8>)>,
        /// With plans that change.
        found: Vec<(HostId, Vec<u8>)>,
    },
    /// The output depends on delays, so nothing can be compared.
    DependsOnTime,
    /// Another plan empties an object that packets read (docs/ctl.md, `replace`): other frames are right. Its control-plane name.
    Forgets(String),
    /// Plans of this rack cannot be replaced, or no host is at a port of its origin.
    NotReplaceable,
}

/// Hosts, and the frames that came to them, for each packet.
type Came = Vec<Vec<(HostId, Vec<u8>)>>;

/// Puts packets in while plans change. `racked` is as before afterwards.
pub fn prove_replaced(racked: &mut Racked, effort: &Effort) -> Result<Verdict, Vec<Diagnostic>> {
    prove_with(racked, effort, TIMING)
}

fn prove_with(racked: &mut Racked, effort: &Effort, timing: Timing) -> Result<Verdict, Vec<Diagnostic>> {
    let [app] = racked.apps.as_slice() else { return Ok(Verdict::NotReplaceable) };
    let hosts = hosts(&racked.rack, app);
    let map: Vec<Placement> = map(app);
    let origins = app.placement.origins().count();
    if hosts.is_empty()
        || map.is_empty()
        || origins > 1
        || app.placement.has_any_spares()
        || app.placement.divides_any()
        || !racked.own_entries.is_empty()
    {
        return Ok(Verdict::NotReplaceable);
    }
    if let Some(object) = forgotten(&app.whole) {
        return Ok(Verdict::Forgets(object));
    }
    let packets = packets(app, &hosts, effort)?;
    let steady = quiet(&racked.rack, SLOW, packets.len());
    let losses = Fault {
        kind: FaultKind::ControlLoss { device: None, share: LOSS },
        at: Time::ZERO,
        lasts: None,
        span: Span::NONE,
    };
    let replaces = replaces(&map, packets.len());
    let changing = Rack { replaces, faults: vec![losses], ..steady.clone() };
    // If frames depend on the speed of links, a replacement, which takes time, may change them, too.
    let quicker = quiet(&racked.rack, QUICK, packets.len());
    let (expected, _) = run(racked, steady, &packets, TIMING)?;
    let (other, _) = run(racked, quicker, &packets, TIMING)?;
    if expected != other {
        return Ok(Verdict::DependsOnTime);
    }
    let (found, plans) = run(racked, changing, &packets, timing)?;
    let (count, frames) = (packets.len(), found.iter().map(Vec::len).sum());
    let mut each = packets.into_iter().zip(expected).zip(found);
    Ok(match each.find(|((_, expected), found)| expected != found) {
        Some((((_, packet), expected), found)) => Verdict::Differs { packet, expected, found },
        None => Verdict::Same(Replaced { packets: count, frames, plans }),
    })
}

/// An object that packets read and that another plan empties: any object but a register, whose cells move.
fn forgotten(program: &Program) -> Option<String> {
    let is_forgotten = |at: &usize| {
        let id = InstanceId::from(*at);
        let kind = &program.extern_object(program.instance(id).object).name;
        ir_state::order_matters(program, id) && kind != "register"
    };
    let at = (0..program.instances.len()).find(is_forgotten)?;
    Some(program.instances[at].control_plane_name.to_string())
}

/// Hosts at ports of the origin, with the ports.
fn hosts(rack: &Rack, app: &SplitApp) -> Vec<(HostId, u32)> {
    let origin = NodeId::Device(DeviceId(app.placement.origin().0));
    let ends =
        rack.links.iter().flat_map(|link| [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])]);
    let host = |(from, to): (rack_model::End, rack_model::End)| match from.node {
        NodeId::Host(host) if to.node == origin => Some((host, to.port)),
        _ => None,
    };
    ends.filter_map(host).collect()
}

/// The rack's own placement, as a map by hand.
fn map(app: &SplitApp) -> Vec<Placement> {
    let site = |region: &ir::Name| Placement {
        region: Spanned::from(region.as_str()),
        device: Spanned::new(DeviceId(app.placement.device_of(region).0), Span::NONE),
        spares: vec![],
        policy: Default::default(),
        replicas: 1,
    };
    app.placement.sites.keys().map(site).collect()
}

/// Replacements by a plan with all regions at the origin and by the original plan, in turn; each starts just before a packet arrives or while it is inside.
fn replaces(map: &[Placement], packets: usize) -> Vec<Replace> {
    let replace = |number: usize| {
        let moment = Duration::from_us(100 * (number as u64 % 7));
        let map = if number.is_multiple_of(2) { vec![] } else { map.to_vec() };
        Replace { at: at((number + 1) * EVERY) + moment, map, span: Span::NONE }
    };
    (0..packets.saturating_sub(1) / EVERY).map(replace).collect()
}

/// When a packet is put in.
fn at(packet: usize) -> Time {
    Time::ZERO + PERIOD * (packet as u64 + 1)
}

/// The rack without workloads, faults and losses, with this delay on links between devices.
fn quiet(rack: &Rack, delay: Duration, packets: usize) -> Rack {
    let mut rack = Rack {
        workloads: vec![],
        faults: vec![],
        replaces: vec![],
        stages: vec![],
        until: Some(at(packets)),
        ..rack.clone()
    };
    for link in &mut rack.links {
        (link.loss, link.corrupt, link.duplicate) = Default::default();
        (link.reorder, link.jitter) = Default::default();
        if link.ends.iter().all(|end| matches!(end.node, NodeId::Device(_))) {
            link.delay = delay;
        }
    }
    rack
}

/// Packets for the program and its entries, with the sending hosts: mostly packets that cause output.
fn packets(
    app: &SplitApp,
    hosts: &[(HostId, u32)],
    effort: &Effort,
) -> Result<Vec<(HostId, Vec<u8>)>, Vec<Diagnostic>> {
    let rng = Rng::new(effort.seed);
    let mut pool = Pool::new(&app.whole, &proof::case(app).reserved_ports(), &rng);
    app.entries.writes().iter().flat_map(values).for_each(|value| pool.add(value));
    let options = Options { registry: app.offers.registry.clone(), ..Options::default() };
    let mut made = MendedPackets::new(&app.whole, &options.registry);
    let mut whole = ir_interp::switch(Arc::clone(&app.whole), options)?;
    for write in app.entries.writes() {
        whole.write(write, Time::ZERO).map_err(|error| refused(&error.message))?;
    }
    let (mut packets, mut rng) = (vec![], rng.split("packets"));
    for _ in 0..effort.packets * MOST_DRAWS {
        let Some((host, port)) = rng.pick(hosts).copied().filter(|_| packets.len() < effort.packets) else {
            break;
        };
        let packet = made.next(&mut pool, &mut rng);
        // Some packets without output stay: dropping is behaviour, too.
        if !whole.process(port, &packet, Time::ZERO).is_empty() || rng.chance(1, MOST_DRAWS as u64) {
            packets.push((host, packet));
        }
    }
    Ok(packets)
}

/// Values of an entry's key and action data.
fn values(write: &ir_fill::Write) -> Vec<Bits> {
    let Write::Entry { key, to: Some(entry), .. } = write else { return vec![] };
    let matched = |field: &Match| match field {
        Match::Any => None,
        Match::Exact(value) | Match::Lpm { value, .. } | Match::Ternary { value, .. } => Some(value.clone()),
        Match::Range { lo, .. } => Some(lo.clone()),
    };
    let args = match &entry.run {
        Run::Action(call) => call.args.clone(),
        Run::Member(_) | Run::Group(_) | Run::OneShot(_) => vec![],
    };
    key.matches.iter().filter_map(matched).chain(args).collect()
}

/// Runs the packets. Returns the frames that arrived for each packet, and the number of plans that took over.
fn run(
    racked: &mut Racked,
    rack: Rack,
    packets: &[(HostId, Vec<u8>)],
    timing: Timing,
) -> Result<(Came, u64), Vec<Diagnostic>> {
    let own = std::mem::replace(&mut racked.rack, rack);
    let running = bring_up_with(racked, None, timing);
    racked.rack = own;
    let mut running = running?;
    let hosts: Vec<HostId> = (0..racked.rack.hosts.len() as u32).map(HostId).collect();
    hosts.iter().for_each(|host| running.emulator.listen(*host));
    for (number, (host, packet)) in packets.iter().enumerate() {
        running.emulator.send(*host, packet.clone(), at(number));
    }
    let came = (0..packets.len()).map(|number| came(&mut running, &hosts, at(number + 1)));
    let came = came.collect::<Result<_, _>>()?;
    Ok((came, running.control.replaced))
}

/// Frames that reached hosts before `time`.
fn came(
    running: &mut Running,
    hosts: &[HostId],
    time: Time,
) -> Result<Vec<(HostId, Vec<u8>)>, Vec<Diagnostic>> {
    let before = time - Duration::from_ps(1);
    running.run_until(before).map_err(|violation| refused(&violation.to_string()))?;
    let mut came = vec![];
    for host in hosts {
        let received = running.emulator.take_received(*host).into_iter();
        came.extend(received.map(|received| (*host, received.frame)));
    }
    came.sort();
    Ok(came)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rack::load;
    use base_diag::SourceMap;
    use std::path::Path;

    /// The split router without its sampler.
    fn plain() -> Racked {
        slice("plain.toml")
    }

    fn slice(file: &str) -> Racked {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/slice").join(file);
        load(&file, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
    }

    fn effort() -> Effort {
        Effort { packets: 60, ..Effort::default() }
    }

    #[test]
    fn plans_that_change_change_no_frame() {
        let mut racked = plain();
        let before = racked.rack.clone();
        match prove_replaced(&mut racked, &effort()).unwrap() {
            Verdict::Same(tried) => assert!(tried.frames > 10 && tried.plans > 15, "{tried:?}"),
            other => panic!("{other:?}"),
        }
        assert!(racked.rack == before);
    }

    /// The sampler forgets the number of packets since its last copy when the plan is replaced, and then copies other packets.
    #[test]
    fn of_memory_that_does_not_move_with_the_plan_nothing_is_said() {
        let verdict = prove_replaced(&mut slice("RACK.toml"), &effort()).unwrap();
        assert_eq!(verdict, Verdict::Forgets("RouterIngress.beacon".to_string()));
    }

    /// No other run has a controller that could ignore frames in flight.
    #[test]
    fn a_controller_that_does_not_wait_for_hand_overs_is_noticed() {
        let hasty = Timing { drain: Duration::ZERO, quiet: Duration::ZERO, ..TIMING };
        let verdict = prove_with(&mut plain(), &effort(), hasty).unwrap();
        assert!(matches!(verdict, Verdict::Differs { .. }), "{verdict:?}");
    }
}
