//! Work that a thread does beside the switch, so that frames pass meanwhile: the switch looks for the result.

use crate::known::lock;
use p4runtime_server::Ahead;
use std::sync::{Arc, Mutex, PoisonError};

/// The result of such work.
#[derive(Debug)]
pub(crate) struct Beside<T>(Arc<Mutex<Option<T>>>);

impl<T: Send + 'static> Beside<T> {
    /// The result that is to come, and the work, for a thread.
    pub fn new(work: impl FnOnce() -> T + Send + 'static) -> (Beside<T>, Ahead) {
        let result = Arc::new(Mutex::new(None));
        let to = Arc::clone(&result);
        let work = move || {
            let done = work();
            *lock(&to) = Some(done);
        };
        (Beside(result), Box::new(work))
    }

    /// The result, once; `None` until the work is over.
    ///
    /// # Errors
    ///
    /// The work was dropped, or its thread has panicked.
    pub fn over(&mut self) -> Option<Result<T, &'static str>> {
        // The work has the other reference until it is over.
        let result = Arc::get_mut(&mut self.0)?.get_mut().unwrap_or_else(PoisonError::into_inner);
        Some(result.take().ok_or("its thread has ended without a result"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn the_result_is_there_when_the_work_is_over() {
        let (mut result, work) = Beside::new(|| 7);
        assert_eq!(result.over(), None);
        work();
        assert_eq!(result.over(), Some(Ok(7)));
    }

    #[test]
    fn work_that_is_dropped_or_breaks_down_is_over_without_a_result() {
        let (mut result, work) = Beside::new(|| 7);
        drop(work);
        assert!(matches!(result.over(), Some(Err(_))));
        let (mut result, work) = Beside::<u8>::new(|| panic!("a planner's bug"));
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
        assert!(matches!(result.over(), Some(Err(_))));
    }
}
