//! Fig. 14: TCP connections while a helper fails. The rack is `examples/pinned/fig14.toml`.

use super::gateway::failed;
use crate::reproduce::{Experiment, Lab, Shown};
use base_diag::{Diagnostic, Span};
use base_time::{Duration, Probability, Time};
use p4rack::rack::Racked;
use p4rack::up::bring_up;
use rack_emulator::{Emulator, Table};
use rack_model::{Fault, FaultKind, LinkId, Policy, Rack, Regions};

pub const EXPERIMENT: Experiment = Experiment {
    name: "fig14",
    about: "Throughput of two TCP connections at helpers while one of two helpers fails: back at the original rate within 200 ms with replicas, never without. Two connections at the switch are not concerned.",
    set: "links of 200 Mbit/s to the hosts (put in), CUBIC with a timeout of 200 ms at least; the port of the helper goes down after 400 ms (the paper: 20 s), or the helper stops answering.",
    leaves_out: "a firewall takes the place of the paper's NAT. The figure's rates are not in the text.",
    run,
};

/// When the helper fails.
const FAILS: Duration = Duration::from_ms(400);
/// Length of a piece of time in which bytes are counted.
const PIECE: Duration = Duration::from_ms(10);
/// The paper's time until the original rate is back.
const BACK: Duration = Duration::from_ms(200);
/// The run, in pieces.
const PIECES: u64 = 100;

/// Kinds of failures of a helper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Failure {
    None,
    /// The port goes down.
    Port,
    /// Frames on the link are lost, and no port goes down.
    Silence,
}

/// Bytes that came to the receivers of the connections at the switch, and of those at helpers, in each piece of time.
struct Outcome {
    switch: Vec<u64>,
    helpers: Vec<u64>,
    /// From the failure until hand-overs go to the other helper; none if they do not.
    replaced: Option<Duration>,
}

impl Outcome {
    /// Mbit/s in the pieces from one time to another.
    fn rate(bytes: &[u64], from: Duration, to: Duration) -> f64 {
        let piece = |time: Duration| (time.as_ps() / PIECE.as_ps()) as usize;
        let pieces = bytes.get(piece(from)..piece(to)).unwrap_or_default();
        let sum: u64 = pieces.iter().sum();
        sum as f64 * 8.0 / (pieces.len().max(1) as f64 * PIECE.as_ps() as f64 / 1e12) / 1e6
    }

    fn before(&self) -> f64 {
        Outcome::rate(&self.helpers, Duration::from_ms(200), FAILS)
    }

    /// Time from the failure until the end of the first of three pieces in a row with 90 % of the rate before; none if there are none.
    fn back(&self) -> Option<Duration> {
        let first = (FAILS.as_ps() / PIECE.as_ps()) as usize;
        let is_whole =
            |bytes: &u64| *bytes as f64 * 8.0 / (PIECE.as_ps() as f64 / 1e6) >= 0.9 * self.before();
        let after = self.helpers.get(first..).unwrap_or_default();
        let at = after.windows(3).position(|three| three.iter().all(is_whole))?;
        Some(PIECE * (at as u64 + 1))
    }
}

/// Bytes that have come to a host.
fn came(emulator: &Emulator, host: &str) -> u64 {
    emulator.report().links.iter().filter(|link| link.to == host).map(|link| link.bytes).sum()
}

/// The link from the switch to the helper that has most of the connections.
fn busy_link(rack: &Rack, emulator: &Emulator) -> Option<(LinkId, String)> {
    let report = emulator.report();
    let to = |helper: &str| {
        let link = report.links.iter().find(|link| link.to.split(':').next() == Some(helper))?;
        let is_it = |link: &rack_model::Link| {
            link.ends.iter().any(|end| rack.end_name(*end).split(':').next() == Some(helper))
        };
        let at = rack.links.iter().position(is_it)?;
        Some((link.bytes, LinkId(at as u32), helper.to_string()))
    };
    let busiest = ["nic1", "nic2"].into_iter().filter_map(to).max_by_key(|(bytes, ..)| *bytes);
    busiest.map(|(_, link, helper)| (link, helper))
}

fn fault(failure: Failure, link: LinkId) -> Option<Fault> {
    let kind = match failure {
        Failure::None => return None,
        Failure::Port => FaultKind::LinkDown(link),
        Failure::Silence => FaultKind::Loss { link, from: None, share: Probability::from_ppb(1_000_000_000) },
    };
    Some(Fault { kind, at: Time::ZERO + FAILS, lasts: None, span: Span::NONE })
}

