//! Thrift's binary protocol (`TBinaryProtocol`, strict): messages as bytes and back.
//!
//! ```text
//! message = 80 01 00 kind, name: string, sequence: i32, fields
//! fields  = (type: u8, id: i16, value)* 00
//! string  = length: i32, bytes;  list = type, length: i32, values;  map = type, type, length: i32, (key, value)*
//! ```
//!
//! Bytes come from untrusted clients: sizes, depth and the number of values are bounded, and memory for a length is allocated only as its bytes arrive.

use std::fmt;

/// Limits for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes.
    pub bytes: usize,
    /// Values.
    pub values: usize,
}

/// Limits for calls, which come from untrusted clients.
const CALLS: Limits = Limits { bytes: 256 << 10, values: 1 << 14 };

/// Limit for structs and lists inside each other.
const MOST_DEPTH: u32 = 16;

const VERSION: u32 = 0x8001_0000;

/// A type on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Type {
    Bool = 2,
    I8 = 3,
    Double = 4,
    I16 = 6,
    I32 = 8,
    I64 = 10,
    /// Text or bytes: they look the same.
    String = 11,
    Struct = 12,
    Map = 13,
    Set = 14,
    List = 15,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Value {
    Bool(bool),
    I8(i8),
    Double(f64),
    I16(i16),
    I32(i32),
    I64(i64),
    String(Vec<u8>),
    Struct(Fields),
    /// With the types of keys and values.
    Map(Type, Type, Vec<(Value, Value)>),
    /// A list or set, with the type of its elements.
    List(Type, Vec<Value>),
}

/// The fields of a struct, by their ids.
pub type Fields = Vec<(i16, Value)>;

/// Kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Call = 1,
    Reply = 2,
    Exception = 3,
    Oneway = 4,
}

/// A message.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// Kind.
    pub kind: Kind,
    /// Method; multiplexed calls have `SERVICE:METHOD`.
    pub name: String,
    /// The reply has that of its call.
    pub sequence: i32,
    /// Arguments or result.
    pub fields: Fields,
}

/// Why bytes are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Why reading stopped.
enum Stop {
    /// More bytes may follow.
    Short,
    Malformed(Malformed),
}

type Read<T> = Result<T, Stop>;

fn malformed<T>(why: &'static str) -> Read<T> {
    Err(Stop::Malformed(Malformed(why)))
}

/// The first message of the bytes and its length; `None` if it is not all there. It is within the limits for calls.
pub fn decode(bytes: &[u8]) -> Result<Option<(Message, usize)>, Malformed> {
    decode_within(bytes, CALLS)
}

/// The same within other limits.
pub fn decode_within(bytes: &[u8], limits: Limits) -> Result<Option<(Message, usize)>, Malformed> {
    let mut reader = Reader { rest: bytes, values: 0, limits };
    match reader.message() {
        Ok(message) => Ok(Some((message, bytes.len() - reader.rest.len()))),
        Err(Stop::Short) if bytes.len() < limits.bytes => Ok(None),
        Err(Stop::Short) => Err(Malformed("the message is too long")),
        Err(Stop::Malformed(why)) => Err(why),
    }
}

struct Reader<'b> {
    rest: &'b [u8],
    values: usize,
    limits: Limits,
}

