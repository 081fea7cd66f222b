//! Hosts, switches, links.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// A network. Indices are places in these lists.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Topology {
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Names of programmable switches.
    pub switches: Vec<String>,
    /// Links.
    pub links: Vec<Link>,
}

/// A host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Name.
    pub name: String,
    /// Address.
    pub address: Ipv4Addr,
    /// Address of its card.
    pub mac: [u8; 6],
}

/// A host or a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// By index.
    Host(usize),
    /// By index.
    Switch(usize),
}

/// A link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The two ends of the link, each with its port.
    pub ends: [(Node, u32); 2],
    /// Bits per second.
    pub rate: u64,
}

/// Paths from all nodes to one: a spanning tree, so that packets of both directions pass the same nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    /// For each host, then for each switch: the link and the next node towards the root.
    next: Vec<Option<(usize, Node)>>,
    hosts: usize,
    /// The node at which all paths end.
    pub root: Node,
}

impl Topology {
    /// The host with a name or an address.
    pub fn host(&self, name: &str) -> Option<usize> {
        let address: Option<Ipv4Addr> = name.parse().ok();
        self.hosts.iter().position(|host| host.name == name || Some(host.address) == address)
    }

    /// Links of a node: the link, the port there, and the node at the other end.
    pub fn links_of(&self, node: Node) -> impl Iterator<Item = (usize, u32, Node)> {
        let end = move |(at, link): (usize, &Link)| match link.ends {
            [(here, port), (there, _)] if here == node => Some((at, port, there)),
            [(there, _), (here, port)] if here == node => Some((at, port, there)),
            _ => None,
        };
        self.links.iter().enumerate().filter_map(end)
    }

    /// Shortest paths to a node; hosts forward nothing.
    pub fn tree(&self, root: Node) -> Tree {
        let hosts = self.hosts.len();
        let mut tree = Tree { next: vec![None; hosts + self.switches.len()], hosts, root };
        let mut queue = VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            if node != root && matches!(node, Node::Host(_)) {
                continue;
            }
            for (link, _, other) in self.links_of(node) {
                let at = tree.place(other);
                if other != root && tree.next[at].is_none() {
                    tree.next[at] = Some((link, node));
                    queue.push_back(other);
                }
            }
        }
        tree
    }

    /// The port of a node on a link.
    pub fn port(&self, link: usize, node: Node) -> Option<u32> {
        self.links.get(link)?.ends.iter().find(|(end, _)| *end == node).map(|(_, port)| *port)
    }
}

impl Tree {
    fn place(&self, node: Node) -> usize {
        match node {
            Node::Host(host) => host,
            Node::Switch(switch) => self.hosts + switch,
        }
    }

    /// The link and the next node towards the root.
    pub fn next(&self, node: Node) -> Option<(usize, Node)> {
        self.next.get(self.place(node)).copied().flatten()
    }

    /// Links and nodes from a node to the root; none if there is no path.
    pub fn path(&self, from: Node) -> Option<Vec<(usize, Node)>> {
        let steps = std::iter::successors(self.next(from), |(_, node)| self.next(*node));
        let path: Vec<_> = steps.collect();
        (from == self.root || path.last().is_some_and(|(_, node)| *node == self.root)).then_some(path)
    }
}
