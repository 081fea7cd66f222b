//! Limits on what clients may use.

use std::time::Duration;

/// The default for [`Limits::updates`].
const UPDATES: usize = 1 << 17;

/// The default for [`Limits::connections`].
const CONNECTIONS: usize = 256;

/// File descriptors left for ports, captures, links and the rest of the process.
const OTHER_FILES: usize = 48;

/// Limits that an operator can set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Updates per `Write`, and queries per `Read`.
    pub updates: usize,
    /// Connections to the P4Runtime address.
    pub connections: usize,
}

impl Default for Limits {
    /// 131,072 updates, and 256 connections.
    fn default() -> Limits {
        Limits { updates: UPDATES, connections: CONNECTIONS }
    }
}

impl Limits {
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
    /// How many of these are reserved for short calls: they may not open streams, and are closed after `reserved_for`.
    pub reserve: usize,
    /// Time from connecting to the first call.
    pub first_call: Duration,
    /// Time without a call after the last one.
    pub idle: Duration,
    /// Time that a reserved connection may be open.
    pub reserved_for: Duration,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_files_leave_few_connections() {
        assert_eq!(Limits::default().within(usize::MAX).connections, 256);
        assert_eq!(Limits::default().within(256).connections, 192);
        assert_eq!(Limits::default().within(10).connections, 8);
        assert!(most_files() > 0);
    }
}
