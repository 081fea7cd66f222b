//! Parts of a flow's key: from a name to an expression of ingress.

use base_diag::{Diagnostic, Span, codes::pin as codes};
use ir::{Control, Expr, Program, Role, Type, VarId, build};

/// The expression that ingress has for each of these names.
pub fn resolve(
    program: &Program,
    ingress: &Control,
    roles: &[Role],
    names: &[ir::Name],
) -> Result<Vec<Expr>, Vec<Diagnostic>> {
    let mut wrong = vec![];
    let mut found = vec![];
    if names.is_empty() {
        wrong.push(
            Diagnostic::error(codes::BAD_KEY, "a flow's key has no parts")
                .note("the flow manager looks up packets by it")
                .help("name fields of headers, such as `hdr.ipv4.src`"),
        );
    }
    for (at, name) in names.iter().enumerate() {
        match part(program, ingress, roles, name) {
            _ if names[..at].contains(name) => {
                wrong.push(refuse(name, ingress.span, "it is named twice".into()));
            }
            Ok(expr) => found.push(expr),
            Err(why) => wrong.push(refuse(name, ingress.span, why)),
        }
    }
    if wrong.is_empty() { Ok(found) } else { Err(wrong) }
}

fn refuse(name: &str, ingress: Span, why: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_KEY, format!("`{name}` cannot be a part of a flow's key"))
        .at(ingress, "in this control")
        .note(why)
        .help("name fields of headers as ingress does, or `standard_metadata.ingress_port`")
}

fn part(program: &Program, ingress: &Control, roles: &[Role], name: &str) -> Result<Expr, String> {
    let mut steps = name.split('.');
    let first = steps.next().unwrap_or_default();
    let named = |id: &&VarId| ingress.vars[id.index()].name == first;
    let Some(at) = ingress.params.iter().position(|id| named(&id)) else {
        let known = ingress.params.iter().map(|id| format!("`{}`", ingress.vars[id.index()].name));
        return Err(format!("parameters are {}", known.collect::<Vec<_>>().join(", ")));
    };
    let mut expr = build::var_of(&ingress.vars, ingress.params[at]);
    let role = roles.get(at).copied().unwrap_or(Role::Other);
    for step in steps {
        let (field, index) = match step.split_once('[') {
            None => (step, None),
            Some((field, rest)) => {
                let index = rest.strip_suffix(']').and_then(|digits| digits.parse::<u32>().ok());
                (field, Some(index.ok_or_else(|| format!("`{step}` has no index that is a number"))?))
            }
        };
        let fields = program.fields(&expr.ty);
        let Some(number) = fields.iter().position(|known| known.name == field) else {
            let names: Vec<&str> = fields.iter().map(|known| known.name.as_str()).collect();
            return Err(match base_diag::did_you_mean(field, names.iter().copied()) {
                Some(near) => format!("there is no `{field}`; is it `{near}`?"),
                None => format!("there is no `{field}`"),
            });
        };
        let ty = fields[number].ty.clone();
        expr = build::field(expr, number, ty);
        if let Some(index) = index {
            let Type::Stack(element, size) = expr.ty.clone() else {
                return Err(format!("`{field}` is no stack"));
            };
            if index >= size {
                return Err(format!("`{field}` has {size} elements"));
            }
            expr = build::element(expr, index, *element);
        }
    }
    match role {
        Role::Headers => {}
        Role::StandardMetadata if name.ends_with(".ingress_port") => {}
        _ => return Err("it is neither a field of a header nor the port that a packet came in by".into()),
    }
    match program.representation(&expr.ty) {
        Type::Bit(1..) => Ok(expr),
        _ => Err("it is no number of bits".into()),
    }
}
