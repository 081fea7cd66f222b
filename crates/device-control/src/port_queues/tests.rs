use super::*;
use base_bits::Bits;
use dataplane_api::{Counters, EntryError};

/// A device whose packets are numbers, and that notes the queues that they have left.
#[derive(Default)]
struct Toy {
    left: Vec<(u64, QueueRecord)>,
    /// These come back once, to port 1 with priority 0.
    back: Vec<u64>,
    counters: Counters,
}

impl Device for Toy {
    fn ingress(&mut self, _: Port, _: Vec<u8>, _: Time) -> Vec<Queued> {
        vec![]
    }

    fn egress(&mut self, packet: Queued, queue: QueueRecord, _: Time) -> EgressResult {
        let Ok(number) = packet.packet.downcast::<u64>() else { return EgressResult::default() };
        self.left.push((*number, queue));
        if let Some(at) = self.back.iter().position(|back| back == &*number) {
            self.back.remove(at);
            return EgressResult { again: vec![number], ..EgressResult::default() };
        }
        let output = Some(Output { port: packet.replica.port, frame: number.to_be_bytes().to_vec() });
        EgressResult { output, ..EgressResult::default() }
    }

    fn resume(&mut self, packet: dataplane_api::QueuedPacket, _: Time) -> Vec<Queued> {
        vec![Queued { replica: Replica { port: 1, priority: 0 }, bytes: 1, packet }]
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn tick(&mut self, _: Time) -> Vec<Queued> {
        vec![]
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn register_read(&self, _: &str, _: u64) -> Result<Bits, EntryError> {
        Err(EntryError { message: String::new(), help: None })
    }

    fn state(&self) -> std::collections::BTreeMap<String, Vec<u8>> {
        std::collections::BTreeMap::new()
    }
}

fn queued(port: Port, priority: u8, number: u64) -> Queued {
    Queued { replica: Replica { port, priority }, bytes: 1, packet: Box::new(number) }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_ms(n)
}

fn set(queues: &mut PortQueues, port: Option<u32>, priority: Option<u32>, limit: QueueLimit) {
    queues.change(QueueChange { port, priority, limit }, Time::ZERO).unwrap();
}

/// Numbers of the packets that leave at a time.
fn leave(queues: &mut PortQueues, now: Time) -> Vec<u64> {
    let outputs = queues.run(&mut Toy::default(), vec![], now);
    outputs.iter().map(|output| u64::from_be_bytes(output.frame[..].try_into().unwrap())).collect()
}

#[test]
fn a_queue_with_a_rate_releases_a_packet_per_interval() {
    let mut queues = PortQueues::default();
    assert!(!queues.is_needed());
    set(&mut queues, Some(1), None, QueueLimit::Rate(100));
    assert!(queues.is_needed());
    let mut toy = Toy::default();
    let came = (0..4).map(|number| queued(1, 0, number)).chain([queued(2, 0, 9)]).collect();
    // The port without a rate sends at once.
    assert_eq!(queues.run(&mut toy, came, Time::ZERO).iter().map(|out| out.port).collect::<Vec<_>>(), [2]);
    assert_eq!(queues.deadline(), Some(ms(10)));
    assert_eq!(leave(&mut queues, ms(9)), [0u64; 0]);
    assert_eq!(leave(&mut queues, ms(10)), [0]);
    // A late call sends all whose time has come.
    assert_eq!(leave(&mut queues, ms(35)), [1, 2]);
    assert_eq!(queues.counts(), (1, Lost::default()));
    // Without rates nothing waits any more, when the last packet has left.
    set(&mut queues, None, None, QueueLimit::Rate(0));
    assert!(queues.is_needed());
    assert_eq!(leave(&mut queues, ms(40)), [3]);
    assert!(!queues.is_needed());
    assert_eq!(queues.deadline(), None);
}

#[test]
fn of_packets_whose_time_has_come_the_highest_priority_leaves_first() {
    let mut queues = PortQueues::default();
    set(&mut queues, None, None, QueueLimit::Rate(1000));
    let came = [(0, 'a'), (7, 'b'), (3, 'c'), (7, 'd'), (0, 'e')];
    let came = came.map(|(priority, name)| queued(1, priority, u64::from(u32::from(name))));
    assert!(queues.run(&mut Toy::default(), came.into(), Time::ZERO).is_empty());
    let text = |numbers: Vec<u64>| numbers.iter().map(|n| *n as u8 as char).collect::<String>();
    // Each queue has its own rate.
    assert_eq!(text(leave(&mut queues, ms(1))), "bca");
    assert_eq!(text(leave(&mut queues, ms(2))), "de");
}

#[test]
fn programs_see_the_depths_of_their_own_queue() {
    let mut queues = PortQueues::default();
    set(&mut queues, Some(1), None, QueueLimit::Rate(1000));
    let mut toy = Toy::default();
    queues.run(&mut toy, vec![queued(1, 0, 0), queued(1, 0, 1), queued(1, 5, 2)], Time::ZERO);
    queues.run(&mut toy, vec![queued(1, 0, 3)], ms(1));
    queues.run(&mut toy, vec![], ms(3));
    let record = |enqueued, depth_at_enqueue, depth_at_dequeue| QueueRecord {
        enqueued,
        depth_at_enqueue,
        depth_at_dequeue,
    };
    let wanted = [
        (2, record(ms(0), 0, 0)),
        // A packet came at the time at which the first one left.
        (0, record(ms(0), 0, 2)),
        (1, record(ms(0), 1, 1)),
        (3, record(ms(1), 2, 0)),
    ];
    assert_eq!(toy.left, wanted);
}

#[test]
fn full_queues_and_priorities_without_one_lose_packets() {
    let mut queues = PortQueues::new(2);
    assert!(queues.is_needed());
    set(&mut queues, Some(1), None, QueueLimit::Rate(1));
    set(&mut queues, Some(1), Some(1), QueueLimit::Depth(1));
    let came = [(0, 0), (1, 1), (1, 2), (2, 3), (0, 4)].map(|(priority, n)| queued(1, priority, n));
    queues.run(&mut Toy::default(), came.into(), Time::ZERO);
    assert_eq!(queues.counts(), (3, Lost { full: 1, priority: 1, program: 0 }));
    let change = QueueChange { port: None, priority: Some(2), limit: QueueLimit::Rate(1) };
    let refused = queues.change(change, Time::ZERO).unwrap_err();
    assert_eq!(
        refused.message,
        "there is no queue of priority 2: ports have 2 queues, and 0 is the lowest priority"
    );
}

#[test]
fn packets_that_come_back_wait_again() {
    let mut queues = PortQueues::default();
    set(&mut queues, Some(1), None, QueueLimit::Rate(1000));
    let mut toy = Toy { back: vec![7], ..Toy::default() };
    queues.run(&mut toy, vec![queued(1, 0, 7)], Time::ZERO);
    assert!(queues.run(&mut toy, vec![], ms(1)).is_empty());
    assert_eq!(queues.deadline(), Some(ms(2)));
    assert_eq!(queues.run(&mut toy, vec![], ms(2)).len(), 1);
}

#[test]
fn packets_of_another_program_do_not_go_on() {
    let mut queues = PortQueues::default();
    let (one, other) = (Arc::new(()), Arc::new(()));
    queues.follow(&one);
    set(&mut queues, Some(1), None, QueueLimit::Rate(1000));
    queues.run(&mut Toy::default(), vec![queued(1, 0, 7)], Time::ZERO);
    queues.follow(&one);
    assert_eq!(queues.counts().0, 1);
    queues.follow(&other);
    assert_eq!(queues.counts(), (0, Lost { program: 1, ..Lost::default() }));
    assert_eq!(leave(&mut queues, ms(5)), [0u64; 0]);
    // The queue is empty for the new program, too.
    let mut toy = Toy::default();
    queues.run(&mut toy, vec![queued(1, 0, 8)], ms(5));
    queues.run(&mut toy, vec![], ms(9));
    assert_eq!(toy.left[0].1.depth_at_enqueue, 0);
}

#[test]
fn neither_ports_nor_packets_make_queues_grow_without_bound() {
    let mut queues = PortQueues::default();
    set(&mut queues, None, None, QueueLimit::Depth(u32::MAX));
    // Empty queues make room for those of other ports.
    for port in 0..5000 {
        assert_eq!(queues.run(&mut Toy::default(), vec![queued(port, 0, 0)], Time::ZERO).len(), 1);
    }
    assert!(queues.queues.len() <= MOST_PORTS * 8);
    set(&mut queues, None, None, QueueLimit::Rate(1));
    let many = (0..20_000).map(|number| queued(1, 0, number)).collect();
    queues.run(&mut Toy::default(), many, Time::ZERO);
    assert_eq!(
        queues.counts(),
        (MOST_WAITING, Lost { full: 20_000 - MOST_WAITING as u64, ..Lost::default() })
    );
    let mut queues = PortQueues::default();
    let limit = QueueLimit::Rate(1);
    let mut change = |port| queues.change(QueueChange { port: Some(port), priority: None, limit }, ms(0));
    assert!((0..MOST_PORTS as u32).all(|port| change(port).is_ok()));
    assert_eq!(change(5000).unwrap_err().message, "at most 1024 ports have queues");
    assert!(change(3).is_ok());
}
