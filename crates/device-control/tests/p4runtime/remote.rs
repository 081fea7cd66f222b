//! The front of a rack, whose agents answer as the test wants.

use crate::setup::front;
use base_time::{Duration, Time};
use controller::{Answer, Ask, Call, DeviceId, Heard, Ticket};
use device_control::{Event, RemoteRack, Served};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;

/// All agents connect, and refuse to report their entities for some seconds. Returns the number of requests meanwhile.
fn refused(front: &mut RemoteRack, code: Code, seconds: u64) -> usize {
    let mut now = Time::ZERO;
    let mut events = front.call(now, Ticket(1), Call::Start(Box::default(), vec![]));
    for device in 0..3 {
        events.extend(front.heard(now, DeviceId(device), Heard::Here));
    }
    let mut asked = 0;
    for _ in 0..seconds {
        while let Some(event) = events.pop() {
            let Event::Ask(device, Some(id), ask) = event else { continue };
            asked += usize::from(matches!(ask, Ask::Holdings(_)));
            let why = Status::new(code, "the answer is too large: read one table or object at a time");
            events.extend(front.heard(now, device, Heard::Answer(id, Answer::Refused(why))));
        }
        now += Duration::from_s(1);
        events.extend(front.tick(now));
    }
    asked
}

/// A front whose agents hold more than they can say asked them again for ever, and nobody was told.
#[test]
fn what_cannot_be_adopted_ends_with_an_error() {
    let mut front = front();
    assert_eq!(refused(&mut front, Code::ResourceExhausted, 20), 15);
    let failed = front.failed().expect("it does not go on");
    assert_eq!(
        failed.message,
        "what device `tor` holds cannot be read and stays unchanged: the answer is too large: read one table or object at a \
         time; `--fresh` erases it"
    );
}

#[test]
fn agents_that_are_not_ready_are_waited_for() {
    let mut front = front();
    assert!(refused(&mut front, Code::Unavailable, 20) > 50);
    assert!(front.failed().is_none());
}
