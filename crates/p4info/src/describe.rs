//! The description of a program: first all symbols, then everything by them.

use crate::annotation::{documentation, has, structured, unstructured};
use crate::object::Object;
use crate::symbol::{Kind, Symbols};
use crate::types::Types;
use crate::used::{self, Within};
use base_diag::{Diagnostic, codes::elaborate as codes};
use ir::{Action, Annotations, Control, ControlId, Instance, InstanceId, Name, ParserId, Program, Table};
use p4runtime_proto::p4::config::v1::{P4Info, Preamble, action::Param};
use std::collections::{BTreeMap, BTreeSet};

/// An action that can run.
#[derive(Clone, Copy)]
pub(crate) struct UsedAction<'p> {
    pub(crate) control: &'p Control,
    pub(crate) action: &'p Action,
    /// A table can run it: its parameters without direction come from the control plane.
    pub(crate) has_data: bool,
}

/// A description in the making.
pub(crate) struct Describer<'p> {
    pub(crate) program: &'p Program,
    pub(crate) symbols: Symbols,
    pub(crate) types: Types<'p>,
    pub(crate) info: P4Info,
    pub(crate) diagnostics: Vec<Diagnostic>,
    parsers: Vec<ParserId>,
    /// With what each uses of its own.
    controls: Vec<(ControlId, Within)>,
}

impl<'p> Describer<'p> {
    pub(crate) fn new(program: &'p Program) -> Describer<'p> {
        let used = used::blocks(program);
        let controls = used.controls.into_iter().map(|id| (id, used::within(program.control(id)))).collect();
        Describer {
            program,
            symbols: Symbols::default(),
            types: Types::new(program),
            info: P4Info::default(),
            diagnostics: vec![],
            parsers: used.parsers,
            controls,
        }
    }

    pub(crate) fn run(mut self) -> Result<P4Info, Vec<Diagnostic>> {
        self.collect();
        self.refuse_equal_names();
        self.symbols.number();
        self.package();
        self.actions();
        self.tables();
        self.objects();
        self.digest_calls();
        self.value_sets();
        self.controller_headers();
        self.diagnostics.append(&mut self.symbols.diagnostics);
        if !self.diagnostics.is_empty() {
            return Err(self.diagnostics);
        }
        self.info.type_info = Some(self.types.finish()).filter(|types| *types != Default::default());
        Ok(self.info)
    }

    /// Notes everything that gets an id, hidden things too: an alias must differ from these, too.
    fn collect(&mut self) {
        for UsedAction { action, .. } in self.used_actions() {
            self.symbols.add(Kind::Action, &action.control_plane_name, &action.annotations, action.span);
        }
        for (_, table) in self.used_tables() {
            self.symbols.add(Kind::Table, &table.control_plane_name, &table.annotations, table.span);
        }
        for (_, instance, object) in self.described_objects() {
            let (name, annotations) = (&instance.control_plane_name, &instance.annotations);
            self.symbols.add(object.kind(), name, annotations, instance.span);
        }
        for (name, _) in self.called_digests() {
            self.symbols.add(Kind::Digest, &name, &vec![], base_diag::Span::NONE);
        }
        for set in self.used_value_sets() {
            self.symbols.add(Kind::ValueSet, &set.control_plane_name, &set.annotations, set.span);
        }
        for decl in self.controller_header_types() {
            let name = Name::from(crate::types::type_name(decl));
            self.symbols.add(Kind::ControllerHeader, &name, &decl.annotations, decl.span);
        }
    }

    /// Two actions of one name are described as one, which is true of both if they take the same data. Tables tell them
    /// apart. Copies of a top-level action are one.
    fn refuse_equal_names(&mut self) {
        let mut first: BTreeMap<&Name, (&Action, Vec<Param>)> = BTreeMap::new();
        let (program, controls) = (self.program, std::mem::take(&mut self.controls));
        for (id, within) in &controls {
            let control = program.control(*id);
            for id in within.listed.union(&within.called) {
                let Some(action) = control.actions.get(id.index()) else { continue };
                if has(&action.annotations, "hidden") {
                    continue;
                }
                let data = self.action_data(control, action, within.has_data(*id));
                let (before, wanted) =
                    first.entry(&action.control_plane_name).or_insert_with(|| (action, data.clone()));
                let is_copy = action.top_level && before.top_level && action.span == before.span;
                if !is_copy && !same_data(&data, wanted) {
                    let title =
                        format!("two actions have the control-plane name `{}`", action.control_plane_name);
                    let error = Diagnostic::error(codes::DUPLICATE_NAME, title)
                        .at(action.span, "this one takes other data")
                        .at(before.span, "the first one")
                        .note("a P4Info has one action of each name (P4-16 §18.3.2), and its data for all")
                        .help("give one of them another name with `@name(\"...\")`");
                    self.diagnostics.push(error);
                }
            }
        }
        self.controls = controls;
    }

    pub(crate) fn used_controls(&self) -> Vec<&'p Control> {
        self.controls.iter().map(|(id, _)| self.program.control(*id)).collect()
    }

