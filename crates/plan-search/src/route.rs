//! Routes through the network, and their loads.
//!
//! A route is a shortest one by links; of these, the first few by delay and name are tried. Only devices that forward are
//! passed through.

use crate::derive::Admits;
use crate::problem::{Roles, Settings, admits};
use crate::{Scopes, state};
use plan_model::{Change, Device, Model};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Links in a direction, by their places in [`Network::hops`].
pub type Route = Rc<[usize]>;

/// A link in one direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hop {
    /// The device that sends.
    pub from: usize,
    /// The device that receives.
    pub to: usize,
    /// Delay of the link with the overhead of a frame on the wire, and of the device that receives.
    pub delay: i64,
    /// Rate of the link, if known.
    pub rate: Option<i64>,
    /// Longest packet that the link carries.
    pub longest: Option<i64>,
    /// Bytes that a frame takes on the link beside its own.
    pub overhead: i64,
    /// Length to which the link pads frames.
    pub shortest: i64,
    /// Conditions on packets, except for the rate.
    pub admits: Admits,
    /// Capacities it loads: its own, and those of the device that receives.
    pub loads: Vec<usize>,
}

/// Something that traffic adds up on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// The capacity.
    pub limit: i64,
    /// A link in a direction, or a device.
    pub of: CapacityOf,
    /// Unit of the capacity.
    pub kind: Kind,
}

/// Units of loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Bits of frames, with what hand-overs add to them.
    Bits,
    /// Bits on the wire: the same with padding and what each frame takes besides.
    Wire,
    /// Frames per second, in thousandths.
    Frames,
}

/// The load that a stream makes, by [`Kind`].
pub type Load = [i64; 3];

/// Subject of a capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CapacityOf {
    /// A link in a direction; its ports, if nothing is known of the link.
    Hop(usize),
    /// The ports of a link in a direction.
    Ports(usize),
    /// Everything that a device receives.
    Device(usize),
    /// The frames that come into a device.
    Frames(usize),
}

type Known = RefCell<BTreeMap<(usize, usize), Rc<[Route]>>>;

/// Links as hops.
pub struct Network {
    /// Two for each link.
    pub hops: Vec<Hop>,
    /// Capacities that may be exceeded.
    pub capacities: Vec<Capacity>,
    /// Capacity that counts the frames of each device.
    frames: Vec<Option<usize>>,
    /// Hops that leave each device.
    out: Vec<Vec<usize>>,
    forwards: Vec<bool>,
    most: usize,
    known: Known,
}

impl Network {
    /// The network of a model.
    pub fn new(model: &Model, scopes: &Scopes, settings: &Settings, roles: &Roles) -> Network {
        let mut network = Network {
            hops: vec![],
            capacities: vec![],
            frames: vec![None; model.devices.len()],
            out: vec![vec![]; model.devices.len()],
            forwards: model
                .devices
                .iter()
                .enumerate()
                .map(|(at, d)| d.forwards && !settings.without.contains(&at))
                .collect(),
            most: settings.routes.max(1),
            known: Known::default(),
        };
        let limit_of = |admits: &Admits| {
            admits.0.iter().find(|(var, ..)| Some(*var) == roles.rate).map_or(i64::MAX, |(.., high)| *high)
        };
        let mut of_device = vec![None; model.devices.len()];
        for (at, device) in model.devices.iter().enumerate() {
            let limit = limit_of(&admits(&device.bounds, scopes));
            if limit < i64::MAX {
                of_device[at] = Some(network.capacities.len());
                network.capacities.push(Capacity { limit, of: CapacityOf::Device(at), kind: Kind::Bits });
            }
            if let Some(limit) = device.frames {
                network.frames[at] = Some(network.capacities.len());
                network.capacities.push(Capacity { limit, of: CapacityOf::Frames(at), kind: Kind::Frames });
            }
        }
        for link in &model.links {
            for [a, b] in [[0, 1], [1, 0]] {
                let ((from, out), (to, into)) = (link.ends[a], link.ends[b]);
                let port = |(device, port): (usize, usize)| &model.devices[device].ports[port].bounds;
                let mut bounds = admits(port((from, out)), scopes);
                let of_device_but_rate = admits(&model.devices[to].bounds, scopes).0.into_iter();
                let of_device_but_rate = of_device_but_rate.filter(|(var, ..)| Some(*var) != roles.rate);
                for (var, low, high) in
                    admits(port((to, into)), scopes).0.into_iter().chain(of_device_but_rate)
                {
                    bounds.narrow(var, (low, high));
                }
                let at = network.hops.len();
                let mut loads: Vec<usize> = of_device[to].into_iter().chain(network.frames[to]).collect();
                let of_ports = if link.rate.is_some() { CapacityOf::Ports(at) } else { CapacityOf::Hop(at) };
                let limits = [
                    (link.rate.unwrap_or(i64::MAX), CapacityOf::Hop(at), Kind::Wire),
                    (limit_of(&bounds), of_ports, Kind::Bits),
                ];
                for (limit, of, kind) in limits.into_iter().filter(|(limit, ..)| *limit < i64::MAX) {
                    loads.push(network.capacities.len());
                    network.capacities.push(Capacity { limit, of, kind });
                }
                // The rate's upper bound is on the sum of what passes; all others are on each packet.
                for bound in bounds.0.iter_mut().filter(|(var, ..)| Some(*var) == roles.rate) {
                    bound.2 = i64::MAX;
                }
                network.hops.push(Hop {
                    from,
                    to,
                    delay: link
                        .delay
                        .saturating_add(model.devices[to].transit)
                        .saturating_add(link.rate.map_or(0, |rate| sending(link.overhead, rate))),
                    rate: link.rate,
                    longest: link.longest,
                    overhead: link.overhead,
                    shortest: link.shortest,
                    admits: bounds,
                    loads,
                });
                network.out[from].push(at);
            }
        }
        network
    }

