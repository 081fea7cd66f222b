//! Sums over a plan: use of devices, charges, and traffic.

use super::Proof;
use plan_model::{Bound, Change, Effect, Model, Role, Scope, VarId};
use std::collections::BTreeMap;

/// A device and one of its ports; a link and a direction.
type Place = (usize, usize);

/// Carriers of traffic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bearer {
    Link(Place),
    PortOut(Place),
    PortIn(Place),
    Device(usize),
    Frames(usize),
}

/// Traffic over a link.
pub struct Stream {
    /// The highest rate.
    pub rate: i64,
    /// The smallest packet.
    pub size: i64,
    /// Bytes that a hand-over adds to each packet.
    pub carried: i64,
}

/// Sums of the regions that are placed.
#[derive(Clone, Default)]
pub struct Sums {
    used: BTreeMap<(usize, VarId), i64>,
    charged: BTreeMap<(usize, VarId), i64>,
    /// The traffic, and the most there may be.
    loads: BTreeMap<Bearer, (i128, i64)>,
}

impl Sums {
    /// A region is on this device: the device's own charges are due.
    pub fn start(&mut self, device: usize, model: &Model) {
        model.devices[device].charges.iter().for_each(|effect| self.effect(device, effect, model));
    }

    /// A proof is used on this device.
    pub fn pay(&mut self, device: usize, proof: &Proof, model: &Model) {
        let effects = proof.rules().into_iter().flat_map(|rule| &rule.effects);
        effects.for_each(|effect| self.effect(device, effect, model));
    }

    fn effect(&mut self, device: usize, effect: &Effect, model: &Model) {
        let Change::Add(value) = effect.change else { return };
        let of = (device, effect.var);
        match model.signature.get(effect.var).scope {
            Scope::Once => {
                let most = self.charged.entry(of).or_default();
                *most = value.max(*most);
            }
            Scope::Device { .. } => *self.used.entry(of).or_default() += value,
            Scope::Path => {}
        }
    }

    /// A stream crosses a link.
    pub fn load(&mut self, at: Place, out: Place, into: Place, stream: &Stream, model: &Model) {
        let link = &model.links[at.0];
        let times = |bytes: i64| i128::from(stream.rate) * i128::from(bytes) / i128::from(stream.size);
        let bytes = stream.size + stream.carried;
        let frame = bytes.max(link.shortest) + link.overhead;
        let rate = model.signature.role(Role::Rate);
        let most = |bounds: &[Bound]| {
            let upper = bounds.iter().filter(|bound| Some(bound.var) == rate).map(|bound| bound.range().1);
            upper.min().filter(|most| *most < i64::MAX)
        };
        let port = |(device, port): Place| most(&model.devices[device].ports[port].bounds);
        let bears = [
            (Bearer::Link(at), link.rate, times(frame)),
            (Bearer::PortOut(out), port(out), times(bytes)),
            (Bearer::PortIn(into), port(into), times(bytes)),
            (Bearer::Device(into.0), most(&model.devices[into.0].bounds), times(bytes)),
        ];
        for (bearer, most, load) in bears {
            if let Some(most) = most {
                self.loads.entry(bearer).or_insert((0, most)).0 += load;
            }
        }
    }

    /// Adds accepted frames of a device, in thousandths per second.
    pub fn frames(&mut self, device: usize, more: i64, model: &Model) {
        if let Some(most) = model.devices[device].frames {
            self.loads.entry(Bearer::Frames(device)).or_insert((0, most)).0 += i128::from(more);
        }
    }

    /// Whether all that adds up is as much as there may be, or less.
    pub fn fit(&self, model: &Model) -> bool {
        let most = |device: usize, var: VarId| {
            let own = model.devices[device].limits.iter().find(|(known, _)| *known == var);
            match (own, model.signature.get(var).scope) {
                (Some((_, most)), _) => Some(*most),
                (None, Scope::Device { limit }) => limit,
                _ => None,
            }
        };
        let fits = |(&(device, var), used): (&(usize, VarId), &i64)| {
            most(device, var).is_none_or(|most| *used <= most)
        };
        self.used.iter().all(fits) && self.loads.values().all(|(load, most)| *load <= i128::from(*most))
    }

    /// A charge, over all devices.
    pub fn charged(&self, var: VarId) -> i64 {
        sum(&self.charged, var)
    }

    /// The use of a variable, over all devices.
    pub fn used(&self, var: VarId) -> i64 {
        sum(&self.used, var)
    }
}

fn sum(of: &BTreeMap<(usize, VarId), i64>, var: VarId) -> i64 {
    of.iter().filter(|((_, known), _)| *known == var).map(|(_, value)| value).sum()
}
