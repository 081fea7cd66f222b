//! A row as the controller moves it from one server to the next.

use crate::{Instruction, Member, Row, RowId};

/// Progress of a row's move.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Phase<F> {
    /// No previous server, and nothing between servers.
    Steady,
    /// The row has a previous server. `since`: the move, or the last answer that it cannot retire.
    Moved { since: u64 },
    /// The previous server is asked for its flows; so many may be kept.
    Settling { since: u64, most: usize },
    /// The row has no previous server any more; `at` gets everything back that went to `previous`. `drops`: the row is a pin that ends.
    Closing { since: u64, at: Member, previous: Member, kept: Vec<(u32, F)>, drops: bool },
}

/// A row and its phase.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RowState<F> {
    pub row: Row,
    pub phase: Phase<F>,
}

impl<F: Clone> RowState<F> {
    /// A row that has been at this server from the start.
    pub fn new(current: Member) -> Self {
        RowState { row: Row { current, previous: None, epoch: 0 }, phase: Phase::Steady }
    }

    /// Moves a steady row.
    pub fn go(&mut self, to: Member, now: u64) -> Row {
        let Row { current, epoch, .. } = self.row;
        self.row = Row { current: to, previous: Some(current), epoch: epoch.wrapping_add(1) };
        self.phase = Phase::Moved { since: now };
        self.row
    }

    /// Gives the row to a server, as if it had never had another.
    pub fn restart(&mut self, current: Member) -> Row {
        self.row = Row { current, previous: None, epoch: self.row.epoch.wrapping_add(1) };
        self.phase = Phase::Steady;
        self.row
    }

    /// Gives a steady row to a server, and its packets to the server before for as long as the switch's older filter has their flows. None if
    /// nothing changes.
    pub fn turn(&mut self, to: Member) -> Option<Row> {
        let Row { current, previous, epoch } = self.row;
        let before = (to != current).then_some(current);
        if before.is_none() && previous.is_none() {
            return None;
        }
        self.row = Row { current: to, previous: before, epoch: epoch.wrapping_add(1) };
        Some(self.row)
    }

    /// The previous server retires. `stays`: the row goes back to it.
    pub fn close(&mut self, stays: bool, drops: bool, kept: Vec<(u32, F)>, now: u64) -> Row {
        let Row { current: at, previous, epoch } = self.row;
        let previous = previous.unwrap_or(at);
        let current = if stays { previous } else { at };
        self.row = Row { current, previous: None, epoch: epoch.wrapping_add(1) };
        self.phase = Phase::Closing { since: now, at, previous, kept, drops };
        self.row
    }

    /// A server has died. None if the row does not change; else the new row, or none of it: its only server is gone.
    pub fn without(&mut self, dead: Member) -> Option<Option<Row>> {
        let Row { current, previous, .. } = self.row;
        if matches!(self.phase, Phase::Closing { at, .. } if at == dead && current != dead) {
            // A pin that stays; the server that would have taken the flow is gone.
            self.phase = Phase::Steady;
            return None;
        }
        match previous {
            Some(previous) if current == dead => Some(Some(self.restart(previous))),
            Some(previous) if previous == dead => Some(Some(self.restart(current))),
            _ if current == dead => Some(None),
            _ => None,
        }
    }

    /// The previous server was asked for its flows, with this epoch.
    pub fn is_settling(&self, from: Member, epoch: u32) -> bool {
        let is_asked = matches!(self.phase, Phase::Settling { .. });
        is_asked && self.row.previous == Some(from) && self.row.epoch == epoch
    }

    /// Pins that the row may still need.
    pub fn reserved(&self) -> usize {
        if let Phase::Settling { most, .. } = self.phase { most } else { 0 }
    }

    /// The instruction that belongs to the phase, and the server that gets it.
    pub fn instruction(&self, row: &RowId<F>) -> Option<(Member, Instruction<F>)> {
        let Row { current, previous, epoch } = self.row;
        let row = row.clone();
        match &self.phase {
            Phase::Settling { most, .. } => {
                Some((previous?, Instruction::Settle { row, epoch, current, most: *most }))
            }
            Phase::Closing { at, previous, kept, .. } => {
                Some((*at, Instruction::Close { row, epoch, previous: *previous, kept: kept.clone() }))
            }
            Phase::Steady | Phase::Moved { .. } => None,
        }
    }

    /// True if the server has to do with the row.
    pub fn involves(&self, member: Member) -> bool {
        let Row { current, previous, .. } = self.row;
        let is_closing =
            matches!(self.phase, Phase::Closing { at, previous, .. } if at == member || previous == member);
        current == member || previous == Some(member) || is_closing
    }

    /// True if the row does not move. A pattern, not a comparison of phases: it is asked of all rows again and again.
    pub fn is_steady(&self) -> bool {
        matches!(self.phase, Phase::Steady)
    }
}
