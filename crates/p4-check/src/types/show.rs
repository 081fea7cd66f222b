//! Types as P4 writes them, for messages.

use std::fmt::Write;

use crate::cx::Checker;
use crate::typed::{Direction, Program, StructKind, Type, TypeArgs, VarId, VarKind};

impl Program {
    /// The type as P4 writes it: `bit<8>`, `S<bool>`, `h[4]`.
    pub fn show_type(&self, ty: &Type) -> String {
        let mut out = String::new();
        self.write_type(&mut out, ty, 0);
        out
    }

    fn write_type(&self, out: &mut String, ty: &Type, depth: u32) {
        if depth > 5 {
            out.push_str("...");
            return;
        }
        let mut generic = |name: &str, args: &TypeArgs| {
            out.push_str(name);
            if !args.is_empty() {
                out.push('<');
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    self.write_type(out, arg, depth + 1);
                }
                out.push('>');
            }
        };
        match ty {
            Type::Error => out.push('?'),
            Type::Any => out.push('_'),
            Type::Void => out.push_str("void"),
            Type::Bool => out.push_str("bool"),
            Type::Int => out.push_str("int"),
            Type::Bit(w) => _ = write!(out, "bit<{w}>"),
            Type::Signed(w) => _ = write!(out, "int<{w}>"),
            Type::Varbit(w) => _ = write!(out, "varbit<{w}>"),
            Type::String => out.push_str("string"),
            Type::ErrorCode => out.push_str("error"),
            Type::MatchKind => out.push_str("match_kind"),
            Type::Enum(id) => out.push_str(&self.enums[*id].name.text),
            Type::NewType(id) => out.push_str(&self.new_types[*id].name.text),
            Type::Var(id) => out.push_str(&self.type_vars[*id].name.text),
            Type::Struct(id, args) => generic(&self.structs[*id].name.text, args),
            Type::Extern(id, args) => generic(&self.externs[*id].name.text, args),
            Type::ParserType(id, args) => generic(&self.parser_types[*id].name.text, args),
            Type::ControlType(id, args) => generic(&self.control_types[*id].name.text, args),
            Type::Parser(id, args) => generic(&self.parsers[*id].name.text, args),
            Type::Control(id, args) => generic(&self.controls[*id].name.text, args),
            Type::Package(id, args) => generic(&self.packages[*id].name.text, args),
            Type::Tuple(args) if args.is_empty() => out.push_str("tuple<>"),
            Type::Tuple(args) => generic("tuple", args),
            Type::List(element) => {
                out.push_str("list<");
                self.write_type(out, element, depth + 1);
                out.push('>');
            }
            Type::Array(element, size) => {
                self.write_type(out, element, depth + 1);
                _ = write!(out, "[{size}]");
            }
            Type::Set(element) => {
                out.push_str("set of ");
                self.write_type(out, element, depth + 1);
            }
            Type::ApplyResult(_) => out.push_str("apply result"),
            Type::ActionRun(_) => out.push_str("action_run"),
            Type::Infer(_) => out.push('_'),
        }
    }

    /// The kind and name of the type: `struct S`, `control C`, `bit<8>`.
    pub fn describe_type(&self, ty: &Type) -> String {
        let kind = match ty {
            Type::Struct(id, _) => match self.structs[*id].kind {
                StructKind::Struct => "struct ",
                StructKind::Header => "header ",
                StructKind::Union => "header union ",
            },
            Type::Enum(_) => "enum ",
            Type::Extern(..) => "extern ",
            Type::Parser(..) | Type::ParserType(..) => "parser ",
            Type::Control(..) | Type::ControlType(..) => "control ",
            Type::Package(..) => "package ",
            Type::Var(_) => "type variable ",
            _ => "",
        };
        format!("{kind}{}", self.show_type(ty))
    }
}

impl Checker {
    /// The type in P4 syntax, with parts inferred so far.
    pub(crate) fn show(&self, ty: &Type) -> String {
        self.program.show_type(&self.infer.resolve(ty))
    }

    /// A parameter as P4 writes it.
    pub(crate) fn show_param(&self, id: VarId) -> String {
        let var = &self.program.vars[id];
        let direction = match var.kind {
            VarKind::Param(Direction::In) => "in ",
            VarKind::Param(Direction::Out) => "out ",
            VarKind::Param(Direction::InOut) => "inout ",
            _ => "",
        };
        format!("{direction}{} {}", self.program.show_type(&var.ty), var.name.text)
    }
}
