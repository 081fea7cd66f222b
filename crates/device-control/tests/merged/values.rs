//! Values as controllers read and write them.

use crate::program::{counts, source, sums};
use crate::rig::{CALM, CELLS, Faults, HARD, Rig};
use controller::{Call, Reply};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    CounterEntry, Entity, ReadRequest, Uint128, Update, WriteRequest, entity::Entity as Kind, update::Type,
};

#[test]
fn a_controller_reads_and_writes_counters_of_all_devices() {
    let mut rig = Rig::new(&counts(), 3, 1);
    rig.faults = Faults { restart: 0, ..HARD };
    for by in [255, 0, 20, 40, 63] {
        assert!(rig.packet(1, by, 7));
    }
    assert_eq!(rig.read(1), 5);
    assert_eq!(rig.write(1, 1000), Reply::Done(Ok(())));
    assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(1000); 4]);
    assert!(rig.packet(1, 3, 5) && rig.packet(1, 255, 6));
    assert_eq!(rig.read(1), 1002);
    rig.faults = CALM;
    // All devices are asked for all cells of all counters: none is counted twice.
    let all = Entity { entity: Some(Kind::CounterEntry(CounterEntry::default())) };
    let request = ReadRequest { device_id: 1, entities: vec![all], ..ReadRequest::default() };
    let Reply::Found(found, Ok(())) = rig.call(Call::Read(request)) else { panic!("it cannot be read") };
    let counts: Vec<_> = found
        .entities()
        .filter_map(|found| match found.entity {
            Some(Kind::CounterEntry(e)) => e.data.map(|data| data.packet_count),
            _ => None,
        })
        .collect();
    assert_eq!(counts, [0, 1002, 0, 0]);
}

#[test]
fn a_write_that_a_device_has_not_shown_is_not_done() {
    for text in [sums(), counts()] {
        let mut rig = Rig::new(&text, 3, 1);
        // It says what it has counted, and is silent from then on.
        rig.mute = Some((2, 1));
        let Reply::Done(Err(status)) = rig.write(1, 1000) else { panic!("it is said to be done") };
        assert_eq!(
            (status.code, status.message.contains("`nic2`")),
            (Code::DeadlineExceeded, true),
            "{}",
            status.message
        );
        rig.mute = None;
        rig.settle().unwrap();
        assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(1000); 4]);
    }
}

#[test]
fn a_write_to_all_cells_is_shown_in_all() {
    let mut rig = Rig::new(&sums(), 2, 1);
    rig.checks = false;
    assert!(rig.packet(3, 255, 7));
    let mut entity = rig.query(0, Some(9));
    if let Some(Kind::RegisterEntry(e)) = &mut entity.entity {
        e.index = None;
    }
    let updates = vec![Update { r#type: Type::Modify as i32, entity: Some(entity) }];
    let election_id = Some(Uint128 { high: 0, low: 1 });
    let request = WriteRequest { device_id: 1, election_id, updates, ..WriteRequest::default() };
    assert_eq!(rig.call(Call::Operate(Box::new(request))), Reply::Done(Ok(())));
    for cell in 0..CELLS {
        assert_eq!((0..3).map(|device| rig.cell(device, cell)).collect::<Vec<_>>(), [Some(9); 3]);
    }
}

#[test]
fn a_controller_reads_what_all_devices_have_counted_and_writes_what_all_show() {
    let mut rig = Rig::new(&sums(), 3, 1);
    rig.faults = Faults { restart: 0, ..HARD };
    for by in [255, 0, 20, 40, 63] {
        assert!(rig.packet(1, by, 7));
    }
    assert_eq!(rig.read(1), 35);
    assert_eq!(rig.write(1, 1000), Reply::Done(Ok(())));
    assert_eq!((0..4).map(|device| rig.cell(device, 1)).collect::<Vec<_>>(), [Some(1000); 4]);
    assert!(rig.packet(1, 3, 5));
    assert!(rig.packet(1, 255, 6));
    assert_eq!(rig.read(1), 1011);
    rig.truth.insert(1, 1011);
    rig.settle().unwrap();
    rig.after().unwrap();
    // A device that restarts gets it, too.
    rig.restart(2);
    rig.settle().unwrap();
    rig.after().unwrap();
}

#[test]
fn values_outlive_another_plan() {
    let mut rig = Rig::new(&sums(), 1, 1);
    rig.checks = false;
    (0..10).for_each(|_| assert!(rig.packet(2, 255, 1) && rig.packet(2, 5, 1)));
    // Nothing was merged yet; then both regions are at the switch, and apart again.
    let at = |device: &str| Call::Steer(None, controller_replace(device));
    assert_eq!(rig.call(at("tor")), Reply::Done(Ok(())));
    assert_eq!(rig.cell(0, 2), Some(20));
    rig.packet(2, 5, 1);
    assert_eq!(rig.cell(0, 2), Some(21));
    assert_eq!(rig.call(at("nic1")), Reply::Done(Ok(())));
    assert_eq!([rig.cell(0, 2), rig.cell(1, 2)], [Some(21); 2]);
    assert!(rig.packet(2, 5, 1));
    assert_eq!(rig.read(2), 22);
}

fn controller_replace(device: &str) -> controller::Steer {
    controller::Steer::Replace([("R".to_string(), device.to_string())].into())
}

#[test]
fn the_largest_the_smallest_and_all_bits() {
    let of = |operator: &str, step: &str| {
        let operator = format!("\"{operator}\", reads = \"stale\"");
        let mut rig = Rig::new(&source(&operator, 16, step), 2, 1);
        rig.checks = false;
        rig.faults = Faults { restart: 0, ..HARD };
        // The shown values need not grow.
        for (by, value) in [(255, 12), (0, 9), (40, 34)] {
            rig.packet(0, by, value);
        }
        let read = rig.read(0);
        rig.settle().unwrap();
        (read, [0, 1, 2].map(|device| rig.cell(device, 0).unwrap_or(0)))
    };
    assert_eq!(of("max", "if (v > n) { n = v; }"), (34, [34; 3]));
    assert_eq!(of("min", "if (n == 0 || v < n) { n = v; }"), (9, [9; 3]));
    assert_eq!(of("or", "n = n | v;"), (12 | 9 | 34, [12 | 9 | 34; 3]));
}
