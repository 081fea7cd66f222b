//! Types in P4Info (P4Runtime 1.5, sections 6.6 and 8).

use crate::annotation::{self, control_name};
use crate::bytes::padded;
use base_bits::Bits;
use ir::{
    AnnotationBody, AnnotationValue, Annotations, Const, Field, Name, Program, Type, TypeDecl, TypeId,
    TypeKind,
};
use p4runtime_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as Bitstring;
use p4runtime_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use p4runtime_proto::p4::config::v1::p4_new_type_spec::Representation;
use p4runtime_proto::p4::config::v1::p4_new_type_translation::{SdnString, SdnType};
use p4runtime_proto::p4::config::v1::*;
use std::collections::BTreeSet;

/// The types that P4Info mentions, with those that they are made of.
pub(crate) struct Types<'p> {
    program: &'p Program,
    info: P4TypeInfo,
    entered: BTreeSet<TypeId>,
}

/// Argument of `@p4runtime_translation`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Translation {
    uri: String,
    /// `None` for strings.
    bits: Option<i32>,
}

impl<'p> Types<'p> {
    pub(crate) fn new(program: &'p Program) -> Types<'p> {
        Types { program, info: P4TypeInfo::default(), entered: BTreeSet::new() }
    }

    /// The description of a type. Types that it names are entered.
    pub(crate) fn spec(&mut self, ty: &Type) -> P4DataTypeSpec {
        for id in self.not_entered(ty) {
            self.named(id);
        }
        self.known(ty)
    }

    /// The types that `ty` is made of and that are not entered, each after those it is made of itself: a chain of
    /// types may be long.
    fn not_entered(&mut self, ty: &Type) -> BTreeSet<TypeId> {
        let mut found = BTreeSet::new();
        let mut open = vec![ty];
        while let Some(ty) = open.pop() {
            match ty {
                Type::Named(id) if self.entered.insert(*id) => {
                    found.insert(*id);
                    match &self.program.type_decl(*id).kind {
                        TypeKind::Struct(fields) | TypeKind::Union(fields) => {
                            open.extend(fields.iter().map(|f| &f.ty));
                        }
                        TypeKind::New(under) => open.push(self.stands_for(under)),
                        TypeKind::Header(_) | TypeKind::Enum(_) | TypeKind::SerEnum { .. } => {}
                    }
                }
                Type::Stack(element, _) => open.push(element),
                Type::Tuple(types) => open.extend(types),
                _ => {}
            }
        }
        found
    }

    /// The description of a type that is entered.
    fn known(&mut self, ty: &Type) -> P4DataTypeSpec {
        let spec = match ty {
            Type::Bool => Some(TypeSpec::Bool(P4BoolType {})),
            Type::Error => {
                let members = self.program.errors.iter().map(ToString::to_string).collect();
                self.info.error = Some(P4ErrorTypeSpec { members });
                Some(TypeSpec::Error(P4ErrorType {}))
            }
            Type::Tuple(types) => {
                let members = types.iter().map(|t| self.known(t)).collect();
                Some(TypeSpec::Tuple(P4TupleTypeSpec { members }))
            }
            Type::Stack(element, size) => self.stack(element, *size),
            Type::Named(id) => Some(self.named(*id)),
            _ => bitstring(ty).map(|spec| TypeSpec::Bitstring(P4BitstringLikeTypeSpec::from_spec(spec))),
        };
        P4DataTypeSpec { type_spec: spec }
    }

    fn stack(&mut self, element: &Type, size: u32) -> Option<TypeSpec> {
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        match self.known(element).type_spec? {
            TypeSpec::Header(header) => {
                Some(TypeSpec::HeaderStack(P4HeaderStackTypeSpec { header: Some(header), size }))
            }
            TypeSpec::HeaderUnion(union) => Some(TypeSpec::HeaderUnionStack(P4HeaderUnionStackTypeSpec {
                header_union: Some(union),
                size,
            })),
            _ => None,
        }
    }

    fn named(&mut self, id: TypeId) -> TypeSpec {
        let decl = self.program.type_decl(id);
        let name = type_name(decl);
        let named = P4NamedType { name: name.clone() };
        match &decl.kind {
            TypeKind::Struct(fields) => {
                if !self.info.structs.contains_key(&name) {
                    let members = fields.iter().map(|f| self.struct_member(f)).collect();
                    self.info.structs.insert(name, P4StructTypeSpec { members, ..Default::default() });
                }
                TypeSpec::Struct(named)
            }
            TypeKind::Header(fields) => {
                if !self.info.headers.contains_key(&name) {
                    let members = flat_fields(self.program, fields).into_iter().map(header_member).collect();
                    self.info.headers.insert(name, P4HeaderTypeSpec { members, ..Default::default() });
                }
                TypeSpec::Header(named)
            }
            TypeKind::Union(fields) => {
                if !self.info.header_unions.contains_key(&name) {
                    let members = fields.iter().map(|f| self.union_member(f)).collect();
                    let union = P4HeaderUnionTypeSpec { members, ..Default::default() };
                    self.info.header_unions.insert(name, union);
                }
                TypeSpec::HeaderUnion(named)
            }
            TypeKind::Enum(members) => {
                self.info.enums.entry(name).or_insert_with(|| enumeration(members));
                TypeSpec::Enum(named)
            }
            TypeKind::SerEnum { underlying, members } => {
                let made = serializable(underlying, members);
                self.info.serializable_enums.entry(name).or_insert(made);
                TypeSpec::SerializableEnum(named)
            }
            TypeKind::New(under) => {
                if !self.info.new_types.contains_key(&name) {
                    let made = self.new_type(decl, under);
                    self.info.new_types.insert(name, made);
                }
                TypeSpec::NewType(named)
            }
        }
    }

    fn struct_member(&mut self, field: &Field) -> p4_struct_type_spec::Member {
        let name = control_name(&field.annotations, &field.name).to_string();
        p4_struct_type_spec::Member { name, type_spec: Some(self.known(&field.ty)) }
    }

    fn union_member(&mut self, field: &Field) -> p4_header_union_type_spec::Member {
        let name = control_name(&field.annotations, &field.name).to_string();
        let header = match self.known(&field.ty).type_spec {
            Some(TypeSpec::Header(header)) => Some(header),
            _ => None,
        };
        p4_header_union_type_spec::Member { name, header }
    }

    /// Type underlying new types, through all levels.
    fn stands_for(&self, ty: &'p Type) -> &'p Type {
        let mut ty = ty;
        while let Type::Named(id) = ty
            && let TypeKind::New(inner) = &self.program.type_decl(*id).kind
        {
            ty = inner;
        }
        ty
    }

    /// A new type of a new type is described by what both stand for.
    fn new_type(&mut self, decl: &TypeDecl, under: &'p Type) -> P4NewTypeSpec {
        let original = self.known(self.stands_for(under));
        let representation = match translation(&decl.annotations) {
            Some(Translation { uri, bits }) => Representation::TranslatedType(P4NewTypeTranslation {
                uri,
                sdn_type: Some(match bits {
                    Some(bits) => SdnType::SdnBitwidth(bits),
                    None => SdnType::SdnString(SdnString {}),
                }),
            }),
            None => Representation::OriginalType(original),
        };
        P4NewTypeSpec {
            representation: Some(representation),
            annotations: annotation::unstructured(&decl.annotations, &["p4runtime_translation"]),
            structured_annotations: annotation::structured(&decl.annotations),
            ..Default::default()
        }
    }

    /// The name by which fields of this type refer to it: only new types have one. It is entered.
    pub(crate) fn type_name(&mut self, ty: &Type) -> Option<P4NamedType> {
        self.spec(ty);
        match ty {
            Type::Named(id) => {
                let decl = self.program.type_decl(*id);
                matches!(decl.kind, TypeKind::New(_)).then(|| P4NamedType { name: type_name(decl) })
            }
            _ => None,
        }
    }

    /// The name of an enum without a representation: its values go by name.
    pub(crate) fn enum_name(&self, ty: &Type) -> Option<P4NamedType> {
        let Type::Named(id) = ty else { return None };
        let decl = self.program.type_decl(*id);
        matches!(decl.kind, TypeKind::Enum(_)).then(|| P4NamedType { name: type_name(decl) })
    }

    /// Bits of a value on the control plane's side: those of the translation; 0 for strings and what has no bits.
    pub(crate) fn bits(&self, ty: &Type) -> i32 {
        if let Type::Named(id) = ty
            && let Some(translation) = translation(&self.program.type_decl(*id).annotations)
        {
            return translation.bits.unwrap_or(0);
        }
        self.program.bits(ty).and_then(|bits| i32::try_from(bits).ok()).unwrap_or(0)
    }

    /// All types that were added.
    pub(crate) fn finish(self) -> P4TypeInfo {
        self.info
    }
}

/// A value as the control plane says it: of what is a string there the decimal number, which stands for itself.
pub(crate) fn value(program: &Program, ty: &Type, value: &Bits) -> Vec<u8> {
    let translated = match ty {
        Type::Named(id) => translation(&program.type_decl(*id).annotations),
        _ => None,
    };
    match translated {
        Some(Translation { bits: None, .. }) => value.to_biguint().to_string().into_bytes(),
        _ => padded(value),
    }
}

/// The control plane's name of a type.
pub(crate) fn type_name(decl: &TypeDecl) -> String {
    control_name(&decl.annotations, &decl.name).to_string()
}

/// The fields of a header, those of structs in it by `outer.inner`.
pub(crate) fn flat_fields<'p>(program: &'p Program, fields: &'p [Field]) -> Vec<FlatField<'p>> {
    let mut flat = vec![];
    for field in fields {
        let name = control_name(&field.annotations, &field.name);
        let inner = match &field.ty {
            Type::Named(id) => match &program.type_decl(*id).kind {
                TypeKind::Struct(inner) => Some(inner),
                _ => None,
            },
            _ => None,
        };
        let Some(inner) = inner else {
            let representation = program.representation(&field.ty);
            let annotations = vec![&field.annotations];
            flat.push(FlatField { name: name.to_string(), ty: &field.ty, representation, annotations });
            continue;
        };
        for mut field_inside in flat_fields(program, inner) {
            field_inside.name = format!("{}.{}", field.name, field_inside.name);
            field_inside.annotations.push(&field.annotations);
            flat.push(field_inside);
        }
    }
    flat
}

/// A field of a header that is no struct.
pub(crate) struct FlatField<'p> {
    pub(crate) name: String,
    pub(crate) ty: &'p Type,
    pub(crate) representation: &'p Type,
    /// Annotations of the field, then those of the structs around it.
    pub(crate) annotations: Vec<&'p Annotations>,
}

impl FlatField<'_> {
    /// The annotations of the field; of those with one name the innermost.
    pub(crate) fn merged(&self) -> Annotations {
        let mut merged: Annotations = vec![];
        for annotation in self.annotations.iter().copied().flatten() {
            if !merged.iter().any(|a| a.name == annotation.name) {
                merged.push(annotation.clone());
            }
        }
        merged
    }
}

