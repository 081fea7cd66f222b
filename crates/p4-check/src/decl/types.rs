//! `struct`, `header`, `header_union`, `enum`, `typedef`, `type`, `error`, `match_kind` (P4-16 §7.2).

use base_diag::Diagnostic;
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, Owner, name};
use crate::scope::Def;
use crate::typed::{
    Annotations, Constant, ConstantId, Decl, Enum, EnumId, EnumMember, Field, NewType, Struct, StructId,
    StructKind, Type, TypeVar, TypeVarId, Typedef,
};

impl Checker {
    /// Declares type parameters in the innermost scope.
    pub(crate) fn type_params(&mut self, params: &[ast::Name]) -> Vec<TypeVarId> {
        params
            .iter()
            .map(|p| {
                let id = self.program.type_vars.push(TypeVar { name: name(p) });
                self.bind(p, Def::TypeVar(id));
                id
            })
            .collect()
    }

    pub(crate) fn struct_decl(&mut self, d: &ast::StructDecl) -> StructId {
        let annotations = self.annotations(&d.annotations);
        let kind = match d.kind {
            ast::StructKind::Struct => StructKind::Struct,
            ast::StructKind::Header => StructKind::Header,
            ast::StructKind::HeaderUnion => StructKind::Union,
        };
        self.scopes.enter();
        let type_params = self.type_params(&d.type_params);
        let mut fields: Vec<Field> = Vec::with_capacity(d.fields.len());
        let owner = Owner::Struct(StructId::from(self.program.structs.len()));
        for f in &d.fields {
            let ty = self.resolve_type(&f.ty);
            let ty = self.check_field(kind, &name(&f.name), ty, f.name.span);
            if let Some(&before) = self.members.get(&(owner, f.name.text.clone())) {
                self.duplicate(&f.name.text, f.name.span, fields[before as usize].name.span);
                continue;
            }
            self.members.insert((owner, f.name.text.clone()), fields.len() as u32);
            let annotations = self.annotations(&f.annotations);
            fields.push(Field { name: name(&f.name), ty, annotations });
        }
        self.scopes.leave();
        let id = self.program.structs.push(Struct {
            name: name(&d.name),
            kind,
            type_params,
            fields,
            annotations,
            span: d.span,
        });
        let args: Vec<Type> = self.program.structs[id].type_params.iter().map(|&v| Type::Var(v)).collect();
        let excess = self.refuse_excess(&Type::Struct(id, args.into()), d.name.span);
        self.bind(&d.name, if excess { Def::Error } else { Def::Struct(id) });
        id
    }

    pub(crate) fn enum_decl(&mut self, d: &ast::EnumDecl) -> EnumId {
        let annotations = self.annotations(&d.annotations);
        let underlying = d.underlying.as_ref().map(|t| {
            let ty = self.resolve_type(t);
            match self.infer.shallow(&ty) {
                Type::Bit(_) | Type::Signed(_) | Type::Error => ty,
                _ => {
                    let shown = self.show(&ty);
                    self.error(
                        codes::BAD_DECLARATION,
                        t.span,
                        format!("the underlying type of an enum cannot be `{shown}`"),
                        "only `bit<W>` and `int<W>` are allowed",
                    );
                    Type::Error
                }
            }
        });
        let id = self.program.enums.push(Enum {
            name: name(&d.name),
            underlying: underlying.clone(),
            members: vec![],
            annotations,
            span: d.span,
        });
        self.bind(&d.name, Def::Enum(id));
        self.scopes.enter();
        for m in &d.members {
            if let Some(&before) = self.members.get(&(Owner::Enum(id), m.name.text.clone())) {
                let before = self.program.enums[id].members[before as usize].name.span;
                self.duplicate(&m.name.text, m.name.span, before);
                continue;
            }
            let value = match (&underlying, &m.value) {
                (Some(ty), Some(value)) => {
                    let checked = self.expr_as(value, ty);
                    let known = self.int_value(&checked);
                    if known.is_none() && !checked.ty.is_error() {
                        let title = format!("the value of `{}` must be known at compile time", m.name.text);
                        self.error(codes::NOT_CONSTANT, value.span, title, "");
                    }
                    Some(known.unwrap_or_default())
                }
                (Some(_), None) => {
                    let title = format!("`{}` has no value", m.name.text);
                    self.error(codes::BAD_DECLARATION, m.span, title, "each member of this enum needs one");
                    // Uses of the member are not reported again.
                    Some(0.into())
                }
                (None, Some(value)) => {
                    let title = format!("`{}` cannot have a value", m.name.text);
                    self.report(
                        Diagnostic::error(codes::BAD_DECLARATION, title)
                            .at(value.span, "")
                            .help(format!("give the enum a type: `enum bit<8> {}`", d.name.text)),
                    );
                    None
                }
                (None, None) => None,
            };
            let member = EnumMember { name: name(&m.name), value, annotations: Annotations::default() };
            let members = &mut self.program.enums[id].members;
            members.push(member);
            let index = members.len() as u32 - 1;
            self.members.insert((Owner::Enum(id), m.name.text.clone()), index);
            self.scopes.bind(&m.name.text, Def::EnumMember(id, index), m.name.span);
        }
        self.scopes.leave();
        id
    }

