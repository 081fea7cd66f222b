//! Dependences between register arrays, tables and calls, and cycles among them.

use base_diag::Span;
use ir::{ControlId, InstanceId, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// Something that a stage does: its results are known after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Node {
    /// The access to a register array.
    Array(InstanceId),
    /// A table.
    Table(ControlId, TableId),
    /// A call of an extern, by its place.
    Call(ControlId, u32),
}

/// For each node, the nodes whose results it needs.
#[derive(Default, Debug)]
pub(crate) struct Dependences {
    /// For a node, those it needs, each with the place that says so.
    needs: BTreeMap<Node, BTreeMap<Node, Span>>,
}

impl Dependences {
    /// Notes that `node` needs `others`.
    pub fn add(&mut self, node: Node, others: &BTreeSet<Node>, at: Span) {
        let known = self.needs.entry(node).or_default();
        for other in others.iter().filter(|other| **other != node) {
            known.entry(*other).or_insert(at);
        }
    }

    /// For each register array that needs itself by way of something else: a shortest such circle, each step with its place.
    /// Circles of the same nodes are given once.
    pub fn circles(&self) -> Vec<Vec<(Node, Span)>> {
        let mut found: Vec<Vec<(Node, Span)>> = vec![];
        let mut seen: BTreeSet<BTreeSet<Node>> = BTreeSet::new();
        for node in self.needs.keys().filter(|node| matches!(node, Node::Array(_))) {
            let Some(circle) = self.circle(*node) else { continue };
            if seen.insert(circle.iter().map(|(node, _)| *node).collect()) {
                found.push(circle);
            }
        }
        found
    }

    /// Breadth first from the node to itself.
    fn circle(&self, start: Node) -> Option<Vec<(Node, Span)>> {
        let mut reached: BTreeMap<Node, (Node, Span)> = BTreeMap::new();
        let mut front = vec![start];
        while !front.is_empty() {
            let mut next = vec![];
            for node in front {
                for (other, at) in self.needs.get(&node).into_iter().flatten() {
                    if *other == start {
                        let mut circle = vec![(node, *at)];
                        let mut last = node;
                        while let Some((before, at)) = reached.get(&last) {
                            circle.push((*before, *at));
                            last = *before;
                        }
                        circle.reverse();
                        return Some(circle);
                    }
                    if !reached.contains_key(other) {
                        reached.insert(*other, (node, *at));
                        next.push(*other);
                    }
                }
            }
            front = next;
        }
        None
    }
}
