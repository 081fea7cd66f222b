//! Headers, metadata and the parser: states in a row, each of which may jump ahead.

use super::function::{Dir, Param};
use super::scope::Scope;
use super::types::{Field, Kind, Ty};
use super::{Context, Gen, Where};
use crate::feature::Feature as F;

impl Gen {
    /// `headers_t`: a first header with a selector, more headers, perhaps a stack, a union, a varbit, and one that
    /// only the program makes.
    pub(super) fn declare_headers(&mut self) {
        let mut fields = vec![];
        let mut first = vec![
            Field { name: "kind".to_string(), ty: Ty::Bit(8) },
            Field { name: "more".to_string(), ty: Ty::Bit(8) },
        ];
        for field in self.some_fields(1, 3, false) {
            if field.name != "kind" {
                first.push(field);
            }
        }
        let first = self.finish_header(first);
        fields.push(("base", Ty::Named(first)));
        for name in ["one", "two", "three"].iter().take(self.between(1, 3) as usize) {
            let again = self.chance(25);
            let at = if again { first } else { self.declare_header() };
            fields.push((name, Ty::Named(at)));
        }
        if self.on(F::Stack) {
            self.note(F::Stack);
            let mut inner = vec![
                Field { name: "last".to_string(), ty: Ty::Bit(1) },
                Field { name: "tag".to_string(), ty: Ty::Bit(7) },
            ];
            if self.chance(60) {
                inner.push(Field { name: "seq".to_string(), ty: Ty::Bit(self.width()) });
            }
            let elem = self.finish_header(inner);
            let size = self.between(2, 4);
            fields.push(("stack", Ty::Stack(Box::new(Ty::Named(elem)), size)));
            if self.chance(25) {
                fields.push(("spare", Ty::Stack(Box::new(Ty::Named(elem)), size)));
            }
        }
        if self.on(F::Union) && !self.config.portable {
            let union = self.declare_union();
            fields.push(("either", Ty::Named(union)));
        }
        if self.on(F::Varbit) {
            let header = self.declare_varbit_header(64);
            fields.push(("var", Ty::Named(header)));
        }
        let report = self.report_header();
        fields.push(("report", Ty::Named(report)));
        let fields = fields
            .into_iter()
            .map(|(name, ty)| (String::new(), Field { name: name.to_string(), ty }))
            .collect();
        let at = self.declare_with_annotations("headers_t", fields);
        self.headers = Ty::Named(at);
    }

    /// Header that reports at the end what the program has computed.
    fn report_header(&mut self) -> usize {
        let mut fields = vec![];
        for (at, width) in self.types.widths.clone().into_iter().enumerate() {
            fields.push(Field { name: format!("out{at}"), ty: Ty::Bit(width) });
        }
        self.finish_header(fields)
    }

    pub(super) fn declare_metadata(&mut self) {
        let mut fields = vec![];
        let lists = if self.on(F::FieldList) { self.between(1, 2) } else { 0 };
        self.lists = (1..=lists).collect();
        for (at, width) in self.types.widths.clone().into_iter().enumerate() {
            fields.push(Field { name: format!("m{at}"), ty: Ty::Bit(width) });
        }
        fields.extend(self.some_fields(2, 5, true));
        if self.on(F::BoolInMeta) {
            self.note(F::BoolInMeta);
            fields.push(Field { name: "flag".to_string(), ty: Ty::Bool });
        }
        if let Some(ty) = self.named(|k| matches!(k, Kind::Struct(f) if f.len() < 5))
            && ty != self.headers
        {
            fields.push(Field { name: "inner".to_string(), ty });
        }
        if self.on(F::Array) && !self.config.portable {
            self.note(F::Array);
            let ty = Ty::Stack(Box::new(Ty::Bit(self.width())), 4);
            fields.push(Field { name: "cells".to_string(), ty });
        }
        if self.on(F::Tuple) && !self.config.portable {
            self.note(F::Tuple);
            fields.push(Field { name: "both".to_string(), ty: Ty::Tuple(vec![Ty::Bit(8), Ty::Bool]) });
        }
        let mut annotated = vec![];
        for field in fields {
            let list = if lists > 0 && self.chance(50) { self.between(1, lists) } else { 0 };
            let text = match list {
                0 => String::new(),
                1 if lists > 1 && self.chance(30) => "@field_list(1, 2) ".to_string(),
                list => format!("@field_list({list}) "),
            };
            annotated.push((text, field));
        }
        if lists > 0 {
            let round = Field { name: "round".to_string(), ty: Ty::Bit(8) };
            annotated.push(("@field_list(1, 2) ".to_string(), round));
        }
        let at = self.declare_with_annotations("metadata_t", annotated);
        self.metadata = Ty::Named(at);
    }

