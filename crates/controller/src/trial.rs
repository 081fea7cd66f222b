//! Updates that are tried on the desired state, and undone.

use crate::desired::{Plans, undo as undo_all};
use crate::storing::Rows;
use p4runtime_proto::p4::v1::Update;
use p4runtime_server::{Server, Status};
use p4runtime_store::{Change, Result, fault};

/// The effects of updates that were tried.
#[derive(Debug)]
pub struct Tried {
    /// The effect of each update after those before it, or why it cannot be done; one that fails is left out.
    pub each: Vec<Result<Vec<Change>>>,
    /// The rows that would be stored if all of them were done that can be, by key; none where nothing is noted.
    pub rows: Rows,
}

pub(crate) fn tried(
    server: &mut Server<Plans>,
    role: &str,
    updates: &[Update],
) -> std::result::Result<Tried, Status> {
    let notes = server.take_notes();
    let (mut undo, mut each) = (vec![], vec![]);
    for update in server.lower(updates) {
        let tried = update.and_then(|update| {
            let changes = match server.store() {
                Some(store) => store.plan(&update)?,
                None => return fault("there is no program", "set a forwarding pipeline config first"),
            };
            undo.extend(server.update(role, &update)?);
            Ok(changes)
        });
        each.push(tried);
    }
    let done = server.take_notes();
    let rows = server.rows(done);
    let undone = undo_all(server, undo);
    server.take_notes();
    server.give_back_notes(notes);
    undone.map(|()| Tried { each, rows })
}
