//! Controllers and a fake of etcd in virtual time, in an order that a seed decides.
//!
//! Each controller's threads are threads here, too, of which one runs at a time: a call hands the turn to the world, which executes calls, and loses,
//! delays and repeats them and their answers.

use crate::server::etcd::Etcd;
use base_time::Rng;
use state_etcd::api::{
    LeaseGrantResponse, LeaseKeepAliveResponse, RangeRequest, RangeResponse, TxnRequest, TxnResponse,
};
use state_etcd::{Cluster, EtcdError};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time after which a caller gives up an answer.
const PATIENCE: Duration = Duration::from_millis(300);

/// A call as it is executed, once or several times.
type Execute = Arc<dyn Fn(&mut Etcd, Duration) + Send + Sync>;

/// A thread's request to the world.
enum Ask {
    Call(Execute),
    Pause(Duration),
    /// A thread of the same controller.
    Start(Box<dyn FnOnce(Connection) + Send>),
    Ended,
}

/// The world's answer: the time, and whether a call was answered.
type Turn = (Duration, bool);

/// One thread's connection to etcd.
pub struct Connection {
    ask: Sender<Ask>,
    turn: Receiver<Turn>,
    now: Cell<Duration>,
}

impl Connection {
    /// A turn of others. A thread whose controller was killed ends here.
    fn yielding(&self, ask: Ask) -> bool {
        let answer = self.ask.send(ask).ok().and_then(|()| self.turn.recv().ok());
        let Some((now, is_answered)) = answer else { std::panic::resume_unwind(Box::new("killed")) };
        self.now.set(now);
        is_answered
    }

    fn call<T: Clone + Send + 'static>(
        &self,
        execute: impl Fn(&mut Etcd, Duration) -> T + Send + Sync + 'static,
    ) -> Result<T, EtcdError> {
        let result = Arc::new(Mutex::new(None));
        let first = Arc::clone(&result);
        let execute = move |etcd: &mut Etcd, now: Duration| {
            let done = execute(etcd, now);
            // A repeated request is executed again, and its answer is for nobody.
            first.lock().unwrap().get_or_insert(done);
        };
        let is_answered = self.yielding(Ask::Call(Arc::new(execute)));
        let result = result.lock().unwrap().clone();
        result.filter(|_| is_answered).ok_or_else(|| EtcdError::Unreachable("no answer".to_string()))
    }

    pub fn start(&self, thread: impl FnOnce(Connection) + Send + 'static) {
        self.yielding(Ask::Start(Box::new(thread)));
    }
}

impl Cluster for Connection {
    fn range(&mut self, request: RangeRequest) -> Result<RangeResponse, EtcdError> {
        let found = self.call(move |etcd, now| etcd.range(now, &request))?;
        found.ok_or_else(|| EtcdError::Unreachable("no answer".to_string()))
    }

    fn transact(&mut self, request: TxnRequest) -> Result<TxnResponse, EtcdError> {
        self.call(move |etcd, _| etcd.transact(&request))?.map_err(EtcdError::Refused)
    }

    fn grant(&mut self, seconds: i64) -> Result<LeaseGrantResponse, EtcdError> {
        let (id, ttl) = self.call(move |etcd, now| etcd.grant(now, seconds))?;
        Ok(LeaseGrantResponse { id, ttl, error: String::new() })
    }

    fn keep_alive(&mut self, lease: i64) -> Result<LeaseKeepAliveResponse, EtcdError> {
        let ttl = self.call(move |etcd, now| etcd.keep_alive(now, lease))?;
        Ok(LeaseKeepAliveResponse { id: lease, ttl })
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        self.call(move |etcd, _| etcd.revoke(lease))
    }

    fn now(&self) -> Duration {
        self.now.get()
    }

    fn pause(&mut self, length: Duration) {
        self.yielding(Ask::Pause(length));
    }
}

/// An event that has a time.
enum Event {
    /// A call reaches etcd.
    Arrive(Execute, Option<(usize, Duration)>),
    /// A thread goes on, with an answer or without.
    Wake(usize, bool),
    /// etcd looks for leases that have ended.
    Expire,
}

/// Chances of faults, each of so many calls in a thousand.
#[derive(Clone, Copy)]
pub struct Faults {
    pub lost: u64,
    pub repeated: u64,
    /// Calls and answers that take up to five seconds.
    pub late: u64,
    /// Turns after which a controller stands still for up to five seconds.
    pub paused: u64,
}

struct Thread {
    controller: usize,
    ask: Receiver<Ask>,
    turn: Option<Sender<Turn>>,
    handle: Option<JoinHandle<()>>,
    /// The wake that counts: an answer and the end of patience both come.
    waits_for: u64,
}

pub struct World {
    pub etcd: Etcd,
    pub now: Duration,
    rng: Rng,
    faults: Faults,
    events: BTreeMap<(Duration, u64), (Event, u64)>,
    count: u64,
    threads: Vec<Thread>,
    /// Controllers that stand still until a time.
    paused: BTreeMap<usize, Duration>,
    killed: BTreeSet<usize>,
}

