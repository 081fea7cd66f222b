//! Lines that are too long are broken after commas and before `&&` and `||`.

const WIDTH: usize = 100;

/// `text` with long lines broken; continuation lines are indented by two more levels.
pub(crate) fn wrap(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if line.len() <= WIDTH || line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        } else {
            wrap_line(line, &mut out);
        }
    }
    out
}

fn wrap_line(line: &str, out: &mut String) {
    let indent = line.len() - line.trim_start().len();
    let mut rest = line;
    let mut lead = String::new();
    while lead.len() + rest.len() > WIDTH {
        let Some(at) = break_at(rest, WIDTH.saturating_sub(lead.len()), indent) else { break };
        out.push_str(&lead);
        out.push_str(rest[..at].trim_end());
        out.push('\n');
        rest = rest[at..].trim_start();
        lead = " ".repeat(indent + 8);
    }
    out.push_str(&lead);
    out.push_str(rest);
    out.push('\n');
}

/// Position of a line break outside of strings: before `limit`, the last position within the fewest brackets if it
/// leaves no short line; else the first position after `limit`.
fn break_at(line: &str, limit: usize, indent: usize) -> Option<usize> {
    let places = places(line, indent);
    let fitting = || places.iter().filter(|(at, _)| *at <= limit);
    let good = || fitting().filter(|(at, _)| *at >= limit / 2);
    let last_of = |depth: usize| good().rfind(|(_, d)| *d == depth).map(|(at, _)| *at);
    let fewest = good().map(|(_, depth)| *depth).min();
    fewest
        .and_then(last_of)
        .or_else(|| fitting().next_back().map(|(at, _)| *at))
        .or_else(|| places.first().map(|(at, _)| *at))
}

/// All places where the line may be broken, with the number of open brackets.
fn places(line: &str, indent: usize) -> Vec<(usize, usize)> {
    let mut places = vec![];
    let (mut in_string, mut depth, mut previous) = (false, 0usize, ' ');
    for (at, c) in line.char_indices() {
        match c {
            '"' if previous != '\\' => in_string = !in_string,
            '(' | '[' | '{' if !in_string => depth += 1,
            ')' | ']' | '}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        let rest = &line[at..];
        let operator = previous == ' ' && (rest.starts_with("&& ") || rest.starts_with("|| "));
        if !in_string && at > indent && (previous == ',' && c == ' ' || operator) {
            places.push((at, depth));
        }
        previous = c;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn long_lines_break_behind_commas_outside_of_strings() {
        let long = format!("    f({}, \"{}\");\n", "abcdefgh, ".repeat(11), "x, ".repeat(20));
        let wrapped = wrap(&long);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() <= 100 && lines[0].ends_with(','));
        assert!(lines[1].starts_with("            "));
        let joined = lines.iter().map(|l| l.trim()).collect::<Vec<_>>().join(" ");
        assert_eq!(joined, long.trim());
    }

    #[test]
    fn a_mask_stays_whole() {
        let long = format!("        ({} &&& {}, 4): f();\n", "1".repeat(50), "2".repeat(50));
        assert_eq!(wrap(&long), long.replace(", 4", ",\n                4"));
    }

    #[test]
    fn short_lines_and_lines_without_a_break_stay() {
        let text = format!("a, b;\n{}\n", "x".repeat(200));
        assert_eq!(wrap(&text), text);
    }
}
