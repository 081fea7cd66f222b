//! Calls that are under way together: what goes at one time, what comes in order, and that the end is the same as one after the
//! other.

mod overlap;
mod rig;
mod serial;
