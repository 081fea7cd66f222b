//! The root's decision: how a call travels.

use super::form::{Form, Range};
use super::link::{Call, Go, Stock};
use super::stock::numbers;
use super::{GroupError, GroupPlan, problem};
use aggregate::Op;
use aggregate::estimate::{Estimate, children, fewest_rounds};
use aggregate::union::Smallest;

/// Most rounds of a call, unless its pairs need more.
const MOST_ROUNDS: u32 = 1 << 12;

/// Form of a call in packets, and the reason why switches do not reduce it, if there is one.
pub(super) fn decide(
    plan: &GroupPlan,
    call: &Call,
    op: Op,
    stocks: &[Stock],
) -> Result<(Range, Go, Option<String>), GroupError> {
    let layout = plan.layout();
    if layout.is_dense() && call.array.is_none() {
        let title = "this group reduces arrays only, because its job has `profile = arrays`";
        return Err(problem(title, "use another job for keys, with another profile and `number`"));
    }
    let busy = || stocks.iter().filter(|stock| stock.keys > 0);
    let most = |stock: &Stock| stock.negative.map_or(i128::from(stock.most), i128::from);
    let range = Range {
        op,
        is_array: call.array.is_some(),
        least: busy().map(|stock| i128::from(stock.least)).min().unwrap_or(0),
        most: busy().map(most).max().unwrap_or(0),
        programs: stocks.len() as u32,
    };
    let form = Form::of(range)?;
    let chunks = form.chunks();
    let largest = stocks.iter().map(|stock| stock.largest).max().unwrap_or(0);
    let is_hashed = call.is_text || largest >= numbers(&layout, chunks);
    let parts = u64::from(form.parts);
    let all = stocks
        .iter()
        .fold(Smallest::default(), |all, stock| all.union(&Smallest::of(stock.hashes.iter().copied())));
    let estimate = Estimate {
        mappers: stocks.len() as u32,
        pairs: parts * stocks.iter().map(|stock| stock.keys).sum::<u64>(),
        distinct: parts * call.array.unwrap_or(all.distinct()),
        children: children(plan.switches.len(), plan.parents),
    };
    let is_switched = plan.is_switched(op);
    let most = stocks.iter().map(|stock| stock.keys).max().unwrap_or(0);
    let needed = fewest_rounds(parts * most, &layout);
    let best = if is_switched && !layout.evict && estimate.pairs > 0 { estimate.rounds(&layout) } else { 1 };
    let rounds = match call.array.filter(|_| layout.is_dense()) {
        // The rows of a round are those of a bank.
        Some(length) => (length * u64::from(chunks)).div_ceil(layout.elements()).max(1) as u32,
        None => best.max(needed).min(MOST_ROUNDS.max(needed)),
    };
    let most_value = is_switched.then(|| op.most_value(range.programs));
    let fallback = match () {
        () if stocks.is_empty() || is_switched => None,
        () if plan.switches.is_empty() => Some("the group has no switch".into()),
        () => Some(format!("the switches fold by {} only", plan.operators.join(", "))),
    };
    Ok((range, Go { rounds, form, is_hashed, most_value }, fallback))
}
