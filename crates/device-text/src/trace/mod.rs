//! Traces for people, as JSON, and as protobuf.

pub mod json;
pub mod proto;
pub mod text;

use base_diag::{Position, SourceMap, Span};
use control_writes::Match;
use dataplane_api::DropReason;
use device::Cause;
use device::trace::hex_text;

/// Place of a step in the user's file.
fn position(map: &SourceMap, span: Span) -> Option<Position> {
    if span.is_none() {
        return None;
    }
    map.position(map.call_site(span).lo)
}

/// Source text of the step, on one line.
fn source(map: &SourceMap, span: Span) -> String {
    let text = map.text(map.call_site(span));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A match as entries write it: `0x0a000000/8`
pub fn key_text(wanted: &Match) -> String {
    match wanted {
        Match::Exact(value) => hex_text(value),
        Match::Ternary { value, mask } => format!("{}&&&{}", hex_text(value), hex_text(mask)),
        Match::Lpm { value, prefix_len } => format!("{}/{prefix_len}", hex_text(value)),
        Match::Range { lo, hi } => format!("{}..{}", hex_text(lo), hex_text(hi)),
        Match::Any => "*".to_string(),
    }
}

/// The matches of an entry.
pub fn keys_text(keys: &[Match]) -> String {
    keys.iter().map(key_text).collect::<Vec<_>>().join(", ")
}

/// `green`, `yellow`, `red`
fn colour_word(colour: u8) -> &'static str {
    match colour {
        0 => "green",
        1 => "yellow",
        _ => "red",
    }
}

/// `received`, `ingress-clone`, ...
fn cause_word(cause: &Cause) -> &'static str {
    match cause {
        Cause::Received => "received",
        Cause::FrameExtern => "frame-extern",
        Cause::IngressClone { .. } => "ingress-clone",
        Cause::EgressClone { .. } => "egress-clone",
        Cause::Replica { .. } => "replica",
        Cause::Resubmitted => "resubmitted",
        Cause::Recirculated => "recirculated",
    }
}

/// A reason as a word: `ingress`, `step-limit`.
pub fn drop_word(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Ingress => "ingress",
        DropReason::Egress => "egress",
        DropReason::NoReplica => "no-replica",
        DropReason::Absorbed => "absorbed",
        DropReason::NoProgram => "no-program",
        DropReason::PassLimit => "pass-limit",
        DropReason::ParserLimit => "parser-limit",
        DropReason::StepLimit => "step-limit",
        DropReason::AssertFailed => "assert-failed",
        DropReason::UnknownRegion => "unknown-region",
        DropReason::Internal => "internal",
    }
}
