//! The types of a program and their declarations.

use super::Gen;
use crate::feature::Feature as F;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Ty {
    Bit(u32),
    Int(u32),
    Bool,
    Error,
    Varbit(u32),
    /// A declared type, by its position in [`Types::decls`].
    Named(usize),
    /// A header stack, or an array.
    Stack(Box<Ty>, u32),
    Tuple(Vec<Ty>),
}

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Ty,
}

/// Kinds of declared types.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Enum(Vec<String>),
    SerEnum(u32, Vec<String>),
    New(u32),
    Struct(Vec<Field>),
    Header(Vec<Field>),
    Union(Vec<Field>),
}

/// A declared type, as it is written where it is used.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// All types of a program.
#[derive(Default, Debug)]
pub(crate) struct Types {
    pub(crate) decls: Vec<Named>,
    /// The user's errors.
    pub(crate) errors: Vec<String>,
    /// Widths that fields and variables have.
    pub(crate) widths: Vec<u32>,
    /// Widths of `int<N>`.
    pub(crate) signed: Vec<u32>,
}

impl Types {
    pub(crate) fn kind(&self, ty: &Ty) -> Option<&Kind> {
        match ty {
            Ty::Named(at) => Some(&self.decls[*at].kind),
            _ => None,
        }
    }

    /// The fields of a struct, header or union.
    pub(crate) fn fields(&self, ty: &Ty) -> &[Field] {
        match self.kind(ty) {
            Some(Kind::Struct(fields) | Kind::Header(fields) | Kind::Union(fields)) => fields,
            _ => &[],
        }
    }

    pub(crate) fn is_header(&self, ty: &Ty) -> bool {
        matches!(self.kind(ty), Some(Kind::Header(_)))
    }

    pub(crate) fn is_union(&self, ty: &Ty) -> bool {
        matches!(self.kind(ty), Some(Kind::Union(_)))
    }

    pub(crate) fn is_struct(&self, ty: &Ty) -> bool {
        matches!(self.kind(ty), Some(Kind::Struct(_)))
    }

    /// True if a header has a varbit.
    pub(crate) fn varbit(&self, ty: &Ty) -> Option<u32> {
        self.fields(ty).iter().find_map(|f| match &f.ty {
            Ty::Varbit(n) => Some(*n),
            _ => None,
        })
    }

    /// As it is written.
    pub(crate) fn show(&self, ty: &Ty) -> String {
        match ty {
            Ty::Bit(n) => format!("bit<{n}>"),
            Ty::Int(n) => format!("int<{n}>"),
            Ty::Varbit(n) => format!("varbit<{n}>"),
            Ty::Bool => "bool".to_string(),
            Ty::Error => "error".to_string(),
            Ty::Named(at) => self.decls[*at].name.clone(),
            Ty::Stack(elem, n) => format!("{}[{n}]", self.show(elem)),
            Ty::Tuple(types) => {
                let types: Vec<String> = types.iter().map(|t| self.show(t)).collect();
                format!("tuple<{}>", types.join(", "))
            }
        }
    }

    /// Bits on the wire, if that is fixed.
    pub(crate) fn bits(&self, ty: &Ty) -> Option<u32> {
        match ty {
            Ty::Bit(n) | Ty::Int(n) => Some(*n),
            Ty::Bool => Some(1),
            Ty::Named(_) => match self.kind(ty)? {
                Kind::SerEnum(n, _) | Kind::New(n) => Some(*n),
                Kind::Enum(_) | Kind::Union(_) => None,
                Kind::Struct(fields) | Kind::Header(fields) => {
                    fields.iter().try_fold(0, |sum, f| Some(sum + self.bits(&f.ty)?))
                }
            },
            Ty::Tuple(types) => types.iter().try_fold(0, |sum, t| Some(sum + self.bits(t)?)),
            Ty::Error | Ty::Varbit(_) | Ty::Stack(..) => None,
        }
    }

