//! Values at run time, and the zero value of each type.
//!
//! **Invariant**: a value has the shape of its type; nothing is ever undefined. Where the specification leaves
//! behaviour open, BMv2 decides it: uninitialised values are zero, headers and unions invalid, and an invalid
//! header keeps the fields that were last stored in it.

use crate::operate;
use base_bits::Bits;
use base_bits::num_bigint::BigInt;
use control_writes::Data;
use ir::{Const, ErrorId, Expr, ExprKind, InstanceId, Program, Type, TypeKind};

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// The value of `void`, and of a packet.
    Void,
    /// An extern instance.
    Instance(InstanceId),
    /// `bit<N>`, `int<N>`, and types represented by these.
    Bits(Bits),
    /// `varbit<N>`; the width is the current one.
    Varbit(Bits),
    /// `bool`.
    Bool(bool),
    /// `error`.
    Error(ErrorId),
    /// An enum without underlying type: the index of the member.
    Enum(u32),
    /// `string`.
    Str(String),
    /// `int`.
    Int(BigInt),
    /// A struct, tuple or list.
    Struct(Vec<Value>),
    /// A header.
    Header(Header),
    /// A header union: its members, each a [`Value::Header`]; at most one is valid.
    Union(Vec<Value>),
    /// A header stack or an array.
    Stack(Stack),
}

/// A header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Validity of the header.
    pub valid: bool,
    /// In order; kept while invalid.
    pub fields: Vec<Value>,
}

/// A header stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// As many as the type says.
    pub elems: Vec<Value>,
    /// The index of `next`; up to the size.
    pub next: u32,
}

impl Value {
    /// All zero; headers and unions invalid; stacks empty.
    pub fn zero(program: &Program, ty: &Type) -> Value {
        match ty {
            Type::Bit(n) | Type::Int(n) => Value::Bits(Bits::zero(*n)),
            Type::Varbit(_) => Value::Varbit(Bits::zero(0)),
            Type::Bool => Value::Bool(false),
            Type::Error => Value::Error(ErrorId(0)),
            Type::String => Value::Str(String::new()),
            Type::InfInt => Value::Int(BigInt::ZERO),
            Type::Tuple(types) => Value::Struct(types.iter().map(|t| Value::zero(program, t)).collect()),
            Type::Stack(elem, size) => {
                let elem = Value::zero(program, elem);
                Value::Stack(Stack { elems: vec![elem; *size as usize], next: 0 })
            }
            Type::Named(id) => Value::zero_named(program, &program.type_decl(*id).kind),
            Type::List(_) => Value::Struct(vec![]),
            Type::Void | Type::MatchKind | Type::Extern(..) | Type::Param(_) => Value::Void,
        }
    }

    /// The value of a constant, or of an aggregate of constants; `None` for other expressions.
    pub fn constant(program: &Program, expr: &Expr) -> Option<Value> {
        let parts = match &expr.kind {
            ExprKind::Const(value) => return Some(Value::from(value)),
            ExprKind::Aggregate(parts) => parts,
            ExprKind::InvalidHeader => return Some(Value::zero(program, &expr.ty)),
            _ => return None,
        };
        let parts = parts.iter().map(|part| Value::constant(program, part)).collect::<Option<Vec<_>>>()?;
        Some(operate::aggregate(program, program.representation(&expr.ty), parts))
    }

    fn zero_named(program: &Program, kind: &TypeKind) -> Value {
        let zeros = |fields: &[ir::Field]| fields.iter().map(|f| Value::zero(program, &f.ty)).collect();
        match kind {
            TypeKind::Header(fields) => Value::Header(Header { valid: false, fields: zeros(fields) }),
            TypeKind::Union(fields) => Value::Union(zeros(fields)),
            TypeKind::Struct(fields) => Value::Struct(zeros(fields)),
            TypeKind::Enum(_) => Value::Enum(0),
            TypeKind::SerEnum { underlying, .. } => Value::zero(program, underlying),
            TypeKind::New(under) => Value::zero(program, under),
        }
    }

