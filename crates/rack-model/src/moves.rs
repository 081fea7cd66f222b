//! `[[move]]`: a flow of an app moves to the switch or to its helper while the rack runs.
//!
//! ```toml
//! [[move]]
//! app = "firewall"          # default: the only app with `affinity = "medium"`
//! at = "5ms"                # when the move is asked for
//! to = "switch"             # or "helper"
//! # Each part of the flow's key, as `p4rack analyze` names it; 0 for a header that its packets do not have.
//! flow = { "hdr.ipv4.src" = "10.1.0.1", "hdr.ipv4.dst" = "198.51.100.1", "hdr.udp.src" = 49152, "hdr.udp.dst" = 5060 }
//! ```

use crate::app::App;
use crate::pinning::Affinity;
use crate::section::{Item, Reader, Section, unknown_name};
use crate::{Spanned, value};
use base_diag::codes::rack as codes;
use base_diag::{Diagnostic, Span};
use base_time::Time;

/// A flow that is to move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Name of its app, which has [`Affinity::Medium`].
    pub app: String,
    /// Parts of the flow's key, by name, as texts.
    pub flow: Vec<(Spanned<String>, Spanned<String>)>,
    /// Place of all parts in the file.
    pub flow_span: Span,
    /// Where it is to be processed.
    pub to: Side,
    /// When the move is asked for.
    pub at: Time,
    /// Place in the file.
    pub span: Span,
}

/// The places where a flow may be processed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// At the switch.
    Switch,
    /// At its helper.
    Helper,
}

impl Side {
    /// As files and reports write it.
    pub fn word(self) -> &'static str {
        match self {
            Side::Switch => "switch",
            Side::Helper => "helper",
        }
    }
}

const SIDES: [(&str, Option<Side>); 2] = [("switch", Some(Side::Switch)), ("helper", Some(Side::Helper))];

/// `apps` are those of the file.
pub(crate) fn read(r: &mut Reader, item: Item<'_>, apps: &[App]) -> Option<Move> {
    let mut s = Section::new(r, "this move".to_string(), item.span, item)?;
    let app = s.optional(r, "app", value::string);
    let flow = s.required(r, "flow", "{ \"hdr.ipv4.src\" = \"10.0.0.1\" }", |r, i| {
        value::texts(r, i, "{ \"hdr.ipv4.src\" = \"10.0.0.1\" }")
    });
    let to = s.required(r, "to", "\"switch\"", |r, i| value::choice(r, i, &SIDES));
    let at = s.required(r, "at", "\"5ms\"", value::time);
    s.finish(r);
    let app = app_of(r, app, item.span, apps)?;
    let flow = flow?;
    Some(Move { app, flow_span: flow.span, flow: flow.value, to: to?.value, at: at?.value, span: item.span })
}

/// The app whose flow moves.
fn app_of(r: &mut Reader, named: Option<Spanned<String>>, span: Span, apps: &[App]) -> Option<String> {
    let is_medium =
        |app: &&App| app.pinning.as_ref().is_some_and(|pinning| pinning.affinity.value == Affinity::Medium);
    let movable: Vec<&App> = apps.iter().filter(is_medium).collect();
    let Some(named) = named else {
        if let [only] = movable.as_slice() {
            return Some(only.name.value.clone());
        }
        let title = match movable.is_empty() {
            true => "no app has flows that move",
            false => "the app of the flow is not stated",
        };
        let names: Vec<String> = movable.iter().map(|app| format!("`{}`", app.name.value)).collect();
        let diagnostic = Diagnostic::error(codes::BAD_VALUE, title).at(span, "this move");
        r.push(match names.is_empty() {
            true => diagnostic.help("flows of apps with `affinity = \"medium\"` move"),
            false => diagnostic.help(format!("write `app = `, and one of {}", names.join(", "))),
        });
        return None;
    };
    let Some(app) = apps.iter().find(|app| app.name.value == named.value) else {
        let title = format!("unknown app `{}`", named.value.escape_debug());
        let known = apps.iter().map(|app| app.name.value.as_str());
        r.push(unknown_name(title, Spanned::new(named.value.as_str(), named.span), known));
        return None;
    };
    if !is_medium(&app) {
        let title = format!("flows of `{}` do not move", app.name.value);
        r.push(
            Diagnostic::error(codes::BAD_VALUE, title)
                .at(named.span, "all its flows are processed at one place")
                .help("write `affinity = \"medium\"` in the app, and name its helpers as `devices`"),
        );
        return None;
    }
    Some(named.value)
}
