//! The leases of a front's device.

use base_time::{Duration, Time};
use dataplane_api::{Counters, Device, EgressResult, Leased, Port, QueueRecord, Queued, QueuedPacket};
use group_front::{Front, Settings};
use group_trials::rack::Programs;
use server_groups::server::Limits;
use server_groups::{Frame, Instruction, Member, Report};

/// Notes the leases that it gets.
#[derive(Default)]
struct Noting {
    leases: Vec<Option<Vec<u8>>>,
    counters: Counters,
}

impl Device for Noting {
    fn ingress(&mut self, _: Port, _: Vec<u8>, _: Time) -> Vec<Queued> {
        vec![]
    }

    fn egress(&mut self, _: Queued, _: QueueRecord, _: Time) -> EgressResult {
        EgressResult::default()
    }

    fn resume(&mut self, _: QueuedPacket, _: Time) -> Vec<Queued> {
        vec![]
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn lease(&mut self, blocks: Option<&[u8]>) -> Leased {
        self.leases.push(blocks.map(<[u8]>::to_vec));
        Leased { busy: vec![4], usable: 2 }
    }
}

/// A front that begins has no lease before it is told one, and reports what its device answers.
#[test]
fn a_front_begins_without_leases() {
    let programs = Programs::new(2, false, &|text| text).unwrap_or_else(|why| panic!("{why}"));
    let (me, wire) = (Member(1), &programs.edge.wire);
    let mut device = Noting::default();
    for _ in 0..2 {
        let settings = Settings {
            wire: wire.clone(),
            me,
            port: 1,
            idle: Duration::from_ms(1),
            is_stateless: false,
            limits: Limits::default(),
            max_age: None,
        };
        let mut front = Front::new(settings, &device);
        for version in [7, 8] {
            let lease = Instruction::Lease { version, blocks: vec![2, 1] };
            for frame in wire.write(me, Frame::Instruction(lease)) {
                assert!(front.process(&mut device, 1, frame, Duration::ZERO, Time::ZERO).is_empty());
            }
            assert_eq!(front.take_reports(), [Report::Leased { version, busy: vec![4], usable: 2 }]);
        }
        assert_eq!(device.leases, [None, Some(vec![2, 1]), Some(vec![2, 1])]);
        device.leases.clear();
    }
}