    pub(crate) fn error_decl(&mut self, d: &ast::ErrorDecl) {
        for m in &d.members {
            match self.members.get(&(Owner::Error, m.text.clone())) {
                Some(&before) => {
                    let before = self.program.errors[ConstantId::from(before as usize)].name.span;
                    self.duplicate(&m.text, m.span, before);
                }
                None => {
                    let constant = Constant { name: name(m), annotations: Annotations::default() };
                    let id = self.program.errors.push(constant);
                    self.members.insert((Owner::Error, m.text.clone()), id.index() as u32);
                }
            }
        }
    }

    pub(crate) fn match_kind_decl(&mut self, d: &ast::MatchKindDecl) {
        for m in &d.members {
            let before = self.program.match_kinds.iter().find(|(_, e)| e.name.text == m.text);
            match before.map(|(_, e)| e.name.span) {
                Some(before) => self.duplicate(&m.text, m.span, before),
                None => {
                    let constant = Constant { name: name(m), annotations: Annotations::default() };
                    let id = self.program.match_kinds.push(constant);
                    self.bind(m, Def::MatchKind(id));
                }
            }
        }
    }

    pub(crate) fn typedef(&mut self, d: &ast::TypedefDecl) -> Option<Decl> {
        let annotations = self.annotations(&d.annotations);
        if let Some(inline) = &d.inline {
            self.decl(inline);
        }
        let ty = self.resolve_type(&d.ty);
        if d.kind == ast::TypedefKind::Alias {
            let ty = match ty {
                Type::Void => {
                    self.error(codes::BAD_DECLARATION, d.ty.span, "`void` is not a type for values", "");
                    Type::Error
                }
                other => other,
            };
            self.bind(&d.name, Def::Typedef(ty.clone()));
            let id =
                self.program.typedefs.push(Typedef { name: name(&d.name), ty, annotations, span: d.span });
            return Some(Decl::Typedef(id));
        }
        let fits = match self.infer.shallow(&ty) {
            Type::Error | Type::Bool | Type::Bit(_) | Type::Signed(_) | Type::NewType(_) => true,
            Type::Enum(id) => self.program.enums[id].underlying.is_some(),
            _ => false,
        };
        if !fits {
            let shown = self.show(&ty);
            self.report(
                Diagnostic::error(
                    codes::BAD_DECLARATION,
                    format!("`type` cannot make a new type of `{shown}`"),
                )
                .at(d.ty.span, "only numbers and `bool` can be the base of a `type`")
                .help(format!("write `typedef` to give `{shown}` another name")),
            );
            // The name exists, so that its uses are not reported, too.
            self.bind(&d.name, Def::Typedef(Type::Error));
            return None;
        }
        let of = ty;
        let id = self.program.new_types.push(NewType { name: name(&d.name), of, annotations, span: d.span });
        let excess = self.refuse_excess(&Type::NewType(id), d.name.span);
        self.bind(&d.name, if excess { Def::Error } else { Def::NewType(id) });
        Some(Decl::NewType(id))
    }
}
