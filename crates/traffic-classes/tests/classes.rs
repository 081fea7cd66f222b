//! Classes on packets: what is read, what rows say, and packets of two classes.

use base_time::Rng;
use std::collections::{BTreeMap, BTreeSet};
use traffic_classes::{Class, Field, Predicate, SHAPES, headers_of};

fn class(text: &str) -> Class {
    Class::read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// True if one of the rows takes the packet.
fn by_rows(class: &Class, port: u32, frame: &[u8]) -> bool {
    let (shape, values) = headers_of(port, frame);
    let rows = class.rows(shape).expect("few rows");
    let takes = |fields: &BTreeMap<Field, (u128, u128)>| {
        fields.iter().all(|(field, (lo, hi))| values.get(field).is_some_and(|v| (*lo..=*hi).contains(v)))
    };
    rows.iter().any(|row| takes(&row.0))
}

/// Classes and frames from a seed.
struct Draw(Rng);

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw(Rng::new(seed))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0.below(most)
    }

    fn class(&mut self, depth: u32) -> String {
        let sub = |d: &mut Draw| d.class(depth + 1);
        match self.below(if depth > 3 { 5 } else { 8 }) {
            0 => ["any", "ethernet", "vlan", "ipv4", "ipv6", "tcp", "udp"][self.below(7) as usize].into(),
            5 => format!("!({})", sub(self)),
            6 => format!("({} && {})", sub(self), sub(self)),
            7 => format!("({} or {})", sub(self), sub(self)),
            _ => {
                let field = Field::ALL[self.below(14) as usize];
                let op = ["==", "!=", "<", "<=", ">", ">="][self.below(6) as usize];
                let value = self.value(field);
                match self.below(4) {
                    0 => format!("{} in {{{value}, {}}}", field.name(), self.value(field)),
                    1 => format!("{} not in {value}..{}", field.name(), field.max()),
                    2 => format!("{} in 0/{}", field.name(), self.below(u64::from(field.width()) + 1)),
                    _ => format!("{} {op} {value}", field.name()),
                }
            }
        }
    }

    /// Values that packets have, too.
    fn value(&mut self, field: Field) -> u128 {
        let known = [0, 1, 2, 6, 17, 80, 0x0800, 0x8100, 0x86dd, 0x0a00_0001, 0x0a00_0002, field.max()];
        known[self.below(12) as usize] & field.max()
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut frame = vec![];
        let mut put = |value: u128, bytes: usize| frame.extend_from_slice(&value.to_be_bytes()[16 - bytes..]);
        put(self.below(3).into(), 6);
        put(self.below(3).into(), 6);
        if self.below(3) == 0 {
            put(0x8100, 2);
            put(self.below(3).into(), 2);
        }
        let kind = self.below(4);
        put([0x0800, 0x86dd, 0x88b5, 0x8100][kind as usize], 2);
        let protocol: u128 = [6, 17, 1][self.below(3) as usize];
        match kind {
            0 => {
                let words = 4 + self.below(4);
                put(u128::from(0x40 + words), 1);
                put(0, 5);
                put(u128::from(self.below(4) / 3), 2);
                put(0x40, 1);
                put(protocol, 1);
                put(0, 2);
                put(u128::from(0x0a00_0000 + self.below(4)), 4);
                put(u128::from(0x0a00_0000 + self.below(4)), 4);
                (5..words).for_each(|_| put(0x0101_0101, 4));
            }
            1 => {
                put(0x6000_0000_0000, 6);
                put(protocol, 1);
                put(0x40, 1);
                put(self.below(3).into(), 16);
                put(self.below(3).into(), 16);
            }
            _ => {}
        }
        put(self.below(3).into(), 2);
        put(80, 2);
        if self.below(4) == 0 {
            frame.truncate(self.below(frame.len() as u64 + 1) as usize);
        }
        frame
    }
}

