//! The example of every code's explanation shows that code.

use crate::support::run;

#[test]
fn examples_show_their_codes() {
    for entry in base_diag::codes::check::ENTRIES {
        let (_, rest) = entry.text.split_once("```p4\n").expect("an example");
        let (example, _) = rest.split_once("\n```").expect("the example's end");
        let (_, diagnostics, _) = run(example);
        assert!(
            diagnostics.iter().any(|d| d.code == entry.code),
            "{}: its example gives {:?}",
            entry.code,
            diagnostics.iter().map(|d| (d.code, &d.title)).collect::<Vec<_>>()
        );
    }
}
