//! Declarations.

use super::Printer;
use crate::ast::{
    ActionDecl, ConstDecl, ControlDecl, Decl, Direction, EnumDecl, ExternDecl, FunctionDecl, InstanceDecl,
    InstanceMember, Local, Method, Name, Param, ParserDecl, StructDecl, StructKind, TypeKind, TypedefDecl,
    TypedefKind, ValueSetDecl,
};

impl Printer {
    /// Short declarations of a kind stand together; all others are set apart.
    pub(super) fn blank_line_between(&mut self, before: &Decl, after: &Decl) {
        let short = |d: &Decl| matches!(d, Decl::Const(_) | Decl::ExternForward(_) | Decl::Typedef(_));
        let same = std::mem::discriminant(before) == std::mem::discriminant(after);
        if !(short(before) && same) {
            self.push("\n");
        }
    }

    pub(super) fn decl(&mut self, decl: &Decl) {
        match decl {
            Decl::Const(d) => self.constant(d),
            Decl::Extern(d) => self.extern_decl(d),
            Decl::ExternForward(d) => {
                self.annotations_above(&d.annotations);
                self.push("extern ");
                self.name(&d.name);
                self.push(";");
            }
            Decl::ExternFunction(d) => {
                self.annotations_above(&d.annotations);
                self.push("extern ");
                self.ty(&d.return_type);
                self.signature(&d.name, &d.type_params, &d.params);
                self.push(";");
            }
            Decl::Function(d) => self.function(d),
            Decl::Action(d) => self.action(d),
            Decl::Parser(d) => self.parser(d),
            Decl::ParserType(d) => {
                self.annotations_above(&d.annotations);
                self.push("parser");
                self.signature(&d.name, &d.type_params, &d.params);
                self.push(";");
            }
            Decl::Control(d) => self.control(d),
            Decl::ControlType(d) => {
                self.annotations_above(&d.annotations);
                self.push("control");
                self.signature(&d.name, &d.type_params, &d.params);
                self.push(";");
            }
            Decl::Package(d) => {
                self.annotations_above(&d.annotations);
                self.push("package");
                self.signature(&d.name, &d.type_params, &d.params);
                self.push(";");
            }
            Decl::Struct(d) => self.struct_decl(d),
            Decl::Enum(d) => self.enum_decl(d),
            Decl::Error(d) => {
                self.push("error ");
                self.name_lines(&d.members);
            }
            Decl::MatchKind(d) => {
                self.push("match_kind ");
                self.name_lines(&d.members);
            }
            Decl::Typedef(d) => self.typedef(d),
            Decl::Instance(d) => self.instance(d),
        }
    }

    fn name_lines(&mut self, names: &[Name]) {
        self.broken("{", names, "}", Self::name);
    }

    /// ` name<T>(parameters)`
    fn signature(&mut self, name: &Name, type_params: &[Name], params: &[Param]) {
        self.push(" ");
        self.name(name);
        self.type_params(type_params);
        self.params(params);
    }

    fn params(&mut self, params: &[Param]) {
        self.fit("(", params, ")", Self::param);
    }

    fn param(&mut self, param: &Param) {
        self.annotations_before(&param.annotations);
        self.push(match param.direction {
            Direction::None => "",
            Direction::In => "in ",
            Direction::Out => "out ",
            Direction::InOut => "inout ",
        });
        self.ty(&param.ty);
        self.push(" ");
        self.name(&param.name);
        if let Some(default) = &param.default {
            self.push(" = ");
            self.expr(default);
        }
    }

    pub(super) fn constant(&mut self, constant: &ConstDecl) {
        self.annotations_above(&constant.annotations);
        self.push("const ");
        self.ty(&constant.ty);
        self.push(" ");
        self.name(&constant.name);
        self.push(" = ");
        self.wide_expr(&constant.value);
        self.push(";");
    }

    pub(super) fn instance(&mut self, instance: &InstanceDecl) {
        self.annotations_above(&instance.annotations);
        let mut dimensions = vec![];
        let mut ty = &instance.ty;
        while let TypeKind::Array { element, size } = &ty.kind {
            dimensions.push(size);
            ty = element;
        }
        self.ty(ty);
        self.fit("(", &instance.args, ") ", Self::arg);
        self.name(&instance.name);
        for size in dimensions.into_iter().rev() {
            self.dimension(size);
        }
        if let Some(body) = &instance.body {
            self.push(" = ");
            self.lines(body, |p, member| match member {
                InstanceMember::Function(f) => p.function(f),
                InstanceMember::Instance(i) => p.instance(i),
            });
        }
        self.push(";");
    }

    fn extern_decl(&mut self, d: &ExternDecl) {
        self.annotations_above(&d.annotations);
        self.push("extern ");
        self.name(&d.name);
        self.type_params(&d.type_params);
        self.push(" ");
        self.lines(&d.methods, Self::method);
    }

