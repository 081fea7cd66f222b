//! Parser states and `select` (P4-16 §13.2 to §13.6).

use base_diag::{Diagnostic, Span};
use p4_syntax::ast;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::codes;
use crate::cx::{Checker, count, name};
use crate::expr::listed;
use crate::scope::Def;
use crate::typed::{Expr, ExprKind, KeySet, SelectCase, State, Target, Transition, Type};

/// States by name.
type Names = FxHashMap<SmolStr, u32>;

impl Checker {
    pub(crate) fn states(&mut self, d: &ast::ParserDecl) -> Vec<State> {
        let mut names = Names::default();
        for (i, s) in d.states.iter().enumerate() {
            if s.name.text == "accept" || s.name.text == "reject" {
                let title = format!("state `{}` is built in", s.name.text);
                self.error(codes::BAD_STATE, s.name.span, title, "it cannot be declared");
                continue;
            }
            self.bind(&s.name, Def::State);
            names.entry(s.name.text.clone()).or_insert(i as u32);
        }
        let built_in = |s: &ast::State| s.name.text == "accept" || s.name.text == "reject";
        if !names.contains_key("start") && !d.states.iter().any(built_in) {
            let title = format!("parser `{}` has no state `start`", d.name.text);
            self.error(codes::BAD_STATE, d.name.span, title, "");
        }
        d.states.iter().map(|s| self.state(s, &names)).collect()
    }

    fn state(&mut self, s: &ast::State, names: &Names) -> State {
        let annotations = self.annotations(&s.annotations);
        self.scopes.enter();
        let stmts = self.stmts(&s.stmts);
        self.infer.clear();
        let transition = match &s.transition {
            None => Transition::To(Target::Reject, s.span),
            Some(ast::Transition::Direct(to)) => Transition::To(self.target(to, names), to.span),
            Some(ast::Transition::Select(select)) => self.select(select, names),
        };
        self.scopes.leave();
        State { name: name(&s.name), stmts, transition, annotations, span: s.span }
    }

    fn target(&mut self, to: &ast::Name, names: &Names) -> Target {
        match to.text.as_str() {
            "accept" => return Target::Accept,
            "reject" => return Target::Reject,
            "" => return Target::Reject,
            _ => {}
        }
        if let Some(&i) = names.get(&to.text) {
            return Target::State(i);
        }
        if let Some(other) = self.scopes.lookup(&to.text) {
            let label = format!("this is {}", other.def.a_noun());
            self.error(codes::BAD_STATE, to.span, format!("`{}` is not a state", to.text), label);
            return Target::Reject;
        }
        let mut known: Vec<&str> = names.keys().map(|n| n.as_str()).chain(["accept", "reject"]).collect();
        known.sort_unstable();
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown state `{}`", to.text))
            .at(to.span, "")
            .suggest(&to.text, known);
        self.report(diagnostic);
        Target::Reject
    }

    fn select(&mut self, select: &ast::SelectExpr, names: &Names) -> Transition {
        let keys: Vec<Expr> = select.keys.iter().map(|k| self.select_key(k)).collect();
        let types: Vec<Type> = keys.iter().map(|k| k.ty.clone()).collect();
        let mut cases = Vec::with_capacity(select.cases.len());
        for case in &select.cases {
            let sets = self.select_sets(&case.keyset, &types, &keys, select.span);
            let target = self.target(&case.state, names);
            cases.push(SelectCase { sets: sets.unwrap_or_default(), target, span: case.span });
        }
        Transition::Select { keys, cases, span: select.span }
    }

    fn select_key(&mut self, key: &ast::Expr) -> Expr {
        let checked = self.expr(key, None);
        if self.can_select(&checked.ty) {
            return checked;
        }
        let what = self.program.describe_type(&checked.ty);
        let label = match checked.ty {
            Type::Int => "give it a width: `8w1`",
            _ => "only numbers, enums, errors and `bool` can be matched",
        };
        self.error(codes::BAD_SELECT, checked.span, format!("`select` cannot test {what}"), label);
        Expr::error(checked.span)
    }

