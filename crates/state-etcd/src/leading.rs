//! The thread that extends the leader's lease.

use crate::cluster::{Cluster, EtcdError};
use crate::layout::Layout;
use crate::leader::{Lead, seek};
use crate::members::Members;
use crate::place::EtcdPlace;
use crate::store::StateEtcd;
use p4runtime_proto::p4rack::v1::SavedState;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Time after which a call that had no answer is tried again: perhaps etcd is electing another leader.
const AGAIN: Duration = Duration::from_millis(50);

/// Time after which a call of the store is given up, and another member asked.
const PATIENCE: Duration = Duration::from_secs(1);

/// Leadership of this process, which lasts while its lease is extended. It ends when this is dropped.
#[derive(Debug)]
pub struct Leading {
    place: EtcdPlace,
    lead: Arc<Lead>,
    started: Instant,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Leading {
    /// Waits until this process leads. `report` gets what it waits for; `lost` is called once if the leadership ends by itself.
    pub fn seek(
        place: &EtcdPlace,
        about: &str,
        report: &mut dyn FnMut(&str),
        lost: impl FnOnce() + Send + 'static,
    ) -> Result<Leading, EtcdError> {
        let started = Instant::now();
        let seconds = i64::from(place.lease);
        let patience = Duration::from_secs(place.lease.into()) / 4;
        let mut members = Members::new(place, patience, started)?;
        let lead = Arc::new(seek(&mut members, &Layout::new(&place.name), seconds, about, report)?);
        let (end, ended) = channel();
        let kept = Arc::clone(&lead);
        let keep = move || {
            let mut wait = kept.interval();
            loop {
                match ended.recv_timeout(wait) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return kept.end(&mut members),
                }
                let done = kept.keep(&mut members);
                if done == Err(EtcdError::Superseded) || !kept.holds(members.now()) {
                    return lost();
                }
                wait = if done.is_ok() { kept.interval() } else { AGAIN };
            }
        };
        let thread = Builder::new().name("lease".to_string()).spawn(keep);
        let thread = thread.map_err(|error| EtcdError::Refused(error.to_string()))?;
        let (end, thread) = (Some(end), Some(thread));
        Ok(Leading { place: place.clone(), lead, started, end, thread })
    }

    /// The state, and the store of the leader.
    pub fn open(&self, is_fresh: bool) -> Result<(StateEtcd<Members>, Option<SavedState>), EtcdError> {
        let members = Members::new(&self.place, PATIENCE, self.started)?;
        let opened =
            StateEtcd::open(members, Layout::new(&self.place.name), Arc::clone(&self.lead), is_fresh);
        opened.map_err(|(_, error)| error)
    }

    /// Number of this leadership; later ones have larger numbers.
    pub fn term(&self) -> u64 {
        self.lead.term()
    }

    /// True if no other controller can lead.
    pub fn holds(&self) -> bool {
        self.lead.holds(self.started.elapsed())
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
