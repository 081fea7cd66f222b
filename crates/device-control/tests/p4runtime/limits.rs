//! Bounds that P4Info or the architecture state are bounds for controllers, and sessions and groups do all that they can say.

use crate::setup::{Bench, both, device_of};
use expect_test::expect;

fn bench() -> Bench {
    device_of("limits.p4")
}

fn member(profile: &str, number: u32) -> String {
    format!(
        r#"action_profile_member {{ action_profile_id: $Limits.{profile} member_id: {number} action {{ action_id: $Limits.send params {{ param_id: 1 value: "\00{number}" }} }} }}"#
    )
}

/// Each member with its weight.
fn group(profile: &str, number: u32, members: &[(u32, u32)], max_size: u32) -> String {
    let one = |(member, weight): &(u32, u32)| format!("members {{ member_id: {member} weight: {weight} }} ");
    let members: String = members.iter().map(one).collect();
    format!(
        "action_profile_group {{ action_profile_id: $Limits.{profile} group_id: {number} {members} max_size: {max_size} }}"
    )
}

fn one_shot(table: &str, key: u32, weights: &[u32], more: &str) -> String {
    let one = |weight: &u32| {
        format!(
            r#"action_profile_actions {{ action {{ action_id: $Limits.send params {{ param_id: 1 value: "\001" }} }} weight: {weight} }} "#
        )
    };
    let actions: String = weights.iter().map(one).collect();
    format!(
        r#"table_entry {{ table_id: $Limits.{table} match {{ field_id: 1 exact {{ value: "\00{key}" }} }} action {{ action_profile_action_set {{ {actions} {more} }} }} }}"#
    )
}

