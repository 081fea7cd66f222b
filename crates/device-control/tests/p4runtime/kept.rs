//! Writes of controllers are noted, and a switch that starts from the notes has the same state as the one that has ended.

use crate::setup::{Bench, bare_device_of, both_bare, info};
use base_time::Rng;
use controller::Steer;
use p4runtime_proto::p4::v1::SetForwardingPipelineConfigRequest;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use p4runtime_proto::p4::v1::{ForwardingPipelineConfig, Uint128};
use state_journal::Kept;

/// Queries for all that a controller can write.
const ALL: [&str; 14] = [
    "table_entry { meter_config {} counter_data {} }",
    "table_entry { is_default_action: true }",
    "direct_meter_entry { table_entry { is_default_action: true } }",
    "action_profile_member {}",
    "action_profile_group {}",
    "packet_replication_engine_entry { multicast_group_entry {} }",
    "packet_replication_engine_entry { clone_session_entry {} }",
    "value_set_entry {}",
    "digest_entry {}",
    "meter_entry { meter_id: $MyIngress.rate }",
    "counter_entry { counter_id: $MyIngress.packets }",
    "register_entry { register_id: $MyIngress.cells }",
    "register_entry { register_id: $MyIngress.pairs }",
    "direct_counter_entry { table_entry { table_id: $MyIngress.route } }",
];

fn everything(bench: &mut Bench) -> String {
    ALL.map(|query| bench.read(query)).concat()
}

