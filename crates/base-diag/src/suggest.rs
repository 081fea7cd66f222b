//! "Did you mean": the known name nearest to the one the user wrote.

/// The candidate that `name` is most likely a slip of, or none if all are too far. Of equals, the first.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0 => return None,
        1..=2 => 0,
        3..=5 => 1,
        n => n / 3,
    };
    let near = candidates.into_iter().filter(|c| *c != name && !c.is_empty());
    let scored = near.filter_map(|c| distance(name, c, limit).map(|d| (d, c)));
    scored.min_by_key(|(d, _)| *d).map(|(_, c)| c)
}

/// Edits that turn `a` into `b` (insert, delete, replace, swap neighbours); letters that differ only in case
/// count nothing. `None` if there are more than `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).collect();
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = vec![];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j - 1] + same).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|d| *d <= limit)
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["ipv4", "ethernet", "isValid", "mark_to_drop"];
        assert_eq!(did_you_mean("ipv5", known), Some("ipv4"));
        assert_eq!(did_you_mean("ehternet", known), Some("ethernet"));
        assert_eq!(did_you_mean("isvalid", known), Some("isValid"));
        assert_eq!(did_you_mean("mark_drop", known), Some("mark_to_drop"));
        assert_eq!(did_you_mean("x", known), None);
        assert_eq!(did_you_mean("vlan", known), None);
        assert_eq!(did_you_mean("", known), None);
    }
}
