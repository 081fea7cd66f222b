//! Reports of decoders about links: losses before repair, and an LLDP frame (IEEE 802.1AB) that any LLDP reader can
//! parse. After each call the memory is moved to another decoder.

use crate::support;

use dataplane_api::FrameExtern;
use netfn_fec::mark::{Mark, Watch};
use support::*;

/// Type and value of each TLV: 7 bits and a length of 9, until the one of type 0.
fn tlvs(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut all = vec![];
    loop {
        let head = u16::from_be_bytes([bytes[0], bytes[1]]);
        let (kind, length) = ((head >> 9) as u8, usize::from(head & 0x1ff));
        let (value, rest) = bytes[2..].split_at(length);
        all.push((kind, value.to_vec()));
        bytes = rest;
        if kind == 0 {
            assert!(bytes.is_empty(), "{bytes:?} behind the end");
            return all;
        }
    }
}

#[test]
fn a_mark_is_an_lldp_frame() {
    let frame = Mark { port: 0x1234, faulty: true, lost_ppm: 0x1_2345 }.frame();
    assert_eq!(frame[..6], [0x01, 0x80, 0xc2, 0, 0, 0x0e], "to the nearest bridge");
    assert_eq!(frame[12..14], [0x88, 0xcc]);
    let own = frame[6..12].to_vec();
    assert_eq!(own[0] & 3, 2, "a station's address, locally administered");
    let wanted = [
        (1, [&[4][..], &own].concat()),
        (2, vec![7, 0x12, 0x34]),
        (3, vec![0, 120]),
        (127, vec![0x52, 0x41, 0x43, 1, 1, 0, 1, 0x23, 0x45]),
        (0, vec![]),
    ];
    assert_eq!(tlvs(&frame[14..]), wanted);
}

/// Reports of a decoder about a link that loses the frames selected by `is_lost`: port, whether it is faulty, losses in
/// millionths.
fn reported(
    link: &[Vec<u8>],
    over: u32,
    faulty_ppm: u32,
    is_lost: impl Fn(usize) -> bool,
) -> Vec<(u16, bool, u32)> {
    let make = || decoder(100, 0, over, faulty_ppm);
    let mut receiver: Box<dyn FrameExtern> = make();
    let mut marks = vec![];
    for (_, bytes) in link.iter().enumerate().filter(|(at, _)| !is_lost(*at)) {
        for out in decode(&mut *receiver, bytes, us(1)) {
            if out.frame[12..14] == [0x88, 0xcc] {
                assert!(!out.carries_on);
                let all = tlvs(&out.frame[14..]);
                let of = |kind: u8| all.iter().find(|(k, _)| *k == kind).unwrap().1.clone();
                let (port, own) = (of(2), of(127));
                let lost_ppm = u32::from_be_bytes(own[5..].try_into().unwrap());
                marks.push((u16::from_be_bytes([port[1], port[2]]), own[4] == 1, lost_ppm));
            }
        }
        let memory = receiver.snapshot();
        receiver = make();
        receiver.restore(&memory).unwrap();
    }
    marks
}

fn link(count: u32, k: u8, h: u8) -> Vec<Vec<u8>> {
    let mut sender = encoder(100);
    (0..count).flat_map(|n| frames(encode(&mut *sender, &frame(n, 30), k, h, us(0)))).collect()
}

#[test]
fn losses_count_before_repair() {
    // One of five of each block is lost, and made again.
    let marks = reported(&link(100, 5, 1), 50, 100_000, |at| at % 6 == 2);
    assert_eq!(marks, [(3, true, 200_000), (3, true, 200_000)]);
    // Lost parity is no lost frame.
    assert_eq!(reported(&link(100, 5, 1), 50, 1, |at| at % 6 == 5), []);
}

/// A block of which nothing arrives is taken to have the usual length.
#[test]
fn whole_blocks_that_are_lost_count() {
    for blocks in 1..=4 {
        let marks = reported(&link(50, 5, 0), 50, 1, |at| (15..15 + 5 * blocks).contains(&at));
        assert_eq!(marks, [(3, true, blocks as u32 * 100_000)]);
    }
}

/// Faulty from 20,000 ppm on, well below half of that; between them it stays what it was.
#[test]
fn what_is_faulty_stays_so_until_half_as_much_is_lost() {
    let lost = [9, 10, 5, 4, 9, 0, 10];
    let marks = reported(&link(3500, 5, 0), 500, 20_000, |at| at % 500 < 10 * lost[at / 500] && at % 10 == 2);
    assert_eq!(marks, [(3, true, 20_000), (3, true, 10_000), (3, false, 8_000), (3, true, 20_000)]);
    let mut watch = Watch::default();
    assert_eq!(watch.add(1, 1_000_000, 1_000_000, 0, 0), None, "switched off");
    assert_eq!(watch.add(1, u32::MAX, u32::MAX, 1, 1).map(|mark| mark.lost_ppm), Some(1_000_000));
}
