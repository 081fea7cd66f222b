//! The clocks: the only place of this crate that reads one.

use nix::sys::time::TimeValLike;
use std::time::{Duration, Instant};

/// Since some moment.
pub fn wall() -> Duration {
    read(rustix::time::ClockId::Monotonic)
}

/// This moment, for lanes.
#[allow(clippy::disallowed_methods)]
pub fn now() -> Instant {
    Instant::now()
}

/// Processor time of the calling thread.
pub fn thread() -> Duration {
    read(rustix::time::ClockId::ThreadCPUTime)
}

/// Processor time of all threads of this process.
pub fn process() -> Duration {
    read(rustix::time::ClockId::ProcessCPUTime)
}

/// Processor time of processes that this one has started and that have ended.
pub fn children() -> Duration {
    let used = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    used.map_or(Duration::ZERO, |used| {
        let time = used.user_time() + used.system_time();
        Duration::from_micros(time.num_microseconds().unsigned_abs())
    })
}

fn read(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Bytes of memory that a process holds; 0 is this one.
pub fn memory(process: u32) -> u64 {
    let who = if process == 0 { "self".to_string() } else { process.to_string() };
    let text = std::fs::read_to_string(format!("/proc/{who}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}
