//! The RPC `Read`, in slices: tables have a million entries, objects have millions of cells, and frames pass between two slices.
//!
//! The answer has the state at the beginning of the read (P4Runtime 1.5, "Parallelism of Read and Write Requests"). Writes may run
//! between two slices if the read [makes way](Server::make_way) for them; before other requests that change something, it must end.

use crate::config::Configured;
use crate::outcomes::Outcomes;
use crate::pieces::Pieces;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::{Builder, Target};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, ReadRequest, Update, WriteRequest};
use p4runtime_proto::to_binary;
use p4runtime_store::{Cursor, Result, Store, Touched, Wanted, canonical, looks_through};
use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

/// Cells in a slice, or an equal amount of other work.
const SLICE: u64 = 8192;

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
    wanted: Wanted,
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
const MOST_BEFORE: u64 = 1 << 14;

/// Limit on comparisons of the entities that a write changes with those that a read has not read yet.
const MOST_COMPARED: usize = 1 << 20;

impl Reading {
    fn new(request: ReadRequest, wanted: Wanted) -> Reading {
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
    fn go_on<T: Target>(&mut self, of: &Configured<T>, most: u64) -> Option<Read> {
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
    fn can_go_before(&self, touched: &[Touched]) -> bool {
        let parts: usize = self.begun.iter().map(|(_, _, cursor)| cursor.parts()).sum();
        if self.next < self.request.entities.len() || touched.len().saturating_mul(parts) > MOST_COMPARED {
            return false;
        }
        let is_wanted = |touched: &&Touched| self.begun.iter().any(|(_, _, cursor)| cursor.wants(touched));
        self.before + touched.iter().filter(is_wanted).map(Touched::count).sum::<u64>() <= MOST_BEFORE
    }

    /// Reads the entities that a write is about to change, if they have not been read yet.
    fn go_before<T: Target>(&mut self, of: &Configured<T>, touched: &[Touched]) {
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

impl<B: Builder> Server<B> {
    /// The RPC `Read`, all at once.
    pub fn read(&self, request: ReadRequest) -> Read {
        let configured = self.saved.as_ref().or(self.running.as_ref());
        match self.may_read(&request, configured.is_some()) {
            Ok(()) => self.finish(configured, Reading::new(request, Wanted::All)),
            Err(status) => (Pieces::new(), Err(status)),
        }
    }

    /// Reads the running program, even if another is saved, in one piece; cells that are zero are left out.
    pub fn read_running(&self, request: ReadRequest) -> Read {
        match self.may_read(&request, self.running.is_some()) {
            Ok(()) => self.finish(self.running.as_ref(), Reading::new(request, Wanted::Written)),
            Err(status) => (Pieces::new(), Err(status)),
        }
    }

    fn finish(&self, of: Option<&Configured<B::Target>>, mut reading: Reading) -> Read {
        let ended = of.and_then(|of| reading.go_on(of, u64::MAX));
        ended.unwrap_or_else(|| (Pieces::new(), Err(no_program())))
    }

    /// [`read_running`](Server::read_running) in slices, if it is long: without an answer, [`go_on_reading`](Server::go_on_reading) continues
    /// it.
    pub fn begin_read_running(&mut self, request: ReadRequest) -> Option<Read> {
        match self.reading_running(request) {
            Ok(reading) => self.reading = Some(reading),
            Err(status) => return Some((Pieces::new(), Err(status))),
        }
        self.go_on_reading()
    }

    /// [`read`](Server::read) in slices, for a caller that executes other requests between them: [`read_on`](Server::read_on) executes a slice.
    pub fn reading(&self, request: ReadRequest) -> std::result::Result<Reading, Status> {
        self.may_read(&request, self.saved.is_some() || self.running.is_some())?;
        Ok(Reading::new(request, Wanted::All))
    }

    /// [`read_running`](Server::read_running) in slices, likewise.
    pub fn reading_running(&self, request: ReadRequest) -> std::result::Result<Reading, Status> {
        self.may_read(&request, self.running.is_some())?;
        Ok(Reading::new(request, Wanted::Written))
    }

    /// Before a write, makes reads in progress read the entities that the write changes. False if the write must wait
    /// until the reads have ended: it changes too much, or not all queries of a read have begun.
    pub fn make_way<'r>(
        &self,
        readings: impl Iterator<Item = &'r mut Reading>,
        write: &WriteRequest,
    ) -> bool {
        let mut readings: Vec<_> = readings.filter(|reading| self.is_written(reading.wanted)).collect();
        if readings.is_empty() {
            return true;
        }
        // Finding more would take too long.
        if write.updates.len() as u64 > MOST_BEFORE {
            return false;
        }
        let touched: Vec<_> =
            write.updates.iter().filter_map(|update| self.touched_by_strings(update)).collect();
        if !readings.iter().all(|reading| reading.can_go_before(&touched)) {
            return false;
        }
        readings.iter_mut().for_each(|reading| self.go_before(reading, &touched));
        true
    }

    /// [`make_way`](Server::make_way) of the read in progress in this server, for updates with numbers for strings.
    pub fn make_way_inside(&mut self, updates: &[Update]) -> bool {
        let Some(mut reading) = self.reading.take() else { return true };
        let touched: Vec<_> = updates.iter().filter_map(|update| self.touched(update)).collect();
        let makes_way = self.can_go_before(&reading, &touched);
        if makes_way {
            self.go_before(&mut reading, &touched);
        }
        self.reading = Some(reading);
        makes_way
    }

    /// First half of [`make_way`](Server::make_way) for one read: true if the read can. It is separate because all reads must be able to.
    pub fn can_go_before(&self, reading: &Reading, touched: &[Touched]) -> bool {
        !self.is_written(reading.wanted) || reading.can_go_before(touched)
    }

    /// Second half of [`make_way`](Server::make_way) for one read: the read reads the entities that the write changes.
    pub fn go_before(&self, reading: &mut Reading, touched: &[Touched]) {
        if let (true, Some(of)) = (self.is_written(reading.wanted), self.of(reading.wanted)) {
            reading.go_before(of, touched);
        }
    }

    /// The entity that an update in numbers can change, if there is one.
    pub fn touched(&self, update: &Update) -> Option<Touched> {
        self.store()?.touched(update.entity.as_ref()?)
    }

    /// The same for an update with strings. No entity has an unknown string.
    fn touched_by_strings(&self, update: &Update) -> Option<Touched> {
        let Configured { names, store, .. } = self.of(Wanted::All)?;
        match names.is_empty() {
            true => store.touched(update.entity.as_ref()?),
            false => store.touched(&names.lower_query(&store.query(update)?).ok()??),
        }
    }

    /// True if writes go to the program that is read: to the saved one, if there is one.
    fn is_written(&self, wanted: Wanted) -> bool {
        wanted == Wanted::All || self.saved.is_none()
    }

    fn of(&self, wanted: Wanted) -> Option<&Configured<B::Target>> {
        match wanted {
            Wanted::All => self.saved.as_ref().or(self.running.as_ref()),
            Wanted::Written => self.running.as_ref(),
        }
    }

    /// Reads the next slice. Returns the answer after the last one.
    pub fn read_on(&self, reading: &mut Reading) -> Option<Read> {
        match self.of(reading.wanted) {
            Some(of) => reading.go_on(of, SLICE),
            None => Some((Pieces::new(), Err(no_program()))),
        }
    }

    fn may_read(&self, request: &ReadRequest, is_there: bool) -> std::result::Result<(), Status> {
        self.check_device(request.device_id)?;
        if is_there { Ok(()) } else { Err(no_program()) }
    }

    /// True while a read runs in slices. Only frames may pass between them.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Reads the next slice. Returns the answer after the last one.
    pub fn go_on_reading(&mut self) -> Option<Read> {
        let mut reading = self.reading.take()?;
        let ended = self.read_on(&mut reading);
        if ended.is_none() {
            self.reading = Some(reading);
        }
        ended
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
