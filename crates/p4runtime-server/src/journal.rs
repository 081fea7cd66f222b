//! The journal of controllers' writes, so that they outlive the process, and the return to a saved state.

use crate::config::Prepared;
use crate::server::Server;
use crate::status::Status;
use crate::target::Builder;
use p4runtime_proto::p4::v1::{Entity, ForwardingPipelineConfig};
use p4runtime_store::{Change, Names};
use state_journal::{Batch, Notes};
use std::collections::BTreeMap;

fn rows(notes: Notes, names: &Names) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
    notes.rows(|entity| {
        if !names.is_empty() {
            names.raise(entity);
        }
    })
}

impl<B: Builder> Server<B> {
    /// Notes changes from now on. Programs that already run are not noted.
    pub fn keep_notes(&mut self) {
        self.is_noted = true;
    }

    /// Changes of the running program since the last call, with strings instead of numbers. Empty while a write runs in
    /// slices, because a part of a write is not stored. Writes to a saved program are noted when the program runs.
    pub fn noted(&mut self) -> Batch {
        let (Some(running), None) = (&mut self.running, &self.writing) else { return Batch::default() };
        let is_anew = self.is_noted && std::mem::take(&mut self.is_anew);
        let program = is_anew.then(|| ForwardingPipelineConfig {
            // A configuration that keeps the running program cannot be built without that program.
            p4_device_config: running.source.clone(),
            ..running.config.clone()
        });
        let rows = rows(running.store.take_notes(), &running.names);
        Batch { program, rows }
    }

    /// The rows of changes of the running program, as [`noted`](Server::noted) has them.
    pub fn rows(&self, notes: Notes) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
        self.running.as_ref().map(|running| rows(notes, &running.names)).unwrap_or_default()
    }

    /// True if changes of the running program are noted.
    pub fn has_notes(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.store.has_notes())
    }

    /// Notes the present values of what these changes of the running program are of.
    pub fn note_again(&mut self, changes: &[Change]) {
        if let Some(running) = &mut self.running {
            changes.iter().for_each(|change| running.store.note(change));
        }
    }

    /// Removes the notes of unfinished work, so that they are not stored before the work is done.
    pub fn take_notes(&mut self) -> Notes {
        let configured = self.saved.as_mut().or(self.running.as_mut());
        configured.map(|configured| configured.store.take_notes()).unwrap_or_default()
    }

    /// Puts removed notes back.
    pub fn give_back_notes(&mut self, notes: Notes) {
        if let Some(configured) = self.saved.as_mut().or(self.running.as_mut()) {
            configured.store.give_back_notes(notes);
        }
    }
}

impl<B: Builder> Prepared<B> {
    /// Writes a saved state instead of the program's own entries that are not constant; then the later counts of data planes, as far as
    /// their entities exist. `kept` has controllers' strings, `counted` has numbers.
    pub fn resume(&mut self, kept: Vec<Entity>, counted: Vec<Entity>) -> Result<(), Status> {
        if !self.new.names.is_empty() {
            self.new.names.note_numerals(&kept);
        }
        self.new.replay_all(kept, &Names::default())?;
        let names = self.new.names.clone();
        // A string may have another number than in the devices.
        for entity in counted.into_iter().filter(|entity| !names.says_strings(entity)) {
            let _ = self.new.again(entity, &names);
        }
        Ok(())
    }
}