    /// True for what may be compared with `<`, hashed, and matched in a table.
    pub(crate) fn is_number(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Bit(_) | Ty::Int(_))
    }
}

const HEADERS: &[&str] =
    &["ether", "vlan", "ipv4", "probe", "label", "option", "tunnel", "flow", "hop", "shim", "mark"];
const FIELDS: &[&str] = &[
    "kind", "length", "ttl", "src", "dst", "proto", "flags", "seq", "port", "tag", "id", "weight", "hops",
    "hash", "color", "age", "depth", "route", "offset", "window",
];

impl Gen {
    /// Draws the widths of this program.
    pub(super) fn draw_widths(&mut self) {
        let mut widths = vec![8, 16, 32];
        for small in [1, 4, 9, 24, 48, 64] {
            if self.chance(40) {
                widths.push(small);
            }
        }
        if self.on(F::Wide64) && self.chance(60) {
            let wide = self.between(65, 128);
            widths.push(wide);
        }
        if self.on(F::Wide128) && self.chance(50) {
            let wide = self.between(129, 260);
            widths.push(wide);
        }
        if self.chance(50) {
            let odd = self.between(2, 40);
            widths.push(odd);
        }
        if widths.iter().any(|w| *w > 64) {
            self.note(F::Wide64);
        }
        if widths.iter().any(|w| *w > 128) {
            self.note(F::Wide128);
        }
        widths.sort_unstable();
        widths.dedup();
        self.types.widths = widths;
        self.types.signed = if self.on(F::Signed) { vec![8, 16, self.between(3, 72)] } else { vec![16] };
    }

    /// A width of this program.
    pub(super) fn width(&mut self) -> u32 {
        let at = self.below(self.types.widths.len() as u64) as usize;
        self.types.widths[at]
    }

    /// Types that structs and headers can use.
    pub(super) fn declare_types(&mut self) {
        self.draw_widths();
        if self.on(F::Const) {
            for _ in 0..self.between(1, 2) {
                self.declare_const();
            }
        }
        if self.on(F::Typedef) {
            let width = self.width();
            let name = self.fresh("addr_t");
            self.note(F::Typedef);
            self.decl(format!("typedef bit<{width}> {name};"));
            self.typedef = Some((name, width));
        }
        if self.on(F::Enum) {
            self.declare_enum();
        }
        if self.on(F::SerEnum) {
            self.declare_ser_enum();
        }
        if self.on(F::NewType) {
            let width = self.width();
            let name = self.fresh("handle_t");
            self.decl(format!("type bit<{width}> {name};"));
            self.types.decls.push(Named { name, kind: Kind::New(width) });
        }
        if self.on(F::UserError) {
            self.types.errors = vec!["TooDeep".to_string(), "BadLength".to_string()];
            self.decl("error {\n    TooDeep,\n    BadLength\n}".to_string());
        }
        self.declare_structs();
    }

    fn declare_const(&mut self) {
        let width = self.width();
        let name = self.fresh("LIMIT");
        let value = if self.chance(50) {
            self.note(F::ConstDivision);
            let (a, b) = (self.between(3, 200), self.between(1, 9));
            let op = if self.chance(50) { "/" } else { "%" };
            if width < 8 { format!("{width}w1") } else { format!("{width}w{a} {op} {b}") }
        } else {
            self.literal(width)
        };
        self.note(F::Const);
        self.decl(format!("const bit<{width}> {name} = {value};"));
        self.consts.push((name, Ty::Bit(width)));
    }

    fn declare_enum(&mut self) {
        let name = self.fresh("mode_t");
        let members: Vec<String> = ["OFF", "FAST", "SAFE", "DEBUG"].iter().map(|s| s.to_string()).collect();
        self.decl(format!("enum {name} {{\n    {}\n}}", members.join(",\n    ")));
        self.types.decls.push(Named { name, kind: Kind::Enum(members) });
    }

