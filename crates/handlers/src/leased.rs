//! Blocks as instances have them.

use crate::Share;
use dataplane_api::Leased;
use ir_handlers::Handler;

/// The blocks that an instance has had. One that cannot say what it still uses keeps all of them.
#[derive(Default)]
pub struct Had(Vec<u8>);

impl Had {
    /// The answer of an instance with these blocks, from what it says itself.
    pub fn answer(&mut self, blocks: &[u8], said: Option<Leased>) -> Leased {
        let own = Leased { busy: blocks.to_vec(), usable: 0 };
        self.0 = own.and(&Leased { busy: std::mem::take(&mut self.0), usable: 0 }).busy;
        said.unwrap_or_else(|| Leased { busy: self.0.clone(), usable: count(blocks) })
    }

    /// The instance begins anew.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// A set with a place for each block of a handler; none if the handler takes no numbers of blocks.
pub fn of_handler(handler: &Handler, blocks: &[u8]) -> Option<Vec<u8>> {
    let width = handler.block.as_ref()?.width;
    let mut all = blocks.to_vec();
    all.resize(((1usize << width.min(16)) / 8).max(1), 0);
    Some(all)
}

/// The blocks of worker `number` of so many, by [`Share::worker`].
pub fn of_worker(blocks: &[u8], share: Share, (number, workers): (usize, usize)) -> Vec<u8> {
    let mut own = blocks.to_vec();
    for block in 0..own.len() * 8 {
        if share.worker(block as u64, workers) != number {
            own[block / 8] &= !(1 << (block % 8));
        }
    }
    own
}

/// The number of blocks in a set.
fn count(blocks: &[u8]) -> u32 {
    blocks.iter().map(|byte| byte.count_ones()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_divide_all_blocks() {
        let (all, share) = (vec![0xff; 8], Share { server: 1, servers: 2 });
        let parts: Vec<Vec<u8>> = (0..3).map(|number| of_worker(&all, share, (number, 3))).collect();
        for at in 0..8 {
            assert_eq!(parts.iter().map(|part| part[at].count_ones()).sum::<u32>(), 8);
            assert_eq!(parts.iter().fold(0, |sum, part| sum | part[at]), 0xff);
        }
        // Block 9 is the fifth pair's.
        assert_eq!(parts[1][1] & 2, 2);
        // Blocks that are at home here are with the workers whose part they are.
        for block in (1..64).step_by(2) {
            let worker = share.worker(block, 3);
            let part = share.part(worker as u16, 3);
            assert_eq!(block % u64::from(part.servers), u64::from(part.server), "{block}");
        }
    }

    #[test]
    fn without_a_word_all_blocks_are_kept() {
        let mut had = Had::default();
        assert_eq!(had.answer(&[0b110], None), Leased { busy: vec![0b110], usable: 2 });
        assert_eq!(had.answer(&[0b1000], None), Leased { busy: vec![0b1110], usable: 1 });
        let said = Leased { busy: vec![2], usable: 1 };
        assert_eq!(had.answer(&[0], Some(said.clone())), said);
        had.forget();
        assert_eq!(had.answer(&[0], None), Leased { busy: vec![0], usable: 0 });
    }
}
