//! The RPC `Read`, in slices: tables have a million entries, objects have millions of cells, and frames pass between two slices.
//!
//! The answer has the state at the beginning of the read (P4Runtime 1.5, "Parallelism of Read and Write Requests"). Writes may run
//! between two slices if the read [makes way](crate::Server::make_way) for them; before other requests that change something, it must end.

use crate::configured::Configured;
use crate::outcomes::Outcomes;
use crate::pieces::Pieces;
use crate::status::Status;
use crate::target::Target;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, ReadRequest};
use p4runtime_proto::to_binary;
use p4runtime_store::{Cursor, Result, Store, Touched, Wanted, canonical, looks_through};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// Cost of a query that finds nothing, in cells.
const QUERY: u64 = 8;

/// Limit on the entities that the distinct queries of one read may search, in addition to [`TIMES`] the existing ones: no other client is served
/// before the read has ended.
const MOST_SEARCHED: u64 = 1 << 16;

/// Number of times that a read may search everything: entries, their counters, their meters, and once more.
const TIMES: u64 = 4;

/// Minimum cost of a search, in entities.
const SEARCH: u64 = 256;

/// Result of a read, and its status.
pub type Read = (Pieces, std::result::Result<(), Status>);

/// A read that has begun.
pub struct Reading {
    request: ReadRequest,
    /// The next query to begin with.
    next: usize,
    /// The queries that have begun, with their numbers in `known`; the first one is being answered.
    begun: VecDeque<(usize, Entity, Cursor)>,
    pub(crate) wanted: Wanted,
    known: Known,
    /// For each query that has begun or ended, the number of its outcome, or the reason why it has none.
    outcomes: Vec<Result<usize>>,
    found: Pieces,
    /// Number of entities and cells that were read before their turn.
    before: u64,
    /// Reason why the read cannot continue.
    failed: Option<Status>,
}

/// Limit on queries that have begun and not ended.
const MOST_BEGUN: usize = 1024;

/// Limit on entities and cells that one read reads before their turn: later writes wait until it has ended.
pub(crate) const MOST_BEFORE: u64 = 1 << 14;

/// Limit on comparisons of the entities that a write changes with those that a read has not read yet.
const MOST_COMPARED: usize = 1 << 20;

impl Reading {
    pub(crate) fn new(request: ReadRequest, wanted: Wanted) -> Reading {
        Reading {
            request,
            next: 0,
            begun: VecDeque::new(),
            wanted,
            known: Known::default(),
            outcomes: vec![],
            found: Pieces::new(),
            before: 0,
            failed: None,
        }
    }

    /// Reads up to `most` cells, or an equal amount of work. Returns the result when all is read.
    ///
    /// Answers duplicate queries once. Fails without an answer if there are too many queries or too much is found.
    pub(crate) fn go_on<T: Target>(&mut self, of: &Configured<T>, most: u64) -> Option<Read> {
        match self.try_go_on(of, most) {
            Ok(false) => None,
            Ok(true) => {
                let mut outcomes = Outcomes::of("queries");
                for outcome in self.outcomes.drain(..) {
                    outcomes.note(outcome.and_then(|number| self.known.outcome(number)));
                }
                Some((std::mem::take(&mut self.found), outcomes.status()))
            }
            Err(status) => Some((Pieces::new(), Err(status))),
        }
    }

    fn try_go_on<T: Target>(&mut self, of: &Configured<T>, most: u64) -> std::result::Result<bool, Status> {
        if let Some(status) = self.failed.take() {
            return Err(status);
        }
        let mut left = most;
        loop {
            while self.next < self.request.entities.len() && self.begun.len() < MOST_BEGUN {
                if left == 0 {
                    return Ok(false);
                }
                left = left.saturating_sub(QUERY);
                self.begin(of)?;
            }
            let Some((number, query, mut cursor)) = self.begun.pop_front() else { return Ok(true) };
            let read =
                |give: &mut dyn FnMut(Entity)| of.store.read_some(&mut cursor, &mut left, &of.target, give);
            let ended = self.collect(of, read)?;
            if ended.is_ok() && !cursor.is_over() {
                // The next slice goes on here: answers keep the order of the queries.
                self.begun.push_front((number, query, cursor));
                return Ok(false);
            }
            self.known.end(number, ended);
        }
    }

