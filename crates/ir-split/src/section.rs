//! Sections: a control's body cut where control passes from device to device.
//!
//! ```text
//! A; if (c) { B; @region("X") { C } D } E          X elsewhere
//!
//! ingress    A; if (c) { B; goto X } else { goto ingress.3 }
//! X          C; goto ingress.2
//! ingress.2  D; goto ingress.3
//! ingress.3  E; goto end
//! ```
//!
//! A section is single-entry code on one device. Cuts are made only where the device changes and at the joins this
//! needs, so code that is never entered from outside keeps its structure. Sections come in topological order.

use crate::placement::{DeviceIndex, Placement};
use base_diag::Span;
use ir::{Annotations, Block, Expr, Name, Stmt, StmtKind, SwitchLabel, SwitchOn, visit};
use p4_arch::Duty;

/// The number of a section: the `region` of a hand-over names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SectionId(pub u32);

/// The control from which a section was cut.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Half {
    /// Before the traffic manager.
    Ingress,
    /// Behind it.
    Egress,
}

impl Half {
    /// The duty of its stage.
    pub fn duty(self) -> Duty {
        match self {
            Half::Ingress => Duty::Ingress,
            Half::Egress => Duty::Egress,
        }
    }
}

/// Kinds of sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionKind {
    /// Statements of the program.
    Code,
    /// The end of its half: the traffic manager after ingress, checksums and deparser after egress.
    End,
}

/// Role of a section in the call of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnd {
    /// First section of the called region.
    Handler,
    /// Section of the caller after the call.
    Return,
}

/// A section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The region it belongs to, numbered from the second one on: `Acl`, `ingress.2`.
    pub name: Name,
    /// The marked region, or the control's own name.
    pub region: Name,
    /// Kind of the section.
    pub kind: SectionKind,
    /// Half of the pipeline that it was cut from.
    pub half: Half,
    /// Device of the section.
    pub device: DeviceIndex,
    /// Role in a call, if it has one.
    pub call: Option<CallEnd>,
    /// Every path through it ends in a `Goto`, except in an `End`.
    pub code: Vec<Code>,
}

/// Statements, opened up where a cut lies inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// A statement without a cut inside.
    Stmt(Stmt),
    /// An `if` with a cut inside: both arms end in a `Goto`.
    If(Expr, Vec<Code>, Vec<Code>),
    /// A `switch` with a cut inside: all cases end in a `Goto`.
    Switch(SwitchOn, Vec<CodeCase>),
    /// A marked region that starts here and stays on this device.
    Region(Annotations, Vec<Code>),
    /// Control passes to another section.
    Goto(SectionId),
}

/// A case of a [`Code::Switch`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeCase {
    /// As in the program.
    pub labels: Vec<SwitchLabel>,
    /// Ends in a `Goto`.
    pub code: Vec<Code>,
}

/// The sections of a program, in topological order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sections {
    /// Sections by number.
    pub list: Vec<Section>,
}

impl Sections {
    /// Cuts the bodies of ingress and egress, given with the names they bear as regions.
    pub fn form(ingress: (&str, &Block), egress: (&str, &Block), placement: &Placement) -> Sections {
        let mut former = Former { placement, list: vec![] };
        let halves = [(Half::Ingress, ingress), (Half::Egress, egress)];
        for (half, (name, body)) in halves {
            former.half(half, name, body);
        }
        Sections { list: in_order(former.list) }
    }

    /// Second and later sections of a region are numbered: `ingress.2`.
    pub fn numbered(mut self) -> Sections {
        let list = &mut self.list;
        for i in 0..list.len() {
            let before = list[..i].iter().filter(|s| s.region == list[i].region).count();
            if before > 0 {
                list[i].name = format!("{}.{}", list[i].region, before + 1).into();
            }
        }
        self
    }

