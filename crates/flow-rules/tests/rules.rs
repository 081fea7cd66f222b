//! Rules as text, and their effect on a switch.

use base_time::Time;
use dataplane_api::{Device, DropReason};
use flow_rules::{Action, FlowRule, FlowSwitch, patch, print, read};

#[test]
fn what_is_printed_is_read_back() {
    let rules = patch(&[(1, 11), (3, 13)]);
    assert_eq!(rules.len(), 5);
    assert_eq!(read(&print(&rules)), Ok(rules));
}

#[test]
fn lines_as_people_write_them() {
    let text = "# the uplink\n\nin_port=7, actions=output:8  # default priority\n";
    let rule = FlowRule { priority: 0x8000, in_port: Some(7), action: Action::Output(8) };
    assert_eq!(read(text), Ok(vec![rule]));
}

#[test]
fn what_such_a_switch_cannot_do_is_refused() {
    for (line, why) in [
        ("dl_vlan=5,actions=output:1", "`dl_vlan` is not `priority`, `in_port` or `actions`"),
        (
            "in_port=1,actions=push_vlan:0x8100",
            "`push_vlan:0x8100` is no action: they are `output:PORT` and `drop`",
        ),
        ("in_port=1,actions=normal", "`normal` is no action: they are `output:PORT` and `drop`"),
        ("in_port=1,actions=output:1", "frames cannot leave on port 1, on which they were received"),
        ("in_port=1,in_port=2,actions=drop", "`in_port` is given twice"),
        ("priority=70000,actions=drop", "`priority` is no number that fits: `70000`"),
        ("in_port=1", "`actions` is missing"),
        ("in_port", "`in_port` has no `=`"),
    ] {
        assert_eq!(read(&format!("\n{line}")), Err(format!("line 2: {why}")));
    }
}

#[test]
fn frames_leave_as_they_came_by_the_rule_of_the_highest_priority() {
    let text = "priority=1,in_port=1,actions=output:2\npriority=5,in_port=1,actions=output:3\nactions=drop,priority=0\n";
    let mut switch = FlowSwitch::new(read(text).unwrap());
    let mut send = |port| {
        let queued = switch.ingress(port, b"as it is".to_vec(), Time::ZERO);
        switch.drain(queued, Time::ZERO)
    };
    let out = send(1);
    assert_eq!((out[0].port, out[0].frame.as_slice(), out.len()), (3, &b"as it is"[..], 1));
    assert!(send(2).is_empty());
    let counters = switch.counters();
    assert_eq!((counters.received, counters.sent, counters.created), (2, 1, 0));
    assert_eq!(counters.dropped.get(&DropReason::Ingress), Some(&1));
}
