//! The way to an agent: who works is waited for, and who is gone is missed soon.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use controller::{Answer, Ask, AskId, DeviceId, Heard};
use crossbeam_channel::Receiver;
use p4runtime_grpc::{Budget, Command, Limits, Link, Place, Queued, Streams, link, queue, serve};
use p4runtime_proto::google::rpc::{Code, Status};
use p4runtime_proto::p4::v1::{
    Entity, Error, MasterArbitrationUpdate, StreamMessageResponse, TableEntry, Update, WriteRequest,
    entity::Entity as Kind, stream_message_response::Update as ResponseUpdate, write_request::Atomicity,
};
use p4runtime_proto::p4rack::v1::ShowResponse;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// An agent that takes so long for a write.
fn agent(busy: Duration) -> SocketAddr {
    answering(move |request| {
        thread::sleep(busy);
        refused(request.updates.len())
    })
}

/// An agent that answers writes so.
fn answering(
    mut write: impl FnMut(&WriteRequest) -> Result<(), p4runtime_grpc::Status> + Send + 'static,
) -> SocketAddr {
    let (front, incoming) = queue(64, Limits::default(), Budget::default());
    let (bound, address) = channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let here = "127.0.0.1:0".parse().unwrap();
        let bound = |address| bound.send(address).unwrap();
        let serving = serve(here, None, None, front, Box::new(bound), Box::pin(std::future::pending()));
        runtime.block_on(serving).unwrap();
    });
    thread::spawn(move || {
        let mut streams = Streams::default();
        loop {
            match incoming.recv_timeout(Duration::from_secs(60)).map(Queued::take) {
                Ok(Command::Open(stream, listener)) => streams.open(stream, listener),
                Ok(Command::Message(stream, ..)) => {
                    let status = Some(Status::default());
                    let update = MasterArbitrationUpdate { status, ..Default::default() };
                    let message = StreamMessageResponse { update: Some(ResponseUpdate::Arbitration(update)) };
                    streams.send(stream, message);
                }
                Ok(Command::Steer(_, _, reply)) => drop(reply.send(Ok(()))),
                // Asked before a large request is decoded.
                Ok(Command::MayWrite(_, reply)) => drop(reply.send(Ok(()))),
                Ok(Command::Show(reply)) => drop(reply.send(ShowResponse::default())),
                Ok(Command::Write(request, _, reply)) => {
                    drop(reply.send(write(&request)));
                }
                Ok(Command::Stop) => return,
                _ => {}
            }
        }
    });
    address.recv().unwrap()
}

/// Answer for a batch whose last update is wrong; an empty batch succeeds.
fn refused(updates: usize) -> Result<(), p4runtime_grpc::Status> {
    let error = |code: Code, message: &str| Error {
        canonical_code: code as i32,
        message: message.to_string(),
        ..Error::default()
    };
    let Some(others) = updates.checked_sub(1) else { return Ok(()) };
    let mut details = vec![error(Code::Aborted, "rolled back: a later update failed"); others];
    details.push(error(Code::ResourceExhausted, "the device refused the change"));
    let message = format!("1 of {updates} updates failed");
    Err(p4runtime_grpc::Status { code: Code::Unknown, message, details })
}

/// With 200 updates the connection was given up: what their trailers say, a detail for each, is more than HTTP/2 libraries accept by
/// default.
#[test]
fn a_large_batch_that_is_refused_is_answered() {
    let (link, heard) = connect(agent(Duration::ZERO));
    for updates in [1, 150, 201, 4000] {
        assert!(link.ask(Some(AskId(updates)), Ask::Load(vec![Update::default(); updates as usize])));
        let Heard::Answer(_, Answer::Refused(status)) = next(&heard) else { panic!("{updates} updates") };
        assert_eq!(status.message, format!("1 of {updates} updates failed"));
        // Which it was is known.
        let guilty = status.details.iter().position(|e| e.canonical_code == Code::ResourceExhausted as i32);
        assert_eq!(guilty, Some(updates as usize - 1));
    }
    assert!(link.ask(Some(AskId(1)), Ask::Load(vec![])));
    assert_eq!(next(&heard), Heard::Answer(AskId(1), Answer::Done));
}

/// A connection to an agent, and what is heard of it.
fn connect(address: SocketAddr) -> (Link, Receiver<Queued>) {
    let (front, heard) = queue(1024, Limits::default(), Budget::default());
    let place = Place {
        device: DeviceId(0),
        address: address.to_string(),
        inner_ports: vec![],
        election: 1,
        secret: None,
    };
    let (link, end) = link(place, None).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(end.run(front));
    });
    assert!(matches!(next(&heard), Heard::Here));
    (link, heard)
}