    /// All sections with their numbers.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (SectionId, &Section)> {
        self.list.iter().enumerate().map(|(i, s)| (SectionId(i as u32), s))
    }

    /// A section.
    pub fn get(&self, id: SectionId) -> &Section {
        &self.list[id.0 as usize]
    }

    /// The first section of a half.
    pub fn first(&self, half: Half) -> SectionId {
        let index = self.list.iter().position(|s| s.half == half).expect("each half has its end at least");
        SectionId(index as u32)
    }

    /// The end of a half.
    pub fn end(&self, half: Half) -> SectionId {
        let index = self.list.iter().position(|s| s.half == half && s.kind == SectionKind::End);
        SectionId(index.expect("each half has an end") as u32)
    }

    /// The sections that control may pass to from `id`, without repeats; the end of ingress passes to egress.
    pub fn successors(&self, id: SectionId) -> Vec<SectionId> {
        let section = self.get(id);
        let mut out = vec![];
        if section.kind == SectionKind::End && section.half == Half::Ingress {
            out.push(self.first(Half::Egress));
        }
        gotos(&section.code, &mut |target| {
            if !out.contains(&target) {
                out.push(target);
            }
        });
        out
    }

    /// From where control passes where.
    pub fn edges(&self) -> impl Iterator<Item = (SectionId, SectionId)> {
        self.iter().flat_map(|(from, _)| self.successors(from).into_iter().map(move |to| (from, to)))
    }

    /// Edges between sections on different devices.
    pub fn cut_edges(&self) -> Vec<(SectionId, SectionId)> {
        self.edges().filter(|&(from, to)| self.get(from).device != self.get(to).device).collect()
    }

    /// True if a packet may have passed a cut before it comes to this section.
    pub fn is_behind_a_cut(&self, id: SectionId) -> bool {
        let mut behind = vec![false; self.list.len()];
        for (from, section) in self.iter() {
            for next in self.successors(from) {
                let is_cut = self.get(next).device != section.device;
                behind[next.0 as usize] |= is_cut || behind[from.0 as usize];
            }
        }
        behind[id.0 as usize]
    }

    /// Sections that are entered over a cut edge, in order.
    pub fn resume_points(&self) -> Vec<SectionId> {
        let mut points: Vec<_> = self.cut_edges().into_iter().map(|(_, to)| to).collect();
        points.sort();
        points.dedup();
        points
    }
}

/// Calls `f` with every target of a `Goto` in `code`.
pub fn gotos(code: &[Code], f: &mut dyn FnMut(SectionId)) {
    for piece in code {
        match piece {
            Code::Stmt(_) => {}
            Code::If(_, yes, no) => {
                gotos(yes, f);
                gotos(no, f);
            }
            Code::Switch(_, cases) => cases.iter().for_each(|case| gotos(&case.code, f)),
            Code::Region(_, inner) => gotos(inner, f),
            Code::Goto(target) => f(*target),
        }
    }
}

/// Former of sections. It numbers sections as it finds them; `order` has their final positions.
struct Former<'a> {
    placement: &'a Placement,
    list: Vec<(Section, u32)>,
}

/// Destination of code: region, device and following section.
#[derive(Clone)]
struct Place {
    half: Half,
    region: Name,
    device: DeviceIndex,
    next: SectionId,
}

