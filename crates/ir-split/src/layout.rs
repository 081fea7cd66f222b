//! Layout of hand-overs: the header in front of the packet.
//!
//! Two headers: `p4rack_t`, the same for all cuts of a program, and one of its own for each section that is entered
//! over a cut, with the live values of that section. Behind them come all valid headers in declaration order, then
//! the payload.

use crate::flow::AtSection;
use crate::place::{HeaderIndex, Leaf, Places, Root, identifier};
use crate::prepare::writes_standard;
use crate::section::{SectionId, Sections};
use ir::{Name, Program, Type, TypeKind};
use p4_arch::Meaning;
use std::collections::BTreeMap;

/// The EtherType of hand-overs: "local experimental 1" of IEEE 802.
pub const ETHER_TYPE: u16 = 0x88b5;

/// The version of this layout.
pub const VERSION: u64 = 1;

/// Bits of the version.
pub const VERSION_BITS: u32 = 4;

/// The field by which a policy distinguishes its own frames from hand-overs of packets, which have 0 there.
pub const KIND: &str = "kind";

/// The field with the number of a call, 0 if calls are not numbered.
pub const CALL: &str = "group_call";

/// Bits of a frame's length.
pub const FRAME_LENGTH_BITS: u32 = 16;

/// Bits in front that make a hand-over an Ethernet frame: addresses and EtherType.
pub const ETHERNET_BITS: u32 = 112;

/// Bits of the shortest frame that no link pads, without its checksum.
pub const SHORTEST_BITS: u32 = 60 * 8;

/// Bits of the app's number. It and the epoch stand at the same place in every plan's hand-overs, so that those of
/// another app or plan are known as such.
pub const APP_BITS: u32 = 8;

/// Bits of the plan's number, which is counted modulo their range.
pub const EPOCH_BITS: u32 = 8;

/// The layout of a program's hand-overs under one placement.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    /// The fields of `p4rack_t`, in order; whole bytes together.
    pub common: Vec<LayoutField>,
    /// Bits of the number of a section.
    pub region_bits: u32,
    /// The output ports that the position of a hand-over implies, for each section that needs them. Only without a header.
    pub ports: BTreeMap<SectionId, Vec<u64>>,
    /// For each section entered over a cut: its live values, those of whole bytes first.
    pub sections: BTreeMap<SectionId, Vec<LiveField>>,
    /// The value of `region` that names no section.
    pub unknown_region: u64,
    /// The value of `region` of a frame that a policy has dealt with: nothing runs.
    pub ended_region: u64,
    /// Bits of the header that makes short hand-overs long enough; 0 if none is needed.
    pub pad_bits: u32,
}

/// A field of `p4rack_t`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayoutField {
    /// `region`, `has_ipv4`, ...
    pub name: Name,
    /// Bits.
    pub width: u32,
}

/// A live value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveField {
    /// The value.
    pub leaf: Leaf,
    /// The field's name: the value's, with `_` for dots.
    pub name: Name,
    /// Bits.
    pub width: u32,
    /// How the value is written as bits.
    pub form: Form,
}

/// How a value is written as bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// A cast.
    Bits,
    /// The validity of a header: 1 if it is valid.
    Validity,
    /// The number of a member of an enum or of `error`: these have so many members.
    Member(u32),
}

/// A live value that has no form in a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotCarried {
    /// The value.
    pub leaf: Leaf,
    /// Section that would need the value.
    pub section: SectionId,
}

