//! Shapes: which of the headers a packet has.

use crate::{Field, Header};

/// The headers of a packet, as far as classes know them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Shape {
    /// 14 bytes are there.
    pub ethernet: bool,
    /// One VLAN tag.
    pub vlan: bool,
    /// The network header.
    pub l3: L3,
    /// The transport header.
    pub l4: L4,
}

/// The network header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum L3 {
    /// Another one, or none.
    Other,
    /// IP version 4.
    Ipv4,
    /// IP version 6.
    Ipv6,
}

/// The transport header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum L4 {
    /// Another one, or none; a later fragment.
    Other,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// EtherType of a VLAN tag.
pub(crate) const TAG: u128 = 0x8100;
/// EtherTypes of IPv4 and IPv6.
pub(crate) const IPV4: u128 = 0x0800;
pub(crate) const IPV6: u128 = 0x86dd;
/// IP protocols.
pub(crate) const TCP: u128 = 6;
pub(crate) const UDP: u128 = 17;

const fn shape(vlan: bool, l3: L3, l4: L4) -> Shape {
    Shape { ethernet: true, vlan, l3, l4 }
}

/// All shapes. Those with more headers come first: witnesses of overlaps are looked for in this order.
pub const SHAPES: [Shape; 15] = [
    shape(false, L3::Ipv4, L4::Tcp),
    shape(false, L3::Ipv4, L4::Udp),
    shape(false, L3::Ipv4, L4::Other),
    shape(false, L3::Ipv6, L4::Tcp),
    shape(false, L3::Ipv6, L4::Udp),
    shape(false, L3::Ipv6, L4::Other),
    shape(false, L3::Other, L4::Other),
    shape(true, L3::Ipv4, L4::Tcp),
    shape(true, L3::Ipv4, L4::Udp),
    shape(true, L3::Ipv4, L4::Other),
    shape(true, L3::Ipv6, L4::Tcp),
    shape(true, L3::Ipv6, L4::Udp),
    shape(true, L3::Ipv6, L4::Other),
    shape(true, L3::Other, L4::Other),
    Shape { ethernet: false, vlan: false, l3: L3::Other, l4: L4::Other },
];

impl Shape {
    /// True if packets of this shape have that header.
    pub fn has(self, header: Header) -> bool {
        match header {
            Header::Ethernet => self.ethernet,
            Header::Vlan => self.vlan,
            Header::Ipv4 => self.l3 == L3::Ipv4,
            Header::Ipv6 => self.l3 == L3::Ipv6,
            Header::Tcp => self.l4 == L4::Tcp,
            Header::Udp => self.l4 == L4::Udp,
        }
    }

    /// The values that `field` can have in packets of this shape, first and last; `None` if they do not have it.
    pub fn domain(self, field: Field) -> Option<(u128, u128)> {
        let has = match field {
            Field::Port => true,
            Field::EthernetDst | Field::EthernetSrc | Field::EthernetType => self.ethernet,
            Field::VlanId | Field::VlanPriority => self.vlan,
            Field::Ipv4Src | Field::Ipv4Dst | Field::Ipv4Protocol => self.l3 == L3::Ipv4,
            Field::Ipv6Src | Field::Ipv6Dst | Field::Ipv6Protocol => self.l3 == L3::Ipv6,
            Field::L4Src | Field::L4Dst => self.l4 != L4::Other,
        };
        let fixed = match (field, self.l3, self.l4) {
            (Field::EthernetType, L3::Ipv4, _) => Some(IPV4),
            (Field::EthernetType, L3::Ipv6, _) => Some(IPV6),
            (Field::Ipv4Protocol | Field::Ipv6Protocol, _, L4::Tcp) => Some(TCP),
            (Field::Ipv4Protocol | Field::Ipv6Protocol, _, L4::Udp) => Some(UDP),
            _ => None,
        };
        has.then(|| fixed.map_or((0, field.max()), |value| (value, value)))
    }
}
