//! Each mistake with its message.

mod groups;
mod jobs;
mod moves;
mod pinning;
mod references;
mod spares;
mod values;

use base_diag::{SourceMap, Span, Style, codes, render};
use expect_test::Expect;
use rack_model::read_rack;

/// Two hosts at a switch, to be extended by a mistake.
const GOOD: &str = r#"
[device.tor]
class = "switch"
[host.h1]
mac = "02:00:00:00:01:01"
ip = "10.0.1.1/24"
[host.h2]
mac = "02:00:00:00:02:01"
ip = "10.0.2.1/24"
[[link]]
ends = ["h1", "tor:1"]
rate = "1Gbit/s"
[[link]]
ends = ["h2", "tor:2"]
rate = "1Gbit/s"
"#;

fn reported(text: &str) -> String {
    let mut map = SourceMap::new();
    let file = map.add_file("RACK.toml", text, Span::NONE).unwrap();
    let (rack, diagnostics) = read_rack(text, map.file(file).unwrap().base());
    assert_eq!(rack.is_none(), diagnostics.iter().any(|d| d.severity == base_diag::Severity::Error));
    for d in &diagnostics {
        assert!(codes::explain(d.code).is_some(), "{} is not explained", d.code);
        assert!(d.title.split_whitespace().count() <= 10, "more than ten words: {}", d.title);
    }
    let texts: Vec<String> = diagnostics.iter().map(|d| render(d, &map, Style::Plain)).collect();
    texts.join("\n")
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&reported(text));
}

/// `GOOD` with `from` replaced.
fn check_changed(from: &str, to: &str, expected: Expect) {
    assert!(GOOD.contains(from));
    check(&GOOD.replacen(from, to, 1), expected);
}

/// `GOOD` with `more` after it.
fn check_with(more: &str, expected: Expect) {
    check(&format!("{GOOD}{more}"), expected);
}

#[test]
fn the_base_of_these_tests_is_good() {
    assert_eq!(reported(GOOD), "");
    assert_eq!(reported(""), "");
}
