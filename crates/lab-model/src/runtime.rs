//! The program that a runtime file is for.

use base_diag::Span;
use base_json::{Json, Kind};
use rack_model::Spanned;

/// The program that the tutorials' `sN-runtime.json` names: what a compiler makes of it (`build/basic.json`), or else the P4Info. `None` if it names none, or is no JSON.
/// `start` is the number of the text's first byte in its source map.
pub fn program_of(text: &str, start: u32) -> Option<Spanned<String>> {
    let json = base_json::parse(text, start).ok()?;
    let Kind::Object(members) = json.kind else { return None };
    let of =
        |key: &str| members.iter().find(|member| member.name == key).and_then(|member| path(&member.value));
    of("bmv2_json").or_else(|| of("p4info")).map(|(text, span)| Spanned::new(text.to_string(), span))
}

fn path(json: &Json) -> Option<(&str, Span)> {
    match &json.kind {
        Kind::String(text) if !text.is_empty() => Some((text, json.span)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_that_of_the_compiled_file() {
        let name = |text| program_of(text, 1).map(|name| name.value);
        assert_eq!(
            name(r#"{"p4info": "build/a.txt", "bmv2_json": "build/b.json"}"#).as_deref(),
            Some("build/b.json")
        );
        assert_eq!(
            name(r#"{"p4info": "build/a.p4.p4info.txtpb"}"#).as_deref(),
            Some("build/a.p4.p4info.txtpb")
        );
        assert_eq!(name(r#"{"p4info": 1}"#), None);
        assert_eq!(name("[]"), None);
        assert_eq!(name("{"), None);
    }
}
