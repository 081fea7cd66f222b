//! The control connection between two programs of a group: lines of JSON, some with bytes after them.

use super::form::Form;
use super::{GroupError, Pulse, Report, problem};
use aggregate::Op;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest line.
const MOST_LINE: u64 = 1 << 16;

/// Most bytes after a line.
const MOST_BODY: u64 = 1 << 32;

/// A connection is looked at so often while something else may happen.
const LOOK: Duration = Duration::from_millis(50);

/// A call of a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Call {
    /// The first call has the number 1.
    pub number: u64,
    /// Name of the operator.
    pub op: String,
    /// Length of an array; none: keys.
    pub array: Option<u64>,
    /// Type of the values.
    pub dtype: String,
    /// Keys are bytes, not numbers.
    pub is_text: bool,
}

/// A program's input to a reduction.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Stock {
    /// Distinct keys.
    pub keys: u64,
    /// The largest key that is a number.
    pub largest: u64,
    /// The smallest value, and the largest.
    pub least: i64,
    pub most: u64,
    /// The largest is negative, and this is it.
    pub negative: Option<i64>,
    /// The smallest hashes of keys.
    pub hashes: Vec<u64>,
}

/// The root's decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Go {
    pub rounds: u32,
    pub form: Form,
    /// Keys travel as hashes.
    pub is_hashed: bool,
    /// Larger values travel past the switches; none: all do.
    pub most_value: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Message {
    /// The first one, to the root.
    Hello {
        rank: usize,
        size: usize,
        version: String,
        name: String,
    },
    /// All programs are there.
    Welcome,
    Call(Call, Stock),
    Go(Go),
    /// To the root: the program has the packets of the call and waits for a START.
    Ready,
    /// Asks for the keys at these places: lane, index, tag.
    Name,
    /// For each place the length of a key and its bytes.
    Names,
    /// The result.
    Done {
        report: Report,
        is_signed: bool,
    },
    /// The group ends.
    Failed {
        title: String,
        help: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Line {
    message: Message,
    #[serde(default)]
    bytes: u64,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    reader: BufReader<TcpStream>,
    /// The other end, for messages.
    pub peer: String,
}

impl Link {
    pub fn new(stream: TcpStream, peer: String, patience: Duration) -> io::Result<Link> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(patience))?;
        Ok(Link { reader: BufReader::new(stream), peer })
    }

    pub fn send(&mut self, message: &Message, body: &[u8]) -> Result<(), GroupError> {
        let line = Line { message: message.clone(), bytes: body.len() as u64 };
        let mut text = serde_json::to_vec(&line).map_err(|error| problem(error.to_string(), "report it"))?;
        text.push(b'\n');
        let mut stream = self.reader.get_ref();
        stream.write_all(&text).and_then(|()| stream.write_all(body)).map_err(|_| self.lost())
    }

    /// The next message and its bytes. A message that the group ends is an error.
    pub fn receive(&mut self, patience: Duration, pulse: Pulse) -> Result<(Message, Vec<u8>), GroupError> {
        let since = Instant::now();
        let mut line = vec![];
        while line.last() != Some(&b'\n') {
            let limit = MOST_LINE.saturating_sub(line.len() as u64);
            match self.reader.by_ref().take(limit).read_until(b'\n', &mut line) {
                Ok(0) => return Err(self.lost()),
                Ok(_) => {}
                Err(error) => self.wait(&error, since, patience, pulse)?,
            }
        }
        let foreign = || {
            let title = format!("{} sends a message that no program of a group sends", self.peer);
            problem(title, "all programs of a group have one version of p4rack")
        };
        let Line { message, bytes } = serde_json::from_slice(&line).map_err(|_| foreign())?;
        if bytes > MOST_BODY {
            return Err(foreign());
        }
        // It grows as bytes arrive, whatever the line says.
        let mut body = vec![];
        while (body.len() as u64) < bytes {
            let missing = bytes - body.len() as u64;
            match self.reader.by_ref().take(missing.min(1 << 20)).read_to_end(&mut body) {
                Ok(0) => return Err(self.lost()),
                Ok(_) => {}
                Err(error) => self.wait(&error, since, patience, pulse)?,
            }
        }
        match message {
            Message::Failed { title, help } if self.peer == super::ROOT => Err(GroupError { title, help }),
            Message::Failed { title, help } => Err(problem(format!("{}: {title}", self.peer), help)),
            message => Ok((message, body)),
        }
    }

    /// True if a message is there, or the connection has ended.
    pub fn has_news(&self) -> bool {
        if !self.reader.buffer().is_empty() {
            return true;
        }
        let stream = self.reader.get_ref();
        let is_set = stream.set_nonblocking(true).is_ok();
        let peeked = stream.peek(&mut [0]);
        let is_quiet = peeked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        let _ = stream.set_nonblocking(false);
        !(is_set && is_quiet)
    }

    fn wait(
        &self,
        error: &io::Error,
        since: Instant,
        patience: Duration,
        pulse: Pulse,
    ) -> Result<(), GroupError> {
        if !matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
        ) {
            return Err(self.lost());
        }
        if !pulse() {
            return Err(super::interrupted());
        }
        if since.elapsed() > patience {
            let title = format!("{} has said nothing for {} s", self.peer, patience.as_secs());
            return Err(problem(
                title,
                "all programs make the same calls in the same order; `timeout` is how long they wait",
            ));
        }
        Ok(())
    }

    fn lost(&self) -> GroupError {
        problem(format!("{} is gone", self.peer), "look at its output, and start the group again")
    }
}

impl Call {
    /// Difference from another program's call, as text; `None` if they are equal.
    pub fn difference(&self, other: &Call) -> Option<String> {
        let what = |call: &Call| match call.array {
            Some(length) => format!("`allreduce` of {length} values"),
            None => format!("`reduce_by_key` of {} as keys", if call.is_text { "texts" } else { "numbers" }),
        };
        let parts = [
            (self.number.to_string(), other.number.to_string(), "call"),
            (what(self), what(other), ""),
            (self.op.clone(), other.op.clone(), "operator"),
            (self.dtype.clone(), other.dtype.clone(), "type"),
        ];
        let different = parts.into_iter().find(|(own, other, _)| own != other);
        different.map(|(own, other, what)| {
            format!("{what} {own} and {what} {other}").replace("  ", " ").trim().to_string()
        })
    }

    pub fn operator(&self) -> Option<Op> {
        self.op.parse().ok()
    }
}
