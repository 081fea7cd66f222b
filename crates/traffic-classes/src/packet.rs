//! The common prefix of a packet, read from its bytes.

use crate::shape::{IPV4, IPV6, L3, L4, Shape, TAG, TCP, UDP};
use crate::{Field, SHAPES};
use std::collections::BTreeMap;

/// Shape of a frame that came in by `port`, and the values of the fields that it has.
///
/// A header counts if all of its bytes are there: of IPv4 the 20 without options, of TCP and UDP the ports. TCP and UDP are
/// found after the options of IPv4, not in later fragments, and not after extension headers of IPv6.
pub fn headers_of(port: u32, frame: &[u8]) -> (Shape, BTreeMap<Field, u128>) {
    let mut values = BTreeMap::from([(Field::Port, u128::from(port))]);
    let mut shape = SHAPES[SHAPES.len() - 1];
    let number = |at: usize, bytes: usize| {
        let bytes = frame.get(at..at + bytes)?;
        Some(bytes.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte)))
    };
    let (Some(dst), Some(src), Some(outer)) = (number(0, 6), number(6, 6), number(12, 2)) else {
        return (shape, values);
    };
    shape.ethernet = true;
    values.extend([(Field::EthernetDst, dst), (Field::EthernetSrc, src), (Field::EthernetType, outer)]);
    let mut at = 14;
    let mut ether_type = outer;
    if let (TAG, Some(tag), Some(inner)) = (outer, number(14, 2), number(16, 2)) {
        shape.vlan = true;
        (at, ether_type) = (18, inner);
        values.extend([
            (Field::VlanPriority, tag >> 13),
            (Field::VlanId, tag & 0xfff),
            (Field::EthernetType, inner),
        ]);
    }
    let protocol_and_ports = match ether_type {
        IPV4 if frame.len() >= at + 20 => {
            shape.l3 = L3::Ipv4;
            let (protocol, src, dst) = (number(at + 9, 1), number(at + 12, 4), number(at + 16, 4));
            values.extend(protocol.map(|v| (Field::Ipv4Protocol, v)));
            values.extend(src.map(|v| (Field::Ipv4Src, v)));
            values.extend(dst.map(|v| (Field::Ipv4Dst, v)));
            let words = usize::from(frame[at] & 0xf);
            let is_first = number(at + 6, 2).is_some_and(|word| word & 0x1fff == 0);
            protocol.filter(|_| is_first && words >= 5).map(|protocol| (protocol, at + 4 * words))
        }
        IPV6 if frame.len() >= at + 40 => {
            shape.l3 = L3::Ipv6;
            let (protocol, src, dst) = (number(at + 6, 1), number(at + 8, 16), number(at + 24, 16));
            values.extend(protocol.map(|v| (Field::Ipv6Protocol, v)));
            values.extend(src.map(|v| (Field::Ipv6Src, v)));
            values.extend(dst.map(|v| (Field::Ipv6Dst, v)));
            protocol.map(|protocol| (protocol, at + 40))
        }
        _ => None,
    };
    if let Some((protocol @ (TCP | UDP), ports)) = protocol_and_ports
        && let (Some(src), Some(dst)) = (number(ports, 2), number(ports + 2, 2))
    {
        shape.l4 = if protocol == TCP { L4::Tcp } else { L4::Udp };
        values.extend([(Field::L4Src, src), (Field::L4Dst, dst)]);
    }
    (shape, values)
}
