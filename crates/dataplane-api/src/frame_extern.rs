//! Frame externs: functions on whole frames, called from a program.
//!
//! A call deparses the packet's valid headers with the program's own deparser (checksums are not computed first),
//! hands the frame to the extern, and drops the packet. Each frame the extern gives back is parsed again with the
//! program's own parser (checksums are not verified again) and runs on from a region:
//!
//! - the frame that *carries the call on* runs on after the call and keeps the packet's metadata and locals;
//! - any other frame starts fresh: metadata zero but for `packet_length` and the ingress timestamp.
//!
//! In P4 a frame extern is an extern object with the annotation `@frame_extern("name")`; `name` is looked up in a
//! [`Registry`](crate::Registry). An instance is called at one place of a program at most.

use crate::ExternError;
use base_bits::Bits;
use base_time::Time;
use smallvec::SmallVec;
use std::sync::Arc;

/// A function on frames with memory and a clock.
///
/// Time never runs backwards between calls. An implementation does a bounded amount of work and emits a bounded
/// number of frames a call, and gives the same output for the same sequence of calls.
pub trait FrameExtern: Send {
    /// A packet arrives: `method` and `args` are those of the call in the program.
    fn call(&mut self, method: &str, args: &[Bits], frame: &[u8], now: Time, out: &mut Emitter);

    /// When [`tick`](FrameExtern::tick) wants to run next; `None` if no timer is running.
    fn deadline(&self) -> Option<Time>;

    /// A deadline has come: `now` is at or past it. Afterwards the deadline is later than `now`, or none.
    fn tick(&mut self, now: Time, out: &mut Emitter);

    /// The whole memory.
    fn snapshot(&self) -> Vec<u8>;

    /// Takes the memory of another instance of the same kind and arguments. On an error nothing has changed.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), ExternError>;
}

/// Point at which a frame continues.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ResumeAt {
    /// Behind the call.
    AfterCall,
    /// At the start of the region marked with this name.
    Region(String),
}

/// A frame that a frame extern gives back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Emitted {
    /// The frame.
    pub frame: Vec<u8>,
    /// Point at which the frame continues.
    pub resume: ResumeAt,
    /// The frame continues the calling packet and keeps its metadata. At most one frame per call; none from a tick.
    pub carries_on: bool,
}

/// Takes what a frame extern emits, in order.
#[derive(Default, Debug)]
pub struct Emitter {
    emitted: AllEmitted,
}

/// Frames of a call or tick: nearly always one.
pub type AllEmitted = SmallVec<[Emitted; 1]>;

impl Emitter {
    /// The packet goes on after the call, as `frame`. A second one in the same call starts fresh.
    pub fn carry_on(&mut self, frame: Vec<u8>) {
        let carries_on = !self.emitted.iter().any(|e| e.carries_on);
        self.emitted.push(Emitted { frame, resume: ResumeAt::AfterCall, carries_on });
    }

    /// A fresh frame starts at `resume`.
    pub fn emit(&mut self, frame: Vec<u8>, resume: ResumeAt) {
        self.emitted.push(Emitted { frame, resume, carries_on: false });
    }

    /// Takes the emitted frames.
    pub fn take(&mut self) -> AllEmitted {
        std::mem::take(&mut self.emitted)
    }
}

/// Makes an instance from its constructor's arguments.
pub type FrameExternFactory = Arc<dyn Fn(&[Bits]) -> Result<Box<dyn FrameExtern>, ExternError> + Send + Sync>;
