use super::*;
use tokio::io::AsyncRead;

const S: Duration = Duration::from_secs(1);

fn admission() -> Admission {
    Admission::new(Rules {
        connections: 6,
        per_address: 4,
        reserve: 2,
        first_call: 10 * S,
        idle: 100 * S,
        reserved_for: 30 * S,
        stopped: 180 * S,
    })
}

fn at(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn ended(clients: &[Arc<Client>]) -> Vec<usize> {
    (0..clients.len()).filter(|index| clients[*index].ended.load(Ordering::Acquire)).collect()
}

#[test]
fn the_longest_silent_makes_room_and_open_calls_stay() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..4).filter_map(|n| all.admit(at(1), now + n * S)).collect();
    let _open = clients[0].call(true, 8, 8).unwrap();
    drop(clients[1].call(false, 8, 8).unwrap());
    // The third never called, and is older than the fourth.
    let another = all.admit(at(1), now + 4 * S).unwrap();
    assert_eq!(ended(&clients), [2]);
    let _calls = [&clients[1], &clients[3], &another].map(|client| client.call(false, 8, 8).unwrap());
    assert!(all.admit(at(2), now + 5 * S).is_some());
    assert_eq!(all.turned_away(), (0, 1));
}

#[test]
fn of_one_address_operators_come_in_whatever_the_others_do() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..4).filter_map(|n| all.admit(at(1), now + n * S)).collect();
    let _streams: Vec<_> = clients.iter().map(|client| client.call(true, 8, 8).unwrap()).collect();
    let guests: Vec<_> = (4..9).filter_map(|n| all.admit(at(1), now + n * S)).collect();
    let _calls: Vec<_> = guests.iter().map(|client| client.call(false, 8, 8).unwrap()).collect();
    assert!(guests[4].call(true, 8, 8).is_err(), "they open no streams");
    assert_eq!((ended(&clients), ended(&guests), all.len()), (vec![], vec![0, 1, 2], 6));
    // Another address has none of these, and they are all that there are.
    assert!(all.admit(at(2), now + 9 * S).is_some());
    assert_eq!((ended(&clients), ended(&guests), all.len()), (vec![], vec![0, 1, 2, 3], 6));
}

#[test]
fn calls_that_stop_keep_no_connection() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..4).filter_map(|n| all.admit(at(1), now + n * S)).collect();
    let calls: Vec<_> = clients.iter().map(|client| client.call(false, 8, 8).unwrap()).collect();
    // The first waits for its answer, the second has begun to read, the others' answers wait.
    calls[1..].iter().for_each(Call::moved);
    let soon = Instant::now() + STOPPED;
    clients[1].moved(calls[1].number, Some(soon));
    assert!(all.admit(at(1), soon).is_some());
    assert_eq!(ended(&clients), [2]);
    all.sweep(soon + 179 * S);
    assert_eq!(ended(&clients), [2, 3]);
    all.sweep(soon + 180 * S);
    assert_eq!(ended(&clients), [1, 2, 3]);
}

#[test]
fn what_has_stopped_makes_room_in_memory_and_what_moves_stays() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..4).filter_map(|n| all.admit(at(1), now + n * S)).collect();
    let budget = Budget::of(100 << 20);
    let [small, moving, stopped, honest] = [1, 40, 30, 0].map(|mib| mib << 20);
    let calls: Vec<_> = clients.iter().map(|client| client.call(false, 8, 8).unwrap()).collect();
    let mut holds: Vec<_> = clients.iter().map(|client| budget.hold(Some(Arc::clone(client)))).collect();
    for (hold, bytes) in holds.iter_mut().zip([small, moving, stopped, honest]) {
        assert!(hold.grow(bytes));
    }
    let before = Instant::now().checked_sub(STOPPED).unwrap();
    clients[0].moved(calls[0].number, Some(before));
    clients[1].moved(calls[1].number, Some(Instant::now() + 100 * S));
    clients[2].moved(calls[2].number, Some(before));
    assert!(!holds[3].grow(60 << 20));
    assert_eq!(ended(&clients), [2]);
    // The connection's requests and answers are dropped with it.
    holds.swap_remove(2);
    assert!(holds[2].grow(50 << 20));
    assert!(!holds[2].grow(50 << 20));
    assert_eq!(ended(&clients), [2], "nothing else has stopped that would help");
}

