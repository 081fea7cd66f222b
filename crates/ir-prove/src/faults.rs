//! Possible faults of a splitter: each changes all parts of every split in one way.
//!
//! A [mutant](crate::mutants) is one place of one split; a fault is everywhere. Random programs have to show each of them.

use base_bits::Bits;
use ir::{
    BinaryOp, Block, Callee, Const, Expr, ExprKind, Program, StageKind, Stmt, StmtKind, Type, UnaryOp, visit,
};
use ir_split::Part;
use std::sync::Arc;

/// A fault of the splitter.
pub struct Fault {
    /// Name of the fault.
    pub name: &'static str,
    edit: fn(&At<'_>, &mut Stmt) -> Edit,
}

/// Edit of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edit {
    Keep,
    Lose,
    Changed,
    Twice,
}

/// Position of a statement.
struct At<'a> {
    program: &'a Program,
    prefix: &'a str,
    /// The action it is in.
    action: &'a str,
    /// True if the fault is in the parser.
    in_parser: bool,
}

/// All of them.
pub const FAULTS: [Fault; 28] = [
    Fault { name: "the drop does not travel", edit: |at, s| lose(at.saves(s) == Some("egress_spec")) },
    Fault { name: "the egress port does not travel", edit: |at, s| lose(at.saves(s) == Some("egress_port")) },
    Fault { name: "single bits do not travel", edit: |at, s| lose(at.saves(s).is_some() && width(s) == 1) },
    Fault {
        name: "wide values lose their highest bit",
        edit: |at, s| change(at.saves(s).is_some() && width(s) > 8, s, |s| flip(s, width(s) - 1)),
    },
    Fault {
        name: "narrow values lose their lowest bit",
        edit: |at, s| change(at.saves(s).is_some() && (2..=8).contains(&width(s)), s, |s| flip(s, 0)),
    },
    Fault {
        name: "values are returned with their lowest bit flipped",
        edit: |at, s| change(at.restores(s) && width(s) > 1, s, |s| flip(s, 0)),
    },
    Fault {
        name: "members of enums are packed as their neighbours",
        edit: |at, s| change(at.packs_member(s), s, |s| flip(s, 0)),
    },
    Fault { name: "members of enums are not unpacked", edit: |at, s| lose(at.unpacks(s, false)) },
    Fault { name: "validity outside of the packet is not returned", edit: |at, s| lose(at.unpacks(s, true)) },
    Fault {
        name: "every header is marked valid",
        edit: |at, s| change(at.sets_common(s, "has_") && at.action == at.own("send"), s, |s| set(s, 1)),
    },
    Fault {
        name: "no header is marked valid",
        edit: |at, s| change(at.sets_common(s, "has_") && !at.sets_common(s, "has_pad"), s, |s| set(s, 0)),
    },
    Fault { name: "headers are not emptied", edit: |at, s| lose(at.action == at.own("send") && empties(s)) },
    Fault {
        name: "lengths of varbits are not carried",
        edit: |at, s| change(at.sets_common(s, "len_"), s, |s| set(s, 0)),
    },
    Fault {
        name: "lengths of varbits are wrong by a byte",
        edit: |at, s| change(at.sets_common(s, "len_"), s, |s| flip(s, 3)),
    },
    Fault {
        name: "who takes a hand-over forgets the length of a varbit",
        edit: |at, s| lose(at.in_parser && at.notes(s, "len_") && reads_header(s)),
    },
    Fault { name: "short hand-overs are not made longer", edit: |at, s| lose(at.looks_at(s, "short")) },
    Fault {
        name: "a change of their length is not carried",
        edit: |at, s| lose(at.sets_common(s, "has_pad") && sets(s, 1)),
    },
    Fault { name: "a short packet is short once", edit: |at, s| lose(at.in_parser && at.notes(s, "short")) },
    Fault { name: "nothing starts again", edit: |at, s| lose(at.looks_at(s, "restart")) },
    Fault { name: "what starts again does not show it", edit: |at, s| lose(at.looks_at(s, "restarted")) },
    Fault { name: "original headers are not kept", edit: |at, s| lose(at.keeps_original(s)) },
    Fault {
        name: "clones are not made",
        edit: |at, s| lose(at.looks_at(s, "clone") || at.looks_at(s, "egress_clone")),
    },
    Fault { name: "digests are not sent", edit: |at, s| lose(at.looks_near(s, "digest")) },
    Fault { name: "packets are not cut short", edit: |at, s| lose(at.looks_at(s, "truncate")) },
    Fault { name: "packets are not sent around", edit: |at, s| lose(at.looks_at(s, "recirculate")) },
    Fault {
        name: "state is used twice",
        edit: |at, s| if at.uses_state(s) { Edit::Twice } else { Edit::Keep },
    },
    Fault { name: "hand-overs are checked and summed like packets", edit: unguard },
    Fault {
        name: "what comes back in egress goes to port 0",
        edit: |at, s| lose(at.field(s) == Some("egress_spec") && at.action.is_empty() && reads_header(s)),
    },
];

