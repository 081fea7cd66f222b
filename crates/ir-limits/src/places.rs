//! Values of a packet by place (variable or field), and the accesses from which each was computed.

use crate::dependences::Node;
use ir::{ControlId, Expr, ExprKind, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// The accesses from which a value was computed.
pub(crate) type Sources = BTreeSet<Node>;

/// A variable of a control, or a field in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    control: ControlId,
    var: VarId,
    fields: Vec<u32>,
}

impl Place {
    /// A variable.
    pub fn var(control: ControlId, var: VarId) -> Place {
        Place { control, var, fields: vec![] }
    }

    /// The place that an expression is in, and whether it is all of it; `None` for what is in no place.
    pub fn of(control: ControlId, expr: &Expr) -> Option<(Place, bool)> {
        match &expr.kind {
            ExprKind::Var(var) => Some((Place::var(control, *var), true)),
            ExprKind::Field(base, field) => {
                let (mut place, whole) = Place::of(control, base)?;
                if whole {
                    place.fields.push(*field);
                }
                Some((place, whole))
            }
            ExprKind::Index(base, _)
            | ExprKind::Next(base)
            | ExprKind::Last(base)
            | ExprKind::Slice { base, .. }
            | ExprKind::SlicePlus { base, .. } => Some((Place::of(control, base)?.0, false)),
            _ => None,
        }
    }

    fn is_in(&self, outer: &Place) -> bool {
        self.fields.starts_with(&outer.fields)
    }
}

/// The sources of all values, and how often each place was written.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Values {
    sources: BTreeMap<Place, Sources>,
    writes: BTreeMap<Place, u32>,
}

impl Values {
    /// The accesses from which the value of a place was computed.
    pub fn read(&self, place: &Place) -> Sources {
        let of_var = entries(&self.sources, place);
        let around = of_var.clone().filter(|(known, _)| place.is_in(known));
        let nearest = around.max_by_key(|(known, _)| known.fields.len());
        let inside = of_var.filter(|(known, _)| known.is_in(place));
        nearest.into_iter().chain(inside).flat_map(|(_, sources)| sources).copied().collect()
    }

    /// Writes a place, or a part of it.
    pub fn write(&mut self, place: &Place, whole: bool, mut sources: Sources) {
        if !whole {
            sources.extend(self.read(place));
        }
        self.sources.retain(|known, _| {
            !(known.var == place.var && known.control == place.control && known.is_in(place))
        });
        self.sources.insert(place.clone(), sources);
        *self.writes.entry(place.clone()).or_default() += 1;
    }

    /// A number that changes with every write of the place, of what it is in or of what is in it.
    pub fn age(&self, place: &Place) -> u32 {
        let of_var = entries(&self.writes, place);
        of_var.filter(|(known, _)| known.is_in(place) || place.is_in(known)).map(|(_, writes)| writes).sum()
    }

    /// The values after one of two paths.
    pub fn or(mut self, other: Values) -> Values {
        for place in other.sources.keys() {
            let sources = &self.read(place) | &other.read(place);
            self.sources.insert(place.clone(), sources);
        }
        for (place, writes) in other.writes {
            let known = self.writes.entry(place).or_default();
            *known = writes.max(*known);
        }
        self
    }
}

/// The entries of a place's variable.
fn entries<'m, T>(
    map: &'m BTreeMap<Place, T>,
    place: &Place,
) -> impl Iterator<Item = (&'m Place, &'m T)> + Clone {
    let from = Place::var(place.control, place.var);
    let (control, var) = (place.control, place.var);
    map.range(from..).take_while(move |(known, _)| known.control == control && known.var == var)
}