impl World {
    pub fn new(seed: u64, faults: Faults) -> World {
        let mut world = World {
            etcd: Etcd::default(),
            now: Duration::ZERO,
            rng: Rng::new(seed),
            faults,
            events: BTreeMap::new(),
            count: 0,
            threads: vec![],
            paused: BTreeMap::new(),
            killed: BTreeSet::new(),
        };
        world.at(Duration::from_millis(500), Event::Expire, 0);
        world
    }

    fn at(&mut self, time: Duration, event: Event, number: u64) {
        self.count += 1;
        self.events.insert((time, self.count), (event, number));
    }

    fn ms(&mut self, most: u64) -> Duration {
        Duration::from_micros(self.rng.between(100, most * 1000))
    }

    fn way(&mut self) -> Duration {
        let most = if self.rng.chance(self.faults.late, 1000) { 5000 } else { 20 };
        self.ms(most)
    }

    /// Starts a thread of a controller.
    pub fn start(&mut self, controller: usize, thread: impl FnOnce(Connection) + Send + 'static) {
        let ((ask, asked), (turn, given)) = (channel(), channel());
        let connection = Connection { ask: ask.clone(), turn: given, now: Cell::new(self.now) };
        let run = move || {
            // The first turn.
            let Ok((now, _)) = connection.turn.recv() else { return };
            connection.now.set(now);
            thread(connection);
            let _ = ask.send(Ask::Ended);
        };
        let (id, handle) = (self.threads.len(), Some(std::thread::spawn(run)));
        self.threads.push(Thread { controller, ask: asked, turn: Some(turn), handle, waits_for: 0 });
        self.at(self.now, Event::Wake(id, true), 0);
    }

    /// Ends a controller wherever it is.
    pub fn kill(&mut self, controller: usize) {
        self.killed.insert(controller);
        for thread in self.threads.iter_mut().filter(|thread| thread.controller == controller) {
            thread.turn = None;
            if let Some(handle) = thread.handle.take() {
                let end = handle.join();
                // A test's assertion is not a kill.
                if let Err(why) = end
                    && why.downcast_ref::<&str>() != Some(&"killed")
                {
                    std::panic::resume_unwind(why);
                }
            }
        }
    }

    pub fn pause(&mut self, controller: usize, length: Duration) {
        self.paused.insert(controller, self.now + length);
    }

    /// Runs until a time.
    pub fn run_until(&mut self, end: Duration) {
        while let Some(next) = self.events.first_entry().filter(|next| next.key().0 < end) {
            let ((time, _), (event, number)) = next.remove_entry();
            self.now = time;
            match event {
                Event::Expire => {
                    self.etcd.expire(time);
                    self.at(time + Duration::from_millis(500), Event::Expire, 0);
                }
                Event::Arrive(execute, answer) => {
                    execute(&mut self.etcd, time);
                    if let Some((thread, after)) = answer {
                        self.at(time + after, Event::Wake(thread, true), number);
                    }
                }
                Event::Wake(thread, is_answered) => self.wake(thread, is_answered, number),
            }
        }
        self.now = end;
    }

    fn wake(&mut self, id: usize, is_answered: bool, number: u64) {
        let thread = &mut self.threads[id];
        let controller = thread.controller;
        if self.killed.contains(&controller) || thread.waits_for != number {
            return;
        }
        if let Some(until) = self.paused.get(&controller).copied().filter(|until| *until > self.now) {
            return self.at(until, Event::Wake(id, is_answered), number);
        }
        let Some(turn) = &thread.turn else { return };
        thread.waits_for += 1;
        let number = thread.waits_for;
        let asked = turn.send((self.now, is_answered)).ok().and_then(|()| thread.ask.recv().ok());
        if self.rng.chance(self.faults.paused, 1000) {
            let length = self.ms(5000);
            self.pause(controller, length);
        }
        match asked {
            Some(Ask::Call(execute)) => self.send(id, &execute, number),
            Some(Ask::Pause(length)) => self.at(self.now + length, Event::Wake(id, true), number),
            Some(Ask::Start(start)) => {
                self.start(controller, start);
                self.at(self.now, Event::Wake(id, true), number);
            }
            Some(Ask::Ended) | None => self.end(id),
        }
    }

    /// A thread has ended, perhaps by an assertion.
    fn end(&mut self, id: usize) {
        let thread = &mut self.threads[id];
        thread.turn = None;
        if let Some(Err(why)) = thread.handle.take().map(JoinHandle::join) {
            std::panic::resume_unwind(why);
        }
    }

    fn send(&mut self, id: usize, execute: &Execute, number: u64) {
        self.at(self.now + PATIENCE, Event::Wake(id, false), number);
        let copies = if self.rng.chance(self.faults.repeated, 1000) { 2 } else { 1 };
        for copy in 0..copies {
            // A repeated request arrives at any time.
            let way = if copy == 0 { self.way() } else { self.ms(5000) };
            let is_lost = copy == 0 && self.rng.chance(self.faults.lost, 1000);
            if !is_lost {
                let back = self.way();
                let answer = (copy == 0 && !self.rng.chance(self.faults.lost, 1000)).then_some((id, back));
                self.at(self.now + way, Event::Arrive(Arc::clone(execute), answer), number);
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for thread in &mut self.threads {
            thread.turn = None;
            if let Some(handle) = thread.handle.take() {
                let _ = handle.join();
            }
        }
    }
}