    fn can_select(&self, ty: &Type) -> bool {
        match self.infer.shallow(ty) {
            Type::Error | Type::Bit(_) | Type::Signed(_) | Type::Bool | Type::Enum(_) | Type::ErrorCode => {
                true
            }
            Type::NewType(_) | Type::MatchKind => true,
            Type::Tuple(members) => members.iter().all(|t| self.can_select(t)),
            _ => false,
        }
    }

    /// The sets of a case: one for each key, or a value set for all.
    fn select_sets(
        &mut self,
        keyset: &ast::Keyset,
        types: &[Type],
        keys: &[Expr],
        select: Span,
    ) -> Option<Vec<KeySet>> {
        if let [only] = &keyset.elements[..]
            && !keyset.tuple
            && (self.is_composite_set(only, types)
                || listed(&keyset.elements, types.len()).len() != types.len())
        {
            return self.single_set(only, types, keyset.span, select);
        }
        let elements = listed(&keyset.elements, types.len());
        if elements.len() != types.len() {
            self.wrong_sets(elements.len(), types.len(), keyset.span, select);
            return None;
        }
        let mut out = Vec::with_capacity(types.len());
        let mut sound = true;
        for ((element, ty), key) in elements.iter().zip(types).zip(keys) {
            match self.keyset(element, ty, Some(key.span)) {
                Some(set) => out.push(set),
                None => sound = false,
            }
        }
        sound.then_some(out)
    }

    /// True for the name of a value set whose elements are records or tuples.
    fn is_composite_set(&mut self, element: &ast::KeysetElement, types: &[Type]) -> bool {
        let ast::KeysetElementKind::Value(e) = &element.kind else { return false };
        let Some(Def::ValueSet(id)) = self.def_of(e) else { return false };
        let set = self.program.value_sets[id].element.clone();
        matches!(set, Type::Struct(..) | Type::Tuple(_)) && !types.contains(&set)
    }

    fn wrong_sets(&mut self, given: usize, wanted: usize, span: Span, select: Span) {
        self.report(
            Diagnostic::error(codes::BAD_SELECT, "wrong number of sets for `select`")
                .at(Span { hi: select.lo + 6, ..select }, format!("this has {}", count(wanted, "key")))
                .at(span, format!("{} given", count(given, "set"))),
        );
    }

    fn single_set(
        &mut self,
        element: &ast::KeysetElement,
        types: &[Type],
        span: Span,
        select: Span,
    ) -> Option<Vec<KeySet>> {
        match &element.kind {
            ast::KeysetElementKind::Default | ast::KeysetElementKind::DontCare => {
                return Some(types.iter().map(|t| KeySet::Any(t.clone(), element.span)).collect());
            }
            ast::KeysetElementKind::Value(e) => {
                let value = self.expr(e, Some(&Type::tuple(types.to_vec())));
                if value.ty.is_error() {
                    return None;
                }
                if let ExprKind::ValueSet(id) = value.kind {
                    return self.composite_set(&value, types).then(|| vec![KeySet::ValueSet(id, span)]);
                }
            }
            _ => {}
        }
        self.wrong_sets(1, types.len(), span, select);
        None
    }

    /// The single values in a record or tuple.
    fn flatten_parts(&self, ty: &Type, parts: &mut Vec<Type>) {
        match self.infer.shallow(ty) {
            Type::Struct(id, args) => {
                self.field_types(id, &args).iter().for_each(|t| self.flatten_parts(t, parts))
            }
            Type::Tuple(members) => members.iter().for_each(|t| self.flatten_parts(t, parts)),
            other => parts.push(other),
        }
    }

    /// True if the elements of a value set are records with a field for each key.
    fn composite_set(&mut self, value: &Expr, types: &[Type]) -> bool {
        let Type::Set(element) = self.infer.shallow(&value.ty) else { return false };
        let mut parts = vec![];
        self.flatten_parts(&element, &mut parts);
        if parts.len() == types.len() && parts.iter().zip(types).all(|(p, t)| self.unify(p, t)) {
            return true;
        }
        let found = self.show(&element);
        let title = format!("a value set of `{found}` does not fit the keys");
        self.error(codes::BAD_SELECT, value.span, title, "");
        false
    }
}
