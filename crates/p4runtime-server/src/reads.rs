//! Reads of a server: at once, in slices of its own, and in slices of a caller.

use crate::configured::Configured;
use crate::pieces::Pieces;
use crate::reading::{MOST_BEFORE, Read, Reading};
use crate::server::{Server, no_program};
use crate::status::Status;
use crate::target::Builder;
use p4runtime_proto::p4::v1::{ReadRequest, Update, WriteRequest};
use p4runtime_store::{Touched, Wanted};

/// Cells in a slice, or an equal amount of other work.
const SLICE: u64 = 8192;

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
    pub fn reading(&self, request: ReadRequest) -> Result<Reading, Status> {
        self.may_read(&request, self.saved.is_some() || self.running.is_some())?;
        Ok(Reading::new(request, Wanted::All))
    }

    /// [`read_running`](Server::read_running) in slices, likewise.
    pub fn reading_running(&self, request: ReadRequest) -> Result<Reading, Status> {
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

    fn may_read(&self, request: &ReadRequest, is_there: bool) -> Result<(), Status> {
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
