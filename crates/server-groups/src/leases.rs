//! Leases of numbered blocks, such as ranges of ports: which server may take numbers of a block.
//!
//! ```text
//! Free ──write, then Lease──> Held ──Lease without it──> Withdrawn ──the server has nothing of it──> Resting ──> Free
//!                               │                            │                                      ^
//!                               └─────── the server has left or died, `rest` from now ──────────────┘
//! ```
//!
//! **Invariant: one server at a time.** A server that may take numbers of a block, or has flows with numbers of it, is the block's only one. So a block
//! that is withdrawn waits until its server says that nothing of it is left, and a block whose server is gone waits until the flows of that server have
//! ended everywhere. The switch sends packets of a block to its server, and is told before the server is.
//!
//! Each block has a *home*: server B modulo the number of servers. A member has the blocks whose home it is; those of other servers are shared by all
//! members by a hash, so that few of them move when members change. A server that drains keeps the blocks whose home it is: its flows may still need a number.

use crate::Member;
use std::collections::{BTreeMap, BTreeSet};

/// A set of blocks: bit B modulo 8 of byte B / 8 is block B.
pub type Blocks = Vec<u8>;

/// True if a set has a block.
pub fn has(blocks: &[u8], block: u32) -> bool {
    blocks.get(block as usize / 8).is_some_and(|byte| byte >> (block % 8) & 1 == 1)
}

/// Puts a block into a set.
pub fn put(blocks: &mut Blocks, block: u32) {
    let at = block as usize / 8;
    if blocks.len() <= at {
        blocks.resize(at + 1, 0);
    }
    blocks[at] |= 1 << (block % 8);
}

/// Use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum State {
    /// Nobody.
    Free,
    /// A member, or it is about to be told so.
    Held(Member),
    /// A member may have flows of it, but takes no more numbers of it.
    Withdrawn(Member),
    /// Nobody until [`Block::rests_until`], unless the server that had it last wants it again.
    Resting(Member),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Block {
    number: u32,
    state: State,
    /// Where the switch sends its packets.
    entry: Member,
    /// Until then, flows of a server that is gone may have numbers of it.
    rests_until: u64,
}

/// The last instruction to a member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Sent {
    version: u32,
    /// When it was sent last.
    since: u64,
    is_answered: bool,
    /// The member has blocks to take numbers of.
    is_able: bool,
}

/// Things to do: first the writes, then the instructions.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Orders {
    /// Blocks, each with the member that gets its packets.
    pub writes: Vec<(u32, Member)>,
    /// Members, each with the number and the whole set of its blocks.
    pub instructions: Vec<(Member, u32, Blocks)>,
}

/// The leases of a group. Block 0 stands for none.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Leases {
    servers: u16,
    /// From a server's end until its blocks are free.
    rest: u64,
    /// In order of their numbers.
    blocks: Vec<Block>,
    sent: BTreeMap<Member, Sent>,
    /// Counts the instructions of all members.
    version: u32,
}

impl Leases {
    /// Leases of the blocks from 1 to `blocks` - 1. The switch sends the packets of each to its home.
    pub fn new(servers: u16, blocks: u32, rest: u64) -> Leases {
        let mut leases =
            Leases { servers: servers.max(1), rest, blocks: vec![], sent: BTreeMap::new(), version: 0 };
        for number in 1..blocks {
            let entry = leases.home(number);
            leases.blocks.push(Block { number, state: State::Free, entry, rests_until: 0 });
        }
        leases
    }

    /// A member that has been told nothing. `is_able`: it gets flows although it has not confirmed a lease, since nobody else is there yet.
    pub fn joined(&mut self, member: Member, is_able: bool) {
        self.sent.insert(member, Sent { version: 0, since: 0, is_answered: false, is_able });
    }

    /// A member has left or died.
    pub fn gone(&mut self, member: Member, now: u64) {
        self.sent.remove(&member);
        let until = now.saturating_add(self.rest);
        for block in &mut self.blocks {
            if matches!(block.state, State::Held(at) | State::Withdrawn(at) if at == member) {
                (block.state, block.rests_until) = (State::Resting(member), until);
            }
        }
    }