fn header_member(field: FlatField<'_>) -> p4_header_type_spec::Member {
    let spec = bitstring(field.representation).map(P4BitstringLikeTypeSpec::from_spec);
    p4_header_type_spec::Member { name: field.name, type_spec: spec }
}

/// Bits that lie in a row; a bool is one bit.
fn bitstring(ty: &Type) -> Option<Bitstring> {
    let width = |width: u32| i32::try_from(width).unwrap_or(i32::MAX);
    Some(match ty {
        Type::Bit(n) => Bitstring::Bit(P4BitTypeSpec { bitwidth: width(*n) }),
        Type::Bool => Bitstring::Bit(P4BitTypeSpec { bitwidth: 1 }),
        Type::Int(n) => Bitstring::Int(P4IntTypeSpec { bitwidth: width(*n) }),
        Type::Varbit(n) => Bitstring::Varbit(P4VarbitTypeSpec { max_bitwidth: width(*n) }),
        _ => return None,
    })
}

trait FromSpec {
    fn from_spec(spec: Bitstring) -> Self;
}

impl FromSpec for P4BitstringLikeTypeSpec {
    fn from_spec(spec: Bitstring) -> Self {
        P4BitstringLikeTypeSpec { type_spec: Some(spec), ..Default::default() }
    }
}

