//! A batch of updates, in slices if it is long: 100,000 updates take long, and frames pass between two slices.
//!
//! Frames may see some of the updates, unless the request is `DATAPLANE_ATOMIC` (P4Runtime 1.5, section 12.2), which is one slice. The caller
//! executes no other request between the slices, so that reads see all of a write or nothing.

use crate::configured::Configured;
use crate::outcomes::Outcomes;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::{Builder, Target};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{Update, WriteRequest};
use p4runtime_store::{Change, Result};
use std::borrow::Cow;

/// Number of updates in a slice.
pub const SLICE: usize = 512;

/// An update with numbers for strings, or the reason why it has none.
type Lowered<'u> = Result<Cow<'u, Update>>;

/// The updates that have not been applied yet.
type Updates<'u> = Box<dyn ExactSizeIterator<Item = Lowered<'u>> + Send + 'u>;

/// A batch that has begun.
pub(crate) struct Batch<'u> {
    role: String,
    updates: Updates<'u>,
    /// True if a failed update ends the batch and undoes all updates.
    all_or_nothing: bool,
    outcomes: Outcomes,
    undo: Vec<Change>,
    /// The updates applied so far, if another program must apply them, too.
    done: Option<Vec<Update>>,
}

impl<'u> Batch<'u> {
    pub(crate) fn new(role: &str, updates: Updates<'u>, all_or_nothing: bool) -> Batch<'u> {
        let role = role.to_string();
        Batch { role, updates, all_or_nothing, outcomes: Outcomes::default(), undo: vec![], done: None }
    }

    fn is_over(&self) -> bool {
        self.all_or_nothing && self.outcomes.failed()
    }

    /// Applies up to `slice` updates, or undoes them. Returns the outcomes at the end.
    pub(crate) fn go_on<T: Target>(
        &mut self,
        on: &mut Configured<T>,
        slice: usize,
    ) -> Option<std::result::Result<Outcomes, Status>> {
        let mut left = slice;
        while left > 0
            && !self.is_over()
            && let Some(update) = self.updates.next()
        {
            let undo = self.all_or_nothing.then_some(&mut self.undo);
            let how = update.and_then(|update| {
                on.update(&self.role, &update, undo)?;
                self.done.iter_mut().for_each(|done| done.push(update.clone().into_owned()));
                Ok(())
            });
            self.outcomes.note(how);
            left -= 1;
        }
        if self.is_over() {
            self.done.iter_mut().for_each(Vec::clear);
            let last = self.undo.split_off(self.undo.len().saturating_sub(slice));
            if let Err(status) = on.roll_back(last) {
                return Some(Err(status));
            }
            if !self.undo.is_empty() {
                return None;
            }
            self.updates.by_ref().take(slice).for_each(|_| self.outcomes.not_tried());
            if self.updates.len() > 0 {
                return None;
            }
            self.outcomes.rolled_back();
        } else if self.updates.len() > 0 {
            return None;
        } else {
            // Dropping a change is faster than making it.
            self.undo.truncate(self.undo.len().saturating_sub(slice.saturating_mul(8)));
            if !self.undo.is_empty() {
                return None;
            }
        }
        Some(Ok(std::mem::take(&mut self.outcomes)))
    }

    /// Executes the whole batch.
    pub(crate) fn finish<T: Target>(
        mut self,
        on: &mut Configured<T>,
    ) -> std::result::Result<Outcomes, Status> {
        loop {
            if let Some(ended) = self.go_on(on, usize::MAX) {
                return ended;
            }
        }
    }
}

impl<B: Builder> Server<B> {
    /// The RPC `Write`, all at once.
    pub fn write(&mut self, request: WriteRequest) -> std::result::Result<(), Status> {
        self.may_write(&request)?;
        self.write_all(request)
    }

    /// [`write`](Server::write) in slices, if it is long: without an answer, [`go_on`](Server::go_on) continues it.
    pub fn begin_write(&mut self, request: WriteRequest) -> Option<std::result::Result<(), Status>> {
        match self.may_write(&request) {
            Ok(()) => self.begin(request),
            Err(status) => Some(Err(status)),
        }
    }

    /// [`begin_write`](Server::begin_write) by an operator, who needs no election id.
    pub fn begin_operation(&mut self, request: WriteRequest) -> Option<std::result::Result<(), Status>> {
        match self.may_operate(&request) {
            Ok(()) => self.begin(request),
            Err(status) => Some(Err(status)),
        }
    }

    fn begin(&mut self, request: WriteRequest) -> Option<std::result::Result<(), Status>> {
        if request.updates.len() <= SLICE || request.atomicity() == Atomicity::DataplaneAtomic {
            return Some(self.write_all(request));
        }
        match self.batch(request) {
            Ok(batch) => {
                self.writing = Some(batch);
                None
            }
            Err(status) => Some(Err(status)),
        }
    }

    fn write_all(&mut self, request: WriteRequest) -> std::result::Result<(), Status> {
        self.writing = Some(self.batch(request)?);
        self.go_on_by(usize::MAX).unwrap_or(Ok(()))
    }

    /// True while a write runs in slices. No other request may run between them.
    pub fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Applies the next slice. Returns the answer after the last one.
    pub fn go_on(&mut self) -> Option<std::result::Result<(), Status>> {
        self.go_on_by(SLICE)
    }

    fn go_on_by(&mut self, slice: usize) -> Option<std::result::Result<(), Status>> {
        let mut writing = self.writing.take()?;
        let Some(configured) = self.saved.as_mut().or(self.running.as_mut()) else {
            return Some(Err(no_program()));
        };
        let Some(ended) = writing.go_on(configured, slice) else {
            self.writing = Some(writing);
            return None;
        };
        self.follow(writing.done.take().unwrap_or_default());
        self.forget_digests();
        Some(ended.and_then(Outcomes::status))
    }

    /// A batch for a write that the sender may make. Nothing is applied yet.
    fn batch(&mut self, request: WriteRequest) -> std::result::Result<Batch<'static>, Status> {
        if self.is_writing() {
            return Err(Status::new(Code::Unavailable, "another write is in progress: try again"));
        }
        let all_or_nothing = request.atomicity() != Atomicity::ContinueOnError;
        let WriteRequest { role, updates, .. } = request;
        let mut batch = Batch::new(&role, self.lower_all(updates), all_or_nothing);
        batch.done = self.is_replacing().then(Vec::new);
        Ok(batch)
    }

    /// The updates of one request, with numbers for strings. Without strings, the updates stay where they are: 100,000 of them are 40 MB.
    fn lower_all(&mut self, updates: Vec<Update>) -> Updates<'static> {
        if !self.says_strings() {
            return Box::new(updates.into_iter().map(|update| Ok(Cow::Owned(update))));
        }
        let own = |lowered: Lowered<'_>| match lowered {
            Ok(Cow::Owned(update)) => Some(Ok(update)),
            Ok(Cow::Borrowed(_)) => None,
            Err(fault) => Some(Err(fault)),
        };
        let lowered: Vec<_> = self.lower(&updates).into_iter().map(own).collect();
        let all = updates.into_iter().zip(lowered);
        Box::new(all.map(|(update, lowered)| lowered.unwrap_or(Ok(update)).map(Cow::Owned)))
    }
}
