//! What controllers have written, for whoever keeps it so that it outlives the process, and the state that was kept.

use crate::config::Prepared;
use crate::server::Server;
use crate::status::Status;
use crate::target::Builder;
use p4runtime_proto::p4::v1::{Entity, ForwardingPipelineConfig};
use p4runtime_store::Names;
use state_journal::{Batch, Notes};

impl<B: Builder> Server<B> {
    /// From now on, notes what changes. Programs that run already are not noted.
    pub fn keep_notes(&mut self) {
        self.is_noted = true;
    }

    /// What has changed in the running program since the last time, with names in the place of numbers. Nothing while a write is done in
    /// slices: a part of a write is not kept. A saved program is none that runs: what is written to it is noted when it does.
    pub fn noted(&mut self) -> Batch {
        let (Some(running), None) = (&mut self.running, &self.writing) else { return Batch::default() };
        let is_anew = self.is_noted && std::mem::take(&mut self.is_anew);
        let program = is_anew.then(|| ForwardingPipelineConfig {
            // A configuration that keeps the program that runs could not be built without it.
            p4_device_config: running.source.clone(),
            ..running.config.clone()
        });
        let names = &running.names;
        let rows = running.store.take_notes().rows(|entity| {
            if !names.is_empty() {
                names.raise(entity);
            }
        });
        Batch { program, rows }
    }

    /// Takes out what reads and writes have changed, so that it is not kept before the rest of it is done.
    pub fn take_notes(&mut self) -> Notes {
        let configured = self.saved.as_mut().or(self.running.as_mut());
        configured.map(|configured| configured.store.take_notes()).unwrap_or_default()
    }

    /// Gives it back.
    pub fn give_back_notes(&mut self, notes: Notes) {
        if let Some(configured) = self.saved.as_mut().or(self.running.as_mut()) {
            configured.store.give_back_notes(notes);
        }
    }
}

impl<B: Builder> Prepared<B> {
    /// Writes a kept state instead of the program's own entries that are not constant; then what data planes have counted since, as far as
    /// it is about something that is there. `kept` has strings where controllers have them, `counted` has numbers.
    pub fn resume(&mut self, kept: Vec<Entity>, counted: Vec<Entity>) -> Result<(), Status> {
        if !self.new.names.is_empty() {
            self.new.names.note_numerals(&kept);
        }
        self.new.replay_all(kept, &Names::default())?;
        let names = self.new.names.clone();
        // A string may stand for another number than it did for the devices.
        for entity in counted.into_iter().filter(|entity| !names.says_strings(entity)) {
            let _ = self.new.again(entity, &names);
        }
        Ok(())
    }
}
