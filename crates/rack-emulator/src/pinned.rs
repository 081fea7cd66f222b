//! Apps whose flows are pinned, in a report: where their packets were processed, and the flows that moved.

use crate::table::time_words;
use serde::Serialize;

/// Where the packets of an app with pinned flows were processed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PinnedReport {
    /// Name of the app.
    pub app: String,
    /// Frames that came to its switch from outside.
    pub packets: u64,
    /// Frames that no helper got; `packets` includes them.
    pub at_switch: u64,
    /// Hand-overs to each helper.
    pub helpers: Vec<(String, u64)>,
    /// The same over time, if flows move.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<ShareReport>,
    /// Numbers of moves, if flows move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<MoveTotals>,
    /// Moves of flows, by the time at which they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<MoveReport>,
    /// Moves that have ended and are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_moves: u64,
}

/// Numbers of moves of an app's flows, by request or because of popularity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct MoveTotals {
    /// To the switch.
    pub promoted: u64,
    /// To their helpers.
    pub demoted: u64,
    /// The switch had no room.
    pub full: u64,
    /// Flows at the switch at the end.
    pub resident: u64,
}

pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Where packets of an app were processed in a time: from the time before, or the start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ShareReport {
    /// End of the window, in picoseconds.
    pub until_ps: u64,
    /// Frames that came to the switch from outside.
    pub packets: u64,
    /// Frames that no helper got; `packets` includes them.
    pub at_switch: u64,
}

/// A flow that moved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MoveReport {
    /// The parts of the flow's key that are not 0.
    pub flow: String,
    /// `switch` or `helper`.
    pub to: String,
    /// When the move was asked for, in picoseconds.
    pub asked_ps: u64,
    /// Duration in picoseconds; `None` if the move was refused, or has not ended.
    pub took_ps: Option<u64>,
    /// `done`, or what else became of it, and why.
    pub result: String,
}

pub(crate) const APPS: [&str; 5] = ["<app", "packets", "at the switch", "share", "<at helpers"];

pub(crate) fn app_row(pinned: &PinnedReport) -> [String; 5] {
    let helpers = pinned.helpers.iter().map(|(name, frames)| format!("{name} {frames}"));
    [
        pinned.app.clone(),
        pinned.packets.to_string(),
        pinned.at_switch.to_string(),
        share_words(pinned.at_switch, pinned.packets),
        helpers.collect::<Vec<_>>().join(", "),
    ]
}

fn share_words(part: u64, whole: u64) -> String {
    let per_mille = (part * 1000).checked_div(whole);
    per_mille.map_or("-".to_string(), |share| format!("{}.{} %", share / 10, share % 10))
}

pub(crate) const SHARES: [&str; 5] = ["<app", "until", "packets", "at the switch", "share"];

pub(crate) fn share_rows(pinned: &PinnedReport) -> impl Iterator<Item = [String; 5]> {
    pinned.shares.iter().map(|share| {
        [
            pinned.app.clone(),
            time_words(share.until_ps),
            share.packets.to_string(),
            share.at_switch.to_string(),
            share_words(share.at_switch, share.packets),
        ]
    })
}

pub(crate) const MOVES: [&str; 6] = ["<app", "<flow", "<to", "asked at", "took", "<result"];

/// Rows of moves that are shown; the others are counted.
const MOVE_ROWS: usize = 40;

pub(crate) fn move_rows(pinned: &PinnedReport) -> impl Iterator<Item = [String; 6]> {
    let row = |one: &MoveReport| {
        [
            pinned.app.clone(),
            one.flow.clone(),
            one.to.clone(),
            time_words(one.asked_ps),
            one.took_ps.map_or("-".to_string(), time_words),
            one.result.clone(),
        ]
    };
    let others = pinned.more_moves + pinned.moves.len().saturating_sub(MOVE_ROWS) as u64;
    let more = || {
        let empty = || "-".to_string();
        [pinned.app.clone(), format!("{others} more"), empty(), empty(), empty(), empty()]
    };
    let shown = pinned.moves.iter().take(MOVE_ROWS).map(row);
    shown.chain((others > 0).then(more)).collect::<Vec<_>>().into_iter()
}

pub(crate) const TOTALS: [&str; 5] = ["<app", "promoted", "demoted", "switch full", "resident"];

pub(crate) fn totals_row(pinned: &PinnedReport) -> Option<[String; 5]> {
    let MoveTotals { promoted, demoted, full, resident } = pinned.totals?;
    let [promoted, demoted, full, resident] = [promoted, demoted, full, resident].map(|n| n.to_string());
    Some([pinned.app.clone(), promoted, demoted, full, resident])
}
