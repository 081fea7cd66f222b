//! A controller that is served while others attack.

use crate::setup::{GIGABYTE, Reach, Victim, at_length, entries, ids, runtime, stream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A controller under attack, and one that does the same on a second switch that is not attacked: waits of both are the
/// machine's, and additional waits of the first are caused by the attack.
pub struct Honest {
    victim: Reach,
    attacked: Working,
    beside: Working,
    _peer: Victim,
}

/// Numbers of uninterrupted pieces of work of the thread that all clients wait for, by kind of work.
pub struct Holds(String);

impl Holds {
    pub fn of(reach: &Reach) -> Holds {
        Holds(String::from_utf8(reach.ctl(&["counters", "hold"]).stdout).unwrap())
    }

    /// Number of pieces of work of this kind. Tests bound the size of pieces with it: how long one takes depends on the machine.
    pub fn pieces(&self, work: &str) -> u64 {
        let of = |line: &str| {
            let (of, pieces) = line.strip_prefix("holds_total work=")?.rsplit_once(' ')?;
            (of.trim() == work).then(|| pieces.parse().unwrap())
        };
        self.0.lines().find_map(of).unwrap_or(0)
    }

    /// Fails if so many entries, written by controllers, read, and written again to a new program, were not worked on in slices.
    pub fn were_sliced(&self, written: u32, read: u32, replayed: u32) {
        // Most entries in a slice of each; the replay of one is several steps.
        let least = u64::from(written / 512 + read / 2048 + replayed / 200);
        // A rack's controller goes on with a slice whenever a call comes. No call comes between slices that are none.
        let slices = self.pieces("slice") + self.pieces("Write");
        assert!(slices >= least, "at least {least} slices:\n{self}");
    }
}

/// As `p4rack ctl counters hold` prints it.
impl std::fmt::Display for Holds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that was answered.
#[derive(Clone, Copy)]
struct Answered {
    took: Duration,
    /// Processor time of the thread that serves connections meanwhile: the work that was done first. It depends little on what else the
    /// machine does.
    behind: Duration,
}

/// Processor time that the switch's thread for connections has used.
fn served(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap();
    Duration::from_nanos(stat.split_whitespace().next().unwrap().parse().unwrap())
}

/// The longest, and the time within which 99 of a hundred calls were answered.
fn longest(calls: &[Answered], of: impl Fn(&Answered) -> Duration) -> String {
    let mut times: Vec<Duration> = calls.iter().map(of).collect();
    times.sort_unstable();
    format!("{:.1?} (99 %: {:.1?})", times[times.len() - 1], times[(times.len() - 1) * 99 / 100])
}

impl Honest {
    /// Becomes primary and writes one entry repeatedly.
    pub fn start(victim: &Victim, election: u64) -> Honest {
        let peer = Victim::start(GIGABYTE, &[]);
        let (attacked, beside) = (Working::start(victim, election), Working::start(&peer, election));
        Honest { victim: victim.reach(), attacked, beside, _peer: peer }
    }

    /// All of its calls have succeeded. Prints how long they took, and for how long the switch worked without looking at what else waited.
    pub fn end(self, attack: &str) -> Holds {
        let holds = Holds::of(&self.victim);
        eprintln!("{attack}:\n{holds}");
        assert!(holds.pieces("Write") > 0, "{holds}");
        let [attacked, beside] = [self.attacked, self.beside].map(Working::end);
        eprintln!(
            "{attack}: {} calls of an honest controller, the longest took {}, after work of {}; at a switch that nobody attacks, {}",
            attacked.len(),
            longest(&attacked, |call| call.took),
            longest(&attacked, |call| call.behind),
            longest(&beside, |call| call.took)
        );
        holds
    }
}

/// A controller at its work. Pauses between its calls are longer in the short form: the calls of two controllers had half of the processor time of
/// some attacks.
struct Working {
    stop: Arc<AtomicBool>,
    work: JoinHandle<Vec<Answered>>,
}

impl Working {
    fn start(victim: &Victim, election: u64) -> Working {
        let (stop, reach) = (Arc::new(AtomicBool::new(false)), victim.reach());
        let process = victim.id();
        let pause = Duration::from_millis(if at_length() { 2 } else { 20 });
        let stopped = Arc::clone(&stop);
        let (begun, begins) = std::sync::mpsc::channel();
        let work = std::thread::spawn(move || {
            runtime().block_on(async {
                let mut client = reach.connect().await;
                let _stream = stream(&mut client, election).await;
                let ids = ids(&mut client).await;
                let mut calls = vec![];
                let request = |how| entries(ids, election, how, std::iter::once(0xff_ffff));
                let (mut next, modified) = (request("INSERT"), request("MODIFY"));
                begun.send(()).unwrap();
                while !stopped.load(Ordering::Relaxed) {
                    let (asked, before) = (Instant::now(), served(process));
                    client.write(next).await.unwrap();
                    calls.push(Answered { took: asked.elapsed(), behind: served(process) - before });
                    next = modified.clone();
                    tokio::time::sleep(pause).await;
                }
                calls
            })
        });
        begins.recv().unwrap();
        Working { stop, work }
    }

    /// Stops it. Returns the calls.
    fn end(self) -> Vec<Answered> {
        self.stop.store(true, Ordering::Relaxed);
        let calls = self.work.join().expect("an honest controller is served");
        assert!(!calls.is_empty());
        calls
    }
}
