//! Limits for clients.

use crate::budget;
use std::path::Path;
use std::time::Duration;

/// The default for [`Limits::updates`].
const UPDATES: usize = 1 << 17;

/// The default for [`Limits::connections`].
const CONNECTIONS: usize = 256;

/// The limit on memory in processes that may use very little.
const LEAST_MEMORY: u64 = 16 << 20;

/// File descriptors left for ports, captures, links and the rest of the process.
const OTHER_FILES: usize = 48;

/// Limits that an operator can set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Updates per `Write`, and queries per `Read`.
    pub updates: usize,
    /// Connections to the P4Runtime address.
    pub connections: usize,
    /// Memory for a program, its entries and its objects, in bytes.
    pub memory: u64,
}

impl Default for Limits {
    /// 131,072 updates, 256 connections, and any amount of memory.
    fn default() -> Limits {
        Limits { updates: UPDATES, connections: CONNECTIONS, memory: u64::MAX }
    }
}

impl Limits {
    /// The limit on memory for a process that may use `bytes`: two fifths of the memory that remains after requests. A
    /// push takes the memory of two programs, the running one and the new one; the last fifth is for requests in
    /// progress.
    pub fn memory_of(bytes: u64) -> u64 {
        (bytes.saturating_sub(budget::ALL as u64) / 5 * 2).max(LEAST_MEMORY)
    }

    /// Lowers the number of connections to fit a process that may open `files` files.
    #[must_use]
    pub fn within(self, files: usize) -> Limits {
        let room = files.saturating_sub(OTHER_FILES + Rules::METRICS).max(8);
        Limits { connections: self.connections.min(room), ..self }
    }
}

/// The rules of one listening address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Connections in total.
    pub connections: usize,
    /// Connections from one address.
    pub per_address: usize,
    /// Number of connections reserved for short calls: they may not open streams, and are closed after `reserved_for`.
    pub reserve: usize,
    /// Time from connecting to the first call.
    pub first_call: Duration,
    /// Time without a call after the last one.
    pub idle: Duration,
    /// Time that a reserved connection may be open.
    pub reserved_for: Duration,
    /// Time for which a request or answer may come to a stop.
    pub stopped: Duration,
}

impl Rules {
    /// Connections to the metrics address.
    pub const METRICS: usize = 16;

    /// The rules of the P4Runtime address.
    pub fn calls(limits: Limits) -> Rules {
        let connections = limits.connections.max(4);
        Rules {
            connections,
            per_address: connections - connections / 4,
            reserve: (connections / 8).clamp(1, 16),
            first_call: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            reserved_for: Duration::from_secs(30),
            stopped: Duration::from_secs(180),
        }
    }

    /// The rules of the metrics address.
    pub fn metrics() -> Rules {
        Rules {
            connections: Rules::METRICS,
            per_address: Rules::METRICS * 3 / 4,
            reserve: 0,
            first_call: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            reserved_for: Duration::from_secs(30),
            stopped: Duration::from_secs(60),
        }
    }
}

/// The number of files that the process may open; `usize::MAX` if unknown.
#[allow(clippy::disallowed_methods)]
pub fn most_files() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(usize::MAX)
}

/// The memory that the process may use, in bytes: that of the machine, less if the process or its control group is limited.
#[allow(clippy::disallowed_methods)]
pub fn most_memory() -> u64 {
    let read = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
    let limits = read(Path::new("/proc/self/limits"));
    let of_process = ["Max data size", "Max address space"].into_iter().filter_map(|name| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    let total = read(Path::new("/proc/meminfo"));
    let total = total.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let of_machine = total.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let own = read(Path::new("/proc/self/cgroup"));
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let of_groups = Path::new(own).ancestors().filter_map(|group| {
        read(&Path::new("/sys/fs/cgroup").join(group).join("memory.max")).trim().parse::<u64>().ok()
    });
    let all = of_process.chain(of_machine.map(|kib| kib.saturating_mul(1024))).chain(of_groups);
    all.min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_leave_memory_for_requests_and_for_a_second_program() {
        const GIB: u64 = 1 << 30;
        assert_eq!(Limits::memory_of(GIB), 256 << 20);
        assert!((6 * GIB..7 * GIB).contains(&Limits::memory_of(16 * GIB)));
        assert_eq!(Limits::memory_of(1 << 20), LEAST_MEMORY);
        assert_eq!(Limits::default().memory, u64::MAX);
        let most = most_memory();
        assert!(most > 1 << 20, "{most}");
    }

    #[test]
    fn addresses_have_three_quarters_and_operators_an_eighth() {
        let of = |connections| {
            let rules = Rules::calls(Limits { connections, ..Limits::default() });
            (rules.connections, rules.per_address, rules.reserve)
        };
        assert_eq!([256, 1000, 16, 1].map(of), [(256, 192, 16), (1000, 750, 16), (16, 12, 2), (4, 3, 1)]);
    }

    #[test]
    fn few_files_leave_few_connections() {
        assert_eq!(Limits::default().within(usize::MAX).connections, 256);
        assert_eq!(Limits::default().within(256).connections, 192);
        assert_eq!(Limits::default().within(10).connections, 8);
        assert!(most_files() > 0);
    }
}
