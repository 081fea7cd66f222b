//! A packet of two classes.

use crate::address::shown;
use crate::shape::{L3, L4, TAG, TCP, UDP};
use crate::{Class, Field, Row, SHAPES, Shape, TooComplex};
use std::fmt;

/// A packet, and what about it shows that it belongs to two classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// Port that it comes in by.
    pub port: u32,
    /// Bytes of the packet.
    pub frame: Vec<u8>,
    /// The fields that the classes look at, with their values.
    pub fields: Vec<(Field, u128)>,
    /// Headers of the packet.
    pub shape: Shape,
}

impl Class {
    /// A packet that belongs to both classes, if there is one.
    pub fn overlap(&self, other: &Class) -> Result<Option<Witness>, TooComplex> {
        for shape in SHAPES {
            if let Some(row) = self.meet(other, shape)? {
                return Ok(Some(Witness::of(&row, shape)));
            }
        }
        Ok(None)
    }

    /// A packet of the class, if there is one.
    pub fn example(&self) -> Result<Option<Witness>, TooComplex> {
        self.overlap(self)
    }
}

impl Witness {
    fn of(row: &Row, shape: Shape) -> Witness {
        let value = |field: Field| match (row.0.get(&field), usual(field)) {
            (Some((lo, hi)), usual) if (*lo..=*hi).contains(&usual) => usual,
            (Some((lo, _)), _) => *lo,
            (None, usual) => shape.domain(field).map_or(usual, |(lo, hi)| usual.clamp(lo, hi)),
        };
        let mut frame = vec![];
        let mut put = |value: u128, bytes: usize| frame.extend_from_slice(&value.to_be_bytes()[16 - bytes..]);
        if shape.ethernet {
            put(value(Field::EthernetDst), 6);
            put(value(Field::EthernetSrc), 6);
            if shape.vlan {
                put(TAG, 2);
                put(value(Field::VlanPriority) << 13 | value(Field::VlanId), 2);
            }
            // Where no network header is to follow, the frame ends: then any type will do.
            put(value(Field::EthernetType), 2);
        }
        let ports = if shape.l4 == L4::Other { 0 } else { 4 };
        match shape.l3 {
            L3::Other => {}
            L3::Ipv4 => {
                let protocol = value(Field::Ipv4Protocol);
                // TCP and UDP have no ports in later fragments.
                let fragment = u128::from(shape.l4 == L4::Other && [TCP, UDP].contains(&protocol));
                put(0x4500, 2);
                put(20 + ports, 2);
                put(fragment, 4);
                put(0x40, 1);
                put(protocol, 1);
                put(0, 2);
                put(value(Field::Ipv4Src), 4);
                put(value(Field::Ipv4Dst), 4);
            }
            L3::Ipv6 => {
                put(0x6000_0000, 4);
                put(ports, 2);
                put(value(Field::Ipv6Protocol), 1);
                put(0x40, 1);
                put(value(Field::Ipv6Src), 16);
                put(value(Field::Ipv6Dst), 16);
            }
        }
        if ports > 0 {
            put(value(Field::L4Src), 2);
            put(value(Field::L4Dst), 2);
        }
        let fields = row.0.keys().map(|field| (*field, value(*field))).collect();
        Witness { port: value(Field::Port) as u32, frame, fields, shape }
    }
}

/// The values of fields that no class looks at.
fn usual(field: Field) -> u128 {
    match field {
        Field::Port | Field::VlanId | Field::Ipv4Protocol => 1,
        Field::EthernetDst => 0x0200_0000_0002,
        Field::EthernetSrc => 0x0200_0000_0001,
        Field::EthernetType => 0x88b5,
        Field::VlanPriority => 0,
        Field::Ipv4Src => 0x0a00_0001,
        Field::Ipv4Dst => 0x0a00_0002,
        Field::Ipv6Src => 0xfd00 << 112 | 1,
        Field::Ipv6Dst => 0xfd00 << 112 | 2,
        Field::Ipv6Protocol => 59,
        Field::L4Src => 1024,
        Field::L4Dst => 80,
    }
}

/// `port 1, ipv4.dst 10.1.0.0, tcp: 02000000...`
impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.port)?;
        for (field, value) in self.fields.iter().filter(|(field, _)| *field != Field::Port) {
            write!(f, ", {} {}", field.name(), shown(*field, *value))?;
        }
        f.write_str(": ")?;
        self.frame.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