    fn declare_ser_enum(&mut self) {
        let name = self.fresh("kind_t");
        let width = if self.chance(50) { 8 } else { 16 };
        let base = self.below(40);
        let members: Vec<String> = ["DATA", "CONTROL", "ACK"].iter().map(|s| s.to_string()).collect();
        let lines: Vec<String> =
            members.iter().zip([0, 1, 7]).map(|(m, plus)| format!("    {m} = {}", base + plus)).collect();
        self.decl(format!("enum bit<{width}> {name} {{\n{}\n}}", lines.join(",\n")));
        self.types.decls.push(Named { name, kind: Kind::SerEnum(width, members) });
    }

    fn declare_structs(&mut self) {
        let fields = self.some_fields(2, 4, true);
        self.declare(fields, "struct", "pair_t", Kind::Struct);
        if self.on(F::GenericStruct) {
            self.declare_generic("struct", "both_t", F::GenericStruct);
        }
    }

    fn declare(&mut self, fields: Vec<Field>, word: &str, name: &str, kind: fn(Vec<Field>) -> Kind) -> usize {
        let name = self.fresh(name);
        let lines: Vec<String> = fields.iter().map(|f| self.field_line(f)).collect();
        self.decl(format!("{word} {name} {{\n{}}}", lines.concat()));
        self.types.decls.push(Named { name, kind: kind(fields) });
        self.types.decls.len() - 1
    }

    fn field_line(&self, field: &Field) -> String {
        format!("    {} {};\n", self.shown(&field.ty), field.name)
    }

    /// Like [`Types::show`], with the typedef where it fits.
    pub(super) fn shown(&self, ty: &Ty) -> String {
        match (ty, &self.typedef) {
            (Ty::Bit(n), Some((name, width))) if n == width => name.clone(),
            _ => self.types.show(ty),
        }
    }

    /// `both_t<T, U>` with one use of it.
    fn declare_generic(&mut self, word: &str, name: &str, feature: F) -> usize {
        let name = self.fresh(name);
        let (first, second) = (self.width(), self.width());
        // A header of whole bytes, whatever the widths.
        let (first, second) = if word == "header" {
            (first.next_multiple_of(8), second.next_multiple_of(8))
        } else {
            (first, second)
        };
        self.note(feature);
        self.decl(format!("{word} {name}<T, U> {{\n    T first;\n    U second;\n}}"));
        let fields = vec![
            Field { name: "first".to_string(), ty: Ty::Bit(first) },
            Field { name: "second".to_string(), ty: Ty::Bit(second) },
        ];
        let kind = if word == "header" { Kind::Header(fields) } else { Kind::Struct(fields) };
        self.types.decls.push(Named { name: format!("{name}<bit<{first}>, bit<{second}>>"), kind });
        self.types.decls.len() - 1
    }

    /// Fields with different names. In headers and structs alike; `any` allows what only structs may have.
    pub(super) fn some_fields(&mut self, least: u32, most: u32, any: bool) -> Vec<Field> {
        let mut names: Vec<&str> = FIELDS.to_vec();
        self.rng.shuffle(&mut names);
        let count = self.between(least, most) as usize;
        let mut fields = vec![];
        for name in names.into_iter().take(count) {
            let ty = if any { self.any_scalar() } else { self.wire_scalar() };
            fields.push(Field { name: name.to_string(), ty });
        }
        fields
    }

    fn wire_scalar(&mut self) -> Ty {
        let named = self.named(|k| matches!(k, Kind::SerEnum(..) | Kind::New(_)));
        match self.below(12) {
            0 if self.on(F::Signed) => {
                self.note(F::Signed);
                Ty::Int(self.signed_width())
            }
            1 if !self.config.portable => Ty::Bool,
            2 | 3 => named.unwrap_or(Ty::Bit(8)),
            _ => Ty::Bit(self.width()),
        }
    }

    /// A type that metadata and variables may have and that has no parts.
    pub(super) fn any_scalar(&mut self) -> Ty {
        match self.below(10) {
            0 => Ty::Bool,
            1 if self.on(F::Enum) => self.named(|k| matches!(k, Kind::Enum(_))).unwrap_or(Ty::Bool),
            2 if self.on(F::ErrorInMeta) => {
                self.note(F::ErrorInMeta);
                Ty::Error
            }
            _ => self.wire_scalar(),
        }
    }

