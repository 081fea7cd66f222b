//! Devices that restart after they have answered, where the controller hears of the restart before the last answers: they are repaired.

use crate::rig::{DELAY, Passage, Rig, entry};
use controller::{Ask, Call, DeviceId};
use p4runtime_proto::p4::v1::SetForwardingPipelineConfigRequest;
use p4runtime_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use std::cell::Cell;
use std::rc::Rc;

/// With an entry on each device.
fn filled() -> Rig {
    let mut rig = Rig::started();
    let write = rig.write("ROLLBACK_ON_ERROR", &[entry("INSERT", 5, 1, 7), entry("INSERT", 4, 1, 7)]);
    rig.settle();
    assert_eq!(rig.ended(write), Ok(()));
    rig
}

/// Device 2 restarts when so many asks of this kind have been answered.
fn restart_after(rig: &mut Rig, count: u32, is_it: fn(&Ask) -> bool) {
    let seen = Rc::new(Cell::new(0));
    let counts = Rc::clone(&seen);
    rig.channel = Box::new(move |_, ask| {
        counts.set(counts.get() + u32::from(is_it(ask)));
        Passage::Through
    });
    rig.step_while(|_| seen.get() < count);
    rig.channel = Box::new(|_, _| Passage::Through);
    rig.restart_at_once(2);
}

/// Each device has its entries, and no repair is due.
fn check(rig: &mut Rig) {
    rig.settle();
    let now = rig.now;
    rig.run_until(now + DELAY * 100);
    for device in 0..3 {
        assert_eq!(rig.holds(device, "table_entry { table_id: 5 }").len(), 1, "device {device}");
    }
    assert!(rig.controller.stale().is_empty(), "{:?}", rig.controller.stale());
}

#[test]
fn a_restart_while_a_controller_takes_over_is_not_forgotten() {
    let mut rig = filled();
    let adopted = rig.call(Call::Adopt(None, vec![]));
    restart_after(&mut rig, 4, |ask| matches!(ask, Ask::Holdings(_)));
    check(&mut rig);
    assert_eq!(rig.ended(adopted), Ok(()));
}

#[test]
fn a_restart_after_a_commit_is_not_forgotten() {
    let mut rig = filled();
    let request = SetForwardingPipelineConfigRequest {
        device_id: 1,
        election_id: Some(p4runtime_proto::p4::v1::Uint128 { high: 0, low: 1 }),
        action: Action::ReconcileAndCommit as i32,
        config: Some(Rig::config()),
        ..SetForwardingPipelineConfigRequest::default()
    };
    let exchanged = rig.call(Call::SetConfig(Box::new(request)));
    // The origin is the last, and all others have committed.
    restart_after(&mut rig, 4, |ask| matches!(ask, Ask::Commit(_)));
    check(&mut rig);
    assert_eq!(rig.ended(exchanged), Ok(()));
}

#[test]
fn a_restart_after_a_repair_is_not_forgotten() {
    let mut rig = filled();
    rig.restart(2);
    restart_after(&mut rig, 1, |ask| matches!(ask, Ask::Commit(_)));
    assert!(rig.controller.stale().contains_key(&DeviceId(2)));
    check(&mut rig);
}
