//! Positions of v1model's stages, metadata and field lists in a program.

use crate::region::Regions;
use crate::stage::{BlockName, Stage};
use base_bits::{BitWriter, Bits};
use base_diag::Diagnostic;
use base_diag::codes::run as codes;
use ir::{AnnotationBody, AnnotationValue, Name, Program, Role, Type};
use ir_value::Value;
use ir_value::wire::encode;

/// Facts about a program, computed once.
pub(crate) struct Layout {
    /// Stages, indexed by [`BlockName`].
    stages: [Stage; 6],
    standard_fields: Vec<(Name, u32)>,
    pub(super) headers: Type,
    pub(super) metadata: Type,
    pub(super) standard: Type,
    /// Paths into the user's metadata with the numbers of the field lists they are in.
    pub(super) field_lists: Vec<(Vec<u32>, Vec<u32>)>,
    /// The field of the user's metadata with `@counted_length`.
    counted_length: Option<u32>,
    /// The header with `@hand_over`, and those with `@original`.
    carried: Option<(u32, Vec<u32>)>,
    /// Positions in ingress at which frames may continue.
    pub(crate) regions: Regions,
    /// The port that means "drop".
    pub(crate) drop_port: u32,
}

/// Names of the stages, indexed by [`BlockName`].
const NAMES: [&str; 6] = ["parser", "verify_checksum", "ingress", "egress", "compute_checksum", "deparser"];

