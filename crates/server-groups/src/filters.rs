//! CLIP's own scheme: two Bloom filters that alternate (section V-B). **Not exact**: a false positive of the older filter sends a new
//! flow to the older members. If that flow begins after the servers have reported their flows and before the filters change roles,
//! nothing pins it, and its next packet goes to another server.
//!
//! ```text
//! packet   pin, else { filter[current] += flow;  server = members[filter[older] has flow ? older : current] }
//! change   pins for flows known to filter[older];  filter[older] := {};  members[older] := new members;  current := older
//! ```

use crate::Member;

/// When a flow is put into the current filter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Insert {
    /// With each packet, as the paper does.
    Always,
    /// Only if the older filter does not have it, so that the filter is not filled with flows of older members.
    Unknown,
}

/// A Bloom filter with one array for each of two hashes, as a pipeline has it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Filter {
    arrays: [Vec<bool>; 2],
    set: [usize; 2],
}

impl Filter {
    fn new(bits: usize) -> Filter {
        Filter { arrays: [vec![false; bits], vec![false; bits]], set: [0; 2] }
    }

    fn add(&mut self, hashes: [u32; 2]) {
        for (i, hash) in hashes.into_iter().enumerate() {
            let bit = hash as usize % self.arrays[i].len();
            self.set[i] += usize::from(!self.arrays[i][bit]);
            self.arrays[i][bit] = true;
        }
    }

    fn has(&self, hashes: [u32; 2]) -> bool {
        hashes.into_iter().zip(&self.arrays).all(|(hash, array)| array[hash as usize % array.len()])
    }

    /// The share of bits that are set, in per mille, of the fuller array.
    fn fill(&self) -> usize {
        let most = self.set.iter().max().copied().unwrap_or(0);
        most * 1000 / self.arrays[0].len()
    }
}

/// The hashes of a flow: two for each filter, and one that chooses the member.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Hashes {
    /// Two for each filter.
    pub filters: [[u32; 2]; 2],
    /// Chooses the member.
    pub member: u32,
}

impl Hashes {
    /// From a number that identifies the flow.
    pub fn of(flow: u64) -> Hashes {
        let two = |salt: u64| {
            let hash = mix(flow.wrapping_mul(4).wrapping_add(salt));
            [hash as u32, (hash >> 32) as u32]
        };
        Hashes { filters: [two(0), two(1)], member: two(3)[0] }
    }
}

/// SplitMix64's output function.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The switch's filters, and the members that belong to each.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Filters {
    filters: [Filter; 2],
    members: [Vec<Member>; 2],
    current: usize,
    insert: Insert,
}

impl Filters {
    /// Two filters of twice `bits` bits each, at least 1; one group of members for both.
    pub fn new(bits: usize, members: Vec<Member>, insert: Insert) -> Filters {
        let filter = Filter::new(bits.max(1));
        Filters { filters: [filter.clone(), filter], members: [members.clone(), members], current: 0, insert }
    }

    /// The server for a packet of a flow that is not pinned; none if there are no members.
    pub fn dispatch(&mut self, flow: &Hashes) -> Option<Member> {
        let older = 1 - self.current;
        let is_known = self.knows(flow);
        if self.insert == Insert::Always || !is_known {
            self.filters[self.current].add(flow.filters[self.current]);
        }
        let members = &self.members[if is_known { older } else { self.current }];
        members.get((flow.member as usize).checked_rem(members.len())?).copied()
    }

    /// The older filter has the flow, or flows that look like it: before a change it needs a pin.
    pub fn knows(&self, flow: &Hashes) -> bool {
        let older = 1 - self.current;
        self.filters[older].has(flow.filters[older])
    }

    /// The members of new flows.
    pub fn members(&self) -> &[Member] {
        &self.members[self.current]
    }

    /// The share of bits of the current filter that are set, in per mille. Above 500 most new flows would look like old ones after a
    /// change, so that a change moves hardly any.
    pub fn fill(&self) -> usize {
        self.filters[self.current].fill()
    }

    /// The change: the older filter is emptied and becomes the current one, with these members.
    pub fn flip(&mut self, members: Vec<Member>) {
        let older = 1 - self.current;
        let bits = self.filters[older].arrays[0].len();
        self.filters[older] = Filter::new(bits);
        self.members[older] = members;
        self.current = older;
    }
}
