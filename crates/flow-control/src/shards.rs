//! Assignment of flows to helpers: logical shards, each with a primary and a backup (ExoPlane, sections 4.4 and 4.5).
//!
//! A flow's shard is a hash of its key modulo the number of shards, which never changes. A shard's helpers do. There are enough shards
//! that the flows of a helper that fails are spread over all others: with N helpers, N (N - 1) shards, each survivor serves
//! 1 / (N - 1) more.
//!
//! ```text
//! shard   primary backup        helper 1 fails        helper 1 is back, copies made     swapped
//! 0       1       2             2       -             2       1                         1       2
//! 1       1       3             3       -             3       1                         1       3
//! 2       2       3             2       3             2       3                         2       3
//! ```
//!
//! Fail-over is in one direction: a helper that comes back holds old state, so it serves again only after its copies
//! are made ([`Shards::copied`]). Each change of a shard gives it a new epoch, and copies made for an old epoch do not
//! count.

use std::collections::BTreeSet;

/// A helper, by its place in the caller's list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Helper(pub u16);

/// A share of the flows, by its place in the map.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ShardId(pub u32);

/// Devices that serve a share of the flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Processes the flows. None: two helpers have failed, and the state of these flows is lost.
    pub primary: Option<Helper>,
    /// Has all that the primary has, and takes over.
    pub backup: Option<Helper>,
    /// Counts the changes of this shard.
    pub epoch: u32,
}

/// A copy that is to be made: the state of the shard, from its primary to a helper that becomes its backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copying {
    /// Shard that is copied.
    pub shard: ShardId,
    /// Helper that serves the shard.
    pub from: Helper,
    /// Helper that becomes the backup.
    pub to: Helper,
    /// The shard's epoch for which the copy counts.
    pub epoch: u32,
}

/// The map of all shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shards {
    shards: Vec<Shard>,
    alive: BTreeSet<Helper>,
}

impl Shards {
    /// The shards that let each survivor of a failure take the same share: `helpers` times one less, and at least 1.
    pub fn enough(helpers: u16) -> u32 {
        let n = u32::from(helpers);
        (n * n.saturating_sub(1)).max(1)
    }

    /// `count` shards over helpers `0..helpers`, equally many each. A single helper has no backup.
    pub fn new(helpers: u16, count: u32) -> Shards {
        let n = u32::from(helpers.max(1));
        let helper = |i: u32| Helper((i % n) as u16);
        let shard = |i: u32| {
            let (primary, turn) = (i % n, i / n);
            let backup = (n > 1).then(|| helper(primary + 1 + turn % (n - 1)));
            Shard { primary: Some(helper(primary)), backup, epoch: 0 }
        };
        Shards { shards: (0..count).map(shard).collect(), alive: (0..n).map(helper).collect() }
    }

    /// Devices of the shard.
    pub fn shard(&self, id: ShardId) -> Option<Shard> {
        self.shards.get(id.0 as usize).copied()
    }

    /// The shard of a flow whose key has this hash.
    pub fn of_hash(&self, hash: u64) -> ShardId {
        ShardId((hash % self.shards.len().max(1) as u64) as u32)
    }

