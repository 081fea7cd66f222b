//! The problem: apps whose flows are processed at a switch or at its helpers (ExoPlane, section 5).

use crate::distribution::{Distribution, ONE};

/// Sum of the weights of all apps that a problem may have.
pub const MOST_WEIGHT: u64 = 1 << 20;

/// Most apps of a problem.
pub const MOST_APPS: usize = 1024;

/// Most classes of helpers.
pub const MOST_CLASSES: usize = 8;

/// Largest latency, in picoseconds.
pub const MOST_LATENCY: u64 = 1 << 40;

/// Apps, the switch and the classes of its helpers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Apps.
    pub apps: Vec<App>,
    /// Memories of the switch.
    pub switch: Vec<Row>,
    /// Classes of equal helpers.
    pub classes: Vec<Class>,
    /// Traffic of all apps in bits per second; `None`: rates are not looked at.
    pub traffic: Option<u64>,
}

/// A memory, or another resource of which apps take a number of units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// As people name it: `SRAM blocks`.
    pub name: String,
    /// Units that apps may take.
    pub capacity: u64,
}

/// Equal helpers, among which the flows of their apps are divided by a hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// As people name it.
    pub name: String,
    /// Number of helpers.
    pub count: u64,
    /// Helpers whose traffic the others can take over without overload.
    pub spare: u64,
    /// Memories of one helper.
    pub memory: Vec<Row>,
    /// Bits per second of one helper and its link, whichever is less.
    pub bits: Option<u64>,
    /// Packets per second of one helper.
    pub packets: Option<u64>,
    /// Excess of the most loaded helper over the mean, in millionths.
    pub imbalance: u64,
}

/// An app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct App {
    /// Name of the app.
    pub name: String,
    /// Share of the traffic, relative to the weights of the others.
    pub weight: u64,
    /// Bits of a packet on a link to a helper, with the hand-over.
    pub packet_bits: u64,
    /// Bits of a packet on its own.
    pub own_bits: u64,
    /// Places where its flows may be processed.
    pub affinity: Affinity,
    /// Shares of its flows.
    pub flows: Distribution,
    /// Numbers of flows at the switch that are considered.
    pub quantum: Quantum,
    /// Copies of each flow's state at helpers, beside the one that is used.
    pub replicas: u64,
    /// Resources that the app takes at the switch, or why the switch cannot run it.
    pub at_switch: Result<Place, String>,
    /// The same for each class.
    pub at_classes: Vec<Result<Place, String>>,
}

/// Places of an app's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affinity {
    /// All at the switch.
    High,
    /// Popular ones at the switch, all others at helpers.
    Medium,
    /// All at helpers.
    Low,
}

/// Granularity of an app's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantum {
    /// As many flows as fit into each number of memory units.
    Auto,
    /// Multiples of so many flows.
    Flows(u64),
    /// Only so many flows at the switch, or all if there are fewer.
    Exactly(u64),
}

/// Resources that an app takes at a place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Latency of a packet, from the port where it comes to the port where it leaves, in picoseconds.
    pub latency: u64,
    /// Units of each row, as soon as one flow is there.
    pub fixed: Vec<u64>,
    /// Objects that grow with the flows.
    pub objects: Vec<Object>,
    /// The app's program is there without flows, too, with the objects of one flow.
    pub stays: bool,
}

/// A table or register that grows with the flows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// As people name it.
    pub name: String,
    /// Memory that it takes: a row of the place.
    pub row: usize,
    /// Entries for each flow, as a fraction.
    pub per_flow: (u64, u64),
    /// Entries that many flows share: never more than these.
    pub most: Option<u64>,
    /// Entries of a block.
    pub block: u64,
    /// Units of a block.
    pub units: u64,
}

impl Object {
    /// Entries for so many flows.
    pub fn entries(&self, flows: u64) -> u64 {
        let (number, of) = self.per_flow;
        let entries = (u128::from(flows) * u128::from(number)).div_ceil(u128::from(of.max(1)));
        u64::try_from(entries).unwrap_or(u64::MAX).min(self.most.unwrap_or(u64::MAX))
    }

    /// Units of its row for so many flows.
    pub fn units(&self, flows: u64) -> u64 {
        self.entries(flows).div_ceil(self.block.max(1)).saturating_mul(self.units)
    }

