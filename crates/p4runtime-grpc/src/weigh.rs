//! Estimates how much memory a message will take, before it is decoded: an empty message takes two bytes in protobuf and hundreds as a
//! Rust type.

use p4runtime_proto::DESCRIPTORS;
use p4runtime_proto::p4::v1;
use prost::encoding::{WireType, decode_key, decode_varint};
use prost::{Message, Name};
use prost_types::FileDescriptorSet;
use prost_types::field_descriptor_proto::{Label, Type};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The depth to which prost decodes nested messages.
const DEPTH: usize = 100;

/// Size assumed for messages that [`sizes`] does not list; larger than any of them.
const UNKNOWN: usize = 640;

/// Overhead of one allocation, in bytes.
const ALLOCATION: usize = 32;

/// An estimate beyond this, in bytes, is not completed: no request may take as much.
const MOST: usize = 1 << 30;

/// A growing vector may have twice the capacity that it needs.
const GROWTH: usize = 2;

/// The memory that a message takes, and the number of elements of one of its fields.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Weight {
    /// Upper estimate, in bytes.
    pub(crate) bytes: usize,
    /// Elements of the requested field.
    pub(crate) elements: usize,
}

#[derive(Default)]
struct Kind {
    /// Size of the Rust type.
    size: usize,
    fields: BTreeMap<u32, Field>,
}

#[derive(Clone, Copy)]
struct Field {
    is_list: bool,
    /// Index into [`Schema::kinds`], if the field is a message.
    message: Option<usize>,
}

struct Schema {
    names: BTreeMap<String, usize>,
    kinds: Vec<Kind>,
}

/// Built by the first request that is weighed, which takes 1 to 1.6 ms longer (unoptimized build).
static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::new);

/// Sizes of the types that requests repeat.
fn sizes() -> BTreeMap<String, usize> {
    fn of<M: Name>() -> (String, usize) {
        (M::full_name(), size_of::<M>())
    }
    [
        of::<v1::Update>(),
        of::<v1::Entity>(),
        of::<v1::TableEntry>(),
        of::<v1::FieldMatch>(),
        of::<v1::action::Param>(),
        of::<v1::ActionProfileAction>(),
        of::<v1::action_profile_group::Member>(),
        of::<v1::Replica>(),
        of::<v1::BackupReplica>(),
        of::<v1::ValueSetMember>(),
        of::<v1::P4Data>(),
        of::<v1::PacketMetadata>(),
    ]
    .into()
}

impl Schema {
    fn new() -> Schema {
        let files = FileDescriptorSet::decode(DESCRIPTORS).unwrap_or_default().file;
        let mut messages = vec![];
        for file in files {
            let package = file.package().to_string();
            let mut waiting: Vec<_> = file.message_type.into_iter().map(|m| (package.clone(), m)).collect();
            while let Some((scope, message)) = waiting.pop() {
                let name = format!("{scope}.{}", message.name());
                waiting.extend(message.nested_type.iter().cloned().map(|inner| (name.clone(), inner)));
                messages.push((name, message));
            }
        }
        let names: BTreeMap<String, usize> =
            messages.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
        let sizes = sizes();
        let kind = |(name, message): &(String, prost_types::DescriptorProto)| {
            let field = |field: &prost_types::FieldDescriptorProto| {
                let is_message = field.r#type() == Type::Message;
                let message = names.get(field.type_name().trim_start_matches('.')).copied();
                let field_kind = Field {
                    is_list: field.label() == Label::Repeated,
                    message: message.filter(|_| is_message),
                };
                Some((u32::try_from(field.number()).ok()?, field_kind))
            };
            let size = sizes.get(name).copied().unwrap_or(UNKNOWN);
            Kind { size, fields: message.field.iter().filter_map(field).collect() }
        };
        let kinds = messages.iter().map(kind).collect();
        Schema { names, kinds }
    }
}

/// Estimates the memory of an encoded `M` and counts the elements of its field `field`. Stops at more than `most` elements or
/// [`MOST`] bytes, and at malformed bytes, which decoding will reject.
pub(crate) fn weigh<M: Name>(bytes: &[u8], field: u32, most: usize) -> Weight {
    let mut weight = Weight { bytes: UNKNOWN, elements: 0 };
    if let Some(kind) = SCHEMA.names.get(&M::full_name()) {
        let mut count = |number: u32| {
            weight.elements += usize::from(number == field);
            weight.elements <= most
        };
        visit(*kind, bytes, DEPTH, &mut weight.bytes, &mut count);
    }
    weight
}

