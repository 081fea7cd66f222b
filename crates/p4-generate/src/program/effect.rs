//! Calls of v1model's functions and uses of standard metadata.

use super::scope::Place;
use super::types::Ty;
use super::{Gen, Where};
use crate::feature::Feature as F;

const ALGORITHMS: &[(&str, F)] = &[
    ("crc32", F::HashCrc32),
    ("crc32_custom", F::HashCrc32Custom),
    ("crc16", F::HashCrc16),
    ("crc16_custom", F::HashCrc16Custom),
    ("identity", F::HashIdentity),
    ("csum16", F::HashCsum16),
    ("xor16", F::HashXor16),
];

/// Ports that packets go out by.
const PORTS: u64 = 8;

impl Gen {
    pub(super) fn effect(&mut self) -> Option<bool> {
        if self.config.portable && self.cx.loops > 0 {
            return None;
        }
        let line = match self.cx.place {
            Where::Function => self.log(),
            Where::Ingress => match self.below(15) {
                0 => self.resubmit(),
                1 | 2 => self.clone_packet("I2E", F::CloneIngress),
                3 => self.digest(),
                4 => self.multicast(),
                5 | 6 => self.port(),
                7 => self.drop_packet(),
                8 => self.queue_priority(),
                _ => self.everywhere(),
            },
            Where::Egress => match self.below(12) {
                0 => self.recirculate(),
                1 | 2 => self.clone_packet("E2E", F::CloneEgress),
                3 => self.drop_packet(),
                _ => self.everywhere(),
            },
            Where::Piece => self.everywhere(),
            Where::Parser | Where::Checksum => None,
        }?;
        self.out.line(line);
        Some(false)
    }

    fn everywhere(&mut self) -> Option<String> {
        match self.below(10) {
            0..=3 => self.hash(),
            4 => self.random(),
            5 | 6 => self.truncate(),
            7 => self.assertion(),
            _ => self.log(),
        }
    }

    fn hash(&mut self) -> Option<String> {
        let width = self.types.widths.iter().copied().filter(|w| (8..=64).contains(w)).collect::<Vec<_>>();
        let width = *self.rng.pick(&width)?;
        let target = self.target(&Ty::Bit(width))?;
        let (name, feature) = *self.rng.pick(ALGORITHMS)?;
        self.note(feature);
        let base = self.below(20);
        let max = self.between(1, 200);
        let data = self.data_list(self.config.portable);
        Some(format!("hash({target}, HashAlgorithm.{name}, {width}w{base}, {data}, {width}w{max});"))
    }

    fn random(&mut self) -> Option<String> {
        if self.config.portable || !self.on(F::Random) {
            return None;
        }
        let width = *self.rng.pick(&[8, 16, 32])?;
        let target = self.target(&Ty::Bit(width))?;
        self.note(F::Random);
        let low = self.below(60);
        Some(format!("random({target}, {width}w{low}, {width}w{});", low + self.below(60)))
    }

    fn truncate(&mut self) -> Option<String> {
        if !self.on(F::Truncate) || self.cx.place == Where::Piece {
            return None;
        }
        self.note(F::Truncate);
        Some(format!("truncate(32w{});", self.between(4, 60)))
    }

    fn assertion(&mut self) -> Option<String> {
        if self.config.portable || !self.on(F::Assert) {
            return None;
        }
        self.note(F::Assert);
        let word = if self.chance(50) { "assert" } else { "assume" };
        let condition = if self.chance(70) {
            "true".to_string()
        } else {
            format!("({} != {})", self.bits(16, 1), self.literal(16))
        };
        Some(format!("{word}({condition});"))
    }

    fn log(&mut self) -> Option<String> {
        if !self.on(F::LogMsg) || (self.cx.place == Where::Function && self.config.portable) {
            return None;
        }
        self.note(F::LogMsg);
        let width = self.width();
        let (a, b) = (self.bits(width, 1), self.bits(8, 1));
        Some(match self.below(2) {
            0 => "log_msg(\"reached\");".to_string(),
            _ => format!("log_msg(\"{{}} and {{}}\", {{ {a}, {b} }});"),
        })
    }