impl Fault {
    /// The parts with this fault; none if nothing of them has it.
    pub fn apply(&self, parts: &[Option<Part>]) -> Option<Vec<Option<Part>>> {
        let mut any = false;
        let broken = parts.iter().map(|part| {
            let part = part.as_ref()?;
            let program = self.program(&part.program, &part.linkage.prefix, &mut any);
            Some(Part { program: Arc::new(program), linkage: part.linkage.clone() })
        });
        let broken = broken.collect();
        any.then_some(broken)
    }

    fn program(&self, source: &Program, prefix: &str, any: &mut bool) -> Program {
        let mut program = source.clone();
        let mut at = At { program: source, prefix, action: "", in_parser: false };
        for (control, whole) in program.controls.iter_mut().zip(&source.controls) {
            self.stmts(&at, &mut control.body.stmts, any);
            for (action, named) in control.actions.iter_mut().zip(&whole.actions) {
                self.stmts(&At { action: &named.name, ..at }, &mut action.body.stmts, any);
            }
        }
        at.in_parser = true;
        for stage in &source.stages {
            let StageKind::Parse(id) = stage.kind else { continue };
            for state in &mut program.parsers[id.index()].states {
                self.stmts(&at, &mut state.stmts, any);
            }
        }
        program
    }

    fn stmts(&self, at: &At<'_>, stmts: &mut Vec<Stmt>, any: &mut bool) {
        for mut stmt in std::mem::take(stmts) {
            let edit = (self.edit)(at, &mut stmt);
            *any |= edit != Edit::Keep;
            if edit == Edit::Keep {
                visit::blocks_mut(&mut stmt, &mut |block: &mut Block| self.stmts(at, &mut block.stmts, any));
            }
            stmts.extend((edit == Edit::Twice).then(|| stmt.clone()));
            stmts.extend((edit != Edit::Lose).then_some(stmt));
        }
    }
}

impl At<'_> {
    fn own(&self, name: &str) -> String {
        format!("{}_{name}", self.prefix)
    }

    fn field_name(&self, place: &Expr) -> Option<&str> {
        let ExprKind::Field(base, index) = &place.kind else { return None };
        self.program.fields(&base.ty).get(*index as usize).map(|f| f.name.as_str())
    }

    /// The field that is assigned.
    fn field(&self, stmt: &Stmt) -> Option<&str> {
        let StmtKind::Assign(place, _) = &stmt.kind else { return None };
        self.field_name(place)
    }

    /// A field of one of the runtime's headers.
    fn is_ours(&self, place: &Expr) -> bool {
        let ExprKind::Field(base, _) = &place.kind else { return false };
        let Type::Named(id) = base.ty else { return false };
        let decl = self.program.type_decl(id);
        self.program.is_header(&base.ty) && decl.name.starts_with(self.prefix)
    }

    /// The live value that is saved.
    fn saves(&self, stmt: &Stmt) -> Option<&str> {
        let StmtKind::Assign(place, _) = &stmt.kind else { return None };
        let saves = self.action.starts_with(&self.own("save_")) && self.is_ours(place);
        self.field(stmt).filter(|field| saves && *field != "padding")
    }

    fn restores(&self, stmt: &Stmt) -> bool {
        self.action.starts_with(&self.own("restore_")) && self.field(stmt).is_some()
    }

    /// `place = n` for the number of a member.
    fn packs_member(&self, stmt: &Stmt) -> bool {
        let StmtKind::Assign(place, value) = &stmt.kind else { return false };
        let is_number = matches!(value.kind, ExprKind::Const(Const::Bits(_)));
        self.action.is_empty()
            && !self.in_parser
            && is_number
            && self.is_ours(place)
            && !self.sets_common(stmt, "has_")
    }

    /// `if (hdr.p4rack_S.value == n) { .. }`
    fn unpacks(&self, stmt: &Stmt, validity: bool) -> bool {
        let StmtKind::If(cond, yes, _) = &stmt.kind else { return false };
        let ExprKind::Binary(BinaryOp::Eq, value, _) = &cond.kind else { return false };
        let sets_valid = matches!(yes.stmts.first().map(|s| &s.kind), Some(StmtKind::SetValid(..)));
        self.is_ours(value) && sets_valid == validity
    }

    /// A field of the common header whose name begins so is assigned.
    fn sets_common(&self, stmt: &Stmt, name: &str) -> bool {
        let StmtKind::Assign(place, _) = &stmt.kind else { return false };
        self.is_ours(place) && self.field(stmt).is_some_and(|field| field.starts_with(name))
    }

    /// A field of the metadata, of the runtime's, is assigned.
    fn notes(&self, stmt: &Stmt, name: &str) -> bool {
        self.field(stmt).is_some_and(|field| field.starts_with(&self.own(name)))
    }

    /// `if (meta.p4rack_NAME == ..) { .. }`
    fn looks_at(&self, stmt: &Stmt, name: &str) -> bool {
        self.looks(stmt, &|field| field == self.own(name))
    }

    fn looks_near(&self, stmt: &Stmt, name: &str) -> bool {
        self.looks(stmt, &|field| field.starts_with(&self.own(name)))
    }

    fn looks(&self, stmt: &Stmt, wanted: &dyn Fn(&str) -> bool) -> bool {
        let StmtKind::If(cond, yes, no) = &stmt.kind else { return false };
        let mut found = false;
        visit::subexprs(cond, &mut |e| found |= self.field_name(e).is_some_and(wanted));
        found && !yes.stmts.is_empty() && no.stmts.is_empty()
    }

    /// `if (hdr.X.isValid()) { hdr.p4rack_orig_X = hdr.X; .. }`
    fn keeps_original(&self, stmt: &Stmt) -> bool {
        let StmtKind::If(_, yes, _) = &stmt.kind else { return false };
        let orig = self.own("orig_");
        yes.stmts.iter().any(|s| self.field(s).is_some_and(|field| field.starts_with(&orig)))
    }

    /// A call of an object of the program's.
    fn uses_state(&self, stmt: &Stmt) -> bool {
        let StmtKind::Call(call) = &stmt.kind else { return false };
        let Callee::Method(instance, _) = call.callee else { return false };
        !self.program.instance(instance).name.starts_with(self.prefix)
    }
}

