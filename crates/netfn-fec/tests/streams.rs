//! Ports and classes apart from one another, and their number; what is counted of them.

use crate::support;

use base_bits::Bits;
use base_time::{Rng, Time};
use dataplane_api::{Emitted, Emitter, FrameExtern};
use netfn_fec::decoder::Counted;
use netfn_fec::tag::Kind;
use netfn_fec::{Decoder, Encoder, Limits, STREAMS};
use support::{frame, frames, number, tag, us};

const PORTS: [u16; 6] = [0, 1, 255, 256, 257, 65_535];
const CLASSES: [u8; 3] = [0, 1, 15];

fn call(function: &mut dyn FrameExtern, args: &[(u32, u64)], frame: &[u8], now: Time) -> Vec<Emitted> {
    let args: Vec<Bits> = args.iter().map(|(width, value)| Bits::new(*width, u128::from(*value))).collect();
    let mut out = Emitter::default();
    function.call("", &args, frame, now, &mut out);
    out.take().to_vec()
}

fn encode(encoder: &mut Encoder, (port, class): (u16, u8), frame: &[u8], (k, h): (u64, u64)) -> Vec<Vec<u8>> {
    let args = [(16, port.into()), (8, class.into()), (8, k), (8, h)];
    frames(call(encoder, &args, frame, us(0)))
}

fn decode(decoder: &mut Decoder, port: u16, frame: &[u8], now: Time) -> Vec<Vec<u8>> {
    frames(call(decoder, &[(16, port.into())], frame, now))
}

fn limits(reach: u32) -> Limits {
    Limits { wait: base_time::Duration::from_us(100), reach, ..Limits::default() }
}

/// A frame without the tag of a delivered one, whose port and class it has.
fn untagged(bytes: &[u8]) -> ((u16, u8), u32) {
    let t = tag(bytes);
    assert_eq!(t.kind, Kind::Delivered);
    ((t.channel, t.class), number(&[&bytes[..12], &bytes[26..]].concat()))
}

#[test]
fn every_port_and_class_has_blocks_of_its_own() {
    let (mut sender, mut receiver) =
        (Encoder::new(base_time::Duration::from_us(100)), Decoder::new(limits(0)));
    let keys: Vec<(u16, u8)> = PORTS.iter().flat_map(|port| CLASSES.map(|class| (*port, class))).collect();
    let mut rng = Rng::new(1);
    let mut link = vec![];
    // Their frames come between one another's; of each block of four with two of parity, frames 1 and 3 are lost.
    let mut sent = vec![0u32; keys.len()];
    while sent.iter().any(|count| *count < 8) {
        let at = rng.index(keys.len());
        if sent[at] == 8 {
            continue;
        }
        let bytes = frame(at as u32 * 100 + sent[at], 60);
        sent[at] += 1;
        for bytes in encode(&mut sender, keys[at], &bytes, (4, 2)) {
            let t = tag(&bytes);
            assert_eq!((t.channel, t.class), keys[at]);
            if t.kind == Kind::Parity || t.index.is_multiple_of(2) {
                link.push((at, bytes));
            }
        }
    }
    // The port at the other end is another one.
    let mut got = vec![vec![]; keys.len()];
    for (at, bytes) in &link {
        let (port, class) = keys[*at];
        for out in decode(&mut receiver, !port, bytes, us(1)) {
            let (key, number) = untagged(&out);
            assert_eq!(key, (!port, class));
            got[*at].push(number);
        }
    }
    for (at, got) in (0..).zip(&got) {
        assert_eq!(*got, (at * 100..at * 100 + 8).collect::<Vec<u32>>(), "{:?}", keys[at as usize]);
    }
    let all = keys.len() as u64;
    assert_eq!(receiver.counted(), Counted { received: all * 4, recovered: all * 4, ..Counted::default() });
}

