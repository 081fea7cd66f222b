//! Reported counts outlive the controller, and counts not yet reported are not lost with it.

use crate::program::{counts, sums};
use crate::rig::{CELLS, Faults, HARD, Message, Rig};
use base_time::Duration;
use controller::{DeviceId, Reply};

/// Devices go on as they are: neither what was kept nor what they have not said yet is lost, and no copy goes back.
#[test]
fn a_controller_that_is_killed_loses_nothing_that_devices_have() {
    for (text, seed) in [(sums(), 1), (counts(), 2), (sums(), 3)] {
        let mut rig = Rig::new(&text, 3, seed);
        rig.run(Faults { restart: 0, kill: 100, ..HARD }, 1_000).unwrap();
        for device in 0..4 {
            let shown: Vec<_> = (0..CELLS).map(|cell| rig.cell(device, cell).unwrap()).collect();
            assert_eq!(
                shown,
                rig.truth.values().copied().collect::<Vec<_>>(),
                "seed {seed}, device {device}"
            );
        }
    }
}

/// The reported counts of a device are only in the file: the device and the controller have ended.
#[test]
fn what_was_accepted_of_a_dead_device_outlives_the_controller() {
    for text in [sums(), counts()] {
        let mut rig = Rig::new(&text, 3, 1);
        assert!((0..5).all(|_| rig.packet(1, 20, 1)));
        rig.pass(Duration::from_ms(10)).unwrap();
        assert!((0..3).all(|_| rig.packet(1, 255, 1)));
        rig.pass(Duration::from_ms(10)).unwrap();
        for device in 1..4 {
            rig.restart(device);
        }
        rig.under_way.retain(|_, message| !matches!(message, Message::BeganAnew(_)));
        rig.restart_controller();
        rig.settle().unwrap();
        assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(8); 4]);
        // A second one has nothing but the file, either: what has ended is in the bank.
        for device in 0..4 {
            rig.restart(device);
        }
        rig.restart_controller();
        rig.settle().unwrap();
        assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(8); 4]);
        assert_eq!(rig.read(1), 8);
    }
}

/// An agent was not to be reached for a while: its device has counted on, and is set anew.
#[test]
fn a_device_that_is_doubted_says_what_it_has_counted_first() {
    let mut rig = Rig::new(&sums(), 3, 1);
    assert!((0..5).all(|_| rig.packet(1, 20, 1)) && rig.packet(1, 255, 1));
    for device in 0..4 {
        let outputs = rig.controller.doubt(rig.now, DeviceId(device), "its agent has returned");
        rig.perform(outputs);
    }
    rig.checks = false;
    rig.settle().unwrap();
    assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(6); 4]);
}

#[test]
fn a_written_value_outlives_the_controller() {
    let mut rig = Rig::new(&sums(), 2, 1);
    assert!(rig.packet(1, 255, 7) && rig.packet(1, 20, 7));
    assert_eq!(rig.write(1, 1000), Reply::Done(Ok(())));
    assert!(rig.packet(1, 20, 5));
    rig.truth.insert(1, 1005);
    rig.restart_controller();
    rig.settle().unwrap();
    assert_eq!((0..3).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(1005); 3]);
}
