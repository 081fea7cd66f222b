//! A tree bitmap: a trie of six bits a step with compressed arrays of children and of values.
//!
//! ```text
//! a node at depth d decides bits d .. d+6 and holds the prefixes that end in them
//!   children  64 bits   which of the 64 continuations have a node
//!   full      64 bits   which of the 64 prefixes of length d+6 are there
//!   short     62 bits   which of the 2 + 4 + 8 + 16 + 32 prefixes of length d+1 .. d+5 are there
//!   child, value        where the runs of children and of entry numbers begin: full ones first, then short
//! ```
//!
//! Below the first 24 bits, a path without a branch or a prefix is a single node, a jump: `full` has up to ten pieces
//! of six bits, `short` their number, `child` their target. A jump has no children, which distinguishes it from other
//! nodes.
//!
//! A prefix is in exactly one node, so that the trie needs no second structure to be updated from: insert and remove
//! touch one path. State: 32 bytes a node, two nodes in a cache line, and 4 bytes a prefix, up to twice that for room
//! to grow. Cost: a lookup reads one node for each six bits until no longer prefix can be there, then one entry number;
//! an update in addition moves up to 64 items.
//! Eatherton, Varghese, Dittia: Tree Bitmap (SIGCOMM CCR 2004); six bits and popcounts as in Poptrie (SIGCOMM 2015).

use super::arena::Arena;
use super::bits::{BitString, STRIDE};
use crate::cpu;
use crate::records::MISS;

/// A node of the tree bitmap.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(32))]
pub(crate) struct Node {
    children: u64,
    full: u64,
    short: u64,
    child: u32,
    value: u32,
}

/// Root of a trie.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Root {
    node: Node,
    /// The entry with the empty prefix.
    default: u32,
}

/// The nodes and values of any number of tries.
#[derive(Clone, Debug)]
pub(crate) struct Tries {
    nodes: Arena<Node>,
    values: Arena<u32>,
}

/// Jumps begin at this depth or below: above it, [`Shortcut`](super::shortcut::Shortcut) saves more.
const FIRST_JUMP: u32 = super::shortcut::DEPTH;

/// In pieces. Over one, a node is as good.
const SHORTEST_JUMP: u32 = 2;

/// In pieces.
const LONGEST_JUMP: u32 = 10;

/// The prefixes of length 1 to 5 that six bits begin with, as positions in `short`.
const SHORTER: [u64; 64] = {
    let mut masks = [0; 64];
    let mut piece = 0;
    while piece < 64 {
        let mut length = 1;
        while length < STRIDE {
            masks[piece] |= 1 << short_bit(piece as u32 >> (STRIDE - length), length);
            length += 1;
        }
        piece += 1;
    }
    masks
};

/// The position in `short` of a prefix of 1 to 5 bits. Longer ones are higher.
const fn short_bit(prefix: u32, length: u32) -> u32 {
    (1 << length) - 2 + prefix
}

#[inline(always)]
fn below(bits: u64, position: u32) -> u32 {
    (bits & ((1 << position) - 1)).count_ones()
}

impl Node {
    #[inline(always)]
    fn has_child(&self, piece: u32) -> bool {
        self.children >> piece & 1 == 1
    }

    /// Position of an existing child.
    #[inline(always)]
    fn child_at(&self, piece: u32) -> u32 {
        self.child + below(self.children, piece)
    }

    /// True if a prefix of `piece` is in this node.
    #[inline(always)]
    fn matches(&self, piece: u32) -> bool {
        (self.full >> piece & 1) | (self.short & SHORTER[piece as usize]) != 0
    }

    /// Position of the value of the longest prefix of `piece`. One must exist.
    #[inline(always)]
    fn longest(&self, piece: u32) -> u32 {
        let short = self.short & SHORTER[piece as usize];
        let found = if self.full >> piece & 1 == 1 { 64 + piece } else { 63 - short.leading_zeros() };
        self.value_at(found)
    }

    /// Position of the value of an existing prefix: 64 + `piece` for a full one, else its bit in `short`.
    #[inline(always)]
    fn value_at(&self, prefix: u32) -> u32 {
        self.value + self.rank(prefix)
    }