    fn method(&mut self, method: &Method) {
        self.annotations_above(&method.annotations);
        if method.is_abstract {
            self.push("abstract ");
        }
        match &method.return_type {
            Some(ty) => {
                self.ty(ty);
                self.signature(&method.name, &method.type_params, &method.params);
            }
            None => {
                self.name(&method.name);
                self.params(&method.params);
            }
        }
        self.push(";");
    }

    fn function(&mut self, function: &FunctionDecl) {
        self.annotations_above(&function.annotations);
        self.ty(&function.return_type);
        self.signature(&function.name, &function.type_params, &function.params);
        self.push(" ");
        self.block(&function.body);
    }

    fn action(&mut self, action: &ActionDecl) {
        self.annotations_above(&action.annotations);
        self.push("action");
        self.signature(&action.name, &[], &action.params);
        self.push(" ");
        self.block(&action.body);
    }

    fn parser(&mut self, parser: &ParserDecl) {
        self.annotations_above(&parser.annotations);
        self.push("parser");
        self.signature(&parser.name, &parser.type_params, &parser.params);
        self.constructor_params(&parser.constructor_params);
        self.push(" {");
        self.indent += 1;
        self.locals(&parser.locals);
        for (i, state) in parser.states.iter().enumerate() {
            if i > 0 || !parser.locals.is_empty() {
                self.end_line();
                self.push("\n");
            }
            self.line();
            self.state(state);
        }
        self.indent -= 1;
        self.line();
        self.push("}");
    }

    fn constructor_params(&mut self, params: &[Param]) {
        if !params.is_empty() {
            self.params(params);
        }
    }

    fn control(&mut self, control: &ControlDecl) {
        self.annotations_above(&control.annotations);
        self.push("control");
        self.signature(&control.name, &control.type_params, &control.params);
        self.constructor_params(&control.constructor_params);
        self.push(" {");
        self.indent += 1;
        self.locals(&control.locals);
        if !control.locals.is_empty() {
            self.end_line();
            self.push("\n");
        }
        self.line();
        self.push("apply ");
        self.block(&control.apply);
        self.indent -= 1;
        self.line();
        self.push("}");
    }

    fn locals(&mut self, locals: &[Local]) {
        let long = |l: &Local| matches!(l, Local::Action(_) | Local::Table(_));
        for (i, local) in locals.iter().enumerate() {
            if i > 0 && (long(local) || long(&locals[i - 1])) {
                self.end_line();
                self.push("\n");
            }
            self.line();
            match local {
                Local::Const(d) => self.constant(d),
                Local::Var(d) => {
                    self.variable(d);
                    self.push(";");
                }
                Local::Instance(d) => self.instance(d),
                Local::ValueSet(d) => self.value_set(d),
                Local::Action(d) => self.action(d),
                Local::Table(d) => self.table(d),
            }
        }
    }

    fn value_set(&mut self, d: &ValueSetDecl) {
        self.annotations_above(&d.annotations);
        self.push("value_set<");
        self.ty(&d.element);
        self.push(">(");
        self.expr(&d.size);
        self.push(") ");
        self.name(&d.name);
        self.push(";");
    }

    fn struct_decl(&mut self, d: &StructDecl) {
        self.annotations_above(&d.annotations);
        self.push(match d.kind {
            StructKind::Struct => "struct ",
            StructKind::Header => "header ",
            StructKind::HeaderUnion => "header_union ",
        });
        self.name(&d.name);
        self.type_params(&d.type_params);
        self.push(" ");
        self.lines(&d.fields, |p, field| {
            p.annotations_before(&field.annotations);
            p.ty(&field.ty);
            p.push(" ");
            p.name(&field.name);
            p.push(";");
        });
    }

    fn enum_decl(&mut self, d: &EnumDecl) {
        self.annotations_above(&d.annotations);
        self.push("enum ");
        if let Some(ty) = &d.underlying {
            self.ty(ty);
            self.push(" ");
        }
        self.name(&d.name);
        self.push(" ");
        self.broken("{", &d.members, "}", |p, member| {
            p.name(&member.name);
            if let Some(value) = &member.value {
                p.push(" = ");
                p.expr(value);
            }
        });
    }

    fn typedef(&mut self, d: &TypedefDecl) {
        self.annotations_above(&d.annotations);
        self.push(match d.kind {
            TypedefKind::Alias => "typedef ",
            TypedefKind::New => "type ",
        });
        match &d.inline {
            Some(inline) => {
                self.decl(inline);
                self.push(" ");
                self.name(&d.name);
                self.array_suffix(d);
            }
            None => {
                self.ty(&d.ty);
                self.push(" ");
                self.name(&d.name);
            }
        }
        self.push(";");
    }

    /// The dimensions of `typedef struct S { ... } T[4];`, which stand after the name.
    fn array_suffix(&mut self, d: &TypedefDecl) {
        let mut dimensions = vec![];
        let mut ty = &d.ty;
        while let TypeKind::Array { element, size } = &ty.kind {
            dimensions.push(size);
            ty = element;
        }
        for size in dimensions.into_iter().rev() {
            self.dimension(size);
        }
    }
}
