//! A `Write` in slices, between which frames pass: 100,000 updates take long.
//!
//! What the slices do is what [`Server::write`] does at once, for requests that are not `DATAPLANE_ATOMIC`: frames may see some of the
//! updates (P4Runtime 1.5, section 12.2). Whoever serves requests does no other between the slices, so that reads see all of a
//! write or nothing.

use crate::outcomes::Outcomes;
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::Builder;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::write_request::Atomicity;
use p4runtime_proto::p4::v1::{Update, WriteRequest};
use p4runtime_store::{Change, Result};
use std::borrow::Cow;

/// A write that has begun.
pub struct Writing {
    request: Box<WriteRequest>,
    /// For each update, why it is refused, or the update in numbers if that differs from the request's.
    lowered: Vec<Result<Option<Update>>>,
    all_or_nothing: bool,
    /// The next update.
    next: usize,
    outcomes: Outcomes,
    undo: Vec<Change>,
}

impl Writing {
    /// True if a request is to be done in slices: it has more than `slice` updates, and frames may see some of them.
    pub fn is_for(request: &WriteRequest, slice: usize) -> bool {
        request.updates.len() > slice && request.atomicity() != Atomicity::DataplaneAtomic
    }
}

impl<B: Builder> Server<B> {
    /// Begins a write. Nothing is done yet.
    pub fn begin_write(&mut self, request: Box<WriteRequest>) -> std::result::Result<Writing, Status> {
        self.may_write(&request)?;
        let all_or_nothing = request.atomicity() != Atomicity::ContinueOnError;
        let own = |update: Result<Cow<'_, Update>>| match update {
            Ok(Cow::Owned(update)) => Ok(Some(update)),
            Ok(Cow::Borrowed(_)) => Ok(None),
            Err(fault) => Err(fault),
        };
        let lowered = self.lower(&request.updates).into_iter().map(own).collect();
        let (outcomes, undo) = (Outcomes::default(), vec![]);
        Ok(Writing { request, lowered, all_or_nothing, next: 0, outcomes, undo })
    }

    /// Does up to `slice` updates, or undoes as many. The result of the write comes back when all is done.
    pub fn go_on_writing(
        &mut self,
        writing: &mut Writing,
        slice: usize,
    ) -> Option<std::result::Result<(), Status>> {
        let Some(configured) = self.saved.as_mut().or(self.running.as_mut()) else {
            return Some(Err(no_program()));
        };
        let Writing { request, lowered, all_or_nothing, next, outcomes, undo } = writing;
        let is_over = |outcomes: &Outcomes| outcomes.failed() && *all_or_nothing;
        let end = (*next + slice).min(lowered.len());
        while *next < end && !is_over(outcomes) {
            let known = std::mem::replace(&mut lowered[*next], Ok(None));
            let update =
                known.map(|update| update.unwrap_or_else(|| std::mem::take(&mut request.updates[*next])));
            let undo = all_or_nothing.then_some(&mut *undo);
            outcomes.note(update.and_then(|update| configured.update(&request.role, &update, undo)));
            *next += 1;
        }
        if is_over(outcomes) {
            for change in undo.split_off(undo.len().saturating_sub(slice)).into_iter().rev() {
                if let Err(fault) = configured.change(change, false) {
                    let why = format!("rolling back failed: {fault}");
                    return Some(Err(Status::new(Code::Internal, why)));
                }
            }
            if !undo.is_empty() {
                return None;
            }
            (*next..lowered.len()).for_each(|_| outcomes.not_tried());
            outcomes.rolled_back();
        } else if *next < lowered.len() {
            return None;
        }
        self.forget_digests();
        Some(std::mem::take(&mut writing.outcomes).status())
    }
}
