//! Whatever the program is, it is printed without a panic.

const EVERYTHING: &str = include_str!("../../ir/tests/programs/everything.ir");

#[test]
fn mutated_programs_are_printed() {
    let mut rng = base_time::Rng::new(5);
    let mut words: Vec<&str> =
        EVERYTHING.split([' ', '\n', '(', ')', ';']).filter(|w| !w.is_empty()).collect();
    words.sort_unstable();
    words.dedup();
    words.extend(["?#0", "?#99", "_", "8w0x1", "true", "void", "bit<8>", "extern ?#7", "tuple<>"]);
    let mut printed = 0;
    for _ in 0..600 {
        let mut text = EVERYTHING.to_string();
        for _ in 0..=rng.below(2) {
            let at = rng.index(text.len());
            let start = text[at..].find(|c: char| c.is_alphanumeric()).map_or(at, |i| at + i);
            let end =
                text[start..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(start, |i| start + i);
            text.replace_range(start..end, rng.pick(&words).unwrap_or(&""));
        }
        if let Ok(program) = ir::text::read(&text) {
            printed += 1;
            assert!(target_p4::print(&program).starts_with("#include <core.p4>"));
            target_p4::check(&program);
        }
    }
    assert!(printed > 20, "{printed} could be read");
}
