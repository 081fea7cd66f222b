//! The values of a struct as C sees them: one field for each number, without padding.
//!
//! Each number takes as many whole bytes as its bits need, most significant byte first; unused bits are zero, and copies of the sign
//! for `int<N>`. The fields of a nested struct belong to the outer one: `inner.a` is the field `inner_a`.

use ir::{Program, Type, TypeKind};

/// The most bytes of a request or a response.
const MOST_BYTES: usize = 4096;

/// A struct of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Struct {
    /// Name in the program.
    pub name: String,
    /// In order.
    pub fields: Vec<Field>,
    /// Bytes of all fields.
    pub size: usize,
}

/// A number in a struct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Names from the struct on, joined by `_` in C.
    pub path: Vec<String>,
    /// Kind of the number.
    pub kind: FieldKind,
    /// Bits.
    pub width: u32,
    /// First byte.
    pub at: usize,
    /// Bytes.
    pub size: usize,
    /// Names of values, if it is of an enum with an underlying type.
    pub members: Vec<(String, u64)>,
    /// Type in the program.
    pub ty: String,
}

/// Kinds of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// `bit<N>`
    Unsigned,
    /// `int<N>`
    Signed,
    /// `bool`
    Bool,
}

impl Field {
    /// Name in C.
    pub fn name(&self) -> String {
        self.path.join("_")
    }
}

impl Struct {
    /// The fields of a type; the error says which field C cannot hold, and why.
    pub(crate) fn of(program: &Program, ty: &Type) -> Result<Struct, String> {
        let Type::Named(id) = program.representation(ty) else {
            return Err("is no struct".to_string());
        };
        let declared = program.type_decl(*id);
        if !matches!(declared.kind, TypeKind::Struct(_)) {
            return Err("is no struct".to_string());
        }
        let mut made = Struct { name: declared.name.to_string(), fields: vec![], size: 0 };
        made.add(program, ty, &mut vec![])?;
        made.check()?;
        Ok(made)
    }

    /// Refuses what C cannot hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let names: Vec<String> = self.fields.iter().map(Field::name).collect();
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            return Err(format!("has two fields that are `{}` in C", twice.1));
        }
        match self.size {
            0 => Err("has no fields".to_string()),
            size if size > MOST_BYTES => Err(format!("has {size} bytes, more than {MOST_BYTES}")),
            _ => Ok(()),
        }
    }

    /// Adds the numbers of a type.
    pub(crate) fn add(&mut self, program: &Program, ty: &Type, path: &mut Vec<String>) -> Result<(), String> {
        let (kind, width) = match program.representation(ty) {
            Type::Bit(width) => (FieldKind::Unsigned, *width),
            Type::Int(width) => (FieldKind::Signed, *width),
            Type::Bool => (FieldKind::Bool, 1),
            Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::Struct(_)) => {
                let TypeKind::Struct(fields) = &program.type_decl(*id).kind else { return Ok(()) };
                for field in fields {
                    path.push(field.name.to_string());
                    self.add(program, &field.ty, path)?;
                    path.pop();
                }
                return Ok(());
            }
            Type::Named(id) => {
                let what = match program.type_decl(*id).kind {
                    TypeKind::Header(_) | TypeKind::Union(_) => "a header: pass its fields",
                    TypeKind::Enum(_) => "an enum without an underlying type: write `enum bit<8>`",
                    _ => "of a type that C cannot hold",
                };
                return Err(format!("has the field `{}`, which is {what}", path.join(".")));
            }
            Type::Varbit(_) => return Err(format!("has the field `{}`, which is a varbit", path.join("."))),
            _ => return Err(format!("has the field `{}`, of a type that C cannot hold", path.join("."))),
        };
        let size = (width as usize).div_ceil(8);
        if width == 0 {
            return Err(format!("has the field `{}`, which has no bits", path.join(".")));
        }
        let (members, ty) = described(program, ty);
        self.fields.push(Field { path: path.clone(), kind, width, at: self.size, size, members, ty });
        self.size += size;
        Ok(())
    }

    /// The field of this name, if it is a number.
    pub fn field(&self, path: &[String]) -> Option<&Field> {
        self.fields.iter().find(|field| field.path == path)
    }
}

/// The named values of a type, and its text.
fn described(program: &Program, ty: &Type) -> (Vec<(String, u64)>, String) {
    let plain = match program.representation(ty) {
        Type::Bit(width) => format!("bit<{width}>"),
        Type::Int(width) => format!("int<{width}>"),
        _ => "bool".to_string(),
    };
    let Type::Named(id) = ty else { return (vec![], plain) };
    let declared = program.type_decl(*id);
    let members = match &declared.kind {
        TypeKind::SerEnum { members, .. } => members
            .iter()
            .filter_map(|(name, value)| match value {
                ir::Const::Bits(bits) => Some((name.to_string(), bits.to_u64()?)),
                _ => None,
            })
            .collect(),
        _ => vec![],
    };
    (members, format!("{}, {plain}", declared.name))
}
