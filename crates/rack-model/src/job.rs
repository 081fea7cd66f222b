//! `[[job]]`: a MapReduce job whose pairs switches of the rack reduce.
//!
//! ```toml
//! [[job]]
//! file = "words.job"        # the job, relative to this file; its hosts are hosts of the rack, by name or address
//! start = "1ms"             # default 0
//! patience = "1s"           # a mapper or switch that is silent for longer ends the job; default 1s
//! expect = "lost"           # expected results: see [`expect`](crate::expect)
//! ```
//!
//! The switches that reduce get a program each, which also forwards the packets of all hosts. Several jobs may share switches.

use crate::section::{Item, Reader, Section};
use crate::{Expect, Spanned, expect, value};
use base_diag::Span;
use base_time::{Duration, Time};

/// A job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// The path of its text, as written.
    pub file: Spanned<String>,
    /// When it starts.
    pub start: Time,
    /// Time for which a mapper or a switch may be silent.
    pub patience: Duration,
    /// Expected results of its reducers.
    pub expect: Option<Expect>,
    /// Place in the file.
    pub span: Span,
}

pub(crate) fn read(r: &mut Reader, item: Item<'_>) -> Option<Job> {
    let mut s = Section::new(r, "this job".to_string(), item.span, item)?;
    let file = s.required(r, "file", "\"words.job\"", value::string);
    let start = s.optional(r, "start", value::time);
    let patience = s.optional(r, "patience", value::interval);
    let expect = s.optional(r, "expect", expect::read);
    s.finish(r);
    Some(Job {
        file: file?,
        start: start.map_or(Time::ZERO, |start| start.value),
        patience: patience.map_or(Duration::from_s(1), |patience| patience.value),
        expect: expect.map(|expect| expect.value),
        span: item.span,
    })
}
