//! Formats of `p4_device_config`: the text of a program, maybe in a wrapper that controllers written for BMv2 use.
//!
//! ```text
//! P4 text                                  the program
//! P4DeviceConfig { device_data: P4 text }  the program: the wrapper is removed
//! JSON of p4rack, wrapped or not           the program: its key `p4_device_config`
//! other JSON, wrapped or not               BMv2's: no program for p4rack
//! ```

use base_json::Kind;
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;
use std::borrow::Cow;

/// Key of the device config in p4rack's JSON.
const DEVICE_CONFIG: &str = "p4_device_config";

/// Contents of a device config.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum DeviceConfig<'c> {
    /// Nothing: the program is another's to choose.
    Empty,
    /// P4-16.
    Text(Cow<'c, str>),
    /// Output of BMv2's compiler.
    Json,
}

/// Removes the wrapper of a device config and determines its format.
pub(crate) fn device_config(given: &[u8]) -> Result<DeviceConfig<'_>, Status> {
    let given = unwrapped(given).unwrap_or(given);
    if given.is_empty() {
        return Ok(DeviceConfig::Empty);
    }
    let Ok(text) = std::str::from_utf8(given) else {
        return Err(Status::new(
            Code::InvalidArgument,
            "`p4_device_config` is not text: it must be a P4-16 program, with everything that it includes besides the built-in \
             architectures",
        ));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') {
        return Ok(DeviceConfig::Text(Cow::Borrowed(text)));
    }
    Ok(program_in_json(text).map_or(DeviceConfig::Json, |text| DeviceConfig::Text(Cow::Owned(text))))
}

/// The program in JSON as `p4rack compile` writes it; `None` for that of other compilers.
pub fn program_in_json(text: &str) -> Option<String> {
    let Kind::Object(members) = base_json::parse(text, 1).ok()?.kind else { return None };
    let own = members.into_iter().find(|member| member.name == DEVICE_CONFIG)?;
    match own.value.kind {
        Kind::String(text) => Some(text),
        _ => None,
    }
}

/// Error for JSON, with advice.
pub(crate) fn is_json() -> Status {
    Status::new(
        Code::InvalidArgument,
        "`p4_device_config` is BMv2 JSON: give P4 source, as `p4rack compile` writes it; a switch that is started with \
         `--keep-program` takes JSON and keeps the program that runs",
    )
}

/// The field `device_data` of a `p4.tmp.P4DeviceConfig`, whose fields are a flag, a map of extras and that: 1, 2 and 3.
/// `None` if the bytes are not exactly such a message.
fn unwrapped(given: &[u8]) -> Option<&[u8]> {
    const VARINT: u64 = 0;
    const BYTES: u64 = 2;
    const DEVICE_DATA: u64 = 3;
    let mut rest = given;
    let mut data = None;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        match (tag >> 3, tag & 7) {
            (1 | 2, VARINT) => drop(varint(&mut rest)?),
            (field @ 1..=DEVICE_DATA, BYTES) => {
                let length = usize::try_from(varint(&mut rest)?).ok()?;
                let (value, after) = rest.split_at_checked(length)?;
                rest = after;
                if field == DEVICE_DATA {
                    data = Some(value);
                }
            }
            _ => return None,
        }
    }
    data
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::p4::config::v1::P4Info;

    /// `P4DeviceConfig { reassign: true, extras { kv { "a": "b" } }, device_data: ... }`
    fn wrapped(data: &[u8]) -> Vec<u8> {
        let mut all = vec![0x08, 1, 0x12, 8, 0x0a, 6, 0x0a, 1, b'a', 0x12, 1, b'b', 0x1a];
        let mut length = data.len();
        while length >= 0x80 {
            all.push(length as u8 & 0x7f | 0x80);
            length >>= 7;
        }
        all.push(length as u8);
        all.extend_from_slice(data);
        all
    }

    #[test]
    fn the_wrapper_is_taken_off() {
        let text = "#include <core.p4>\n".repeat(20);
        assert_eq!(
            device_config(&wrapped(text.as_bytes())).unwrap(),
            DeviceConfig::Text(Cow::Borrowed(&text))
        );
        assert_eq!(device_config(text.as_bytes()).unwrap(), DeviceConfig::Text(Cow::Borrowed(&text)));
        assert_eq!(device_config(&wrapped(b" {\"program\": 1}")).unwrap(), DeviceConfig::Json);
        assert_eq!(device_config("\u{feff}{}".as_bytes()).unwrap(), DeviceConfig::Json);
        assert_eq!(device_config(&wrapped(b"")).unwrap(), DeviceConfig::Empty);
        assert_eq!(device_config(b"").unwrap(), DeviceConfig::Empty);
    }

    #[test]
    fn what_only_looks_like_a_wrapper_stays() {
        // A line feed is the tag of field 1, and the rest is not a message.
        for text in ["\n#include <core.p4>", "\n\n\n", "\x1a\x05ab", "\x08", "\n\x01a"] {
            assert_eq!(
                device_config(text.as_bytes()).unwrap(),
                DeviceConfig::Text(Cow::Borrowed(text)),
                "{text:?}"
            );
        }
        assert!(device_config(&[0x1a, 2, 0xff, 0xfe]).is_err());
        // No length is added up and no prefix is read twice, whatever the bytes are.
        for first in 0..=255 {
            for second in 0..=255 {
                let _ =
                    device_config(&[first, second, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
            }
        }
    }

    #[test]
    fn a_program_of_our_own_is_found_in_json() {
        let text = "#include <v1model.p4>\n// \"a\\b\"\t\u{1}\n";
        let json = bmv2::description(&P4Info::default(), &[], Some(text));
        assert_eq!(device_config(json.as_bytes()).unwrap(), DeviceConfig::Text(Cow::Borrowed(text)));
        assert_eq!(
            device_config(&wrapped(json.as_bytes())).unwrap(),
            DeviceConfig::Text(Cow::Borrowed(text))
        );
        assert_eq!(device_config(br#"{"p4_device_config": 1}"#).unwrap(), DeviceConfig::Json);
    }
}