#[test]
fn who_has_too_many_connections_costs_nobody_else_one() {
    let (all, now) = (admission(), Instant::now());
    let other = [all.admit(at(2), now).unwrap()];
    let clients: Vec<_> = (1..5).filter_map(|n| all.admit(at(1), now + n * S)).collect();
    let _calls: Vec<_> = clients.iter().map(|client| client.call(false, 8, 8).unwrap()).collect();
    for n in 5..9 {
        assert!(all.admit(at(1), now + n * S).is_some());
    }
    // The last of the four was one of the reserve.
    assert_eq!((ended(&other), ended(&clients), all.len()), (vec![], vec![3], 6));
}

#[test]
fn where_all_are_too_many_the_largest_crowd_makes_room() {
    let (all, now) = (admission(), Instant::now());
    let places = [2, 3, 1, 1, 1, 3];
    let clients: Vec<_> =
        (0..6).zip(places).filter_map(|(n, place)| all.admit(at(place), now + n * S)).collect();
    assert!(all.admit(at(4), now + 6 * S).is_some());
    // The first of those three, though others have been silent for longer.
    assert_eq!(ended(&clients), [2]);
}

#[test]
fn the_last_ones_open_no_streams() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..6).filter_map(|n| all.admit(at(n), now)).collect();
    let streams: Vec<_> = clients.iter().map(|client| client.call(true, 8, 8)).collect();
    assert_eq!(streams.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, true, true, false, false]);
    assert!(clients[5].call(false, 8, 8).is_ok());
    all.sweep(now + 31 * S);
    assert_eq!(ended(&clients), [4, 5]);
}

/// A connection of the reserve that opens a stream when there is room is one of the others from then on.
#[test]
fn one_of_the_last_that_finds_room_stays() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..4).filter_map(|n| all.admit(at(n), now)).collect();
    let last = [4, 5].map(|n| all.admit(at(n), now + 5 * S).unwrap());
    all.sweep(now + 11 * S);
    assert_eq!((ended(&clients), ended(&last)), (vec![0, 1, 2, 3], vec![]));
    let _stream = last[0].call(true, 8, 8).unwrap();
    all.sweep(now + 40 * S);
    assert_eq!(ended(&last), [1]);
}

/// Another connection of an address that has its share does not replace one of another address: it is refused and counted.
#[test]
fn who_is_refused_is_counted() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = [1, 1, 1, 1, 2, 2].into_iter().filter_map(|n| all.admit(at(n), now)).collect();
    let _calls: Vec<_> = clients.iter().map(|client| client.call(false, 8, 8).unwrap()).collect();
    assert!(all.admit(at(1), now + S).is_none());
    assert_eq!((ended(&clients), all.turned_away()), (vec![], (1, 0)));
}

/// Connections to the metrics address and of Thrift have called when something has been answered.
#[test]
fn an_answer_shows_that_a_connection_is_used() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..2).filter_map(|n| all.admit(at(n), now)).collect();
    clients[0].answered();
    all.sweep(now + 11 * S);
    assert_eq!(ended(&clients), [1]);
}

/// Connections and errors, as the system gives them.
struct Listens(Mutex<Vec<io::Result<IpAddr>>>);

impl Accepts for Listens {
    type Stream = tokio::io::DuplexStream;

    async fn next(&self) -> io::Result<(tokio::io::DuplexStream, IpAddr)> {
        let next = lock(&self.0).pop();
        Ok((tokio::io::duplex(1).0, next.expect("it is asked no more")?))
    }
}

