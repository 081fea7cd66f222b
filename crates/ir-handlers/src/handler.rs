//! The handlers of a program.

use crate::fields::{Field, FieldKind, Struct};
use crate::mirror::{self, Mirror};
use crate::remote::{C_WORDS, Remote};
use base_diag::codes::handler as codes;
use base_diag::{Diagnostic, Span};
use base_time::Duration;
use dataplane_api::{Effect, Form, Method, ValueExternFactory, ValueOffer, ValueType};
use ir::{Annotation, Direction, InstanceId, Name, Program, Signature, Type, TypeKind};
use std::fmt::Write;

/// The method of a handler's extern object.
pub const CALL: &str = "call";

/// Budget of calls whose declaration has none.
const BUDGET: Duration = Duration::from_us(100);

/// Bits of a leased block's number: the switch has an entry for each block.
const MOST_BLOCK_BITS: u32 = 12;

/// Annotation of a handler whose answer depends on nothing but the request.
pub(crate) const PURE: &str = "pure";

/// A handler, as a program declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handler {
    /// Name of the function in C, and of the value extern.
    pub name: String,
    /// Group or device that runs it, in a rack.
    pub group: Option<String>,
    /// Fields of the request that name a flow, in order; none if all packets are of one flow.
    pub key: Struct,
    /// The field of the request that names a leased block; 0 there for none.
    pub block: Option<Field>,
    /// After so long without packets, it has nothing of a flow.
    pub keeps: Option<Duration>,
    /// Processor time that a call may take on a real device.
    pub budget: Duration,
    /// Text that the handler gets when it is made.
    pub config: String,
    /// The request.
    pub request: Struct,
    /// The response.
    pub response: Option<Struct>,
    /// The call gives `bool`: true if the handler gives `P4R_OK`.
    pub returns: bool,
    /// Tables that it may look up.
    pub mirrors: Vec<Mirror>,
    /// As value externs are described.
    pub method: Method,
    /// Place of the declaration.
    pub span: Span,
}

impl Handler {
    /// The handler that a declaration describes.
    pub(crate) fn new(
        program: &Program,
        name: &Name,
        annotations: &[Annotation],
        signature: &Signature,
        span: Span,
    ) -> Option<Result<Handler, Diagnostic>> {
        let wrong = |why: String| {
            let title = format!("`{name}` is not the declaration of a handler");
            Diagnostic::error(codes::REMOTE, title).at(span, why)
        };
        let made = Remote::of(annotations)?;
        let is_pure = annotations.iter().any(|annotation| annotation.name == PURE);
        let effect = if is_pure { Effect::Pure } else { Effect::Writes };
        let made = made.and_then(|remote| Handler::of(program, remote, signature, effect, span));
        Some(made.map_err(|why| {
            wrong(why).help(
                "write `@remote(handler = \"name\", group = \"group\", key = { q.field }) extern bool name(in request_t q, out response_t r);`",
            )
        }))
    }

    fn of(
        program: &Program,
        remote: Remote,
        signature: &Signature,
        effect: Effect,
        span: Span,
    ) -> Result<Handler, String> {
        if !signature.type_params.is_empty() {
            return Err("handlers have no type parameters".to_string());
        }
        let returns = match signature.returns {
            Type::Bool => true,
            Type::Void => false,
            _ => return Err("a handler returns `bool` or `void`".to_string()),
        };
        let (request, response) = match signature.params.as_slice() {
            [request] => (request, None),
            [request, response] => (request, Some(response)),
            _ => return Err("a handler takes a request and a response".to_string()),
        };
        if !matches!(request.direction, Direction::In | Direction::None) || request.optional {
            return Err(format!("`{}` is the request, and not `in`", request.name));
        }
        let fields = |param: &ir::SignatureParam| {
            let made = Struct::of(program, &param.ty).map_err(|why| format!("`{}` {why}", param.name))?;
            match C_WORDS.contains(&made.name.as_str()) || made.name.starts_with("p4r_") {
                true => Err(format!("`{}` is a struct `{}`, a name that C needs", param.name, made.name)),
                false => Ok(made),
            }
        };
        let made = fields(request)?;
        let mut method =
            Method::new(CALL, effect).param(dataplane_api::Direction::In, value_type(program, &request.ty));
        let response = match response {
            None => None,
            Some(param) if param.direction != Direction::Out || param.optional => {
                return Err(format!("`{}` is the response, and not `out`", param.name));
            }
            Some(param) => {
                method = method.param(dataplane_api::Direction::Out, value_type(program, &param.ty));
                Some(fields(param)?)
            }
        };
        if returns {
            method = method.returns(ValueType::Bool);
        }
        let key = key_of(&remote, &request.name, &made)?;
        let block = block_of(&remote, &request.name, &made)?;
        let mirrors = mirror::of_handler(program, &remote.handler)?;
        Ok(Handler {
            mirrors,
            name: remote.handler,
            group: remote.group,
            key,
            block,
            keeps: remote.keeps,
            budget: remote.budget.unwrap_or(BUDGET),
            config: remote.config,
            request: made,
            response,
            returns,
            method,
            span,
        })
    }