fn insert(bench: &mut Bench, entities: &[String]) -> String {
    let updates: Vec<String> = entities.iter().map(|entity| format!("INSERT {entity}")).collect();
    bench.write(&updates.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The tests of defaults had none with data, so that the padded form of P4Info went out unseen.
#[test]
fn default_actions_of_the_source_are_read_in_canonical_form() {
    let mut bench = bench();
    let default =
        |table: &str| format!("table_entry {{ table_id: $Limits.{table} is_default_action: true }}");
    let first = r#"table_entry { table_id: $Limits.first action { action { action_id: $Limits.address params { param_id: 1 value: "\001" } } } is_default_action: true }"#;
    assert_eq!(bench.read(&default("first")).trim(), first);
    expect![[r#"
        table_entry { table_id: $Limits.always action { action { action_id: $Limits.address params { param_id: 1 value: "\001\000" } } } is_default_action: true is_const: true }
    "#]]
    .assert_eq(&bench.read(&default("always")));
    let other = first.replace(r#""\001""#, r#""\000\002""#);
    assert_eq!(bench.write(&[&format!("MODIFY {other}")]), "OK\n");
    assert_eq!(bench.read(&default("first")).trim(), first.replace(r#""\001""#, r#""\002""#));
    // Without an action it is the program's again.
    assert_eq!(bench.write(&[&format!("MODIFY {}", default("first"))]), "OK\n");
    assert_eq!(bench.read(&default("first")).trim(), first);
}

/// The size of a selector bounds the sum over its groups, of weights or of members (section 6.4.3). The tests had no selector whose
/// groups came near its size.
#[test]
fn a_selector_is_full_by_weights() {
    let mut bench = bench();
    assert_eq!(insert(&mut bench, &[member("weights", 1), member("weights", 2)]), "OK\n");
    let groups = [
        group("weights", 1, &[(1, 9)], 0),
        group("weights", 1, &[(1, 3), (2, 2)], 0),
        group("weights", 2, &[(1, 4)], 0),
        group("weights", 2, &[(1, 3)], 0),
        group("weights", 3, &[(1, 1)], 0),
        group("weights", 4, &[], 9),
    ];
    expect![[r#"
        UNKNOWN
        RESOURCE_EXHAUSTED entity.action_profile_group: the selector is full: the group needs 9 weights, and the selector's size is 8 (in group 1 of `Limits.weights`)
        OK
        RESOURCE_EXHAUSTED entity.action_profile_group: the selector is full: the group needs 4 weights, others use 5, and the selector's size is 8 (in group 2 of `Limits.weights`)
        OK
        RESOURCE_EXHAUSTED entity.action_profile_group: the selector is full: the group needs 1 weights, others use 8, and the selector's size is 8 (in group 3 of `Limits.weights`)
        RESOURCE_EXHAUSTED entity.action_profile_group.max_size: the selector is full: `max_size` needs 9 weights, and the selector's size is 8 (in group 4 of `Limits.weights`)
    "#]]
    .assert_eq(&insert(&mut bench, &groups));
    // A group that changes counts once, and one that is gone no more.
    let smaller = format!("MODIFY {}", group("weights", 1, &[(2, 4)], 0));
    let deleted = format!("DELETE {}", group("weights", 2, &[], 0));
    assert_eq!(bench.write(&[&smaller, &deleted]), "OK\n");
    assert_eq!(insert(&mut bench, &[group("weights", 3, &[(1, 4)], 0)]), "OK\n");
    // Updates that are rolled back take no memory.
    let more = format!("MODIFY {}", group("weights", 1, &[(2, 1)], 0));
    let wrong = format!("INSERT {}", group("weights", 9, &[(7, 1)], 0));
    assert!(bench.write_with("ROLLBACK_ON_ERROR", &[&more, &wrong]).contains("ABORTED"));
    assert!(insert(&mut bench, &[group("weights", 5, &[(1, 1)], 0)]).contains("RESOURCE_EXHAUSTED"));
}

#[test]
fn a_selector_is_full_by_members() {
    let mut bench = bench();
    let all: Vec<String> = (1..=6).map(|number| member("members", number)).collect();
    assert_eq!(insert(&mut bench, &all), "OK\n");
    let groups = [
        group("members", 1, &[(1, 3)], 4),
        group("members", 1, &[(1, 2), (2, 2), (3, 2), (4, 2)], 0),
        group("members", 1, &[(1, 2), (2, 2), (3, 2), (4, 2)], 5),
        group("members", 1, &[(1, 2), (2, 2), (3, 2), (4, 2)], 3),
        group("members", 1, &[(1, 2), (2, 2), (3, 2), (4, 2)], 4),
        group("members", 2, &[(1, 1), (2, 1), (3, 1)], 3),
        group("members", 2, &[(1, 1), (2, 1)], 2),
    ];
    expect![[r#"
        UNKNOWN
        INVALID_ARGUMENT entity.action_profile_group.members.weight: the weight is too large: `max_member_weight` is 2 (in group 1 of `Limits.members`)
        INVALID_ARGUMENT entity.action_profile_group.max_size: `max_size` is missing: this selector limits its groups to 4, and each group must state a limit (in group 1 of `Limits.members`); write `max_size: 4`
        INVALID_ARGUMENT entity.action_profile_group.max_size: `max_size` is too large: this selector limits its groups to 4 (in group 1 of `Limits.members`)
        INVALID_ARGUMENT entity.action_profile_group: the group is too large: it has 4 members, and the limit is 3 (in group 1 of `Limits.members`)
        OK
        RESOURCE_EXHAUSTED entity.action_profile_group: the selector is full: the group needs 3 members, others use 4, and the selector's size is 6 (in group 2 of `Limits.members`)
        OK
    "#]]
    .assert_eq(&insert(&mut bench, &groups));
}

#[test]
fn sets_of_actions_take_of_the_size_too() {
    let mut bench = bench();
    let sets = [
        one_shot("weighed", 1, &[9], ""),
        one_shot("weighed", 1, &[5], "action_selection_mode: HASH"),
        one_shot("weighed", 2, &[4], ""),
        one_shot("weighed", 2, &[2, 1], ""),
        one_shot("weighed", 3, &[1], "action_selection_mode: RANDOM"),
        one_shot("counted", 1, &[1, 1, 1, 1, 1], ""),
    ];
    expect![[r#"
        UNKNOWN
        RESOURCE_EXHAUSTED entity.table_entry.action.action_profile_action_set: the selector is full: the action set needs 9 weights, and the selector's size is 8 (in an entry of table `Limits.weighed`)
        OK
        RESOURCE_EXHAUSTED entity.table_entry.action.action_profile_action_set: the selector is full: the action set needs 4 weights, others use 5, and the selector's size is 8 (in an entry of table `Limits.weighed`)
        OK
        UNIMPLEMENTED entity.table_entry.action.action_profile_action_set.action_selection_mode: not supported yet: random selection: the request sets it (in an entry of table `Limits.weighed`)
        INVALID_ARGUMENT entity.table_entry.action.action_profile_action_set: the group is too large: it has 5 members, and the limit is 4 (in an entry of table `Limits.counted`)
    "#]]
    .assert_eq(&insert(&mut bench, &sets));
    // An entry that changes counts once.
    let other = format!("MODIFY {}", one_shot("weighed", 1, &[3, 2], ""));
    assert_eq!(bench.write(&[&other]), "OK\n");
    let more = format!("MODIFY {}", one_shot("weighed", 1, &[6], ""));
    assert!(bench.write(&[&more]).contains("RESOURCE_EXHAUSTED"));
    let all = bench.read("table_entry { table_id: $Limits.weighed }");
    assert_eq!(all.matches("weight:").count(), 4, "{all}");
}

fn multicast(group: u32, replicas: &str) -> String {
    format!(
        "packet_replication_engine_entry {{ multicast_group_entry {{ multicast_group_id: {group} {replicas} }} }}"
    )
}

fn session(number: u32, rest: &str) -> String {
    format!("packet_replication_engine_entry {{ clone_session_entry {{ session_id: {number} {rest} }} }}")
}

/// v1model's `mcast_grp` has 16 bits, its ports have 9 and its classes of service, `priority`, 3.
#[test]
fn replication_keeps_to_the_architecture() {
    both(|mut bench| {
        let replicas = [
            multicast(65536, ""),
            multicast(4294967295, ""),
            multicast(40000, ""),
            multicast(1, r#"replicas { port: "\002\000" }"#),
            multicast(1, "replicas { egress_port: 4294967295 }"),
            multicast(1, "replicas { egress_port: 1 instance: 65536 }"),
            session(1, r#"replicas { port: "\001" } class_of_service: 8"#),
            session(1, r#"replicas { port: "\001" } packet_length_bytes: -1"#),
            multicast(1, r#"replicas { port: "\001" backup_replicas { port: "\001" instance: 1 } }"#),
            multicast(
                1,
                r#"replicas { port: "\001" backup_replicas { port: "\002" } } replicas { port: "\002" }"#,
            ),
        ];
        expect![[r#"
            UNKNOWN
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id: the group id is too large: the largest is 65535 (in multicast group 65536)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id: the group id is too large: the largest is 65535 (in multicast group 4294967295)
            RESOURCE_EXHAUSTED entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id: the group id is reserved: ids from 32768 belong to clone sessions (in multicast group 40000)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.replicas.port: the port is too large: 512 needs more than 9 bits (in multicast group 1)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.replicas.egress_port: the port is too large: 4294967295 needs more than 9 bits (in multicast group 1)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.replicas.instance: the instance is too large: it has 16 bits (in multicast group 1)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.clone_session_entry.class_of_service: the class of service is too large: the largest is 7 (in clone session 1)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.clone_session_entry.packet_length_bytes: the length is negative: it must be 0 or more (in clone session 1)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.replicas.backup_replicas.port: the backup has the port of its replica: both would go down at once (in multicast group 1)
            INVALID_ARGUMENT entity.packet_replication_engine_entry.multicast_group_entry.replicas[1]: the replica is a duplicate: an earlier replica has the same port and instance (in multicast group 1)
        "#]]
        .assert_eq(&insert(&mut bench, &replicas));
    });
}

/// Eight entries with 60 MB each made their table unreadable: metadata of entities was unbounded.
#[test]
fn what_is_written_can_be_read() {
    both(|mut bench| {
        let group = |bytes: usize| multicast(1, &format!("metadata: \"{}\"", "m".repeat(bytes)));
        expect![[r#"
            UNKNOWN
            RESOURCE_EXHAUSTED entity.packet_replication_engine_entry.multicast_group_entry.metadata: the metadata is too long: it has 65537 bytes, and the limit is 65536 (in multicast group 1)
        "#]]
        .assert_eq(&insert(&mut bench, &[group(65537)]));
        expect![[r#"
            UNKNOWN
            RESOURCE_EXHAUSTED entity: the entity is too large: it has 3000024 bytes, and the limit is 2097152
        "#]]
        .assert_eq(&insert(&mut bench, &[group(3_000_000)]));
        assert_eq!(insert(&mut bench, &[group(65536)]), "OK\n");
        let read = "packet_replication_engine_entry { multicast_group_entry {} }";
        assert!(bench.read(read).len() > 65536);
        let many: String =
            (0..4097).map(|n| format!("replicas {{ egress_port: 1 instance: {n} }} ")).collect();
        let answer = insert(&mut bench, &[multicast(2, &many)]);
        assert!(answer.contains("there are 4097, backups included, and the limit is 4096"), "{answer}");
    });
}

/// A frame of 40 bytes to the clone's port 7, cut by its session or not.
#[test]
fn clones_are_cut_and_have_a_class() {
    let mut bench = bench();
    let frame = |ty: &str| format!("0a0000000001 0b0000000002 {ty} {}", "cc".repeat(26));
    let set = |bench: &mut Bench, how: &str, rest: &str| {
        let update = format!("{how} {}", session(5, &format!(r#"replicas {{ port: "\007" }} {rest}"#)));
        assert_eq!(bench.write(&[&update]), "OK\n");
    };
    set(&mut bench, "INSERT", "class_of_service: 3");
    let clone = |out: &str| out.lines().find_map(|line| Some(line.strip_prefix("7: ")?.to_string())).unwrap();
    // Length and class of service stand in the addresses.
    let whole = clone(&bench.packet(1, &frame("0011")));
    assert_eq!(whole, format!("000000000028{}0011{}", "000000000003", "cc".repeat(26)));
    for ty in ["0011", "0013"] {
        set(&mut bench, "MODIFY", "packet_length_bytes: 20 class_of_service: 7");
        let out = bench.packet(1, &frame(ty));
        assert_eq!(clone(&out), format!("000000000014000000000007{ty}{}", "cc".repeat(6)), "{ty}");
        // The packet itself is whole.
        assert!(out.lines().any(|line| line.ends_with(&format!("{ty}{}", "cc".repeat(26)))), "{out}");
        // A length above that of the clone cuts nothing.
        set(&mut bench, "MODIFY", "packet_length_bytes: 41");
        assert_eq!(clone(&bench.packet(1, &frame(ty))).len(), 80);
        // Into the headers.
        set(&mut bench, "MODIFY", "packet_length_bytes: 9");
        assert_eq!(clone(&bench.packet(1, &frame(ty))).len(), 18);
    }
    let read = "packet_replication_engine_entry { clone_session_entry { session_id: 5 } }";
    assert!(bench.read(read).contains("packet_length_bytes: 9"));
}

#[test]
fn backups_take_the_place_of_replicas_that_are_down() {
    let mut bench = bench();
    let group = multicast(
        2,
        r#"replicas { instance: 1 port: "\001" backup_replicas { port: "\002" instance: 2 } backup_replicas { port: "\003" instance: 3 } } replicas { instance: 4 port: "\004" }"#,
    );
    assert_eq!(insert(&mut bench, std::slice::from_ref(&group)), "OK\n");
    let read = bench.read("packet_replication_engine_entry { multicast_group_entry {} }");
    assert_eq!(read.trim(), group);
    let ports = |bench: &mut Bench| -> Vec<String> {
        let out = bench.packet(9, "0a0000000001 0b0000000002 0012");
        out.lines().map(|line| line.split(':').next().unwrap().to_string()).collect()
    };
    let turn = |bench: &mut Bench, port: u32, up: bool| {
        bench.link(port, up);
    };
    assert_eq!(ports(&mut bench), ["1", "4"]);
    turn(&mut bench, 1, false);
    assert_eq!(ports(&mut bench), ["2", "4"]);
    turn(&mut bench, 2, false);
    assert_eq!(ports(&mut bench), ["3", "4"]);
    turn(&mut bench, 3, false);
    assert_eq!(ports(&mut bench), ["1", "4"]);
    turn(&mut bench, 2, true);
    assert_eq!(ports(&mut bench), ["2", "4"]);
    turn(&mut bench, 1, true);
    assert_eq!(ports(&mut bench), ["1", "4"]);
}
