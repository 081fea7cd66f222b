//! A partial placement: candidate devices of each region, free capacity, charged devices.

use super::Pack;
use crate::equal::EqualDevices;

/// Condition of a device in a partial placement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The device may still be charged.
    Ajar,
    /// The device is charged.
    Open,
    /// The device is not charged: it runs only regions without a charge.
    Closed,
}

/// A partial placement.
#[derive(Clone)]
pub struct State {
    /// Bit set of the remaining candidate devices of each region.
    left_of: Vec<u64>,
    words: usize,
    is_placed: Vec<bool>,
    /// Free capacity of each device variable, and number of regions that may still run on the device, by device.
    free: Vec<i64>,
    vars: usize,
    /// Whether a region runs on the device.
    is_used: Vec<bool>,
    door: Vec<Door>,
    /// Number of devices that may still be charged, by class.
    pub left: Vec<u16>,
    /// Whether the paths of the program must be computed again.
    pub dirty: Vec<bool>,
    /// The bound for which they were.
    below: i64,
}

impl State {
    /// Nothing placed.
    pub fn new(of: &Pack, apps: usize, below: i64) -> State {
        let problem = of.problem;
        let devices = problem.class.len();
        let words = devices.div_ceil(64);
        let mut left_of = vec![0; problem.nodes.len() * words];
        for (node, region) in problem.nodes.iter().enumerate() {
            let is_allowed = |device: &&usize| of.allowed[node].contains(&of.equal.group[**device]);
            for device in region.on.iter().filter(is_allowed) {
                left_of[node * words + device / 64] |= 1 << (device % 64);
            }
        }
        let free = |device: usize| {
            let runs = if problem.is_single[device] { 1 } else { i64::MAX };
            problem.limits[device].iter().copied().chain([runs])
        };
        State {
            left_of,
            words,
            is_placed: vec![false; problem.nodes.len()],
            free: (0..devices).flat_map(free).collect(),
            vars: problem.scopes.device.len() + 1,
            is_used: vec![false; devices],
            door: vec![Door::Ajar; devices],
            left: (0..problem.classes).map(|class| of.counts.most(class, of.charges)).collect(),
            dirty: vec![true; apps],
            below,
        }
    }

    /// From now on, paths have to stay below a bound that is no higher.
    pub fn look_below(&mut self, below: i64) {
        if below < self.below {
            self.below = below;
            self.dirty.fill(true);
        }
    }

    pub fn is_placed(&self, node: usize) -> bool {
        self.is_placed[node]
    }

