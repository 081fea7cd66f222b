//! Tables.

use super::{Names, Reader, Result, Token};
use crate::{
    ActionId, ActionRef, Annotations, DefaultAction, Entry, Expr, InstanceId, Keyset, Table, TableKey, TypeId,
};
use base_diag::Span;

impl Reader<'_> {
    /// The names of the action list of the table whose content begins here.
    pub(super) fn action_list_ahead(&mut self) -> Result<Names> {
        let mut names = Names::default();
        self.string()?;
        self.expect("{")?;
        if self.eat_word("key") {
            self.skip_content()?;
        }
        self.expect_word("actions")?;
        self.expect("{")?;
        while !self.eat("}") {
            self.annotations()?;
            let reference = self.reference()?;
            names.push(reference.name.unwrap_or("?".into()).into());
            self.skip_content()?;
        }
        Ok(names)
    }

    pub(super) fn table(&mut self, annotations: Annotations) -> Result<Table> {
        let name = self.name()?;
        let here = self.at;
        let list = self.action_list_ahead()?;
        self.at = here;
        let control_plane_name = self.string()?.into();
        self.expect("{")?;
        let keys = if self.eat_word("key") { self.keys()? } else { vec![] };
        let actions = self.actions()?;
        let default_action = self.default_action(&list)?;
        let const_entries = self.eat_word("const");
        let entries = if const_entries || self.sees_word("entries") { self.entries(&list)? } else { vec![] };
        let mut table = Table {
            name,
            control_plane_name,
            keys,
            actions,
            default_action,
            entries,
            const_entries,
            largest_priority_wins: true,
            size: None,
            implementation: None,
            counters: None,
            meters: None,
            properties: vec![],
            annotations,
            span: Span::NONE,
        };
        while !self.eat("}") {
            self.property(&mut table)?;
            self.expect(";")?;
        }
        Ok(table)
    }

    fn keys(&mut self) -> Result<Vec<TableKey>> {
        let mut keys = vec![];
        self.expect("{")?;
        while !self.eat("}") {
            let annotations = self.annotations()?;
            let expr = self.expr()?;
            self.expect(":")?;
            let match_kind = self.match_kind()?;
            let name = self.string()?.into();
            self.expect(";")?;
            keys.push(TableKey { expr, match_kind, name, annotations });
        }
        Ok(keys)
    }

    fn actions(&mut self) -> Result<Vec<ActionRef>> {
        let mut actions = vec![];
        self.expect_word("actions")?;
        self.expect("{")?;
        while !self.eat("}") {
            let annotations = self.annotations()?;
            let name = self.reference()?;
            let action: ActionId = self.resolve(&self.scope.actions, "action", &name)?;
            let args = self.plain_args()?;
            self.expect(";")?;
            actions.push(ActionRef { action, args, annotations });
        }
        Ok(actions)
    }

    fn default_action(&mut self, list: &Names) -> Result<DefaultAction> {
        self.expect_word("default")?;
        let is_const = self.eat_word("const");
        let action = self.listed_action(list)?;
        let args = self.plain_args()?;
        self.expect(";")?;
        Ok(DefaultAction { action, args, is_const })
    }

    /// A reference to an element of a table's action list.
    pub(super) fn listed_action(&mut self, list: &Names) -> Result<u32> {
        let reference = self.reference()?;
        let index: TypeId = self.resolve(list, "action in the list", &reference)?;
        Ok(index.0)
    }

    fn entries(&mut self, list: &Names) -> Result<Vec<Entry>> {
        let mut entries = vec![];
        self.expect_word("entries")?;
        self.expect("{")?;
        while !self.eat("}") {
            let annotations = self.annotations()?;
            let is_const = self.eat_word("const");
            let keys = self.keysets()?;
            let priority = if self.eat_word("priority") { Some(self.number()?) } else { None };
            self.expect("->")?;
            let action = self.listed_action(list)?;
            let args = self.plain_args()?;
            self.expect(";")?;
            entries.push(Entry { keys, action, args, priority, is_const, annotations, span: Span::NONE });
        }
        Ok(entries)
    }

    fn property(&mut self, table: &mut Table) -> Result<()> {
        let word = match self.peek() {
            Token::Word(word) => word.clone(),
            _ => return self.expected("a property"),
        };
        match word.as_str() {
            "smallest_priority_wins" => {
                self.advance();
                table.largest_priority_wins = false;
            }
            "size" => {
                self.advance();
                table.size = Some(self.number()?);
            }
            "implementation" => table.implementation = Some(self.property_instance()?),
            "counters" => table.counters = Some(self.property_instance()?),
            "meters" => table.meters = Some(self.property_instance()?),
            "property" => {
                self.advance();
                let name = self.name()?;
                self.expect("=")?;
                table.properties.push((name, self.expr()?));
            }
            _ => return self.expected("a property"),
        }
        Ok(())
    }

    fn property_instance(&mut self) -> Result<InstanceId> {
        self.advance();
        let name = self.reference()?;
        self.resolve(&self.instances, "instance", &name)
    }

    fn plain_args(&mut self) -> Result<Vec<Expr>> {
        self.expect("(")?;
        self.list(")", Reader::expr)
    }

    /// Keysets in parentheses.
    pub(super) fn keysets(&mut self) -> Result<Vec<Keyset>> {
        self.expect("(")?;
        self.list(")", Reader::keyset)
    }

    fn keyset(&mut self) -> Result<Keyset> {
        if self.eat_word("_") {
            return Ok(Keyset::DontCare);
        }
        if self.eat_word("set") {
            let name = self.reference()?;
            return Ok(Keyset::ValueSet(self.resolve(&self.scope.value_sets, "value set", &name)?));
        }
        let value = self.expr()?;
        if self.eat("&&&") {
            return Ok(Keyset::Mask(value, self.expr()?));
        }
        if self.eat("..") {
            return Ok(Keyset::Range(value, self.expr()?));
        }
        Ok(Keyset::Value(value))
    }
}
