//! Fields to the message that a descriptor describes.

use super::TextError;
use super::tree::{Field, FieldName, Value as Tree, ValueKind};
use prost_reflect::{
    DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};
use std::collections::BTreeSet;
use std::ops::Range;

/// The message that `fields` say.
pub(super) fn message(descriptor: &MessageDescriptor, fields: &[Field]) -> Result<DynamicMessage, TextError> {
    let mut message = DynamicMessage::new(descriptor.clone());
    let mut set_once = BTreeSet::new();
    for field in fields {
        match &field.name {
            FieldName::Plain(name) => set(&mut message, name, field, &mut set_once)?,
            FieldName::Any(url) => pack(&mut message, url, field)?,
        }
    }
    Ok(message)
}

/// `set_once` has the numbers of the fields that are not repeated and have been set.
fn set(
    message: &mut DynamicMessage,
    name: &str,
    field: &Field,
    set_once: &mut BTreeSet<u32>,
) -> Result<(), TextError> {
    let all = message.descriptor();
    let Some(descriptor) = all.get_field_by_name(name) else {
        return Err(unknown_field(&all, name, &field.name_at));
    };
    let kind = descriptor.kind();
    let values: Vec<&Tree> = match &field.value.kind {
        ValueKind::List(list) if descriptor.is_list() || descriptor.is_map() => list.iter().collect(),
        ValueKind::List(_) => {
            return Err(TextError::new(format!("`{name}` is not repeated"), &field.value.at));
        }
        _ => vec![&field.value],
    };
    if descriptor.is_map() {
        let map = message.get_field_mut(&descriptor).as_map_mut();
        let Some(map) = map else { return Ok(()) };
        for tree in values {
            let (key, value) = entry(&kind, tree)?;
            map.insert(key, value);
        }
    } else if descriptor.is_list() {
        for tree in values {
            let value = value(&kind, tree)?;
            if let Some(list) = message.get_field_mut(&descriptor).as_list_mut() {
                list.push(value);
            }
        }
    } else {
        if !set_once.insert(descriptor.number()) {
            return Err(TextError::new(format!("`{name}` is set twice"), &field.name_at));
        }
        refuse_rival(message, &descriptor, field)?;
        for tree in values {
            message.set_field(&descriptor, value(&kind, tree)?);
        }
    }
    Ok(())
}

/// A choice has one of its fields.
fn refuse_rival(
    message: &DynamicMessage,
    descriptor: &FieldDescriptor,
    field: &Field,
) -> Result<(), TextError> {
    let name = descriptor.name();
    let rivals = descriptor.containing_oneof();
    let rival = rivals.iter().flat_map(|o| o.fields()).find(|f| message.has_field(f));
    match rival {
        Some(rival) => Err(TextError::new(
            format!("`{name}` and `{}` exclude one another", rival.name()),
            &field.name_at,
        )),
        None => Ok(()),
    }
}

fn unknown_field(descriptor: &MessageDescriptor, name: &str, at: &Range<usize>) -> TextError {
    let full = descriptor.full_name();
    let mut names: Vec<String> = descriptor.fields().map(|f| f.name().to_string()).collect();
    names.sort();
    let help = format!("its fields are: {}", names.join(", "));
    TextError { help: Some(help), ..TextError::new(format!("`{full}` has no field `{name}`"), at) }
}

/// `[URL] { ... }` in an `Any`.
fn pack(message: &mut DynamicMessage, url: &str, field: &Field) -> Result<(), TextError> {
    let any = message.descriptor();
    if any.full_name() != "google.protobuf.Any" {
        let text = format!("`{}` has no extensions", any.full_name());
        return Err(TextError::new(text, &field.name_at));
    }
    let name = url.rsplit_once('/').map(|(_, name)| name);
    let Some(inner) = name.and_then(|name| any.parent_pool().get_message_by_name(name)) else {
        return Err(TextError::new(format!("no message has the URL `{url}`"), &field.name_at));
    };
    let ValueKind::Message(fields) = &field.value.kind else {
        return Err(TextError::new("expected a message", &field.value.at));
    };
    let inner = self::message(&inner, fields)?;
    let bytes = prost::Message::encode_to_vec(&inner);
    message.set_field_by_name("type_url", Value::String(url.to_string()));
    message.set_field_by_name("value", Value::Bytes(bytes.into()));
    Ok(())
}

