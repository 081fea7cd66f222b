//! Functions, parsers and controls: heads first, bodies when all heads are known.

use super::{Reader, Result, Scope, Token};
use crate::{
    Action, Annotations, Block, Control, Direction, Function, InstanceId, MatchKind, Name, Parser,
    ParserState, Select, SelectCase, StateRef, Stmt, Transition, Type, ValueSet, Var, VarId, VarKind,
};
use base_diag::Span;

impl Reader<'_> {
    pub(super) fn function_head(&mut self, name: Name, annotations: Annotations) -> Result<()> {
        self.skip_params()?;
        self.expect("->")?;
        let returns = self.ty()?;
        self.program.functions.push(Function {
            name,
            returns,
            params: vec![],
            vars: vec![],
            body: Block::default(),
            annotations,
            span: Span::NONE,
        });
        Ok(())
    }

    pub(super) fn parser_head(&mut self, name: Name, annotations: Annotations) -> Result<()> {
        self.skip_params()?;
        let control_plane_name = self.string()?.into();
        self.program.parsers.push(Parser {
            name,
            control_plane_name,
            params: vec![],
            vars: vec![],
            locals: vec![],
            instances: vec![],
            value_sets: vec![],
            states: vec![],
            annotations,
            span: Span::NONE,
        });
        Ok(())
    }

    pub(super) fn control_head(&mut self, name: Name, annotations: Annotations) -> Result<()> {
        self.skip_params()?;
        let control_plane_name = self.string()?.into();
        self.program.controls.push(Control {
            name,
            control_plane_name,
            params: vec![],
            vars: vec![],
            locals: vec![],
            instances: vec![],
            actions: vec![],
            tables: vec![],
            body: Block::default(),
            annotations,
            span: Span::NONE,
        });
        Ok(())
    }

    /// Parameters are named before the variables they name; they are read once those are known.
    fn skip_params(&mut self) -> Result<usize> {
        let at = self.at;
        self.expect("(")?;
        while !self.eat(")") {
            match self.peek() {
                Token::Word(_) | Token::Quoted(_) | Token::Number(_) | Token::Sign("," | "#" | "?") => {
                    self.advance();
                }
                _ => return self.expected("`)`"),
            }
        }
        Ok(at)
    }

    fn params_at(&mut self, at: usize) -> Result<Vec<VarId>> {
        let back = std::mem::replace(&mut self.at, at);
        let params = self.params()?;
        self.at = back;
        Ok(params)
    }

    fn params(&mut self) -> Result<Vec<VarId>> {
        self.expect("(")?;
        self.list(")", |r| {
            let name = r.reference()?;
            r.resolve(&r.scope.var_names, "variable", &name)
        })
    }

    pub(super) fn function_body(&mut self, index: usize) -> Result<()> {
        let params = self.skip_params()?;
        self.expect("->")?;
        self.ty()?;
        self.expect("{")?;
        self.scope = Scope::default();
        self.vars()?;
        let params = self.params_at(params)?;
        self.expect_word("body")?;
        let body = self.block()?;
        self.expect("}")?;
        if let Some(function) = self.program.functions.get_mut(index) {
            function.params = params;
            function.vars = std::mem::take(&mut self.scope.vars);
            function.body = body;
        }
        Ok(())
    }

    pub(super) fn parser_body(&mut self, index: usize) -> Result<()> {
        let params = self.skip_params()?;
        self.string()?;
        self.expect("{")?;
        self.scope = Scope::default();
        self.parser_names()?;
        self.vars()?;
        let params = self.params_at(params)?;
        let (locals, instances) = self.declarations()?;
        let (mut value_sets, mut states) = (vec![], vec![]);
        while !self.eat("}") {
            let annotations = self.annotations()?;
            if self.eat_word("value_set") {
                value_sets.push(self.value_set(annotations)?);
            } else {
                states.push(self.state(annotations)?);
            }
        }
        if let Some(parser) = self.program.parsers.get_mut(index) {
            parser.params = params;
            parser.vars = std::mem::take(&mut self.scope.vars);
            (parser.locals, parser.instances) = (locals, instances);
            (parser.value_sets, parser.states) = (value_sets, states);
        }
        Ok(())
    }

    /// Collects the names of states and value sets, and comes back.
    fn parser_names(&mut self) -> Result<()> {
        let back = self.at;
        while !self.sees("}") {
            self.annotations()?;
            if self.eat_word("state") {
                let name = self.name()?;
                self.scope.states.push(name);
            } else if self.eat_word("value_set") {
                let name = self.name()?;
                self.scope.value_sets.push(name);
            }
            self.skip_content()?;
        }
        self.at = back;
        Ok(())
    }

    pub(super) fn control_body(&mut self, index: usize) -> Result<()> {
        let params = self.skip_params()?;
        self.string()?;
        self.expect("{")?;
        self.scope = Scope::default();
        self.control_names()?;
        self.vars()?;
        let params = self.params_at(params)?;
        let (locals, instances) = self.declarations()?;
        let (mut actions, mut tables) = (vec![], vec![]);
        loop {
            if self.eat_word("apply") {
                break;
            }
            let annotations = self.annotations()?;
            if self.eat_word("action") {
                actions.push(self.action(annotations)?);
            } else if self.eat_word("table") {
                tables.push(self.table(annotations)?);
            } else {
                return self.expected("`action`, `table` or `apply`");
            }
        }
        let body = self.block()?;
        self.expect("}")?;
        if let Some(control) = self.program.controls.get_mut(index) {
            control.params = params;
            control.vars = std::mem::take(&mut self.scope.vars);
            (control.locals, control.instances) = (locals, instances);
            (control.actions, control.tables, control.body) = (actions, tables, body);
        }
        Ok(())
    }

    /// Collects the names of actions and tables, then the tables' action lists, and comes back.
    fn control_names(&mut self) -> Result<()> {
        let back = self.at;
        let mut tables = vec![];
        while !self.sees("}") {
            self.annotations()?;
            if self.eat_word("action") {
                let name = self.name()?;
                self.scope.actions.push(name);
            } else if self.eat_word("table") {
                let name = self.name()?;
                self.scope.tables.push(name);
                tables.push(self.at);
            } else if self.eat_word("apply") {
                self.annotations()?;
            }
            self.skip_content()?;
        }
        for table in tables {
            self.at = table;
            let list = self.action_list_ahead()?;
            self.scope.action_lists.push(list);
        }
        self.at = back;
        Ok(())
    }

    fn action(&mut self, annotations: Annotations) -> Result<Action> {
        let name = self.name()?;
        let params = self.params()?;
        let control_plane_name = self.string()?.into();
        let top_level = self.eat_word("top_level");
        let body = self.block()?;
        Ok(Action { name, control_plane_name, params, body, top_level, annotations, span: Span::NONE })
    }

    fn vars(&mut self) -> Result<()> {
        if !self.eat_word("vars") {
            return Ok(());
        }
        self.expect("{")?;
        while !self.eat("}") {
            let annotations = self.annotations()?;
            let kind = if self.eat_word("local") {
                VarKind::Local
            } else if self.eat_word("param") {
                VarKind::Param(Direction::None)
            } else if let Some(direction) = self.direction() {
                VarKind::Param(direction)
            } else {
                return self.expected("`local`, `param`, `in`, `out` or `inout`");
            };
            let ty: Type = self.ty()?;
            let name = self.name()?;
            self.expect(";")?;
            self.scope.var_names.push(name.clone());
            self.scope.vars.push(Var { name, ty, kind, annotations, span: Span::NONE });
        }
        Ok(())
    }

    fn declarations(&mut self) -> Result<(Vec<Stmt>, Vec<InstanceId>)> {
        let locals = if self.eat_word("locals") { self.braced_stmts()? } else { vec![] };
        let mut instances = vec![];
        if self.eat_word("instances") {
            instances = self.list(";", |r| {
                let name = r.reference()?;
                r.resolve(&r.instances, "instance", &name)
            })?;
        }
        Ok((locals, instances))
    }

    fn value_set(&mut self, annotations: Annotations) -> Result<ValueSet> {
        let name = self.name()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let control_plane_name = self.string()?.into();
        self.expect_word("match")?;
        self.expect("(")?;
        let match_kinds = self.list(")", Reader::match_kind)?;
        self.expect_word("size")?;
        let size = self.number()?;
        self.expect(";")?;
        Ok(ValueSet { name, control_plane_name, ty, match_kinds, size, annotations, span: Span::NONE })
    }

    fn state(&mut self, annotations: Annotations) -> Result<ParserState> {
        self.expect_word("state")?;
        let name = self.name()?;
        self.expect("{")?;
        let mut stmts = vec![];
        while !self.sees_word("goto") && !self.sees_word("select") {
            stmts.push(self.stmt()?);
        }
        let transition = if self.eat_word("goto") {
            let next = self.state_ref()?;
            self.expect(";")?;
            Transition::Goto(next)
        } else {
            Transition::Select(self.select()?)
        };
        self.expect("}")?;
        Ok(ParserState { name, stmts, transition, annotations, span: Span::NONE })
    }

    fn select(&mut self) -> Result<Select> {
        self.expect_word("select")?;
        self.expect("(")?;
        let exprs = self.list(")", Reader::expr)?;
        let mut cases = vec![];
        self.expect("{")?;
        while !self.eat("}") {
            let keys = self.keysets()?;
            self.expect(":")?;
            let next = self.state_ref()?;
            self.expect(";")?;
            cases.push(SelectCase { keys, next, span: Span::NONE });
        }
        Ok(Select { exprs, cases })
    }

    fn state_ref(&mut self) -> Result<StateRef> {
        if self.eat_word("accept") {
            return Ok(StateRef::Accept);
        }
        if self.eat_word("reject") {
            return Ok(StateRef::Reject);
        }
        let name = self.reference()?;
        Ok(StateRef::State(self.resolve(&self.scope.states, "state", &name)?))
    }

    pub(super) fn match_kind(&mut self) -> Result<MatchKind> {
        let kind = match self.peek() {
            Token::Word(word) => match word.as_str() {
                "exact" => MatchKind::Exact,
                "ternary" => MatchKind::Ternary,
                "lpm" => MatchKind::Lpm,
                "range" => MatchKind::Range,
                "optional" => MatchKind::Optional,
                "selector" => MatchKind::Selector,
                _ => return self.error("unknown match kind; one that is declared stands in backquotes"),
            },
            Token::Quoted(name) => MatchKind::Other(name.as_str().into()),
            _ => return self.expected("a match kind"),
        };
        self.advance();
        Ok(kind)
    }
}
