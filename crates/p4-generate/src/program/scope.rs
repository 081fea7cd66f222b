//! Names in scope.

use super::types::Ty;
use super::{Gen, Where};
use crate::feature::Feature as F;

/// Something that can be read, and perhaps written.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) text: String,
    pub(crate) ty: Ty,
    pub(crate) write: bool,
    /// The header it is a field of.
    pub(crate) header: Option<String>,
    /// A field of the architecture's metadata.
    pub(crate) standard: bool,
}

/// All places, those declared last at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) places: Vec<Place>,
}

/// Fields of `standard_metadata` that may be read everywhere, and their types.
const STEADY: &[(&str, u32)] = &[
    ("ingress_port", 9),
    ("egress_spec", 9),
    ("instance_type", 32),
    ("checksum_error", 1),
    ("mcast_grp", 16),
];

const QUEUE: &[(&str, u32)] =
    &[("enq_timestamp", 32), ("enq_qdepth", 19), ("deq_timedelta", 32), ("deq_qdepth", 19)];

impl Gen {
    /// Adds a variable and all its parts.
    pub(super) fn add(&mut self, text: &str, ty: &Ty, write: bool) {
        self.add_part(text, ty, write, None);
    }

    fn add_part(&mut self, text: &str, ty: &Ty, write: bool, header: Option<&str>) {
        self.scope.places.push(Place {
            text: text.to_string(),
            ty: ty.clone(),
            write,
            header: header.map(str::to_string),
            standard: false,
        });
        let header = if self.types.is_header(ty) { Some(text) } else { header };
        match ty {
            Ty::Named(_) => {
                for field in self.types.fields(ty).to_vec() {
                    self.add_part(&format!("{text}.{}", field.name), &field.ty, write, header);
                }
            }
            Ty::Stack(elem, size) => {
                for at in 0..*size {
                    self.add_part(&format!("{text}[{at}]"), elem, write, header);
                }
            }
            Ty::Tuple(types) => {
                for (at, ty) in types.iter().enumerate() {
                    self.add_part(&format!("{text}[{at}]"), ty, false, header);
                }
            }
            _ => {}
        }
    }

    /// Adds headers, metadata and standard metadata as the parameters of v1model's blocks name them.
    pub(super) fn add_stage(&mut self) {
        let (headers, metadata) = (self.headers.clone(), self.metadata.clone());
        for (name, ty) in self.consts.clone() {
            self.add(&name, &ty, false);
        }
        self.add("hdr", &headers, true);
        self.add("meta", &metadata, true);
        self.scope.places.retain(|p| p.text != "meta.round");
        if matches!(self.cx.place, Where::Ingress | Where::Egress) {
            self.add_standard(STEADY);
            let hides_length = self.plain && self.cx.place == Where::Egress;
            if !(self.config.portable || hides_length) {
                self.add_standard(&[("packet_length", 32)]);
            }
            self.standard_error();
        }
        if self.config.portable {
            return;
        }
        if self.cx.place == Where::Egress && self.on(F::QueueMetadata) {
            self.add_standard(QUEUE);
        }
        if matches!(self.cx.place, Where::Ingress | Where::Egress) && self.on(F::Timestamp) {
            self.add_standard(&[("ingress_global_timestamp", 48)]);
        }
        if self.cx.place == Where::Egress {
            self.add_standard(&[("egress_rid", 16), ("egress_port", 9)]);
        }
    }

    fn add_standard(&mut self, fields: &[(&str, u32)]) {
        for (name, width) in fields {
            let text = format!("standard_metadata.{name}");
            self.scope.places.push(Place {
                text,
                ty: Ty::Bit(*width),
                write: false,
                header: None,
                standard: true,
            });
        }
    }

    fn standard_error(&mut self) {
        let text = "standard_metadata.parser_error".to_string();
        self.scope.places.push(Place { text, ty: Ty::Error, write: false, header: None, standard: true });
    }

    /// Notes what reading the place means.
    pub(super) fn note_read(&mut self, place: &Place) {
        if !place.standard {
            return;
        }
        if QUEUE.iter().any(|(name, _)| place.text.ends_with(name)) {
            self.note(F::QueueMetadata);
        }
        if place.text.ends_with("timestamp") {
            self.note(F::Timestamp);
        }
    }

    /// True if the place has a defined value: fields of invalid headers depend on the target, so portable programs
    /// avoid them.
    fn defined(&self, place: &Place) -> bool {
        match &place.header {
            Some(header) if self.config.portable && self.cx.place != Where::Checksum => {
                self.cx.valid.contains(header)
            }
            _ => true,
        }
    }

    /// True if the header, or a part of the stack, has to stay valid here.
    pub(super) fn must_stay(&self, text: &str) -> bool {
        self.config.portable && (self.cx.action || self.cx.valid.iter().any(|valid| valid.starts_with(text)))
    }

    /// A place that `want` accepts, rather a young one.
    pub(super) fn some_place(&mut self, want: impl Fn(&Gen, &Place) -> bool) -> Option<Place> {
        let fits = |place: &Place| self.defined(place) && want(self, place);
        let fit: Vec<usize> =
            (0..self.scope.places.len()).filter(|at| fits(&self.scope.places[*at])).collect();
        if fit.is_empty() {
            return None;
        }
        let from = if self.chance(35) { fit.len().saturating_sub(5) } else { 0 };
        let at = from + self.below((fit.len() - from) as u64) as usize;
        let place = self.scope.places[fit[at]].clone();
        self.note_read(&place);
        if place.text.contains('[') && place.text.ends_with(|c| c != ']') {
            self.note(F::ConstIndex);
        }
        Some(place)
    }
}
