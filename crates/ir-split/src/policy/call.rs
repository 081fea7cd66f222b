//! `call`: a region is a handler, which gives control back to the device around it.
//!
//! The section after the call runs at the caller. Hand-overs to the handler and back are led by [`crate::policies::LEADING`], like all
//! others.

use super::EdgePolicy;

pub struct Call;

impl EdgePolicy for Call {
    fn name(&self) -> &'static str {
        "call"
    }

    fn gives_back(&self) -> bool {
        true
    }
}