    /// Whether some device accepts only a limited number of frames.
    pub fn counts_frames(&self) -> bool {
        self.frames.iter().any(Option::is_some)
    }

    /// Adds the load of a stream on a hop to a list of loads by capacity.
    pub fn add_hop(&self, hop: &Hop, load: &Load, loads: &mut Vec<(usize, i64)>) {
        loads.extend(hop.loads.iter().map(|c| (*c, load[self.capacities[*c].kind as usize])));
    }

    /// Adds `times` the frames that a device accepts from outside, or again after a recirculation.
    pub fn add_frames(&self, device: usize, frames: i64, times: i64, loads: &mut Vec<(usize, i64)>) {
        if let Some(capacity) = self.frames[device].filter(|_| times > 0) {
            loads.push((capacity, frames.saturating_mul(times)));
        }
    }

    /// The routes from one device to another that are tried; the empty one if they are the same.
    pub fn routes(&self, from: usize, to: usize) -> Rc<[Route]> {
        let known = self.known.borrow().get(&(from, to)).cloned();
        known.unwrap_or_else(|| {
            let found: Rc<[Route]> =
                if from == to { Rc::from([Route::from([])]) } else { self.find(from, to).into() };
            self.known.borrow_mut().insert((from, to), found.clone());
            found
        })
    }

