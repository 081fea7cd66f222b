//! Plain words: rules of wording that a program can check.
//!
//! ```text
//! doc comments   do not begin with a pronoun or with "What": `/// Its name.`, `/// What it costs.`, `/// How many.`
//! sentences      in comments and pages do not begin with "What" or "Who", except questions: the subject is a noun
//! names          in code have no word that the project has replaced: `told`, `tolls`, `twins`
//! phrases        in comments, messages and pages: "led back", "the north"
//! ```
//!
//! Each finding names the words to use instead. Tests and examples are checked, too; generated code is not.

use super::{files, is_generated, show, sources};
use std::fs;
use std::path::Path;

/// First words of doc comments that stand for a noun.
const FIRST: &[&str] =
    &["What", "Which", "Its", "It", "Their", "They", "Them", "Those", "That", "Whose", "Who", "Of"];

/// Second words after "How" that stand for a quantity: a number, a duration, a probability, a depth.
const QUANTITIES: &[&str] =
    &["many", "much", "often", "long", "fast", "far", "deep", "deeply", "soon", "tightly"];

/// Parts of names, and the term to use instead.
const NAMES: &[(&str, &str)] = &[
    ("tell", "report"),
    ("tells", "reports"),
    ("told", "reported"),
    ("telling", "reporting"),
    ("untold", "unreported"),
    ("toll", "multiplier"),
    ("tolls", "multipliers"),
    ("lent", "foreign"),
    ("lend", "a verb for the step itself"),
    ("north", "northbound"),
    ("twins", "equal_devices"),
];

/// Phrases, in lower case, and the term to use instead.
const PHRASES: &[(&str, &str)] =
    &[("led back", "rolled back"), ("lead back", "roll back"), ("the north", "northbound")];

/// Checks all sources and pages.
pub fn check(root: &Path, found: &mut Vec<String>) {
    for file in [root.join("crates"), root.join("xtask/src")].iter().flat_map(|dir| sources(dir)) {
        if is_generated(&file) || file.ends_with("tidy/words.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        found.extend(
            of_source(&text).into_iter().map(|(line, what)| format!("{}:{line}: {what}", show(root, &file))),
        );
    }
    let pages = ["docs", "crates"].iter().flat_map(|dir| files(&root.join(dir)));
    let own = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    for file in pages.chain(own).filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        found.extend(
            of_page(&text).into_iter().map(|(line, what)| format!("{}:{line}: {what}", show(root, &file))),
        );
    }
}

/// Findings in Rust source, each with its line.
fn of_source(text: &str) -> Vec<(usize, String)> {
    let mut found = vec![];
    let mut comment = Prose::default();
    let mut is_doc_before = false;
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.trim_start();
        let said = ["///", "//!", "//"].iter().find_map(|mark| code.strip_prefix(mark));
        let Some(said) = said else {
            found.extend(comment.end());
            found.extend(names(line).map(|what| (number, what)));
            is_doc_before = false;
            continue;
        };
        let is_doc = code.starts_with("///") || code.starts_with("//!");
        if is_doc && !is_doc_before {
            found.extend(first(said.trim_start()).map(|what| (number, what)));
        }
        is_doc_before = is_doc;
        comment.line(number, said);
    }
    found.extend(comment.end());
    found
}

/// Findings in a page of text.
fn of_page(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut prose) = (vec![], Prose::default());
    for (number, line) in (1..).zip(text.lines()) {
        let is_block = line.trim_start().starts_with(['-', '*', '|', '#', '>']) || line.trim().is_empty();
        if is_block {
            found.extend(prose.end());
        }
        // A heading may be a clause: "What is not modelled".
        if line.starts_with('#') {
            continue;
        }
        prose.line(number, line.trim_start_matches([' ', '-', '*', '|', '#', '>']));
    }
    found.extend(prose.end());
    found
}

