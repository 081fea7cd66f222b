//! A failure as text that can be acted upon.

use crate::prove::{Difference, Failure};
use crate::record::Cause;
use dataplane_api::Output;
use std::fmt::Write;

impl Failure {
    /// The difference in several lines, with the packet and the round that show it.
    pub fn describe(&self) -> String {
        let mut out =
            format!("{} run, round {} with {} entries: ", self.proof, self.round, self.setup.entries.len());
        match &self.difference {
            Difference::Outputs { cause, at, expected, found } => {
                let _ = match cause {
                    Cause::Frame { port, frame } => {
                        writeln!(
                            out,
                            "other frames for the one received by port {port} at {at}\n  in        {}",
                            hex(frame)
                        )
                    }
                    Cause::Timer => writeln!(out, "other frames from the timer at {at}"),
                };
                list(&mut out, "expected", expected);
                list(&mut out, "found", found);
            }
            Difference::Digests { cause, expected, found } => {
                let cause = match cause {
                    Cause::Frame { port, frame } => format!("received by port {port}: {}", hex(frame)),
                    Cause::Timer => "a timer".to_string(),
                };
                let _ =
                    writeln!(out, "other digests, {cause}\n  expected  {expected:?}\n  found     {found:?}");
            }
            Difference::State { object, expected, found } => {
                let show = |s: &Option<Vec<u8>>| s.as_ref().map_or("nothing".to_string(), |s| hex(s));
                let _ = writeln!(out, "`{object}` holds something else at the end");
                let _ = writeln!(out, "  expected  {}\n  found     {}", show(expected), show(found));
            }
            Difference::NotSerializable { objects } => {
                let _ = writeln!(out, "packets used {} in opposite orders", objects.join(" and "));
            }
            Difference::Overtaken { cause } => {
                let Cause::Frame { port, frame } = cause else { return out };
                let _ = writeln!(
                    out,
                    "one of two packets has overtaken the other\n  by port {port}  {}",
                    hex(frame)
                );
            }
            Difference::NeverEnds => out.push_str("the split program did not finish\n"),
            Difference::Stale { cause, found } => {
                out.push_str("a device took a hand-over of another plan\n");
                if let Cause::Frame { port, frame } = cause {
                    let _ = writeln!(out, "  by port {port}  {}", hex(frame));
                }
                list(&mut out, "found", found);
            }
            Difference::Violation(what) => {
                let _ = writeln!(out, "internal error in the network of the split program: {what}");
            }
            Difference::Setup(error) => {
                let _ = writeln!(out, "the split program cannot be set up: {error:?}");
            }
        }
        out
    }
}

fn list(out: &mut String, word: &str, frames: &[Output]) {
    if frames.is_empty() {
        let _ = writeln!(out, "  {word:<9} no frame");
    }
    for frame in frames {
        let _ = writeln!(out, "  {word:<9} port {} {}", frame.port, hex(&frame.frame));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