impl<'b> Reader<'b> {
    fn message(&mut self) -> Read<Message> {
        let version = u32::from_be_bytes(self.array()?);
        if version & 0xffff_0000 != VERSION {
            return malformed("this is not Thrift's binary protocol");
        }
        let kind = match version & 0xff {
            1 => Kind::Call,
            2 => Kind::Reply,
            3 => Kind::Exception,
            4 => Kind::Oneway,
            _ => return malformed("the kind of the message is unknown"),
        };
        let Ok(name) = std::str::from_utf8(self.string()?) else { return malformed("the name is not text") };
        let name = name.to_string();
        Ok(Message { kind, name, sequence: i32::from_be_bytes(self.array()?), fields: self.fields(0)? })
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Stop::Short)?;
        self.rest = rest;
        Ok(*array)
    }

    fn byte(&mut self) -> Read<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    fn length(&mut self) -> Read<usize> {
        match usize::try_from(i32::from_be_bytes(self.array()?)) {
            Ok(length) if length <= self.limits.bytes => Ok(length),
            _ => malformed("a length is out of range"),
        }
    }

    fn string(&mut self) -> Read<&'b [u8]> {
        let length = self.length()?;
        let (string, rest) = self.rest.split_at_checked(length).ok_or(Stop::Short)?;
        self.rest = rest;
        Ok(string)
    }

    fn type_of(byte: u8) -> Read<Type> {
        Ok(match byte {
            2 => Type::Bool,
            3 => Type::I8,
            4 => Type::Double,
            6 => Type::I16,
            8 => Type::I32,
            10 => Type::I64,
            11 => Type::String,
            12 => Type::Struct,
            13 => Type::Map,
            14 => Type::Set,
            15 => Type::List,
            _ => return malformed("the type of a value is unknown"),
        })
    }

    fn fields(&mut self, depth: u32) -> Read<Fields> {
        let mut fields = vec![];
        loop {
            match self.byte()? {
                0 => return Ok(fields),
                byte => {
                    let of = Self::type_of(byte)?;
                    let id = i16::from_be_bytes(self.array()?);
                    fields.push((id, self.value(of, depth)?));
                }
            }
        }
    }

    fn value(&mut self, of: Type, depth: u32) -> Read<Value> {
        self.values += 1;
        if self.values > self.limits.values {
            return malformed("the message has too many values");
        }
        if depth >= MOST_DEPTH {
            return malformed("the message is nested too deeply");
        }
        Ok(match of {
            Type::Bool => Value::Bool(self.byte()? != 0),
            Type::I8 => Value::I8(i8::from_be_bytes(self.array()?)),
            Type::Double => Value::Double(f64::from_be_bytes(self.array()?)),
            Type::I16 => Value::I16(i16::from_be_bytes(self.array()?)),
            Type::I32 => Value::I32(i32::from_be_bytes(self.array()?)),
            Type::I64 => Value::I64(i64::from_be_bytes(self.array()?)),
            Type::String => Value::String(self.string()?.to_vec()),
            Type::Struct => Value::Struct(self.fields(depth + 1)?),
            Type::Map => {
                let (key, value) = (Self::type_of(self.byte()?)?, Self::type_of(self.byte()?)?);
                let mut all = vec![];
                for _ in 0..self.length()? {
                    all.push((self.value(key, depth + 1)?, self.value(value, depth + 1)?));
                }
                Value::Map(key, value, all)
            }
            Type::List | Type::Set => {
                let of = Self::type_of(self.byte()?)?;
                let mut all = vec![];
                for _ in 0..self.length()? {
                    all.push(self.value(of, depth + 1)?);
                }
                Value::List(of, all)
            }
        })
    }
}

/// The bytes of a message, without room for more: answers wait for their clients, and count with their length. A vector that grows has room for
/// up to twice as much, and an allocator may keep it after [`Vec::shrink_to_fit`].
pub fn encode(message: &Message) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + message.name.len() + fields_size(&message.fields));
    out.extend((VERSION | message.kind as u32).to_be_bytes());
    string(&mut out, message.name.as_bytes());
    out.extend(message.sequence.to_be_bytes());
    fields(&mut out, &message.fields);
    out
}

