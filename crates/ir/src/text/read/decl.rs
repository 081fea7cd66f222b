//! Types, externs, instances, stages, annotations.

use super::{Reader, Result, Token};
use crate::{
    Annotation, AnnotationBody, AnnotationValue, Annotations, Carried, Const, Direction, ExternFunction,
    ExternId, ExternMethod, ExternObject, Field, Instance, Name, Owner, Package, PackageArg, Role, Signature,
    SignatureParam, Stage, StageKind, Type, TypeDecl, TypeId, TypeKind,
};
use base_bits::Literal;
use base_diag::Span;

impl Reader<'_> {
    pub(super) fn type_decl(&mut self, keyword: &str, name: Name, annotations: Annotations) -> Result<()> {
        let kind = match keyword {
            "header" => TypeKind::Header(self.fields()?),
            "union" => TypeKind::Union(self.fields()?),
            "struct" => TypeKind::Struct(self.fields()?),
            "enum" if self.eat("=") => self.serializable_enum()?,
            "enum" => {
                self.expect("{")?;
                TypeKind::Enum(self.list("}", Reader::name)?)
            }
            _ => {
                self.expect("=")?;
                let under = self.ty()?;
                self.expect(";")?;
                TypeKind::New(under)
            }
        };
        self.program.types.push(TypeDecl { name, kind, annotations, span: Span::NONE });
        Ok(())
    }

    fn fields(&mut self) -> Result<Vec<Field>> {
        self.expect("{")?;
        let mut fields = vec![];
        while !self.eat("}") {
            let annotations = self.annotations()?;
            let ty = self.ty()?;
            let name = self.name()?;
            self.expect(";")?;
            fields.push(Field { name, ty, annotations });
        }
        Ok(fields)
    }

    fn serializable_enum(&mut self) -> Result<TypeKind> {
        let underlying = self.ty()?;
        let mut members = vec![];
        self.expect("{")?;
        while !self.eat("}") {
            let name = self.name()?;
            self.expect("=")?;
            members.push((name, self.typed_constant()?.0));
            self.expect(";")?;
        }
        Ok(TypeKind::SerEnum { underlying, members })
    }

    pub(super) fn extern_object(&mut self, name: Name, user: bool, annotations: Annotations) -> Result<()> {
        let type_params = self.type_params()?;
        let (mut constructors, mut methods) = (vec![], vec![]);
        self.expect("{")?;
        while !self.eat("}") {
            let annotations = self.annotations()?;
            if annotations.is_empty() && self.eat_word("new") {
                constructors.push(self.signature_params()?);
            } else {
                let is_abstract = self.eat_word("abstract");
                self.expect_word("method")?;
                let name = self.name()?;
                let signature = self.signature()?;
                methods.push(ExternMethod { name, signature, is_abstract, annotations, span: Span::NONE });
            }
            self.expect(";")?;
        }
        self.program.externs.push(ExternObject {
            name,
            user,
            type_params,
            constructors,
            methods,
            annotations,
            span: Span::NONE,
        });
        Ok(())
    }

    pub(super) fn extern_function(&mut self, name: Name, user: bool, annotations: Annotations) -> Result<()> {
        let signature = self.signature()?;
        self.expect(";")?;
        self.program.extern_functions.push(ExternFunction {
            name,
            user,
            signature,
            annotations,
            span: Span::NONE,
        });
        Ok(())
    }

    fn type_params(&mut self) -> Result<Vec<Name>> {
        if self.eat("<") { self.list(">", Reader::name) } else { Ok(vec![]) }
    }

    fn signature(&mut self) -> Result<Signature> {
        let type_params = self.type_params()?;
        let params = self.signature_params()?;
        self.expect("->")?;
        Ok(Signature { type_params, params, returns: self.ty()? })
    }

    fn signature_params(&mut self) -> Result<Vec<SignatureParam>> {
        self.expect("(")?;
        self.list(")", |r| {
            let optional = r.eat_word("optional");
            let direction = r.direction().unwrap_or(Direction::None);
            Ok(SignatureParam { direction, ty: r.ty()?, name: r.name()?, optional })
        })
    }

    pub(super) fn direction(&mut self) -> Option<Direction> {
        let direction = match self.peek() {
            Token::Word(word) if word == "in" => Direction::In,
            Token::Word(word) if word == "out" => Direction::Out,
            Token::Word(word) if word == "inout" => Direction::InOut,
            _ => return None,
        };
        self.advance();
        Some(direction)
    }

    pub(super) fn instance(&mut self, name: Name, annotations: Annotations) -> Result<()> {
        self.expect(":")?;
        let object: ExternId = self.extern_ref()?;
        let type_args = self.type_args()?;
        self.expect("(")?;
        let args = self.list(")", Reader::expr)?;
        let control_plane_name = self.string()?.into();
        let owner = self.owner()?;
        let mut methods = vec![];
        if !self.eat(";") {
            self.expect("{")?;
            while !self.eat("}") {
                let method = self.method(Some(object))?;
                self.expect("=")?;
                let function = self.reference()?;
                methods.push((method, self.resolve(&self.functions, "function", &function)?));
                self.expect(";")?;
            }
        }
        self.program.instances.push(Instance {
            name,
            control_plane_name,
            object,
            type_args,
            args,
            owner,
            methods,
            annotations,
            span: Span::NONE,
        });
        Ok(())
    }

    fn owner(&mut self) -> Result<Owner> {
        if !self.eat_word("in") {
            return Ok(Owner::Program);
        }
        if self.eat_word("control") {
            let control = self.reference()?;
            return Ok(Owner::Control(self.resolve(&self.controls, "control", &control)?));
        }
        self.expect_word("parser")?;
        let parser = self.reference()?;
        Ok(Owner::Parser(self.resolve(&self.parsers, "parser", &parser)?))
    }

    /// A reference to a method of an extern object.
    pub(super) fn method(&mut self, object: Option<ExternId>) -> Result<u32> {
        let reference = self.reference()?;
        let object = object.and_then(|id| self.program.externs.get(id.index()));
        let names = super::Names::new(object.map_or(&[][..], |o| &o.methods).iter().map(|m| &m.name));
        let index: TypeId = self.resolve(&names, "method", &reference)?;
        Ok(index.0)
    }

    fn extern_ref(&mut self) -> Result<ExternId> {
        let reference = self.reference()?;
        self.resolve(&self.externs, "extern", &reference)
    }

    pub(super) fn stages(&mut self) -> Result<()> {
        self.expect_word("stages")?;
        self.expect("{")?;
        while !self.eat("}") {
            let name = self.name()?;
            self.expect(":")?;
            let kind = self.stage_kind()?;
            self.expect("(")?;
            let roles = self.list(")", Reader::role)?;
            self.expect(";")?;
            self.program.stages.push(Stage { name, kind, roles });
        }
        Ok(())
    }

    /// `main V1Switch { p: stage parser; ... }`
    pub(super) fn main(&mut self) -> Result<()> {
        self.expect_word("main")?;
        self.program.main = self.package()?;
        Ok(())
    }

    fn package(&mut self) -> Result<Package> {
        self.nested(|r| {
            let name = r.name()?;
            let mut args = vec![];
            r.expect("{")?;
            while !r.eat("}") {
                let param = r.name()?;
                r.expect(":")?;
                let arg = if r.eat_word("package") {
                    PackageArg::Package(r.package()?)
                } else {
                    let arg = if r.eat_word("stage") {
                        PackageArg::Stage(r.name()?)
                    } else {
                        PackageArg::Value(r.expr()?)
                    };
                    r.expect(";")?;
                    arg
                };
                args.push((param, arg));
            }
            Ok(Package { name, args })
        })
    }

    fn stage_kind(&mut self) -> Result<StageKind> {
        if self.eat_word("traffic_manager") {
            return Ok(StageKind::TrafficManager);
        }
        if self.eat_word("parse") {
            let parser = self.reference()?;
            return Ok(StageKind::Parse(self.resolve(&self.parsers, "parser", &parser)?));
        }
        let deparse = self.eat_word("deparse");
        if !deparse && !self.eat_word("control") {
            return self.expected("`parse`, `control`, `deparse` or `traffic_manager`");
        }
        let control = self.reference()?;
        let control = self.resolve(&self.controls, "control", &control)?;
        Ok(if deparse { StageKind::Deparse(control) } else { StageKind::Control(control) })
    }

    fn role(&mut self) -> Result<Role> {
        let role = match self.peek() {
            Token::Word(word) => role(word),
            _ => None,
        };
        match role {
            Some(role) => {
                self.advance();
                Ok(role)
            }
            None => self.expected("a role: `packet`, `headers`, `metadata`, `standard_metadata`, ..."),
        }
    }

    pub(super) fn ty(&mut self) -> Result<Type> {
        self.nested(|r| {
            let mut ty = r.plain_type()?;
            let mut depth = r.depth;
            while r.eat("[") {
                depth += 1;
                if depth > super::MAX_DEPTH {
                    return r.error("nested too deeply");
                }
                ty = Type::Stack(Box::new(ty), r.number()?);
                r.expect("]")?;
            }
            Ok(ty)
        })
    }

    fn plain_type(&mut self) -> Result<Type> {
        if self.eat("'") {
            return Ok(Type::Param(self.name()?));
        }
        let word = match self.peek() {
            Token::Word(word) if super::names::is_keyword(word) => word.clone(),
            Token::Word(_) | Token::Quoted(_) | Token::Sign("?") => {
                let name = self.reference()?;
                return Ok(Type::Named(self.resolve(&self.types, "type", &name)?));
            }
            _ => return self.expected("a type"),
        };
        let ty = match word.as_str() {
            "void" => Type::Void,
            "bool" => Type::Bool,
            "error" => Type::Error,
            "match_kind" => Type::MatchKind,
            "string" => Type::String,
            // A plain `int`; the others are read below.
            "bit" | "int" | "varbit" | "tuple" | "list" | "extern" => Type::InfInt,
            _ => return self.expected("a type"),
        };
        self.advance();
        Ok(match word.as_str() {
            "bit" => Type::Bit(self.width()?),
            "varbit" => Type::Varbit(self.width()?),
            "int" if self.sees("<") => Type::Int(self.width()?),
            "extern" => {
                let object = self.extern_ref()?;
                Type::Extern(object, self.type_args()?)
            }
            "tuple" => {
                self.expect("<")?;
                Type::Tuple(self.list(">", Reader::ty)?)
            }
            "list" => {
                self.expect("<")?;
                let elem = self.ty()?;
                self.expect(">")?;
                Type::List(Box::new(elem))
            }
            _ => ty,
        })
    }

    fn width(&mut self) -> Result<u32> {
        self.expect("<")?;
        let width = self.number()?;
        self.expect(">")?;
        Ok(width)
    }

    pub(super) fn type_args(&mut self) -> Result<Vec<Type>> {
        if self.eat("<") { self.list(">", Reader::ty) } else { Ok(vec![]) }
    }

    /// A constant and its type: `8w1`, `(8w1 : port_t)`.
    fn typed_constant(&mut self) -> Result<(Const, Type)> {
        if self.eat("(") {
            let (value, _) = self.constant()?;
            self.expect(":")?;
            let ty = self.ty()?;
            self.expect(")")?;
            return Ok((value, ty));
        }
        match self.constant()? {
            (value, Some(ty)) => Ok((value, ty)),
            (_, None) => self.error("the constant needs a type: `(value : type)`"),
        }
    }

    pub(super) fn annotations(&mut self) -> Result<Annotations> {
        let mut annotations = vec![];
        while self.eat("@") {
            let name = self.name()?;
            // A body follows directly: after a blank comes the annotated declaration.
            let body = if self.stands_apart() {
                AnnotationBody::Empty
            } else if self.eat("(") {
                AnnotationBody::Values(self.list(")", Reader::annotation_value)?)
            } else if self.sees("[") && !matches!(self.ahead(2), Token::Sign("=")) {
                self.advance();
                AnnotationBody::List(self.list("]", Reader::annotation_value)?)
            } else if self.eat("[") {
                AnnotationBody::Pairs(self.list("]", |r| {
                    let key = r.name()?;
                    r.expect("=")?;
                    Ok((key, r.annotation_value()?))
                })?)
            } else if self.eat("{") {
                let tokens = self.string()?;
                self.expect("}")?;
                AnnotationBody::Tokens(tokens)
            } else {
                AnnotationBody::Empty
            };
            annotations.push(Annotation { name, body });
        }
        Ok(annotations)
    }

    fn annotation_value(&mut self) -> Result<AnnotationValue> {
        let value = match self.peek() {
            Token::Str(text) => AnnotationValue::Str(text.clone()),
            Token::Word(word) if word == "true" => AnnotationValue::Bool(true),
            Token::Word(word) if word == "false" => AnnotationValue::Bool(false),
            _ => {
                let minus = self.eat("-");
                let number = match self.peek() {
                    Token::Number(text) => Literal::parse(text).ok().filter(|n| n.width.is_none()),
                    _ => None,
                };
                match number {
                    Some(number) if minus => AnnotationValue::Int(-number.value),
                    Some(number) => AnnotationValue::Int(number.value),
                    None => return self.expected("a string, a number, `true` or `false`"),
                }
            }
        };
        self.advance();
        Ok(value)
    }
}

fn role(word: &str) -> Option<Role> {
    Some(match word {
        "packet" => Role::Packet,
        "headers" => Role::Headers,
        "metadata" => Role::Metadata,
        "standard_metadata" => Role::StandardMetadata,
        "input" => Role::Input,
        "output" => Role::Output,
        "normal_meta" => Role::Carried(Carried::Normal),
        "clone_i2e_meta" => Role::Carried(Carried::CloneI2e),
        "clone_e2e_meta" => Role::Carried(Carried::CloneE2e),
        "resubmit_meta" => Role::Carried(Carried::Resubmit),
        "recirculate_meta" => Role::Carried(Carried::Recirculate),
        "other" => Role::Other,
        _ => return None,
    })
}
