//! Values of a RACK.toml that are replaced for one run: `link.loss=1%`, `workload[0].count=500`, `host.h1.ip=10.0.0.1/24`.
//!
//! ```text
//! [[link]]                                 [[link]]
//! ends = ["h1", "tor:1"]                   ends = ["h1", "tor:1"]
//! loss = "0.1%"      link.loss=1%   ->     loss = "1%"
//! ```
//!
//! The result is a text again, so that it is read, checked and explained like any other.

use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value for a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Keys from the top of the file, with dots. Of `[[SECTION]]`, all that have the rest, or one by its number from 0.
    pub path: String,
    /// A value of TOML; any other text is a string.
    pub value: String,
}

/// Why a text has no such value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingError {
    /// The mistake.
    pub title: String,
    /// The remedy.
    pub help: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.title, self.help)
    }
}

/// A part of a path: a key, and the number of an element.
type Part<'p> = (&'p str, Option<usize>);

/// The text with other values in place of its own.
pub fn with_settings(text: &str, settings: &[Setting]) -> Result<String, SettingError> {
    let mut text = text.to_string();
    for setting in settings {
        text = with_setting(&text, setting)?;
    }
    Ok(text)
}

fn with_setting(text: &str, setting: &Setting) -> Result<String, SettingError> {
    let Setting { path, value } = setting;
    let wrong = |title: String, help: &str| SettingError { title, help: help.into() };
    let parts = path.split('.').map(part).collect::<Option<Vec<Part<'_>>>>();
    let parts = parts.filter(|parts| parts.iter().all(|(key, _)| !key.is_empty())).ok_or_else(|| {
        wrong(format!("`{path}` is no path to a value"), "write keys with dots, such as `link[0].loss`")
    })?;
    let table = DeTable::parse(text)
        .map_err(|error| wrong(error.message().to_string(), "`p4rack up` says where in the file"))?;
    let mut places = vec![];
    in_table(table.get_ref(), &parts, &mut places);
    if places.is_empty() {
        let title = format!("the file has no `{path}`");
        return Err(wrong(title, "only values that the file has can be replaced: write it there first"));
    }
    let is_value = DeTable::parse(&format!("x = {value}")).is_ok_and(|table| table.get_ref().len() == 1);
    let quoted = || toml::Value::String(value.clone()).to_string();
    let written = if is_value && !value.contains('\n') { value.clone() } else { quoted() };
    let mut text = text.to_string();
    places.sort_by_key(|place| std::cmp::Reverse(place.start));
    for place in places {
        text.replace_range(place, &written);
    }
    Ok(text)
}

/// `key` or `key[3]`.
fn part(text: &str) -> Option<Part<'_>> {
    match text.split_once('[') {
        None => Some((text, None)),
        Some((key, rest)) => Some((key, Some(rest.strip_suffix(']')?.parse().ok()?))),
    }
}

fn in_table(table: &DeTable<'_>, parts: &[Part<'_>], places: &mut Vec<Range<usize>>) {
    let Some(((key, number), rest)) = parts.split_first() else { return };
    let Some((_, value)) = table.iter().find(|(known, _)| known.get_ref() == *key) else { return };
    in_value(value, *number, rest, places);
}

fn in_value(
    value: &Spanned<DeValue<'_>>,
    number: Option<usize>,
    rest: &[Part<'_>],
    places: &mut Vec<Range<usize>>,
) {
    match (value.get_ref(), number) {
        (DeValue::Array(elements), Some(number)) => {
            if let Some(element) = elements.get(number) {
                in_value(element, None, rest, places);
            }
        }
        (_, Some(_)) => {}
        (DeValue::Array(elements), None) if !rest.is_empty() => {
            elements.iter().for_each(|element| in_value(element, None, rest, places));
        }
        (DeValue::Table(table), None) if !rest.is_empty() => in_table(table, rest, places),
        // The text of a table is not in one place.
        (DeValue::Table(_), None) => {}
        (_, None) if rest.is_empty() => places.push(value.span()),
        (_, None) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
[rack]
name = \"a\"   # of the rack
[host.h1]
ip = \"10.0.0.1/24\"
[[link]]
ends = [\"h1\", \"s1:1\"]
loss = \"1%\"
[[link]]
ends = [\"h2\", \"s1:2\"]
[[link]]
loss = '2%'
[[workload]]
count = 7
";

    fn changed(path: &str, value: &str) -> Result<String, String> {
        let setting = Setting { path: path.into(), value: value.into() };
        with_settings(TEXT, &[setting]).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_replaced_where_they_are() {
        assert_eq!(changed("rack.name", "b"), Ok(TEXT.replace("\"a\"", "\"b\"")));
        assert_eq!(changed("host.h1.ip", "10.0.0.9/24"), Ok(TEXT.replace("0.1/24", "0.9/24")));
        let all = TEXT.replace("\"1%\"", "\"30%\"").replace("'2%'", "\"30%\"");
        assert_eq!(changed("link.loss", "30%"), Ok(all));
        assert_eq!(changed("link[2].loss", "30%"), Ok(TEXT.replace("'2%'", "\"30%\"")));
        assert_eq!(changed("link[0].ends[1]", "s1:9"), Ok(TEXT.replace("s1:1", "s1:9")));
        assert_eq!(changed("workload.count", "8"), Ok(TEXT.replace('7', "8")));
        assert_eq!(changed("workload.count", "8us"), Ok(TEXT.replace('7', "\"8us\"")));
        assert_eq!(
            changed("link[0].ends", "[\"h9\", 'x']"),
            Ok(TEXT.replacen("[\"h1\", \"s1:1\"]", "[\"h9\", 'x']", 1))
        );
        // A string, whatever is in it: no second line of the file.
        assert_eq!(changed("rack.name", "1\nx = 2"), Ok(TEXT.replace("\"a\"", "\"\"\"\n1\nx = 2\"\"\"")));
    }

    #[test]
    fn what_the_file_does_not_have_is_named() {
        for path in
            ["link.los", "link[1].loss", "link[9].loss", "rack", "rack.name.x", "rack[0].name", "host.h2.ip"]
        {
            let found = changed(path, "1").expect_err(path);
            assert!(
                found.contains(&format!("has no `{path}`")) && found.contains("write it there first"),
                "{found}"
            );
        }
        for path in ["", "link..loss", "link[x].loss", "link[0.loss"] {
            assert!(changed(path, "1").expect_err(path).contains("no path to a value"), "{path}");
        }
    }
}