fn lose(wanted: bool) -> Edit {
    if wanted { Edit::Lose } else { Edit::Keep }
}

fn change(wanted: bool, stmt: &mut Stmt, edit: impl FnOnce(&mut Stmt)) -> Edit {
    if !wanted {
        return Edit::Keep;
    }
    edit(stmt);
    Edit::Changed
}

/// Bits of the assigned value; 0 if it is not a number.
fn width(stmt: &Stmt) -> u32 {
    match &stmt.kind {
        StmtKind::Assign(place, _) => match place.ty {
            Type::Bit(width) => width,
            _ => 0,
        },
        _ => 0,
    }
}

/// Flips a bit of the assigned value.
fn flip(stmt: &mut Stmt, bit: u32) {
    let width = width(stmt);
    if let StmtKind::Assign(_, value) = &mut stmt.kind
        && bit < width
    {
        let one = number(width, 1u128.checked_shl(bit).unwrap_or(0));
        let flipped = ExprKind::Binary(BinaryOp::BitXor, Box::new(value.clone()), Box::new(one));
        *value = Expr { kind: flipped, ty: Type::Bit(width), span: value.span };
    }
}

fn set(stmt: &mut Stmt, to: u128) {
    let width = width(stmt);
    if let StmtKind::Assign(_, value) = &mut stmt.kind {
        *value = number(width, to);
    }
}

fn number(width: u32, value: u128) -> Expr {
    let kind = ExprKind::Const(Const::Bits(Bits::new(width, value)));
    Expr { kind, ty: Type::Bit(width), span: base_diag::Span::NONE }
}

fn sets(stmt: &Stmt, to: u64) -> bool {
    let StmtKind::Assign(_, value) = &stmt.kind else { return false };
    matches!(&value.kind, ExprKind::Const(Const::Bits(bits)) if bits.to_u64() == Some(to))
}

fn empties(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::SetValid(_, false))
}

/// The value comes from a field of a header's field.
fn reads_header(stmt: &Stmt) -> bool {
    let StmtKind::Assign(_, value) = &stmt.kind else { return false };
    let mut found = false;
    visit::subexprs(value, &mut |e| {
        found |= matches!(&e.kind, ExprKind::Field(base, _) if matches!(base.kind, ExprKind::Field(..)));
    });
    found
}

/// `!hdr.p4rack.isValid()` holds always.
fn unguard(at: &At<'_>, stmt: &mut Stmt) -> Edit {
    let mut changed = false;
    visit::exprs_mut(stmt, &mut |e| {
        visit::subexprs_mut(e, &mut |e| {
            let ExprKind::Unary(UnaryOp::Not, inner) = &e.kind else { return };
            let ExprKind::IsValid(header) = &inner.kind else { return };
            if at.field_name(header) == Some(at.prefix) {
                e.kind = ExprKind::Const(Const::Bool(true));
                changed = true;
            }
        });
    });
    if changed { Edit::Changed } else { Edit::Keep }
}
