//! The response stream of a read. Each piece is freed when it is sent. If the client does not read for a while, all of them are freed and
//! the call fails.

use crate::budget::Hold;
use crate::codec::Encoded;
use crate::service::Answers;
use p4runtime_proto::p4::v1::ReadResponse;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_stream::Stream;
use tonic::Status;

/// Timeout of the client between two pieces.
const PATIENCE: Duration = Duration::from_secs(60);

struct Left {
    pieces: VecDeque<Vec<u8>>,
    hold: Hold,
    /// Size of the piece that is being sent, in bytes.
    sending: usize,
    end: Option<Status>,
    /// Number of pieces taken so far.
    taken: usize,
    is_over: bool,
}

struct Pieces(Arc<Mutex<Left>>);

/// A response stream of these pieces, which ends with the error, if there is one.
pub(crate) fn answers(
    pieces: Vec<Vec<u8>>,
    hold: Hold,
    end: Option<Status>,
) -> Answers<Encoded<ReadResponse>> {
    answers_within(pieces, hold, end, PATIENCE)
}

fn answers_within(
    pieces: Vec<Vec<u8>>,
    hold: Hold,
    end: Option<Status>,
    patience: Duration,
) -> Answers<Encoded<ReadResponse>> {
    let is_short = pieces.len() < 2;
    let left = Left { pieces: pieces.into(), hold, sending: 0, end, taken: 0, is_over: false };
    let left = Arc::new(Mutex::new(left));
    if !is_short {
        tokio::spawn(watch(Arc::downgrade(&left), patience));
    }
    Box::pin(Pieces(left))
}

/// Frees an answer that the client does not read.
async fn watch(left: Weak<Mutex<Left>>, patience: Duration) {
    let mut known = None;
    loop {
        tokio::time::sleep(patience).await;
        let Some(left) = left.upgrade() else { return };
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        if known == Some(left.taken) && !left.pieces.is_empty() {
            left.pieces = VecDeque::new();
            let all = usize::MAX;
            left.hold.shrink(all);
            left.end = Some(Status::aborted("the answer was not read in time"));
            return;
        }
        known = Some(left.taken);
    }
}

impl Stream for Pieces {
    type Item = Result<Encoded<ReadResponse>, Status>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if left.is_over {
            return Poll::Ready(None);
        }
        left.taken += 1;
        // The piece before has been sent.
        let sent = std::mem::take(&mut left.sending);
        left.hold.shrink(sent);
        if let Some(piece) = left.pieces.pop_front() {
            left.sending = piece.len();
            return Poll::Ready(Some(Ok(Encoded::new(piece))));
        }
        left.is_over = true;
        Poll::Ready(left.end.take().map(Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use tokio_stream::StreamExt;

    #[tokio::test]
    async fn an_answer_that_nobody_reads_is_given_up() {
        let budget = Budget::default();
        let mut hold = budget.hold(None);
        assert!(hold.grow(3 << 20));
        let mut stream = answers_within(vec![vec![0; 1 << 20]; 3], hold, None, Duration::from_millis(1));
        assert!(stream.next().await.unwrap().is_ok());
        while !budget.hold(None).grow(384 << 20) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(stream.next().await.unwrap().unwrap_err().code(), tonic::Code::Aborted);
        assert!(stream.next().await.is_none());
    }
}
