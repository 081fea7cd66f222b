//! One attempt to split a program: its preparations, and the ways in which it may end early.

use base_diag::Diagnostic;

/// The halves that are cut.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CutHalves {
    /// A region of ingress runs on another device.
    pub ingress: bool,
    /// One of egress does.
    pub egress: bool,
}

/// Preparations that a program needs beside its cuts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// Bytes are counted after a cut: the packet's own length has to travel.
    pub counted: bool,
    /// Egress reads `packet_length`, and v1model would count a hand-over otherwise.
    pub tracked: bool,
    /// Number of innermost branches around each region with detours: all their arms pass through the region's device.
    pub detours: usize,
    /// Actions of other tables read a direct meter, and these run elsewhere: the colour becomes a value.
    pub colours: bool,
}

/// Reason why the steps end early.
pub enum Stop {
    /// Nothing can be cut: the program runs whole at the origins.
    Whole,
    /// With these reasons.
    Refused(Vec<Diagnostic>),
    /// The program needs these preparations.
    Again(Needs),
}

impl From<Vec<Diagnostic>> for Stop {
    fn from(found: Vec<Diagnostic>) -> Stop {
        Stop::Refused(found)
    }
}
