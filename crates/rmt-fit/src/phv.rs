//! Containers for headers and metadata: a packing model.
//!
//! A field that a stage reads or writes takes containers of its own, the widest first; fields that share a byte of a header share its
//! container. Mutually exclusive headers share containers, and so do local values that are not live at the
//! same time. Fields that no stage reads or writes are in tagalong containers or, if the device has none, in no container.
//! If a device has mocha containers, they hold fields that no ALU computes with.

use crate::device::Device;
use crate::field::{Access, FieldId, Fields, Half, Kind};
use crate::parde::{Header, Parde};
use crate::unit::Unit;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of the intrinsic metadata of ingress and egress that stay in containers whether they are read or not: the port.
const PORT_BYTES: u32 = 2;

/// Containers in use.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Containers {
    /// Containers of 8 bits.
    pub bytes: u32,
    /// Containers of 16 bits.
    pub halves: u32,
    /// Containers of 32 bits.
    pub words: u32,
    /// Containers that actions only write as a whole, of all widths.
    pub mocha: u32,
    /// Containers that stages cannot see, of all widths.
    pub tagalong: u32,
}

impl Containers {
    /// All that ALUs can compute with.
    pub fn normal(&self) -> u32 {
        self.bytes + self.halves + self.words
    }

    fn add(&mut self, other: Containers) {
        self.bytes += other.bytes;
        self.halves += other.halves;
        self.words += other.words;
        self.mocha += other.mocha;
    }

    /// The larger of each kind.
    fn max(self, other: Containers) -> Containers {
        Containers {
            bytes: self.bytes.max(other.bytes),
            halves: self.halves.max(other.halves),
            words: self.words.max(other.words),
            mocha: self.mocha.max(other.mocha),
            tagalong: self.tagalong.max(other.tagalong),
        }
    }

    /// Containers for this number of consecutive bytes.
    fn of_bytes(bytes: u32) -> Containers {
        Containers { words: bytes / 4, halves: bytes % 4 / 2, bytes: bytes % 2, ..Containers::default() }
    }

    /// As mocha containers.
    fn to_mocha(self) -> Containers {
        Containers { mocha: self.normal() + self.mocha, ..Containers::default() }
    }
}

/// Input of the packing of one half of the pipeline.
pub struct Packing<'a> {
    /// The device.
    pub device: &'a Device,
    /// The half.
    pub half: Half,
    /// All fields.
    pub fields: &'a Fields,
    /// All units.
    pub units: &'a [Unit],
    /// First and last stage of each unit.
    pub stages: &'a [(u32, u32)],
    /// Parser and deparser.
    pub parde: &'a Parde,
    /// Validity bits of headers, and of metadata.
    pub pov_bits: (u32, u32),
}

/// How the units use fields.
#[derive(Default)]
struct Uses {
    written: BTreeSet<FieldId>,
    read: BTreeSet<FieldId>,
    /// Operands and results of ALUs.
    computed: BTreeSet<FieldId>,
}

impl Uses {
    fn is_seen(&self, field: FieldId) -> bool {
        self.read.contains(&field) || self.written.contains(&field)
    }
}