/// Without files for another connection an idle one makes room, and a connection that has ended before it was accepted costs nobody one.
#[tokio::test]
async fn whoever_is_idle_makes_room_if_there_are_no_files() {
    const NO_MORE_FILES: i32 = 24;
    for (error, makes_room) in [
        (io::Error::from_raw_os_error(NO_MORE_FILES), true),
        (io::ErrorKind::ConnectionAborted.into(), false),
    ] {
        let all = admission();
        let idle = [all.admit(at(1), Instant::now()).unwrap()];
        let listens = Listens(Mutex::new(vec![Ok(at(2)), Err(error)]));
        assert_eq!(all.accept(&listens).await.client.address(), at(2));
        assert_eq!(ended(&idle), if makes_room { vec![0] } else { vec![] });
    }
}

#[test]
fn who_does_nothing_is_ended_in_time() {
    let (all, now) = (admission(), Instant::now());
    let clients: Vec<_> = (0..3).filter_map(|n| all.admit(at(n), now)).collect();
    let _open = clients[0].call(true, 8, 8).unwrap();
    drop(clients[1].call(false, 8, 8).unwrap());
    all.sweep(now + 11 * S);
    assert_eq!(ended(&clients), [2]);
    all.sweep(Instant::now() + 101 * S);
    assert_eq!(ended(&clients), [1, 2]);
    assert_eq!(all.len(), 1);
}

#[test]
fn one_connection_has_few_calls() {
    let all = admission();
    let client = all.admit(at(1), Instant::now()).unwrap();
    let calls: Vec<_> = (0..3).map(|_| client.call(false, 2, 1)).collect();
    assert_eq!(calls.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, false]);
    drop(calls);
    let streams: Vec<_> = (0..2).map(|_| client.call(true, 2, 1)).collect();
    assert_eq!(streams.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false]);
}

/// Some ten short requests are received at a time.
#[tokio::test]
async fn connections_receive_in_turn() {
    let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let client = admission().admit(at(1), Instant::now()).unwrap();
    let stream = tokio::net::UnixStream::from_std(near).unwrap();
    let mut guarded = Guarded { stream, client, is_sated: false };
    std::io::Write::write_all(&mut far, &[7; 2500]).unwrap();
    guarded.stream.readable().await.unwrap();
    let mut received = vec![];
    for _ in 0..5 {
        let mut bytes = [0; 4096];
        let mut buffer = tokio::io::ReadBuf::new(&mut bytes);
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(std::pin::Pin::new(&mut guarded).poll_read(context, &mut buffer))
        });
        received.push(polled.await.is_ready().then_some(buffer.filled().len()));
    }
    assert_eq!(received, [Some(1024), None, Some(1024), None, Some(452)]);
}

/// One call of each connection begins, and of those with many calls few, before others have their turn.
#[tokio::test]
async fn calls_begin_in_turn() {
    let (all, now) = (Admission::new(Rules::calls(crate::limits::Limits::default())), Instant::now());
    let clients: Vec<_> = (1..=20).filter_map(|n| all.admit(at(n), now)).collect();
    let _calls: Vec<_> =
        clients.iter().flat_map(|client| (0..10).map(|_| client.call(false, 16, 1))).collect();
    let few = all.admit(at(21), now).unwrap();
    let order = Arc::new(Mutex::new(vec![]));
    let begin = |client: &Arc<Client>, number: usize| {
        let (client, order) = (Arc::clone(client), Arc::clone(&order));
        tokio::spawn(async move {
            let turn = client.turn_to_begin().await;
            lock(&order).push(number);
            drop(turn);
        })
    };
    let mut calls: Vec<_> =
        clients.iter().enumerate().flat_map(|(n, client)| [n; 10].map(|n| begin(client, n))).collect();
    calls.extend([begin(&few, 20), begin(&few, 20)]);
    for call in calls {
        call.await.unwrap();
    }
    let order = lock(&order);
    let of_few: Vec<usize> = (0..order.len()).filter(|at| order[*at] == 20).collect();
    assert!(of_few[1] <= 3 * BEGINNING, "{order:?}");
    // All have had one before anybody has a third.
    let firsts: std::collections::BTreeSet<usize> = order[..42].iter().copied().collect();
    assert_eq!(firsts.len(), 21, "{order:?}");
}
