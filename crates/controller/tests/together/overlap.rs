//! Concurrent calls, and calls in order.

use crate::rig::{DELAY, Passage, Rig, entry};
use base_time::{Duration, Time};
use controller::{Ask, Call, Steer};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, entity::Entity as Kind};
use std::sync::Arc;

const ALL: &str = "ROLLBACK_ON_ERROR";

/// The values of a table's entries.
fn values(found: &[Entity]) -> Vec<u8> {
    let value = |entity: &Entity| {
        let Some(Kind::TableEntry(entry)) = &entity.entity else { panic!("{entity:?}") };
        let Some(p4runtime_proto::p4::v1::table_action::Type::Action(action)) =
            entry.action.as_ref().and_then(|action| action.r#type.as_ref())
        else {
            panic!("{entry:?}")
        };
        action.params[0].value[0]
    };
    found.iter().map(value).collect()
}

#[test]
fn writes_to_different_devices_take_the_time_of_one() {
    let mut rig = Rig::started();
    let begun = rig.now;
    let writes = [1, 2, 3, 4].map(|table| rig.write(ALL, &[entry("INSERT", table, 1, 1)]));
    assert_eq!(rig.controller.under_way(), 4);
    rig.settle();
    for write in writes {
        assert_eq!((rig.ended(write), rig.ended_at(write)), (Ok(()), begun + DELAY * 2));
    }
}

/// The replicas of a shard all have its entries: a new flow waits for the slowest of them, not for one after the other (ExoPlane's first packet, T3).
#[test]
fn a_write_to_all_devices_takes_the_time_of_the_slowest() {
    let mut rig = Rig::started();
    rig.slow = [1, 3, 9, 6].map(Duration::from_ms);
    let begun = rig.now;
    let write = rig.write(ALL, &[entry("INSERT", 5, 1, 1)]);
    rig.settle();
    assert_eq!((rig.ended(write), rig.ended_at(write)), (Ok(()), begun + DELAY * 2 + Duration::from_ms(9)));
    for device in 0..4 {
        assert_eq!(values(&rig.holds(device, "table_entry { table_id: 5 }")), [1]);
    }
}

#[test]
fn writes_to_one_table_come_in_order() {
    let mut rig = Rig::started();
    let begun = rig.now;
    let first = rig.write(ALL, &[entry("INSERT", 1, 1, 1)]);
    let second = rig.write(ALL, &[entry("MODIFY", 1, 1, 2)]);
    let third = rig.write(ALL, &[entry("INSERT", 1, 1, 3)]);
    // It waits for the other table of its batch, and what is about that table waits for it.
    let fourth = rig.write(ALL, &[entry("INSERT", 1, 2, 4), entry("INSERT", 2, 2, 4)]);
    let fifth = rig.write(ALL, &[entry("MODIFY", 2, 2, 5)]);
    let beside = rig.write(ALL, &[entry("INSERT", 3, 1, 1)]);
    rig.settle();
    assert_eq!(rig.ended(third).unwrap_err().details[0].canonical_code, Code::AlreadyExists as i32);
    for (write, turns) in [(first, 1), (second, 2), (fourth, 3), (fifth, 4), (beside, 1)] {
        assert_eq!((rig.ended(write), rig.ended_at(write)), (Ok(()), begun + DELAY * (2 * turns)));
    }
    assert_eq!(values(&rig.holds(0, "table_entry { table_id: 1 }")), [2, 4]);
    assert_eq!(values(&rig.holds(1, "table_entry { table_id: 2 }")), [5]);
}

/// A table that one device has is not written one entry after the other: the round trip bounded the writes a second.
#[test]
fn entries_of_a_table_on_one_device_do_not_wait_for_each_other() {
    let mut rig = Rig::started();
    let begun = rig.now;
    let writes = [1, 2, 3].map(|key| rig.write(ALL, &[entry("INSERT", 1, key, 1)]));
    let again = rig.write(ALL, &[entry("MODIFY", 1, 2, 7)]);
    // Read when all writes before it have ended, and before later ones.
    let read = rig.read("table_entry { table_id: 1 }");
    let after = rig.write(ALL, &[entry("INSERT", 1, 4, 1)]);
    // Several devices have this one: packets see all writes in one order.
    let everywhere = [1, 2].map(|key| rig.write(ALL, &[entry("INSERT", 5, key, 1)]));
    rig.settle();
    let turns = |write| (rig.ended(write), (rig.ended_at(write).since(begun)).as_ps() / (DELAY * 2).as_ps());
    assert_eq!(writes.map(turns), [(); 3].map(|()| (Ok(()), 1)));
    assert_eq!([again, after].map(turns), [(Ok(()), 2), (Ok(()), 3)]);
    assert_eq!(everywhere.map(turns), [(Ok(()), 1), (Ok(()), 2)]);
    assert_eq!(values(&rig.found(read)), [1, 7, 1]);
    assert_eq!(values(&rig.holds(0, "table_entry { table_id: 1 }")), [1, 7, 1, 1]);
}

/// A deletion first reads the entry's counts from the device. An insertion that comes after it finds room all the same.
#[test]
fn entries_are_written_in_order_where_one_is_read_first() {
    let mut rig = Rig::started();
    let full = rig.write(ALL, &[entry("INSERT", 9, 1, 1)]);
    rig.settle();
    let begun = rig.now;
    let writes = [entry("DELETE", 9, 1, 1), entry("INSERT", 9, 2, 2)].map(|update| rig.write(ALL, &[update]));
    rig.settle();
    assert_eq!([full, writes[0], writes[1]].map(|write| rig.ended(write)), [(); 3].map(|()| Ok(())));
    assert_eq!(writes.map(|write| rig.ended_at(write)), [4, 6].map(|ways| begun + DELAY * ways));
    assert_eq!(values(&rig.holds(3, "table_entry { table_id: 9 }")), [2]);
}

/// A device that does not answer has a share of the calls under way, however many writes come for it.
#[test]
fn a_device_that_does_not_answer_keeps_no_other_waiting() {
    let mut rig = Rig::started();
    rig.channel = Box::new(|device, ask| match ask {
        Ask::Write(_) if device == 0 => Passage::AskLost,
        _ => Passage::Through,
    });
    let begun = rig.now;
    for key in 0..300 {
        rig.write(ALL, &[entry("INSERT", 1, key, 1)]);
    }
    assert_eq!(rig.controller.under_way(), 64);
    let other = rig.write(ALL, &[entry("INSERT", 2, 1, 1)]);
    rig.settle();
    assert_eq!((rig.ended(other), rig.ended_at(other)), (Ok(()), begun + DELAY * 2));
}

/// One of the writes under way is refused, two asks and two answers are lost.
#[test]
fn each_of_the_writes_under_way_has_its_own_answer() {
    let fates = [
        Passage::Through,
        Passage::Refused,
        Passage::AskLost,
        Passage::AnswerLost,
        Passage::AskLost,
        Passage::AnswerLost,
        Passage::Through,
    ];
    let mut rig = Rig::started();
    let mut left = fates.clone().into_iter();
    rig.channel = Box::new(move |_, ask| match ask {
        Ask::Write(_) => left.next().unwrap_or(Passage::Through),
        _ => Passage::Through,
    });
    let writes: Vec<_> = (1..=7).map(|key| rig.write(ALL, &[entry("INSERT", 1, key, key as u8)])).collect();
    assert_eq!(rig.controller.under_way(), 7);
    rig.settle();
    for (write, fate) in writes.iter().zip(fates) {
        let code = rig.ended(*write).err().map(|status| status.details[0].canonical_code);
        let expected = match fate {
            Passage::Through => None,
            Passage::Refused => Some(Code::ResourceExhausted as i32),
            _ => Some(Code::Unavailable as i32),
        };
        assert_eq!(code, expected);
    }
    assert_eq!(values(&rig.holds(0, "table_entry { table_id: 1 }")), [1, 7]);
    let read = rig.read("table_entry { table_id: 1 }");
    rig.settle();
    assert_eq!(values(&rig.found(read)), [1, 7]);
}

#[test]
fn a_refused_batch_leaves_the_one_beside_it_alone() {
    let mut rig = Rig::started();
    rig.channel = Box::new(|device, ask| match ask {
        Ask::Write(_) if device == 1 => Passage::Refused,
        _ => Passage::Through,
    });
    // Of devices 0 and 1, and of device 0 alone.
    let refused = rig.write(ALL, &[entry("INSERT", 1, 1, 1), entry("INSERT", 2, 1, 1)]);
    let beside = rig.write(ALL, &[format!("INSERT {}", member(1))]);
    rig.settle();
    assert_eq!(rig.ended(refused).unwrap_err().details[1].canonical_code, Code::ResourceExhausted as i32);
    assert_eq!(rig.ended(beside), Ok(()));
    assert!(rig.holds(0, "table_entry { table_id: 1 }").is_empty());
    assert_eq!(rig.holds(0, "action_profile_member { }").len(), 1);
    let read = rig.read("table_entry { table_id: 1 }");
    rig.settle();
    assert!(rig.found(read).is_empty());
}

fn member(id: u32) -> String {
    format!(
        "action_profile_member {{ action_profile_id: 50 member_id: {id} action {{ action_id: 100 params {{ param_id: 1 value: \"\\x01\" }} }} }}"
    )
}

#[test]
fn tables_of_one_profile_come_in_order() {
    let mut rig = Rig::started();
    let begun = rig.now;
    let entry = |table: u32| {
        format!(
            "INSERT table_entry {{ table_id: {table} match {{ field_id: 1 exact {{ value: \"\\x01\" }} }} action {{ action_profile_member_id: 1 }} }}"
        )
    };
    let writes =
        [format!("INSERT {}", member(1)), entry(7), entry(8)].map(|update| rig.write(ALL, &[update]));
    rig.settle();
    for (write, turns) in writes.into_iter().zip(1..) {
        assert_eq!((rig.ended(write), rig.ended_at(write)), (Ok(()), begun + DELAY * (2 * turns)));
    }
}

#[test]
fn reads_wait_for_writes_before_them_and_those_after_do_not_wait() {
    let mut rig = Rig::started();
    let begun = rig.now;
    let write = rig.write(ALL, &[entry("INSERT", 1, 1, 1)]);
    let other = rig.read("table_entry { table_id: 2 }");
    let all = rig.read("counter_entry { }");
    let after = rig.write(ALL, &[entry("INSERT", 3, 1, 1)]);
    rig.settle();
    assert_eq!(rig.ended_at(other), begun, "it needs no device");
    let [one, two] = [1, 2].map(|turns| begun + DELAY * (2 * turns));
    assert_eq!([write, after].map(|call| rig.ended_at(call)), [one, two]);
    // All values are there when the last write ends.
    assert_eq!(rig.ended_at(all), two + Duration::from_ms(1));
}

/// Writes waited while a read gathered counters from devices, however long that took.
#[test]
fn writes_come_while_counters_are_gathered() {
    let count = |how: &str, index: u32, packets: u32| {
        format!(
            "{how} counter_entry {{ counter_id: 60 index {{ index: {index} }} data {{ packet_count: {packets} }} }}"
        )
    };
    let mut rig = Rig::started();
    let first = rig.write(ALL, &[count("MODIFY", 1, 5), count("MODIFY", 2, 6)]);
    rig.settle();
    assert_eq!(rig.ended(first), Ok(()));
    let begun = rig.now;
    let packets = |rig: &Rig, read| -> Vec<i64> {
        let of = |entity: &Entity| match &entity.entity {
            Some(Kind::CounterEntry(e)) => e.data.unwrap_or_default().packet_count,
            other => panic!("{other:?}"),
        };
        rig.found(read).iter().map(of).filter(|count| *count != 0).collect()
    };
    // Devices have reported the old value when they do the write, which ends before the read.
    let read = rig.read("counter_entry { counter_id: 60 }");
    let write = rig.write(ALL, &[count("MODIFY", 1, 7)]);
    assert_eq!(rig.controller.under_way(), 2);
    rig.settle();
    // It has the old value reported first.
    assert_eq!((rig.ended(write), rig.ended_at(write)), (Ok(()), begun + DELAY * 4));
    assert_eq!(packets(&rig, read), [7, 6]);
    // A write that is under way when all values are there is seen whole, or not at all.
    let read = rig.read("counter_entry { counter_id: 60 }");
    let until = rig.now + DELAY;
    rig.run_until(until);
    let late = rig.write(ALL, &[count("MODIFY", 1, 8), count("MODIFY", 2, 9)]);
    let after = rig.write(ALL, &[count("MODIFY", 1, 1)]);
    rig.settle();
    assert_eq!([late, after].map(|call| rig.ended(call)), [Ok(()), Ok(())]);
    assert!(rig.ended_at(late) <= rig.ended_at(read) && rig.ended_at(read) < rig.ended_at(after));
    assert_eq!(packets(&rig, read), [8, 9]);
    // One that is lost on its way to a device, which is repaired when the read has left it, is not seen.
    let read = rig.read("counter_entry { counter_id: 60 }");
    let mut is_lost = true;
    rig.channel = Box::new(move |device, ask| match ask {
        Ask::Write(_) if device == 1 && std::mem::take(&mut is_lost) => Passage::AskLost,
        _ => Passage::Through,
    });
    let refused = rig.write(ALL, &[count("MODIFY", 1, 30)]);
    rig.settle();
    assert!(rig.ended(refused).is_err());
    assert_eq!(packets(&rig, read), [1, 9]);
}

#[test]
fn what_is_about_the_whole_rack_is_done_alone() {
    let mut rig = Rig::started();
    let first = rig.write(ALL, &[entry("INSERT", 1, 1, 1)]);
    let whole = rig.call(Call::Steer(None, Steer::Reset));
    let last = rig.write(ALL, &[entry("INSERT", 2, 1, 1)]);
    assert_eq!(rig.controller.under_way(), 1);
    rig.settle();
    assert!(rig.ended_at(first) < rig.ended_at(whole) && rig.ended_at(whole) < rig.ended_at(last));
    for call in [first, whole, last] {
        assert_eq!(rig.ended(call), Ok(()));
    }
    assert_eq!(rig.most, 1);
}

/// Another plan has one value of each cell of a register. It is refused where two devices have cells of their own, before any device is asked.
#[test]
fn tables_keep_their_sizes_where_devices_have_cells_of_their_own() {
    let resize = || Call::Steer(None, Steer::Resize([("one".to_string(), 64)].into()));
    for is_apart in [false, true] {
        let mut rig = if is_apart { Rig::with_cells_apart() } else { Rig::started() };
        let first = rig.write(ALL, &[entry("INSERT", 1, 1, 1)]);
        rig.settle();
        assert_eq!(rig.ended(first), Ok(()));
        let (before, begun) = (rig.controller.rollout().expect("a plan"), rig.now);
        let call = rig.call(resize());
        rig.settle();
        let after = rig.controller.rollout().expect("a plan");
        if is_apart {
            let refused = rig.ended(call).expect_err("it would mix cells");
            assert_eq!(refused.code, Code::FailedPrecondition);
            assert!(refused.message.contains("each device has cells of its own of `cells`"), "{refused:?}");
            assert_eq!((Arc::ptr_eq(&before, &after), rig.ended_at(call)), (true, begun));
        } else {
            assert_eq!(rig.ended(call), Ok(()), "device 2 alone has `cells`");
            assert!(!Arc::ptr_eq(&before, &after), "the plan is another");
        }
        assert_eq!(values(&rig.holds(0, "table_entry { table_id: 1 }")), [1], "entries stay");
    }
}

/// Each has lost a device that the other works on too: neither waits for the other to end.
#[test]
fn two_that_have_to_repair_each_other_s_device_both_do() {
    let mut rig = Rig::started();
    let mut lost = vec![];
    rig.channel = Box::new(move |device, ask| match ask {
        Ask::Write(_) if !lost.contains(&device) => {
            lost.push(device);
            Passage::AnswerLost
        }
        _ => Passage::Through,
    });
    let one = rig.write(ALL, &[entry("INSERT", 1, 1, 1), entry("INSERT", 2, 1, 1)]);
    let counter = "MODIFY counter_entry { counter_id: 60 index { index: 1 } data { packet_count: 7 } }";
    let other = rig.write(ALL, &[counter.to_string()]);
    // It comes when both are over, and nothing reports that a device is out of step.
    let after = rig.write(ALL, &[entry("INSERT", 1, 2, 2), entry("INSERT", 2, 2, 2)]);
    rig.settle();
    assert_eq!(rig.ended(one).unwrap_err().details[0].canonical_code, Code::Unavailable as i32);
    assert_eq!([rig.ended(other), rig.ended(after)], [Ok(()), Ok(())]);
    for (device, table) in [(0, 1), (1, 2)] {
        assert_eq!(values(&rig.holds(device, &format!("table_entry {{ table_id: {table} }}"))), [2]);
    }
    let read = rig.read("counter_entry { counter_id: 60 index { index: 1 } }");
    rig.settle();
    let found = rig.found(read);
    let Some(Kind::CounterEntry(count)) = &found[0].entity else { panic!("{found:?}") };
    assert_eq!(count.data.as_ref().map(|data| data.packet_count), Some(7));
}

/// As many calls as may be are under way, 256: a round trip writes so many entries.
#[test]
fn many_small_writes_keep_all_devices_busy() {
    let mut rig = Rig::started();
    let begun = rig.now;
    let rounds = 200;
    let mut writes = vec![];
    for round in 0..rounds {
        for table in 1..=4 {
            writes.push(rig.write(ALL, &[entry("INSERT", table, round, 1)]));
        }
    }
    rig.settle();
    assert!(writes.iter().all(|write| rig.ended(*write).is_ok()));
    assert_eq!((rig.most, rig.now.since(begun)), (256, DELAY * 2 * 800u64.div_ceil(256)));
}

/// The one that is given up sooner is looked at later: time goes on all the same.
#[test]
fn two_answers_that_are_lost_are_given_up_one_after_the_other() {
    let mut rig = Rig::started();
    let mut left = 1;
    rig.channel = Box::new(move |device, ask| match ask {
        Ask::Read(_) if device == 0 && left > 0 => {
            left -= 1;
            Passage::AskLost
        }
        Ask::Write(_) => Passage::AskLost,
        _ => Passage::Through,
    });
    // Device 0 is waited for longer from now on.
    let read = rig.read("counter_entry { counter_id: 60 index { index: 1 } }");
    rig.settle();
    assert!(rig.ended(read).is_err());
    let write = rig.write(ALL, &[entry("INSERT", 1, 1, 1), entry("INSERT", 2, 1, 1)]);
    rig.settle();
    assert_eq!(rig.ended(write).unwrap_err().details[0].canonical_code, Code::Unavailable as i32);
}

#[test]
fn a_device_that_restarts_is_brought_back_beside_writes_to_others() {
    let mut rig = Rig::started();
    let first = rig.write(ALL, &[entry("INSERT", 1, 1, 1)]);
    rig.settle();
    rig.restart(0);
    let mut beside = vec![];
    for key in 0..8 {
        beside.push((rig.now, rig.write(ALL, &[entry("INSERT", 2, key, 1)])));
        let until = rig.now + DELAY * 2;
        rig.run_until(until);
    }
    rig.settle();
    assert_eq!(rig.ended(first), Ok(()));
    for (begun, write) in beside {
        assert_eq!((rig.ended(write), rig.ended_at(write)), (Ok(()), begun + DELAY * 2));
    }
    assert_eq!(values(&rig.holds(0, "table_entry { table_id: 1 }")), [1]);
}

#[test]
fn audits_look_at_devices_on_which_nothing_is_under_way() {
    let mut rig = Rig::started();
    rig.controller.audit_every(rig.now, DELAY);
    for key in 0..40 {
        rig.write(ALL, &[entry("INSERT", 1, key, 1)]);
        rig.write(ALL, &[entry("INSERT", 5, key % 3, 1), entry("DELETE", 5, key % 3, 1)]);
        let until = rig.now + DELAY;
        rig.run_until(until);
        assert!(rig.controller.stale().is_empty(), "{:?}", rig.controller.stale());
    }
    rig.run_until(Time::ZERO + DELAY * 2000);
    assert_eq!(rig.holds(0, "table_entry { table_id: 1 }").len(), 40);
}

/// Writes waited until reads of the same table were over, however long these were.
#[test]
fn writes_come_between_the_slices_of_a_read() {
    let mut rig = Rig::started();
    let all: Vec<String> = (1..=3000).map(|key| entry("INSERT", 1, key, 1)).collect();
    let first = rig.write(ALL, &all);
    rig.settle();
    assert_eq!(rig.ended(first), Ok(()));
    let read = rig.read("table_entry { }");
    assert_eq!(rig.controller.under_way(), 1);
    let updates = [
        entry("MODIFY", 1, 1, 2),
        entry("MODIFY", 1, 2999, 2),
        entry("DELETE", 1, 2998, 0),
        entry("INSERT", 1, 3001, 3),
        entry("INSERT", 2, 1, 3),
    ];
    let write = rig.write(ALL, &updates);
    assert!(rig.controller.under_way() == 2 && !rig.replies.contains_key(&read), "both are under way");
    rig.settle();
    assert_eq!(rig.ended(write), Ok(()));
    assert!(rig.ended_at(read) < rig.ended_at(write));
    // It found what was there when it began.
    assert_eq!(values(&rig.found(read)), [1; 3000]);
    let held = values(&rig.holds(0, "table_entry { table_id: 1 }"));
    assert_eq!((held.len(), held[0], held[2997], held[2999 - 1]), (3000, 2, 2, 1));
    let again = rig.read("table_entry { }");
    rig.settle();
    assert_eq!(rig.found(again).len(), 3001);
}