    fn parser_context(&self) -> Context {
        Context { place: Where::Parser, fuel: 12, pure: self.config.portable, ..Context::default() }
    }

    pub(super) fn parser(&mut self) {
        let inner = if !self.plain && self.on(F::SubParser) { self.sub_parser() } else { None };
        let cx = self.parser_context();
        let text = self.within(cx, Scope::default(), |g| {
            g.out.open(
                "parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, \
                 inout standard_metadata_t standard_metadata) {",
            );
            g.add_stage();
            if let Some((name, _)) = &inner {
                g.out.line(format!("{name}() inner;"));
            }
            let sets = g.value_sets();
            if g.chance(40) {
                g.out.line("bit<8> count = 0;");
                g.add("count", &Ty::Bit(8), true);
            }
            g.states(inner.as_ref().map(|(_, params)| params.as_slice()), &sets);
            g.out.close("}");
        });
        self.decl(text);
    }

    /// Value sets of the parser: name and type of an element.
    fn value_sets(&mut self) -> Vec<(String, Ty)> {
        if !self.on(F::ValueSet) {
            return vec![];
        }
        self.note(F::ValueSet);
        self.out.line("value_set<bit<8>>(4) known;");
        vec![("known".to_string(), Ty::Bit(8))]
    }

    /// A parser that takes one header or fills the stack.
    fn sub_parser(&mut self) -> Option<(String, Vec<Param>)> {
        let fields = self.types.fields(&self.headers).to_vec();
        let header = fields.iter().find(|f| f.name == "two")?.ty.clone();
        let name = self.fresh("Inner");
        let params = vec![
            Param { dir: Dir::Out, name: "taken".to_string(), ty: header },
            Param { dir: Dir::InOut, name: "seen".to_string(), ty: Ty::Bit(8) },
        ];
        let head = format!("parser {name}(packet_in packet, {}) {{", self.show_params(&params));
        self.note(F::SubParser);
        let cx = Context { fuel: 3, ..self.parser_context() };
        let text = self.within(cx, Scope::default(), |g| {
            g.add_params(&params);
            g.out.open(head);
            g.out.open("state start {");
            g.out.line("packet.extract(taken);");
            g.statements(2);
            let subject = g.bits(8, 1);
            g.out.open(format!("transition select({subject}) {{"));
            g.out.line("0..0x7f: accept;");
            g.out.line("default: done;");
            g.out.close("}");
            g.out.close("}");
            g.out.open("state done {");
            g.out.line("seen = seen + 1;");
            g.out.line("transition accept;");
            g.out.close("}");
            g.out.close("}");
        });
        self.decl(text);
        Some((name, params))
    }

    /// A state for each header of `headers_t`, in its order, but for the report.
    fn states(&mut self, inner: Option<&[Param]>, sets: &[(String, Ty)]) {
        let fields = self.types.fields(&self.headers).to_vec();
        let mut names: Vec<String> = fields.iter().map(|f| format!("parse_{}", f.name)).collect();
        names[0] = "start".to_string();
        let last = fields.len() - 1;
        for (at, field) in fields[..last].iter().enumerate() {
            let later: Vec<String> = names[at + 1..last].to_vec();
            self.out.open(format!("state {} {{", names[at]));
            let place = format!("hdr.{}", field.name);
            let next = self.state_body(&place, field, inner, &names[at]);
            match next {
                Some(subject) => self.looping_select(&subject, &names[at], &later),
                None => self.transition(&later, sets),
            }
            // Every path passes the first state, but not through the others.
            self.cx.valid.truncate(1);
            self.out.close("}");
        }
    }