    /// A number that differs between handlers whose requests, responses, keys or results have other forms (FNV-1a).
    pub fn fingerprint(&self) -> u64 {
        let mut text = format!("{} {}", self.name, self.returns);
        let own = [Some(&self.request), self.response.as_ref(), Some(&self.key)].into_iter().flatten();
        for part in own.chain(self.mirrors.iter().flat_map(|mirror| [&mirror.key, &mirror.entry])) {
            let _ = write!(text, " {}", part.name);
            for field in &part.fields {
                let _ = write!(text, " {} {:?} {}", field.name(), field.kind, field.width);
            }
        }
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }
}

/// A field that `part` of the annotation names.
fn field_of<'f>(
    part: &str,
    path: &[String],
    request: &Name,
    fields: &'f Struct,
) -> Result<&'f Field, String> {
    let shown = path.join(".");
    match path.split_first() {
        Some((root, rest)) if root == request.as_str() => fields.field(rest).ok_or_else(|| {
            let names = fields.fields.iter().map(|f| format!("`{request}.{}`", f.path.join(".")));
            let names = names.collect::<Vec<_>>().join(", ");
            format!("`{shown}` in `{part}` is no field of the request, which has {names}")
        }),
        _ => Err(format!("`{shown}` in `{part}` is no field of the request `{request}`")),
    }
}

/// The field that names a leased block.
fn block_of(remote: &Remote, request: &Name, fields: &Struct) -> Result<Option<Field>, String> {
    if remote.block.is_empty() {
        return Ok(None);
    }
    if remote.key.is_empty() {
        return Err("`block` needs a `key`, for packets that belong to no block".to_string());
    }
    let field = field_of("block", &remote.block, request, fields)?;
    match field.kind {
        FieldKind::Unsigned if field.width <= MOST_BLOCK_BITS => Ok(Some(field.clone())),
        _ => Err(format!(
            "`{}` in `block` is not of `bit<1>` to `bit<{MOST_BLOCK_BITS}>`",
            remote.block.join(".")
        )),
    }
}

/// The fields of the key, laid out one after the other.
fn key_of(remote: &Remote, request: &Name, fields: &Struct) -> Result<Struct, String> {
    let mut key = Struct { name: format!("{}_key", remote.handler), fields: vec![], size: 0 };
    for path in &remote.key {
        let field = field_of("key", path, request, fields)?;
        if key.field(&field.path).is_some() {
            return Err(format!("`{}` is twice in `key`", path.join(".")));
        }
        key.fields.push(Field { at: key.size, ..field.clone() });
        key.size += field.size;
    }
    Ok(key)
}

fn value_type(program: &Program, ty: &Type) -> ValueType {
    match program.representation(ty) {
        Type::Bit(width) => ValueType::Bit(*width),
        Type::Int(width) => ValueType::Int(*width),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::Struct(fields) => {
                ValueType::Struct(fields.iter().map(|field| value_type(program, &field.ty)).collect())
            }
            _ => ValueType::Bool,
        },
        _ => ValueType::Bool,
    }
}

/// The handlers of a program that was expanded, with their instances.
pub fn handlers(program: &Program) -> Vec<(InstanceId, Handler)> {
    let ids = (0..program.instances.len()).map(InstanceId::from);
    let found = ids.filter_map(|id| {
        let object = program.extern_object(program.instance(id).object);
        object.value_extern()?;
        let call = object.methods.iter().find(|method| method.name == CALL)?;
        let made = Handler::new(program, &object.name, &object.annotations, &call.signature, object.span)?;
        Some((id, made.ok()?))
    });
    found.collect()
}

/// The offer of a device that runs a handler. With leased blocks, `make` gets two numbers: of the server among those that share the
/// blocks, and of these. Otherwise it gets none.
pub fn offer(handler: &Handler, make: ValueExternFactory) -> ValueOffer {
    ValueOffer {
        form: Form::Object,
        methods: vec![handler.method.clone()],
        merge: None,
        cost: Duration::ZERO,
        make,
    }
}

impl FieldKind {
    /// True for `int<N>`.
    pub fn is_signed(self) -> bool {
        self == FieldKind::Signed
    }
}