    /// The actions that can run, one of each name: top-level ones stand in every control that uses them.
    pub(crate) fn used_actions(&self) -> Vec<UsedAction<'p>> {
        let mut names = BTreeSet::new();
        let mut found = vec![];
        for (id, within) in &self.controls {
            let control = self.program.control(*id);
            let mut used: Vec<UsedAction<'p>> = vec![];
            for id in within.listed.union(&within.called) {
                if let Some(action) = control.actions.get(id.index()) {
                    used.push(UsedAction { control, action, has_data: within.has_data(*id) });
                }
            }
            used.sort_by_key(|used| !used.action.top_level);
            found.extend(used.into_iter().filter(|used| names.insert(&used.action.control_plane_name)));
        }
        found
    }

    /// The tables that can be applied.
    pub(crate) fn used_tables(&self) -> Vec<(&'p Control, &'p Table)> {
        let tables = self.controls.iter().map(|(id, within)| (self.program.control(*id), within));
        let of = |(control, within): (&'p Control, &Within)| {
            let tables = within.tables.iter().filter_map(|id| control.tables.get(id.index()));
            tables.map(|table| (control, table)).collect::<Vec<_>>()
        };
        tables.flat_map(of).collect()
    }

    /// The value sets of parsers that can run.
    pub(crate) fn used_value_sets(&self) -> Vec<&'p ir::ValueSet> {
        self.parsers.iter().flat_map(|id| &self.program.parser(*id).value_sets).collect()
    }

    /// The extern instances of the program and of blocks that can run, that control planes know.
    pub(crate) fn described_objects(&self) -> Vec<(InstanceId, &'p Instance, Object)> {
        let owned = |instance: &Instance| match instance.owner {
            ir::Owner::Program => true,
            ir::Owner::Control(id) => self.controls.iter().any(|(c, _)| *c == id),
            ir::Owner::Parser(id) => self.parsers.contains(&id),
        };
        let all = self.program.instances.iter().enumerate().filter(|(_, instance)| owned(instance));
        let known = |(index, instance): (usize, &'p Instance)| {
            let object = Object::of(self.program.extern_object(instance.object))?;
            Some((InstanceId::from(index), instance, object))
        };
        all.filter_map(known).collect()
    }

    /// Preamble of a description; `None` for hidden objects.
    pub(crate) fn preamble(
        &self,
        kind: Kind,
        name: &Name,
        annotations: &Annotations,
        elsewhere: &[&str],
    ) -> Option<Preamble> {
        if has(annotations, "hidden") {
            return None;
        }
        Some(Preamble {
            id: self.symbols.id(kind, name),
            name: name.to_string(),
            alias: self.symbols.alias(name),
            doc: documentation(annotations),
            annotations: unstructured(annotations, elsewhere),
            structured_annotations: structured(annotations),
            annotation_locations: vec![],
        })
    }
}

/// Whether values for the one are values for the other, by number and by name.
fn same_data(one: &[Param], other: &[Param]) -> bool {
    let facts = |param: &Param| (param.id, param.name.clone(), param.bitwidth, param.type_name.clone());
    one.iter().map(facts).eq(other.iter().map(facts))
}
