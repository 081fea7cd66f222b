//! Models are short: at most 30 lines of code each, without what they share with other blocks or with the P4.

const SOURCES: [&str; 8] = [
    include_str!("../src/balance.rs"),
    include_str!("../src/cardinality.rs"),
    include_str!("../src/count_min.rs"),
    include_str!("../src/log_exp.rs"),
    include_str!("../src/normalised.rs"),
    include_str!("../src/rate_continuous.rs"),
    include_str!("../src/rates.rs"),
    include_str!("../src/timestamps.rs"),
];

/// Lines of code of a model: the declaration of its type and the `impl` blocks, without comments.
fn lines_of(model: &str, source: &str) -> usize {
    let is_first = |line: &str| {
        let before = line
            .strip_prefix("struct ")
            .or(line.strip_prefix("impl Model for "))
            .or(line.strip_prefix("impl "));
        before.and_then(|rest| rest.split(['(', ' ']).next()) == Some(model)
    };
    let is_last = |line: &str| line.starts_with('}') || line.starts_with("struct ") && line.ends_with(';');
    let (mut lines, mut is_within) = (0, false);
    for line in source.lines() {
        is_within |= is_first(line);
        lines += usize::from(is_within && !line.trim().is_empty() && !line.trim().starts_with("//"));
        is_within &= !is_last(line);
    }
    lines
}

#[test]
fn a_model_has_at_most_30_lines() {
    let mut models = vec![];
    for source in SOURCES {
        let names = source.lines().filter_map(|line| line.strip_prefix("impl Model for "));
        models.extend(names.map(|line| {
            let name = line.trim_end_matches(" {");
            (name, lines_of(name, source))
        }));
    }
    // `multiply` and `divide` have one model, and so have their normalised forms.
    assert_eq!(models.len(), 16, "{models:?}");
    let wrong: Vec<_> = models.iter().filter(|(_, lines)| !(6..=30).contains(lines)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
