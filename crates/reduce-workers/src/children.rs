//! Processes of workers that end with the job.

use std::process::Child;
use std::time::{Duration, Instant};

/// Time to end by themselves: a worker ends when its master does.
const PATIENCE: Duration = Duration::from_secs(2);

/// Processes that are ended when this is dropped.
#[derive(Default, Debug)]
pub struct Children(Vec<Child>);

impl Children {
    /// Another one.
    pub fn push(&mut self, child: Child) {
        self.0.push(child);
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE;
        for child in &mut self.0 {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
