//! The constructor of its extern that created an instance.

use crate::text::infer::substitute;
use crate::{ExternObject, Instance, Name, Program, SignatureParam, Type};

impl Program {
    /// The parameters of the constructor that takes the arguments of `instance`: the first, if several do; `None`
    /// if none does, or its extern does not exist.
    pub fn constructor(&self, instance: &Instance) -> Option<&[SignatureParam]> {
        let object = self.externs.get(instance.object.index())?;
        let found = object.constructors.iter().find(|params| constructs(object, params, instance));
        found.map(Vec::as_slice)
    }
}

impl ExternObject {
    /// Type argument of `instance` for the type parameter `name`.
    pub(crate) fn argument<'a>(&self, instance: &'a Instance, name: &Name) -> Option<&'a Type> {
        instance.type_args.get(self.type_params.iter().position(|param| param == name)?)
    }
}

fn constructs(object: &ExternObject, params: &[SignatureParam], instance: &Instance) -> bool {
    let required = params.iter().filter(|param| !param.optional).count();
    let bound = |name: &Name| object.argument(instance, name);
    (required..=params.len()).contains(&instance.args.len())
        && params.iter().zip(&instance.args).all(|(param, arg)| fits(&substitute(&param.ty, &bound), &arg.ty))
}

/// True if `ty` is `wanted`, `_` in which stands for any type.
fn fits(wanted: &Type, ty: &Type) -> bool {
    match (wanted, ty) {
        (Type::Param(name), _) if name == "_" => true,
        (Type::Extern(a, args), Type::Extern(b, others)) => {
            a == b && args.len() == others.len() && args.iter().zip(others).all(|(a, b)| fits(a, b))
        }
        (wanted, ty) => wanted == ty,
    }
}