    /// Begins with the next query.
    fn begin<T: Target>(&mut self, of: &Configured<T>) -> std::result::Result<(), Status> {
        let Some(query) = self.request.entities.get(self.next) else { return Ok(()) };
        self.next += 1;
        let query = match of.names.lower_query(query) {
            Ok(Some(query)) => query,
            // No entity has an unknown string.
            Ok(None) => {
                let nothing = self.known.nothing();
                self.outcomes.push(Ok(nothing));
                return Ok(());
            }
            Err(fault) => {
                self.outcomes.push(Err(fault));
                return Ok(());
            }
        };
        let (number, is_new) = self.known.number(&query, &of.store)?;
        self.outcomes.push(Ok(number));
        if is_new {
            match of.store.find(&query, self.wanted) {
                Ok(cursor) => self.begun.push_back((number, query, cursor)),
                Err(fault) => self.known.end(number, Err(fault)),
            }
        }
        Ok(())
    }

    /// True if the read can [go before](Reading::go_before) a write of these entities: it has not too many of them to read, and all
    /// queries have begun.
    pub(crate) fn can_go_before(&self, touched: &[Touched]) -> bool {
        let parts: usize = self.begun.iter().map(|(_, _, cursor)| cursor.parts()).sum();
        if self.next < self.request.entities.len() || touched.len().saturating_mul(parts) > MOST_COMPARED {
            return false;
        }
        let is_wanted = |touched: &&Touched| self.begun.iter().any(|(_, _, cursor)| cursor.wants(touched));
        self.before + touched.iter().filter(is_wanted).map(Touched::count).sum::<u64>() <= MOST_BEFORE
    }

    /// Reads the entities that a write is about to change, if they have not been read yet.
    pub(crate) fn go_before<T: Target>(&mut self, of: &Configured<T>, touched: &[Touched]) {
        let mut begun = std::mem::take(&mut self.begun);
        for touched in touched {
            let mut is_taken = false;
            for (number, _, cursor) in &mut begun {
                let read = |give: &mut dyn FnMut(Entity)| {
                    let read = of.store.read_before(cursor, touched, &of.target, give);
                    read.map(|taken| is_taken |= taken)
                };
                match self.collect(of, read) {
                    Ok(Ok(())) => {}
                    Ok(Err(fault)) => self.known.end(*number, Err(fault)),
                    Err(status) => self.failed = Some(status),
                }
            }
            if is_taken {
                self.before += touched.count();
            }
        }
        self.begun = begun;
    }

    /// Adds the entities of a read that the sender may see.
    fn collect<T: Target>(
        &mut self,
        of: &Configured<T>,
        read: impl FnOnce(&mut dyn FnMut(Entity)) -> Result<()>,
    ) -> std::result::Result<Result<()>, Status> {
        let Reading { request, found, .. } = self;
        let mut fits = true;
        let ended = read(&mut |mut entity| {
            if of.permit(&request.role, entity.entity.as_ref()).is_ok() {
                of.names.raise(&mut entity);
                fits = fits && found.push(&entity);
            }
        });
        match fits {
            true => Ok(ended),
            false => {
                let why = "the answer is too large: read one table or object at a time";
                Err(Status::new(Code::ResourceExhausted, why))
            }
        }
    }
}

/// The distinct queries of a read, and their outcomes.
#[derive(Default)]
pub(crate) struct Known {
    numbers: BTreeMap<Vec<u8>, usize>,
    outcomes: Vec<Result<()>>,
    /// Number of entities that the queries have searched.
    searched: u64,
}

impl Known {
    /// The number of a query's outcome, and whether it is the first of its kind. Fails if the queries search too much.
    pub(crate) fn number(
        &mut self,
        query: &Entity,
        store: &Store,
    ) -> std::result::Result<(usize, bool), Status> {
        let next = self.outcomes.len();
        match self.numbers.entry(to_binary(&canonical(query))) {
            Entry::Occupied(known) => return Ok((*known.get(), false)),
            Entry::Vacant(new) => new.insert(next),
        };
        self.outcomes.push(Ok(()));
        if looks_through(query) {
            self.searched += store.searched(query).max(SEARCH);
        }
        let most = MOST_SEARCHED + TIMES * store.entities();
        if self.searched > most {
            let why = format!(
                "the different queries search more than {most} entities: look entities up by their keys, or use several requests"
            );
            return Err(Status::new(Code::ResourceExhausted, why));
        }
        Ok((next, true))
    }

    /// The number of an outcome without a query.
    fn nothing(&mut self) -> usize {
        self.outcomes.push(Ok(()));
        self.outcomes.len() - 1
    }

    /// Records the end of a query; only the first error of an outcome is kept.
    fn end(&mut self, number: usize, ended: Result<()>) {
        if let Some(outcome) = self.outcomes.get_mut(number)
            && outcome.is_ok()
        {
            *outcome = ended;
        }
    }

    fn outcome(&self, number: usize) -> Result<()> {
        self.outcomes.get(number).map_or(Ok(()), Clone::clone)
    }
}