#[test]
fn rows_take_the_packets_of_the_class() {
    let mut draw = Draw::new(1);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..2000 {
        let text = draw.class(0);
        let class = class(&text);
        for _ in 0..20 {
            let (port, frame) = (draw.below(3) as u32, draw.frame());
            let matches = class.matches(port, &frame);
            assert_eq!(by_rows(&class, port, &frame), matches, "{text} on {frame:02x?}");
            if matches { taken += 1 } else { refused += 1 }
        }
    }
    assert!(taken > 5000 && refused > 5000, "{taken} and {refused}");
}

#[test]
fn a_witness_belongs_to_both_classes() {
    let mut draw = Draw::new(2);
    let (mut overlapping, mut apart) = (0, 0);
    for _ in 0..2000 {
        let (one, other) = (draw.class(1), draw.class(1));
        let (a, b) = (class(&one), class(&other));
        match a.overlap(&b).expect("few rows") {
            Some(witness) => {
                overlapping += 1;
                for class in [&a, &b] {
                    assert!(class.matches(witness.port, &witness.frame), "{one} / {other}: {witness}");
                }
            }
            None => {
                apart += 1;
                for _ in 0..20 {
                    let (port, frame) = (draw.below(3) as u32, draw.frame());
                    let both = a.matches(port, &frame) && b.matches(port, &frame);
                    assert!(!both, "{one} / {other} have {frame:02x?} on port {port}");
                }
            }
        }
    }
    assert!(overlapping > 300 && apart > 300, "{overlapping} and {apart}");
}

#[test]
fn the_witness_is_shown_with_what_the_classes_look_at() {
    let overlap = class("ipv4.dst in 10.1.0.0/16").overlap(&class("tcp && l4.dst == 53 && port in 2..4"));
    let witness = overlap.expect("few rows").expect("they overlap");
    assert_eq!(
        witness.to_string(),
        "port 2, ipv4.dst 10.1.0.0, l4.dst 53: \
         02000000000202000000000108004500001800000000400600000a0000010a01000004000035"
    );
    let apart = class("ipv4.dst in 10.1.0.0/16")
        .overlap(&class("ipv4.dst in 10.2.0.0/16 || ethernet.type == 0x0806"));
    assert_eq!(apart, Ok(None));
}

#[test]
fn headers_are_found_after_tags_and_options() {
    let mut draw = Draw::new(3);
    let seen: BTreeSet<_> = (0..4000).map(|_| headers_of(1, &draw.frame()).0).collect();
    assert_eq!(seen.len(), SHAPES.len(), "{seen:?}");
}

#[test]
fn what_is_no_class_is_reported_with_its_place() {
    let reported = |text: &str| {
        let error = Class::read(text).expect_err(text);
        format!("{}: {} ({})", &text[error.at.clone()], error.title, error.help)
    };
    assert_eq!(
        reported("ipv4.dst in 10.1.0.1/16"),
        "10.1.0.1/16: the address has bits after its prefix (`10.1.0.0/16`)"
    );
    assert_eq!(reported("port in 4..1"), "4..1: the range is empty (write the smaller value first)");
    assert_eq!(
        reported("port == 512"),
        "512: `512` is no value of `port` (a number, such as `80` or `0x50`, of 9 bits)"
    );
    assert_eq!(reported("(tcp"), ": the class ends too early (`)`)");
    assert_eq!(reported("tcp udp"), "udp: `udp` continues nothing (`&&` and `||` join conditions)");
    assert!(
        reported("ipv4.ttl == 1")
            .starts_with("ipv4.ttl: `ipv4.ttl` is no field and no header (there are port, ")
    );
    let deep = "(".repeat(3000);
    assert!(reported(&deep).contains("nested too deeply"));
    assert!(Class::read("vlan.id in {1, 3..5, 0x10}").is_ok());
    let read = class("not port in 3");
    assert_eq!(read.predicate, Predicate::Not(Box::new(Predicate::In(Field::Port, vec![(3, 3)]))));
}