    /// The bits, if it is made of bits.
    pub fn as_bits(&self) -> Option<&Bits> {
        match self {
            Value::Bits(bits) | Value::Varbit(bits) => Some(bits),
            _ => None,
        }
    }

    /// The truth value, if it has one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// True for a valid header, and for a union with a valid member.
    pub fn is_valid(&self) -> bool {
        match self {
            Value::Header(header) => header.valid,
            Value::Union(members) => members.iter().any(Value::is_valid),
            _ => false,
        }
    }

    /// As one number: bools as 1 bit, enums and errors by their index in 32 bits. How table keys and action
    /// data see it.
    pub fn to_key(&self) -> Option<Bits> {
        match self {
            Value::Bits(bits) | Value::Varbit(bits) => Some(bits.clone()),
            Value::Bool(b) => Some(Bits::from_bool(*b)),
            Value::Error(id) => Some(Bits::new(32, u128::from(id.0))),
            Value::Enum(member) => Some(Bits::new(32, u128::from(*member))),
            _ => None,
        }
    }

    /// As an index or shift amount, if it fits.
    pub fn to_index(&self) -> Option<u32> {
        match self {
            Value::Int(n) => u32::try_from(n).ok(),
            value => value.to_key()?.to_u32(),
        }
    }

    /// The value of type `ty` whose [`to_key`](Value::to_key) is `bits`, cut or zero-extended to its width;
    /// `None` for types without one.
    pub fn from_key(program: &Program, ty: &Type, bits: &Bits) -> Option<Value> {
        match program.representation(ty) {
            Type::Bit(n) | Type::Int(n) => Some(Value::Bits(bits.resize(*n))),
            Type::Bool => Some(Value::Bool(!bits.is_zero())),
            Type::Error => Some(Value::Error(ErrorId(bits.to_u32()?))),
            Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Enum(_)) => {
                Some(Value::Enum(bits.to_u32()?))
            }
            _ => None,
        }
    }

    /// The value as data, which goes by names where this goes by numbers; `None` for types that data has no form for.
    pub fn to_data(&self, program: &Program, ty: &Type) -> Option<Data> {
        let all = |types: Vec<&Type>, values: &[Value]| {
            let pairs = types.into_iter().zip(values);
            pairs.map(|(ty, value)| value.to_data(program, ty)).collect::<Option<Vec<_>>>()
        };
        Some(match (program.representation(ty), self) {
            (_, Value::Bits(bits)) => Data::Bits(bits.clone()),
            (_, Value::Bool(value)) => Data::Bool(*value),
            (_, Value::Error(id)) => Data::Member(program.errors.get(id.index())?.to_string()),
            (Type::Tuple(types), Value::Struct(values)) => Data::Fields(all(types.iter().collect(), values)?),
            // Digests of lists have no name from which their type follows.
            (Type::Void, Value::Struct(values)) => {
                Data::Fields(all(values.iter().map(|_| &Type::Void).collect(), values)?)
            }
            (Type::Named(id), value) => match (&program.type_decl(*id).kind, value) {
                (TypeKind::Enum(members), Value::Enum(at)) => {
                    Data::Member(members.get(*at as usize)?.to_string())
                }
                (TypeKind::Struct(fields), Value::Struct(values)) => {
                    Data::Fields(all(fields.iter().map(|field| &field.ty).collect(), values)?)
                }
                (TypeKind::Header(_), Value::Header(header)) => {
                    let bits = |value: &Value| match value {
                        Value::Bits(bits) => Some(bits.clone()),
                        _ => None,
                    };
                    let fields = header.fields.iter().map(bits).collect::<Option<_>>()?;
                    Data::Header { valid: header.valid, fields }
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The value of type `ty` that `data` stands for, if it is of that type. Fields that an invalid header leaves out are zero.
    pub fn from_data(program: &Program, ty: &Type, data: &Data) -> Option<Value> {
        let bits = |ty: &Type, bits: &Bits| match program.representation(ty) {
            Type::Bit(n) | Type::Int(n) => (*n == bits.width()).then(|| Value::Bits(bits.clone())),
            _ => None,
        };
        let all = |types: Vec<&Type>, parts: &[Data]| {
            let same = types.len() == parts.len();
            let pairs = types.into_iter().zip(parts);
            let values = pairs.map(|(ty, data)| Value::from_data(program, ty, data)).collect();
            same.then_some(values).flatten().map(Value::Struct)
        };
        match (program.representation(ty), data) {
            (ty, Data::Bits(value)) => bits(ty, value),
            (Type::Bool, Data::Bool(value)) => Some(Value::Bool(*value)),
            (Type::Error, Data::Member(name)) => {
                let at = program.errors.iter().position(|known| known == name)?;
                Some(Value::Error(ErrorId(u32::try_from(at).ok()?)))
            }
            (Type::Tuple(types), Data::Fields(parts)) => all(types.iter().collect(), parts),
            (Type::Named(id), data) => match (&program.type_decl(*id).kind, data) {
                (TypeKind::Enum(members), Data::Member(name)) => {
                    let at = members.iter().position(|known| known == name)?;
                    Some(Value::Enum(u32::try_from(at).ok()?))
                }
                (TypeKind::Struct(fields), Data::Fields(parts)) => {
                    all(fields.iter().map(|field| &field.ty).collect(), parts)
                }
                (TypeKind::Header(of), Data::Header { valid, fields }) => {
                    let fields = match fields.is_empty() && !valid {
                        true => of.iter().map(|field| Value::zero(program, &field.ty)).collect(),
                        false if fields.len() != of.len() => return None,
                        false => {
                            let pairs = of.iter().zip(fields);
                            pairs.map(|(field, value)| bits(&field.ty, value)).collect::<Option<_>>()?
                        }
                    };
                    Some(Value::Header(Header { valid: *valid, fields }))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Number of scalars in the value; at least 1.
    pub fn leaves(&self) -> u64 {
        let sum = |values: &[Value]| values.iter().map(Value::leaves).sum::<u64>().max(1);
        match self {
            Value::Struct(values) | Value::Union(values) => sum(values),
            Value::Header(header) => sum(&header.fields),
            Value::Stack(stack) => sum(&stack.elems),
            _ => 1,
        }
    }

    /// A part: the n-th field of a struct, header or union, or the n-th element of a stack.
    pub fn part(&self, index: u32) -> Option<&Value> {
        match self {
            Value::Struct(values) | Value::Union(values) => values.get(index as usize),
            Value::Header(header) => header.fields.get(index as usize),
            Value::Stack(stack) => stack.elems.get(index as usize),
            _ => None,
        }
    }

    /// See [`part`](Value::part).
    pub fn part_mut(&mut self, index: u32) -> Option<&mut Value> {
        match self {
            Value::Struct(values) | Value::Union(values) => values.get_mut(index as usize),
            Value::Header(header) => header.fields.get_mut(index as usize),
            Value::Stack(stack) => stack.elems.get_mut(index as usize),
            _ => None,
        }
    }
}

impl From<&Const> for Value {
    fn from(value: &Const) -> Value {
        match value {
            Const::Bits(bits) => Value::Bits(bits.clone()),
            Const::Bool(b) => Value::Bool(*b),
            Const::Error(id) => Value::Error(*id),
            Const::Enum(member) => Value::Enum(*member),
            Const::Str(text) => Value::Str(text.clone()),
            Const::Int(n) => Value::Int(n.clone()),
            Const::Instance(id) => Value::Instance(*id),
        }
    }
}

/// P4's `==` (P4-16 §8.5, §8.17, §8.18): invalid headers are equal whatever they hold, varbits only if their
/// current widths are, stacks element by element without `next`.
pub fn equal(a: &Value, b: &Value) -> bool {
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b));
    match (a, b) {
        (Value::Header(a), Value::Header(b)) => a.valid == b.valid && (!a.valid || all(&a.fields, &b.fields)),
        (Value::Struct(a), Value::Struct(b)) | (Value::Union(a), Value::Union(b)) => all(a, b),
        (Value::Stack(a), Value::Stack(b)) => all(&a.elems, &b.elems),
        (a, b) => a == b,
    }
}