    /// All shards in order.
    pub fn iter(&self) -> impl Iterator<Item = (ShardId, Shard)> + '_ {
        self.shards.iter().enumerate().map(|(i, shard)| (ShardId(i as u32), *shard))
    }

    /// The helper has failed: backups take over from it, and nobody copies to it. Gives the shards that have changed.
    pub fn failed(&mut self, helper: Helper) -> Vec<ShardId> {
        self.alive.remove(&helper);
        self.change(|shard| {
            if shard.primary == Some(helper) {
                shard.primary = shard.backup.take();
            } else if shard.backup == Some(helper) {
                shard.backup = None;
            } else {
                return false;
            }
            true
        })
    }

    /// The helper works, with whatever old state. It serves nothing until copies are made; shards that nobody serves start empty at it.
    pub fn recovered(&mut self, helper: Helper) -> Vec<ShardId> {
        self.alive.insert(helper);
        self.change(|shard| {
            let lost = shard.primary.is_none();
            if lost {
                shard.primary = Some(helper);
            }
            lost
        })
    }

    /// The copies that give every shard a backup again, if there is a second helper: backups go where the fewest are, so that a
    /// failure is spread. The same answer until something changes.
    pub fn copies(&self) -> Vec<Copying> {
        let mut backups = self.backups();
        let mut copies = vec![];
        for (shard, Shard { primary, backup, epoch }) in self.iter() {
            let (Some(from), None) = (primary, backup) else { continue };
            let candidates = self.alive.iter().copied().filter(|&helper| helper != from);
            let to = candidates
                .min_by_key(|&to| (backups.iter().filter(|&&b| b == (from, to)).count(), self.load(to), to));
            if let Some(to) = to {
                backups.push((from, to));
                copies.push(Copying { shard, from, to, epoch });
            }
        }
        copies
    }

    /// A copy has been made, and the helper gets every write from here on: it is the backup. False if the shard has changed meanwhile.
    pub fn copied(&mut self, copying: &Copying) -> bool {
        let alive = self.alive.contains(&copying.to);
        match self.shards.get_mut(copying.shard.0 as usize) {
            Some(shard) if alive && shard.epoch == copying.epoch && shard.backup.is_none() => {
                shard.backup = Some(copying.to);
                shard.epoch += 1;
                true
            }
            _ => false,
        }
    }

    /// A shard whose backup is to become its primary, so that helpers have equal shares; none if they have.
    pub fn unbalanced(&self) -> Option<ShardId> {
        let pairs = self.iter().filter_map(|(id, shard)| Some((id, shard.primary?, shard.backup?)));
        let gain = |from, to| self.load(from).saturating_sub(self.load(to));
        let best = pairs
            .map(|(id, from, to)| (gain(from, to), id))
            .max_by_key(|&(gain, id)| (gain, std::cmp::Reverse(id)));
        best.filter(|&(gain, _)| gain > 1).map(|(_, id)| id)
    }

    /// Primary and backup change places. The caller has drained the shard, so that no packet is at the old primary.
    pub fn swap(&mut self, id: ShardId) {
        if let Some(shard) = self.shards.get_mut(id.0 as usize)
            && shard.backup.is_some()
        {
            std::mem::swap(&mut shard.primary, &mut shard.backup);
            shard.epoch += 1;
        }
    }

    /// Shards that the helper serves.
    pub fn load(&self, helper: Helper) -> usize {
        self.shards.iter().filter(|shard| shard.primary == Some(helper)).count()
    }

    fn backups(&self) -> Vec<(Helper, Helper)> {
        self.shards.iter().filter_map(|shard| Some((shard.primary?, shard.backup?))).collect()
    }

    fn change(&mut self, mut change: impl FnMut(&mut Shard) -> bool) -> Vec<ShardId> {
        let mut changed = vec![];
        for (i, shard) in self.shards.iter_mut().enumerate() {
            if change(shard) {
                shard.epoch += 1;
                changed.push(ShardId(i as u32));
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::{Helper, Shards};

    fn copy_all(shards: &mut Shards) {
        for copying in shards.copies() {
            assert!(shards.copied(&copying));
        }
    }

    fn loads(shards: &Shards, helpers: u16) -> Vec<usize> {
        (0..helpers).map(|i| shards.load(Helper(i))).collect()
    }

    #[test]
    fn a_failure_is_spread_over_all_others() {
        for n in 2..9 {
            let mut shards = Shards::new(n, Shards::enough(n));
            assert_eq!(loads(&shards, n), vec![usize::from(n) - 1; n.into()]);
            shards.failed(Helper(1));
            let survivors: Vec<usize> = (0..n).filter(|&i| i != 1).map(|i| shards.load(Helper(i))).collect();
            assert_eq!(survivors, vec![usize::from(n); usize::from(n) - 1], "{n} helpers");
        }
    }

    #[test]
    fn a_helper_that_is_back_serves_after_copies_are_made() {
        let mut shards = Shards::new(4, 12);
        shards.failed(Helper(2));
        assert!(shards.recovered(Helper(2)).is_empty());
        assert_eq!(shards.load(Helper(2)), 0);
        assert_eq!(shards.unbalanced(), None, "it backs nothing up yet");
        copy_all(&mut shards);
        while let Some(shard) = shards.unbalanced() {
            shards.swap(shard);
        }
        assert_eq!(loads(&shards, 4), [3, 3, 3, 3]);
        assert!(shards.iter().all(|(_, shard)| shard.backup.is_some() && shard.backup != shard.primary));
    }

    #[test]
    fn two_failures_in_one_pair_lose_what_the_pair_served() {
        let mut shards = Shards::new(3, 6);
        shards.failed(Helper(0));
        let lost = shards.failed(Helper(1));
        assert_eq!(shards.iter().filter(|(_, shard)| shard.primary.is_none()).count(), 2);
        assert_eq!(loads(&shards, 3), [0, 0, 4]);
        assert!(!lost.is_empty());
        assert_eq!(shards.recovered(Helper(0)).len(), 2);
        assert_eq!(loads(&shards, 3), [2, 0, 4]);
    }

    #[test]
    fn two_failures_with_copies_made_between_lose_nothing() {
        let mut shards = Shards::new(4, 12);
        shards.failed(Helper(0));
        copy_all(&mut shards);
        shards.failed(Helper(1));
        assert!(shards.iter().all(|(_, shard)| shard.primary.is_some()));
        copy_all(&mut shards);
        assert!(shards.iter().all(|(_, shard)| shard.backup.is_some()));
    }

    #[test]
    fn a_copy_for_an_older_epoch_does_not_count() {
        let mut shards = Shards::new(3, 6);
        shards.failed(Helper(0));
        let copies = shards.copies();
        shards.failed(copies[0].from);
        assert!(!shards.copied(&copies[0]));
        shards.recovered(Helper(0));
        assert!(!shards.copied(&copies[0]));
    }

    #[test]
    fn a_helper_alone_has_no_backup() {
        let mut shards = Shards::new(1, 1);
        assert_eq!(shards.copies(), []);
        assert_eq!(shards.failed(Helper(0)).len(), 1);
        assert_eq!(shards.iter().filter(|(_, shard)| shard.primary.is_some()).count(), 0);
    }
}
