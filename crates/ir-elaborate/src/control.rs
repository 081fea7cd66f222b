//! Controls: one for each instance.

use base_diag::Span;
use ir::{Action, ActionId, Control, ControlId, Owner, Stmt, TableId};
use p4_check::typed::{self, Local, Substitution, Type};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::annotation::{annotations, local_name};
use crate::elaborator::Elaborator;
use crate::env::Env;
use crate::instance::Site;
use crate::names::{Unique, qualify};
use crate::stmt::Body;
use crate::value::{Object, Value};

/// The actions of a control: its own first, then those of the program that it uses, in the order of their use.
#[derive(Default)]
pub(crate) struct ActionTable {
    ids: FxHashMap<typed::ActionId, ActionId>,
    order: Vec<typed::ActionId>,
}

impl ActionTable {
    fn add(&mut self, id: typed::ActionId) -> ActionId {
        let made = ActionId::from(self.order.len());
        self.order.push(id);
        self.ids.insert(id, made);
        made
    }
}

impl Elaborator<'_> {
    /// An instance of a control with these closed type arguments and constructor arguments.
    pub(crate) fn control(
        &mut self,
        id: typed::ControlId,
        type_args: Vec<Type>,
        values: Vec<(typed::VarId, Value)>,
        site: Site<'_>,
    ) -> Object {
        let decl = &self.typed.controls[id];
        let env = Env {
            subst: Substitution::new(&decl.type_params, &type_args),
            values: values.into_iter().collect(),
            prefix: self.prefix(&decl.name.text, &site),
            ..Env::default()
        };
        let made = self.deeper(site.span, |el| el.control_instance(decl, env, &site));
        made.map_or(Object::Broken, Object::Control)
    }

    /// The prefix of a block's members' names. Blocks of packages are named after themselves; where another block
    /// has that name already, as in a second pipeline, the package's name comes before.
    pub(crate) fn prefix(&mut self, declared: &SmolStr, site: &Site<'_>) -> SmolStr {
        match site.is_global {
            false => site.control_plane_name.clone(),
            true if site.package == "main" || self.prefixes.insert(declared.clone()) => declared.clone(),
            true => qualify(&site.package, declared),
        }
    }

    fn control_instance(&mut self, decl: &typed::Control, env: Env, site: &Site<'_>) -> ControlId {
        let prefix = env.prefix.clone();
        let named = format!("{}_{}", decl.name.text, site.name);
        let name = self.block_names.pick(&[&decl.name.text, &named]);
        let mut body = Body::new(self, env);
        body.actions = Some(ActionTable::default());
        let params = decl.params.iter().map(|p| body.declare(*p)).collect();
        let (mut locals, tables) = body.control_locals(&decl.locals);
        let tables = tables.into_iter().map(|t| body.table(t)).collect();
        for stmt in body.take_hoisted() {
            match stmt.kind {
                ir::StmtKind::Declare(..) => locals.push(stmt),
                _ => body.el.refuse("a header union made in a table's key or property", stmt.span),
            }
        }
        let apply = body.block(&decl.body);
        let actions = body.finish_actions();
        let (env, vars) = body.finish();
        let made = ControlId::from(self.out.controls.len());
        self.set_owner(&env.instances, Owner::Control(made));
        self.out.controls.push(Control {
            name,
            control_plane_name: prefix,
            params,
            vars,
            locals,
            instances: env.instances,
            actions,
            tables,
            body: apply,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        });
        made
    }
}

impl Body<'_, '_> {
    /// Makes the declarations beside `apply`; returns the variables' statements and the tables.
    fn control_locals(&mut self, locals: &[Local]) -> (Vec<Stmt>, Vec<typed::TableId>) {
        let mut stmts = vec![];
        let mut tables = vec![];
        for local in locals {
            match local {
                Local::Var(stmt) => self.stmt(stmt, &mut stmts),
                Local::Const(id) => self.constant(*id),
                Local::Instance(id) => self.local_instance(*id),
                Local::Action(id) => {
                    if let Some(actions) = &mut self.actions {
                        actions.add(*id);
                    }
                }
                Local::Table(id) => {
                    self.env.tables.insert(*id, TableId::from(tables.len()));
                    tables.push(*id);
                }
                Local::ValueSet(id) => {
                    let span = self.el.typed.value_sets[*id].span;
                    self.el.refuse("a value set in a control", span);
                }
            }
        }
        (stmts, tables)
    }

    /// An instance declared in this block.
    pub(crate) fn local_instance(&mut self, id: typed::InstanceId) {
        let object = self.el.instance(&mut self.env, id, false);
        self.env.objects.insert(id, object);
    }

    /// The action in this control; the program's actions are copied into the controls that use them.
    pub(crate) fn action_id(&mut self, id: typed::ActionId, span: Span) -> Option<ActionId> {
        let Some(actions) = &mut self.actions else {
            self.el.refuse("calling an action from here", span);
            return None;
        };
        Some(actions.ids.get(&id).copied().unwrap_or_else(|| actions.add(id)))
    }

    /// The actions with their bodies. A body may use further actions of the program: they come after.
    fn finish_actions(&mut self) -> Vec<Action> {
        let mut made = vec![];
        let mut names = Unique::default();
        while let Some(id) = self.actions.as_ref().and_then(|a| a.order.get(made.len()).copied()) {
            made.push(self.action(id, &mut names));
        }
        made
    }

    fn action(&mut self, id: typed::ActionId, names: &mut Unique) -> Action {
        let decl = &self.el.typed.actions[id];
        let top_level = decl.control.is_none();
        let prefix = if top_level { "" } else { self.env.prefix.as_str() };
        let control_plane_name = qualify(prefix, local_name(&decl.annotations, &decl.name));
        let params = decl.params.iter().map(|p| self.declare(*p)).collect();
        Action {
            name: names.pick(&[&decl.name.text]),
            control_plane_name,
            params,
            body: self.block(&decl.body),
            top_level,
            annotations: annotations(&decl.annotations),
            span: decl.span,
        }
    }
}
