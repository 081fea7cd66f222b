//! Values as text.

use crate::trace::Shown;
use base_bits::Bits;
use ir::{Program, Type, TypeKind};
use ir_value::Value;

/// A value of type `ty` for a person.
pub fn shown(program: &Program, ty: &Type, value: &Value) -> Shown {
    let has_names =
        matches!(ty, Type::Named(id) if matches!(program.type_decl(*id).kind, TypeKind::SerEnum { .. }));
    match value {
        Value::Bits(bits) | Value::Varbit(bits) if !has_names => Shown::Number(bits.clone()),
        _ => Shown::Named { text: typed_text(program, ty, value), bits: value.to_key() },
    }
}

/// In hexadecimal, with all digits that its width has.
pub fn hex_text(bits: &Bits) -> String {
    let digits = bits.width().div_ceil(4).max(1) as usize;
    let hex = bits.to_hex();
    let hex = hex.strip_prefix("0x").unwrap_or(&hex);
    format!("0x{hex:0>digits$}")
}

fn typed_text(program: &Program, ty: &Type, value: &Value) -> String {
    match (value, ty) {
        (Value::Bits(bits) | Value::Varbit(bits), Type::Named(id)) => match &program.type_decl(*id).kind {
            TypeKind::SerEnum { members, .. } => {
                let named = members.iter().find(|(_, c)| Value::from(c).as_bits() == Some(bits));
                match named {
                    Some((name, _)) => format!("{}.{name}", program.type_decl(*id).name),
                    None => hex_text(bits),
                }
            }
            _ => hex_text(bits),
        },
        (Value::Bits(bits) | Value::Varbit(bits), _) => hex_text(bits),
        (Value::Bool(b), _) => b.to_string(),
        (Value::Error(id), _) => {
            format!("error.{}", program.errors.get(id.index()).map_or("?", |name| name.as_str()))
        }
        (Value::Enum(member), Type::Named(id)) => {
            let decl = program.type_decl(*id);
            match &decl.kind {
                TypeKind::Enum(names) => match names.get(*member as usize) {
                    Some(name) => format!("{}.{name}", decl.name),
                    None => member.to_string(),
                },
                _ => member.to_string(),
            }
        }
        (Value::Enum(member), _) => member.to_string(),
        (Value::Void, _) => "void".to_string(),
        (Value::Instance(id), _) => {
            program.instances.get(id.index()).map(|i| i.control_plane_name.to_string()).unwrap_or_default()
        }
        (Value::Str(text), _) => format!("{text:?}"),
        (Value::Int(n), _) => n.to_string(),
        (Value::Header(header), _) if !header.valid => "invalid".to_string(),
        (Value::Header(header), _) => fields_text(program, ty, &header.fields),
        (Value::Union(members), _) => {
            let valid = program.fields(ty).iter().zip(members).find(|(_, m)| m.is_valid());
            match valid {
                Some((field, member)) => {
                    format!("{{{} = {}}}", field.name, typed_text(program, &field.ty, member))
                }
                None => "invalid".to_string(),
            }
        }
        (Value::Struct(values), Type::Tuple(types)) => {
            let parts: Vec<_> = types.iter().zip(values).map(|(t, v)| typed_text(program, t, v)).collect();
            format!("{{{}}}", parts.join(", "))
        }
        (Value::Struct(values), _) => fields_text(program, ty, values),
        (Value::Stack(stack), Type::Stack(elem, _)) => {
            let parts: Vec<_> = stack.elems.iter().map(|v| typed_text(program, elem, v)).collect();
            format!("[{}]", parts.join(", "))
        }
        (Value::Stack(_), _) => "[...]".to_string(),
    }
}

fn fields_text(program: &Program, ty: &Type, values: &[Value]) -> String {
    let fields = program.fields(ty).iter().zip(values);
    let parts: Vec<_> =
        fields.map(|(f, v)| format!("{} = {}", f.name, typed_text(program, &f.ty, v))).collect();
    format!("{{{}}}", parts.join(", "))
}

/// Calls `differs` with the path and type of every scalar, and of every header that became valid or invalid,
/// in which two values of type `ty` differ.
pub fn differences(
    program: &Program,
    ty: &Type,
    path: &str,
    old: &Value,
    new: &Value,
    differs: &mut impl FnMut(&str, &Type, &Value, &Value),
) {
    if old == new {
        return;
    }
    let part = |name: &str| format!("{path}.{name}");
    match (old, new, ty) {
        (Value::Header(a), Value::Header(b), _) if a.valid && b.valid => {
            for ((field, a), b) in program.fields(ty).iter().zip(&a.fields).zip(&b.fields) {
                differences(program, &field.ty, &part(&field.name), a, b, differs);
            }
        }
        // Fields of an invalid header cannot be read.
        (Value::Header(a), Value::Header(b), _) if !a.valid && !b.valid => {}
        (Value::Struct(a), Value::Struct(b), Type::Tuple(types)) => {
            for (((ty, a), b), at) in types.iter().zip(a).zip(b).zip(0..) {
                differences(program, ty, &format!("{path}[{at}]"), a, b, differs);
            }
        }
        (Value::Struct(a), Value::Struct(b), _) | (Value::Union(a), Value::Union(b), _) => {
            for ((field, a), b) in program.fields(ty).iter().zip(a).zip(b) {
                differences(program, &field.ty, &part(&field.name), a, b, differs);
            }
        }
        (Value::Stack(a), Value::Stack(b), Type::Stack(elem, _)) => {
            for ((a, b), at) in a.elems.iter().zip(&b.elems).zip(0..) {
                differences(program, elem, &format!("{path}[{at}]"), a, b, differs);
            }
        }
        _ => differs(path, ty, old, new),
    }
}
