//! Three controllers with one state, in virtual time: calls and answers are lost, late and repeated, controllers stand still or are killed at any call. No
//! acknowledged batch is lost, none is kept in part, and no two controllers lead at one time.

use crate::world::{Connection, Faults, World};
use base_time::Rng;
use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use p4runtime_proto::p4rack::v1::SavedState;
use state_etcd::{Cluster, EtcdError, Layout, Lead, StateEtcd, seek};
use state_journal::{Batch, MERGE_ROWS, Store};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The program, by its cookie, and the rows.
type State = (Option<u64>, BTreeMap<Vec<u8>, Vec<u8>>);

/// Known to all controllers of a world: the truth.
#[derive(Default)]
struct Log {
    /// The effect of all acknowledged batches.
    certain: State,
    /// Later batches of the leader that are not acknowledged, each with the ones before it, by their numbers.
    tries: BTreeMap<u64, Batch>,
    /// The present leader.
    term: u64,
    /// The last try of each former leader that the next one has found.
    found: BTreeMap<u64, u64>,
    leads: Vec<Arc<Lead>>,
    count: u64,
    stats: Stats,
}

#[derive(Default, Debug, Clone, Copy)]
struct Stats {
    leaders: u64,
    acknowledged: u64,
    /// Acknowledged, and more than one transaction.
    large: u64,
    failed: u64,
    /// Unacknowledged batches that the next leader has found.
    found: u64,
    kills: u64,
    /// Leaders whose keys others have deleted.
    deposed: u64,
}

fn after(state: &State, batch: &Batch) -> State {
    let mut state = state.clone();
    if let Some(program) = &batch.program {
        state = (program.cookie.as_ref().map(|cookie| cookie.cookie), BTreeMap::new());
    }
    for (key, value) in &batch.rows {
        match value {
            Some(value) => drop(state.1.insert(key.clone(), value.clone())),
            None => drop(state.1.remove(key)),
        }
    }
    state
}

fn read(saved: Option<SavedState>) -> State {
    let Some(saved) = saved else { return State::default() };
    let program = saved.config.unwrap().cookie.map(|cookie| cookie.cookie);
    (program, saved.merged.into_iter().map(|row| (row.key, row.value)).collect())
}

impl Log {
    /// A new leader has read the state.
    fn takes_over(&mut self, term: u64, state: State) {
        assert!(term > self.term, "a later leader has a larger number");
        let found = self.tries.iter().find(|(_, batch)| after(&self.certain, batch) == state);
        let found = found.map(|(number, _)| *number);
        assert!(state == self.certain || found.is_some(), "the state of leader {term} is nobody's");
        self.stats.found += u64::from(found.is_some());
        self.stats.leaders += 1;
        self.found.extend(found.map(|number| (self.term, number)));
        (self.certain, self.term) = (state, term);
        self.tries.clear();
    }

    fn acknowledged(&mut self, term: u64, number: u64, batch: &Batch, is_large: bool) {
        self.stats.acknowledged += 1;
        self.stats.large += u64::from(is_large);
        if term < self.term {
            // The answer was late. The next leader knows of it.
            assert!(self.found.get(&term) >= Some(&number), "an acknowledged batch is lost");
            return;
        }
        self.certain = after(&self.certain, batch);
        self.tries.clear();
    }

    fn leads(&mut self, lead: &Arc<Lead>, now: Duration) {
        if !self.leads.iter().any(|other| Arc::ptr_eq(other, lead)) {
            self.leads.push(Arc::clone(lead));
        }
        let leading = self.leads.iter().filter(|lead| lead.holds(now)).count();
        assert!(leading <= 1, "{leading} controllers lead at one time");
    }
}

/// A batch of one of the kinds that there are. Each has a value that no other batch has.
fn batch(rng: &mut Rng, number: u64, needs_program: bool) -> (Batch, bool) {
    let row = |key: u64| {
        let mut bytes = vec![MERGE_ROWS];
        bytes.extend(key.to_be_bytes());
        bytes
    };
    let mut all = Batch::default();
    let mut is_large = false;
    if needs_program || rng.chance(1, 20) {
        let mut program = ForwardingPipelineConfig::default();
        program.cookie.get_or_insert_default().cookie = number;
        all.program = Some(program);
    }
    match rng.below(8) {
        // More operations than one transaction may have.
        0 => {
            is_large = true;
            let count = rng.between(120, 350);
            all.rows.extend((0..count).map(|key| (row(key), Some(number.to_be_bytes().to_vec()))));
        }
        // Several pieces.
        1 => {
            let mut value = number.to_be_bytes().to_vec();
            value.resize(rng.between(200, 700) as usize * 1000, 7);
            all.rows.insert(row(rng.below(3)), Some(value));
        }
        _ => {}
    }
    for _ in 0..rng.below(4) {
        all.rows.insert(row(rng.below(8)), None);
    }
    all.rows.insert(row(rng.below(8)), Some(number.to_be_bytes().to_vec()));
    (all, is_large)
}