#[test]
fn there_is_room_for_so_many_and_no_more() {
    let (mut sender, mut receiver) =
        (Encoder::new(base_time::Duration::from_us(100)), Decoder::new(limits(0)));
    let one = frame(1, 60);
    let mut link = vec![];
    for at in 0..STREAMS as u16 {
        let key = (at / 16, (at % 16) as u8);
        link.push((key, encode(&mut sender, key, &one, (2, 1)).remove(0)));
    }
    assert_eq!(
        encode(&mut sender, (999, 0), &one, (2, 1)),
        std::slice::from_ref(&one),
        "it goes on as it is"
    );
    assert_eq!(sender.passed(), 1);
    assert!(encode(&mut sender, (0, 0), &one, (2, 1)).len() == 2, "the others go on as before");
    for ((port, _), bytes) in &link {
        assert_eq!(decode(&mut receiver, *port, bytes, us(1)).len(), 1);
    }
    assert_eq!(decode(&mut receiver, 999, &link[0].1, us(1)), Vec::<Vec<u8>>::new());
    assert_eq!(receiver.counted(), Counted { received: STREAMS as u64, crowded: 1, ..Counted::default() });
}

#[test]
fn everything_is_counted_once() {
    let mut sender = Encoder::new(base_time::Duration::from_us(100));
    let mut link: Vec<Vec<u8>> =
        (0..2000).flat_map(|n| encode(&mut sender, (7, 2), &frame(n, 60), (5, 1))).collect();
    let mut receiver = Decoder::new(limits(0));
    let give = |receiver: &mut Decoder, link: &[Vec<u8>], order: &[usize]| {
        order.iter().for_each(|at| drop(decode(receiver, 3, &link[*at], us(1))));
    };
    // Of the first block 1 is lost, and 3 comes twice; of the second two are lost; of the third nothing comes.
    give(&mut receiver, &link, &[0, 2, 3, 3, 4, 5, 6, 9, 10, 11, 18]);
    let mut wanted = Counted { received: 8, recovered: 1, lost: 7, late: 1, ..Counted::default() };
    assert_eq!(receiver.counted(), wanted);
    // One of the second block comes after all.
    give(&mut receiver, &link, &[7]);
    wanted.late += 1;
    assert_eq!(receiver.counted(), wanted);
    // A tag that no encoder writes, and parity that says another length than its block has.
    link[19][15] = 5;
    link[23][16] = 1;
    give(&mut receiver, &link, &[19, 20, 21, 22, 23]);
    (wanted.received, wanted.malformed) = (wanted.received + 3, 2);
    assert_eq!(receiver.counted(), wanted);
    // After an outage of hundreds of blocks, their losses are unknown. Frames missing from the block before the outage are known to be lost.
    give(&mut receiver, &link, &[1800, 1801]);
    (wanted.received, wanted.lost, wanted.restarts) = (wanted.received + 2, wanted.lost + 1, 1);
    assert_eq!(receiver.counted(), wanted);
}

/// Parity of another block, or changed on the way, must not become a frame.
#[test]
fn parity_that_does_not_fit_makes_no_frame() {
    let mut sender = Encoder::new(base_time::Duration::from_us(100));
    let of = |sender: &mut Encoder, first: u32| -> Vec<Vec<u8>> {
        [(first, 100), (first + 1, 60)]
            .iter()
            .flat_map(|(n, length)| encode(sender, (7, 2), &frame(*n, *length), (2, 1)))
            .collect()
    };
    let link = of(&mut sender, 1);
    // The symbol of the lost frame of 60 bytes ends in zeros, and its length is in its first two bytes.
    for (at, is_lost) in [(28 + 101, true), (28 + 63, true), (28, true), (28 + 1, true), (28 + 20, false)] {
        let mut parity = link[2].clone();
        parity[at] ^= 0x20;
        let mut receiver = Decoder::new(limits(0));
        assert_eq!(decode(&mut receiver, 3, &link[0], us(1)).len(), 1);
        assert_eq!(decode(&mut receiver, 3, &parity, us(1)).is_empty(), is_lost, "{at}");
        assert_eq!(receiver.counted().recovered, u64::from(!is_lost));
    }
}
