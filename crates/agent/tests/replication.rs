//! Groups and default members of BMv2's clients when a change is refused, and when a P4Runtime controller changes them, too.

use crate::thrift::{Client, Running, about};
use bmv2::wire::{Type, Value};

const GROUPS: &str = "packet_replication_engine_entry { multicast_group_entry {} }";

fn text(text: &str) -> Value {
    Value::text(text)
}

/// A map with these numbers.
fn map(numbers: &[usize]) -> Value {
    let length = numbers.iter().max().map_or(0, |most| most + 1);
    text(
        &(0..length)
            .rev()
            .map(|number| if numbers.contains(&number) { '1' } else { '0' })
            .collect::<String>(),
    )
}

/// Calls a method of `simple_pre_lag`.
fn call(client: &mut Client, method: &str, more: Vec<Value>) -> Option<Value> {
    let all = std::iter::once(Value::I32(0)).chain(more);
    client.method(&format!("simple_pre_lag:{method}"), (1..).zip(all).collect())
}

fn dump(client: &mut Client) -> String {
    match call(client, "bm_mc_get_entries", vec![]) {
        Some(Value::String(dump)) => String::from_utf8(dump).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Group 5 with node 0: port 1, and one port of link aggregation group 2, which has 5 and 6.
fn group(client: &mut Client) {
    assert_eq!(call(client, "bm_mc_set_lag_membership", vec![Value::I16(2), map(&[5, 6])]), None);
    assert_eq!(call(client, "bm_mc_mgrp_create", vec![Value::I32(5)]), Some(Value::I32(5)));
    let node = vec![Value::I32(400), map(&[1]), map(&[2])];
    assert_eq!(call(client, "bm_mc_node_create", node), Some(Value::I32(0)));
    assert_eq!(call(client, "bm_mc_node_associate", vec![Value::I32(5), Value::I32(0)]), None);
}

/// v1model has no port 600: a change that would send a copy to it is refused, and nothing remains of it.
#[test]
fn what_is_refused_changes_no_group() {
    let switch = Running::start();
    let mut client = switch.client();
    group(&mut client);
    let alone = vec![Value::I32(7), map(&[600]), map(&[])];
    assert_eq!(call(&mut client, "bm_mc_node_create", alone), Some(Value::I32(1)));
    // Link aggregation group 1 has never been set.
    let both = vec![Value::I32(0), map(&[1]), map(&[1, 2])];
    assert_eq!(call(&mut client, "bm_mc_node_update", both), None);
    let before = (switch.read(GROUPS), dump(&mut client));
    assert!(before.0.contains(r#"port: "\001""#) && before.0.contains(r#"port: "\006""#), "{}", before.0);
    let refused = |code| Some(Value::Struct(vec![(1, Value::I32(code))]));
    for (method, arguments, code) in [
        ("bm_mc_set_lag_membership", vec![Value::I16(2), map(&[600])], 5),
        ("bm_mc_set_lag_membership", vec![Value::I16(1), map(&[600])], 5),
        ("bm_mc_set_lag_membership", vec![Value::I16(256), map(&[1])], 5),
        ("bm_mc_node_update", vec![Value::I32(0), map(&[600]), map(&[2])], 5),
        ("bm_mc_node_update", vec![Value::I32(0), map(&[1]), map(&[256])], 5),
        ("bm_mc_node_update", vec![Value::I32(0), text("12"), map(&[])], 5),
        ("bm_mc_node_update", vec![Value::I32(2), map(&[1]), map(&[])], 4),
        ("bm_mc_node_associate", vec![Value::I32(5), Value::I32(1)], 5),
        ("bm_mc_node_associate", vec![Value::I32(5), Value::I32(0)], 4),
        ("bm_mc_node_associate", vec![Value::I32(6), Value::I32(0)], 2),
        ("bm_mc_node_dissociate", vec![Value::I32(5), Value::I32(1)], 4),
        ("bm_mc_node_destroy", vec![Value::I32(2)], 4),
        ("bm_mc_mgrp_create", vec![Value::I32(5)], 2),
        ("bm_mc_mgrp_create", vec![Value::I32(70_000)], 5),
        ("bm_mc_mgrp_destroy", vec![Value::I32(6)], 2),
    ] {
        let name = format!("{method} {arguments:?}");
        assert_eq!(call(&mut client, method, arguments), refused(code), "{name}");
        assert_eq!((switch.read(GROUPS), dump(&mut client)), before, "{name}");
    }
    // The largest number of a link aggregation group is 255. Groups that nobody uses send no copies.
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", vec![Value::I16(255), map(&[3])]), None);
    assert_eq!(switch.read(GROUPS), before.0);
    // The group goes on as it was.
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", vec![Value::I16(2), map(&[4])]), None);
    let read = switch.read(GROUPS);
    assert!(read.contains(r#"port: "\004""#) && !read.contains(r#"port: "\006""#), "{read}");
    assert_eq!(call(&mut client, "bm_mc_node_dissociate", vec![Value::I32(5), Value::I32(0)]), None);
    assert!(!switch.read(GROUPS).contains("port:"));
}

/// All groups with a node of a link aggregation group follow it.
#[test]
fn link_aggregation_groups_change_all_groups_that_use_them() {
    let switch = Running::start();
    let mut client = switch.client();
    group(&mut client);
    assert_eq!(call(&mut client, "bm_mc_mgrp_create", vec![Value::I32(9)]), Some(Value::I32(9)));
    let node = vec![Value::I32(3), map(&[]), map(&[1, 2])];
    assert_eq!(call(&mut client, "bm_mc_node_create", node), Some(Value::I32(1)));
    assert_eq!(call(&mut client, "bm_mc_node_associate", vec![Value::I32(9), Value::I32(1)]), None);
    assert_eq!(switch.read(GROUPS).matches(r#"port: "\006""#).count(), 2);
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", vec![Value::I16(2), map(&[7])]), None);
    let read = switch.read(GROUPS);
    assert_eq!(
        (read.matches(r#"port: "\007""#).count(), read.matches(r#"port: "\006""#).count()),
        (2, 0),
        "{read}"
    );
    assert_eq!(call(&mut client, "bm_mc_node_destroy", vec![Value::I32(1)]), None);
    assert_eq!(switch.read(GROUPS).matches(r#"port: "\007""#).count(), 1);
}

/// A group that a controller has written has nodes for BMv2's clients: one for each instance.
#[test]
fn controllers_change_groups() {
    let switch = Running::start();
    let mut client = switch.client();
    group(&mut client);
    switch.write(
        "type: MODIFY entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 \
         replicas { port: \"\\003\" instance: 1 } replicas { port: \"\\002\" instance: 1 } replicas { port: \"\\002\" instance: 2 } } } }",
    );
    let dumped = dump(&mut client);
    // The old node stays, in no group.
    assert!(dumped.contains(r#"{"id":5,"l1_handles":[1,2]}"#), "{dumped}");
    assert!(dumped.contains(r#"{"handle":1,"l2_handle":1,"rid":1}"#), "{dumped}");
    assert!(dumped.contains(r#"{"handle":0,"lags":[2],"ports":[1]}"#), "{dumped}");
    let before = switch.read(GROUPS);
    assert_eq!(call(&mut client, "bm_mc_set_lag_membership", vec![Value::I16(2), map(&[7])]), None);
    assert_eq!(switch.read(GROUPS), before, "node 0 is in no group");
    switch.write(
        "type: DELETE entity { packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 5 } } }",
    );
    assert!(dump(&mut client).contains(r#""mgrps":[]"#));
    assert_eq!(call(&mut client, "bm_mc_mgrp_create", vec![Value::I32(5)]), Some(Value::I32(5)));
}

/// A default that names a member follows it, whoever modifies it, until a controller writes another default.
#[test]
fn controllers_change_default_members() {
    let switch = Running::start();
    let mut client = switch.client();
    let profile = "MyIngress.members";
    let data = |port: u8| Value::List(Type::String, vec![Value::String(vec![0, port])]);
    let add = about(profile, vec![text("forward"), data(1)]);
    assert_eq!(client.standard("bm_mt_act_prof_add_member", add), Some(Value::I32(0)));
    let get = |client: &mut Client| client.standard("bm_mt_get_default_entry", about("ecmp", vec![]));
    let named = Some(Value::Struct(vec![(1, Value::I32(2)), (4, Value::I32(0))]));
    let forward =
        |port| Some(Value::Struct(vec![(1, Value::I32(1)), (2, text("MyIngress.forward")), (3, data(port))]));
    let set = |client: &mut Client| {
        let set = about("ecmp", vec![Value::I32(0)]);
        assert_eq!(client.standard("bm_mt_indirect_set_default_member", set), None);
        assert_eq!(get(client), named);
    };
    let modify = |client: &mut Client, port| {
        let modify = about(profile, vec![Value::I32(0), text("forward"), data(port)]);
        assert_eq!(client.standard("bm_mt_act_prof_modify_member", modify), None);
    };
    let (table, action) = (switch.id("MyIngress.ecmp"), switch.id("MyIngress.forward"));
    let runs = |port: u8| {
        format!("action {{ action_id: {action} params {{ param_id: 1 value: \"\\{port:03o}\" }} }}")
    };

    // The default.
    set(&mut client);
    let default = |port| {
        let action = runs(port);
        format!(
            "type: MODIFY entity {{ table_entry {{ table_id: {table} is_default_action: true action {{ {action} }} }} }}"
        )
    };
    switch.write(&default(4));
    modify(&mut client, 5);
    assert_eq!(get(&mut client), forward(4));

    // The member: the default follows it.
    set(&mut client);
    switch.write(&format!(
        "type: MODIFY entity {{ action_profile_member {{ action_profile_id: {} member_id: 1 {} }} }}",
        switch.id(profile),
        runs(6)
    ));
    assert_eq!(get(&mut client), named);
    modify(&mut client, 7);
    assert_eq!(get(&mut client), named);
    // A member that is nobody's default can go.
    switch.write(&default(8));
    assert_eq!(get(&mut client), forward(8));
    assert_eq!(client.standard("bm_mt_act_prof_delete_member", about(profile, vec![Value::I32(0)])), None);

    // Everything.
    let add = about(profile, vec![text("forward"), data(1)]);
    assert_eq!(client.standard("bm_mt_act_prof_add_member", add), Some(Value::I32(0)));
    set(&mut client);
    assert_eq!(client.standard("bm_reset_state", vec![]), None);
    assert_ne!(get(&mut client), named);
}
