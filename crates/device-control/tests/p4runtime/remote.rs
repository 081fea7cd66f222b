//! The front of a rack, whose agents answer as the test wants.

use crate::setup::{front, one_device};
use base_time::{Duration, Time};
use controller::{Answer, Ask, Call, DeviceId, Heard, Reply, Ticket};
use device_control::{Event, MERGES_REFUSED, OneSwitch, RemoteRack, Served};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{
    MasterArbitrationUpdate, StreamMessageRequest, Uint128, stream_message_request::Update,
};
use p4runtime_server::{Status, StreamId};

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

/// A front whose agents hold more than an answer can carry asked them again for ever, without a report.
#[test]
fn what_cannot_be_adopted_ends_with_an_error() {
    let mut front = front();
    assert_eq!(refused(&mut front, Code::ResourceExhausted, 20), 15);
    let failed = front.failed().expect("it does not go on");
    assert_eq!(
        failed.message,
        "the content of device `tor` cannot be read and stays unchanged: the answer is too large: read one table or object at a \
         time; `--fresh` erases it"
    );
}

#[test]
fn agents_that_are_not_ready_are_waited_for() {
    let mut front = front();
    assert!(refused(&mut front, Code::Unavailable, 20) > 50);
    assert!(front.failed().is_none());
}

/// Whoever reaches an agent and is not its controller could make it show what nobody has counted.
#[test]
fn an_agent_takes_messages_of_the_merge_from_its_controller_alone() {
    let (mut agent, now) = (one_device(), Time::ZERO);
    agent.call(now, Ticket(1), Call::Start(Box::default(), vec![]));
    let said = |agent: &mut OneSwitch, election: Option<u64>, frame: &[u8]| {
        let election = election.map(|low| Uint128 { high: 0, low });
        match agent.call(now, Ticket(2), Call::Merge(election, frame.to_vec())).as_slice() {
            [Event::Reply(_, Reply::Merged(said))] => said.clone().map_err(|status| status.code),
            other => panic!("{other:?}"),
        }
    };
    let arbitration = MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low: 5 }),
        ..MasterArbitrationUpdate::default()
    };
    let hello = StreamMessageRequest { update: Some(Update::Arbitration(arbitration)) };
    agent.message(now, StreamId(1), &hello);
    for election in [None, Some(4), Some(6)] {
        assert_eq!(said(&mut agent, election, &[1, 1]), Err(Code::PermissionDenied), "{election:?}");
    }
    assert_eq!(said(&mut agent, Some(5), &[1, 1]), Ok(vec![]));
    let refused = |agent: &mut OneSwitch| {
        let metrics = agent.metrics().into_iter();
        metrics.filter(|metric| metric.name == MERGES_REFUSED).map(|metric| metric.value).sum::<u64>()
    };
    assert_eq!(refused(&mut agent), 0);
    // The primary may be out of its mind: what is no message is counted, and a hub that has ended hears of the newer one.
    assert_eq!(said(&mut agent, Some(5), &[0xff; 40]), Ok(vec![]));
    assert_eq!(refused(&mut agent), 1);
    assert_eq!(said(&mut agent, Some(5), &[9, 1]), Ok(vec![]));
    assert_eq!(said(&mut agent, Some(5), &[8, 1]), Ok(vec![9, 0]));
    assert_eq!(refused(&mut agent), 2);
}

/// Frames of others pass there.
#[test]
fn an_agent_reports_frames_to_its_controller_alone() {
    let (mut agent, now) = (one_device(), Time::ZERO);
    agent.call(now, Ticket(1), Call::Start(Box::default(), vec![]));
    let arbitration = MasterArbitrationUpdate {
        device_id: 1,
        election_id: Some(Uint128 { high: 0, low: 5 }),
        ..MasterArbitrationUpdate::default()
    };
    agent.message(now, StreamId(1), &StreamMessageRequest { update: Some(Update::Arbitration(arbitration)) });
    let may = |election: Option<u64>| {
        let election = election.map(|low| Uint128 { high: 0, low });
        agent.answers().may_sample(election.as_ref()).map_err(|status| status.code)
    };
    for election in [None, Some(4), Some(6)] {
        assert_eq!(may(election), Err(Code::PermissionDenied), "{election:?}");
    }
    assert_eq!(may(Some(5)), Ok(()));
}