impl Packing<'_> {
    /// The containers of the half.
    pub fn containers(&self) -> Containers {
        let uses = self.uses();
        let mut all = Containers::default();
        let mut hidden = 0;
        // Headers that no packet has together share containers: each group counts as its largest.
        for group in self.groups() {
            let mut most = (Containers::default(), 0);
            for header in group {
                let (containers, bytes) = self.header(header, &uses);
                most = (most.0.max(containers), most.1.max(bytes));
            }
            all.add(most.0);
            hidden += most.1;
        }
        all.add(self.metadata(&uses));
        all.add(self.locals(&uses));
        let is_parsed = self.parde.intrinsic_bytes > 0;
        if is_parsed {
            all.add(self.held(Containers::of_bytes(PORT_BYTES), false));
        }
        // The parser sets the bits of headers, actions those of metadata: they are apart.
        let (headers, metadata) = self.pov_bits;
        let least = u32::from(is_parsed && self.half == Half::Egress && !self.has_mocha());
        all.bytes += headers.div_ceil(8).max(least);
        all.add(self.held(Containers { bytes: metadata.div_ceil(8), ..Containers::default() }, true));
        all.tagalong = self.tagalong(hidden);
        all
    }

    fn has_mocha(&self) -> bool {
        let phv = &self.device.phv;
        phv.mocha_bytes + phv.mocha_halves + phv.mocha_words > 0
    }

    /// Converts containers to mocha containers, if the device has them and no ALU computes with the contents.
    fn held(&self, containers: Containers, is_computed: bool) -> Containers {
        if self.has_mocha() && !is_computed { containers.to_mocha() } else { containers }
    }

    fn uses(&self) -> Uses {
        let mut uses = Uses::default();
        let of = |accesses: &[Access]| accesses.iter().map(|a| a.field).collect::<Vec<_>>();
        for unit in self.units {
            uses.read.extend(of(&unit.matches));
            uses.read.extend(of(&unit.reads));
            uses.written.extend(of(&unit.writes));
            uses.computed.extend(of(&unit.reads));
            let hashes = !unit.hashes.is_empty() || unit.fixed.hash_bits > 0;
            if !unit.reads.is_empty() || hashes || !unit.side.is_empty() {
                uses.computed.extend(of(&unit.writes));
            }
        }
        uses
    }

    /// Groups of mutually exclusive headers.
    fn groups(&self) -> Vec<Vec<&Header>> {
        let mut groups: Vec<Vec<&Header>> = vec![];
        for header in self.parde.headers.values() {
            let apart = |group: &&mut Vec<&Header>| group.iter().all(|h| !self.parde.meet(h, header));
            match groups.iter_mut().find(apart) {
                Some(group) => group.push(header),
                None => groups.push(vec![header]),
            }
        }
        groups
    }

    /// Containers of a header's fields that stages see, and bytes of the others that the deparser needs.
    fn header(&self, header: &Header, uses: &Uses) -> (Containers, u32) {
        let is_emitted = self.parde.emitted.contains(&header.valid);
        let (mut containers, mut hidden) = (Containers::default(), 0);
        for run in runs(&header.fields) {
            let any = |of: &dyn Fn(FieldId) -> bool| run.iter().any(|a| of(a.field));
            let bytes = run.iter().map(Access::bits).sum::<u32>().div_ceil(8);
            if any(&|f| uses.is_seen(f)) {
                let is_computed = any(&|f| uses.computed.contains(&f));
                containers.add(self.held(Containers::of_bytes(bytes), is_computed));
            } else if is_emitted || any(&|f| self.parde.read.contains(&f)) {
                hidden += bytes;
            }
        }
        (containers, hidden)
    }

    /// Metadata of the program and the architecture. Flags join a container that has room.
    fn metadata(&self, uses: &Uses) -> Containers {
        let mut all = Containers::default();
        let mut flags = 0;
        for (id, field) in self.fields.iter().filter(|(_, f)| f.half == self.half) {
            let is_used = match field.kind {
                Kind::Intrinsic => {
                    uses.written.contains(&id) || uses.read.contains(&id) && !self.parde.written.contains(&id)
                }
                Kind::Metadata => {
                    let is_read = uses.read.contains(&id) || self.parde.read.contains(&id);
                    is_read && (uses.written.contains(&id) || self.parde.written.contains(&id))
                }
                _ => false,
            };
            match (is_used, field.bits) {
                (true, 1) => flags += 1,
                (true, bits) => {
                    let containers = Containers::of_bytes(bits.div_ceil(8));
                    all.add(self.held(containers, uses.computed.contains(&id)));
                }
                _ => {}
            }
        }
        // The container of a port has room for seven flags.
        if all.halves + all.mocha == 0 {
            all.bytes += u32::min(flags, 1);
        }
        all
    }

    /// Local values: the most that are needed at once, for each width.
    fn locals(&self, uses: &Uses) -> Containers {
        let mut spans: BTreeMap<FieldId, (u32, u32)> = BTreeMap::new();
        for (unit, (first, last)) in self.units.iter().zip(self.stages) {
            for access in unit.matches.iter().chain(&unit.reads).chain(&unit.writes) {
                let field = self.fields.get(access.field);
                let is_alive = uses.read.contains(&access.field) && uses.written.contains(&access.field);
                if field.kind == Kind::Local && field.half == self.half && is_alive {
                    let span = spans.entry(access.field).or_insert((*first, *last));
                    *span = (span.0.min(*first), span.1.max(*last));
                }
            }
        }
        // The number of live values changes at these stages alone.
        let mut stages: BTreeSet<u32> = spans.values().flat_map(|s| [s.0, s.1]).collect();
        let mut most = Containers::default();
        while let Some(stage) = stages.pop_first() {
            let mut now = Containers::default();
            for (id, _) in spans.iter().filter(|(_, span)| (span.0..=span.1).contains(&stage)) {
                let containers = Containers::of_bytes(self.fields.get(*id).bits.div_ceil(8));
                now.add(self.held(containers, uses.computed.contains(id)));
            }
            most = most.max(now);
        }
        most
    }

    /// Containers for bytes that no stage sees: in the mix of widths that the device has.
    fn tagalong(&self, hidden: u32) -> u32 {
        let phv = &self.device.phv;
        let number = phv.tagalong_bytes + phv.tagalong_halves + phv.tagalong_words;
        let bytes = phv.tagalong_bytes + 2 * phv.tagalong_halves + 4 * phv.tagalong_words;
        if bytes == 0 {
            return 0;
        }
        let parsed = self.parde.intrinsic_bytes + self.parde.least_bytes;
        let padding = match self.half {
            Half::Egress if self.parde.intrinsic_bytes > 0 => {
                self.device.parser.egress_bytes.saturating_sub(parsed)
            }
            _ => 0,
        };
        let all = u64::from(hidden + padding) * u64::from(number);
        u32::try_from((all + u64::from(bytes / 2)) / u64::from(bytes)).unwrap_or(u32::MAX)
    }
}

/// The fields of a header in runs that begin and end at a byte.
fn runs(fields: &[Access]) -> Vec<&[Access]> {
    let (mut runs, mut first, mut bits) = (vec![], 0, 0);
    for (at, access) in fields.iter().enumerate() {
        bits += access.bits();
        if bits % 8 == 0 {
            runs.push(&fields[first..=at]);
            first = at + 1;
        }
    }
    if first < fields.len() {
        runs.push(&fields[first..]);
    }
    runs
}
