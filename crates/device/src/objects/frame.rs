//! Frame externs: instances, and the number of changes of their memories.

use dataplane_api::{ExternError, FrameExtern};

/// A frame extern.
pub(crate) struct FrameObject {
    object: Box<dyn FrameExtern>,
    /// Number of calls, timers and writes: without one, the memory is as it was.
    changes: u64,
}

impl FrameObject {
    /// An instance as it was made.
    pub(crate) fn new(object: Box<dyn FrameExtern>) -> FrameObject {
        FrameObject { object, changes: 0 }
    }

    pub(crate) fn get(&self) -> &dyn FrameExtern {
        self.object.as_ref()
    }

    /// The instance, to be called.
    pub(crate) fn get_mut(&mut self) -> &mut dyn FrameExtern {
        self.changes += 1;
        self.object.as_mut()
    }

    /// Replaces the memory.
    pub(crate) fn restore(&mut self, memory: &[u8]) -> Result<(), ExternError> {
        self.get_mut().restore(memory)
    }

    /// See [`Switch::memory_version`](crate::Switch::memory_version).
    pub(crate) fn version(&self) -> u64 {
        self.changes
    }
}
