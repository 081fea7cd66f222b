//! Arbitration: the controllers that may write (P4Runtime 1.5, section 5).

use crate::status::Status;
use p4runtime_proto::google::rpc::{self, Code};
use p4runtime_proto::p4::v1::{
    MasterArbitrationUpdate, Role, StreamMessageResponse, Uint128, stream_message_response,
};
use std::collections::{BTreeMap, BTreeSet};

/// Number of a controller's stream, assigned by the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamId(pub u64);

/// The most streams of one role.
const MOST_STREAMS: usize = 256;
/// The most roles there are at once.
const MOST_ROLES: usize = 256;
/// The longest name of a role, in bytes.
const MOST_NAME: usize = 256;

/// The controllers of a device.
#[derive(Default, Debug)]
pub(crate) struct Arbitration {
    /// Created on first use. If there are too many, the one that has been unused longest is forgotten.
    roles: BTreeMap<String, RoleState>,
    streams: BTreeMap<StreamId, Member>,
    /// Counts updates and ended streams.
    steps: u64,
}

#[derive(Default, Debug)]
struct RoleState {
    /// The highest election id ever seen.
    highest: Option<u128>,
    /// Connected primary of the role.
    primary: Option<StreamId>,
    /// The last step at which a stream had this role.
    used: u64,
}

/// The result of an arbitration update.
#[derive(Debug)]
pub(crate) struct Arbitrated {
    pub(crate) notices: Notices,
    /// Streams that were ended to make room.
    pub(crate) ended: Vec<StreamId>,
}

#[derive(Clone, Debug)]
struct Member {
    role: String,
    election: Option<u128>,
}

/// Messages to streams.
pub(crate) type Notices = Vec<(StreamId, StreamMessageResponse)>;

impl Arbitration {
    /// Handles a controller's arbitration request. An error ends its stream. `named` is true for roles that the program
    /// names; other roles make room for them.
    pub(crate) fn update(
        &mut self,
        stream: StreamId,
        device: u64,
        update: &MasterArbitrationUpdate,
        named: impl Fn(&str) -> bool,
    ) -> Result<Arbitrated, Status> {
        let refuse = |code, why: String| Err(Status::new(code, why));
        let role = update.role.as_ref().map_or("", |role| role.name.as_str());
        let election = update.election_id.map(u128::from);
        // A message of nothing, of whatever type, says nothing: some clients always send one.
        let config = update.role.as_ref().and_then(|role| role.config.as_ref());
        if config.is_some_and(|config| !config.value.is_empty()) {
            return refuse(
                Code::InvalidArgument,
                "roles are configured by `@p4runtime_role` in the program: leave `role.config` unset or empty".into(),
            );
        }
        if role.len() > MOST_NAME {
            let why = format!("the role's name has {} bytes, and the limit is {MOST_NAME}", role.len());
            return refuse(Code::InvalidArgument, why);
        }
        match self.streams.get(&stream) {
            Some(known) if known.role != role => {
                let why =
                    format!("this stream has the role `{}`: open another stream for `{role}`", known.role);
                return refuse(Code::FailedPrecondition, why);
            }
            _ => {}
        }
        let taken = election.is_some()
            && self.streams.iter().any(|(id, m)| *id != stream && m.role == role && m.election == election);
        if taken {
            let why = "another controller of this role has this election id".to_string();
            return refuse(Code::InvalidArgument, why);
        }
        let ended = match self.streams.contains_key(&stream) {
            true => vec![],
            false => self.make_room(role, election, named)?,
        };
        self.streams.insert(stream, Member { role: role.to_string(), election });
        self.steps += 1;
        let state = self.roles.entry(role.to_string()).or_default();
        state.used = self.steps;
        let was_primary = state.primary == Some(stream);
        let all = if election.is_some_and(|id| state.highest.is_none_or(|highest| id >= highest)) {
            state.highest = election;
            state.primary = Some(stream);
            true
        } else {
            if was_primary {
                state.primary = None;
            }
            was_primary
        };
        Ok(Arbitrated { notices: self.notices(device, role, (!all).then_some(stream)), ended })
    }