fn first(doc: &str) -> Option<String> {
    let mut words = doc.split(|c: char| !c.is_alphanumeric());
    let (word, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_quantity = word == "How" && QUANTITIES.contains(&next);
    (is_quantity || FIRST.contains(&word))
        .then(|| format!("a doc comment begins with `{word}`: begin with the noun, or leave it out"))
}

/// Sentences of a comment or paragraph. Code between fences is left out.
#[derive(Default)]
struct Prose {
    text: String,
    /// Offset in `text` at which each line begins, with the line's number.
    lines: Vec<(usize, usize)>,
    is_code: bool,
}

impl Prose {
    fn line(&mut self, number: usize, line: &str) {
        if line.trim_start().starts_with("```") {
            self.is_code = !self.is_code;
            return;
        }
        if !self.is_code {
            self.lines.push((self.text.len(), number));
            self.text += line.trim();
            self.text.push(' ');
        }
    }

    fn end(&mut self) -> Vec<(usize, String)> {
        if self.is_code {
            return vec![];
        }
        let prose = std::mem::take(self);
        let at =
            |offset: usize| prose.lines.iter().rev().find(|(start, _)| *start <= offset).map_or(1, |l| l.1);
        let mut found = vec![];
        for (start, sentence) in sentences(&prose.text) {
            let word = sentence.split(' ').next().unwrap_or_default();
            if ["What", "Who", "Whose"].contains(&word) && !sentence.ends_with('?') {
                found.push((at(start), format!("a sentence begins with `{word}`: name the thing itself")));
            }
        }
        let lower = prose.text.to_lowercase();
        for (phrase, instead) in PHRASES {
            for (offset, _) in lower.match_indices(phrase) {
                let is_inside = lower[..offset].ends_with(char::is_alphanumeric)
                    || lower[offset + phrase.len()..].starts_with(char::is_alphanumeric);
                if !is_inside {
                    found.push((at(offset), format!("`{phrase}`: say `{instead}`")));
                }
            }
        }
        found
    }
}

/// Sentences, each with its offset. A sentence ends at `.`, `!` or `?` before a space.
fn sentences(text: &str) -> Vec<(usize, &str)> {
    let (mut all, mut start) = (vec![], 0);
    for (at, _) in text.match_indices(['.', '!', '?']) {
        if text[at + 1..].starts_with(' ') {
            all.push((start, &text[start..=at]));
            start = at + 2;
        }
    }
    all.push((start, text[start..].trim_end()));
    all
}

/// Replaced words in the names of a line of code. Strings and comments after code are left out.
fn names(line: &str) -> impl Iterator<Item = String> {
    let line = line.replace("\\\"", "");
    let code: String = line.split("//").next().unwrap_or_default().split('"').step_by(2).collect();
    let words: Vec<String> = code
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .flat_map(parts)
        .map(|part| part.to_lowercase())
        .collect();
    let replaced = NAMES.iter().filter(move |(name, _)| words.iter().any(|word| word == name));
    replaced.map(|(name, instead)| format!("`{name}` in a name: use `{instead}`"))
}

/// Words of a name: `told_once` and `ToldOnce` have two.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && was_lower {
            parts.push(String::new());
        }
        if let (Some(last), true) = (parts.last_mut(), c != '_') {
            last.push(c);
        }
        was_lower = c.is_lowercase();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(found: Vec<(usize, String)>) -> Vec<usize> {
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn doc_comments_begin_with_a_noun() {
        assert_eq!(
            lines(of_source("/// Its name.\nname: u8,\n/// Name of it.\n/// Its use.\nb: u8,\n")),
            [1]
        );
        assert_eq!(lines(of_source("    /// Of the last request.\n    //! What it costs.\n")), [1, 2]);
        assert_eq!(lines(of_source("/// How many.\nn: u8,\n/// How frames come.\n")), [1]);
        assert!(of_source("/// Iterates.\n/// Offset.\n").is_empty());
    }

    #[test]
    fn sentences_have_a_subject() {
        assert_eq!(lines(of_source("// Frames wait. What\n// comes late is lost.\n// Ends.\n")), [1]);
        assert_eq!(
            lines(of_page("# What is it?\n\nAll. What a hub knows\nis stored.\n\n```\nWhat is code.\n```\n")),
            [3]
        );
        assert!(of_page("| a | What it does. |\n").is_empty());
    }

    #[test]
    fn names_use_the_terms() {
        assert_eq!(
            lines(of_source(
                "let told = 1;\nfn is_told() {}\nstruct ToldOnce;\nlet retold = \"told\"; // told\n"
            )),
            [1, 2, 3]
        );
    }

    #[test]
    fn phrases_are_found_over_lines() {
        assert_eq!(lines(of_page("Devices are led\nback.\n\nThe northern switch.\n")), [1]);
    }
}
