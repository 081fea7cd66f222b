//! Value externs: compares declarations with the device's offers, and makes instances.

use crate::objects::Object;
use crate::objects::value::{ValueMethod, ValueObject, mirrored};
use base_bits::Bits;
use base_diag::codes::run as codes;
use base_diag::{Diagnostic, Span};
use dataplane_api::{Direction, Effect, Form, Method, Registry, ValueOffer, ValueType};
use ir::{Annotation, CallEffect, Instance, Program, Signature, Type, TypeKind};
use ir_value::{Value, numbers};
use state_modes::Merge;

/// Errors in declarations of value externs: a name that is not offered, another form, other methods, parameters or
/// effects.
pub fn check_value_externs(program: &Program, registry: &Registry) -> Vec<Diagnostic> {
    let objects = program.externs.iter().filter_map(|object| {
        let declared = Declared {
            form: Form::Object,
            type_params: !object.type_params.is_empty(),
            methods: object
                .methods
                .iter()
                .map(|m| DeclaredMethod {
                    name: &m.name,
                    signature: &m.signature,
                    effect: m.effect(),
                    span: m.span,
                })
                .collect(),
            merge: object.annotations.iter().find(|a| a.name == "merge"),
            span: object.span,
        };
        Some((object.value_extern()?, declared))
    });
    let functions = program.extern_functions.iter().filter_map(|function| {
        let mark = function.value_extern()?;
        // The callee may have any name: the annotation identifies it.
        let name = mark.as_str().unwrap_or_default();
        let method = DeclaredMethod {
            name,
            signature: &function.signature,
            effect: CallEffect::Pure,
            span: function.span,
        };
        let declared = Declared {
            form: Form::Function,
            type_params: false,
            methods: vec![method],
            merge: None,
            span: function.span,
        };
        Some((mark, declared))
    });
    let mut found = vec![];
    for (mark, declared) in objects.chain(functions) {
        match offered(mark, declared.span, registry) {
            Err(problem) => found.push(problem),
            Ok((name, offer)) => declared.check(program, name, offer, &mut found),
        }
    }
    found
}

/// The offer that an annotation names.
fn offered<'a>(
    mark: &'a Annotation,
    span: Span,
    registry: &'a Registry,
) -> Result<(&'a str, &'a ValueOffer), Diagnostic> {
    let name = mark.as_str().unwrap_or_default();
    if let Some(offer) = registry.value(name) {
        return Ok((name, offer));
    }
    let problem = Diagnostic::error(codes::VALUE_EXTERN, format!("no value extern `{name}` on this device"))
        .at(span, "declared here");
    if registry.get(name).is_some() {
        return Err(problem.help(format!("`{name}` is a frame extern: write `@frame_extern(\"{name}\")`")));
    }
    let known: Vec<&str> = registry.value_names().collect();
    Err(problem.suggest_or(name, known.iter().copied(), |d| match known.as_slice() {
        [] => d.note("the device offers none"),
        _ => d.note(format!("the device offers: {}", known.join(", "))),
    }))
}

/// A declaration in the program.
struct Declared<'p> {
    form: Form,
    type_params: bool,
    methods: Vec<DeclaredMethod<'p>>,
    merge: Option<&'p Annotation>,
    span: Span,
}

struct DeclaredMethod<'p> {
    name: &'p str,
    signature: &'p Signature,
    effect: CallEffect,
    span: Span,
}

impl Declared<'_> {
    fn check(&self, program: &Program, name: &str, offer: &ValueOffer, found: &mut Vec<Diagnostic>) {
        let wrong = |span: Span, why: String| {
            Diagnostic::error(
                codes::VALUE_SIGNATURE,
                format!("`{name}` does not match the device's declaration"),
            )
            .at(span, why)
            .note(format!("the device declares it as: {}", offer.declaration(name)))
        };
        if self.form != offer.form {
            let (is, wanted) = match offer.form {
                Form::Function => ("an object", "a function"),
                Form::Object => ("a function", "an object"),
            };
            return found.push(wrong(self.span, format!("this is {is}, and `{name}` is {wanted}")));
        }
        if self.type_params {
            found.push(wrong(self.span, "value externs have no type parameters".to_string()));
        }
        let merge = self.merge.map(|a| a.as_str().and_then(Merge::of_name));
        if merge.is_some() && merge != Some(offer.merge) {
            found
                .push(wrong(self.span, "copies of its memory cannot be merged by this operator".to_string()));
        }
        for method in &self.methods {
            let Some(known) = offer.methods.iter().find(|known| known.name == method.name) else {
                let names = offer.methods.iter().map(|known| known.name);
                let problem = wrong(method.span, format!("`{name}` has no method `{}`", method.name));
                found.push(problem.suggest_or(method.name, names, |d| d));
                continue;
            };
            if let Some(why) = method.differs(program, known) {
                found.push(wrong(method.span, why));
            }
        }
    }
}

