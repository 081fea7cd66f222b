//! Concurrent calls: which run at one time, which in order, and that the result equals that of one after the other.

mod forward;
mod overlap;
mod rig;
mod serial;
mod storing;
mod windows;