    /// The most flows, up to `most`, for which it takes no more units than for `flows`.
    pub(crate) fn last_with_same_units(&self, flows: u64, most: u64) -> u64 {
        let entries = self.entries(flows).div_ceil(self.block.max(1)).saturating_mul(self.block.max(1));
        let (number, of) = self.per_flow;
        if number == 0 || self.units == 0 || self.most.is_some_and(|most| entries >= most) {
            return most;
        }
        let last = u128::from(entries) * u128::from(of.max(1)) / u128::from(number);
        u64::try_from(last).unwrap_or(u64::MAX).clamp(flows, most.max(flows))
    }
}

impl Place {
    /// Units of each row for so many flows; none without flows, unless the program stays.
    pub fn units(&self, rows: usize, flows: u64) -> Vec<u64> {
        let mut all = vec![0u64; rows];
        let flows = if self.stays { flows.max(1) } else { flows };
        if flows == 0 {
            return all;
        }
        for (units, fixed) in all.iter_mut().zip(&self.fixed) {
            *units = *fixed;
        }
        for object in &self.objects {
            if let Some(units) = all.get_mut(object.row) {
                *units = units.saturating_add(object.units(flows));
            }
        }
        all
    }
}

impl Class {
    /// Units of a memory that all helpers together offer: hashing fills them unequally.
    pub fn memory(&self, row: usize) -> u64 {
        self.all(self.memory.get(row).map_or(0, |row| row.capacity), self.count)
    }

    /// Bits per second that the helpers take, also after `spare` of them have failed.
    pub fn bits(&self) -> Option<u64> {
        self.bits.map(|bits| self.all(bits, self.count.saturating_sub(self.spare)))
    }

    /// The same for packets.
    pub fn packets(&self) -> Option<u64> {
        self.packets.map(|packets| self.all(packets, self.count.saturating_sub(self.spare)))
    }

    /// Units of all helpers, if one has `each`.
    pub(crate) fn all(&self, each: u64, count: u64) -> u64 {
        let all = u128::from(each) * u128::from(count) * 1_000_000 / (1_000_000 + u128::from(self.imbalance));
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}

impl Problem {
    /// Sum of the weights.
    pub fn weight(&self) -> u64 {
        self.apps.iter().map(|app| app.weight).sum::<u64>().max(1)
    }

    /// Packets per second of an app, if all of the traffic is taken.
    pub fn packets(&self, app: &App) -> u64 {
        let bits = u128::from(self.traffic.unwrap_or(0)) * u128::from(app.weight) / u128::from(self.weight());
        (bits / u128::from(app.own_bits.max(1))) as u64
    }

    /// Packets per second of a share of an app.
    pub fn packets_of(&self, app: &App, share: u64) -> u64 {
        (u128::from(self.packets(app)) * u128::from(share)).div_ceil(u128::from(ONE)) as u64
    }

    /// Why the numbers do not make a problem.
    pub fn check(&self) -> Result<(), String> {
        let weight = self.apps.iter().try_fold(0u64, |sum, app| sum.checked_add(app.weight));
        if weight.is_none_or(|weight| weight > MOST_WEIGHT) {
            return Err(format!("the weights of the apps exceed {MOST_WEIGHT}"));
        }
        if self.apps.len() > MOST_APPS {
            return Err(format!("more than {MOST_APPS} apps"));
        }
        if self.classes.len() > MOST_CLASSES {
            return Err(format!("more than {MOST_CLASSES} classes of helpers"));
        }
        for app in &self.apps {
            let places = std::iter::once(&app.at_switch).chain(&app.at_classes);
            let mut places = places.filter_map(|place| place.as_ref().ok());
            if places.any(|place| place.latency > MOST_LATENCY) {
                return Err(format!("a latency of `{}` exceeds a second", app.name));
            }
            if app.at_classes.len() != self.classes.len() {
                return Err(format!("`{}` knows {} classes", app.name, app.at_classes.len()));
            }
            if app.quantum == Quantum::Flows(0) {
                return Err(format!("the quantum of `{}` has no flows", app.name));
            }
        }
        Ok(())
    }
}
