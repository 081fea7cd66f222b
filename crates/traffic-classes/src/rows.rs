//! A predicate as rows: for packets of one shape, a disjunction of boxes.
//!
//! Before: `ipv4.dst in 10.0.0.0/8 && port != 3`
//! After:  `port 0..2, ipv4.dst 0x0a000000..0x0affffff` and `port 4..511, ipv4.dst 0x0a000000..0x0affffff`

use crate::{Class, Field, Predicate, Shape};
use std::collections::BTreeMap;

/// First and last value of some fields; others may have any value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Row(pub BTreeMap<Field, (u128, u128)>);

/// A class would have more rows than a parser should have cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooComplex {
    /// The limit.
    pub most: usize,
}

/// Most rows of a class in one shape.
const MOST: usize = 1024;

impl Row {
    /// Packets of both rows that have this shape; `None` if there are none.
    pub fn meet(&self, other: &Row, shape: Shape) -> Option<Row> {
        let mut both = self.clone();
        for (field, (lo, hi)) in &other.0 {
            let (from, to) = both.0.get(field).copied().or(shape.domain(*field))?;
            let (from, to) = (from.max(*lo), to.min(*hi));
            if from > to {
                return None;
            }
            both.0.insert(*field, (from, to));
        }
        Some(both)
    }

    /// True if every packet of `other` is one of this row, too.
    pub fn covers(&self, other: &Row) -> bool {
        self.0
            .iter()
            .all(|(field, (lo, hi))| other.0.get(field).is_some_and(|(from, to)| lo <= from && to <= hi))
    }
}

/// The rows of `predicate` in `shape`. Fields whose whole domain is meant are left out.
pub(crate) fn rows(predicate: &Predicate, shape: Shape) -> Result<Vec<Row>, TooComplex> {
    let mut found: Vec<Row> = vec![];
    for row in disjunction(predicate, shape, false)? {
        let bounded = |(field, range): &(Field, (u128, u128))| shape.domain(*field) != Some(*range);
        let row = Row(row.0.into_iter().filter(bounded).collect());
        if !found.iter().any(|known| known.covers(&row)) {
            found.retain(|known| !row.covers(known));
            found.push(row);
        }
    }
    Ok(found)
}

fn disjunction(predicate: &Predicate, shape: Shape, negated: bool) -> Result<Vec<Row>, TooComplex> {
    let constant = |holds: bool| Ok(if holds != negated { vec![Row::default()] } else { vec![] });
    match predicate {
        Predicate::Any => constant(true),
        Predicate::Has(header) => constant(shape.has(*header)),
        Predicate::In(field, ranges) => compare(*field, ranges, shape, negated, false),
        Predicate::NotIn(field, ranges) => compare(*field, ranges, shape, negated, true),
        Predicate::Not(inner) => disjunction(inner, shape, !negated),
        Predicate::And(a, b) if !negated => both(a, b, shape, negated),
        Predicate::Or(a, b) if negated => both(a, b, shape, negated),
        Predicate::And(a, b) | Predicate::Or(a, b) => {
            let mut rows = disjunction(a, shape, negated)?;
            rows.extend(disjunction(b, shape, negated)?);
            limited(rows)
        }
    }
}

fn both(a: &Predicate, b: &Predicate, shape: Shape, negated: bool) -> Result<Vec<Row>, TooComplex> {
    let (left, right) = (disjunction(a, shape, negated)?, disjunction(b, shape, negated)?);
    let mut rows: Vec<Row> = vec![];
    for one in &left {
        for other in &right {
            rows.extend(one.meet(other, shape).filter(|row| !rows.contains(row)));
            if rows.len() > MOST {
                return Err(TooComplex { most: MOST });
            }
        }
    }
    Ok(rows)
}

/// `outside`: the predicate holds outside of the ranges.
fn compare(
    field: Field,
    ranges: &[(u128, u128)],
    shape: Shape,
    negated: bool,
    outside: bool,
) -> Result<Vec<Row>, TooComplex> {
    let Some(domain) = shape.domain(field) else {
        return Ok(if negated { vec![Row::default()] } else { vec![] });
    };
    let ranges = if negated != outside { complement(ranges, field.max()) } else { ranges.to_vec() };
    let within = |(lo, hi): (u128, u128)| {
        let (lo, hi) = (lo.max(domain.0), hi.min(domain.1));
        (lo <= hi).then(|| Row(BTreeMap::from([(field, (lo, hi))])))
    };
    limited(ranges.into_iter().filter_map(within).collect())
}

/// The values in 0..=`max` that are in none of the ranges.
fn complement(ranges: &[(u128, u128)], max: u128) -> Vec<(u128, u128)> {
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    let (mut gaps, mut next) = (vec![], Some(0));
    for (lo, hi) in sorted {
        let Some(from) = next else { break };
        if from < lo {
            gaps.push((from, lo - 1));
        }
        next = if hi >= max { None } else { Some(from.max(hi + 1)) };
    }
    gaps.extend(next.map(|from| (from, max)));
    gaps
}

fn limited(rows: Vec<Row>) -> Result<Vec<Row>, TooComplex> {
    if rows.len() > MOST { Err(TooComplex { most: MOST }) } else { Ok(rows) }
}

impl Class {
    /// The packets of both classes that have this shape.
    pub(crate) fn meet(&self, other: &Class, shape: Shape) -> Result<Option<Row>, TooComplex> {
        let (left, right) = (self.rows(shape)?, other.rows(shape)?);
        let mut pairs = left.iter().flat_map(|one| right.iter().map(move |other| (one, other)));
        Ok(pairs.find_map(|(one, other)| one.meet(other, shape)))
    }
}
