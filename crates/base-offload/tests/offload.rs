//! Segments have correct headers, and joined frames are cut into the same frames again.

use base_offload::{Joined, Large, Offload, Partial, Protocol, Segments, complete, partial, tag};
use base_time::Rng;

/// The checksum of the RFC, over pieces of even length but the last.
fn checksum(pieces: &[&[u8]]) -> u16 {
    let bytes = pieces.concat();
    let mut sum = 0u64;
    for pair in bytes.chunks(2) {
        sum += u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

struct Shape {
    is_v6: bool,
    protocol: u8,
    tags: usize,
    options: usize,
}

impl Shape {
    fn l3(&self) -> usize {
        14 + 4 * self.tags
    }

    fn l4(&self) -> usize {
        self.l3() + if self.is_v6 { 40 } else { 20 }
    }

    fn payload(&self) -> usize {
        self.l4() + if self.protocol == 6 { 20 + self.options } else { 8 }
    }

    fn pseudo(&self, frame: &[u8]) -> Vec<u8> {
        let addresses =
            if self.is_v6 { self.l3() + 8..self.l3() + 40 } else { self.l3() + 12..self.l3() + 20 };
        let length = (frame.len() - self.l4()) as u32;
        [&frame[addresses], &[0, self.protocol], &length.to_be_bytes()].concat()
    }

    /// A packet, with lengths as far as they fit and its checksum left to the card.
    fn frame(&self, flags: u8, payload: &[u8]) -> (Vec<u8>, Partial) {
        let mut frame = vec![2; 12];
        for _ in 0..self.tags {
            frame.extend([0x81, 0, 0, 7]);
        }
        let length = (self.payload() - self.l3() + payload.len()) as u16;
        if self.is_v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((length - 40).to_be_bytes());
            frame.extend([self.protocol, 64]);
            frame.extend((0..32).map(|n| n as u8));
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend(length.to_be_bytes());
            frame.extend([0xff, 0xfe, 0x40, 0, 64, self.protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            let l3 = self.l3();
            let sum = checksum(&[&frame[l3..]]);
            frame[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
        }
        frame.extend([0x12, 0x34, 0x56, 0x78]);
        let offset = if self.protocol == 6 {
            frame.extend([0xff, 0xff, 0xf0, 0, 0, 0, 0, 9, ((20 + self.options) << 2) as u8, flags]);
            frame.extend([1, 0, 0, 0, 0, 0]);
            frame.extend(vec![1; self.options]);
            16
        } else {
            frame.extend((8 + payload.len() as u16).to_be_bytes());
            frame.extend([0, 0]);
            6
        };
        frame.extend(payload);
        let at = self.l4() + offset;
        let pseudo = !checksum(&[&self.pseudo(&frame)]);
        frame[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
        (frame, Partial { start: self.l4(), offset })
    }

    /// Makes the checksums of a packet of TCP over IPv4 right.
    fn correct(&self, frame: &mut [u8]) {
        let (l3, l4) = (self.l3(), self.l4());
        frame[l3 + 10..l3 + 12].fill(0);
        let sum = checksum(&[&frame[l3..l4]]);
        frame[l3 + 10..l3 + 12].copy_from_slice(&sum.to_be_bytes());
        frame[l4 + 16..l4 + 18].fill(0);
        let sum = checksum(&[&self.pseudo(frame), &frame[l4..]]);
        frame[l4 + 16..l4 + 18].copy_from_slice(&sum.to_be_bytes());
    }

    fn check(&self, frame: &[u8]) {
        assert_eq!(checksum(&[&self.pseudo(frame), &frame[self.l4()..]]), 0);
        if !self.is_v6 {
            assert_eq!(checksum(&[&frame[self.l3()..self.l4()]]), 0);
        }
    }
}

fn shapes() -> Vec<Shape> {
    let mut all = vec![];
    for is_v6 in [false, true] {
        for protocol in [6, 17] {
            for tags in 0..3 {
                all.extend([0, 12].map(|options| Shape { is_v6, protocol, tags, options }));
            }
        }
    }
    all
}

fn cut(frame: &[u8], large: Large) -> Vec<Vec<u8>> {
    let mut segments = Segments::of(frame, large).unwrap();
    let mut room = vec![0xee; segments.longest()];
    std::iter::from_fn(|| segments.next(frame, &mut room).map(|length| room[..length].to_vec())).collect()
}

fn payload(length: usize) -> Vec<u8> {
    let mut rng = Rng::new(length as u64);
    (0..length).map(|_| rng.between(0, 255) as u8).collect()
}

#[test]
fn partial_checksums_are_found_and_completed() {
    for shape in shapes() {
        for length in [1, 2, 999, 1460] {
            let (mut frame, left) = shape.frame(0x18, &payload(length));
            assert_eq!(partial(&frame), Some(left));
            assert!(complete(&mut frame, left));
            shape.check(&frame);
            assert_eq!(partial(&frame), None);
        }
    }
    assert!(!complete(&mut [0; 20], Partial { start: 14, offset: 16 }));
}

#[test]
fn segments_have_lengths_numbers_and_checksums_of_their_own() {
    for shape in shapes() {
        let protocol = if shape.protocol == 6 { Protocol::Tcp } else { Protocol::Udp };
        let whole = payload(30_001);
        // FIN, PSH, ACK and CWR.
        let (frame, _) = shape.frame(0x99, &whole);
        let all = cut(&frame, Large { protocol, size: 1448 });
        assert_eq!(all.len(), 21);
        let (l3, l4) = (shape.l3(), shape.l4());
        let mut joined: Vec<u8> = vec![];
        for (number, segment) in all.iter().enumerate() {
            shape.check(segment);
            let length = segment.len() - l3;
            let word = |at: usize| usize::from(u16::from_be_bytes([segment[at], segment[at + 1]]));
            match shape.is_v6 {
                true => assert_eq!(word(l3 + 4), length - 40),
                false => assert_eq!((word(l3 + 2), word(l3 + 4)), (length, (0xfffe + number) & 0xffff)),
            }
            if shape.protocol == 6 {
                let sequence = u32::from_be_bytes(segment[l4 + 4..l4 + 8].try_into().unwrap());
                assert_eq!(sequence, 0xffff_f000_u32.wrapping_add(1448 * number as u32));
                let flags = match number {
                    0 => 0x90,
                    20 => 0x19,
                    _ => 0x10,
                };
                assert_eq!(segment[l4 + 13], flags);
            } else {
                assert_eq!(word(l4 + 4), segment.len() - l4);
            }
            joined.extend(&segment[shape.payload()..]);
        }
        assert_eq!(joined, whole);
    }
}

#[test]
fn what_is_joined_is_cut_into_the_same_frames() {
    for shape in shapes().into_iter().filter(|shape| shape.protocol == 6) {
        let (frame, _) = shape.frame(0x18, &payload(20_000));
        let all = cut(&frame, Large { protocol: Protocol::Tcp, size: 1448 });
        let joined = Joined::of(all.iter().map(Vec::as_slice)).unwrap();
        assert_eq!(joined.count(), all.len());
        let payloads = all.iter().flat_map(|frame| &frame[shape.payload()..]).copied();
        let again: Vec<u8> = joined.header().iter().copied().chain(payloads).collect();
        assert_eq!(again, frame);
        let Offload { checksum, large } = joined.offload();
        assert_eq!(partial(&again), checksum);
        assert_eq!(cut(&again, large.unwrap()), all);
    }
}

#[test]
fn only_frames_of_one_stream_in_sequence_with_right_checksums_are_joined() {
    let shape = Shape { is_v6: false, protocol: 6, tags: 0, options: 12 };
    let all = cut(&shape.frame(0x10, &payload(5000)).0, Large { protocol: Protocol::Tcp, size: 1000 });
    let count =
        |frames: &[Vec<u8>]| Joined::of(frames.iter().map(Vec::as_slice)).map_or(1, |joined| joined.count());
    assert_eq!(count(&all), 5);
    assert_eq!(count(&all[..1]), 1);
    let (mut swapped, mut longer) = (all.clone(), all.clone());
    swapped.swap(1, 2);
    assert_eq!(count(&swapped), 1);
    longer[2].push(0);
    assert_eq!(count(&longer), 2);
    // Each byte of a frame's headers and of its payload makes another frame of it, or its checksum wrong.
    for at in 0..all[2].len() {
        for first in [0, 1, 2] {
            let mut changed = all.clone();
            changed[first][at] ^= 1;
            assert!(count(&changed) <= first.max(1), "byte {at} of {first}");
        }
    }
    // The same of headers whose checksums are right again: only IPv4's identification may differ, as the packet is never fragmented.
    for at in (0..shape.payload()).filter(|at| !(18..20).contains(at)) {
        let mut changed = all.clone();
        changed[2][at] ^= 1;
        shape.correct(&mut changed[2]);
        let is_checksum = (24..26).contains(&at) || (shape.l4() + 16..shape.l4() + 18).contains(&at);
        assert_eq!(count(&changed), if is_checksum { 5 } else { 2 }, "byte {at}");
    }
    // After a short one, or one that is pushed, another segment begins.
    let mut short = all.clone();
    short[1].truncate(shape.payload() + 500);
    short[1][17] = (short[1].len() - 14) as u8;
    short[1][16] = ((short[1].len() - 14) >> 8) as u8;
    shape.correct(&mut short[1]);
    let number = u32::from_be_bytes(short[2][38..42].try_into().unwrap()) - 500;
    short[2][38..42].copy_from_slice(&number.to_be_bytes());
    shape.correct(&mut short[2]);
    assert_eq!(count(&short), 2);
    let mut pushed = all.clone();
    pushed[1][shape.l4() + 13] |= 8;
    shape.correct(&mut pushed[1]);
    assert_eq!(count(&pushed), 2);
}

#[test]
fn fragments_are_left_alone() {
    let shape = Shape { is_v6: false, protocol: 17, tags: 0, options: 0 };
    let (mut frame, _) = shape.frame(0, &payload(100));
    assert!(partial(&frame).is_some());
    for fragment in [[0x20, 0], [0, 1]] {
        frame[20..22].copy_from_slice(&fragment);
        assert_eq!(partial(&frame), None);
    }
}

#[test]
fn no_frame_makes_it_panic() {
    let mut rng = Rng::new(3);
    for shape in shapes() {
        let (frame, left) = shape.frame(0x10, &payload(100));
        for _ in 0..2000 {
            let mut changed = frame[..rng.between(0, frame.len() as u64) as usize].to_vec();
            for _ in 0..rng.between(0, 4) {
                if let Some(at) = (changed.len() as u64).checked_sub(1) {
                    changed[rng.between(0, at) as usize] = rng.between(0, 255) as u8;
                }
            }
            partial(&changed);
            Joined::of([changed.as_slice(), &frame, &changed].into_iter());
            for protocol in [Protocol::Tcp, Protocol::Udp] {
                if let Some(mut segments) =
                    Segments::of(&changed, Large { protocol, size: rng.between(1, 70) as usize })
                {
                    let mut room = vec![0; segments.longest()];
                    while segments.next(&changed, &mut room).is_some() {}
                }
            }
            complete(&mut changed, left);
            let length = changed.len();
            tag(&mut changed, length, 0x8100, 1);
        }
    }
}