impl Layout {
    /// Lays out the hand-overs to the sections in `entered`. Fields of edge policies stand after `region`.
    pub fn new(
        program: &Program,
        places: &Places,
        (sections, entered): (&Sections, Vec<SectionId>),
        at: &[AtSection],
        originals: &[HeaderIndex],
        of_policies: Vec<LayoutField>,
    ) -> Result<Layout, Vec<NotCarried>> {
        let mut live = BTreeMap::new();
        let mut refused = vec![];
        for id in entered {
            let mut fields = vec![];
            for leaf in carried(places, &at[id.0 as usize]) {
                match form(program, places, leaf) {
                    Some((width, form)) => {
                        let name = field_name(places, leaf, &fields);
                        fields.push(LiveField { leaf, name, width, form });
                    }
                    None => refused.push(NotCarried { leaf, section: id }),
                }
            }
            // Fields of whole bytes first: one that begins within a byte would share containers with its neighbours, and an action of a Tofino
            // writes a container from two others at most.
            fields.sort_by_key(|field| !field.width.is_multiple_of(8));
            live.insert(id, fields);
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        // Two numbers beyond those of sections: an unknown hand-over, and, where policies drop frames, one after which nothing runs.
        let unknown_region = sections.list.len() as u64;
        let ended_region = unknown_region + 1;
        let ends = of_policies.iter().any(|field| [KIND, CALL].contains(&field.name.as_str()));
        let last_region = if ends { ended_region } else { unknown_region };
        let region_bits = bits_for(last_region);
        let field = |name: &str, width: u32| LayoutField { name: name.into(), width };
        let mut common = vec![
            field("dst_addr", 48),
            field("src_addr", 48),
            field("ether_type", 16),
            field("version", VERSION_BITS),
            field("app", APP_BITS),
            field("epoch", EPOCH_BITS),
            field("region", region_bits),
        ];
        common.extend(of_policies);
        common.extend(places.of_packet().map(|(_, h)| field(&format!("has_{}", h.name), 1)));
        for (_, header) in places.of_packet() {
            if let Some(most) = varbit_bits(program, &header.ty) {
                common.push(field(&format!("len_{}", header.name), bits_for(most)));
            }
        }
        common.extend(originals.iter().map(|&i| field(&format!("orig_{}", places.header(i).name), 1)));
        for &index in originals {
            let header = places.header(index);
            if let Some(most) = varbit_bits(program, &header.ty) {
                common.push(field(&format!("orig_len_{}", header.name), bits_for(most)));
            }
        }
        common.push(field("has_pad", 1));
        pad(&mut common);
        let bits: u32 = common.iter().map(|f| f.width).sum();
        let pad_bits = SHORTEST_BITS.saturating_sub(bits);
        Ok(Layout {
            common,
            region_bits,
            sections: live,
            unknown_region,
            ended_region,
            pad_bits,
            ..Layout::default()
        })
    }

    /// Bits of `p4rack_t`.
    pub fn common_bits(&self) -> u32 {
        self.common.iter().map(|f| f.width).sum()
    }

    /// Bits of a section's own header, padding included.
    pub fn section_bits(&self, id: SectionId) -> u32 {
        let bits: u32 = self.sections.get(&id).into_iter().flatten().map(|f| f.width).sum();
        bits.next_multiple_of(8)
    }

    /// The bytes of `p4rack_t` with these values; other fields are zero.
    pub fn frame(&self, values: &[(&str, u64)]) -> Vec<u8> {
        let value =
            |name: &str| values.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value);
        let mut bytes = vec![0; self.common_bits() as usize / 8];
        let mut at = 0;
        for field in &self.common {
            let value = value(&field.name);
            for bit in (0..field.width).rev() {
                bytes[at / 8] |= u8::from(value.checked_shr(bit).unwrap_or(0) & 1 == 1) << (7 - at % 8);
                at += 1;
            }
        }
        bytes
    }

    /// The width of a common field.
    pub fn width_of(&self, name: &str) -> u32 {
        self.common.iter().find(|f| f.name == name).map_or(0, |f| f.width)
    }
}

/// Leaves that must travel to a section: live and perhaps not zero. Fields of the packet's headers travel in their
/// headers, except where a header may be invalid with values in its fields.
pub fn carried(places: &Places, at: &AtSection) -> Vec<Leaf> {
    let all = (0..places.leaves.len() as u32).map(Leaf);
    all.filter(|&leaf| match places.packet_header(leaf) {
        Some(header) => at.live.hidden.contains(leaf) && at.facts.may_be_stale(header),
        None => at.live.live.contains(leaf) && at.facts.may_be_written(leaf),
    })
    .collect()
}

/// Bits of a live value and how it is written; `None` if it cannot travel.
fn form(program: &Program, places: &Places, leaf: Leaf) -> Option<(u32, Form)> {
    let info = places.info(leaf);
    if info.is_validity {
        return Some((1, Form::Validity));
    }
    // The program may write larger values there.
    if Some(leaf) == places.standard(Meaning::Length) && !writes_standard(program, Meaning::Length) {
        return Some((FRAME_LENGTH_BITS, Form::Bits));
    }
    match program.representation(&info.ty) {
        Type::Bit(n) | Type::Int(n) if *n > 0 => Some((*n, Form::Bits)),
        Type::Bool => Some((1, Form::Bits)),
        Type::Error => Some(member_form(program.errors.len())),
        Type::Named(id) => match &program.type_decl(*id).kind {
            TypeKind::SerEnum { underlying: Type::Bit(n) | Type::Int(n), .. } => Some((*n, Form::Bits)),
            TypeKind::Enum(members) => Some(member_form(members.len())),
            _ => None,
        },
        _ => None,
    }
}

fn member_form(count: usize) -> (u32, Form) {
    (bits_for(count.saturating_sub(1) as u64), Form::Member(count as u32))
}

/// The most bits that a header's varbit field holds; `None` if it has none.
pub fn varbit_bits(program: &Program, header: &Type) -> Option<u64> {
    program.fields(header).iter().find_map(|f| match f.ty {
        Type::Varbit(most) => Some(u64::from(most)),
        _ => None,
    })
}

fn field_name(places: &Places, leaf: Leaf, taken: &[LiveField]) -> Name {
    let info = places.info(leaf);
    let inner = match info.root {
        Root::Shared(_) => info.name.split_once('.').map_or(info.name.as_str(), |(_, rest)| rest),
        Root::Local(..) => &info.name,
    };
    let base = identifier(inner);
    let free = |candidate: &str| candidate != "padding" && !taken.iter().any(|f| f.name == candidate);
    let numbered = (2..).map(|n| format!("{base}_{n}"));
    std::iter::once(base.clone()).chain(numbered).find(|n| free(n)).unwrap_or(base).into()
}

fn pad(fields: &mut Vec<LayoutField>) {
    let bits: u32 = fields.iter().map(|f| f.width).sum();
    if !bits.is_multiple_of(8) {
        fields.push(LayoutField { name: "padding".into(), width: 8 - bits % 8 });
    }
}

/// Bits that hold `n`, one at least.
pub fn bits_for(n: u64) -> u32 {
    (u64::BITS - n.leading_zeros()).max(1)
}
