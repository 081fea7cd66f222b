//! Names and numbers of an app's control plane in the merged program.

use crate::regions;
use control_writes::{Kind, Write};
use ir::Name;
use traffic_classes::Class;

/// An app's part of a merged program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Share {
    /// As users name the app.
    pub app: Name,
    /// First word of its names.
    pub prefix: Name,
    /// Value of the app's field in the merged metadata.
    pub number: u8,
    /// Multicast groups.
    pub groups: Numbers,
    /// Clone sessions.
    pub sessions: Numbers,
    /// The names of its digests, alone and merged.
    pub digests: Vec<(Name, Name)>,
    /// The app's packets.
    pub traffic: Traffic,
}

/// The packets of an app: those of its class that belong to no class asked before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    /// Class of the app.
    pub class: Class,
    /// Classes that are asked before.
    pub before: Vec<Class>,
}

impl Traffic {
    /// True for a packet of the app.
    pub fn has(&self, port: u32, frame: &[u8]) -> bool {
        self.class.matches(port, frame) && !self.before.iter().any(|class| class.matches(port, frame))
    }
}

/// Numbers that the control plane gives, and that all apps of a device choose from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// Added to the app's own.
    pub base: u32,
    /// The app's own have to be smaller.
    pub limit: u32,
}

impl Share {
    /// Merged name of the app's table, action, object or value set.
    pub fn name(&self, own: &str) -> Name {
        match own {
            "NoAction" => own.into(),
            _ => format!("{}.{own}", self.prefix).into(),
        }
    }

    /// Merged name of a region of the app.
    pub fn region(&self, own: &str) -> Name {
        regions::merged(&self.prefix, own)
    }

    /// The app's own name of something with a merged name; `None` if it is another app's.
    pub fn own_name<'n>(&self, merged: &'n str) -> Option<&'n str> {
        match merged {
            "NoAction" => Some(merged),
            _ => merged.strip_prefix(self.prefix.as_str())?.strip_prefix('.'),
        }
    }
}

/// A number that is too large for an app beside others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// `multicast group` or `clone session`.
    pub what: &'static str,
    /// The app's number.
    pub number: u32,
    /// Exclusive upper limit of the number.
    pub limit: u32,
}

impl Share {
    /// An app's write as the merged program takes it; `None` if it is for a group or session that the app cannot use.
    pub fn write(&self, write: &Write<Name>) -> Result<Option<Write<Name>>, TooLarge> {
        let Ok(mut write) = write.refer(|kind, own| Ok::<_, std::convert::Infallible>(self.refer(kind, own)));
        match &mut write {
            Write::Multicast { group, .. } => {
                let Some(merged) = moved("multicast group", self.groups, *group)? else { return Ok(None) };
                *group = merged;
            }
            Write::CloneSession { session, to } => {
                let Some(merged) = moved("clone session", self.sessions, *session)? else { return Ok(None) };
                *session = merged;
                if let Some(group) = to.as_mut().and_then(|to| to.group.as_mut()) {
                    let Some(merged) = moved("multicast group", self.groups, *group)? else {
                        return Ok(None);
                    };
                    *group = merged;
                }
            }
            _ => {}
        }
        Ok(Some(write))
    }

    fn refer(&self, kind: Kind, own: &Name) -> Name {
        match kind {
            Kind::Digest => {
                let found = self.digests.iter().find(|(name, _)| name == own);
                found.map_or_else(|| own.clone(), |(_, merged)| merged.clone())
            }
            _ => self.name(own),
        }
    }
}

fn moved(what: &'static str, numbers: Numbers, number: u32) -> Result<Option<u32>, TooLarge> {
    match numbers.merged(number) {
        None if numbers == Numbers::NONE => Ok(None),
        None => Err(TooLarge { what, number, limit: numbers.limit }),
        merged => Ok(merged),
    }
}

impl Numbers {
    /// All numbers, as they are.
    pub const ALL: Numbers = Numbers { base: 0, limit: u32::MAX };

    /// None: the program of the app cannot use any.
    pub const NONE: Numbers = Numbers { base: 0, limit: 0 };

    /// True if the app's numbers stay as they are.
    pub(crate) fn are_own(self) -> bool {
        self == Numbers::ALL || self == Numbers::NONE
    }

    /// Merged number; `None` if the app may not use the number.
    pub fn merged(self, own: u32) -> Option<u32> {
        (own < self.limit).then(|| own + self.base)
    }
}
