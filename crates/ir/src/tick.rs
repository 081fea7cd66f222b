//! Periodic work of a program: frames that its device makes for it.
//!
//! ```p4
//! @tick("100us", 510, "0001")      // period, ingress port, frame in hexadecimal
//! V1Switch(...) main;
//! ```
//!
//! A Tofino's packet generator makes such frames, software devices have timers, and for a switch that has neither its agent sends them. A
//! frame may come late, and a device that is late by several periods makes one frame for all of them: what depends on the
//! number of periods has to be read from the clock.

use crate::{Annotation, AnnotationValue, Program};
use base_time::Duration;

/// A frame that comes by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tick {
    /// Time between two frames.
    pub period: Duration,
    /// The ingress port.
    pub port: u32,
    /// The frame.
    pub frame: Vec<u8>,
}

impl Tick {
    /// Name of the annotation, which `main` may have several times.
    pub const ANNOTATION: &str = "tick";
    /// The shortest period, which a generator reaches.
    pub const SHORTEST: Duration = Duration::from_us(1);
    /// Maximum length of a frame in bytes.
    pub const LONGEST_FRAME: usize = 1500;

    /// Reads the values of an annotation; an error says which is wrong, and why.
    pub fn read(values: &[AnnotationValue]) -> Result<Tick, String> {
        let [AnnotationValue::Str(period), AnnotationValue::Int(port), AnnotationValue::Str(hex)] = values
        else {
            return Err(
                "`@tick` takes a period, an ingress port and a frame in hexadecimal: `@tick(\"100us\", 510, \"0001\")`"
                    .to_string(),
            );
        };
        let period: Duration = period.parse().map_err(|why| format!("the period `{period}`: {why}"))?;
        if period < Tick::SHORTEST {
            return Err(format!("the period is {period}; the shortest is {}", Tick::SHORTEST));
        }
        let port = u32::try_from(port).map_err(|_| format!("{port} is not a port"))?;
        let byte = |pair: &[u8]| {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            Some((digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?) as u8)
        };
        let frame: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(byte).collect();
        let frame = frame.ok_or("the frame is not a sequence of bytes in hexadecimal")?;
        if frame.len() > Tick::LONGEST_FRAME {
            return Err(format!(
                "the frame has {} bytes; at most {} are possible",
                frame.len(),
                Tick::LONGEST_FRAME
            ));
        }
        Ok(Tick { period, port, frame })
    }
}

impl Program {
    /// The ticks of the program. Elaboration has refused annotations of another form: they are none.
    pub fn ticks(&self) -> Vec<Tick> {
        let all = self.annotations.iter().filter(|annotation| annotation.name == Tick::ANNOTATION);
        all.filter_map(|Annotation { body, .. }| Tick::read(body.values()).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(period: &str, port: i64, frame: &str) -> Result<Tick, String> {
        let text = |text: &str| AnnotationValue::Str(text.to_string());
        Tick::read(&[text(period), AnnotationValue::Int(port.into()), text(frame)])
    }

    #[test]
    fn a_tick_is_read() {
        let tick = Tick { period: Duration::from_us(100), port: 510, frame: vec![0, 0xab, 0x1f] };
        assert_eq!(read("100us", 510, "00aB1f"), Ok(tick));
        assert_eq!(read("1us", 0, "").map(|tick| tick.frame.len()), Ok(0));
    }

    #[test]
    fn wrong_values_are_refused_with_the_reason() {
        let why = |found: Result<Tick, String>| found.expect_err("refused");
        assert_eq!(why(read("999ns", 1, "")), "the period is 999ns; the shortest is 1us");
        assert!(why(read("100", 1, "")).starts_with("the period `100`: "));
        assert_eq!(why(read("1s", -1, "")), "-1 is not a port");
        for frame in ["0", "0g", "é0", "+1"] {
            assert_eq!(
                why(read("1s", 1, frame)),
                "the frame is not a sequence of bytes in hexadecimal",
                "{frame}"
            );
        }
        assert_eq!(
            why(read("1s", 1, &"00".repeat(1501))),
            "the frame has 1501 bytes; at most 1500 are possible"
        );
        assert!(why(Tick::read(&[])).starts_with("`@tick` takes a period"));
    }
}
