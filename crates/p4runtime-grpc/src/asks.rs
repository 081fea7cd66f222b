//! Requests that wait for an agent. Short writes that wait together go in one message, each on its own:
//!
//! ```text
//! wait:      write a, write b, read c, write d
//! messages:  [a, b] with CONTINUE_ON_ERROR, c, d
//! ```
//!
//! The agent executes them in order, as if each had its own message. An agent has one message at a time, so otherwise the round trip would
//! bound the writes a second.

use controller::{Answer, Ask, AskId};
use p4runtime_proto::p4::v1::Update;
use p4runtime_server::Outcomes;
use prost::Message;
use tokio::sync::mpsc;

/// Maximum number of writes in one message: the status of the answer has an error for each of them, and clients of gRPC accept only so much.
pub(crate) const MOST: usize = 32;

/// Maximum size of the update of a short write, in bytes.
const SHORT: usize = 1 << 10;

/// An ask, and its number if the answer is awaited.
pub(crate) type Numbered = (Option<AskId>, Ask);

/// Writes of one message.
pub(crate) type Writes = Vec<(Option<AskId>, Vec<Update>)>;

/// The asks that wait, in order.
pub(crate) struct Asks {
    coming: mpsc::Receiver<Numbered>,
    /// The first of them, if it was taken to see whether it is a short write.
    first: Option<Numbered>,
}

impl Asks {
    pub(crate) fn new(coming: mpsc::Receiver<Numbered>) -> Asks {
        Asks { coming, first: None }
    }

    /// The next ask; `None` if the controller is gone. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Numbered> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.coming.recv().await,
        }
    }

    /// A write that was next, and the short writes right after it if it is short, too.
    pub(crate) fn with_others(&mut self, write: (Option<AskId>, Vec<Update>)) -> Writes {
        let mut writes = vec![write];
        while writes.len() < MOST && writes.last().is_some_and(|(_, updates)| is_short(updates)) {
            match self.first.take().or_else(|| self.coming.try_recv().ok()) {
                Some((id, Ask::Write(updates))) if is_short(&updates) => writes.push((id, updates)),
                other => {
                    self.first = other;
                    break;
                }
            }
        }
        writes
    }
}

fn is_short(updates: &[Update]) -> bool {
    matches!(updates, [update] if update.encoded_len() <= SHORT)
}

/// The answers to `count` short writes, by the answer to their message. `None` if the agent has refused the message: then it has executed none.
pub(crate) fn answers(answer: Answer, count: usize) -> Option<Vec<Answer>> {
    let status = match answer {
        Answer::Refused(status) => status,
        same => return Some(vec![same; count]),
    };
    if status.details.is_empty() {
        return None;
    }
    let answer = |error| {
        let mut outcomes = Outcomes::default();
        outcomes.follow(error);
        outcomes.status().map_or_else(Answer::Refused, |()| Answer::Done)
    };
    let known = status.details.into_iter().map(answer);
    // An agent reports all of them; otherwise the rest would be unknown.
    Some(known.chain(std::iter::repeat(Answer::Lost)).take(count).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::google::rpc::Code;
    use p4runtime_proto::p4::v1::Error;
    use p4runtime_server::Status;

    fn write(size: usize) -> Ask {
        use p4runtime_proto::p4::v1::{Entity, TableEntry, entity::Entity as Kind};
        let entry = TableEntry { metadata: vec![0; size], ..TableEntry::default() };
        let entity = Some(Entity { entity: Some(Kind::TableEntry(entry)) });
        Ask::Write(vec![Update { entity, ..Update::default() }])
    }

    /// The ids of the asks of each message.
    fn messages(all: Vec<Ask>) -> Vec<Vec<u64>> {
        let (sender, coming) = mpsc::channel(1024);
        for (id, ask) in all.into_iter().enumerate() {
            sender.try_send((Some(AskId(id as u64)), ask)).unwrap();
        }
        drop(sender);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut asks = Asks::new(coming);
        let mut messages = vec![];
        while let Some((id, ask)) = runtime.block_on(asks.next()) {
            let ids: Vec<_> = match ask {
                Ask::Write(updates) => {
                    asks.with_others((id, updates)).into_iter().map(|(id, _)| id).collect()
                }
                _ => vec![id],
            };
            messages.push(ids.into_iter().map(|id| id.unwrap().0).collect());
        }
        messages
    }

    #[test]
    fn short_writes_that_wait_go_together() {
        let [short, other, long] = [|| write(9), || Ask::Release, || write(5000)];
        let many = || Ask::Write(vec![Update::default(); 2]);
        let all = vec![short(), short(), other(), short(), many(), short(), long(), short(), short()];
        let apart: [&[u64]; 6] = [&[0, 1], &[2], &[3], &[4], &[5], &[6]];
        assert_eq!(messages(all), [&apart[..], &[&[7, 8]]].concat());
        let sizes: Vec<usize> = messages((0..70).map(|_| short()).collect()).iter().map(Vec::len).collect();
        assert_eq!(sizes, [32, 32, 6]);
    }

    #[test]
    fn each_write_has_its_own_answer() {
        let error = |code: Code| Error { canonical_code: code as i32, ..Error::default() };
        let refused =
            |details| Answer::Refused(Status { details, ..Status::new(Code::Unknown, "some failed") });
        let found = answers(refused(vec![error(Code::Ok), error(Code::ResourceExhausted)]), 3).unwrap();
        let Answer::Refused(own) = &found[1] else { panic!("{found:?}") };
        assert_eq!(own.details, [error(Code::ResourceExhausted)]);
        assert_eq!((&found[0], &found[2]), (&Answer::Done, &Answer::Lost));
        assert_eq!(answers(Answer::Done, 2), Some(vec![Answer::Done, Answer::Done]));
        assert_eq!(answers(Answer::Lost, 2), Some(vec![Answer::Lost, Answer::Lost]));
        assert_eq!(answers(refused(vec![]), 2), None);
    }
}
