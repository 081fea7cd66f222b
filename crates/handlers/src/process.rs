//! The process of a handler: operations and their answers over its pipes, and its look-ups of tables meanwhile.

use crate::mirrors;
use dataplane_api::Mirrors;
use ir_handlers::Handler;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Time that a call may take.
pub const BUDGET: Duration = Duration::from_secs(1);

/// Look-ups of one call: with more, it is taken for endless.
const MOST_LOOK_UPS: u32 = 1 << 16;

/// Status of a frame that asks for a table's entry, as in `worker.c`.
const LOOK_UP: u8 = 2;

/// The largest answer.
const MOST: usize = 80 << 20;

/// See the module.
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// Reason for the lack of an answer.
pub enum Silence {
    /// The process has ended, or gives what is no answer.
    Ended,
    /// The answer takes too long.
    Late,
}

impl Process {
    /// A process with pipes.
    pub fn start(command: &mut Command) -> Result<Process, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("its process cannot be started: {e}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("its process has no pipes".to_string());
        };
        Ok(Process { child, input, output })
    }

    /// Ends the process.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        let _ = self.child.kill();
        self.child.wait()
    }

    /// Status and results of an operation. Look-ups of the process are answered until it answers itself.
    pub fn ask(
        &mut self,
        operation: u8,
        body: &[u8],
        (handler, mirrors): (&Handler, &dyn Mirrors),
    ) -> Result<(u8, Vec<u8>), Silence> {
        let mut frame = ((body.len() + 1) as u32).to_le_bytes().to_vec();
        frame.push(operation);
        frame.extend(body);
        self.input.write_all(&frame).map_err(|_| Silence::Ended)?;
        for _ in 0..=MOST_LOOK_UPS {
            let mut head = [0; 5];
            self.read(&mut head)?;
            let size = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            if size == 0 || size > MOST {
                return Err(Silence::Ended);
            }
            let mut given = vec![0; size - 1];
            self.read(&mut given)?;
            match head[4] {
                LOOK_UP => self.answer(&given, handler, mirrors)?,
                status => return Ok((status, given)),
            }
        }
        Err(Silence::Late)
    }

    /// Answers a look-up: the number of the table and the key.
    fn answer(&mut self, asked: &[u8], handler: &Handler, mirrors: &dyn Mirrors) -> Result<(), Silence> {
        let (table, key) = asked.split_first_chunk::<4>().ok_or(Silence::Ended)?;
        let table = u32::from_le_bytes(*table);
        let mirror = handler.mirrors.iter().find(|mirror| mirror.number == table).ok_or(Silence::Ended)?;
        let size = mirror.entry.size;
        let mut frame = (size as u32).to_le_bytes().to_vec();
        frame.resize(4 + size, 0);
        mirrors::look_up(handler, mirrors, table, key, &mut frame[4..]);
        self.input.write_all(&frame).map_err(|_| Silence::Ended)
    }

    fn read(&mut self, mut to: &mut [u8]) -> Result<(), Silence> {
        while !to.is_empty() {
            let timeout = PollTimeout::try_from(BUDGET).unwrap_or(PollTimeout::NONE);
            let mut waited = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            match poll(&mut waited, timeout) {
                Ok(0) => return Err(Silence::Late),
                Ok(_) => {}
                Err(nix::errno::Errno::EINTR) => continue,
                Err(_) => return Err(Silence::Ended),
            }
            let got = self.output.read(to).map_err(|_| Silence::Ended)?;
            if got == 0 {
                return Err(Silence::Ended);
            }
            to = &mut to[got..];
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
