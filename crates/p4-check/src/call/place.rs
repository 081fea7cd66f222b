//! Contexts of calls: tables and controls are applied in controls, parsers in parsers, and nothing that changes
//! anything is called at the top level (P4-16 §12.7, appendix F).

use base_diag::Span;

use crate::codes;
use crate::cx::{Checker, Place};
use crate::typed::{FunctionId, FunctionOwner, TableId};

impl Checker {
    fn refuse(&mut self, span: Span, title: &str, why: &str) {
        self.error(codes::CALL_PLACE, span, title, why);
    }

    pub(crate) fn check_function_place(&mut self, id: FunctionId, span: Span) {
        let function = &self.program.functions[id];
        let name = function.name.text.clone();
        let from_core = matches!(function.owner, FunctionOwner::ExternFunction);
        if name == "static_assert" {
            return;
        }
        if name == "verify" && from_core && !matches!(self.place, Place::ParserState | Place::ParserLocals) {
            self.refuse(span, "`verify` outside a parser", "only parsers can fail");
        }
    }

    pub(crate) fn check_action_place(&mut self, span: Span) {
        match self.place {
            Place::ParserState | Place::ParserLocals => {
                self.refuse(
                    span,
                    "action called in a parser",
                    "actions are called from controls and actions",
                );
            }
            Place::Function | Place::Method => {
                self.refuse(
                    span,
                    "action called in a function",
                    "actions are called from controls and actions",
                );
            }
            Place::TopLevel | Place::TableProperty | Place::TableKey => {
                self.refuse(span, "action called here", "actions are called from controls and actions");
            }
            Place::ControlLocals | Place::ControlApply | Place::Action => {}
        }
    }

    pub(crate) fn check_table_place(&mut self, table: TableId, span: Span) {
        if self.table == Some(table) {
            let name = self.program.tables[table].name.text.clone();
            self.refuse(span, &format!("table `{name}` applied in its own declaration"), "");
        } else if self.place == Place::Action {
            self.refuse(span, "table applied in an action", "tables are applied in `apply` blocks");
        } else if self.place != Place::ControlApply && self.place != Place::TableKey {
            self.refuse(span, "table applied here", "tables are applied in `apply` blocks");
        }
    }

    pub(crate) fn check_apply_place(&mut self, is_parser: bool, span: Span) {
        let wanted = if is_parser { Place::ParserState } else { Place::ControlApply };
        if self.place == wanted {
            return;
        }
        let (title, why) = match (is_parser, self.place) {
            (false, Place::Action) => {
                ("control applied in an action", "controls are applied in `apply` blocks")
            }
            (false, _) => ("control applied here", "controls are applied in `apply` blocks of controls"),
            (true, _) => ("parser applied here", "parsers are applied in states of parsers"),
        };
        self.refuse(span, title, why);
    }
}