    /// A member has answered: the blocks of which it still has something, and the number of leased blocks that it can use. False if this is not the
    /// answer to the last instruction.
    pub fn answered(&mut self, from: Member, version: u32, busy: &[u8], usable: u32) -> bool {
        let Some(sent) = self.sent.get_mut(&from).filter(|sent| sent.version == version) else {
            return false;
        };
        (sent.is_answered, sent.is_able) = (true, usable > 0);
        for block in &mut self.blocks {
            if block.state == State::Withdrawn(from) && !has(busy, block.number) {
                block.state = State::Resting(from);
            }
        }
        true
    }

    /// Withdraws blocks and gives free ones, so that these members come to their shares.
    pub fn share(&mut self, takers: &BTreeSet<Member>, now: u64) -> Orders {
        let mut orders = Orders::default();
        // Members are told their blocks even if these are none.
        let fresh = |(member, sent): (&Member, &Sent)| (sent.version == 0).then_some(*member);
        let mut changed: BTreeSet<Member> = self.sent.iter().filter_map(fresh).collect();
        let wish = |block: &Block| (self.wish(block.number, takers), self.home(block.number));
        let wishes: Vec<(Option<Member>, Member)> = self.blocks.iter().map(wish).collect();
        for (block, (wish, home)) in self.blocks.iter_mut().zip(wishes) {
            if block.has_rested(now) {
                block.state = State::Free;
            }
            match (block.state, wish) {
                (State::Free, Some(to)) => {
                    block.state = State::Held(to);
                    if block.entry != to {
                        block.entry = to;
                        orders.writes.push((block.number, to));
                    }
                    changed.insert(to);
                }
                // Nobody else has had it meanwhile.
                (State::Withdrawn(at) | State::Resting(at), Some(to)) if at == to => {
                    block.state = State::Held(at);
                    changed.insert(at);
                }
                (State::Held(at), Some(to)) if at != to && at != home => {
                    block.state = State::Withdrawn(at);
                    changed.insert(at);
                }
                _ => {}
            }
        }
        for member in changed {
            self.version += 1;
            let version = self.version;
            if let Some(sent) = self.sent.get_mut(&member) {
                *sent = Sent { version, since: now, is_answered: false, ..*sent };
                orders.instructions.push((member, version, self.of(member)));
            }
        }
        orders
    }

    /// Time has passed: members are told again if they have not answered for `patience`, or have had something of a withdrawn block `patience` ago.
    pub fn poll(&mut self, patience: u64, now: u64) -> Orders {
        let mut orders = Orders::default();
        let has_withdrawn =
            |member: Member| self.blocks.iter().any(|block| block.state == State::Withdrawn(member));
        let due = |(member, sent): &(&Member, &Sent)| {
            let is_late = sent.version > 0 && now.saturating_sub(sent.since) >= patience;
            is_late && (!sent.is_answered || has_withdrawn(**member))
        };
        let due: Vec<Member> = self.sent.iter().filter(due).map(|(member, _)| *member).collect();
        for member in due {
            orders.instructions.extend(self.again(member, now));
        }
        orders
    }

    /// Tells a member once more, for example because it has just started.
    pub fn again(&mut self, member: Member, now: u64) -> Option<(Member, u32, Blocks)> {
        let sent = self.sent.get_mut(&member).filter(|sent| sent.version > 0)?;
        sent.since = now;
        let version = sent.version;
        Some((member, version, self.of(member)))
    }

    /// True if a block has rested, so that [`Leases::share`] has something to give.
    pub fn has_rested(&self, now: u64) -> bool {
        self.blocks.iter().any(|block| block.has_rested(now))
    }

    /// True if a member can take numbers for new flows.
    pub fn is_able(&self, member: Member) -> bool {
        self.sent.get(&member).is_some_and(|sent| sent.is_able)
    }