/// A controller, which is started again whenever it no longer leads.
fn controller(mut connection: Connection, own: usize, log: &Mutex<Log>, seed: u64) {
    let layout = Layout::new("world");
    let mut rng = Rng::new(seed);
    loop {
        let lead = seek(&mut connection, &layout, 1, &format!("controller {own}"), &mut |_| ()).unwrap();
        let lead = Arc::new(lead);
        log.lock().unwrap().leads(&lead, connection.now());
        let kept = Arc::clone(&lead);
        connection.start(move |mut connection| {
            while kept.holds(connection.now()) {
                connection.pause(kept.interval());
                let _ = kept.keep(&mut connection);
            }
        });
        connection = lead_on(connection, &lead, log, &mut rng);
        // As a process that is started again.
        connection.pause(Duration::from_millis(200));
    }
}

/// Reads the state, and writes until another controller may lead.
fn lead_on(connection: Connection, lead: &Arc<Lead>, log: &Mutex<Log>, rng: &mut Rng) -> Connection {
    let layout = Layout::new("world");
    let (mut store, state) = match StateEtcd::open(connection, layout, Arc::clone(lead), false) {
        Ok(opened) => opened,
        Err((connection, error)) => {
            assert!(matches!(error, EtcdError::Superseded | EtcdError::Unreachable(_)), "{error}");
            return connection;
        }
    };
    let mut needs_program = state.is_none();
    log.lock().unwrap().takes_over(lead.term(), read(state));
    let mut unkept = Batch::default();
    while lead.holds(store.cluster().now()) {
        let number = {
            let mut log = log.lock().unwrap();
            log.leads(lead, store.cluster().now());
            log.count += 1;
            log.count
        };
        let (new, is_large) = batch(rng, number, needs_program);
        needs_program = false;
        // As `Keeper` does.
        unkept.follow(new);
        {
            let mut log = log.lock().unwrap();
            if log.term == lead.term() {
                log.tries.insert(number, unkept.clone());
            }
        }
        let kept = store.commit(&unkept);
        let mut log = log.lock().unwrap();
        match kept {
            Ok(()) => {
                log.acknowledged(lead.term(), number, &unkept, is_large);
                unkept = Batch::default();
            }
            Err(_) => log.stats.failed += 1,
        }
        drop(log);
        let length = Duration::from_millis(rng.below(30));
        store.cluster().pause(length);
    }
    store.into_cluster()
}

/// A minute of three controllers.
fn minute(seed: u64, faults: Faults) -> Stats {
    let log = Arc::new(Mutex::new(Log::default()));
    let mut world = World::new(seed, faults);
    let mut rng = Rng::new(seed).split("what happens");
    let mut number = 0;
    let mut start = |world: &mut World| {
        let (own, log) = (number, Arc::clone(&log));
        number += 1;
        world.start(own, move |connection| controller(connection, own, &log, seed << 8 | own as u64));
        own
    };
    let mut alive: Vec<usize> = (0..3).map(|_| start(&mut world)).collect();
    while world.now < Duration::from_secs(60) {
        let next = world.now + Duration::from_millis(rng.between(1, 6000));
        world.run_until(next);
        let one = rng.index(3);
        if rng.chance(1, 3) {
            let now = world.now;
            world.etcd.change_leader(now);
        }
        if rng.next_bool() {
            world.kill(alive[one]);
            alive[one] = start(&mut world);
            log.lock().unwrap().stats.kills += 1;
        } else {
            world.pause(alive[one], Duration::from_millis(rng.between(1, 5000)));
        }
    }
    alive.iter().for_each(|one| world.kill(*one));
    // Another controller reads what is there at the end.
    start(&mut world);
    let end = world.now + Duration::from_secs(20);
    world.run_until(end);
    let log = log.lock().unwrap();
    Stats { deposed: world.etcd.deleted, ..log.stats }
}