    /// Extractions of a state; for a stack returns the field that says whether more elements follow.
    fn state_body(
        &mut self,
        place: &str,
        field: &Field,
        inner: Option<&[Param]>,
        _state: &str,
    ) -> Option<String> {
        let mut looping = None;
        if !self.plain && self.on(F::Advance) && self.chance(12) {
            self.note(F::Advance);
            let bits = if self.chance(70) {
                "8".to_string()
            } else {
                "(bit<32>)hdr.base.more[2:0] << 3".to_string()
            };
            self.out.line(format!("packet.advance({bits});"));
        }
        match &field.ty {
            Ty::Stack(..) => {
                self.note(F::Next);
                self.out.line(format!("packet.extract({place}.next);"));
                self.note(F::Last);
                looping = Some(format!("{place}.last.last"));
                if !self.plain
                    && self.chance(40)
                    && let Some(target) = self.target(&Ty::Bit(7))
                {
                    self.out.line(format!("{target} = {place}.last.tag;"));
                }
            }
            ty if self.types.is_union(ty) => {
                let members = self.types.fields(ty).to_vec();
                if let Some(member) = self.rng.pick(&members).cloned() {
                    self.note(F::UnionMember);
                    self.out.line(format!("packet.extract({place}.{});", member.name));
                }
            }
            ty if self.types.varbit(ty).is_some() => {
                self.note(F::VarbitExtract);
                // Whole bytes, at times more than the field holds.
                let bits = match self.below(3) {
                    0 => "(bit<32>)hdr.base.more[3:0] << 3".to_string(),
                    1 => "((bit<32>)hdr.base.more) & 0x38".to_string(),
                    _ => "(bit<32>)packet.lookahead<bit<8>>()[2:0] * 8".to_string(),
                };
                if bits.contains("lookahead") {
                    self.note(F::Lookahead);
                }
                self.out.line(format!("packet.extract({place}, {bits});"));
            }
            _ => match inner {
                Some(params) if field.name == "two" => {
                    let count = self.target(&params[1].ty).unwrap_or("hdr.base.more".to_string());
                    self.out.line(format!("inner.apply(packet, {place}, {count});"));
                }
                _ => self.out.line(format!("packet.extract({place});")),
            },
        }
        if self.types.is_header(&field.ty) && !self.cx.valid.contains(&place.to_string()) {
            self.cx.valid.push(place.to_string());
        }
        if self.plain {
            return looping;
        }
        if self.on(F::Verify) && self.chance(25) {
            self.note(F::Verify);
            let (condition, error) = (self.bools(1), self.error());
            self.out.line(format!("verify({condition}, {error});"));
        }
        if self.chance(45) {
            self.statements(2);
        }
        looping
    }

    fn looping_select(&mut self, subject: &str, this: &str, later: &[String]) {
        self.note(F::ParserLoop);
        let next = later.first().map_or("accept", String::as_str);
        self.out.open(format!("transition select({subject}) {{"));
        self.out.line(format!("1: {next};"));
        self.out.line(format!("0: {this};"));
        self.out.close("}");
    }

    fn transition(&mut self, later: &[String], sets: &[(String, Ty)]) {
        if later.is_empty() || self.chance(20) {
            let next = later.first().map_or("accept", String::as_str);
            return self.out.line(format!("transition {next};"));
        }
        let width = if self.plain || self.chance(70) { 8 } else { self.width() };
        let subject = match self.plain || self.chance(70) {
            true if width == 8 => "hdr.base.kind".to_string(),
            _ => self.bits(width, 1),
        };
        let second = !self.plain && self.on(F::SelectTuple) && self.chance(30);
        let both = if second {
            self.note(F::SelectTuple);
            format!("{subject}, {}", self.bits(8, 1))
        } else {
            subject
        };
        self.out.open(format!("transition select({both}) {{"));
        let mut targets = later.to_vec();
        targets.push("accept".to_string());
        if self.on(F::Reject) && !self.config.portable && self.chance(20) {
            self.note(F::Reject);
            targets.push("reject".to_string());
        }
        for (at, target) in targets.iter().enumerate() {
            let first = self.select_key(width, at as u128);
            let key = if second { format!("({first}, {})", self.select_key(8, 1)) } else { first };
            self.out.line(format!("{key}: {target};"));
        }
        if let Some((set, _)) = sets.first()
            && width == 8
            && !second
        {
            self.out.line(format!("{set}: {};", later[0]));
        }
        if self.chance(75) {
            self.note(F::SelectDefault);
            self.out.line(format!("default: {};", later[0]));
        } else {
            self.note(F::SelectNoDefault);
        }
        self.out.close("}");
    }

    fn select_key(&mut self, width: u32, at: u128) -> String {
        let ones = if width >= 128 { u128::MAX } else { (1 << width) - 1 };
        let value = if self.chance(60) { at & ones } else { self.value_of_width(width) };
        match self.below(8) {
            0 | 1 => {
                self.note(F::SelectMask);
                let mask = self.value_of_width(width);
                format!("{:#x} &&& {mask:#x}", value & mask)
            }
            2 => {
                self.note(F::SelectRange);
                let other = self.value_of_width(width);
                format!("{}..{}", value.min(other), value.max(other))
            }
            3 => "_".to_string(),
            _ => value.to_string(),
        }
    }
}
