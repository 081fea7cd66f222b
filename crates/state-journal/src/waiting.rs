//! Replies that may not leave before what they acknowledge is kept.

use std::collections::VecDeque;

/// Replies, each after the batch that was sent last before it.
#[derive(Debug)]
pub struct Waiting<R> {
    sent: u64,
    kept: u64,
    replies: VecDeque<(u64, R)>,
}

impl<R> Default for Waiting<R> {
    fn default() -> Self {
        Waiting { sent: 0, kept: 0, replies: VecDeque::new() }
    }
}

impl<R> Waiting<R> {
    /// A batch has been sent to where it is kept.
    pub fn sent(&mut self) {
        self.sent += 1;
    }

    /// A reply comes: back, if it may leave at once.
    pub fn reply(&mut self, reply: R) -> Option<R> {
        if self.kept == self.sent {
            return Some(reply);
        }
        self.replies.push_back((self.sent, reply));
        None
    }

    /// So many of the batches have been kept, or will never be: the replies that have waited for them, in order.
    pub fn kept(&mut self, count: u64) -> Vec<R> {
        self.kept = self.kept.max(count.min(self.sent));
        let ready = self.replies.iter().take_while(|(behind, _)| *behind <= self.kept).count();
        self.replies.drain(..ready).map(|(_, reply)| reply).collect()
    }

    /// True if all batches are kept.
    pub fn is_quiet(&self) -> bool {
        self.kept == self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::Waiting;

    #[test]
    fn a_reply_waits_for_what_was_sent_before_it_and_for_nothing_else() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.reply('a'), Some('a'));
        waiting.sent();
        assert_eq!(waiting.reply('b'), None);
        waiting.sent();
        waiting.sent();
        assert_eq!(waiting.reply('c'), None);
        assert_eq!(waiting.kept(1), ['b']);
        assert!(!waiting.is_quiet());
        // An older count changes nothing, a larger one than was sent is none.
        assert_eq!(waiting.kept(0), []);
        assert_eq!(waiting.kept(2), []);
        assert_eq!(waiting.kept(9), ['c']);
        assert!(waiting.is_quiet());
        assert_eq!(waiting.kept(1), []);
        assert_eq!(waiting.reply('d'), Some('d'));
        waiting.sent();
        assert_eq!([waiting.reply('e'), waiting.reply('f')], [None; 2]);
        assert_eq!(waiting.kept(4), ['e', 'f']);
    }
}
