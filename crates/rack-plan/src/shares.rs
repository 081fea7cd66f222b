//! Share of the stream on each edge, from the shares that the rack states for regions.
//!
//! ```text
//! parser -> ingress -> Acl            Acl = "20%"
//!              \-> ingress.2 <-/      ingress -> Acl: 20 %; ingress -> ingress.2: 80 %, since all that passes Acl comes from ingress
//! ```
//!
//! A packet leaves a region by one edge at most, so the share known for one edge does not take another.

use super::Result;
use base_diag::Diagnostic;
use base_diag::codes::plan as codes;
use ir_split::Split;
use plan_model::{Factor, find_name};
use rack_model::{Probability, Spanned};
use std::collections::{BTreeMap, BTreeSet};

/// Stated shares, by section index.
pub(super) type Stated = BTreeMap<usize, (Factor, usize)>;

/// The sections in which regions begin, with their stated shares.
pub(super) fn stated(split: &Split, shares: &[(Spanned<String>, Spanned<Probability>)]) -> Result<Stated> {
    let names: BTreeSet<&str> = split.sections.iter().map(|section| section.region.as_str()).collect();
    let mut stated = Stated::new();
    let mut wrong = vec![];
    for (at, (region, share)) in shares.iter().enumerate() {
        match find_name("region", &region.value, names.iter().copied()) {
            Ok(_) => {
                let begins =
                    split.sections.iter().position(|section| section.region == region.value.as_str());
                let share = Factor(i64::from(share.value.ppb()) * (Factor::ONE.0 / 1_000_000_000));
                stated.extend(begins.map(|section| (section, (share, at))));
            }
            Err(found) => wrong.push(found.at(region.span, "its share is stated here")),
        }
    }
    if wrong.is_empty() { Ok(stated) } else { Err(wrong) }
}

/// Largest share of the packets leaving an edge's first section that takes the edge, by edge. Error: a section that
/// fewer packets reach than stated, and their share.
pub(super) fn of_edges(
    sections: usize,
    edges: &[(usize, usize)],
    stated: &Stated,
) -> std::result::Result<Vec<Factor>, (usize, Factor)> {
    let whole = Factor::ONE.0;
    let into = |section: usize| (0..edges.len()).filter(move |at| edges[*at].1 == section);
    let out = |section: usize| (0..edges.len()).filter(move |at| edges[*at].0 == section);
    let known = |section: usize| stated.get(&section).map(|(share, _)| share.0);
    // The certain share of an edge: everything that passes a section without another incoming edge.
    let certain = |edge: usize| match known(edges[edge].1) {
        Some(share) if into(edges[edge].1).count() == 1 => share,
        _ => 0,
    };
    let mut most: Vec<Option<i64>> = vec![None; edges.len()];
    let mut shares = vec![Factor::ONE; edges.len()];
    let mut left: BTreeSet<usize> = (0..sections).collect();
    // Sections in topological order; sections on a cycle, which do not exist, keep the whole share.
    while let Some(section) = left.iter().copied().find(|section| into(*section).all(|at| most[at].is_some()))
    {
        left.remove(&section);
        let is_start = into(section).count() == 0;
        let comes: i64 = into(section).filter_map(|at| most[at]).fold(0i64, i64::saturating_add);
        let comes = if is_start { whole } else { comes.min(whole) };
        let passes = match known(section) {
            Some(share) if share > comes => return Err((section, Factor(comes))),
            Some(share) if !is_start => share,
            _ => comes,
        };
        let taken = out(section).map(certain).fold(0i64, i64::saturating_add);
        for at in out(section) {
            let others = taken.saturating_sub(certain(at));
            let here = passes.saturating_sub(others).max(0).min(known(edges[at].1).unwrap_or(whole));
            most[at] = Some(here);
            let part = (i128::from(here) * i128::from(whole) + i128::from(passes) - 1)
                .checked_div(i128::from(passes))
                .unwrap_or(0);
            shares[at] = Factor(i64::try_from(part).unwrap_or(whole).min(whole));
        }
    }
    Ok(shares)
}

/// A section to which less comes than is stated.
pub(super) fn too_much(
    stated: &Stated,
    shares: &[(Spanned<String>, Spanned<Probability>)],
    (section, comes): (usize, Factor),
) -> Diagnostic {
    let title = "a region's share exceeds the share that reaches it";
    let error = Diagnostic::error(codes::QUANTITY, title);
    let percent = |share: Factor| Probability::from_ppb((share.0 / 1000).clamp(0, 1_000_000_000) as u32);
    let Some((region, share)) = stated.get(&section).and_then(|(_, at)| shares.get(*at)) else {
        return error;
    };
    error
        .at(share.span, format!("`{}` has {}", region.value, share.value))
        .note(format!("at most {} reaches it from the regions before it", percent(comes)))
        .help("state a smaller share here, or larger ones of the regions around it")
}

#[cfg(test)]
mod tests {
    use super::{Stated, of_edges};
    use plan_model::Factor;

    fn percent(edges: &[(usize, usize)], stated: &[(usize, i64)]) -> Result<Vec<i64>, usize> {
        let part = Factor::ONE.0 / 100;
        let stated: Stated =
            stated.iter().map(|(section, share)| (*section, (Factor(share * part), 0))).collect();
        let sections = edges.iter().map(|(_, to)| to + 1).max().unwrap_or(0);
        let shares = of_edges(sections, edges, &stated).map_err(|(section, _)| section)?;
        Ok(shares.iter().map(|share| share.0 / part).collect())
    }

    #[test]
    fn what_takes_one_arm_does_not_take_the_other() {
        // 0 -> 1 -> 2, past 1: 0 -> 2.
        assert_eq!(percent(&[(0, 1), (1, 2), (0, 2)], &[(1, 20)]), Ok(vec![20, 100, 80]));
        assert_eq!(percent(&[(0, 1), (1, 2), (0, 2)], &[]), Ok(vec![100, 100, 100]));
    }

    #[test]
    fn shares_are_of_what_leaves_a_region() {
        // 2 lies inside of 1: a quarter of the packets there.
        let edges = [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)];
        assert_eq!(percent(&edges, &[(1, 40), (2, 10)]), Ok(vec![40, 60, 25, 75, 100]));
        assert_eq!(percent(&edges, &[(1, 0), (2, 0)]), Ok(vec![0, 100, 0, 0, 0]));
    }

    #[test]
    fn more_cannot_pass_than_comes() {
        assert_eq!(percent(&[(0, 1), (1, 2)], &[(1, 20), (2, 30)]), Err(2));
    }
}
