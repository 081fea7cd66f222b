//! Variables as values of the interpreter, and back.
#![allow(unsafe_code)]

use crate::layout::{Elem, Kind, Layout, Node, Part, Shape};
use crate::memory::{Memory, header_bytes};
use base_bits::{BitReader, BitWriter, Bits};
use ir::ErrorId;
use ir_value::Value;

/// A frame with its layout.
pub(crate) struct Exchange<'m> {
    pub(crate) layout: &'m Layout,
    pub(crate) memory: &'m mut Memory,
    pub(crate) values: &'m mut [Value],
}

impl Exchange<'_> {
    /// A scalar's home as a number.
    #[inline]
    pub(crate) fn scalar(&self, index: usize) -> u128 {
        let scalar = self.layout.scalars[index];
        let bytes = if scalar.kind == Kind::Bool { 1 } else { scalar.kind.slot() };
        self.memory.number(scalar.home, bytes)
    }

    /// See [`scalar`](Exchange::scalar).
    pub(crate) fn set_scalar(&mut self, index: usize, value: u128) {
        let scalar = self.layout.scalars[index];
        let bytes = if scalar.kind == Kind::Bool { 1 } else { scalar.kind.slot() };
        self.memory.set_number(scalar.home, bytes, value);
    }

    /// A pair of words in the place of keys.
    pub(crate) fn pair(&self, at: usize) -> u128 {
        self.memory.number(self.layout.homes.keys + 16 * at as i32, 16)
    }

    /// The value at `node`.
    pub(crate) fn read(&self, node: &Node) -> Value {
        match node {
            Node::Scalar(index) => value_of(self.layout.scalars[*index].kind, self.scalar(*index)),
            Node::Header(index) => {
                let shape = &self.layout.headers[*index].shape;
                read_header(shape, self.header_bytes(*index), self.is_valid(*index))
            }
            Node::Struct(nodes) => Value::Struct(nodes.iter().map(|n| self.read(n)).collect()),
            Node::Union(nodes) => Value::Union(nodes.iter().map(|n| self.read(n)).collect()),
            Node::Stack(stack) => {
                let elem = |at: i32| match &stack.elem {
                    Elem::Scalar(kind) => value_of(*kind, self.memory.number(at, slot_bytes(*kind))),
                    Elem::Header(shape) => {
                        let valid = self.memory.number(at + stack.valid(), 1) != 0;
                        read_header(shape, self.memory.bytes(at, shape.bytes()), valid)
                    }
                };
                let elems = (0..stack.size as i32).map(|i| elem(stack.base + i * stack.stride)).collect();
                Value::Stack(ir_value::Stack { elems, next: self.scalar(stack.next) as u32 })
            }
            Node::Value(index) => self.values[*index].clone(),
            Node::Nothing => Value::Void,
        }
    }

    /// Copies the value at `from` in another frame to `node`, which has the same type; headers are at their homes then.
    /// Arrays are not copied.
    pub(crate) fn copy(&mut self, node: &Node, other: &Exchange, from: &Node) {
        match (node, from) {
            (Node::Scalar(to), Node::Scalar(from)) => self.set_scalar(*to, other.scalar(*from)),
            (Node::Header(to), Node::Header(from)) => {
                let valid = other.is_valid(*from);
                self.set_header(*to, other.header_bytes(*from), valid);
            }
            (Node::Struct(nodes), Node::Struct(from)) | (Node::Union(nodes), Node::Union(from)) => {
                nodes.iter().zip(from).for_each(|(node, from)| self.copy(node, other, from));
            }
            _ => {}
        }
    }

    /// Clears the value at `node`; its headers are invalid and at their homes then. Arrays are not changed.
    pub(crate) fn clear(&mut self, node: &Node) {
        match node {
            Node::Scalar(index) => self.set_scalar(*index, 0),
            Node::Header(index) => self.set_header(*index, &[], false),
            Node::Struct(nodes) | Node::Union(nodes) => nodes.iter().for_each(|node| self.clear(node)),
            _ => {}
        }
    }

    fn is_valid(&self, header: usize) -> bool {
        self.memory.number(self.layout.headers[header].valid, 1) != 0
    }

    /// As they are on the wire, with those of a varbit.
    fn header_bytes(&self, header: usize) -> &[u8] {
        let header = &self.layout.headers[header];
        let address = self.memory.number(header.pointer, 8) as u64;
        let varbit = header.varbit.map_or(0, |length| self.scalar(length) as usize);
        // SAFETY: compiled code has written the pointer of a header before it called, and waits.
        unsafe { header_bytes(address, header.shape.bytes() + varbit) }
    }

    /// A header is at its home and has these bytes, and zeros after them.
    fn set_header(&mut self, index: usize, bytes: &[u8], valid: bool) {
        let header = &self.layout.headers[index];
        let room = self.memory.bytes_mut(header.home, header.shape.most_bytes());
        let length = bytes.len().min(room.len());
        room[..length].copy_from_slice(&bytes[..length]);
        room[length..].fill(0);
        if let Some(varbit) = header.varbit {
            self.set_scalar(varbit, length.saturating_sub(header.shape.bytes()) as u128);
        }
        let address = self.memory.address() as usize + header.home as usize;
        self.memory.set_number(header.pointer, 8, address as u128);
        self.memory.set_number(header.valid, 1, u128::from(valid));
        self.memory.set_number(self.layout.homes.touched, 1, 1);
    }

    /// Writes the value at `node`; headers are at their homes then.
    pub(crate) fn write(&mut self, node: &Node, value: &Value) {
        match (node, value) {
            (Node::Scalar(index), value) => self.set_scalar(*index, number_of(value)),
            (Node::Header(index), Value::Header(header)) => {
                self.set_header(
                    *index,
                    &header_wire(&self.layout.headers[*index].shape, header),
                    header.valid,
                );
            }
            (Node::Struct(nodes), Value::Struct(values)) | (Node::Union(nodes), Value::Union(values)) => {
                nodes.iter().zip(values).for_each(|(node, value)| self.write(node, value));
            }
            (Node::Stack(stack), Value::Stack(value)) => {
                for (i, value) in (0..).zip(&value.elems) {
                    let at = stack.base + i * stack.stride;
                    match (&stack.elem, value) {
                        (Elem::Scalar(kind), value) => {
                            self.memory.set_number(at, slot_bytes(*kind), number_of(value));
                        }
                        (Elem::Header(shape), Value::Header(header)) => {
                            let bytes = header_wire(shape, header);
                            let length = bytes.len().min(shape.bytes());
                            self.memory.bytes_mut(at, length).copy_from_slice(&bytes[..length]);
                            self.memory.set_number(at + stack.valid(), 1, u128::from(header.valid));
                        }
                        _ => {}
                    }
                }
                self.set_scalar(stack.next, u128::from(value.next));
            }
            (Node::Value(index), value) => self.values[*index] = value.clone(),
            _ => {}
        }
    }
}

