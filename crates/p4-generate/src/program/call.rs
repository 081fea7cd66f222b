//! Calls of functions, actions and sub-controls, with arguments that may alias.

use super::Gen;
use super::function::{Dir, Function, Param};
use super::types::Ty;
use crate::feature::Feature as F;

impl Gen {
    /// A call whose value has the type `ty`.
    pub(super) fn call_of_type(&mut self, ty: &Ty, depth: u32) -> Option<String> {
        if self.cx.pure || depth == 0 {
            return None;
        }
        let fit: Vec<Function> = self
            .functions
            .iter()
            .filter(|f| f.returns.as_ref() == Some(ty) || (f.generic && f.returns.is_some()))
            .cloned()
            .collect();
        let function = self.rng.pick(&fit)?.clone();
        let text = self.call(&function, ty, depth - 1)?;
        if function.params.iter().any(|p| matches!(p.dir, Dir::Out | Dir::InOut)) {
            self.note(F::EffectInOperand);
        }
        Some(text)
    }

    /// A call of any function as a statement.
    pub(super) fn call_statement(&mut self) -> Option<String> {
        let function = self.rng.pick(&self.functions).cloned()?;
        let ty = Ty::Bit(self.width());
        let call = self.call(&function, &ty, 1)?;
        Some(format!("{call};"))
    }

    /// `ty` is what the type parameter of a generic function stands for.
    fn call(&mut self, function: &Function, ty: &Ty, depth: u32) -> Option<String> {
        let mut params = function.params.clone();
        if function.generic {
            params.iter_mut().filter(|p| p.ty == Ty::Bit(0)).for_each(|p| p.ty = ty.clone());
        }
        let args = self.arguments(&params, depth)?;
        let types = if function.generic {
            self.note(F::GenericFunction);
            if self.chance(50) { format!("<{}>", self.types.show(ty)) } else { String::new() }
        } else {
            String::new()
        };
        Some(format!("{}{types}({})", function.name, args.join(", ")))
    }

    /// One argument for each parameter; `None` if there is no place for an `out` one.
    pub(super) fn arguments(&mut self, params: &[Param], depth: u32) -> Option<Vec<String>> {
        let mut args: Vec<String> = vec![];
        let mut places: Vec<(Ty, String)> = vec![];
        for param in params {
            if matches!(param.dir, Dir::In | Dir::None) {
                let aliased = places.iter().find(|(ty, _)| *ty == param.ty).map(|(_, text)| text.clone());
                match aliased {
                    Some(text) if self.chance(40) => {
                        self.note(F::Aliasing);
                        args.push(text);
                    }
                    _ => args.push(self.value(&param.ty, depth.min(2))),
                }
                continue;
            }
            self.note(F::OutArgument);
            let before = places.iter().find(|(ty, _)| *ty == param.ty).map(|(_, text)| text.clone());
            let text = match before {
                Some(text) if self.chance(35) => {
                    self.note(F::Aliasing);
                    text
                }
                _ => self.target(&param.ty)?,
            };
            if text.ends_with(']') && text.contains([':', '+']) {
                self.note(F::SliceArgument);
            }
            if text.contains("[1:0]]") || text.contains("w0]") {
                self.note(F::ElementArgument);
            }
            places.push((param.ty.clone(), text.clone()));
            args.push(text);
        }
        Some(args)
    }
}
