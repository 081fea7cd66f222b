//! Reports of packets to the control plane: digests and lines of the log, until they are taken.

use crate::trace::value_text;
use ir::{Name, Program, Type, TypeId};
use ir_value::Value;

/// Digests that are kept, and lines; then the newest are lost.
const KEPT: usize = 4096;

/// A message to the control plane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digest {
    /// The type of the data, or the name of the digest object.
    pub name: Name,
    /// Data captured at the call.
    pub data: Value,
}

impl Digest {
    /// Type of the data, if the digest's name determines it.
    pub fn ty(&self, program: &Program) -> Type {
        let of_type = program.types.iter().position(|ty| ty.name == self.name);
        let of_type = of_type.map(|at| Type::Named(TypeId::from(at)));
        let of_object = || {
            let named = program.instances.iter().find(|i| i.control_plane_name == self.name)?;
            named.type_args.first().cloned()
        };
        of_type.or_else(of_object).unwrap_or(Type::Void)
    }
}

/// Reports of packets to the control plane. At most 4096 digests and 4096 lines are kept, the oldest ones.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reports {
    /// The oldest first.
    pub digests: Vec<Digest>,
    /// Lines of the log, the oldest first.
    pub log: Vec<String>,
    /// Number of digests and lines that were lost.
    pub lost: u64,
}

impl Reports {
    /// Adds a digest.
    pub fn digest(&mut self, digest: Digest) {
        self.lost += keep(&mut self.digests, [digest]);
    }

    /// Adds a line to the log.
    pub fn line(&mut self, line: String) {
        self.lost += keep(&mut self.log, [line]);
    }

    /// Appends later reports.
    pub fn append(&mut self, later: Reports) {
        self.lost += later.lost + keep(&mut self.digests, later.digests) + keep(&mut self.log, later.log);
    }
}

/// Appends up to the limit. Returns the number of elements that were lost.
fn keep<T>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) -> u64 {
    let mut more = more.into_iter();
    list.extend(more.by_ref().take(KEPT.saturating_sub(list.len())));
    more.count() as u64
}

/// The name of a digest of this type.
pub fn digest_name(program: &Program, ty: &Type) -> Name {
    match ty {
        Type::Named(id) => program.type_decl(*id).name.clone(),
        _ => "digest".into(),
    }
}

/// A line of the log: each `{}` of the message stands for the next value; those that are missing stay as they are.
pub fn log_line(message: &str, data: Option<Value>) -> String {
    let values = match data {
        Some(Value::Struct(values)) => values,
        data => data.into_iter().collect(),
    };
    let mut values = values.iter().map(log_text);
    let mut parts = message.split("{}");
    let mut line = parts.next().unwrap_or_default().to_string();
    for part in parts {
        line.push_str(&values.next().unwrap_or_else(|| "{}".to_string()));
        line.push_str(part);
    }
    line
}

/// A value in the log: plain decimal numbers.
fn log_text(value: &Value) -> String {
    match value {
        Value::Bits(bits) | Value::Varbit(bits) => bits.to_decimal(),
        Value::Str(text) => text.clone(),
        value => value_text(value),
    }
}