    pub(super) fn signed_width(&mut self) -> u32 {
        let at = self.below(self.types.signed.len() as u64) as usize;
        self.types.signed[at]
    }

    /// A declared type of that kind.
    pub(super) fn named(&mut self, want: impl Fn(&Kind) -> bool) -> Option<Ty> {
        let all: Vec<usize> =
            (0..self.types.decls.len()).filter(|at| want(&self.types.decls[*at].kind)).collect();
        let found = self.rng.pick(&all).copied()?;
        match self.types.decls[found].kind {
            Kind::Enum(_) => self.note(F::Enum),
            Kind::SerEnum(..) => self.note(F::SerEnum),
            Kind::New(_) => self.note(F::NewType),
            _ => {}
        }
        Some(Ty::Named(found))
    }

    /// A header type: whole bytes.
    pub(super) fn declare_header(&mut self) -> usize {
        if self.on(F::GenericHeader) && self.chance(20) {
            return self.declare_generic("header", "box_t", F::GenericHeader);
        }
        let mut fields = self.some_fields(1, 5, false);
        if self.on(F::NestedStruct) && self.chance(30) {
            let inner = vec![
                Field { name: "hi".to_string(), ty: Ty::Bit(4) },
                Field { name: "lo".to_string(), ty: Ty::Bit(self.width()) },
            ];
            let inner = self.declare(inner, "struct", "part_t", Kind::Struct);
            self.note(F::NestedStruct);
            fields.push(Field { name: "part".to_string(), ty: Ty::Named(inner) });
        }
        self.finish_header(fields)
    }

    /// Fills up to whole bytes and declares it.
    pub(super) fn finish_header(&mut self, mut fields: Vec<Field>) -> usize {
        let bits: u32 = fields.iter().filter_map(|f| self.types.bits(&f.ty)).sum();
        let rest = bits.next_multiple_of(8) - bits;
        if rest > 0 {
            fields.push(Field { name: "pad".to_string(), ty: Ty::Bit(rest) });
        }
        let name = *self.rng.pick(HEADERS).unwrap_or(&"hop");
        self.declare(fields, "header", &format!("{name}_t"), Kind::Header)
    }

    /// A header with a varbit of that many bits.
    pub(super) fn declare_varbit_header(&mut self, bits: u32) -> usize {
        self.note(F::Varbit);
        let mut fields = vec![Field { name: "length".to_string(), ty: Ty::Bit(8) }];
        fields.push(Field { name: "data".to_string(), ty: Ty::Varbit(bits) });
        if self.chance(50) {
            fields.push(Field { name: "next".to_string(), ty: Ty::Bit(16) });
        }
        self.finish_header(fields)
    }

    /// A union of two or three headers.
    pub(super) fn declare_union(&mut self) -> usize {
        self.note(F::Union);
        let mut fields = vec![];
        for name in ["short", "long", "other"].iter().take(self.between(2, 3) as usize) {
            let header = self.declare_header();
            fields.push(Field { name: (*name).to_string(), ty: Ty::Named(header) });
        }
        self.declare(fields, "header_union", "either_t", Kind::Union)
    }

    /// A struct of these fields, each with the text that stands before it.
    pub(super) fn declare_with_annotations(&mut self, name: &str, fields: Vec<(String, Field)>) -> usize {
        let lines: Vec<String> =
            fields.iter().map(|(a, f)| format!("    {a}{} {};\n", self.shown(&f.ty), f.name)).collect();
        let name = self.fresh(name);
        self.decl(format!("struct {name} {{\n{}}}", lines.concat()));
        let fields = fields.into_iter().map(|(_, f)| f).collect();
        self.types.decls.push(Named { name, kind: Kind::Struct(fields) });
        self.types.decls.len() - 1
    }
}