    #[inline(always)]
    fn rank(&self, prefix: u32) -> u32 {
        match prefix.checked_sub(64) {
            Some(piece) => below(self.full, piece),
            None => self.full.count_ones() + below(self.short, prefix),
        }
    }

    fn flip(&mut self, prefix: u32) {
        match prefix.checked_sub(64) {
            Some(piece) => self.full ^= 1 << piece,
            None => self.short ^= 1 << prefix,
        }
    }

    fn values(&self) -> u32 {
        self.full.count_ones() + self.short.count_ones()
    }

    fn is_empty(&self) -> bool {
        self.children | self.full | self.short == 0
    }

    /// A jump over `count` pieces to the node at `target`.
    fn jump(pieces: u64, count: u32, target: u32) -> Node {
        Node { full: pieces, short: u64::from(count), child: target + 1, ..Node::default() }
    }

    #[inline(always)]
    fn is_jump(&self) -> bool {
        self.children == 0 && self.child != 0
    }

    /// The pieces of a jump, how many they are, and its target.
    #[inline(always)]
    fn as_jump(&self) -> (u64, u32, u32) {
        (self.full, self.short as u32, self.child - 1)
    }
}

/// Keys that [`Tries::resume_all`] takes at once.
pub(crate) const AT_ONCE: usize = 16;

/// Position of a lookup in the trie.
#[derive(Clone, Copy, Default)]
struct Cursor {
    node: u32,
    depth: u32,
    /// Position of the value of the longest prefix so far.
    value: Option<u32>,
}

/// Result of a descent: the best entry so far, and the node.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Descent {
    /// The entry with the longest prefix above, or [`MISS`].
    pub(crate) best: u32,
    /// 1 + the node's position; 0 if there is none.
    pub(crate) node: u32,
}

impl Root {
    pub(crate) fn is_empty(&self) -> bool {
        self.node.is_empty() && self.default == MISS
    }
}

impl Tries {
    pub(crate) fn new() -> Tries {
        Tries { nodes: Arena::new(), values: Arena::new() }
    }

    /// The entry with the longest prefix of `key`, or [`MISS`].
    #[inline(always)]
    pub(crate) fn lookup(&self, root: &Root, key: impl BitString) -> u32 {
        self.descend(&root.node, root.default, key, 0)
    }

    /// Continues a lookup from a node at `depth`.
    #[inline(always)]
    pub(crate) fn resume(&self, from: Descent, key: impl BitString, depth: u32) -> u32 {
        match from.node.checked_sub(1) {
            Some(node) => self.descend(self.nodes.get(node), from.best, key, depth),
            None => from.best,
        }
    }

