//! A look at the edges with spares of one sender.

use crate::ask::{Answer, Ask};
use crate::part::Planner;
use crate::task::Shared;

/// Reads the edges of a sender and writes the targets that it may use. A failed step is repeated the next time.
pub(crate) async fn watch<P: Planner>(shared: &Shared<P>, sender: usize) {
    if shared.state().stale.contains(sender) {
        return;
    }
    let queries = shared.state().edges.queries(sender);
    let Answer::Found(found) = shared.ask(sender, Ask::Read(queries)).await else { return };
    let (updates, written) = {
        let mut state = shared.state();
        let now = state.now;
        state.edges.read(sender, &found);
        state.edges.changes(sender, now)
    };
    if !updates.is_empty() && shared.ask(sender, Ask::Write(updates)).await == Answer::Done {
        shared.state().edges.wrote(written);
    }
}
