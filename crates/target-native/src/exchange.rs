//! Variables as values of the interpreter, and back.
#![allow(unsafe_code)]

use crate::layout::{Elem, Header, Kind, Layout, Node, Part, Shape};
use crate::memory::{Memory, header_bytes};
use base_bits::{BitReader, BitWriter, Bits};
use ir::ErrorId;
use ir_interp::Value;

/// A frame with its layout.
pub(crate) struct Exchange<'m> {
    pub(crate) layout: &'m Layout,
    pub(crate) memory: &'m mut Memory,
    pub(crate) values: &'m mut [Value],
}

impl Exchange<'_> {
    /// A scalar's home as a number.
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
                let header = &self.layout.headers[*index];
                let valid = self.memory.number(header.valid, 1) != 0;
                let address = self.memory.number(header.pointer, 8) as u64;
                // SAFETY: compiled code has written the pointer of a header before it called, and waits.
                let varbit = header.varbit.map_or(0, |length| self.scalar(length) as usize);
                let bytes = unsafe { header_bytes(address, header.shape.bytes() + varbit) };
                read_header(&header.shape, bytes, valid)
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
                Value::Stack(ir_interp::Stack { elems, next: self.scalar(stack.next) as u32 })
            }
            Node::Value(index) => self.values[*index].clone(),
            Node::Nothing => Value::Void,
        }
    }

    /// Writes the value at `node`; headers are at their homes then.
    pub(crate) fn write(&mut self, node: &Node, value: &Value) {
        match (node, value) {
            (Node::Scalar(index), value) => self.set_scalar(*index, number_of(value)),
            (Node::Header(index), Value::Header(header)) => {
                let Header { shape, home, pointer, valid, varbit } = &self.layout.headers[*index];
                let written = write_header(shape, self.memory.bytes_mut(*home, shape.most_bytes()), header);
                if let Some(length) = varbit {
                    self.set_scalar(*length, written.saturating_sub(shape.bytes()) as u128);
                }
                let address = self.memory.address() as usize + *home as usize;
                self.memory.set_number(*pointer, 8, address as u128);
                self.memory.set_number(*valid, 1, u128::from(header.valid));
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
                            write_header(shape, self.memory.bytes_mut(at, shape.bytes()), header);
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
    Value::Header(ir_interp::Header { valid, fields: read_parts(&shape.parts, varbit, &mut reader) })
}

/// A varbit has so many bits.
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

/// Gives how many bytes were written.
fn write_header(shape: &Shape, bytes: &mut [u8], header: &ir_interp::Header) -> usize {
    let mut writer = BitWriter::new();
    header.fields.iter().zip(&shape.parts).for_each(|(value, part)| write_part(part, value, &mut writer));
    writer.pad();
    let written = writer.finish();
    let length = written.len().min(bytes.len());
    bytes[..length].copy_from_slice(&written[..length]);
    length
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
