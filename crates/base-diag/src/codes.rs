//! Every code with its explanation, for `p4rack explain CODE`.
//!
//! One module for each range. A new code is a line in its module and a text `codes/P4Rnnnn.md`: a title, why
//! it is refused, and a small program that shows it.

use crate::Code;

/// Declares codes as constants and their table; the text of `0101` is `codes/P4R0101.md`.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:tt,)*) => {
        $(
            $(#[$doc])*
            #[allow(clippy::zero_prefixed_literal)]
            pub const $name: $crate::Code = $crate::Code($number);
        )*

        /// The codes of this range with their texts.
        pub const ENTRIES: &[$crate::codes::Entry] = &[$(
            $crate::codes::Entry {
                code: $name,
                text: include_str!(concat!("../../codes/P4R", stringify!($number), ".md")),
            },
        )*];
    };
}

pub mod check;
pub mod elaborate;
pub mod emulate;
pub mod group;
pub mod handler;
pub mod headerless;
pub mod job;
pub mod keys;
pub mod lab;
pub mod limits;
pub mod merge;
pub mod pin;
pub mod plan;
pub mod rack;
pub mod run;
pub mod split;
pub mod syntax;
pub mod tna;

/// A code and its explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The code.
    pub code: Code,
    /// Markdown.
    pub text: &'static str,
}

const RANGES: &[&[Entry]] = &[
    syntax::ENTRIES,
    check::ENTRIES,
    elaborate::ENTRIES,
    run::ENTRIES,
    split::ENTRIES,
    rack::ENTRIES,
    emulate::ENTRIES,
    plan::ENTRIES,
    lab::ENTRIES,
    limits::ENTRIES,
    merge::ENTRIES,
    keys::ENTRIES,
    pin::ENTRIES,
    handler::ENTRIES,
    group::ENTRIES,
    job::ENTRIES,
    headerless::ENTRIES,
    tna::ENTRIES,
];

/// All codes in order.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    RANGES.iter().copied().flatten()
}

/// The explanation of a code in Markdown.
pub fn explain(code: Code) -> Option<&'static str> {
    all().find(|e| e.code == code).map(|e| e.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_title_an_explanation_and_an_example() {
        for Entry { code, text } in all() {
            let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
            assert!(title.starts_with("# ") && title.len() > 4, "{code}: the first line is no title");
            let (why, example) = rest.split_once("```").unwrap_or((rest, ""));
            assert!(why.split_whitespace().count() >= 8, "{code}: the explanation is missing");
            let (example, _) = example.split_once("\n```").unwrap_or(("", ""));
            assert!(example.lines().nth(1).is_some(), "{code}: there is no example in a fence");
        }
    }

    #[test]
    fn codes_are_unique_and_in_their_range() {
        for entries in RANGES {
            let range = entries.first().map_or(0, |first| first.code.0 / 100);
            assert!(entries.iter().all(|e| e.code.0 / 100 == range), "range {range:02}xx holds others");
        }
        let all: Vec<&Entry> = all().collect();
        assert!(all.windows(2).all(|w| w[0].code < w[1].code), "codes are not in order");
    }

    #[test]
    fn codes_are_read_and_printed() {
        assert_eq!(Code(213).to_string(), "P4R0213");
        for text in ["P4R0213", "p4r0213", "0213", "213"] {
            assert_eq!(text.parse(), Ok(Code(213)), "{text}");
        }
        assert!("P4R".parse::<Code>().is_err() && "x1".parse::<Code>().is_err());
        assert_eq!(explain(Code(9999)), None);
    }
}
