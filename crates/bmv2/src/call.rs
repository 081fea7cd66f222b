//! Arguments of a call, and why one is refused.

use crate::wire::{Fields, Value};
use p4runtime_proto::google::rpc::Code;
use p4runtime_server::Status;

/// Why a call is refused.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// The exception that the method declares, with this code, and the reason, which the client does not get.
    Declared(i32, String),
    /// A `TApplicationException`: any method may end with it.
    Application(Application, String),
}

/// Kinds of `TApplicationException`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Application {
    UnknownMethod = 1,
    InternalError = 6,
    ProtocolError = 7,
}

/// Result of a method.
pub type Answer<T = Value> = Result<T, Refusal>;

/// Nothing.
pub const VOID: Answer = Ok(Value::Struct(vec![]));

/// Ends with the code that a method declares.
pub fn declared<T>(code: i32, why: impl Into<String>) -> Answer<T> {
    Err(Refusal::Declared(code, why.into()))
}

/// Ends a method that declares nothing for the case.
pub fn unable<T>(why: impl Into<String>) -> Answer<T> {
    Err(Refusal::Application(Application::InternalError, why.into()))
}

/// The code of a status: of its only update or query, if there is one.
pub fn code(status: &Status) -> Code {
    let detail = status.details.iter().find(|detail| detail.canonical_code != 0);
    detail.and_then(|detail| Code::try_from(detail.canonical_code).ok()).unwrap_or(status.code)
}

/// Why, of the same.
pub fn why(status: &Status) -> String {
    let detail = status.details.iter().find(|detail| detail.canonical_code != 0);
    detail.map_or(&status.message, |detail| &detail.message).clone()
}

/// Arguments by their ids.
pub struct Args<'a>(pub &'a Fields);

impl<'a> Args<'a> {
    fn get(&self, id: i16) -> Option<&'a Value> {
        self.0.iter().find(|(of, _)| *of == id).map(|(_, value)| value)
    }

    fn missing<T>(id: i16) -> Answer<T> {
        let why = format!("argument {id} is missing or has another type");
        Err(Refusal::Application(Application::ProtocolError, why))
    }

    pub fn text(&self, id: i16) -> Answer<&'a str> {
        match self.get(id) {
            Some(Value::String(bytes)) => std::str::from_utf8(bytes).or_else(|_| Self::missing(id)),
            _ => Self::missing(id),
        }
    }

    pub fn bytes(&self, id: i16) -> Answer<&'a [u8]> {
        match self.get(id) {
            Some(Value::String(bytes)) => Ok(bytes),
            _ => Self::missing(id),
        }
    }

    pub fn bool(&self, id: i16) -> Answer<bool> {
        match self.get(id) {
            Some(Value::Bool(value)) => Ok(*value),
            _ => Self::missing(id),
        }
    }

    /// A number of any width.
    pub fn number(&self, id: i16) -> Answer<i64> {
        self.optional_number(id)?.map_or_else(|| Self::missing(id), Ok)
    }

    pub fn optional_number(&self, id: i16) -> Answer<Option<i64>> {
        Ok(match self.get(id) {
            None => None,
            Some(Value::I8(value)) => Some((*value).into()),
            Some(Value::I16(value)) => Some((*value).into()),
            Some(Value::I32(value)) => Some((*value).into()),
            Some(Value::I64(value)) => Some(*value),
            Some(_) => return Self::missing(id),
        })
    }

    /// A handle or index, which is not negative.
    pub fn index(&self, id: i16) -> Answer<u32> {
        u32::try_from(self.number(id)?).or_else(|_| Self::missing(id))
    }

    pub fn double(&self, id: i16) -> Answer<f64> {
        match self.get(id) {
            Some(Value::Double(value)) => Ok(*value),
            _ => Self::missing(id),
        }
    }

    pub fn list(&self, id: i16) -> Answer<&'a [Value]> {
        match self.get(id) {
            Some(Value::List(_, all)) => Ok(all),
            _ => Self::missing(id),
        }
    }

    pub fn structs(&self, id: i16) -> Answer<Vec<Args<'a>>> {
        let of = |value: &'a Value| match value {
            Value::Struct(fields) => Ok(Args(fields)),
            _ => Self::missing(id),
        };
        self.list(id)?.iter().map(of).collect()
    }

    pub fn strings(&self, id: i16) -> Answer<Vec<&'a [u8]>> {
        let of = |value: &'a Value| match value {
            Value::String(bytes) => Ok(bytes.as_slice()),
            _ => Self::missing(id),
        };
        self.list(id)?.iter().map(of).collect()
    }

    pub fn fields(&self, id: i16) -> Answer<Args<'a>> {
        match self.get(id) {
            Some(Value::Struct(fields)) => Ok(Args(fields)),
            _ => Self::missing(id),
        }
    }
}
