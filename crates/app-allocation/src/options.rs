//! The problem as groups of items: one group for each app, one item for each home class and number of flows at the switch.

use crate::choose::Item;
use crate::distribution::ONE;
use crate::problem::{Affinity, App, Place, Problem, Quantum};

/// Numbers of flows at the switch that are considered for an app with [`Quantum::Auto`].
const MOST_STEPS: u64 = 4096;

/// Meaning of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// Class of the helpers that hold the app's flows; none if all are at the switch.
    pub home: Option<usize>,
    /// Most popular flows, which are at the switch.
    pub flows: u64,
}

/// A row of all places, in the order of `Item::uses`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// A memory of the switch.
    Switch(usize),
    /// A memory of all helpers of a class together.
    Memory(usize, usize),
    /// Bits per second to a class.
    Bits(usize),
    /// Packets per second to a class.
    Packets(usize),
}

impl Limit {
    /// True for a memory, false for a rate.
    pub fn is_memory(self) -> bool {
        self.rate_of().is_none()
    }

    /// The class whose rate it limits.
    pub(crate) fn rate_of(self) -> Option<usize> {
        match self {
            Limit::Bits(class) | Limit::Packets(class) => Some(class),
            Limit::Switch(_) | Limit::Memory(..) => None,
        }
    }
}

/// All rows.
pub(crate) fn limits(problem: &Problem) -> Vec<Limit> {
    let switch = (0..problem.switch.len()).map(Limit::Switch);
    let classes = problem.classes.iter().enumerate().flat_map(|(at, class)| {
        let memory = (0..class.memory.len()).map(move |row| Limit::Memory(at, row));
        memory.chain([Limit::Bits(at), Limit::Packets(at)])
    });
    switch.chain(classes).collect()
}

/// Units of a row.
pub(crate) fn capacity(problem: &Problem, limit: Limit) -> u64 {
    match limit {
        Limit::Switch(row) => problem.switch[row].capacity,
        Limit::Memory(class, row) => problem.classes[class].memory(row),
        Limit::Bits(class) => problem.classes[class].bits().unwrap_or(u64::MAX),
        Limit::Packets(class) => problem.classes[class].packets().unwrap_or(u64::MAX),
    }
}

/// Units that one place of a row has: the switch, or a single helper.
pub(crate) fn capacity_of_one(problem: &Problem, limit: Limit) -> u64 {
    match limit {
        Limit::Switch(row) => problem.switch[row].capacity,
        Limit::Memory(class, row) => problem.classes[class].memory[row].capacity,
        Limit::Bits(class) => problem.classes[class].bits.unwrap_or(u64::MAX),
        Limit::Packets(class) => problem.classes[class].packets.unwrap_or(u64::MAX),
    }
}

/// Units of a row if one place has so many.
pub(crate) fn with_capacity_of_one(problem: &Problem, limit: Limit, each: u64) -> u64 {
    match limit {
        Limit::Switch(_) => each,
        Limit::Memory(class, _) => problem.classes[class].all(each, problem.classes[class].count),
        Limit::Bits(class) | Limit::Packets(class) => {
            let class = &problem.classes[class];
            class.all(each, class.count.saturating_sub(class.spare))
        }
    }
}

/// The items of an app.
pub(crate) fn items(problem: &Problem, app: &App) -> (Vec<Decision>, Vec<Item>) {
    let homes: Vec<Option<usize>> = match app.affinity {
        Affinity::High => vec![None],
        _ => (0..problem.classes.len()).filter(|class| app.at_classes[*class].is_ok()).map(Some).collect(),
    };
    let steps = steps(problem, app);
    let decisions =
        homes.iter().flat_map(|home| steps.iter().map(|flows| Decision { home: *home, flows: *flows }));
    let decisions: Vec<Decision> = decisions.collect();
    let items = decisions.iter().map(|decision| item(problem, app, *decision)).collect();
    (decisions, items)
}

