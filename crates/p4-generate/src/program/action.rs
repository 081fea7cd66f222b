//! Actions.

use super::function::{Dir, Param};
use super::objects::Object;
use super::scope::Scope;
use super::types::Ty;
use super::{Context, Gen, Where};
use crate::feature::Feature as F;

/// An action that tables can list.
#[derive(Clone, Debug)]
pub(crate) struct Action {
    pub(crate) name: String,
    /// Parameters; those with a direction come first.
    pub(crate) params: Vec<Param>,
}

impl Action {
    pub(crate) fn directed(&self) -> &[Param] {
        let count = self.params.iter().take_while(|p| p.dir != Dir::None).count();
        &self.params[..count]
    }

    pub(crate) fn data(&self) -> &[Param] {
        &self.params[self.directed().len()..]
    }
}

const NAMES: &[&str] = &["set", "forward", "rewrite", "note", "tally", "swap_out", "refresh"];

impl Gen {
    /// An action of the control that is being written; `object` is a direct counter or meter that it uses.
    pub(super) fn declare_action(&mut self, object: Option<&Object>) -> Action {
        self.note(F::Action);
        let stem = *self.rng.pick(NAMES).unwrap_or(&"set");
        let name = self.fresh(stem);
        let mut params = vec![];
        if object.is_none() && self.on(F::DirectedAction) && self.chance(40) {
            self.note(F::DirectedAction);
            params = self.some_params(true);
        }
        if self.chance(60) {
            params.extend(self.data_params());
        }
        let action = Action { name: name.clone(), params };
        self.action_text(&action, object);
        action
    }

    fn data_params(&mut self) -> Vec<Param> {
        self.note(F::ActionData);
        let mut params = vec![];
        for name in ["v", "w"].iter().take(self.between(1, 2) as usize) {
            let ty = match self.below(8) {
                0 if !self.config.portable => Ty::Bool,
                _ => Ty::Bit(self.width()),
            };
            params.push(Param { dir: Dir::None, name: (*name).to_string(), ty });
        }
        params
    }

    fn action_text(&mut self, action: &Action, object: Option<&Object>) {
        let head = format!("action {}({}) {{", action.name, self.show_params(&action.params));
        let places = self.scope.places.len();
        let outer = self.cx.clone();
        self.cx = Context {
            action: true,
            fuel: 4,
            depth: 0,
            loops: 0,
            tables: vec![],
            instances: vec![],
            ..outer.clone()
        };
        self.add_params(&action.params);
        self.out.open(head);
        self.initialise_outs(&action.params);
        if let Some(object) = object {
            self.use_direct(object);
        }
        // Action data shows in a packet.
        for param in action.data() {
            if self.chance(70)
                && let Some(target) = self.target(&param.ty)
            {
                self.out.line(format!("{target} = {};", param.name));
            }
        }
        action.directed().iter().for_each(|param| self.use_directed(param));
        self.statements(3);
        self.out.close("}");
        self.cx = outer;
        self.scope.places.truncate(places);
    }

    /// Assigns an action's `out` and `inout` parameters, also by calls and operators.
    fn use_directed(&mut self, param: &Param) {
        let Ty::Bit(width) = param.ty else { return };
        if param.dir == Dir::In {
            return;
        }
        if self.chance(40)
            && let Some(call) = self.call_of_type(&param.ty, 2)
        {
            self.out.line(format!("{} = {call};", param.name));
        }
        if self.on(F::CompoundAssign) && self.chance(40) {
            self.note(F::CompoundAssign);
            let op = *self.rng.pick(&["+", "^", "|"]).unwrap_or(&"+");
            let value = self.bits(width, 1);
            self.out.line(format!("{} {op}= {value};", param.name));
        }
    }

    /// An action outside of all controls: it knows its parameters only.
    pub(super) fn declare_top_level_action(&mut self) -> Action {
        self.note(F::TopLevelAction);
        let name = self.fresh("count_down");
        let width = self.width();
        let params = vec![
            Param { dir: Dir::InOut, name: "p".to_string(), ty: Ty::Bit(width) },
            Param { dir: Dir::None, name: "v".to_string(), ty: Ty::Bit(width) },
        ];
        let action = Action { name, params };
        let cx = Context { place: Where::Piece, fuel: 3, ..Context::default() };
        let text = self.within(cx, Scope::default(), |g| g.action_text(&action, None));
        self.decl(text);
        action
    }

    pub(super) fn call_action(&mut self) -> Option<bool> {
        let action = self.rng.pick(&self.cx.actions).cloned()?;
        if self.cx.pure || self.config.portable && self.cx.loops > 0 {
            return None;
        }
        let args = self.arguments(&action.params, 2)?;
        self.note(F::ActionCall);
        self.out.line(format!("{}({});", action.name, args.join(", ")));
        Some(false)
    }
}
