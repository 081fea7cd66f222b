//! Multicast groups and clone sessions, as the control plane has set them up.

use dataplane_api::Port;
use std::collections::{BTreeMap, BTreeSet};

/// Multicast groups and clone sessions, as the control plane has set them up.
#[derive(Clone, Default, Debug)]
pub(crate) struct Replication {
    groups: BTreeMap<u32, Group>,
    pub(crate) sessions: BTreeMap<u32, Session>,
    /// Ports that are down: a member by one of them goes to a backup.
    pub(crate) down: BTreeSet<Port>,
}

/// A multicast group.
#[derive(Clone, Default, Debug)]
struct Group {
    /// Port and replica id, in the order of replication.
    members: Vec<(Port, u16)>,
    /// Backups of each member, by its index in `members`: while its port is down, its copies go to the first backup
    /// that is up.
    backups: Vec<Vec<(Port, u16)>>,
}

impl Replication {
    /// Port and replica id of every copy for a group, in order. Where the port of a member and all its backups are down, the copy
    /// goes to the member's own port (P4Runtime 1.5, section 9.5.1, leaves this to the target).
    pub(crate) fn members(&self, group: u32) -> Vec<(Port, u16)> {
        let Some(group) = self.groups.get(&group) else { return vec![] };
        let backups = |at: usize| group.backups.get(at).map_or(&[][..], Vec::as_slice);
        let is_up = |(port, _): &(Port, u16)| !self.down.contains(port);
        let member = |(at, own): (usize, &(Port, u16))| {
            std::iter::once(own).chain(backups(at)).copied().find(is_up).unwrap_or(*own)
        };
        group.members.iter().enumerate().map(member).collect()
    }

    /// Makes a group of these members in the place of the one that is there.
    pub(crate) fn set_group(&mut self, group: u32, members: Vec<(Port, u16)>) {
        self.groups.insert(group, Group { members, ..Group::default() });
    }

    /// Sets where the members of a group go while their ports are down.
    pub(crate) fn set_backups(&mut self, group: u32, backups: Vec<Vec<(Port, u16)>>) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.backups = backups;
        }
    }
}

/// Destinations of a session's clones: port and group if both are set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Session {
    /// To a port.
    pub port: Option<Port>,
    /// To a multicast group.
    pub group: Option<u32>,
    /// Class of the clones: PSA's `class_of_service`, v1model's `priority`.
    pub class_of_service: u8,
    /// Maximum length of clones in bytes. They are truncated when they are made: on v1model, a clone of ingress is
    /// parsed from the truncated bytes, and a clone of egress loses payload. Headers that do not fit are truncated on
    /// transmission.
    pub max_length: Option<u32>,
}
