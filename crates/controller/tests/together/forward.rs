//! Writes that go forward ([`Call::Enforce`]): what a device may have done is not undone.

use crate::rig::{Passage, Rig, entry, request};
use base_time::Duration;
use controller::{Ask, Call, DeviceId, Ticket};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, entity::Entity as Kind, table_action::Type as Action};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

const ALL: &str = "ROLLBACK_ON_ERROR";
/// A table that all devices have.
const EVERYWHERE: &str = "table_entry { table_id: 5 }";

fn enforce(rig: &mut Rig, updates: &[String]) -> Ticket {
    rig.call(Call::Enforce(Box::new(request(ALL, updates))))
}

/// The value of each of a device's entries.
fn values(rig: &Rig, device: usize, query: &str) -> Vec<u8> {
    let value = |entity: Entity| {
        let Some(Kind::TableEntry(entry)) = entity.entity else { panic!("{entity:?}") };
        let Some(Action::Action(action)) = entry.action.and_then(|action| action.r#type) else { panic!() };
        action.params[0].value[0]
    };
    rig.holds(device, query).into_iter().map(value).collect()
}

/// Goes on until all is settled. No device that has an entry as written loses it again.
fn settle(rig: &mut Rig, written: &[u8]) {
    let seen = RefCell::new(BTreeMap::new());
    rig.step_while(|rig| {
        for device in 0..4 {
            let is_written = values(rig, device, EVERYWHERE) == written;
            let was = seen.borrow_mut().insert(device, is_written).unwrap_or(false);
            assert!(is_written || !was, "device {device} has gone back");
        }
        !rig.controller.stale().is_empty() || rig.controller.under_way() > 0
    });
}

/// A rack with an entry of value 1 everywhere.
fn rack() -> Rig {
    let mut rig = Rig::started();
    let first = rig.write(ALL, &[entry("INSERT", 5, 1, 1)]);
    rig.settle();
    assert_eq!(rig.ended(first), Ok(()));
    rig
}

/// The first write to a device has this fate.
fn first(device: usize, fate: Passage) -> crate::rig::Channel {
    let mut fate = Some(fate);
    Box::new(move |at, ask| match ask {
        Ask::Write(_) if at == device => fate.take().unwrap_or(Passage::Through),
        _ => Passage::Through,
    })
}

#[test]
fn a_write_that_devices_have_done_goes_forward_at_one_whose_answer_is_lost() {
    for fate in [Passage::AnswerLost, Passage::AskLost, Passage::Refused, Passage::Breaks(vec![0])] {
        for (update, written) in [("MODIFY", &[2][..]), ("DELETE", &[])] {
            let mut rig = rack();
            rig.channel = first(2, fate.clone());
            let write = enforce(&mut rig, &[entry(update, 5, 1, 2)]);
            settle(&mut rig, written);
            assert_eq!(rig.ended(write), Ok(()), "{fate:?}");
            (0..4).for_each(|device| assert_eq!(values(&rig, device, EVERYWHERE), written, "{fate:?}"));
        }
    }
}

/// The one of a plain write is rolled back: its client hears of it.
#[test]
fn other_writes_are_rolled_back() {
    let mut rig = rack();
    rig.channel = first(2, Passage::AnswerLost);
    let write = rig.call(Call::Operate(Box::new(request(ALL, &[entry("MODIFY", 5, 1, 2)]))));
    rig.settle();
    assert!(rig.ended(write).is_err());
    (0..4).for_each(|device| assert_eq!(values(&rig, device, EVERYWHERE), [1]));
}

#[test]
fn a_write_that_no_device_has_done_is_refused() {
    let mut rig = rack();
    rig.channel = Box::new(|_, ask| match ask {
        Ask::Write(_) => Passage::Refused,
        _ => Passage::Through,
    });
    let write = enforce(&mut rig, &[entry("MODIFY", 5, 1, 2)]);
    rig.settle();
    assert_eq!(rig.ended(write).unwrap_err().details[0].canonical_code, Code::ResourceExhausted as i32);
    let read = rig.read(EVERYWHERE);
    rig.settle();
    assert_eq!(rig.found(read).len(), 1);
    (0..4).for_each(|device| assert_eq!(values(&rig, device, EVERYWHERE), [1]));
    assert!(rig.controller.stale().is_empty(), "no device is repaired");
}

/// Such a device cannot have done the write whose answer was lost.
#[test]
fn a_write_is_rolled_back_if_a_device_has_no_room_for_the_desired_state() {
    let mut rig = rack();
    let mut lost = Some(Passage::AskLost);
    let tries = Rc::new(RefCell::new(0));
    let loads = Rc::clone(&tries);
    let mut refused = Some(Passage::Refused);
    rig.channel = Box::new(move |device, ask| match ask {
        // This one has room, and is repaired first.
        Ask::Write(_) if device == 1 => refused.take().unwrap_or(Passage::Through),
        Ask::Write(_) if device == 2 => lost.take().unwrap_or(Passage::Through),
        Ask::Load(_) | Ask::Commit(_) if device == 2 && *loads.borrow() < 4 => {
            *loads.borrow_mut() += 1;
            Passage::Refused
        }
        _ => Passage::Through,
    });
    let write = enforce(&mut rig, &[entry("MODIFY", 5, 1, 2)]);
    rig.answer_all();
    assert!(rig.ended(write).is_err() && *tries.borrow() == 4);
    (0..4).for_each(|device| assert_eq!(values(&rig, device, EVERYWHERE), [1]));
}

/// Nothing that is asked of device 2 arrives, until this is set to false.
fn without_device_2(rig: &mut Rig) -> Rc<RefCell<bool>> {
    let away = Rc::new(RefCell::new(true));
    let is_away = Rc::clone(&away);
    rig.channel = Box::new(move |device, _| match device == 2 && *is_away.borrow() {
        true => Passage::AskLost,
        false => Passage::Through,
    });
    away
}

/// The call ends when the device is as it should be. Until then it is in nobody's way.
#[test]
fn a_deletion_is_done_when_a_device_that_was_away_has_it() {
    let mut rig = rack();
    let away = without_device_2(&mut rig);
    let deletion = enforce(&mut rig, &[entry("DELETE", 5, 1, 0)]);
    let until = rig.now + Duration::from_s(20);
    rig.run_until(until);
    assert!(!rig.replies.contains_key(&deletion), "the device still has the entry");
    assert_eq!((values(&rig, 2, EVERYWHERE), values(&rig, 1, EVERYWHERE)), (vec![1], vec![]));
    assert!(rig.controller.stale().contains_key(&DeviceId(2)));
    // Others are done or refused as before.
    let beside = rig.write(ALL, &[entry("INSERT", 1, 1, 1)]);
    let there = [enforce(&mut rig, &[entry("INSERT", 5, 1, 3)]), rig.write(ALL, &[entry("INSERT", 3, 1, 1)])];
    let until = rig.now + Duration::from_s(3);
    rig.run_until(until);
    assert_eq!(rig.ended(beside), Ok(()));
    there.into_iter().for_each(|write| assert_eq!(rig.ended(write).unwrap_err().code, Code::Unavailable));
    *away.borrow_mut() = false;
    rig.step_while(|rig| !rig.controller.stale().is_empty());
    assert_eq!(rig.ended(deletion), Ok(()));
    assert_eq!(values(&rig, 2, EVERYWHERE), Vec::<u8>::new());
}

#[test]
fn calls_about_the_whole_rack_do_not_wait_for_a_device_that_is_away() {
    let mut rig = rack();
    let away = without_device_2(&mut rig);
    let write = enforce(&mut rig, &[entry("MODIFY", 5, 1, 2)]);
    let until = rig.now + Duration::from_s(20);
    rig.run_until(until);
    assert!(!rig.replies.contains_key(&write));
    let reset = rig.call(Call::Steer(None, controller::Steer::Reset));
    let until = rig.now + Duration::from_s(60);
    rig.run_until(until);
    assert!(rig.replies.contains_key(&reset), "it has begun and ended");
    *away.borrow_mut() = false;
    rig.settle();
    assert_eq!(rig.ended(write), Ok(()));
    (0..4).for_each(|device| assert_eq!(values(&rig, device, EVERYWHERE), [2]));
}