impl Former<'_> {
    fn half(&mut self, half: Half, name: &str, body: &Block) {
        let origin = self.placement.origin();
        let end = self.open(half, &format!("{name}.end").into(), origin, SectionKind::End);
        let first = self.open(half, &name.into(), origin, SectionKind::Code);
        let place = Place { half, region: name.into(), device: origin, next: end };
        self.fill(first, &body.stmts.iter().collect::<Vec<_>>(), &place, None);
        self.place_last(end);
    }

    /// Creates a section; its code is added later.
    fn open(&mut self, half: Half, region: &Name, device: DeviceIndex, kind: SectionKind) -> SectionId {
        let section = Section {
            name: region.clone(),
            region: region.clone(),
            kind,
            half,
            device,
            call: None,
            code: vec![],
        };
        self.list.push((section, u32::MAX));
        SectionId(self.list.len() as u32 - 1)
    }

    /// The section's place in the order is after all that have one by now.
    fn place_last(&mut self, id: SectionId) {
        let last = self.list.iter().filter(|(_, order)| *order != u32::MAX).map(|(_, order)| order + 1).max();
        self.list[id.0 as usize].1 = last.unwrap_or(0);
    }

    fn fill(&mut self, id: SectionId, stmts: &[&Stmt], place: &Place, mark: Option<&Annotations>) {
        self.place_last(id);
        let code = self.code(stmts, place);
        self.list[id.0 as usize].0.code = match mark {
            Some(annotations) => vec![Code::Region(annotations.clone(), code)],
            None => code,
        };
    }

    /// The code of `stmts`, ending in `Goto`s; code after a cut becomes separate sections.
    fn code(&mut self, stmts: &[&Stmt], place: &Place) -> Vec<Code> {
        let mut out = vec![];
        for (i, stmt) in stmts.iter().enumerate() {
            if !self.has_cut(stmt, place.device) {
                out.push(Code::Stmt((*stmt).clone()));
                continue;
            }
            let rest = &stmts[i + 1..];
            let calls = self.calls(stmt, place.device);
            let join = match rest.is_empty() && !calls {
                true => place.next,
                false => self.open(place.half, &place.region, place.device, SectionKind::Code),
            };
            let inner = Place { next: join, ..place.clone() };
            out.push(self.open_up(stmt, &inner));
            if join != place.next {
                self.list[join.0 as usize].0.call = calls.then_some(CallEnd::Return);
                self.fill(join, rest, place, None);
            }
            return out;
        }
        out.push(Code::Goto(place.next));
        out
    }

    /// A statement with a cut inside.
    fn open_up(&mut self, stmt: &Stmt, place: &Place) -> Code {
        match &stmt.kind {
            StmtKind::Block(block) => {
                let stmts: Vec<_> = block.stmts.iter().collect();
                let Some(region) = block.region() else {
                    let code = self.code(&stmts, place);
                    return Code::Region(block.annotations.clone(), code);
                };
                let device = self.placement.device_of(&region);
                let inner = Place { region: region.clone(), device, ..place.clone() };
                if device == place.device {
                    let code = self.code(&stmts, &inner);
                    return Code::Region(block.annotations.clone(), code);
                }
                let id = self.open(place.half, &region, device, SectionKind::Code);
                let calls = self.placement.policy_of(&region).rules().gives_back();
                self.list[id.0 as usize].0.call = calls.then_some(CallEnd::Handler);
                self.fill(id, &stmts, &inner, Some(&block.annotations));
                Code::Goto(id)
            }
            StmtKind::If(cond, yes, no) => {
                let yes = self.code(&yes.stmts.iter().collect::<Vec<_>>(), place);
                let no = self.code(&no.stmts.iter().collect::<Vec<_>>(), place);
                Code::If(cond.clone(), yes, no)
            }
            StmtKind::Switch(on, cases) => {
                let mut arms = vec![];
                for case in cases {
                    let code = self.code(&case.body.stmts.iter().collect::<Vec<_>>(), place);
                    arms.push(CodeCase { labels: case.labels.clone(), code });
                }
                if !cases.iter().any(ir::SwitchCase::is_default) {
                    let code = vec![Code::Goto(place.next)];
                    arms.push(CodeCase { labels: vec![SwitchLabel::Default], code });
                }
                Code::Switch(on.clone(), arms)
            }
            // Cuts in loops are refused before sections are formed.
            _ => Code::Stmt(stmt.clone()),
        }
    }

    /// True if the statement is a region that `device` calls.
    fn calls(&self, stmt: &Stmt, device: DeviceIndex) -> bool {
        let StmtKind::Block(block) = &stmt.kind else { return false };
        let gives_back = |r: &Name| self.placement.policy_of(r).rules().gives_back();
        let is_called = |r: &Name| gives_back(r) && self.placement.device_of(r) != device;
        block.region().as_ref().is_some_and(is_called)
    }

    /// True if some marked block in `stmt` runs on another device than `device`.
    fn has_cut(&self, stmt: &Stmt, device: DeviceIndex) -> bool {
        let mut found = false;
        visit::blocks(stmt, &mut |block| {
            found |= block.region().is_some_and(|r| self.placement.device_of(&r) != device);
            found |= block.stmts.iter().any(|s| self.has_cut(s, device));
        });
        found
    }
}

/// Renumbers the sections so that numbers are the topological order.
fn in_order(list: Vec<(Section, u32)>) -> Vec<Section> {
    let mut by_place: Vec<usize> = (0..list.len()).collect();
    // The halves follow one another; within one, the order of filling is topological.
    by_place.sort_by_key(|&i| (list[i].0.half, list[i].1));
    let mut new_id = vec![SectionId(0); list.len()];
    for (new, &old) in by_place.iter().enumerate() {
        new_id[old] = SectionId(new as u32);
    }
    let mut sections: Vec<Option<Section>> = list.into_iter().map(|(s, _)| Some(s)).collect();
    by_place
        .into_iter()
        .filter_map(|old| sections[old].take())
        .map(|mut section| {
            renumber(&mut section.code, &new_id);
            section
        })
        .collect()
}

/// Replaces the target of every `Goto` in `code`.
pub fn renumber(code: &mut [Code], new_id: &[SectionId]) {
    for piece in code {
        match piece {
            Code::Stmt(_) => {}
            Code::If(_, yes, no) => {
                renumber(yes, new_id);
                renumber(no, new_id);
            }
            Code::Switch(_, cases) => cases.iter_mut().for_each(|case| renumber(&mut case.code, new_id)),
            Code::Region(_, inner) => renumber(inner, new_id),
            Code::Goto(target) => *target = new_id[target.0 as usize],
        }
    }
}

/// The place of the first statement of some code.
pub fn first_span(code: &[Code]) -> Span {
    let spans = code.iter().map(|piece| match piece {
        Code::Stmt(stmt) => stmt.span,
        Code::If(cond, ..) => cond.span,
        Code::Switch(_, cases) => cases.first().map_or(Span::NONE, |c| first_span(&c.code)),
        Code::Region(_, inner) => first_span(inner),
        Code::Goto(_) => Span::NONE,
    });
    spans.into_iter().find(|s| !s.is_none()).unwrap_or(Span::NONE)
}
