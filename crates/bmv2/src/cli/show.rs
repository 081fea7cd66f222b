//! Results of commands, as text in the form of `simple_switch_CLI`.

use super::program::{Key, Table};
use crate::catalog::KeyKind;
use crate::wire::{Fields, Value};
use std::fmt::Write;

/// A number or text.
pub fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::Bool(value)) => value.to_string(),
        Some(Value::I8(value)) => value.to_string(),
        Some(Value::I16(value)) => value.to_string(),
        Some(Value::I32(value)) => value.to_string(),
        Some(Value::I64(value)) => value.to_string(),
        Some(Value::Double(value)) => value.to_string(),
        Some(Value::String(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}

/// Bytes in hexadecimal.
pub fn hex(value: &Value) -> String {
    let Value::String(bytes) = value else { return String::new() };
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn get(fields: &Fields, id: i16) -> Option<&Value> {
    fields.iter().find(|(of, _)| *of == id).map(|(_, value)| value)
}

fn fields(value: Option<&Value>) -> &[(i16, Value)] {
    match value {
        Some(Value::Struct(fields)) => fields,
        _ => &[],
    }
}

fn field(value: Option<&Value>, id: i16) -> Option<&Value> {
    fields(value).iter().find(|(of, _)| *of == id).map(|(_, value)| value)
}

fn list(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::List(_, all)) => all,
        _ => &[],
    }
}

fn key(key: &Key, value: &Value) -> String {
    let inner = |id, part| field(field(Some(value), id), part).map(hex).unwrap_or_default();
    match key.kind {
        KeyKind::Exact if field(Some(value), 5).is_some() => {
            let is_there = field(field(Some(value), 5), 1) == Some(&Value::Bool(true));
            if is_there { "01".to_string() } else { "00".to_string() }
        }
        KeyKind::Exact => inner(2, 1),
        KeyKind::Lpm => format!("{}/{}", inner(3, 1), scalar(field(field(Some(value), 3), 2))),
        KeyKind::Ternary => format!("{} &&& {}", inner(4, 1), inner(4, 2)),
        KeyKind::Range => format!("{} -> {}", inner(6, 1), inner(6, 2)),
    }
}

fn action_and_data(name: Option<&Value>, data: Option<&Value>) -> String {
    let data: Vec<String> = list(data).iter().map(hex).collect();
    format!("Action entry: {} - {}\n", scalar(name), data.join(", "))
}

/// `BmActionEntry`.
pub fn action_entry(value: Option<&Value>) -> String {
    match field(value, 1) {
        Some(Value::I32(1)) => action_and_data(field(value, 2), field(value, 3)),
        Some(Value::I32(2)) => format!("Index: member({})\n", scalar(field(value, 4))),
        Some(Value::I32(3)) => format!("Index: group({})\n", scalar(field(value, 5))),
        _ => "EMPTY\n".to_string(),
    }
}

/// `BmMtEntry`.
pub fn entry(table: &Table, value: Option<&Value>) -> String {
    let handle = match field(value, 3) {
        Some(Value::I32(handle)) => *handle,
        _ => 0,
    };
    let mut text = format!("Dumping entry {handle:#x}\nMatch key:\n");
    let width = table.keys.iter().map(|key| key.name.len()).max().unwrap_or(0).max(20);
    for (known, value) in table.keys.iter().zip(list(field(value, 1))) {
        let kind = known.kind.name().to_uppercase();
        let _ = writeln!(text, "* {:width$}: {kind:10}{}", known.name, key(known, value));
    }
    if let Some(Value::I32(priority @ 0..)) = field(field(value, 2), 1) {
        let _ = writeln!(text, "Priority: {priority}");
    }
    text.push_str(&action_entry(field(value, 4)));
    if let Some(Value::Struct(life)) = field(value, 5) {
        let (timeout, since) = (scalar(get(life, 1)), scalar(get(life, 2)));
        let _ = writeln!(text, "Life: {since}ms since hit, timeout is {timeout}ms");
    }
    text
}

/// `list<BmMtEntry>`.
pub fn entries(table: &Table, value: Option<&Value>) -> String {
    list(value).iter().map(|one| format!("**********\n{}", entry(table, Some(one)))).collect()
}

/// `list<BmMtActProfMember>`.
pub fn members(value: Option<&Value>) -> String {
    let member = |one: &Value| {
        let one = Some(one);
        format!(
            "**********\nDumping member {}\n{}",
            scalar(field(one, 1)),
            action_and_data(field(one, 2), field(one, 3))
        )
    };
    list(value).iter().map(member).collect()
}

/// `list<BmMtActProfGroup>`.
pub fn groups(value: Option<&Value>) -> String {
    let group = |one: &Value| {
        let members: Vec<String> =
            list(field(Some(one), 2)).iter().map(|member| scalar(Some(member))).collect();
        format!(
            "**********\nDumping group {}\nMembers: [{}]\n",
            scalar(field(Some(one), 1)),
            members.join(", ")
        )
    };
    list(value).iter().map(group).collect()
}

/// `list<DevMgrPortInfo>`.
pub fn ports(value: Option<&Value>) -> String {
    let mut text =
        format!("{:^10}{:^20}{:^10}{}\n{}\n", "port #", "iface name", "status", "extra info", "=".repeat(50));
    for port in list(value) {
        let port = Some(port);
        let status = if field(port, 3) == Some(&Value::Bool(true)) { "UP" } else { "DOWN" };
        let line = format!("{:^10}{:^20}{status:^10}", scalar(field(port, 1)), scalar(field(port, 2)));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