/// Next message of an agent, except what comes at intervals.
fn next(heard: &Receiver<Queued>) -> Heard {
    loop {
        match heard.recv_timeout(Duration::from_secs(120)).map(Queued::take) {
            Ok(Command::Agent(_, heard)) if matches!(*heard, Heard::Counted(_) | Heard::Groups(_)) => {}
            Ok(Command::Agent(_, heard)) => return *heard,
            _ => panic!("nothing is heard"),
        }
    }
}

#[test]
fn an_agent_that_works_is_waited_for() {
    let (link, heard) = connect(agent(Duration::from_secs(6)));
    let asked = Instant::now();
    assert!(link.ask(Some(AskId(7)), Ask::Load(vec![])));
    assert_eq!(next(&heard), Heard::Answer(AskId(7), Answer::Done));
    assert!(asked.elapsed() >= Duration::from_secs(6));
}

#[test]
fn an_agent_that_is_gone_is_missed() {
    let is_cut = Arc::new(AtomicBool::new(false));
    let (link, heard) = connect(through(agent(Duration::ZERO), &is_cut));
    assert!(link.ask(Some(AskId(1)), Ask::Load(vec![])));
    assert_eq!(next(&heard), Heard::Answer(AskId(1), Answer::Done));
    is_cut.store(true, Ordering::Relaxed);
    let asked = Instant::now();
    assert!(link.ask(Some(AskId(2)), Ask::Load(vec![])));
    match [next(&heard), next(&heard)] {
        [Heard::Answer(AskId(2), Answer::Lost), Heard::Gone(_)] => {}
        // It was missed before it could be asked, by the look at what it has counted.
        [Heard::Gone(_), Heard::Answer(AskId(2), Answer::Refused(why))] if why.code == Code::Unavailable => {}
        other => panic!("{other:?}"),
    }
    // Three seconds, on a machine that has nothing else to do.
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
}

/// A write of the entry of table `number`.
fn short_write(number: u32) -> Ask {
    let entry = TableEntry { table_id: number, ..TableEntry::default() };
    let entity = Some(Entity { entity: Some(Kind::TableEntry(entry)) });
    Ask::Write(vec![Update { entity, ..Update::default() }])
}

/// The tables of a request.
fn tables(request: &WriteRequest) -> Vec<u32> {
    let of = |update: &Update| match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
        Some(Kind::TableEntry(entry)) => entry.table_id,
        other => panic!("{other:?}"),
    };
    request.updates.iter().map(of).collect()
}

/// Waits for a message, the first time.
fn wait(waits: &mut Option<mpsc::Receiver<()>>) {
    if let Some(goes_on) = waits.take() {
        goes_on.recv().unwrap();
    }
}

/// An agent that refuses entries of table 5, and says which requests have come. The first answer waits for a message of `goes_on`.
fn late(requests: Sender<(Vec<u32>, Atomicity)>, goes_on: mpsc::Receiver<()>) -> SocketAddr {
    let mut waits = Some(goes_on);
    answering(move |request| {
        requests.send((tables(request), request.atomicity())).unwrap();
        wait(&mut waits);
        let error = |table: u32| match table {
            5 => Error {
                canonical_code: Code::ResourceExhausted as i32,
                message: "full".to_string(),
                ..Error::default()
            },
            _ => Error::default(),
        };
        let details: Vec<Error> = tables(request).into_iter().map(error).collect();
        match details.iter().any(|error| error.canonical_code != 0) {
            true => Err(p4runtime_grpc::Status {
                code: Code::Unknown,
                message: "some failed".to_string(),
                details,
            }),
            false => Ok(()),
        }
    })
}