    /// Makes room for another stream of a role. Returns the streams that were ended for it.
    fn make_room(
        &mut self,
        role: &str,
        election: Option<u128>,
        named: impl Fn(&str) -> bool,
    ) -> Result<Vec<StreamId>, Status> {
        let refuse = |why: String| Err(Status::new(Code::ResourceExhausted, why));
        if !self.roles.contains_key(role) && self.roles.len() >= MOST_ROLES {
            let is_in_use = |role: &str| self.streams.values().any(|member| member.role == role);
            let is_ours = |role: &str| role.is_empty() || named(role);
            let others = self.roles.iter().filter(|(other, _)| !other.is_empty());
            let unused = others.clone().filter(|(other, _)| !is_in_use(other));
            // Roles that the program does not name go first, then those that have been unused for longest.
            let longest = |all: &mut dyn Iterator<Item = (&String, &RoleState)>| {
                all.min_by_key(|(other, state)| (is_ours(other), state.used)).map(|(other, _)| other.clone())
            };
            let gone = longest(&mut unused.into_iter()).or_else(|| {
                let mut unnamed = others.filter(|(other, _)| !is_ours(other));
                if is_ours(role) { longest(&mut unnamed) } else { None }
            });
            let Some(gone) = gone else {
                return refuse(format!(
                    "{MOST_ROLES} roles are in use, and the program does not name `{role}`"
                ));
            };
            let of_it = self.streams.iter().filter(|(_, member)| member.role == gone);
            let ended: Vec<StreamId> = of_it.map(|(id, _)| *id).collect();
            self.roles.remove(&gone);
            self.streams.retain(|id, _| !ended.contains(id));
            return Ok(ended);
        }
        let alike = self.streams.iter().filter(|(_, member)| member.role == role);
        if alike.clone().count() < MOST_STREAMS {
            return Ok(vec![]);
        }
        let primary = self.roles.get(role).and_then(|state| state.primary);
        let backups = alike.filter(|(id, _)| Some(**id) != primary);
        // Of equal election ids the newest stream goes.
        let lowest = backups.min_by_key(|(id, member)| (member.election, std::cmp::Reverse(**id)));
        match lowest.map(|(id, member)| (*id, member.election)) {
            Some((id, known)) if known < election => {
                self.streams.remove(&id);
                Ok(vec![id])
            }
            _ => refuse(format!("role `{role}` has too many streams, and none has a lower election id")),
        }
    }

    /// A stream has ended.
    pub(crate) fn close(&mut self, stream: StreamId, device: u64) -> Notices {
        let Some(member) = self.streams.remove(&stream) else { return vec![] };
        self.steps += 1;
        if let Some(state) = self.roles.get_mut(&member.role) {
            state.used = self.steps;
        }
        match self.roles.get_mut(&member.role) {
            Some(state) if state.primary == Some(stream) => {
                state.primary = None;
                self.notices(device, &member.role, None)
            }
            _ => vec![],
        }
    }

    /// Notices for the controllers of a role, or only for one of them. The primary's is last.
    fn notices(&self, device: u64, role: &str, only: Option<StreamId>) -> Notices {
        let Some(state) = self.roles.get(role) else { return vec![] };
        let mut streams: Vec<StreamId> = self
            .streams
            .iter()
            .filter(|(id, member)| member.role == role && only.is_none_or(|only| only == **id))
            .map(|(id, _)| *id)
            .collect();
        streams.sort_by_key(|id| (Some(*id) == state.primary, *id));
        streams.into_iter().map(|id| (id, notice(device, role, state, id))).collect()
    }

    /// True if a stream is its role's primary.
    pub(crate) fn is_primary(&self, stream: StreamId) -> bool {
        let role = self.streams.get(&stream).and_then(|member| self.roles.get(&member.role));
        role.is_some_and(|state| state.primary == Some(stream))
    }

    /// Ends streams at an operator's request; an empty list ends all. Returns the ended streams, and notices for the
    /// others. The election ids of ended streams are forgotten, so that the highest remaining one is the primary's.
    pub(crate) fn end(&mut self, streams: &[StreamId], device: u64) -> (Vec<StreamId>, Notices) {
        let ended: Vec<StreamId> =
            self.streams.keys().copied().filter(|id| streams.is_empty() || streams.contains(id)).collect();
        let roles: BTreeSet<String> =
            ended.iter().filter_map(|id| self.streams.remove(id)).map(|member| member.role).collect();
        let mut notices = vec![];
        for role in roles {
            let left = self.streams.iter().filter(|(_, member)| member.role == role);
            let best = left.filter_map(|(id, member)| Some((member.election?, *id))).max();
            if let Some(state) = self.roles.get_mut(&role) {
                state.highest = best.map(|(election, _)| election);
                state.primary = best.map(|(_, id)| id);
            }
            notices.extend(self.notices(device, &role, None));
        }
        (ended, notices)
    }

    /// Streams that have sent an arbitration update: stream, role, election id, and whether it is the primary's.
    pub(crate) fn clients(&self) -> impl Iterator<Item = (StreamId, &str, Option<u128>, bool)> {
        self.streams
            .iter()
            .map(|(id, member)| (*id, member.role.as_str(), member.election, self.is_primary(*id)))
    }

