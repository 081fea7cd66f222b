//! Random packets and entries on every test program: nothing panics, every packet is accounted for, and the same
//! seed gives the same bytes.

use crate::common;

use base_bits::Bits;
use base_time::{Duration, Rng, Time};
use common::{Test, conserved, options};
use control_writes::Match;
use dataplane_api::{Device, Output};
use device::{KeySpec, Options, Session, Switch};
use ir::MatchKind;

const PACKETS: u64 = 150;

fn random_bits(rng: &mut Rng, width: u32) -> Bits {
    let value = if rng.chance(3, 4) { u128::from(rng.below(16)) } else { rng.next_u128() };
    Bits::new(width, value)
}

fn random_match(rng: &mut Rng, key: &KeySpec) -> Match {
    let (a, b) = (random_bits(rng, key.width), random_bits(rng, key.width));
    match key.kind {
        _ if rng.chance(1, 20) => Match::Exact(random_bits(rng, key.width + 1)),
        MatchKind::Lpm => Match::Lpm { value: a, prefix_len: rng.below(u64::from(key.width) + 2) as u32 },
        MatchKind::Ternary => Match::Ternary { value: a, mask: b },
        MatchKind::Range => Match::Range { lo: a, hi: b },
        MatchKind::Optional if rng.next_bool() => Match::Any,
        _ => Match::Exact(a),
    }
}

/// Fills tables, groups and sessions; what does not fit is refused.
fn fill(switch: &mut Switch, rng: &mut Rng) {
    let tables: Vec<String> = switch.tables().map(str::to_string).collect();
    let program = switch.program().clone();
    let all = program.controls.iter().flat_map(|c| c.tables.iter().map(move |t| (c, t)));
    for (control, table) in all {
        let name = table.control_plane_name.as_str();
        assert!(tables.iter().any(|t| t == name));
        let keys = switch.table_keys(name).expect("a table").to_vec();
        for _ in 0..20 {
            let Some(action) = rng.pick(&table.actions) else { break };
            let action = control.actions[action.action.index()].control_plane_name.as_str();
            let params = switch.action_params(name, action).expect("an action");
            let args: Vec<Bits> = params.iter().map(|(_, width)| random_bits(rng, *width)).collect();
            let wanted: Vec<Match> = keys.iter().map(|k| random_match(rng, k)).collect();
            let _ = switch.table_add(name, &wanted, action, &args, Some(rng.below(5) as i64));
            if rng.chance(1, 8) {
                let _ = switch.table_delete(name, &wanted, Some(0));
                let _ = switch.table_set_default(name, action, &args);
            }
        }
    }
    switch.multicast_group_set(5, vec![(1, 1), (2, 2), (1, 3)]);
    switch.clone_session_set(8, Some(Session { port: Some(3), group: Some(5), ..Session::default() }));
}

fn run(name: &str, seed: u64) -> Vec<Vec<Output>> {
    let mut rng = Rng::new(seed).split(name);
    let mut switch = Test::file(name).switch(Options { step_limit: 100_000, ..options() }).expect(name);
    fill(&mut switch, &mut rng);
    let outputs = (0..PACKETS).map(|n| {
        let length = rng.index(40);
        let mut frame = rng.bytes(length);
        for byte in &mut frame {
            if rng.chance(2, 3) {
                *byte &= 0x0f;
            }
        }
        let port = rng.below(4) as u32;
        switch.process(port, &frame, Time::ZERO + Duration::from_us(n))
    });
    let outputs = outputs.collect();
    conserved(&switch);
    assert_eq!(switch.counters().received, PACKETS);
    outputs
}

#[test]
fn random_packets_on_every_program() {
    for name in Test::names() {
        let first = run(&name, 1);
        assert_eq!(first, run(&name, 1), "{name} differs from itself");
        assert_ne!(first, run(&name, 2), "{name} does not see the packets");
    }
}