fn enumeration(members: &[Name]) -> P4EnumTypeSpec {
    let member = |name: &Name| p4_enum_type_spec::Member { name: name.to_string(), ..Default::default() };
    P4EnumTypeSpec { members: members.iter().map(member).collect(), ..Default::default() }
}

fn serializable(underlying: &Type, members: &[(Name, Const)]) -> P4SerializableEnumTypeSpec {
    let width = match underlying {
        Type::Bit(n) | Type::Int(n) => i32::try_from(*n).unwrap_or(i32::MAX),
        _ => 0,
    };
    let member = |(name, value): &(Name, Const)| p4_serializable_enum_type_spec::Member {
        name: name.to_string(),
        value: if let Const::Bits(bits) = value { padded(bits) } else { vec![] },
        ..Default::default()
    };
    P4SerializableEnumTypeSpec {
        underlying_type: Some(P4BitTypeSpec { bitwidth: width }),
        members: members.iter().map(member).collect(),
        ..Default::default()
    }
}

/// `@p4runtime_translation(URI, string)`, `(URI, bit<W>)` or `(URI, W)`.
pub(crate) fn translation(annotations: &Annotations) -> Option<Translation> {
    let annotation = annotations.iter().find(|a| a.name == "p4runtime_translation")?;
    match &annotation.body {
        AnnotationBody::Values(values) => match values.as_slice() {
            [AnnotationValue::Str(uri), AnnotationValue::Int(bits)] => {
                Some(Translation { uri: uri.clone(), bits: Some(i32::try_from(bits).ok()?) })
            }
            [AnnotationValue::Str(uri), AnnotationValue::Str(_)] => {
                Some(Translation { uri: uri.clone(), bits: None })
            }
            _ => None,
        },
        AnnotationBody::Tokens(tokens) => {
            // Tokens are joined by spaces; the last comma counts, since a URI may contain some.
            let (uri, ty) = tokens.rsplit_once(" , ")?;
            let uri = uri.strip_prefix('"')?.strip_suffix('"')?;
            let uri = uri.replace("\\\"", "\"").replace("\\\\", "\\");
            let bits = match ty {
                "string" => None,
                _ => Some(ty.strip_prefix("bit < ")?.strip_suffix(" >")?.parse().ok()?),
            };
            Some(Translation { uri, bits })
        }
        _ => None,
    }
}

/// The name of an enum's member.
pub(crate) fn enumerator<'p>(program: &'p Program, ty: &Type, index: u32) -> Option<&'p str> {
    let Type::Named(id) = ty else { return None };
    match &program.type_decl(*id).kind {
        TypeKind::Enum(members) => members.get(index as usize).map(|name| name.as_str()),
        _ => None,
    }
}