    /// Regions that are not placed.
    pub fn unplaced(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.is_placed.len()).filter(|node| !self.is_placed[*node])
    }

    /// The devices left of a region.
    pub fn devices(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        bits(&self.left_of[node * self.words..][..self.words])
    }

    /// Groups of the devices left for a region, each once.
    pub fn groups(&self, equal: &EqualDevices, node: usize) -> Vec<usize> {
        let mut groups: Vec<usize> = self.devices(node).map(|device| equal.group[device]).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Free amount of each device variable, then the number of regions that may still run there.
    pub fn free(&self, device: usize) -> &[i64] {
        &self.free[device * self.vars..][..self.vars]
    }

    /// Leaves only those devices of a region. Whether there were others.
    pub fn retain(&mut self, of: &Pack, node: usize, mut is_kept: impl FnMut(&State, usize) -> bool) -> bool {
        let mut is_less = false;
        for word in 0..self.words {
            let mut kept = self.left_of[node * self.words + word];
            for device in bits(&[kept]) {
                if !is_kept(self, word * 64 + device) {
                    kept &= !(1 << device);
                    is_less = true;
                }
            }
            self.left_of[node * self.words + word] = kept;
        }
        self.dirty[of.problem.nodes[node].app] |= is_less;
        is_less
    }

    /// Leaves one device of a region; it is not placed yet.
    pub fn choose(&mut self, node: usize, device: usize) {
        let row = &mut self.left_of[node * self.words..][..self.words];
        row.fill(0);
        row[device / 64] = 1 << (device % 64);
    }

    /// Whether a device may run a region more.
    pub fn cost(&self, of: &Pack, node: usize, device: usize) -> bool {
        let class = of.problem.class[device];
        let is_open = match self.door[device] {
            Door::Open => true,
            Door::Ajar => self.left[class] > 0 || !of.charges.is_charged(node, class),
            Door::Closed => !of.charges.is_charged(node, class),
        };
        let free = self.free(device);
        is_open
            && free[self.vars - 1] > 0
            && of.uses[node][class].iter().zip(free).all(|(uses, free)| uses <= free)
    }

    /// Places a region.
    pub fn put(&mut self, of: &Pack, node: usize, device: usize) {
        let class = of.problem.class[device];
        let region = &of.problem.nodes[node];
        self.is_placed[node] = true;
        self.is_used[device] = true;
        self.dirty[region.app] = true;
        let free = &mut self.free[device * self.vars..][..self.vars];
        for (free, uses) in free.iter_mut().zip(of.uses[node][class].iter().chain([&1])) {
            if *free < i64::MAX {
                *free -= uses;
            }
        }
        if of.charges.is_charged(node, class) && self.door[device] == Door::Ajar {
            self.open(of, device);
        }
        for other in &region.together {
            self.retain(of, *other, |_, left| left == device);
        }
    }

    /// Charges a device.
    pub fn open(&mut self, of: &Pack, device: usize) {
        self.door[device] = Door::Open;
        let left = &mut self.left[of.problem.class[device]];
        *left = left.saturating_sub(1);
    }

    /// Whether a device may still be charged.
    pub fn may_open(&self, of: &Pack, device: usize) -> bool {
        self.door[device] == Door::Ajar && self.left[of.problem.class[device]] > 0
    }

    /// Excludes a device, and all devices in the same condition, from being charged.
    pub fn close(&mut self, of: &Pack, device: usize) {
        let alike: Vec<usize> =
            (0..self.door.len()).filter(|other| self.is_alike(of, *other, device)).collect();
        alike.into_iter().chain([device]).for_each(|device| self.door[device] = Door::Closed);
    }

    /// Whether it makes no difference which of two devices runs something.
    pub fn is_alike(&self, of: &Pack, a: usize, b: usize) -> bool {
        of.equal.group[a] == of.equal.group[b]
            && self.door[a] == self.door[b]
            && !self.is_used[a]
            && !self.is_used[b]
    }

    /// Key of the state for the remaining regions: devices left for programs with such regions, and the free amounts on
    /// these, capped at the possible use.
    pub fn key(&self, of: &Pack, apps: &[Vec<usize>]) -> Box<[u64]> {
        let mut key = vec![];
        let mut used = vec![0i64; self.free.len()];
        let mut wanted = vec![0u64; self.words];
        for (at, app) in apps.iter().enumerate() {
            if app.iter().all(|node| self.is_placed[*node]) {
                continue;
            }
            key.push(at as u64);
            for &node in app {
                let row = &self.left_of[node * self.words..][..self.words];
                key.extend(row);
                if self.is_placed[node] {
                    continue;
                }
                wanted.iter_mut().zip(row).for_each(|(wanted, row)| *wanted |= row);
                for device in bits(row) {
                    let uses = of.uses[node][of.problem.class[device]].iter().chain([&1]);
                    let used = &mut used[device * self.vars..][..self.vars];
                    used.iter_mut().zip(uses).for_each(|(sum, uses)| *sum = sum.saturating_add(*uses));
                }
            }
        }
        for device in bits(&wanted) {
            key.push(self.door[device] as u64 * 2 + u64::from(self.is_used[device]));
            let used = &used[device * self.vars..][..self.vars];
            key.extend(self.free(device).iter().zip(used).map(|(free, used)| *free.min(used) as u64));
        }
        key.extend(self.left.iter().map(|left| u64::from(*left)));
        key.into()
    }
}

/// The places of bits that are set.
pub fn bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(at * 64 + bit)
        })
    })
}