/// An update at random. Many are refused.
fn update(rng: &mut Rng) -> String {
    let how = ["INSERT", "INSERT", "MODIFY", "DELETE"][rng.below(4) as usize];
    let (one, two) = (1 + rng.below(3), 1 + rng.below(4));
    let forward = format!(
        r#"action {{ action {{ action_id: $MyIngress.forward params {{ param_id: 1 value: "\00{two}" }} }} }}"#
    );
    let key = format!(
        r#"table_id: $MyIngress.route match {{ field_id: 1 lpm {{ value: "\00{one}\000\000\000\000\000" prefix_len: 8 }} }}"#
    );
    let filter = format!(
        r#"table_id: $MyIngress.filter match {{ field_id: 1 ternary {{ value: "\010\00{one}" mask: "\377\377" }} }} priority: 9"#
    );
    let pick = |rng: &mut Rng, all: &[&str]| all[rng.below(all.len() as u64) as usize].to_string();
    match rng.below(17) {
        0 | 1 => format!("{how} table_entry {{ {key} {forward} metadata: \"{two}\" }}"),
        2 => format!(
            "{how} table_entry {{ {key} {forward} counter_data {{ packet_count: {two} byte_count: 9 }} }}"
        ),
        3 => format!(
            "MODIFY direct_counter_entry {{ table_entry {{ {key} }} data {{ packet_count: {two} }} }}"
        ),
        4 => {
            let rates = pick(rng, &["", "meter_config { cir: 1 cburst: 1 pir: 2 pburst: 2 }"]);
            format!("{how} table_entry {{ {filter} {forward} {rates} }}")
        }
        5 => format!(
            "MODIFY direct_meter_entry {{ table_entry {{ {filter} }} config {{ cir: {two} cburst: 1 pir: 7 pburst: 2 }} }}"
        ),
        6 => {
            let action = pick(rng, &["", &forward]);
            format!("MODIFY table_entry {{ table_id: $MyIngress.route is_default_action: true {action} }}")
        }
        7 | 8 => format!(
            "{how} action_profile_member {{ action_profile_id: $MyIngress.members member_id: {one} {} }}",
            forward.strip_prefix("action { ").unwrap().strip_suffix(" }").unwrap()
        ),
        9 => format!(
            "{how} action_profile_group {{ action_profile_id: $MyIngress.members group_id: {two} members {{ member_id: {one} weight: {two} }} max_size: 8 }}"
        ),
        10 => {
            let run = pick(
                rng,
                &["action_profile_member_id: 1", "action_profile_group_id: 1", "action_profile_group_id: 2"],
            );
            format!(
                r#"{how} table_entry {{ table_id: $MyIngress.ecmp match {{ field_id: 1 exact {{ value: "\00{one}" }} }} action {{ {run} }} }}"#
            )
        }
        11 => format!(
            r#"{how} packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {one} replicas {{ port: "\00{two}" instance: 1 }} }} }}"#
        ),
        12 => format!(
            r#"{how} packet_replication_engine_entry {{ clone_session_entry {{ session_id: {one} replicas {{ port: "\00{two}" }} }} }}"#
        ),
        13 => {
            let members =
                pick(rng, &["", r#"members { match { field_id: 1 exact { value: "\010\000" } } }"#]);
            format!("MODIFY value_set_entry {{ value_set_id: $Parse.types {members} }}")
        }
        14 => {
            let config = pick(rng, &["", "config { cir: 1 cburst: 2 pir: 3 pburst: 4 }"]);
            format!("MODIFY meter_entry {{ meter_id: $MyIngress.rate index {{ index: {one} }} {config} }}")
        }
        15 => format!(
            "MODIFY counter_entry {{ counter_id: $MyIngress.packets index {{ index: {one} }} data {{ packet_count: {two} }} }}"
        ),
        _ => {
            let cell = pick(rng, &["", "index { index: 1 }", "index { index: 5 }"]);
            format!(
                r#"MODIFY register_entry {{ register_id: $MyIngress.cells {cell} data {{ bitstring: "\00{}" }} }}"#,
                rng.below(3)
            )
        }
    }
}

/// Writes at random; after each of them the switch ends, and another one goes on from what was kept.
fn try_sequence(seed: u64, bare: &dyn Fn() -> Bench) {
    let mut rng = Rng::new(seed);
    let mut bench = bare().keeping().started();
    let mut kept = Kept::default();
    kept.follow(&bench.noted());
    for step in 0..=rng.below(8) {
        if rng.below(12) == 0 {
            bench.steer(Steer::Reset);
        }
        let updates: Vec<String> = (0..=rng.below(3)).map(|_| update(&mut rng)).collect();
        let atomicity = ["CONTINUE_ON_ERROR", "ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"][rng.below(3) as usize];
        bench.write_with(atomicity, &updates.iter().map(String::as_str).collect::<Vec<_>>());
        kept.follow(&bench.noted());
        let state = kept.state().expect("it can be read").expect("something was kept");
        let mut again = bare().keeping().resumed(state);
        assert_eq!(everything(&mut again), everything(&mut bench), "seed {seed}, step {step}, {updates:#?}");
        // Whoever goes on from it keeps the same.
        let mut kept_again = Kept::default();
        kept_again.follow(&again.noted());
        assert_eq!(kept_again.state(), kept.state(), "seed {seed}, step {step}");
    }
}

/// `./test --all` tries 500 sequences on a device, and 500 on a rack.
#[test]
fn a_switch_that_goes_on_from_its_notes_is_as_the_one_that_has_ended() {
    // Of one device, and of a rack.
    for which in 0..2 {
        let bare = || {
            let benches = std::cell::RefCell::new(vec![]);
            both_bare(|bench| benches.borrow_mut().push(bench));
            benches.into_inner().swap_remove(which)
        };
        features::seeds(2, 500).for_each(|seed| try_sequence(seed, &bare));
    }
}

/// A write that takes long is done in slices; a switch that ends between them has kept nothing of it, or all.
#[test]
fn a_part_of_a_write_is_not_kept() {
    both_bare(|bench| {
        let mut bench = bench.keeping().started();
        let mut kept = Kept::default();
        kept.follow(&bench.noted());
        let updates: Vec<String> = (0..700)
            .map(|number| {
                let (high, low) = (1 + number / 64, number % 64);
                format!(r#"INSERT table_entry {{ table_id: $MyIngress.route match {{ field_id: 1 lpm {{ value: "\n\000\000\000\{high:03o}\{low:03o}" prefix_len: 48 }} }} action {{ action {{ action_id: $MyIngress.drop }} }} }}"#)
            })
            .collect();
        let mut updates: Vec<&str> = updates.iter().map(String::as_str).collect();
        // The last one fails, and all others are undone.
        let first = updates[0];
        updates.push(first);
        let (batches, answer) = bench.noted_while("ROLLBACK_ON_ERROR", &updates);
        assert!(answer.contains("ALREADY_EXISTS"), "{}", &answer[..200]);
        assert!(batches.len() > 2, "it is done in slices");
        for batch in &batches {
            kept.follow(batch);
            assert_eq!(kept.state().unwrap().unwrap().entities, []);
        }
        updates.pop();
        let (batches, answer) = bench.noted_while("ROLLBACK_ON_ERROR", &updates);
        assert_eq!(answer, "OK\n");
        for batch in &batches {
            kept.follow(batch);
            let count = kept.state().unwrap().unwrap().entities.len();
            assert!([0, 700].contains(&count), "{count}");
        }
        assert_eq!(kept.state().unwrap().unwrap().entities.len(), 700);
    });
}

/// A program that a controller has pushed is kept, one that it has saved only is not.
#[test]
fn a_pushed_program_is_kept() {
    both_bare(|bench| {
        let mut bench = bench.keeping().started();
        let mut kept = Kept::default();
        kept.follow(&bench.noted());
        let route = r#"INSERT table_entry { table_id: $MyIngress.route match { field_id: 1 lpm { value: "\n\000\000\000\000\000" prefix_len: 8 } } action { action { action_id: $MyIngress.drop } } }"#;
        assert_eq!(bench.write(&[route]), "OK\n");
        kept.follow(&bench.noted());
        assert_eq!(kept.state().unwrap().unwrap().entities.len(), 1);
        let text = crate::setup::PROGRAM.replace("register<bit<32>>(8) cells", "register<bit<32>>(16) cells");
        let p4info = p4info::p4info(&crate::parts::compiled_text(&text)).ok();
        let config = ForwardingPipelineConfig {
            p4info,
            p4_device_config: text.into(),
            ..ForwardingPipelineConfig::default()
        };
        let request = |action: Action, config| SetForwardingPipelineConfigRequest {
            device_id: 1,
            election_id: Some(Uint128 { high: 0, low: 1 }),
            action: action as i32,
            config,
            ..SetForwardingPipelineConfigRequest::default()
        };
        assert_eq!(bench.set_config(request(Action::VerifyAndSave, Some(config.clone()))), "OK\n");
        assert_eq!(bench.write(&[&route.replace("\\n", "\\014")]), "OK\n");
        assert!(bench.noted().is_empty(), "nothing of it runs");
        assert_eq!(bench.set_config(request(Action::Commit, None)), "OK\n");
        kept.follow(&bench.noted());
        let state = kept.state().unwrap().unwrap();
        assert_eq!(state.config.as_ref().unwrap().p4_device_config, config.p4_device_config);
        assert_eq!(state.entities.len(), 1, "the first entry was the former program's");
        assert_ne!(state.config.as_ref().unwrap().p4info.as_ref(), Some(&info()));
    });
}

/// Strings are kept as strings: the numbers that stand for them may be others in the next process. The string that comes first there gets
/// no number that another one is.
#[test]
fn strings_are_kept() {
    let entry = |table: &str, vrf: &str| {
        let priority = if table == "route" { "priority: 1" } else { "" };
        format!(r#"table_entry {{ table_id: $Named.{table} match {{ field_id: 1 exact {{ value: "{vrf}" }} }} action {{ action {{ action_id: $NoAction }} }} {priority} }}"#)
            .replace("$NoAction", if table == "route" { "$Named.drop" } else { "$NoAction" })
    };
    let mut bench = bare_device_of("names.p4").keeping().started();
    // The first string without a number of its own gets 513: 512 is the program's.
    let writes =
        [entry("route", "513"), entry("route", "blue"), entry("known", "red"), entry("known", "514")];
    for write in &writes {
        bench.write(&[&format!("INSERT {write}")]);
    }
    let cell =
        r#"MODIFY register_entry { register_id: $Named.last index { index: 2 } data { bitstring: "red" } }"#;
    assert_eq!(bench.write(&[cell]), "OK\n");
    let mut kept = Kept::default();
    kept.follow(&bench.noted());
    let all = |bench: &mut Bench| {
        let queries = [
            "table_entry { table_id: $Named.route }",
            "table_entry { table_id: $Named.known }",
            "register_entry { register_id: $Named.last index { index: 2 } }",
        ];
        queries.map(|query| bench.read(query)).concat()
    };
    let before = all(&mut bench);
    assert!(before.contains("blue") && before.contains("\"red\"") && before.contains("513"), "{before}");
    let mut again = bare_device_of("names.p4").keeping().resumed(kept.state().unwrap().unwrap());
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(all(&mut again)), sorted(before));
}