fn visit(
    kind: usize,
    mut bytes: &[u8],
    depth: usize,
    sum: &mut usize,
    top: &mut dyn FnMut(u32) -> bool,
) -> Option<()> {
    let kind = SCHEMA.kinds.get(kind)?;
    while !bytes.is_empty() {
        let (number, wire) = decode_key(&mut bytes).ok()?;
        if !top(number) || *sum > MOST {
            return None;
        }
        let field = kind.fields.get(&number);
        let list = |size: usize| if field.is_some_and(|field| field.is_list) { GROWTH * size } else { 0 };
        match wire {
            WireType::Varint => {
                decode_varint(&mut bytes).ok()?;
                *sum += list(8);
            }
            WireType::SixtyFourBit => {
                bytes = bytes.get(8..)?;
                *sum += list(8);
            }
            WireType::ThirtyTwoBit => {
                bytes = bytes.get(4..)?;
                *sum += list(8);
            }
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut bytes).ok()?).ok()?;
                let (inside, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                match field.and_then(|field| field.message) {
                    Some(message) => {
                        *sum += list(SCHEMA.kinds.get(message)?.size);
                        // Recursive messages are boxed.
                        *sum += ALLOCATION;
                        if depth > 0 {
                            visit(message, inside, depth - 1, sum, &mut |_| true)?;
                        }
                    }
                    // Packed numbers: one byte may become eight.
                    None if field.is_some_and(|field| field.is_list) => {
                        *sum += GROWTH * (8 * length + size_of::<Vec<u8>>()) + ALLOCATION;
                    }
                    None => *sum += length + ALLOCATION,
                }
            }
            // Groups are skipped when decoded.
            WireType::StartGroup | WireType::EndGroup => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime_proto::from_text;

    #[test]
    fn empty_elements_weigh_what_their_types_take() {
        let update = size_of::<v1::Update>();
        let empty = v1::WriteRequest { updates: vec![v1::Update::default(); 1000], ..Default::default() };
        let weight = weigh::<v1::WriteRequest>(&empty.encode_to_vec(), 4, usize::MAX);
        assert_eq!(weight.elements, 1000);
        assert!(weight.bytes >= 1000 * 2 * update, "{weight:?}");
        // The same inside of one update, where nobody would count them.
        let entry = v1::TableEntry { r#match: vec![v1::FieldMatch::default(); 1000], ..Default::default() };
        let entity = v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) };
        let write = v1::WriteRequest {
            updates: vec![v1::Update { r#type: 1, entity: Some(entity) }],
            ..Default::default()
        };
        let weight = weigh::<v1::WriteRequest>(&write.encode_to_vec(), 4, usize::MAX);
        assert_eq!(weight.elements, 1);
        assert!(weight.bytes >= 1000 * 2 * size_of::<v1::FieldMatch>(), "{weight:?}");
    }

    /// An honest update takes some kilobytes while it is written; a hundred thousand of them fit.
    #[test]
    fn a_large_write_of_one_table_fits() {
        let update: v1::Update = from_text(
            "type: INSERT entity { table_entry { table_id: 1 match { field_id: 1 exact { value: \"abcd\" } } action { \
             action { action_id: 2 params { param_id: 1 value: \"abcdef\" } params { param_id: 2 value: \"a\" } } } } }",
        )
        .unwrap();
        let write = v1::WriteRequest { updates: vec![update; 1000], ..Default::default() };
        let weight = weigh::<v1::WriteRequest>(&write.encode_to_vec(), 4, usize::MAX);
        assert!(weight.bytes < 1000 * 1800, "{weight:?}");
    }

    #[test]
    fn too_many_elements_are_not_counted_to_the_end() {
        let empty = [0x22, 0].repeat(1000);
        assert_eq!(weigh::<v1::WriteRequest>(&empty, 4, 10).elements, 11);
    }

    #[test]
    fn broken_bytes_are_no_trouble() {
        for bytes in [&[0x22, 0xff, 0xff, 0xff, 0xff, 0xff][..], &[0xff; 20], &[0x22, 3, 1], &[0x23]] {
            weigh::<v1::WriteRequest>(bytes, 4, usize::MAX);
        }
    }
}