    /// Links to `to` from every device.
    fn distances(&self, to: usize) -> Vec<usize> {
        let mut distance = vec![usize::MAX; self.out.len()];
        distance[to] = 0;
        let mut reached = vec![to];
        for step in 1.. {
            let mut next = vec![];
            for device in reached {
                // Links have two directions, so a path backwards is a path forwards. Packets pass through `device` only if it forwards.
                if device != to && !self.forwards[device] {
                    continue;
                }
                for hop in &self.out[device] {
                    let near = self.hops[*hop].to;
                    if distance[near] == usize::MAX {
                        distance[near] = step;
                        next.push(near);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            reached = next;
        }
        distance
    }

    fn find(&self, from: usize, to: usize) -> Vec<Route> {
        let distance = self.distances(to);
        if distance[from] == usize::MAX {
            return vec![];
        }
        // Delay, devices and links of partial routes, one link longer in each round; a limited number is kept, the least delayed first.
        let mut partial: Vec<(i64, Vec<usize>, Vec<usize>)> = vec![(0, vec![], vec![])];
        for left in (0..distance[from]).rev() {
            let mut longer = vec![];
            for (delay, over, route) in &partial {
                let at = route.last().map_or(from, |hop: &usize| self.hops[*hop].to);
                for hop in &self.out[at] {
                    let next = self.hops[*hop].to;
                    if distance[next] == left && (left == 0 || self.forwards[next]) {
                        let more = |list: &[usize], last: usize| list.iter().copied().chain([last]).collect();
                        let delay = delay.saturating_add(self.hops[*hop].delay);
                        longer.push((delay, more(over, next), more(route, *hop)));
                    }
                }
            }
            longer.sort();
            longer.truncate(self.most.saturating_mul(64));
            partial = longer;
        }
        partial.truncate(self.most);
        partial.into_iter().map(|(.., route)| Rc::from(route)).collect()
    }
}

/// Effect of a hand-over on packets on one link. Returns the added load; `None` if the packets may not pass.
pub fn cross(hop: &Hop, roles: &Roles, arc: &crate::problem::Arc, box_: &mut [(i64, i64)]) -> Option<Load> {
    if !state::is_admitted(box_, &hop.admits, roles.rate, arc.share) {
        return None;
    }
    // Bytes and their steps are thousandths: a bit is 125 of them.
    let carried = arc.bits.saturating_mul(125);
    let size = roles.size.map(|at| box_[at]);
    if let (Some(longest), Some((_, size))) = (hop.longest, size)
        && size.saturating_add(carried) > longest
    {
        return None;
    }
    let load = roles.rate.map_or([0; 3], |at| {
        let rate = arc.share.of(box_[at].1);
        load(rate, size.map(|(least, _)| least), carried, hop.shortest, hop.overhead)
    });
    if let Some(at) = roles.latency {
        let (mut least, mut most) = (hop.delay, hop.delay);
        if let (Some(rate), Some((small, large))) = (hop.rate, size) {
            let padded = |size: i64| size.saturating_add(carried).max(hop.shortest);
            least = least.saturating_add(sending(padded(small), rate));
            most = most.saturating_add(sending(padded(large), rate));
        }
        box_[at] = (box_[at].0.saturating_add(least), box_[at].1.saturating_add(most));
    }
    if let Some(at) = roles.hops {
        state::change(box_, at, Change::Add(1_000_000));
    }
    Some(load)
}

/// Loads of a stream of `rate` in packets of `size` bytes that carry `carried` more bytes:
///
/// ```text
/// receiving device and ports   rate x (size + carried) / size
/// link                         rate x (max(size + carried, shortest) + overhead) / size
/// frames                       1000 x rate / (8 x size), in thousandths per second
/// ```
///
/// Without a size, the rate itself.
pub fn load(rate: i64, size: Option<i64>, carried: i64, shortest: i64, overhead: i64) -> Load {
    let Some(size) = size.filter(|size| *size > 0) else { return [rate, rate, 0] };
    let times = |bytes: i64| {
        i64::try_from(i128::from(rate) * i128::from(bytes) / i128::from(size)).unwrap_or(i64::MAX)
    };
    let frame = size.saturating_add(carried);
    [times(frame), times(frame.max(shortest).saturating_add(overhead)), frames(rate, size)]
}

/// Thousandths of frames per second of a stream of packets of at least `size` bytes, in steps; none if nothing is known of it.
pub fn frames(rate: i64, size: i64) -> i64 {
    match size {
        ..=0 => 0,
        _ => i64::try_from(i128::from(rate) * 1000 / (8 * i128::from(size))).unwrap_or(i64::MAX),
    }
}

/// [`frames`] of a share of the stream with the highest rate and smallest size in a box.
pub fn frames_of(roles: &Roles, share: plan_model::Factor, box_: &[(i64, i64)]) -> i64 {
    let rate_and_size = roles.rate.zip(roles.size);
    rate_and_size.map_or(0, |(rate, size)| frames(share.of(box_[rate].1), box_[size].0))
}

/// Picoseconds to send thousandths of bytes at thousandths of bits per second.
fn sending(size: i64, rate: i64) -> i64 {
    if rate <= 0 {
        return i64::MAX;
    }
    let bits = i128::from(size.max(0)) * 8;
    i64::try_from(bits.saturating_mul(1_000_000_000_000) / i128::from(rate)).unwrap_or(i64::MAX)
}

/// Effect of a hand-over on packets before the first link.
pub fn leave(roles: &Roles, arc: &crate::problem::Arc, from: &Device, box_: &mut [(i64, i64)]) {
    if let Some(at) = roles.bits {
        state::change(box_, at, Change::Add(arc.bits));
    }
    if !from.recirculates {
        return;
    }
    if let Some(at) = roles.passes {
        state::change(box_, at, Change::Add(arc.passes.saturating_mul(1_000_000)));
    }
    if let Some(at) = roles.latency {
        state::change(box_, at, Change::Add(arc.passes.saturating_mul(from.transit)));
    }
}