    /// Now and then logs what the youngest variables hold: what nothing else would show.
    pub(super) fn log_values(&mut self) {
        if self.config.portable
            || !self.on(F::LogMsg)
            || matches!(self.cx.place, Where::Parser | Where::Checksum)
            || self.chance(50)
        {
            return;
        }
        self.note(F::LogMsg);
        let known =
            |place: &&Place| matches!(place.ty, Ty::Bit(_) | Ty::Bool) && !place.text.starts_with("hdr.");
        let young: Vec<String> =
            self.scope.places.iter().rev().filter(known).take(6).map(|place| place.text.clone()).collect();
        if !young.is_empty() {
            let format = vec!["{}"; young.len()].join(" ");
            self.out.line(format!("log_msg(\"{format}\", {{ {} }});", young.join(", ")));
        }
    }

    /// Only for packets that are no clones and copies: so it ends. A recirculated one counts as new in egress; its
    /// rounds are counted in metadata that every field list has.
    fn first_pass(&mut self, call: &str) -> String {
        format!("if (standard_metadata.instance_type == 0) {{ {call} }}")
    }

    fn list(&mut self) -> Option<u32> {
        let lists = self.lists.clone();
        let list = self.rng.pick(&lists).copied()?;
        self.note(F::FieldList);
        Some(list)
    }

    fn resubmit(&mut self) -> Option<String> {
        if !self.on(F::Resubmit) || self.cx.action && self.config.portable {
            return None;
        }
        let list = self.list()?;
        self.note(F::Resubmit);
        Some(self.first_pass(&format!("resubmit_preserving_field_list({list});")))
    }

    fn recirculate(&mut self) -> Option<String> {
        if !self.on(F::Recirculate) || self.cx.action && self.config.portable {
            return None;
        }
        let list = self.list()?;
        self.note(F::Recirculate);
        Some(self.first_pass(&format!(
            "if (meta.round < 2) {{ meta.round = meta.round + 1; recirculate_preserving_field_list({list}); }}"
        )))
    }

    fn clone_packet(&mut self, kind: &str, feature: F) -> Option<String> {
        if !self.on(feature) || self.cx.action && self.config.portable {
            return None;
        }
        self.note(feature);
        let session = self.between(1, 3);
        let call = match self.list() {
            Some(list) => format!("clone_preserving_field_list(CloneType.{kind}, {session}, {list});"),
            None => format!("clone(CloneType.{kind}, {session});"),
        };
        Some(if kind == "E2E" { self.first_pass(&call) } else { call })
    }

    fn digest(&mut self) -> Option<String> {
        if !self.on(F::Digest) {
            return None;
        }
        self.note(F::Digest);
        let data = self.data_list(self.config.portable);
        Some(format!("digest(32w{}, {data});", self.below(5)))
    }

    fn multicast(&mut self) -> Option<String> {
        if !self.on(F::Multicast) {
            return None;
        }
        self.note(F::Multicast);
        let group = self.below(4);
        Some(format!("standard_metadata.mcast_grp = {group};"))
    }

    fn port(&mut self) -> Option<String> {
        let port = match self.below(4) {
            0 => format!("(bit<9>){}", self.bits(3, 1)),
            _ => self.below(PORTS).to_string(),
        };
        if self.features.contains(&F::Drop) {
            self.note(F::DropOverride);
        }
        Some(format!("standard_metadata.egress_spec = {port};"))
    }

    fn drop_packet(&mut self) -> Option<String> {
        if self.cx.depth < 2 && self.chance(80) {
            return None;
        }
        self.note(F::Drop);
        Some("mark_to_drop(standard_metadata);".to_string())
    }

    fn queue_priority(&mut self) -> Option<String> {
        if self.config.portable || !self.on(F::Priority) {
            return None;
        }
        self.note(F::Priority);
        Some(format!("standard_metadata.priority = {};", self.bits(3, 1)))
    }
}