impl DeclaredMethod<'_> {
    /// First difference between a declaration and the device's offer.
    fn differs(&self, program: &Program, offered: &Method) -> Option<String> {
        let params = &self.signature.params;
        if !self.signature.type_params.is_empty() {
            return Some("value externs have no type parameters".to_string());
        }
        if params.len() != offered.params.len() {
            return Some(format!(
                "it takes {} arguments, and {} are declared",
                offered.params.len(),
                params.len()
            ));
        }
        for (param, (direction, ty)) in params.iter().zip(&offered.params) {
            if param.optional {
                return Some(format!("`{}` cannot be left out", param.name));
            }
            let same = match direction {
                Direction::In => matches!(param.direction, ir::Direction::In | ir::Direction::None),
                Direction::Out => param.direction == ir::Direction::Out,
                Direction::InOut => param.direction == ir::Direction::InOut,
            };
            if !same {
                return Some(format!("`{}` is an `{direction}` parameter", param.name));
            }
            if !fits(program, &param.ty, ty) {
                return Some(format!("`{}` is `{ty}`", param.name));
            }
        }
        let returns = &self.signature.returns;
        let same = match &offered.returns {
            None => *returns == Type::Void,
            Some(ty) => fits(program, returns, ty),
        };
        if !same {
            return Some(match &offered.returns {
                None => "it returns nothing".to_string(),
                Some(ty) => format!("it returns `{ty}`"),
            });
        }
        let effect = match offered.effect {
            Effect::Pure => CallEffect::Pure,
            Effect::Reads => CallEffect::Reads,
            Effect::Writes => CallEffect::Writes,
        };
        // To declare more than there is costs freedom only.
        (self.effect < effect).then(|| {
            match offered.effect {
                Effect::Reads => "it reads the memory, and is not `@pure`",
                _ => "it changes the memory",
            }
            .to_string()
        })
    }
}

/// A type of a program is one that is offered; names of structs and fields do not matter.
fn fits(program: &Program, ty: &Type, offered: &ValueType) -> bool {
    match (program.representation(ty), offered) {
        (Type::Bit(width), ValueType::Bit(wanted)) | (Type::Int(width), ValueType::Int(wanted)) => {
            width == wanted
        }
        (Type::Bit(_), ValueType::AnyBit) | (Type::Bool, ValueType::Bool) => true,
        (Type::Named(id), offered) => match (&program.type_decl(*id).kind, offered) {
            (TypeKind::Struct(fields), ValueType::Struct(wanted)) => {
                fields.len() == wanted.len()
                    && fields.iter().zip(wanted).all(|(field, wanted)| fits(program, &field.ty, wanted))
            }
            (TypeKind::Enum(members), ValueType::Enum(wanted)) => {
                members.iter().map(|member| member.as_str()).eq(wanted.iter().copied())
            }
            _ => false,
        },
        _ => false,
    }
}

/// Makes an instance. Its declaration has been checked.
pub(crate) fn instance(
    program: &Program,
    instance: &Instance,
    mark: &Annotation,
    registry: &Registry,
) -> Result<Object, Diagnostic> {
    let (name, offer) = offered(mark, instance.span, registry)?;
    let mut args: Vec<Bits> = vec![];
    for arg in &instance.args {
        Value::constant(program, arg).iter().for_each(|value| numbers::flatten(value, &mut args));
    }
    let object = (offer.make)(&args).map_err(|error| {
        Diagnostic::error(codes::VALUE_EXTERN, format!("value extern `{name}` refuses its arguments"))
            .at(instance.span, error.0)
    })?;
    let declared = &program.extern_object(instance.object).methods;
    let number = |wanted: &str| offer.methods.iter().position(|method| method.name == wanted);
    let methods = declared
        .iter()
        .map(|method| Some(ValueMethod { number: number(&method.name)?, effect: method.effect() }));
    let methods = methods.collect::<Option<_>>().unwrap_or_default();
    Ok(Object::Value(ValueObject { object, methods, mirrored: mirrored(program, name), changes: 0 }))
}

/// Makes the value extern of each extern function that has one. Declarations have been checked.
pub(crate) fn functions(program: &Program, registry: &Registry) -> Vec<Option<ValueObject>> {
    let made = |function: &ir::ExternFunction| {
        let offer = registry.value(function.value_extern()?.as_str()?)?;
        let object = (offer.make)(&[]).ok()?;
        let methods = smallvec::smallvec![ValueMethod { number: 0, effect: CallEffect::Pure }];
        Some(ValueObject { object, methods, mirrored: vec![], changes: 0 })
    };
    program.extern_functions.iter().map(made).collect()
}