/// The rack with so many replicas of each shard, and these faults.
fn rack(lab: &mut Lab<'_>, replicas: u32, faults: Option<Fault>) -> Result<Racked, Vec<Diagnostic>> {
    lab.changed("fig14.toml", &|rack| {
        for app in &mut rack.apps {
            if let Regions::ByHand(map) = &mut app.map {
                for placement in map.iter_mut().filter(|placement| placement.policy == Policy::Shard) {
                    placement.replicas = replicas;
                }
            }
        }
        rack.faults = faults.iter().cloned().collect();
    })
}

fn measured(lab: &mut Lab<'_>, replicas: u32, failure: Failure) -> Result<Outcome, Vec<Diagnostic>> {
    (lab.show_progress)(&format!("{replicas} replicas"));
    // The helper with the connections is known after a moment.
    let first = rack(lab, replicas, None)?;
    let mut running = bring_up(&first)?;
    let wrong = |why: &str| failed(why);
    running.run_until(Time::ZERO + Duration::from_ms(100)).map_err(|why| wrong(&why.to_string()))?;
    let (link, helper) =
        busy_link(&first.rack, &running.emulator).ok_or_else(|| wrong("no helper has connections"))?;
    let racked = rack(lab, replicas, fault(failure, link))?;
    let mut running = bring_up(&racked)?;
    let mut outcome = Outcome { switch: vec![], helpers: vec![], replaced: None };
    let (mut switch, mut helpers) = (0, 0);
    for piece in 1..=PIECES {
        running.run_until(Time::ZERO + PIECE * piece).map_err(|why| wrong(&why.to_string()))?;
        let now = [came(&running.emulator, "net1"), came(&running.emulator, "net2")];
        outcome.switch.push(now[0] - switch);
        outcome.helpers.push(now[1] - helpers);
        [switch, helpers] = now;
    }
    let left = format!("instead of `{helper}`");
    let report = running.emulator.report();
    let note = report.notes.iter().find(|note| note.what.contains(&left));
    outcome.replaced = note.map(|note| Duration::from_ps(note.at_ps.saturating_sub(FAILS.as_ps())));
    Ok(outcome)
}

fn run(lab: &mut Lab<'_>) -> Result<Shown, Vec<Diagnostic>> {
    let cases = [
        ("no failure", 2, Failure::None, "as before"),
        ("port down, 2 replicas", 2, Failure::Port, "back within 200 ms"),
        ("no answers, 2 replicas", 2, Failure::Silence, ""),
        ("port down, 1 replica", 1, Failure::Port, "not recovered"),
    ];
    let mut rows = vec![];
    for (name, replicas, failure, paper) in cases {
        let found = measured(lab, replicas, failure)?;
        let end = PIECE * PIECES;
        let time = |time: Option<Duration>| time.map_or("-".to_string(), |time| time.to_string());
        rows.push([
            name.to_string(),
            format!("{:.0}", Outcome::rate(&found.switch, FAILS, end)),
            format!("{:.0}", found.before()),
            format!("{:.0}", Outcome::rate(&found.helpers, FAILS, FAILS + BACK)),
            format!("{:.0}", Outcome::rate(&found.helpers, FAILS + BACK, end)),
            time(found.replaced),
            if failure == Failure::None { "-".to_string() } else { time(found.back()) },
            paper.to_string(),
        ]);
    }
    let titles = [
        "<",
        "at the switch, Mbit/s",
        "at helpers, before",
        "first 200 ms",
        "then",
        "other helper after",
        "rate is back within",
        "<paper",
    ];
    Ok(Table::new(&titles, rows).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T7: the other helper within a millisecond by the port and within 30 ms by silence; TCP within 200 ms; without replicas never.
    #[test]
    fn connections_go_on_with_replicas_and_end_without() {
        let mut lab = Lab::of_examples("pinned");
        let end = PIECE * PIECES;
        for (failure, most) in
            [(Failure::Silence, Duration::from_ms(30)), (Failure::Port, Duration::from_ms(1))]
                .into_iter()
                .take(if features::is_long() { 2 } else { 1 })
        {
            let found = measured(&mut lab, 2, failure).unwrap();
            assert!(found.before() > 150.0, "{:?}", found.helpers);
            assert!(found.replaced.is_some_and(|after| after <= most), "{:?}", found.replaced);
            assert!(found.back().is_some_and(|back| back <= BACK), "{:?}", found.helpers);
            assert!(Outcome::rate(&found.switch, FAILS, end) > 150.0, "{:?}", found.switch);
        }
        let found = measured(&mut lab, 1, Failure::Port).unwrap();
        assert!(found.before() > 150.0 && found.replaced.is_none());
        assert_eq!(Outcome::rate(&found.helpers, FAILS + BACK, end), 0.0);
    }
}