#[test]
fn no_acknowledged_batch_is_lost_and_one_controller_leads() {
    let seeds = features::seeds(24, 1000);
    let tried = seeds.end - seeds.start;
    let mut sum = Stats::default();
    for seed in seeds {
        let hard = Faults { lost: 60, repeated: 100, late: 60, paused: 10 };
        // Deletions of keys that come after the leader has written again.
        let slow = Faults { lost: 0, repeated: 0, late: 300, paused: 30 };
        let faults = [NO_FAULTS, slow, hard, hard][(seed % 4) as usize];
        let stats = minute(seed, faults);
        sum.leaders += stats.leaders;
        sum.acknowledged += stats.acknowledged;
        sum.large += stats.large;
        sum.failed += stats.failed;
        sum.found += stats.found;
        sum.kills += stats.kills;
        sum.deposed += stats.deposed;
    }
    eprintln!("{tried} worlds of a minute: {sum:?}");
    // Each kind of trouble has come.
    let Stats { leaders, acknowledged, large, failed, found, kills, deposed } = sum;
    assert!(leaders > tried && acknowledged > 100 * tried && large > tried && kills > tried);
    assert!(deposed > tried);
    assert!(failed > 0 && found > 0);
}

/// Times at which controllers began to lead.
type Led = Arc<Mutex<BTreeMap<usize, Duration>>>;

/// Starts a controller that leads, once it is its turn, until it is killed.
fn seeks(world: &mut World, own: usize, led: &Led) {
    let led = Arc::clone(led);
    world.start(own, move |mut connection| {
        let lead = seek(&mut connection, &Layout::new("world"), 2, "a test", &mut |_| ()).unwrap();
        led.lock().unwrap().insert(own, connection.now());
        loop {
            connection.pause(lead.interval());
            lead.keep(&mut connection).unwrap();
        }
    });
    pass(world, 10);
}

fn pass(world: &mut World, seconds: u64) {
    let end = world.now + Duration::from_secs(seconds);
    world.run_until(end);
}

fn leaders(led: &Led) -> Vec<usize> {
    led.lock().unwrap().keys().copied().collect()
}

const NO_FAULTS: Faults = Faults { lost: 0, repeated: 0, late: 0, paused: 0 };

/// A new leader of etcd extends the leases of controllers that have ended.
#[test]
fn the_next_controller_leads_in_time_when_the_leaders_of_both_have_ended() {
    let (mut world, led) = (World::new(36, NO_FAULTS), Led::default());
    (0..4).for_each(|own| seeks(&mut world, own, &led));
    assert_eq!(leaders(&led), [0], "one leads, however long it takes");
    assert_eq!(world.etcd.granted, 4, "who asks a member that does not know it yet does not stand again");
    for own in 0..3 {
        world.kill(own);
        let killed = world.now;
        world.etcd.change_leader(killed + Duration::from_secs(1));
        pass(&mut world, 10);
        let took = led.lock().unwrap()[&(own + 1)] - killed;
        // The lease's length, an eighth, an interval in which the last change may have been seen, and the time by which a member is behind.
        assert!(took < Duration::from_millis(3000), "{took:?}");
        assert_eq!(led.lock().unwrap().len(), own + 2);
    }
}

#[test]
fn a_candidate_that_stood_still_waits_again() {
    let (mut world, led) = (World::new(37, NO_FAULTS), Led::default());
    (0..3).for_each(|own| seeks(&mut world, own, &led));
    world.pause(1, Duration::from_secs(8));
    world.kill(0);
    pass(&mut world, 10);
    assert_eq!(leaders(&led), [0, 2]);
    seeks(&mut world, 3, &led);
    world.kill(2);
    pass(&mut world, 5);
    assert_eq!(leaders(&led), [0, 1, 2], "it came before 3");
}

/// After the leader of etcd has ended at a bad moment, its other members keep reads waiting for seconds, and execute transactions.
#[test]
fn a_state_is_taken_over_while_reads_have_no_answer() {
    let (mut world, led) = (World::new(38, NO_FAULTS), Led::default());
    let found = Arc::new(Mutex::new(vec![]));
    for own in 0..3 {
        let (led, found) = (Arc::clone(&led), Arc::clone(&found));
        world.start(own, move |mut connection| {
            let layout = Layout::new("world");
            let lead = seek(&mut connection, &layout, 2, "a test", &mut |_| ()).unwrap();
            let lead = Arc::new(lead);
            let (mut store, state) =
                StateEtcd::open(connection, layout, Arc::clone(&lead), false).ok().unwrap();
            found.lock().unwrap().push(read(state).0);
            led.lock().unwrap().insert(own, store.cluster().now());
            let (batch, _) = batch(&mut Rng::new(own as u64), own as u64, true);
            store.commit(&batch).unwrap();
            loop {
                store.cluster().pause(lead.interval());
                lead.keep(store.cluster()).unwrap();
            }
        });
        pass(&mut world, 5);
    }
    world.etcd.reads_wait = true;
    for own in 0..2 {
        world.kill(own);
        let killed = world.now;
        pass(&mut world, 10);
        let took = led.lock().unwrap()[&(own + 1)] - killed;
        assert!(took < Duration::from_millis(3500), "{took:?}");
    }
    assert_eq!(*found.lock().unwrap(), [None, Some(0), Some(1)]);
}
