//! Types, externs, instances and stages.

use super::Writer;
use crate::text::names::{guarded, plain, quoted, refer};
use crate::{
    Annotation, AnnotationBody, AnnotationValue, Annotations, Carried, Direction, ExternFunction,
    ExternObject, Field, Instance, Name, Owner, Package, PackageArg, Role, Signature, SignatureParam,
    StageKind, Type, TypeDecl, TypeKind,
};

impl Writer<'_> {
    pub(super) fn type_decl(&mut self, decl: &TypeDecl) {
        let notes = annotations(&decl.annotations);
        let name = plain(&decl.name);
        self.blank();
        match &decl.kind {
            TypeKind::Header(fields) => self.fields(&format!("{notes}header {name}"), fields),
            TypeKind::Union(fields) => self.fields(&format!("{notes}union {name}"), fields),
            TypeKind::Struct(fields) => self.fields(&format!("{notes}struct {name}"), fields),
            TypeKind::Enum(members) => {
                let members: Vec<String> = members.iter().map(|m| plain(m)).collect();
                self.line(&format!("{notes}enum {name} {{ {} }}", members.join(", ")));
            }
            TypeKind::SerEnum { underlying, members } => {
                let head = format!("{notes}enum {name} = {}", self.ty(underlying));
                self.braces(&head, "", |w| {
                    for (name, value) in members {
                        let value = w.constant(value, underlying);
                        w.line(&format!("{} = {value};", plain(name)));
                    }
                });
            }
            TypeKind::New(under) => self.line(&format!("{notes}type {name} = {};", self.ty(under))),
        }
    }

    fn fields(&mut self, head: &str, fields: &[Field]) {
        self.braces(head, "", |w| {
            for field in fields {
                let notes = annotations(&field.annotations);
                w.line(&format!("{notes}{} {};", w.ty(&field.ty), plain(&field.name)));
            }
        });
    }

    pub(super) fn extern_object(&mut self, object: &ExternObject) {
        let notes = annotations(&object.annotations);
        let user = if object.user { "user " } else { "" };
        let params = type_params(&object.type_params);
        self.blank();
        self.braces(&format!("{notes}{user}extern {}{params}", plain(&object.name)), "", |w| {
            for params in &object.constructors {
                w.line(&format!("new({});", w.signature_params(params)));
            }
            for method in &object.methods {
                let notes = annotations(&method.annotations);
                let kind = if method.is_abstract { "abstract method" } else { "method" };
                let signature = w.signature(&method.signature);
                w.line(&format!("{notes}{kind} {}{signature};", plain(&method.name)));
            }
        });
    }

    pub(super) fn extern_function(&mut self, function: &ExternFunction) {
        let notes = annotations(&function.annotations);
        let user = if function.user { "user " } else { "" };
        let signature = self.signature(&function.signature);
        self.blank();
        self.line(&format!("{notes}{user}extern_function {}{signature};", plain(&function.name)));
    }

    fn signature(&self, signature: &Signature) -> String {
        let params = self.signature_params(&signature.params);
        format!("{}({params}) -> {}", type_params(&signature.type_params), self.ty(&signature.returns))
    }

    fn signature_params(&self, params: &[SignatureParam]) -> String {
        let param = |param: &SignatureParam| {
            let optional = if param.optional { "optional " } else { "" };
            format!("{optional}{}{} {}", direction(param.direction), self.ty(&param.ty), plain(&param.name))
        };
        params.iter().map(param).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn instance(&mut self, instance: &Instance) {
        let notes = annotations(&instance.annotations);
        let args = self.args(&instance.args);
        let owner = match instance.owner {
            Owner::Program => String::new(),
            Owner::Control(id) => format!(" in control {}", self.controls.plain(id.index())),
            Owner::Parser(id) => format!(" in parser {}", self.parsers.plain(id.index())),
        };
        let head = format!(
            "{notes}instance {}: {}{}({}) {}{owner}",
            plain(&instance.name),
            self.externs.plain(instance.object.index()),
            self.type_args(&instance.type_args),
            args,
            quoted(&instance.control_plane_name),
        );
        self.blank();
        if instance.methods.is_empty() {
            return self.line(&format!("{head};"));
        }
        self.braces(&head, "", |w| {
            for (method, function) in &instance.methods {
                let method = w.method(instance.object, *method);
                w.line(&format!("{method} = {};", w.functions.plain(function.index())));
            }
        });
    }

    pub(super) fn stages(&mut self) {
        let program = self.program;
        self.blank();
        self.braces("stages", "", |w| {
            for stage in &program.stages {
                let kind = match stage.kind {
                    StageKind::Parse(id) => format!("parse {}", w.parsers.plain(id.index())),
                    StageKind::Control(id) => format!("control {}", w.controls.plain(id.index())),
                    StageKind::Deparse(id) => format!("deparse {}", w.controls.plain(id.index())),
                    StageKind::TrafficManager => "traffic_manager".to_string(),
                };
                let roles: Vec<&str> = stage.roles.iter().map(|r| role(*r)).collect();
                w.line(&format!("{}: {kind}({});", plain(&stage.name), roles.join(", ")));
            }
        });
    }

    pub(super) fn main(&mut self) {
        let program = self.program;
        self.blank();
        self.package("main ", &program.main);
    }

    fn package(&mut self, head: &str, package: &Package) {
        self.braces(&format!("{head}{}", plain(&package.name)), "", |w| {
            for (param, arg) in &package.args {
                let param = plain(param);
                match arg {
                    PackageArg::Stage(stage) => w.line(&format!("{param}: stage {};", plain(stage))),
                    PackageArg::Package(inner) => w.package(&format!("{param}: package "), inner),
                    PackageArg::Value(value) => {
                        let value = w.expr(value, 0);
                        w.line(&format!("{param}: {value};"));
                    }
                }
            }
        });
    }

    pub(super) fn ty(&self, ty: &Type) -> String {
        match ty {
            Type::Void => "void".to_string(),
            Type::Bool => "bool".to_string(),
            Type::Bit(width) => format!("bit<{width}>"),
            Type::Int(width) => format!("int<{width}>"),
            Type::Varbit(width) => format!("varbit<{width}>"),
            Type::Error => "error".to_string(),
            Type::MatchKind => "match_kind".to_string(),
            Type::String => "string".to_string(),
            Type::InfInt => "int".to_string(),
            Type::Named(id) => self.types.guarded(id.index()),
            Type::Stack(elem, size) => format!("{}[{size}]", self.ty(elem)),
            Type::Tuple(types) => {
                let types: Vec<String> = types.iter().map(|t| self.ty(t)).collect();
                format!("tuple<{}>", types.join(", "))
            }
            Type::List(elem) => format!("list<{}>", self.ty(elem)),
            Type::Extern(id, args) => {
                format!("extern {}{}", self.externs.plain(id.index()), self.type_args(args))
            }
            Type::Param(name) => format!("'{}", plain(name)),
        }
    }

    /// `<bit<8>, bool>`, or nothing.
    pub(super) fn type_args(&self, types: &[Type]) -> String {
        match types {
            [] => String::new(),
            _ => format!("<{}>", types.iter().map(|t| self.ty(t)).collect::<Vec<_>>().join(", ")),
        }
    }

    /// The name of an extern object's method.
    pub(super) fn method(&self, object: crate::ExternId, method: u32) -> String {
        let methods = self.program.externs.get(object.index()).map_or(&[][..], |o| &o.methods);
        refer(methods.iter().map(|m| &m.name), method as usize)
    }
}