fn item(problem: &Problem, app: &App, decision: Decision) -> Item {
    let share = app.flows.share(decision.flows);
    let latency = |place: &Result<Place, String>| place.as_ref().map_or(0, |place| place.latency);
    let home = decision.home.map(|class| &app.at_classes[class]);
    let here = u128::from(share) * u128::from(latency(&app.at_switch));
    let there = u128::from(ONE - share) * u128::from(home.map_or(0, latency));
    let at_switch = match &app.at_switch {
        Ok(place) => place.units(problem.switch.len(), decision.flows),
        Err(_) => vec![0; problem.switch.len()],
    };
    let uses = limits(problem).into_iter().map(|limit| match limit {
        Limit::Switch(row) => at_switch[row],
        _ if decision.home.is_none() => 0,
        Limit::Memory(class, row) if decision.home == Some(class) => memory(problem, app, class, row),
        Limit::Packets(class) if decision.home == Some(class) => problem.packets_of(app, ONE - share),
        Limit::Bits(class) if decision.home == Some(class) => {
            problem.packets_of(app, ONE - share).saturating_mul(app.packet_bits)
        }
        Limit::Memory(..) | Limit::Bits(_) | Limit::Packets(_) => 0,
    });
    Item { cost: (u128::from(app.weight) * (here + there)) as i128, uses: uses.collect() }
}

/// Units of a memory of the helpers that an app needs: all its flows are there, those at the switch, too, and each helper has the fixed part.
fn memory(problem: &Problem, app: &App, class: usize, row: usize) -> u64 {
    let Ok(place) = &app.at_classes[class] else { return u64::MAX };
    let copies = app.flows.flows().saturating_mul(1 + app.replicas);
    let fixed = place.fixed.get(row).copied().unwrap_or(0);
    let objects = place.objects.iter().filter(|object| object.row == row);
    objects.fold(fixed.saturating_mul(problem.classes[class].count), |sum, object| {
        sum.saturating_add(object.units(copies))
    })
}

/// Numbers of flows at the switch that come into question, in increasing order. More flows at the switch for the same units are never worse
/// where the switch is faster.
fn steps(problem: &Problem, app: &App) -> Vec<u64> {
    let all = app.flows.flows();
    let Ok(place) = &app.at_switch else {
        return if app.affinity == Affinity::High { vec![] } else { vec![0] };
    };
    let most = most_alone(problem, place, all);
    match app.affinity {
        Affinity::High => return if most == all { vec![all] } else { vec![] },
        Affinity::Low => return vec![0],
        Affinity::Medium => {}
    }
    if let Quantum::Exactly(flows) = app.quantum {
        return Some(flows.min(all)).filter(|flows| *flows <= most).into_iter().collect();
    }
    let mut steps = vec![0];
    if let Quantum::Flows(quantum) = app.quantum {
        let quanta =
            (1..).map(|n: u64| n.saturating_mul(quantum)).take_while(|flows| *flows < all.min(most + 1));
        steps.extend(quanta);
        steps.extend((most == all).then_some(all));
        return steps;
    }
    // Bounds the number of steps; neighbours differ little.
    let coarse = most / MOST_STEPS;
    let mut flows = 0;
    while flows < most {
        let least = flows.saturating_add(coarse.max(1)).min(most);
        let ends = place.objects.iter().map(|object| object.last_with_same_units(least, most));
        flows = ends.min().unwrap_or(most).clamp(least, most);
        steps.push(flows);
    }
    steps
}

/// The most flows of an app that fit the switch without the others.
pub(crate) fn most_alone(problem: &Problem, place: &Place, all: u64) -> u64 {
    let fits = |flows: u64| {
        let units = place.units(problem.switch.len(), flows);
        units.iter().zip(&problem.switch).all(|(units, row)| *units <= row.capacity)
    };
    let (mut low, mut high) = (0, all);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}
