//! The places of a group's fields as one word, for the annotations of generated programs.
//!
//! ```text
//! 0200...88b5...;96+36;132+5;137+3;...;6,9          the header, nine places as `FIRST BIT+BITS`, the sections
//! 0200...88b5...;96+36;132+5;137+3;...;6,9;234+48   the same, and the place of the call's number
//! ```

use super::{Place, Wire};
use std::fmt::Write as _;

/// Bytes of a header at most.
const MOST_HEADER: usize = 1024;

impl Wire {
    fn places(&self) -> [Place; 9] {
        let Wire { alike, section, kind, to, other, number, flag, bucket, flow, .. } = *self;
        [alike, section, kind, to, other, number, flag, bucket, flow]
    }

    /// The wire as a word.
    pub fn to_text(&self) -> String {
        let mut text: String = self.header.iter().map(|byte| format!("{byte:02x}")).collect();
        for Place { at, width } in self.places() {
            // Writing to a string never fails.
            let _ = write!(text, ";{at}+{width}");
        }
        let sections: Vec<String> = self.sections.iter().map(u64::to_string).collect();
        text = text + ";" + &sections.join(",");
        if let Some(Place { at, width }) = self.call {
            let _ = write!(text, ";{at}+{width}");
        }
        text
    }

    /// Reads [`Wire::to_text`]; none if the word is no wire, or if a field ends after the header.
    pub fn of_text(text: &str) -> Option<Wire> {
        let parts: Vec<&str> = text.split(';').collect();
        let (&[hex, alike, section, kind, to, other, number, flag, bucket, flow, sections], call) =
            parts.split_first_chunk::<11>()?;
        let call = match call {
            [] => None,
            [call] => Some(*call),
            _ => return None,
        };
        if hex.len() % 2 != 0 || hex.len() > 2 * MOST_HEADER {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
        let header: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect::<Option<_>>()?;
        let bits = header.len() as u32 * 8;
        let place = |text: &str, most: u32| {
            let (at, width) = text.split_once('+')?;
            let place = Place { at: at.parse().ok()?, width: width.parse().ok()? };
            let fits = place.at.checked_add(place.width)? <= bits;
            (fits && (1..=most).contains(&place.width)).then_some(place)
        };
        Some(Wire {
            alike: place(alike, 64)?,
            section: place(section, 64)?,
            sections: sections.split(',').map(|id| id.parse().ok()).collect::<Option<_>>()?,
            kind: place(kind, 64)?,
            to: place(to, 64)?,
            other: place(other, 64)?,
            number: place(number, 64)?,
            flag: place(flag, 64)?,
            bucket: place(bucket, 64)?,
            flow: place(flow, super::MOST_FLOW_BITS)?,
            call: match call {
                Some(call) => Some(place(call, 64)?),
                None => None,
            },
            header,
        })
    }
}