impl Layout {
    pub(crate) fn new(program: &Program, drop_port: u32) -> Result<Layout, Vec<Diagnostic>> {
        let missing = |name: &str| {
            vec![
                Diagnostic::error(codes::NOT_SUPPORTED, format!("the program has no stage `{name}`"))
                    .note("v1model has parser, verify_checksum, ingress, egress, compute_checksum, deparser"),
            ]
        };
        let stage = |name: &'static str| Stage::of(program, name).ok_or_else(|| missing(name));
        let [parser, verify, ingress, egress, compute, deparser] = NAMES;
        let mut stages = [
            stage(parser)?,
            stage(verify)?,
            stage(ingress)?,
            stage(egress)?,
            stage(compute)?,
            stage(deparser)?,
        ];
        let ingress = &stages[BlockName::Ingress as usize];
        let control = ingress.control().ok_or_else(|| missing("ingress"))?;
        let regions = Regions::of(program.control(control));
        let [headers, metadata, standard] =
            [Role::Headers, Role::Metadata, Role::StandardMetadata].map(|role| ingress.ty(role));
        let standard_fields =
            program.fields(&standard).iter().zip(0..).map(|(f, at)| (f.name.clone(), at)).collect();
        let counted_length = program
            .fields(&metadata)
            .iter()
            .zip(0..)
            .find(|(field, _)| field.annotations.iter().any(|a| a.name == p4_arch::v1model::COUNTED_LENGTH))
            .map(|(_, at)| at);
        let with = |mark: &'static str| {
            let headers = program.fields(&headers).iter().zip(0..);
            headers
                .filter(move |(field, _)| field.annotations.iter().any(|a| a.name == mark))
                .map(|(_, at)| at)
                .collect::<Vec<u32>>()
        };
        let hand_over = with(p4_arch::v1model::HAND_OVER).first().copied();
        let carried = hand_over.map(|header| (header, with(p4_arch::v1model::ORIGINAL)));
        let mut field_lists = vec![];
        find_field_lists(program, &metadata, &mut vec![], &mut field_lists, 0);
        if let Some(field) = counted_length {
            for name in [BlockName::Ingress, BlockName::Egress] {
                let stage = &mut stages[name as usize];
                let metadata = stage.params.iter().find(|param| param.role == Role::Metadata);
                stage.counted_length = metadata.map(|param| (param.var, field));
            }
        }
        Ok(Layout {
            stages,
            standard_fields,
            headers,
            metadata,
            standard,
            field_lists,
            counted_length,
            carried,
            regions,
            drop_port,
        })
    }

    /// Block of a stage.
    pub(crate) fn stage(&self, name: BlockName) -> &Stage {
        &self.stages[name as usize]
    }

    /// The types of the headers, of the user's metadata and of the standard metadata.
    pub(crate) fn types(&self) -> [Type; 3] {
        [&self.headers, &self.metadata, &self.standard].map(Clone::clone)
    }

    /// The field of the user's metadata with `@counted_length`.
    pub(crate) fn counted_length(&self) -> Option<usize> {
        self.counted_length.map(|field| field as usize)
    }

    /// True if the program has hand-overs whose carried frames can be rebuilt.
    pub(super) fn carries_frames(&self) -> bool {
        self.carried.is_some()
    }

    /// The frame that a hand-over carries, from its parsed headers and payload; `None` if they are not those of a hand-over.
    pub(super) fn carried_frame(&self, headers: &Value, payload: &[u8]) -> Option<Vec<u8>> {
        let (hand_over, originals) = self.carried.as_ref()?;
        headers.part(*hand_over).filter(|header| header.is_valid())?;
        let mut frame = BitWriter::new();
        for header in originals.iter().filter_map(|at| headers.part(*at)) {
            encode(header, &mut frame);
        }
        frame.push_bytes(payload);
        Some(frame.finish())
    }

    /// Limits the length that counters of a truncated clone see.
    pub(super) fn limit_counted_length(&self, metadata: &mut Value, most: u32) {
        if let Some(Value::Bits(bits)) = self.counted_length.and_then(|at| metadata.part_mut(at))
            && bits.to_u32().is_none_or(|length| length > most)
        {
            *bits = Bits::new(bits.width(), most.into());
        }
    }

    /// The position of a field of the standard metadata.
    fn field(&self, name: &str) -> Option<u32> {
        self.standard_fields.iter().find(|(n, _)| n == name).map(|(_, at)| *at)
    }

    /// Sets a field of the standard metadata, cut to its width.
    pub(super) fn set(&self, standard: &mut Value, name: &str, value: u128) {
        if let Some(at) = self.field(name).and_then(|at| standard.part_mut(at)) {
            match at {
                Value::Bits(bits) => *bits = Bits::new(bits.width(), value),
                Value::Error(id) => *id = ir::ErrorId(value as u32),
                _ => {}
            }
        }
    }

    /// A field of the standard metadata as a number.
    pub(super) fn get(&self, standard: &Value, name: &str) -> u32 {
        let value = self.field(name).and_then(|at| standard.part(at));
        value.and_then(Value::to_key).and_then(|bits| bits.to_u32()).unwrap_or(0)
    }

    /// Copies the fields of a field list from one metadata to another.
    pub(super) fn keep(&self, list: Option<u32>, from: &Value, to: &mut Value) {
        let Some(list) = list else { return };
        for (path, _) in self.field_lists.iter().filter(|(_, lists)| lists.contains(&list)) {
            let source = path.iter().try_fold(from, |at, step| at.part(*step));
            let target = path.iter().try_fold(&mut *to, |at, step| at.part_mut(*step));
            if let (Some(source), Some(target)) = (source, target) {
                *target = source.clone();
            }
        }
    }
}

/// Fields with `@field_list(n, ...)`, in nested structs too; a marked struct is kept as a whole.
fn find_field_lists(
    program: &Program,
    ty: &Type,
    path: &mut Vec<u32>,
    found: &mut Vec<(Vec<u32>, Vec<u32>)>,
    depth: u32,
) {
    if depth > 64 {
        return;
    }
    for (field, at) in program.fields(ty).iter().zip(0..) {
        path.push(at);
        let lists: Vec<u32> =
            field.annotations.iter().filter(|a| a.name == "field_list").flat_map(numbers).collect();
        if lists.is_empty() {
            find_field_lists(program, &field.ty, path, found, depth + 1);
        } else {
            found.push((path.clone(), lists));
        }
        path.pop();
    }
}

fn numbers(annotation: &ir::Annotation) -> Vec<u32> {
    match &annotation.body {
        AnnotationBody::Values(values) | AnnotationBody::List(values) => values
            .iter()
            .filter_map(|v| match v {
                AnnotationValue::Int(n) => u32::try_from(n).ok(),
                _ => None,
            })
            .collect(),
        AnnotationBody::Tokens(text) => {
            text.split([',', ' ']).filter_map(|t| t.trim().parse().ok()).collect()
        }
        _ => vec![],
    }
}
