//! A look at the edges with spares of one sender.

use crate::ask::{Answer, Ask};
use crate::task::Shared;

/// Reads the edges of a sender and writes the targets that it may use. A failed step is repeated the next time.
pub(crate) async fn watch(shared: &Shared, sender: usize) {
    if shared.state().stale.contains(sender) {
        return;
    }
    let queries = shared.state().edges.queries(sender);
    let Answer::Found(found) = shared.ask(sender, Ask::Read(queries)).await else { return };
    shared.state().edges.read(sender, &found);
    allow(shared, sender).await;
}

/// Lets a sender use targets again. The task is the only user of all targets of these edges.
pub(crate) async fn let_back(shared: &Shared, sender: usize) {
    if shared.state().stale.contains(sender) {
        return;
    }
    {
        let mut state = shared.state();
        let now = state.now;
        state.edges.let_back(sender, now);
    }
    let attempt = async || if allow(shared, sender).await { Ok(()) } else { Err(()) };
    // Otherwise the next look writes it.
    let _ = shared.insist(attempt).await;
}

/// Writes the targets that a sender may use. False if the sender does not answer.
async fn allow(shared: &Shared, sender: usize) -> bool {
    let (updates, written) = shared.state().edges.changes(sender);
    if updates.is_empty() {
        return true;
    }
    let is_done = shared.ask(sender, Ask::Write(updates)).await == Answer::Done;
    if is_done {
        shared.state().edges.wrote(written);
    }
    is_done
}
