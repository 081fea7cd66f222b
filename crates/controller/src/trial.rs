//! Updates that are tried on the desired state, and undone.

use crate::desired::{Plans, undo as undo_all};
use crate::part::Planner;
use p4runtime_proto::p4::v1::Update;
use p4runtime_server::{Server, Status};
use p4runtime_store::{Change, Result, fault};

/// The effect of each update after those before it, or why it cannot be done; one that fails is left out.
pub(crate) fn tried<P: Planner>(
    server: &mut Server<Plans<P>>,
    role: &str,
    updates: &[Update],
) -> std::result::Result<Vec<Result<Vec<Change>>>, Status> {
    let notes = server.take_notes();
    let (mut undo, mut all) = (vec![], vec![]);
    for update in server.lower(updates) {
        let tried = update.and_then(|update| {
            let changes = match server.store() {
                Some(store) => store.plan(&update)?,
                None => return fault("there is no program", "set a forwarding pipeline config first"),
            };
            undo.extend(server.update(role, &update)?);
            Ok(changes)
        });
        all.push(tried);
    }
    let undone = undo_all(server, undo);
    server.take_notes();
    server.give_back_notes(notes);
    undone.map(|()| all)
}
