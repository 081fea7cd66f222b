//! Calls of the services, and the names of their exceptions.

use super::words::Line;
use super::{Caller, NotDone};
use crate::wire::{Fields, Value};

const TABLE_ERRORS: [&str; 27] = [
    "TABLE_FULL",
    "INVALID_HANDLE",
    "EXPIRED_HANDLE",
    "COUNTERS_DISABLED",
    "METERS_DISABLED",
    "AGEING_DISABLED",
    "INVALID_TABLE_NAME",
    "INVALID_ACTION_NAME",
    "WRONG_TABLE_TYPE",
    "INVALID_MBR_HANDLE",
    "MBR_STILL_USED",
    "MBR_ALREADY_IN_GRP",
    "MBR_NOT_IN_GRP",
    "INVALID_GRP_HANDLE",
    "GRP_STILL_USED",
    "EMPTY_GRP",
    "DUPLICATE_ENTRY",
    "BAD_MATCH_KEY",
    "INVALID_METER_OPERATION",
    "DEFAULT_ACTION_IS_CONST",
    "DEFAULT_ENTRY_IS_CONST",
    "NO_DEFAULT_ENTRY",
    "INVALID_ACTION_PROFILE_NAME",
    "NO_ACTION_PROFILE_SELECTION",
    "IMMUTABLE_TABLE_ENTRIES",
    "BAD_ACTION_DATA",
    "NO_TABLE_KEY",
];

/// The words of an exception, as `simple_switch_CLI` has them.
pub fn refused(method: &str, code: i32) -> String {
    let name = |names: &[&'static str]| {
        let at = code.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| names.get(at).copied()).unwrap_or("ERROR")
    };
    let (kind, name) = match method {
        _ if method.starts_with("bm_mt_") => ("table", name(&TABLE_ERRORS)),
        _ if method.starts_with("bm_counter") => {
            ("counter", name(&["INVALID_COUNTER_NAME", "INVALID_INDEX"]))
        }
        _ if method.starts_with("bm_meter") => {
            ("meter", name(&["INVALID_METER_NAME", "INVALID_INDEX", "BAD_RATES_LIST"]))
        }
        _ if method.starts_with("bm_register") => {
            ("register", name(&["INVALID_REGISTER_NAME", "INVALID_INDEX"]))
        }
        _ if method.starts_with("bm_parse") => ("parser value set", name(&["INVALID_PARSE_VSET_NAME"])),
        _ if method.starts_with("bm_mc") => {
            ("PRE", name(&["TABLE_FULL", "INVALID_MGID", "INVALID_MGRP_HANDLE", "INVALID_L1_HANDLE"]))
        }
        _ if method.starts_with("bm_dev_mgr") => ("device manager", "ERROR"),
        _ if method.starts_with("bm_set_crc") => {
            ("crc", name(&["INVALID_CALCULATION_NAME", "WRONG_TYPE_CALCULATION", "INVALID_CONFIG"]))
        }
        _ if method.starts_with("mirroring") => ("mirroring", name(&["SESSION_NOT_FOUND"])),
        _ => ("", "ERROR"),
    };
    format!("Invalid {kind} operation ({name})")
}

pub fn call(
    to: &mut dyn Caller,
    service: &str,
    method: &str,
    arguments: Fields,
) -> Result<Option<Value>, String> {
    to.call(&format!("{service}:{method}"), arguments).map_err(|why| match why {
        NotDone::Declared(code) => refused(method, code),
        NotDone::Failed(why) => why,
    })
}

/// A method of `standard` about something with a name.
pub fn about(
    to: &mut dyn Caller,
    method: &str,
    name: &str,
    more: Vec<Value>,
) -> Result<Option<Value>, String> {
    let all = [Value::I32(0), Value::text(name)].into_iter().chain(more);
    call(to, "standard", method, (1..).zip(all).collect())
}

pub fn done(result: Result<Option<Value>, String>) -> Result<String, String> {
    result.map(|_| String::new())
}

/// Reads this number of numeric words, after which the line must end.
pub fn numbers(line: &mut Line<'_>, count: usize) -> Result<Vec<Value>, String> {
    let numbers: Result<Vec<Value>, String> = (0..count).map(|_| line.int().map(Value::I32)).collect();
    line.finish()?;
    numbers
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn any_code_of_a_peer_has_words() {
        assert_eq!(refused("bm_mt_add_entry", 1), "Invalid table operation (TABLE_FULL)");
        for code in [i32::MIN, -1, 0, 28, i32::MAX] {
            assert_eq!(refused("bm_mt_add_entry", code), "Invalid table operation (ERROR)");
        }
    }
}
