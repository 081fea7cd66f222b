//! `watch` of a workload: header fields that are counted at the receiver, by value.
//!
//! ```toml
//! watch = ["ipv4.ecn", "ipv4.dscp"]
//! ```
//!
//! | fields | |
//! |---|---|
//! | `ethernet.source`, `ethernet.destination`, `ethernet.type` | the type after all VLAN tags |
//! | `vlan.id`, `vlan.priority` | of the outer tag |
//! | `ipv4.dscp`, `ipv4.ecn`, `ipv4.ttl`, `ipv4.source`, `ipv4.destination` | |
//! | `port.source`, `port.destination` | of UDP or TCP |

use crate::section::{Item, Reader};
use crate::value;

/// A header field of an arriving frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    /// The Ethernet frame's sender.
    EthernetSource,
    /// Destination address.
    EthernetDestination,
    /// The EtherType after all VLAN tags.
    EthernetType,
    /// The identifier of the outer VLAN tag.
    VlanId,
    /// The priority of the outer VLAN tag.
    VlanPriority,
    /// The upper six bits of the traffic class.
    Dscp,
    /// The lower two bits of the traffic class: 1 and 2 say that marks are understood, 3 is a mark.
    Ecn,
    /// The time to live.
    Ttl,
    /// The IPv4 sender.
    Ipv4Source,
    /// The IPv4 receiver.
    Ipv4Destination,
    /// Source port of a UDP datagram or TCP segment.
    SourcePort,
    /// Destination port of a UDP datagram or TCP segment.
    DestinationPort,
}

const FIELDS: [(&str, Option<Field>); 12] = [
    ("ethernet.source", Some(Field::EthernetSource)),
    ("ethernet.destination", Some(Field::EthernetDestination)),
    ("ethernet.type", Some(Field::EthernetType)),
    ("vlan.id", Some(Field::VlanId)),
    ("vlan.priority", Some(Field::VlanPriority)),
    ("ipv4.dscp", Some(Field::Dscp)),
    ("ipv4.ecn", Some(Field::Ecn)),
    ("ipv4.ttl", Some(Field::Ttl)),
    ("ipv4.source", Some(Field::Ipv4Source)),
    ("ipv4.destination", Some(Field::Ipv4Destination)),
    ("port.source", Some(Field::SourcePort)),
    ("port.destination", Some(Field::DestinationPort)),
];

impl Field {
    /// As it is written in the file.
    pub fn word(self) -> &'static str {
        FIELDS.iter().find(|(_, field)| *field == Some(self)).map_or("", |(word, _)| word)
    }
}

pub(crate) fn read(r: &mut Reader, item: Item<'_>) -> Option<Vec<Field>> {
    let fields = value::list(r, item, |r, item| value::choice(r, item, &FIELDS))?;
    Some(fields.into_iter().map(|field| field.value).collect())
}
