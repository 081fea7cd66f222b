//! Header fields that workloads watch, and how often each value came.

use host_programs::Mac;
use host_programs::packet::{Ipv4, TAGS, TCP, UDP, stations, word};
use rack_model::Field;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Different values of a watched field that are counted on their own.
const MOST_VALUES: usize = 16;

/// Counts of each value, by watched field and side: sender (false) or receiver (true).
pub(crate) type Watched = BTreeMap<(usize, bool), Values>;

/// The value of a header field; `None` if the frame has no such field.
#[derive(Clone, Default, Debug)]
pub(crate) struct Values {
    pub(crate) counts: BTreeMap<Option<u64>, u64>,
    /// Packets with values beyond the first [`MOST_VALUES`].
    pub(crate) others: u64,
}

impl Values {
    pub(crate) fn add(&mut self, value: Option<u64>) {
        let is_full = self.counts.len() >= MOST_VALUES;
        match self.counts.get_mut(&value) {
            Some(count) => *count += 1,
            None if is_full => self.others += 1,
            None => drop(self.counts.insert(value, 1)),
        }
    }
}

/// The value of a header field; none if the frame has no such header.
pub(crate) fn value_of(field: Field, frame: &[u8]) -> Option<u64> {
    let mac = |mac: Mac| mac.0.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let tag = word(frame, 14).filter(|_| word(frame, 12).is_some_and(|kind| TAGS.contains(&kind)));
    let ipv4 = || Ipv4::parse(frame);
    match field {
        Field::EthernetDestination => stations(frame).map(|(to, _)| mac(to)),
        Field::EthernetSource => stations(frame).map(|(_, from)| mac(from)),
        Field::EthernetType => {
            let types = [12, 16, 20].map(|at| word(frame, at));
            types.into_iter().flatten().find(|kind| !TAGS.contains(kind)).map(u64::from)
        }
        Field::VlanId => tag.map(|tag| u64::from(tag & 0xfff)),
        Field::VlanPriority => tag.map(|tag| u64::from(tag >> 13)),
        Field::Dscp => ipv4().map(|packet| u64::from(packet.header[1] >> 2)),
        Field::Ecn => ipv4().map(|packet| u64::from(packet.header[1] & 3)),
        Field::Ttl => ipv4().map(|packet| u64::from(packet.header[8])),
        Field::Ipv4Source => ipv4().map(|packet| packet.source.to_bits().into()),
        Field::Ipv4Destination => ipv4().map(|packet| packet.destination.to_bits().into()),
        Field::SourcePort => ports(&ipv4()?).map(|(source, _)| source.into()),
        Field::DestinationPort => ports(&ipv4()?).map(|(_, destination)| destination.into()),
    }
}

fn ports(packet: &Ipv4<'_>) -> Option<(u16, u16)> {
    match packet.protocol {
        TCP | UDP => word(packet.body, 0).zip(word(packet.body, 2)),
        _ => None,
    }
}

/// The value of a field as people write it.
pub(crate) fn value_words(field: Field, value: Option<u64>) -> String {
    match (field, value) {
        (_, None) => "none".to_string(),
        (Field::EthernetSource | Field::EthernetDestination, Some(value)) => {
            let bytes = value.to_be_bytes();
            let bytes: Vec<String> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
            bytes.join(":")
        }
        (Field::EthernetType, Some(value)) => format!("{value:#06x}"),
        (Field::Ipv4Source | Field::Ipv4Destination, Some(value)) => Ipv4Addr::from(value as u32).to_string(),
        (_, Some(value)) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_programs::packet::{Route, Transport, build};

    const ROUTE: Route = Route {
        source_mac: Mac([2, 0, 0, 0, 0, 1]),
        next_hop: Mac([2, 0, 0, 0, 0, 2]),
        source: Ipv4Addr::new(10, 0, 1, 1),
        destination: Ipv4Addr::new(10, 0, 2, 1),
    };

    #[test]
    fn fields_are_read_and_written() {
        let udp = Transport::Udp { source: 5000, destination: 9000 };
        let mut frame = build(ROUTE, udp, 77, 24, |p| p.fill(0x5a));
        frame[15] = 0b10_1011;
        let words = |frame: &[u8]| {
            use Field::*;
            let all = [
                EthernetSource,
                EthernetDestination,
                EthernetType,
                VlanId,
                VlanPriority,
                Dscp,
                Ecn,
                Ttl,
                Ipv4Source,
                Ipv4Destination,
                SourcePort,
                DestinationPort,
            ];
            all.map(|field| value_words(field, value_of(field, frame))).join(" ")
        };
        let rest = "10 3 64 10.0.1.1 10.0.2.1 5000 9000";
        let ends = "02:00:00:00:00:01 02:00:00:00:00:02 0x0800";
        assert_eq!(words(&frame), format!("{ends} none none {rest}"));
        frame.splice(12..12, [0x81, 0, 0x60, 9]);
        assert_eq!(words(&frame), format!("{ends} 9 3 {rest}"));
        assert_eq!(words(&frame[..10]), "none none none none none none none none none none none none");
    }
}