fn slot_bytes(kind: Kind) -> usize {
    if kind == Kind::Bool { 1 } else { kind.slot() }
}

pub(crate) fn value_of(kind: Kind, number: u128) -> Value {
    match kind {
        Kind::Bits(width) => Value::Bits(Bits::new(width, number)),
        Kind::Bool => Value::Bool(number != 0),
        Kind::Error => Value::Error(ErrorId(number as u32)),
        Kind::Enum => Value::Enum(number as u32),
    }
}

fn number_of(value: &Value) -> u128 {
    value.to_key().map_or(0, |bits| bits.low_u128())
}

fn read_header(shape: &Shape, bytes: &[u8], valid: bool) -> Value {
    let mut reader = BitReader::new(bytes);
    let varbit = 8 * (bytes.len() - shape.bytes()) as u32;
    Value::Header(ir_value::Header { valid, fields: read_parts(&shape.parts, varbit, &mut reader) })
}

/// Reads the parts of a header; its varbit has `varbit` bits.
fn read_parts(parts: &[Part], varbit: u32, reader: &mut BitReader) -> Vec<Value> {
    let read = |part: &Part| match part {
        Part::Field(_, Kind::Bool) => Value::Bool(reader.read_bool().unwrap_or(false)),
        Part::Field(_, kind) => {
            Value::Bits(reader.read(kind.width()).unwrap_or_else(|| Bits::zero(kind.width())))
        }
        Part::Struct(parts) => Value::Struct(read_parts(parts, varbit, reader)),
        Part::Varbit => Value::Varbit(reader.read(varbit).unwrap_or_else(|| Bits::zero(0))),
    };
    parts.iter().map(read).collect()
}

fn header_wire(shape: &Shape, header: &ir_value::Header) -> Vec<u8> {
    let mut writer = BitWriter::new();
    header.fields.iter().zip(&shape.parts).for_each(|(value, part)| write_part(part, value, &mut writer));
    writer.pad();
    writer.finish()
}

fn write_part(part: &Part, value: &Value, writer: &mut BitWriter) {
    match (part, value) {
        (Part::Struct(parts), Value::Struct(values)) => {
            parts.iter().zip(values).for_each(|(part, value)| write_part(part, value, writer));
        }
        (Part::Field(_, Kind::Bool), value) => writer.push_bool(value.as_bool() == Some(true)),
        (Part::Field(_, kind), value) => match value.as_bits() {
            Some(bits) => writer.push(&bits.resize(kind.width())),
            None => writer.push(&Bits::zero(kind.width())),
        },
        (Part::Varbit, value) => value.as_bits().into_iter().for_each(|bits| writer.push(bits)),
        (Part::Struct(_), _) => {}
    }
}