fn length(out: &mut Vec<u8>, length: usize) {
    out.extend(i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes());
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn fields(out: &mut Vec<u8>, all: &Fields) {
    for (id, value) in all {
        out.push(value.type_of() as u8);
        out.extend(id.to_be_bytes());
        value.write(out);
    }
    out.push(0);
}

/// Number of bytes of fields.
fn fields_size(all: &Fields) -> usize {
    1 + all.iter().map(|(_, value)| 3 + value.size()).sum::<usize>()
}

impl Value {
    /// Text.
    pub fn text(text: impl Into<String>) -> Value {
        Value::String(text.into().into_bytes())
    }

    fn type_of(&self) -> Type {
        match self {
            Value::Bool(_) => Type::Bool,
            Value::I8(_) => Type::I8,
            Value::Double(_) => Type::Double,
            Value::I16(_) => Type::I16,
            Value::I32(_) => Type::I32,
            Value::I64(_) => Type::I64,
            Value::String(_) => Type::String,
            Value::Struct(_) => Type::Struct,
            Value::Map(..) => Type::Map,
            Value::List(..) => Type::List,
        }
    }

    /// Number of bytes.
    fn size(&self) -> usize {
        match self {
            Value::Bool(_) | Value::I8(_) => 1,
            Value::I16(_) => 2,
            Value::I32(_) => 4,
            Value::Double(_) | Value::I64(_) => 8,
            Value::String(bytes) => 4 + bytes.len(),
            Value::Struct(all) => fields_size(all),
            Value::Map(.., all) => {
                6 + all.iter().map(|(key, value)| key.size() + value.size()).sum::<usize>()
            }
            Value::List(_, all) => 5 + all.iter().map(Value::size).sum::<usize>(),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Bool(value) => out.push((*value).into()),
            Value::I8(value) => out.extend(value.to_be_bytes()),
            Value::Double(value) => out.extend(value.to_be_bytes()),
            Value::I16(value) => out.extend(value.to_be_bytes()),
            Value::I32(value) => out.extend(value.to_be_bytes()),
            Value::I64(value) => out.extend(value.to_be_bytes()),
            Value::String(bytes) => string(out, bytes),
            Value::Struct(all) => fields(out, all),
            Value::Map(key, value, all) => {
                out.extend([*key as u8, *value as u8]);
                length(out, all.len());
                for (key, value) in all {
                    key.write(out);
                    value.write(out);
                }
            }
            Value::List(of, all) => {
                out.push(*of as u8);
                length(out, all.len());
                all.iter().for_each(|value| value.write(out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: Fields) -> Message {
        Message { kind: Kind::Call, name: "standard:bm_mt_add_entry".to_string(), sequence: 7, fields }
    }

    #[test]
    fn messages_are_read_as_they_are_written() {
        let entries = Value::List(Type::Struct, vec![Value::Struct(vec![(1, Value::Bool(true))])]);
        let names = Value::Map(Type::String, Type::I16, vec![(Value::text("a"), Value::I16(-1))]);
        let numbers = [Value::I8(-1), Value::I32(-2), Value::I64(-3), Value::Double(0.5)];
        let numbers = Value::Struct((1..).zip(numbers).collect());
        let all = message(vec![(1, entries), (2, names), (3, numbers), (-4, Value::List(Type::I32, vec![]))]);
        let bytes = encode(&all);
        assert_eq!(bytes.capacity(), bytes.len());
        assert_eq!(decode(&[&bytes[..], &[9]].concat()), Ok(Some((all, bytes.len()))));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_protocol() {
        let call = Message {
            kind: Kind::Call,
            name: "a".to_string(),
            sequence: 1,
            fields: vec![(1, Value::I32(2))],
        };
        assert_eq!(encode(&call), [0x80, 1, 0, 1, 0, 0, 0, 1, b'a', 0, 0, 0, 1, 8, 0, 1, 0, 0, 0, 2, 0]);
    }

    #[test]
    fn bytes_of_anybody_are_refused_within_bounds() {
        let why = |bytes: &[u8]| decode(bytes).unwrap_err().0;
        assert_eq!(why(b"GET / HTTP/1.1\r\n"), "this is not Thrift's binary protocol");
        let header = encode(&message(vec![]));
        let header = &header[..header.len() - 1];
        let body = |more: &[u8]| [header, more].concat();
        assert_eq!(why(&body(&[11, 0, 1, 0xff, 0xff, 0xff, 0xff])), "a length is out of range");
        assert_eq!(why(&body(&[15, 0, 1, 2, 0x7f, 0xff, 0xff, 0xff])), "a length is out of range");
        assert_eq!(why(&body(&[1, 0, 1])), "the type of a value is unknown");
        assert_eq!(why(&body(&[12, 0, 1].repeat(40))), "the message is nested too deeply");
        let list = [&[15, 0, 1, 2, 0, 1, 0, 0][..], &[1; 1 << 16]].concat();
        assert_eq!(why(&body(&list)), "the message has too many values");
        let long = [&[11, 0, 1, 0, 4, 0, 0][..], &vec![0; CALLS.bytes - 8]].concat();
        assert_eq!(why(&body(&long)), "the message is too long");
    }
}