/// `{ key: ... value: ... }` of a map.
fn entry(kind: &Kind, tree: &Tree) -> Result<(MapKey, Value), TextError> {
    let wrong = || TextError::new("expected `{ key: ... value: ... }`", &tree.at);
    let Value::Message(entry) = value(kind, tree)? else { return Err(wrong()) };
    let key = entry.get_field_by_name("key").ok_or_else(wrong)?.into_owned();
    let value = entry.get_field_by_name("value").ok_or_else(wrong)?.into_owned();
    Ok((key.into_map_key().ok_or_else(wrong)?, value))
}

fn value(kind: &Kind, tree: &Tree) -> Result<Value, TextError> {
    let expected = |what: &str| TextError::new(format!("expected {what}"), &tree.at);
    Ok(match (kind, &tree.kind) {
        (Kind::Message(descriptor), ValueKind::Message(fields)) => {
            Value::Message(message(descriptor, fields)?)
        }
        (Kind::Message(_), _) => return Err(expected("a message: `{ ... }`")),
        (Kind::Bytes, ValueKind::Str(bytes)) => Value::Bytes(bytes.clone().into()),
        (Kind::Bytes | Kind::String, ValueKind::Word { .. } | ValueKind::Message(_) | ValueKind::List(_)) => {
            return Err(expected("a string"));
        }
        (Kind::String, ValueKind::Str(bytes)) => match String::from_utf8(bytes.clone()) {
            Ok(text) => Value::String(text),
            Err(_) => return Err(expected("a string of UTF-8")),
        },
        (Kind::Enum(descriptor), ValueKind::Word { negative, text }) => {
            Value::EnumNumber(enumerator(descriptor, *negative, text, &tree.at)?)
        }
        (Kind::Enum(_), _) => return Err(expected("the name of an enumerator")),
        (Kind::Bool, ValueKind::Word { negative: false, text }) => match text.as_str() {
            "true" | "True" | "t" | "1" => Value::Bool(true),
            "false" | "False" | "f" | "0" => Value::Bool(false),
            _ => return Err(expected("true or false")),
        },
        (Kind::Bool, _) => return Err(expected("true or false")),
        (_, ValueKind::Word { negative, text }) => {
            let number = integer(*negative, text).ok_or_else(|| expected("an integer"))?;
            fit(kind, number)
                .ok_or_else(|| TextError::new(format!("{number} does not fit into this field"), &tree.at))?
        }
        _ => return Err(expected("an integer")),
    })
}

fn fit(kind: &Kind, number: i128) -> Option<Value> {
    match kind {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => i32::try_from(number).ok().map(Value::I32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => i64::try_from(number).ok().map(Value::I64),
        Kind::Uint32 | Kind::Fixed32 => u32::try_from(number).ok().map(Value::U32),
        Kind::Uint64 | Kind::Fixed64 => u64::try_from(number).ok().map(Value::U64),
        _ => None,
    }
}

/// Decimal, `0x` hexadecimal, or `0` octal.
fn integer(negative: bool, text: &str) -> Option<i128> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    let value =
        digits.chars().all(|c| c.is_digit(radix)).then(|| i128::from_str_radix(digits, radix).ok())??;
    Some(if negative { -value } else { value })
}

fn enumerator(
    descriptor: &EnumDescriptor,
    negative: bool,
    text: &str,
    at: &Range<usize>,
) -> Result<i32, TextError> {
    if let Some(number) = integer(negative, text) {
        return i32::try_from(number).map_err(|_| TextError::new("the number is too large", at));
    }
    match descriptor.get_value_by_name(text) {
        Some(value) if !negative => Ok(value.number()),
        _ => {
            let names: Vec<String> = descriptor.values().map(|v| v.name().to_string()).collect();
            let message = format!("`{}` has no `{text}`", descriptor.full_name());
            let help = Some(format!("there are: {}", names.join(", ")));
            Err(TextError { help, ..TextError::new(message, at) })
        }
    }
}