/// `@a @b(1) ` with a blank after, or nothing.
pub(super) fn annotations(annotations: &Annotations) -> String {
    annotations.iter().map(|a| format!("{} ", annotation(a))).collect()
}

fn annotation(annotation: &Annotation) -> String {
    let name = plain(&annotation.name);
    match &annotation.body {
        AnnotationBody::Empty => format!("@{name}"),
        AnnotationBody::Values(values) => {
            format!("@{name}({})", values.iter().map(annotation_value).collect::<Vec<_>>().join(", "))
        }
        AnnotationBody::List(values) => {
            format!("@{name}[{}]", values.iter().map(annotation_value).collect::<Vec<_>>().join(", "))
        }
        AnnotationBody::Pairs(pairs) => {
            let pair = |(key, value): &(Name, _)| format!("{} = {}", plain(key), annotation_value(value));
            format!("@{name}[{}]", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        AnnotationBody::Tokens(tokens) => format!("@{name}{{{}}}", quoted(tokens)),
    }
}

fn annotation_value(value: &AnnotationValue) -> String {
    match value {
        AnnotationValue::Str(text) => quoted(text),
        AnnotationValue::Int(number) => number.to_string(),
        AnnotationValue::Bool(value) => value.to_string(),
    }
}

fn type_params(names: &[Name]) -> String {
    match names {
        [] => String::new(),
        _ => format!("<{}>", names.iter().map(|n| plain(n)).collect::<Vec<_>>().join(", ")),
    }
}

/// `inout ` with a blank after, or nothing.
pub(super) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::None => "",
        Direction::In => "in ",
        Direction::Out => "out ",
        Direction::InOut => "inout ",
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Packet => "packet",
        Role::Headers => "headers",
        Role::Metadata => "metadata",
        Role::StandardMetadata => "standard_metadata",
        Role::Input => "input",
        Role::Output => "output",
        Role::Carried(Carried::Normal) => "normal_meta",
        Role::Carried(Carried::CloneI2e) => "clone_i2e_meta",
        Role::Carried(Carried::CloneE2e) => "clone_e2e_meta",
        Role::Carried(Carried::Resubmit) => "resubmit_meta",
        Role::Carried(Carried::Recirculate) => "recirculate_meta",
        Role::Other => "other",
    }
}

/// A name of a declared type's member after the type: `E::A`.
pub(super) fn member(ty: &str, name: &str) -> String {
    format!("{ty}::{}", guarded(name))
}
