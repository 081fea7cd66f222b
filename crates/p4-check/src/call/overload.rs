//! Choice among functions of one name: the one whose parameters the arguments fit in number and, if
//! named, in name (P4-16 §8.20). Types take no part.

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;

use crate::codes;
use crate::cx::{Checker, count};
use crate::typed::{FunctionId, VarId};

/// The source of a parameter's argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slot {
    /// The argument at this place.
    Given(usize),
    /// The parameter's default value.
    Default,
    /// Nothing: the parameter is optional.
    Absent,
}

/// Reason why arguments do not fit parameters.
pub(crate) enum Misfit {
    TooMany {
        given: usize,
        wanted: usize,
    },
    Missing(VarId),
    Unknown(ast::Name),
    Twice(ast::Name),
    /// Some are named and some are not.
    Mixed(Span),
}

impl Checker {
    /// The place of each parameter's argument.
    pub(crate) fn fit_args(&self, params: &[VarId], args: &[ast::Arg]) -> Result<Vec<Slot>, Misfit> {
        let named = args.iter().filter(|a| a.name.is_some()).count();
        if named != 0 && named != args.len() {
            let first_named = args[0].name.is_some();
            let odd = args.iter().find(|a| a.name.is_some() != first_named);
            return Err(Misfit::Mixed(odd.map_or(args[0].span, |a| a.span)));
        }
        let mut slots: Vec<Option<usize>> = vec![None; params.len()];
        for (i, arg) in args.iter().enumerate() {
            let at = match &arg.name {
                None if i < params.len() => i,
                None => return Err(Misfit::TooMany { given: args.len(), wanted: params.len() }),
                Some(name) => {
                    match params.iter().position(|&p| self.program.vars[p].name.text == name.text) {
                        Some(at) => at,
                        None => return Err(Misfit::Unknown(name.clone())),
                    }
                }
            };
            if slots[at].is_some() {
                let name = arg.name.clone();
                return Err(
                    name.map_or(Misfit::TooMany { given: args.len(), wanted: params.len() }, Misfit::Twice)
                );
            }
            slots[at] = Some(i);
        }
        slots
            .into_iter()
            .zip(params)
            .map(|(slot, &param)| match slot {
                Some(i) => Ok(Slot::Given(i)),
                None if self.program.vars[param].default.is_some() => Ok(Slot::Default),
                None if self.program.vars[param].optional => Ok(Slot::Absent),
                None => Err(Misfit::Missing(param)),
            })
            .collect()
    }

    pub(crate) fn report_misfit(&mut self, misfit: Misfit, name: &str, params: &[VarId], span: Span) {
        let signature = params.iter().map(|&p| self.show_param(p)).collect::<Vec<_>>().join(", ");
        let diagnostic = match misfit {
            Misfit::TooMany { given, wanted } => {
                Diagnostic::error(codes::BAD_ARGUMENTS, format!("too many arguments for `{name}`"))
                    .at(span, format!("expected {wanted}, found {given}"))
            }
            Misfit::Missing(param) => {
                let missing = &self.program.vars[param].name.text;
                Diagnostic::error(codes::BAD_ARGUMENTS, format!("no argument for parameter `{missing}`"))
                    .at(span, format!("`{name}` wants {}", count(params.len(), "argument")))
            }
            Misfit::Unknown(arg) => {
                let names: Vec<_> = params.iter().map(|&p| self.program.vars[p].name.text.clone()).collect();
                Diagnostic::error(codes::BAD_ARGUMENTS, format!("`{name}` has no parameter `{}`", arg.text))
                    .at(arg.span, "")
                    .suggest(&arg.text, names.iter().map(|n| n.as_str()))
            }
            Misfit::Twice(arg) => {
                Diagnostic::error(codes::BAD_ARGUMENTS, format!("parameter `{}` is given twice", arg.text))
                    .at(arg.span, "")
            }
            Misfit::Mixed(at) => {
                Diagnostic::error(codes::BAD_ARGUMENTS, "some arguments are named and some are not")
                    .at(at, "name all of them or none")
            }
        };
        self.report(diagnostic.note(format!("declared as `{name}({signature})`")));
    }

    /// The one function of `ids` that the arguments fit; otherwise reports why there is none.
    pub(crate) fn pick(&mut self, ids: &[FunctionId], args: &[ast::Arg], at: Span) -> Option<FunctionId> {
        let fitting: Vec<FunctionId> = ids
            .iter()
            .copied()
            .filter(|&id| self.fit_args(&self.program.functions[id].params, args).is_ok())
            .collect();
        match (&fitting[..], ids) {
            ([one], _) => Some(*one),
            ([], [only]) => {
                let params = self.program.functions[*only].params.clone();
                let name = self.program.functions[*only].name.text.clone();
                if let Err(misfit) = self.fit_args(&params, args) {
                    self.report_misfit(misfit, &name, &params, at);
                }
                None
            }
            _ => {
                let name =
                    ids.first().map(|&id| self.program.functions[id].name.text.clone()).unwrap_or_default();
                let title = if fitting.is_empty() {
                    format!("no `{name}` takes these arguments")
                } else {
                    format!("more than one `{name}` takes these arguments")
                };
                let mut diagnostic = Diagnostic::error(codes::NO_OVERLOAD, title)
                    .at(at, format!("called with {}", count(args.len(), "argument")));
                let listed = if fitting.is_empty() { ids } else { &fitting[..] };
                for &id in listed.iter().take(6) {
                    diagnostic = diagnostic.note(format!("declared as `{}`", self.signature(id)));
                }
                self.report(diagnostic);
                None
            }
        }
    }
}