    /// The role of a stream that has one.
    pub(crate) fn role_of(&self, stream: StreamId) -> Option<&str> {
        self.streams.get(&stream).map(|member| member.role.as_str())
    }

    /// The primaries of all roles.
    pub(crate) fn primaries(&self) -> impl Iterator<Item = (&str, StreamId)> {
        self.roles.iter().filter_map(|(role, state)| Some((role.as_str(), state.primary?)))
    }

    /// Refuses a request that is not the primary's.
    pub(crate) fn authorize(&self, role: &str, election: Option<&Uint128>) -> Result<(), Status> {
        let Some(state) = self.roles.get(role) else {
            if role.is_empty() {
                return Err(Status::new(
                    Code::PermissionDenied,
                    "there is no primary controller: open a stream and send an arbitration update first",
                ));
            }
            return Err(Status::new(Code::NotFound, format!("there is no role `{role}`")));
        };
        let primary = state.primary.and_then(|id| self.streams.get(&id)).and_then(|member| member.election);
        match (primary, election.copied().map(u128::from)) {
            (Some(primary), Some(given)) if primary == given => Ok(()),
            (Some(_), _) => Err(Status::new(Code::PermissionDenied, "the election id is not the primary's")),
            (None, _) => Err(Status::new(Code::PermissionDenied, "there is no primary controller now")),
        }
    }
}

fn notice(device: u64, role: &str, state: &RoleState, to: StreamId) -> StreamMessageResponse {
    let (code, message) = match state.primary {
        Some(primary) if primary == to => (Code::Ok, "this controller is the primary"),
        Some(_) => (Code::AlreadyExists, "this controller is a backup"),
        None => (Code::NotFound, "there is no primary"),
    };
    let update = MasterArbitrationUpdate {
        device_id: device,
        role: (!role.is_empty()).then(|| Role { name: role.to_string(), ..Role::default() }),
        election_id: state.highest.map(Uint128::from),
        status: Some(rpc::Status { code: code as i32, message: message.to_string(), details: vec![] }),
    };
    StreamMessageResponse { update: Some(stream_message_response::Update::Arbitration(update)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(all: &mut Arbitration, stream: u64, role: &str, election: u128) -> Result<Arbitrated, Status> {
        let role = (!role.is_empty()).then(|| Role { name: role.to_string(), ..Role::default() });
        let update =
            MasterArbitrationUpdate { role, election_id: Some(election.into()), ..Default::default() };
        all.update(StreamId(stream), 1, &update, |role| role == "ours")
    }

    #[test]
    fn backups_make_room_for_higher_election_ids() {
        let mut all = Arbitration::default();
        for stream in 0..MOST_STREAMS as u64 {
            says(&mut all, stream, "", 100 + u128::from(stream)).unwrap();
        }
        // The one with the highest id is the primary, and stays.
        assert_eq!(says(&mut all, 1000, "", 5).unwrap_err().code, Code::ResourceExhausted);
        assert_eq!(says(&mut all, 1001, "", 1000).unwrap().ended, [StreamId(0)]);
        assert!(all.is_primary(StreamId(1001)));
        assert_eq!(says(&mut all, 1002, "", 500).unwrap().ended, [StreamId(1)]);
        assert!(all.is_primary(StreamId(1001)));
    }

    #[test]
    fn roles_that_nobody_has_are_forgotten() {
        let mut all = Arbitration::default();
        for stream in 0..10 * MOST_ROLES as u64 {
            says(&mut all, stream, &format!("role {stream}"), 1).unwrap();
            all.close(StreamId(stream), 1);
        }
        assert!(all.roles.len() <= MOST_ROLES);
    }

    #[test]
    fn roles_in_use_make_room_for_those_of_the_program() {
        let mut all = Arbitration::default();
        for stream in 0..MOST_ROLES as u64 {
            says(&mut all, stream, &format!("role {stream}"), 1).unwrap();
        }
        assert_eq!(says(&mut all, 1000, "another", 1).unwrap_err().code, Code::ResourceExhausted);
        assert_eq!(says(&mut all, 1001, "ours", 1).unwrap().ended, [StreamId(0)]);
        assert_eq!(says(&mut all, 1002, "", 1).unwrap().ended, [StreamId(1)]);
        assert!(all.is_primary(StreamId(1001)) && all.is_primary(StreamId(1002)));
        assert_eq!(says(&mut all, 1003, &"x".repeat(257), 1).unwrap_err().code, Code::InvalidArgument);
    }
}