/// While an agent works, 40 writes come: they go in two messages, and each has its own answer. An ask between them keeps its place.
#[test]
fn writes_that_wait_go_together() {
    let ((requests, came), (go_on, goes_on)) = (channel(), channel());
    let (link, heard) = connect(late(requests, goes_on));
    assert!(link.ask(Some(AskId(100)), short_write(100)));
    assert_eq!(came.recv().unwrap(), (vec![100], Atomicity::RollbackOnError));
    (0..40).for_each(|number| assert!(link.ask(Some(AskId(number)), short_write(number as u32))));
    assert!(link.ask(Some(AskId(101)), Ask::Release));
    assert!(link.ask(Some(AskId(102)), short_write(5)));
    go_on.send(()).unwrap();
    assert_eq!(next(&heard), Heard::Answer(AskId(100), Answer::Done));
    for number in (0..40).chain([101, 102]) {
        let Heard::Answer(AskId(id), answer) = next(&heard) else { panic!("{number}") };
        assert_eq!(id, number);
        match answer {
            Answer::Refused(status) if [5, 102].contains(&number) => {
                let [error] = &status.details[..] else { panic!("{status:?}") };
                assert_eq!(
                    (error.canonical_code, error.message.as_str()),
                    (Code::ResourceExhausted as i32, "full")
                );
            }
            answer => assert_eq!((answer, [5, 102].contains(&number)), (Answer::Done, false), "{number}"),
        }
    }
    let requests: Vec<_> = came.try_iter().collect();
    let together = |numbers: std::ops::Range<u32>| (numbers.collect(), Atomicity::ContinueOnError);
    assert_eq!(requests, [together(0..32), together(32..40), (vec![5], Atomicity::RollbackOnError)]);
}

/// The connection breaks while an agent works on several writes: each is lost once, and those that have not been sent are refused.
#[test]
fn writes_under_way_on_a_connection_that_breaks_are_lost() {
    let ((requests, came), (go_on, goes_on)) = (channel(), channel());
    let is_cut = Arc::new(AtomicBool::new(false));
    let cutting = Arc::clone(&is_cut);
    let (mut count, mut waits) = (0, Some(goes_on));
    let (link, heard) = connect(through(
        answering(move |request| {
            requests.send(tables(request).len()).unwrap();
            wait(&mut waits);
            count += 1;
            cutting.store(count == 2, Ordering::Relaxed);
            Ok(())
        }),
        &is_cut,
    ));
    assert!(link.ask(Some(AskId(100)), short_write(100)));
    assert_eq!(came.recv().unwrap(), 1);
    (0..40).for_each(|number| assert!(link.ask(Some(AskId(number)), short_write(number as u32))));
    go_on.send(()).unwrap();
    assert_eq!(next(&heard), Heard::Answer(AskId(100), Answer::Done));
    for number in 0..32 {
        assert_eq!(next(&heard), Heard::Answer(AskId(number), Answer::Lost));
    }
    assert_eq!(came.recv().unwrap(), 32);
    assert!(matches!(next(&heard), Heard::Gone(_)));
    for number in 32..40 {
        let Heard::Answer(AskId(id), Answer::Refused(why)) = next(&heard) else { panic!("{number}") };
        assert_eq!((id, why.code), (number, Code::Unavailable));
    }
}

/// An agent refuses a message that is too large for it, and takes its writes one by one.
#[test]
fn writes_of_a_message_that_is_refused_are_sent_alone() {
    let ((requests, came), (go_on, goes_on)) = (channel(), channel());
    let mut waits = Some(goes_on);
    let (link, heard) = connect(answering(move |request| {
        requests.send(tables(request)).unwrap();
        wait(&mut waits);
        match request.updates.len() {
            1 => Ok(()),
            _ => Err(p4runtime_grpc::Status::new(Code::ResourceExhausted, "too many updates")),
        }
    }));
    assert!(link.ask(Some(AskId(0)), short_write(0)));
    assert_eq!(came.recv().unwrap(), [0]);
    (1..4).for_each(|number| assert!(link.ask(Some(AskId(number)), short_write(number as u32))));
    go_on.send(()).unwrap();
    for number in 0..4 {
        assert_eq!(next(&heard), Heard::Answer(AskId(number), Answer::Done));
    }
    assert_eq!(came.try_iter().collect::<Vec<_>>(), [vec![1, 2, 3], vec![1], vec![2], vec![3]]);
}

/// A way to an address on which nothing passes any more when it is cut; connections stay.
fn through(to: SocketAddr, is_cut: &Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    let is_cut = Arc::clone(is_cut);
    thread::spawn(move || {
        for one in listener.incoming() {
            let (one, other) = (one.unwrap(), TcpStream::connect(to).unwrap());
            let ends = [(one.try_clone().unwrap(), other.try_clone().unwrap()), (other, one)];
            for (from, to) in ends {
                let is_cut = Arc::clone(&is_cut);
                thread::spawn(move || pass(from, to, &is_cut));
            }
        }
    });
    here
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !is_cut.load(Ordering::Relaxed) && to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
