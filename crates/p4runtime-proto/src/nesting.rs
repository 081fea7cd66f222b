//! Limit on the nesting of messages.

use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage, Value};

/// Maximum nesting depth of messages. P4Runtime needs less than ten, except for the types of values.
pub const MAX_DEPTH: usize = 64;

/// True if `message` is no deeper than [`MAX_DEPTH`], where an `Any` holds the message that its bytes are.
pub(crate) fn is_shallow(message: &DynamicMessage) -> bool {
    fits(message, MAX_DEPTH)
}

fn fits(message: &DynamicMessage, left: usize) -> bool {
    if left == 0 {
        return false;
    }
    if let Some(inner) = packed(message) {
        return fits(&inner, left - 1);
    }
    message.fields().all(|(_, value)| value_fits(value, left))
}

fn value_fits(value: &Value, left: usize) -> bool {
    match value {
        Value::Message(inner) => fits(inner, left - 1),
        Value::List(list) => list.iter().all(|v| value_fits(v, left)),
        Value::Map(map) => map.values().all(|v| value_fits(v, left)),
        _ => true,
    }
}

/// Message inside an `Any`; `None` for other messages and unknown types.
fn packed(message: &DynamicMessage) -> Option<DynamicMessage> {
    let descriptor = message.descriptor();
    if descriptor.full_name() != "google.protobuf.Any" {
        return None;
    }
    let url = message.get_field_by_name("type_url")?;
    let (_, name) = url.as_str()?.rsplit_once('/')?;
    let pool: &DescriptorPool = descriptor.parent_pool();
    let inner = pool.get_message_by_name(name)?;
    let bytes = message.get_field_by_name("value")?.as_bytes()?.clone();
    DynamicMessage::decode(inner, bytes).ok()
}