    #[inline(always)]
    fn descend<'t>(&'t self, mut node: &'t Node, best: u32, key: impl BitString, mut depth: u32) -> u32 {
        let mut hit = None;
        loop {
            if node.is_jump() {
                let (pieces, count, target) = node.as_jump();
                if key.pieces(depth, count) != pieces {
                    break;
                }
                depth += STRIDE * count;
                node = self.nodes.get(target);
            }
            let piece = key.piece(depth);
            if node.matches(piece) {
                hit = Some((node, piece));
            }
            if !node.has_child(piece) {
                break;
            }
            node = self.nodes.get(node.child_at(piece));
            depth += STRIDE;
        }
        hit.map_or(best, |(node, piece)| *self.values.get(node.longest(piece)))
    }

    /// [`resume`](Tries::resume) for several keys, up to [`AT_ONCE`], a step of each in turn: their memory is waited for
    /// together.
    #[inline(always)]
    pub(crate) fn resume_all<K: BitString>(
        &self,
        from: &[Descent],
        keys: &[K],
        depth: u32,
        found: &mut [u32],
    ) {
        let mut cursors = [Cursor::default(); AT_ONCE];
        let mut active = [0u8; AT_ONCE];
        let mut left = 0;
        for (i, (cursor, from)) in cursors.iter_mut().zip(from).enumerate() {
            if let Some(node) = from.node.checked_sub(1) {
                *cursor = Cursor { node, depth, value: None };
                cpu::prefetch(self.nodes.get(node));
                active[left] = i as u8;
                left += 1;
            }
        }
        // Each key advances by one node in turn, so that the waits for memory overlap.
        while left > 0 {
            let mut stay = 0;
            for i in 0..left {
                let at = active[i];
                if self.advance(&mut cursors[at as usize], keys[at as usize]) {
                    active[stay] = at;
                    stay += 1;
                }
            }
            left = stay;
        }
        for ((found, from), cursor) in found.iter_mut().zip(from).zip(cursors) {
            *found = cursor.value.map_or(from.best, |value| *self.values.get(value));
        }
    }

    /// One step; false at the end.
    #[inline(always)]
    fn advance(&self, cursor: &mut Cursor, key: impl BitString) -> bool {
        let node = self.nodes.get(cursor.node);
        if node.is_jump() {
            let (pieces, count, target) = node.as_jump();
            if key.pieces(cursor.depth, count) != pieces {
                return false;
            }
            (cursor.depth, cursor.node) = (cursor.depth + STRIDE * count, target);
        } else {
            let piece = key.piece(cursor.depth);
            if node.matches(piece) {
                let value = node.longest(piece);
                cpu::prefetch(self.values.get(value));
                cursor.value = Some(value);
            }
            if !node.has_child(piece) {
                return false;
            }
            (cursor.depth, cursor.node) = (cursor.depth + STRIDE, node.child_at(piece));
        }
        cpu::prefetch(self.nodes.get(cursor.node));
        true
    }

    /// The descent along a key of `depth` bits, a multiple of the stride.
    pub(crate) fn walk(&self, root: &Root, key: impl BitString, depth: u32) -> Descent {
        let mut found = Descent { best: root.default, node: 0 };
        let mut node = &root.node;
        for at in (0..depth).step_by(STRIDE as usize) {
            let step = self.step(node, key.piece(at), found.best);
            found = step;
            match step.node.checked_sub(1) {
                Some(next) => node = self.nodes.get(next),
                None => break,
            }
        }
        found
    }

    /// One step further from `found`.
    pub(crate) fn next(&self, root: &Root, found: Descent, depth: u32, piece: u32) -> Descent {
        match found.node.checked_sub(1) {
            Some(node) => self.step(self.nodes.get(node), piece, found.best),
            None if depth == 0 => self.step(&root.node, piece, found.best),
            None => found,
        }
    }

    fn step(&self, node: &Node, piece: u32, best: u32) -> Descent {
        let best = if node.matches(piece) { *self.values.get(node.longest(piece)) } else { best };
        Descent { best, node: if node.has_child(piece) { node.child_at(piece) + 1 } else { 0 } }
    }

    /// Adds the first `length` bits of `key`, a prefix that is not there.
    pub(crate) fn insert(&mut self, root: &mut Root, key: impl BitString, length: u32, entry: u32) {
        if length == 0 {
            root.default = entry;
            return;
        }
        let (last, prefix) = ending(key, length);
        // `node` is a copy; `home` is its place.
        let (mut node, mut home, mut depth) = (root.node, None, 0);
        while depth < last {
            let piece = key.piece(depth);
            if !node.has_child(piece) {
                let (len, at) = (node.children.count_ones(), below(node.children, piece));
                let child = self.way_to(key, depth + STRIDE, last);
                node.child = self.nodes.insert(node.child, len, at, child);
                node.children |= 1 << piece;
                self.store(root, home, node);
            }
            depth += STRIDE;
            let mut at = node.child_at(piece);
            if self.nodes.get(at).is_jump() {
                (at, depth) = self.follow(at, key, depth, last);
            }
            (home, node) = (Some(at), *self.nodes.get(at));
        }
        node.value = self.values.insert(node.value, node.values(), node.rank(prefix), entry);
        node.flip(prefix);
        self.store(root, home, node);
    }

    /// Node for a new child at `depth` above a new node at `last`: a jump if the distance allows one, else empty.
    fn way_to(&mut self, key: impl BitString, depth: u32, last: u32) -> Node {
        let count = ((last - depth) / STRIDE).min(LONGEST_JUMP);
        if count < SHORTEST_JUMP || depth < FIRST_JUMP {
            return Node::default();
        }
        let target = self.nodes.take(1);
        *self.nodes.get_mut(target) = Node::default();
        Node::jump(key.pieces(depth, count), count, target)
    }

    /// The node and its depth that the jump at `at` leads to, after shortening the jump so that it leads to a node on
    /// the path to `last`: the paths part at a node then.
    fn follow(&mut self, at: u32, key: impl BitString, depth: u32, last: u32) -> (u32, u32) {
        let (pieces, count, target) = self.nodes.get(at).as_jump();
        let differs = key.pieces(depth, count) ^ pieces;
        let same = (differs << (64 - STRIDE * count)).leading_zeros() / STRIDE;
        let same = same.min(count).min((last - depth) / STRIDE);
        if same == count {
            return (target, depth + STRIDE * count);
        }
        // same pieces, one that the parting decides, the rest
        let rest = count - same - 1;
        let piece = pieces >> (STRIDE * rest) & 63;
        let onward = match rest {
            0 => {
                let node = *self.nodes.get(target);
                self.nodes.give(target, 1);
                node
            }
            _ => Node::jump(pieces & ((1 << (STRIDE * rest)) - 1), rest, target),
        };
        let child = self.nodes.insert(0, 0, 0, onward);
        let parting = Node { children: 1 << piece, child, ..Node::default() };
        if same == 0 {
            *self.nodes.get_mut(at) = parting;
            return (at, depth);
        }
        let place = self.nodes.take(1);
        *self.nodes.get_mut(place) = parting;
        *self.nodes.get_mut(at) = Node::jump(pieces >> (STRIDE * (rest + 1)), same, place);
        (place, depth + STRIDE * same)
    }

    /// Removes the first `length` bits of `key`, a prefix that is there.
    pub(crate) fn remove(&mut self, root: &mut Root, key: impl BitString, length: u32) {
        if length == 0 {
            root.default = MISS;
            return;
        }
        let (last, prefix) = ending(key, length);
        let (mut node, mut home, mut depth, mut path) = (root.node, None, 0, vec![]);
        while depth < last {
            if node.is_jump() {
                let (_, count, target) = node.as_jump();
                depth += STRIDE * count;
                path.push((home, None));
                (home, node) = (Some(target), *self.nodes.get(target));
                continue;
            }
            let piece = key.piece(depth);
            if !node.has_child(piece) {
                return;
            }
            depth += STRIDE;
            path.push((home, Some(piece)));
            let at = node.child_at(piece);
            (home, node) = (Some(at), *self.nodes.get(at));
        }
        node.value = self.values.remove(node.value, node.values(), node.rank(prefix));
        node.flip(prefix);
        self.store(root, home, node);
        // A node without prefixes and children goes, and so does each one above that becomes empty by it.
        while node.is_empty()
            && let Some((parent, piece)) = path.pop()
        {
            let gone = home;
            home = parent;
            node = parent.map_or(root.node, |at| *self.nodes.get(at));
            match (piece, gone) {
                (Some(piece), _) => {
                    let (len, at) = (node.children.count_ones(), below(node.children, piece));
                    node.child = self.nodes.remove(node.child, len, at);
                    node.children ^= 1 << piece;
                }
                // A jump leads to nothing but the node that is gone.
                (None, Some(target)) => {
                    self.nodes.give(target, 1);
                    node = Node::default();
                }
                (None, None) => {}
            }
            self.store(root, home, node);
        }
    }

    fn store(&mut self, root: &mut Root, home: Option<u32>, node: Node) {
        match home {
            Some(at) => *self.nodes.get_mut(at) = node,
            None => root.node = node,
        }
    }

    /// True if rebuilding would save half of a large memory.
    pub(crate) fn is_wasteful(&self) -> bool {
        self.nodes.is_wasteful() || self.values.is_wasteful()
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.values.bytes()
    }
}

/// The depth of the node where a prefix of `length` bits ends, and the prefix' place there.
fn ending(key: impl BitString, length: u32) -> (u32, u32) {
    let last = (length - 1) / STRIDE * STRIDE;
    let piece = key.piece(last);
    match length - last {
        STRIDE => (last, 64 + piece),
        rest => (last, short_bit(piece >> (STRIDE - rest), rest)),
    }
}
