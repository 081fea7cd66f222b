//! A group of programs that reduce together, call after call, through the switches of a job.
//!
//! ```text
//! rank 0 (the root) ── TCP: calls, keys of hashes, results ── rank 1, 2, ...
//!    └── UDP: AGG through switches ────────────────────────────┘
//! ```
//!
//! All programs make the same calls in the same order. A call goes through these steps: each rank says what it calls and what it has;
//! the root compares the calls and decides the form of values and the number of rounds; the other ranks send their pairs; the
//! root folds its own into the result, and sends it to all. After an error, the group is over for all of them.

mod decide;
mod form;
mod link;
mod member;
mod plan;
mod root;
mod stock;

use crate::wire::{Loss, Wire};
use crate::worker::{MOST_WAIT, waits};
use aggregate::Op;
use link::{Call, Message};
use member::Member;
pub use plan::{GroupPlan, version};
use root::Root;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use stock::Combined;

/// Time between two looks at what is not a packet.
const LOOKS: Duration = Duration::from_millis(20);

/// The root in messages.
const ROOT: &str = "rank 0";

/// Asked from time to time while a call waits; false ends it.
pub type Pulse<'p> = &'p mut dyn FnMut() -> bool;

/// Why a call has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupError {
    /// In a few words.
    pub title: String,
    /// The remedy.
    pub help: String,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.title, self.help)
    }
}

impl std::error::Error for GroupError {}

impl GroupError {
    fn message(&self) -> Message {
        Message::Failed { title: self.title.clone(), help: self.help.clone() }
    }
}

fn problem(title: impl Into<String>, help: impl Into<String>) -> GroupError {
    GroupError { title: title.into(), help: help.into() }
}

fn interrupted() -> GroupError {
    problem("the call was interrupted", "start the group again")
}

/// Values of one type.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Values<'v> {
    U32(&'v [u32]),
    I32(&'v [i32]),
    U64(&'v [u64]),
    I64(&'v [i64]),
}

impl Values<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::U32(values) => values.len(),
            Values::I32(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::I64(values) => values.len(),
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, at: usize) -> i128 {
        match self {
            Values::U32(values) => values[at].into(),
            Values::I32(values) => values[at].into(),
            Values::U64(values) => values[at].into(),
            Values::I64(values) => values[at].into(),
        }
    }

    fn dtype(&self) -> &'static str {
        match self {
            Values::U32(_) => "u32",
            Values::I32(_) => "i32",
            Values::U64(_) => "u64",
            Values::I64(_) => "i64",
        }
    }

    /// Signed ones as the bits that they are.
    fn unsigned(&self) -> Vec<u64> {
        match self {
            Values::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
            Values::I32(values) => values.iter().map(|value| u64::from(*value as u32)).collect(),
            Values::U64(values) => values.to_vec(),
            Values::I64(values) => values.iter().map(|value| *value as u64).collect(),
        }
    }
}

/// Keys of one sort.
#[derive(Clone, Debug)]
pub enum Keys<'k> {
    /// From 0 on.
    Numbers(Values<'k>),
    /// Bytes of any kind, up to 4,096 of them.
    Texts(Vec<&'k [u8]>),
}

impl Keys<'_> {
    fn len(&self) -> usize {
        match self {
            Keys::Numbers(numbers) => numbers.len(),
            Keys::Texts(texts) => texts.len(),
        }
    }
}

/// Distinct keys, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ReducedKeys {
    Numbers(Vec<u64>),
    Texts(Vec<Vec<u8>>),
}

/// The result of keys and values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduced {
    /// Each once.
    pub keys: ReducedKeys,
    /// The value of each key; if `is_signed`, the bits of an `i64`.
    pub values: Vec<u64>,
    /// True if values are signed.
    pub is_signed: bool,
}

/// Cost of a call on the root's link. The same at all programs.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Keys of all programs but the root, equal ones of a program combined.
    pub pairs_sent: u64,
    /// Pairs that reached the root; a value may travel as several.
    pub pairs_arrived: u64,
    /// Distinct keys.
    pub keys: u64,
    /// Bytes to the root, with the frames around packets.
    pub bytes_to: u64,
    /// Bytes from it, without results.
    pub bytes_from: u64,
    /// Rounds.
    pub rounds: u32,
    /// Restarts of switches that were noticed.
    pub restarts: u64,
    /// Why no switch has folded anything, if it is so.
    pub fallback: Option<String>,
}

/// The result of a call, as it is sent.
struct Answer {
    report: Report,
    is_signed: bool,
    body: Vec<u8>,
}

enum Place {
    Root(Box<Root>),
    Member(Box<Member>),
}

/// A program's membership.
pub struct Group {
    plan: GroupPlan,
    rank: usize,
    place: Place,
    patience: Duration,
    calls: u64,
    ended: Option<GroupError>,
}

/// A call, and what its rank gives to it.
#[derive(Clone, Copy)]
struct Work<'a> {
    plan: &'a GroupPlan,
    call: &'a Call,
    combined: &'a Combined,
    patience: Duration,
}

