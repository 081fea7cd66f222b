//! The RPC `Read`, in slices: tables have a million entries, objects have millions of cells, and frames pass between two slices.
//!
//! The caller runs no other request between the slices, so that control-plane state is read as of one moment.

use crate::config::Configured;
use crate::outcomes::Outcomes;
use crate::pieces::Pieces;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::{Builder, Target};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{Entity, ReadRequest};
use p4runtime_proto::to_binary;
use p4runtime_store::{Cursor, Result, Wanted, canonical, looks_through};
use std::collections::BTreeMap;

/// Cells that are read at a time, or an equal amount of other work.
const SLICE: u64 = 8192;

/// A query that finds nothing takes as long as so many cells.
const QUERY: u64 = 8;

/// Limit on the different queries of one read that search all entities of a kind.
const MOST_LOOKS: usize = 256;

/// Result of a read, and its status.
pub type Read = (Pieces, std::result::Result<(), Status>);

/// A read that has begun.
pub struct Reading {
    request: ReadRequest,
    /// The next query.
    next: usize,
    /// The query that is being answered.
    cursor: Option<(Entity, Cursor)>,
    wanted: Wanted,
    known: Known,
    outcomes: Outcomes,
    found: Pieces,
}

impl Reading {
    fn new(request: ReadRequest, wanted: Wanted) -> Reading {
        let (outcomes, found) = (Outcomes::of("queries"), Pieces::new());
        Reading { request, next: 0, cursor: None, wanted, known: Known::default(), outcomes, found }
    }

    /// Reads up to `most` cells, or an equal amount of work. Returns the result when all is read.
    ///
    /// Answers duplicate queries once. Fails without an answer if there are too many queries or too much is found.
    fn go_on<T: Target>(&mut self, of: &Configured<T>, most: u64) -> Option<Read> {
        match self.try_go_on(of, most) {
            Ok(false) => None,
            Ok(true) => Some((std::mem::take(&mut self.found), std::mem::take(&mut self.outcomes).status())),
            Err(status) => Some((Pieces::new(), Err(status))),
        }
    }

    fn try_go_on<T: Target>(&mut self, of: &Configured<T>, most: u64) -> std::result::Result<bool, Status> {
        let mut left = most;
        loop {
            if let Some((query, mut cursor)) = self.cursor.take() {
                let read = |give: &mut dyn FnMut(Entity)| {
                    of.store.read_some(&mut cursor, &mut left, &of.target, give)
                };
                let ended = self.collect(of, read)?;
                if ended.is_ok() && !cursor.is_over() {
                    self.cursor = Some((query, cursor));
                    return Ok(false);
                }
                self.end(&query, ended);
            }
            if self.next == self.request.entities.len() {
                return Ok(true);
            }
            if left == 0 {
                return Ok(false);
            }
            left = left.saturating_sub(QUERY);
            self.begin(of)?;
        }
    }

    /// Begins with the next query.
    fn begin<T: Target>(&mut self, of: &Configured<T>) -> std::result::Result<(), Status> {
        let Some(query) = self.request.entities.get(self.next) else { return Ok(()) };
        self.next += 1;
        let query = match of.names.lower_query(query) {
            Ok(Some(query)) => query,
            nothing => {
                self.outcomes.note(nothing.map(drop));
                return Ok(());
            }
        };
        if let Some(ended) = self.known.ended(&query)? {
            self.outcomes.note(ended);
            return Ok(());
        }
        match of.store.find(&query, self.wanted) {
            Ok(cursor) => self.cursor = Some((query, cursor)),
            Err(fault) => self.end(&query, Err(fault)),
        }
        Ok(())
    }

    /// A query has been answered.
    fn end(&mut self, query: &Entity, ended: Result<()>) {
        self.known.note(query, &ended);
        self.outcomes.note(ended);
    }

    /// Adds entities of a read, as far as the sender may see them.
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

    /// [`read`](Server::read) in slices, if it is long: without an answer, [`go_on_reading`](Server::go_on_reading) goes on with it.
    pub fn begin_read(&mut self, request: ReadRequest) -> Option<Read> {
        let is_there = self.saved.is_some() || self.running.is_some();
        self.begin_reading(request, Wanted::All, is_there)
    }

    /// [`read_running`](Server::read_running) in slices.
    pub fn begin_read_running(&mut self, request: ReadRequest) -> Option<Read> {
        let is_there = self.running.is_some();
        self.begin_reading(request, Wanted::Written, is_there)
    }

    fn begin_reading(&mut self, request: ReadRequest, wanted: Wanted, is_there: bool) -> Option<Read> {
        if let Err(status) = self.may_read(&request, is_there) {
            return Some((Pieces::new(), Err(status)));
        }
        self.reading = Some(Reading::new(request, wanted));
        self.go_on_reading()
    }

    /// [`read`](Server::read) in slices, for somebody who has others between these: [`read_on`](Server::read_on) does them.
    pub fn reading(&self, request: ReadRequest) -> std::result::Result<Reading, Status> {
        self.may_read(&request, self.saved.is_some() || self.running.is_some())?;
        Ok(Reading::new(request, Wanted::All))
    }

    /// Reads the next slice. When that was the last one, the answer comes back.
    pub fn read_on(&self, reading: &mut Reading) -> Option<Read> {
        let of = match reading.wanted {
            Wanted::All => self.saved.as_ref().or(self.running.as_ref()),
            Wanted::Written => self.running.as_ref(),
        };
        match of {
            Some(of) => reading.go_on(of, SLICE),
            None => Some((Pieces::new(), Err(no_program()))),
        }
    }

    fn may_read(&self, request: &ReadRequest, is_there: bool) -> std::result::Result<(), Status> {
        self.check_device(request.device_id)?;
        if is_there { Ok(()) } else { Err(no_program()) }
    }

    /// True while a read is done in slices. Only frames may come between these.
    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }

    /// Reads the next slice. When that was the last one, the answer comes back.
    pub fn go_on_reading(&mut self) -> Option<Read> {
        let mut reading = self.reading.take()?;
        let ended = self.read_on(&mut reading);
        if ended.is_none() {
            self.reading = Some(reading);
        }
        ended
    }
}

/// The queries of a read that have been answered, with their outcomes.
#[derive(Default)]
pub(crate) struct Known {
    ended: BTreeMap<Vec<u8>, Result<()>>,
    /// How many of them searched all entities of a kind.
    looks: usize,
}

impl Known {
    /// The outcome of an equal query, if there was one. Fails if there are too many expensive queries.
    pub(crate) fn ended(&mut self, query: &Entity) -> std::result::Result<Option<Result<()>>, Status> {
        if let Some(ended) = self.ended.get(&to_binary(&canonical(query))) {
            return Ok(Some(ended.clone()));
        }
        self.looks += usize::from(looks_through(query));
        if self.looks > MOST_LOOKS {
            let why = format!(
                "more than {MOST_LOOKS} different queries search all entities of a kind: look entities up by their keys, or \
                 use several requests"
            );
            return Err(Status::new(Code::ResourceExhausted, why));
        }
        Ok(None)
    }

    pub(crate) fn note(&mut self, query: &Entity, ended: &Result<()>) {
        self.ended.insert(to_binary(&canonical(query)), ended.clone());
    }
}
