//! The fields and headers that a class may name.

/// A number that a class may compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Field {
    /// The port that the packet came in by.
    Port,
    /// Destination address of Ethernet.
    EthernetDst,
    /// Source address of Ethernet.
    EthernetSrc,
    /// EtherType: the one after the VLAN tag, if there is a tag.
    EthernetType,
    /// VLAN identifier.
    VlanId,
    /// Priority of the VLAN tag.
    VlanPriority,
    /// Source address.
    Ipv4Src,
    /// Destination address.
    Ipv4Dst,
    /// Protocol.
    Ipv4Protocol,
    /// Source address.
    Ipv6Src,
    /// Destination address.
    Ipv6Dst,
    /// Next header.
    Ipv6Protocol,
    /// Source port of TCP or UDP.
    L4Src,
    /// Destination port of TCP or UDP.
    L4Dst,
}

/// A header that a class may ask for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Header {
    /// 14 bytes, or more, are there.
    Ethernet,
    /// One tag of IEEE 802.1Q (EtherType 0x8100).
    Vlan,
    /// IP version 4.
    Ipv4,
    /// IP version 6.
    Ipv6,
    /// TCP over IPv4 or IPv6, with its ports.
    Tcp,
    /// UDP over IPv4 or IPv6, with its ports.
    Udp,
}

/// The last header that a parser must extract.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// Not at all.
    Port,
    /// Ethernet and a VLAN tag.
    Link,
    /// IP.
    Network,
    /// Ports of TCP and UDP.
    Transport,
}

/// Form of a field's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    Number,
    Mac,
    Ipv4,
    Ipv6,
}

impl Field {
    /// All of them.
    #[rustfmt::skip]
    pub const ALL: [Field; 14] = [
        Field::Port, Field::EthernetDst, Field::EthernetSrc, Field::EthernetType, Field::VlanId, Field::VlanPriority,
        Field::Ipv4Src, Field::Ipv4Dst, Field::Ipv4Protocol, Field::Ipv6Src, Field::Ipv6Dst, Field::Ipv6Protocol,
        Field::L4Src, Field::L4Dst,
    ];

    /// As a class writes it.
    pub fn name(self) -> &'static str {
        match self {
            Field::Port => "port",
            Field::EthernetDst => "ethernet.dst",
            Field::EthernetSrc => "ethernet.src",
            Field::EthernetType => "ethernet.type",
            Field::VlanId => "vlan.id",
            Field::VlanPriority => "vlan.priority",
            Field::Ipv4Src => "ipv4.src",
            Field::Ipv4Dst => "ipv4.dst",
            Field::Ipv4Protocol => "ipv4.protocol",
            Field::Ipv6Src => "ipv6.src",
            Field::Ipv6Dst => "ipv6.dst",
            Field::Ipv6Protocol => "ipv6.protocol",
            Field::L4Src => "l4.src",
            Field::L4Dst => "l4.dst",
        }
    }

    /// Width in bits.
    pub fn width(self) -> u32 {
        match self {
            Field::Port => 9,
            Field::EthernetDst | Field::EthernetSrc => 48,
            Field::EthernetType | Field::L4Src | Field::L4Dst => 16,
            Field::VlanId => 12,
            Field::VlanPriority => 3,
            Field::Ipv4Src | Field::Ipv4Dst => 32,
            Field::Ipv4Protocol | Field::Ipv6Protocol => 8,
            Field::Ipv6Src | Field::Ipv6Dst => 128,
        }
    }

    /// The largest value.
    pub fn max(self) -> u128 {
        u128::MAX >> (128 - self.width())
    }

    /// The layer that it belongs to.
    pub fn layer(self) -> Layer {
        match self {
            Field::Port => Layer::Port,
            Field::EthernetDst
            | Field::EthernetSrc
            | Field::EthernetType
            | Field::VlanId
            | Field::VlanPriority => Layer::Link,
            Field::L4Src | Field::L4Dst => Layer::Transport,
            _ => Layer::Network,
        }
    }

    pub(crate) fn notation(self) -> Notation {
        match self {
            Field::EthernetDst | Field::EthernetSrc => Notation::Mac,
            Field::Ipv4Src | Field::Ipv4Dst => Notation::Ipv4,
            Field::Ipv6Src | Field::Ipv6Dst => Notation::Ipv6,
            _ => Notation::Number,
        }
    }
}

impl Header {
    /// All of them.
    pub const ALL: [Header; 6] =
        [Header::Ethernet, Header::Vlan, Header::Ipv4, Header::Ipv6, Header::Tcp, Header::Udp];

    /// As a class writes it.
    pub fn name(self) -> &'static str {
        match self {
            Header::Ethernet => "ethernet",
            Header::Vlan => "vlan",
            Header::Ipv4 => "ipv4",
            Header::Ipv6 => "ipv6",
            Header::Tcp => "tcp",
            Header::Udp => "udp",
        }
    }

    /// The layer that it belongs to.
    pub fn layer(self) -> Layer {
        match self {
            Header::Ethernet | Header::Vlan => Layer::Link,
            Header::Ipv4 | Header::Ipv6 => Layer::Network,
            Header::Tcp | Header::Udp => Layer::Transport,
        }
    }
}