    /// Every member knows its blocks.
    pub fn is_steady(&self) -> bool {
        self.sent.values().all(|sent| sent.is_answered)
    }

    /// The server that gets the packets of each block, for a switch that begins.
    pub fn entries(&self) -> impl Iterator<Item = (u32, Member)> {
        self.blocks.iter().map(|block| (block.number, block.entry))
    }

    /// The blocks of which a member may take numbers.
    pub fn of(&self, member: Member) -> Blocks {
        let mut blocks = vec![];
        for block in &self.blocks {
            if block.state == State::Held(member) {
                put(&mut blocks, block.number);
            }
        }
        blocks
    }

    fn home(&self, block: u32) -> Member {
        Member((block % u32::from(self.servers)) as u16)
    }

    /// The member that a block is wanted at.
    fn wish(&self, block: u32, takers: &BTreeSet<Member>) -> Option<Member> {
        let home = self.home(block);
        if takers.contains(&home) {
            return Some(home);
        }
        takers.iter().copied().max_by_key(|member| (rank(block, *member), *member))
    }
}

impl Block {
    fn has_rested(&self, now: u64) -> bool {
        matches!(self.state, State::Resting(_)) && self.rests_until <= now
    }
}

/// A hash (the last step of SplitMix64): the member with the highest one gets a block without its home. A member that comes or goes moves only its own blocks.
fn rank(block: u32, member: Member) -> u64 {
    let x =
        (u64::from(block) << 16 | u64::from(member.0)).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(all: &[u16]) -> BTreeSet<Member> {
        all.iter().copied().map(Member).collect()
    }

    fn set(blocks: &[u32]) -> Blocks {
        let mut set = vec![];
        blocks.iter().for_each(|block| put(&mut set, *block));
        set
    }

    fn listed(blocks: &[u8]) -> Vec<u32> {
        (0..64).filter(|block| has(blocks, *block)).collect()
    }

    /// Three servers, of which 0 and 1 are members and have confirmed their blocks.
    fn two_of_three() -> Leases {
        let mut leases = Leases::new(3, 13, 100);
        [0, 1].into_iter().for_each(|member| leases.joined(Member(member), true));
        let orders = leases.share(&members(&[0, 1]), 0);
        for (member, version, blocks) in orders.instructions {
            assert!(leases.answered(member, version, &[], blocks.len() as u32));
        }
        leases
    }

    #[test]
    fn members_have_their_own_blocks_and_share_those_of_others() {
        let leases = two_of_three();
        let (first, second) = (leases.of(Member(0)), leases.of(Member(1)));
        for block in 1..13 {
            assert_ne!(has(&first, block), has(&second, block), "{block}");
        }
        assert!([3, 6, 9, 12].iter().all(|block| has(&first, *block)), "{:?}", listed(&first));
        assert!([1, 4, 7, 10].iter().all(|block| has(&second, *block)), "{:?}", listed(&second));
        assert!(leases.is_steady());
    }

    #[test]
    fn a_block_comes_to_a_new_member_when_nothing_of_it_is_left() {
        let mut leases = two_of_three();
        leases.joined(Member(2), false);
        let orders = leases.share(&members(&[0, 1, 2]), 10);
        assert!(orders.writes.is_empty() && listed(&leases.of(Member(2))).is_empty());
        assert!(!leases.is_able(Member(2)) && !leases.is_steady());
        // Block 2 is busy, and stays.
        for (member, version, blocks) in orders.instructions {
            assert!(leases.answered(member, version, &set(&[2]), blocks.len() as u32));
        }
        let orders = leases.share(&members(&[0, 1, 2]), 20);
        assert_eq!(listed(&leases.of(Member(2))), [5, 8, 11]);
        assert!(orders.writes.iter().all(|(_, to)| *to == Member(2)), "{orders:?}");
        let [(Member(2), version, _)] = orders.instructions[..] else { panic!("{orders:?}") };
        assert!(!leases.answered(Member(2), version - 1, &[], 3), "an earlier answer");
        assert!(leases.answered(Member(2), version, &[], 3) && leases.is_able(Member(2)));
        // The one that has the last block is asked again.
        assert_eq!(leases.poll(50, 40), Orders::default());
        let again = leases.poll(50, 60).instructions;
        let [(last, version, _)] = again[..] else { panic!("{again:?}") };
        assert!(leases.answered(last, version, &[], 4));
        leases.share(&members(&[0, 1, 2]), 70);
        assert_eq!(listed(&leases.of(Member(2))), [2, 5, 8, 11]);
    }

    #[test]
    fn a_member_that_does_not_answer_is_instructed_again() {
        let mut leases = two_of_three();
        assert_eq!(leases.poll(50, 1_000), Orders::default(), "all have answered");
        leases.joined(Member(2), false);
        leases.share(&members(&[0, 1, 2]), 1_000);
        for member in [0, 1] {
            let (from, version, _) = leases.again(Member(member), 1_000).expect("it is there");
            assert!(leases.answered(from, version, &[], 4));
        }
        assert_eq!(leases.poll(50, 1_049), Orders::default());
        let again: Vec<Member> = leases.poll(50, 1_050).instructions.iter().map(|(to, ..)| *to).collect();
        assert_eq!(again, [Member(2)]);
    }

    #[test]
    fn the_blocks_of_a_server_that_is_gone_rest() {
        let mut leases = two_of_three();
        let own = leases.of(Member(1));
        leases.gone(Member(1), 50);
        leases.share(&members(&[0]), 149);
        assert!(
            !leases.has_rested(149)
                && (1..13).all(|block| !has(&own, block) || !has(&leases.of(Member(0)), block))
        );
        assert!(leases.has_rested(150));
        leases.share(&members(&[0]), 150);
        assert!((1..13).all(|block| has(&leases.of(Member(0)), block)));
        // One that returns earlier has them again.
        let mut leases = two_of_three();
        leases.gone(Member(1), 50);
        leases.joined(Member(1), false);
        leases.share(&members(&[0, 1]), 60);
        assert_eq!(leases.of(Member(1)), own);
        assert!(!leases.is_able(Member(1)), "it has no instruction yet");
    }

    #[test]
    fn a_member_that_drains_keeps_its_own_blocks() {
        let mut leases = two_of_three();
        let orders = leases.share(&members(&[0]), 10);
        assert!([1, 4, 7, 10].iter().all(|block| has(&leases.of(Member(1)), *block)));
        for (member, version, blocks) in orders.instructions {
            leases.answered(member, version, &[], blocks.len() as u32);
        }
        leases.share(&members(&[0]), 20);
        assert_eq!(listed(&leases.of(Member(1))), [1, 4, 7, 10]);
    }

    #[test]
    fn a_withdrawn_block_may_come_back() {
        let mut leases = two_of_three();
        leases.joined(Member(2), false);
        let withdrawn = leases.share(&members(&[0, 1, 2]), 10);
        leases.gone(Member(2), 20);
        leases.share(&members(&[0, 1]), 20);
        // Answers to what is over change nothing.
        for (member, version, _) in withdrawn.instructions.iter().filter(|(member, ..)| *member != Member(2))
        {
            assert!(!leases.answered(*member, *version, &[], 4));
        }
        assert!((1..13).all(|block| has(&leases.of(Member(0)), block) != has(&leases.of(Member(1)), block)));
    }

    #[test]
    fn few_blocks_move() {
        let leases = Leases::new(8, 1024, 0);
        let blocks = |takers: &[u16]| {
            let takers = members(takers);
            (1..1024).map(|block| leases.wish(block, &takers)).collect::<Vec<_>>()
        };
        let (three, four) = (blocks(&[0, 1, 2]), blocks(&[0, 1, 2, 3]));
        let moved = three.iter().zip(&four).filter(|(a, b)| a != b);
        assert!(moved.clone().all(|(_, to)| *to == Some(Member(3))));
        let count = moved.count();
        assert!((200..320).contains(&count), "{count} of 1,023 move to the fourth of four members");
    }
}
