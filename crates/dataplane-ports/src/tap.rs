//! TAP interfaces.
//!
//! A frame is one call of the system: TAP has no calls for several. It is read into memory for the longest frame and copied from there, since the
//! length is not known before and the buffer of a packet would cut longer ones.

use crate::batch::Batch;
use crate::port::{Sink, Source, Wait};
use base_time::Time;
use dataplane_api::Port;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use target_native::Packet;

/// A TAP interface. A clone is the same.
#[derive(Clone)]
pub struct Tap {
    device: Arc<File>,
    frame: Vec<u8>,
}

impl Tap {
    /// The interface with this name, made if there is none.
    pub fn open(name: &str) -> io::Result<Tap> {
        Ok(Tap { device: Arc::new(linux_net::open_tap(name)?), frame: vec![0; 1 << 16] })
    }
}

impl Source for Tap {
    fn receive(&mut self, port: Port, batch: &mut Batch) -> io::Result<()> {
        while !batch.room().is_empty() {
            match (&*self.device).read(&mut self.frame) {
                Ok(0) => {}
                Ok(length) => batch.push(port, self.frame.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&mut self, _: &Arc<mio::Waker>) -> Wait {
        Wait::Readable(self.device.as_raw_fd())
    }

    fn keeps(&self) -> bool {
        false
    }
}

impl Sink for Tap {
    fn send(&mut self, packets: &mut [Packet], which: &[usize], now: Time) -> usize {
        which.iter().filter(|at| self.send_frame(packets[**at].frame(), now)).count()
    }

    fn send_frame(&mut self, frame: &[u8], _: Time) -> bool {
        (&*self.device).write(frame).is_ok()
    }
}