/// How a program joins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joining {
    /// From 0; rank 0 is beside the reducer.
    pub rank: usize,
    /// The address at which rank 0 listens.
    pub root: SocketAddr,
    /// Timeout of a program for another one, and for a switch.
    pub patience: Duration,
    /// Losses made on purpose at this program, in millionths.
    pub loss: u32,
    /// Least time before a packet is sent again, in milliseconds, at most [`MOST_WAIT`]; 5 if not set.
    pub wait: Option<u64>,
}

impl Group {
    /// Joins, and waits until all programs have.
    pub fn join(plan: GroupPlan, joining: &Joining, pulse: Pulse) -> Result<Group, GroupError> {
        plan.check()?;
        let Joining { rank, root, patience, loss, wait } = joining.clone();
        if let Some(wait) = wait.filter(|wait| !(1..=MOST_WAIT).contains(wait)) {
            let title = format!("`wait` is not {wait} milliseconds");
            return Err(problem(title, format!("use 1 to {MOST_WAIT}")));
        }
        let waits = waits(wait);
        let Some(attachment) = plan.members.get(rank) else {
            let title = format!("no rank {rank} in a group of {}", plan.members.len());
            return Err(problem(title, "ranks are numbered from 0"));
        };
        let wire =
            Wire::open(attachment.clone(), plan.port, Loss::new(loss, rank as u64)).map_err(|error| {
                let title = format!("rank {rank} cannot use {}: {error}", attachment.address());
                problem(title, "each rank runs on its own host, once")
            })?;
        let place = match rank {
            0 => Place::Root(Box::new(Root::listen(&plan, root, wire, (patience, waits), pulse)?)),
            _ => Place::Member(Box::new(Member::join(&plan, rank, root, wire, (patience, waits), pulse)?)),
        };
        Ok(Group { plan, rank, place, patience, calls: 0, ended: None })
    }

    /// The program's rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Programs of the group.
    pub fn size(&self) -> usize {
        self.plan.members.len()
    }

    /// Folds the values of equal keys of all programs; all get the result.
    pub fn reduce_by_key(
        &mut self,
        keys: &Keys,
        values: Values,
        op: Op,
        pulse: Pulse,
    ) -> Result<(Reduced, Report), GroupError> {
        let bits = values.unsigned_if(op);
        let combined = self.alive().and_then(|()| {
            Combined::of_keys(op, keys, &bits.as_ref().map_or(values, |bits| Values::U64(bits)))
        })?;
        let is_text = matches!(keys, Keys::Texts(_));
        let answer = self.call(op, None, values.dtype(), is_text, &combined, pulse)?;
        let reduced = read(&answer, is_text).ok_or_else(|| problem("the result has no end", "report it"))?;
        Ok((reduced, answer.report))
    }

    /// Folds arrays of the same length place by place; gives the result as bytes of the same type, little-endian.
    pub fn all_reduce(
        &mut self,
        values: Values,
        op: Op,
        pulse: Pulse,
    ) -> Result<(Vec<u8>, Report), GroupError> {
        let bits = values.unsigned_if(op);
        let combined = self
            .alive()
            .map(|()| Combined::of_array(&bits.as_ref().map_or(values, |bits| Values::U64(bits))))?;
        let answer = self.call(op, Some(values.len() as u64), values.dtype(), false, &combined, pulse)?;
        Ok((answer.body, answer.report))
    }

    fn alive(&self) -> Result<(), GroupError> {
        self.ended.clone().map_or(Ok(()), |GroupError { title, help }| {
            Err(problem(format!("the group has ended: {title}"), help))
        })
    }

    fn call(
        &mut self,
        op: Op,
        array: Option<u64>,
        dtype: &str,
        is_text: bool,
        combined: &Combined,
        pulse: Pulse,
    ) -> Result<Answer, GroupError> {
        self.calls += 1;
        let call = Call { number: self.calls, op: op.word().into(), array, dtype: dtype.into(), is_text };
        let work = Work { plan: &self.plan, call: &call, combined, patience: self.patience };
        let done = match &mut self.place {
            Place::Root(root) => root.call(work, pulse),
            Place::Member(member) => member.call(work, pulse),
        };
        if let Err(error) = &done {
            self.ended = Some(error.clone());
        }
        done
    }
}

impl Values<'_> {
    /// The bits of signed values for OR; none where values are used as they are.
    fn unsigned_if(&self, op: Op) -> Option<Vec<u64>> {
        (op == Op::Or).then(|| self.unsigned())
    }
}

fn read(answer: &Answer, is_text: bool) -> Option<Reduced> {
    let (mut numbers, mut texts, mut values) = (vec![], vec![], vec![]);
    let mut rest = answer.body.as_slice();
    while !rest.is_empty() {
        if is_text {
            let (length, more) = rest.split_first_chunk::<2>()?;
            let (text, more) = more.split_at_checked(u16::from_le_bytes(*length).into())?;
            texts.push(text.to_vec());
            rest = more;
        } else {
            let (number, more) = rest.split_first_chunk::<8>()?;
            numbers.push(u64::from_le_bytes(*number));
            rest = more;
        }
        let (value, more) = rest.split_first_chunk::<8>()?;
        values.push(u64::from_le_bytes(*value));
        rest = more;
    }
    let keys = if is_text { ReducedKeys::Texts(texts) } else { ReducedKeys::Numbers(numbers) };
    Some(Reduced { keys, values, is_signed: answer.is_signed })
}
