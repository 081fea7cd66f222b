//! The place in which controllers' writes are saved: a file, or etcd with other controllers.

use crate::{SetupError, failed};
use p4runtime_grpc::Front;
use p4runtime_proto::p4rack::v1::SavedState;
use state_etcd::{EtcdPlace, Leading};
use state_file::{Keeper, StateFile};
use state_journal::Store;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use tokio::sync::oneshot;
use tracing::{info, warn};

/// Where the state is saved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatePlace {
    /// A file, which one process uses at a time.
    File(PathBuf),
    /// etcd, where one of several controllers leads.
    Etcd(EtcdPlace),
}

impl FromStr for StatePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<StatePlace, String> {
        match text.split_once("://") {
            None => Ok(StatePlace::File(PathBuf::from(text))),
            Some(("etcd", _)) => text.parse().map(StatePlace::Etcd),
            // A file of that name would be created.
            Some((scheme, _)) => Err(format!(
                "a state is in a file or in etcd, not at `{scheme}://`: write FILE or etcd://HOST:PORT/NAME"
            )),
        }
    }
}

impl fmt::Display for StatePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatePlace::File(path) => path.display().fmt(f),
            StatePlace::Etcd(place) => place.fmt(f),
        }
    }
}

/// Leadership among the controllers of a state in etcd, and its end.
pub(crate) type Led = (Leading, oneshot::Receiver<()>);

impl StatePlace {
    /// Waits until this process leads, if the state is in etcd.
    pub(crate) fn lead(&self) -> Result<Option<Led>, SetupError> {
        let StatePlace::Etcd(place) = self else { return Ok(None) };
        let (lost, has_lost) = oneshot::channel();
        let about = format!("process {} on {}", std::process::id(), host());
        let lost = move || {
            // A switch that has ended waits for nothing.
            let _ = lost.send(());
        };
        let leading = Leading::seek(place, &about, &mut |waits| warn!("{waits}"), lost);
        let leading = leading.map_err(failed)?;
        info!(term = leading.term(), "this controller leads");
        Ok(Some((leading, has_lost)))
    }

    /// The thread that saves batches, and the saved state.
    pub(crate) fn open(
        &self,
        leading: Option<&Leading>,
        is_fresh: bool,
        front: Front,
    ) -> Result<(Keeper, Option<SavedState>), SetupError> {
        let (store, state): (Box<dyn Store>, _) = match (self, leading) {
            (StatePlace::File(path), _) => {
                let (file, state) = StateFile::open(path, is_fresh).map_err(failed)?;
                (Box::new(file), state)
            }
            (StatePlace::Etcd(_), Some(leading)) => {
                let (store, state) = leading.open(is_fresh).map_err(failed)?;
                (Box::new(store), state)
            }
            (StatePlace::Etcd(_), None) => return Err(failed("this controller does not lead")),
        };
        let notify = move |count, kept| {
            // An owner that has ended waits for nothing.
            let _ = front.kept(count, kept);
        };
        Ok((Keeper::start(store, notify).map_err(failed)?, state))
    }
}

/// Name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_string()
}
