//! Each guard against wrong headers by itself: another one might stop what a missing guard lets pass.

use crate::support;

use base_time::{Duration, Rng, Time};
use netfn_compress::decompress::Counted;
use netfn_compress::{Compressor, Decompressor, PORTS};
use support::{Flow, call, compressor};

const NOW: Time = Time::ZERO;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Context and generation of a short frame.
fn place(link: &[u8]) -> (u16, u8) {
    assert_eq!(link[12..14], [0x12, 0x34]);
    (u16_at(link, 14), link[16])
}

/// The bit that says that a frame has its reference.
fn has_reference(link: &[u8]) -> bool {
    u16_at(link, 17) & 1 << 13 != 0
}

fn frame(flow: &mut Flow, rng: &mut Rng) -> Vec<u8> {
    flow.frame(rng, 30, 0)
}

/// The fifth flow gets a context of one of four: no frame of it is read with the reference of that one, whatever its check says.
#[test]
fn a_context_that_changes_hands_has_another_generation() {
    let mut rng = Rng::new(1);
    let (mut sender, mut receiver) = (Compressor::new(4, 0), Decompressor::new(4));
    let mut places = vec![];
    for number in 0..300 {
        let mut flow = Flow::new(number, false, number % 2 == 0);
        for n in 0..6 {
            let frame = frame(&mut flow, &mut rng);
            let link = sender.compress(1, &frame, NOW);
            places.push(place(&link));
            // Of every flow after the fourth the reference is lost.
            if number < 4 || n >= 3 {
                let whole = receiver.decompress(1, &link);
                assert_eq!(whole.is_some(), number < 4, "{number}");
            }
        }
    }
    // 256 later a generation would be there again, which only the check finds: that far no context gets here.
    places.dedup();
    assert_eq!(places.len(), 300);
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 300);
    assert_eq!(receiver.counted(), Counted { whole: 24, unknown: 296 * 3, ..Counted::default() });
}

/// The first reference of a compressor that restarts does not have the number that the one before had.
#[test]
fn a_compressor_that_restarts_has_other_generations() {
    let mut rng = Rng::new(1);
    let first = |rng: &mut Rng, now: Time| {
        let mut sender = Compressor::new(4, 0);
        place(&sender.compress(1, &frame(&mut Flow::new(1, false, true), rng), now)).1
    };
    let mut all: Vec<u8> = (0..200).map(|n| first(&mut rng, NOW + Duration::from_ms(1 + 977 * n))).collect();
    all.sort_unstable();
    all.dedup();
    assert!(all.len() > 100, "{}", all.len());
}

/// A bit in front of the payload that is turned on the way: the frame ends, or its headers come out as they were.
#[test]
fn the_check_finds_every_turned_bit() {
    for (is_ipv6, is_tcp) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut rng = Rng::new(1);
        let (mut sender, mut receiver) = (Compressor::new(4, 0), Decompressor::new(4));
        let mut flow = Flow::new(1, is_ipv6, is_tcp);
        for n in 0..5u8 {
            flow.ttl = 60 + n;
            let frame = frame(&mut flow, &mut rng);
            let link = sender.compress(1, &frame, NOW);
            let headers = frame.len() - 30;
            for bit in 14 * 8..(link.len() - 30) * 8 {
                let mut broken = link.clone();
                broken[bit / 8] ^= 1 << (bit % 8);
                // One that brings a reference may bring it to another context, or under another generation, or for its payload.
                let mut receiver = receiver.clone();
                if let Some(whole) = receiver.decompress(1, &broken) {
                    assert!(has_reference(&link) && whole[..headers] == frame[..headers], "{n}: {bit}");
                }
            }
            assert_eq!(receiver.decompress(1, &link), Some(frame));
        }
    }
}

#[test]
fn what_no_compressor_writes_is_malformed() {
    let mut rng = Rng::new(1);
    let (mut sender, mut receiver) = (Compressor::new(4, 0), Decompressor::new(4));
    let frame = frame(&mut Flow::new(1, false, true), &mut rng);
    let link = sender.compress(1, &frame, NOW);
    for (at, byte) in [(14, 0x80), (15, 4), (17, 0x80 | link[17]), (12 + 9, 0xff)] {
        let mut broken = link.clone();
        broken[at] = byte;
        assert_eq!(receiver.decompress(1, &broken), None, "{at}");
    }
    assert_eq!(receiver.counted().malformed, 4, "{:?}", receiver.counted());
    assert_eq!(receiver.decompress(1, &link), Some(frame));
}

/// A reference that comes again, late, is not a third one: the current one and the one before stay known.
#[test]
fn late_references_displace_none() {
    let mut rng = Rng::new(1);
    let (mut sender, mut receiver) = (Compressor::new(4, 0), Decompressor::new(4));
    let mut flow = Flow::new(1, false, true);
    let mut of_generation = |options: usize| -> Vec<(Vec<u8>, Vec<u8>)> {
        flow.options = options;
        let mut sent = vec![];
        while sent.len() < 6 {
            let frame = frame(&mut flow, &mut rng);
            let link = sender.compress(1, &frame, NOW);
            // The first ones with another length of headers go on as they are.
            if link[12..14] == [0x12, 0x34] {
                sent.push((frame, link));
            }
        }
        sent
    };
    let (one, two, three) = (of_generation(0), of_generation(12), of_generation(0));
    let mut give = |(frame, link): &(Vec<u8>, Vec<u8>), is_known: bool| {
        assert_eq!(
            receiver.decompress(1, link).as_ref(),
            Some(frame).filter(|_| is_known),
            "{:?}",
            place(link)
        );
    };
    give(&one[0], true);
    give(&two[0], true);
    give(&one[1], true);
    give(&three[0], true);
    give(&two[4], true);
    give(&three[4], true);
    give(&one[4], false);
}

/// Four frames in a row that do not fit make another reference, and not four altogether.
#[test]
fn frames_that_do_not_fit_now_and_then_leave_the_reference() {
    let mut rng = Rng::new(1);
    let mut sender = Compressor::new(4, 0);
    let mut flow = Flow::new(1, false, true);
    let first = place(&sender.compress(1, &frame(&mut flow, &mut rng), NOW));
    for n in 0..40 {
        flow.options = if n % 4 == 3 { 0 } else { 12 };
        let bytes = frame(&mut flow, &mut rng);
        let link = sender.compress(1, &bytes, NOW);
        match n % 4 {
            3 => assert_eq!(place(&link), first, "{n}"),
            _ => assert_eq!(link, bytes, "{n}"),
        }
    }
    // The fourth in a row.
    flow.options = 12;
    let mut sent = (0..4).map(|_| sender.compress(1, &frame(&mut flow, &mut rng), NOW));
    assert_eq!(place(&sent.nth(3).unwrap()), (first.0, first.1 + 1));
}

#[test]
fn there_are_contexts_for_so_many_ports_and_no_more() {
    let mut rng = Rng::new(1);
    let (mut sender, mut receiver) = (Compressor::new(4, 0), Decompressor::new(4));
    let mut flow = Flow::new(1, false, true);
    for port in 0..PORTS as u16 {
        let frame = frame(&mut flow, &mut rng);
        let link = sender.compress(port * 1000, &frame, NOW);
        assert_eq!(receiver.decompress(port * 1000, &link), Some(frame));
    }
    let bytes = frame(&mut flow, &mut rng);
    assert_eq!(sender.compress(7, &bytes, NOW), bytes, "it goes on as it is");
    let link = sender.compress(1000, &bytes, NOW);
    assert_eq!(receiver.decompress(7, &link), None);
    assert_eq!(receiver.counted(), Counted { whole: PORTS as u64, unknown: 1, ..Counted::default() });
    assert_eq!(receiver.decompress(1000, &link), Some(bytes));
}

/// Sets IPv4's checksum right.
fn summed(mut frame: Vec<u8>) -> Vec<u8> {
    frame[24..26].fill(0);
    let header = usize::from(frame[14] & 15) * 4;
    let sum: u32 = frame[14..14 + header].chunks(2).map(|w| u32::from(u16_at(w, 0))).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    let check = !((once & 0xffff) + (once >> 16)) as u16;
    frame[24..26].copy_from_slice(&check.to_be_bytes());
    frame
}

/// With right checksums, so that nothing else is wrong with them.
#[test]
fn fragments_and_wrong_lengths_go_on_as_they_are() {
    let mut rng = Rng::new(1);
    let good = frame(&mut Flow::new(1, false, false), &mut rng);
    assert_ne!(Compressor::new(4, 0).compress(1, &good, NOW), good);
    let with = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        summed(frame)
    };
    let length = good.len() as u8;
    // More fragments; an offset; a packet longer than its frame; ICMP; an ESP header; UDP's own length.
    for odd in [
        with(20, 0x20),
        with(21, 1),
        with(17, length - 13),
        with(23, 1),
        with(23, 50),
        with(39, length - 35),
        with(39, length - 33),
    ] {
        assert_eq!(Compressor::new(4, 0).compress(1, &odd, NOW), odd);
    }
    // Don't fragment, and a reserved bit, are kept by a flow.
    for fine in [with(20, 0x40), with(20, 0xc0)] {
        let mut sender = Compressor::new(4, 0);
        let link = sender.compress(1, &fine, NOW);
        assert_ne!(link, fine);
        assert_eq!(Decompressor::new(4).decompress(1, &link), Some(fine));
    }
}

/// A memory that moves between any two frames changes nothing on the link.
#[test]
fn a_move_is_not_seen_on_the_link() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (mut stays, mut moves) = (compressor(8, 7), compressor(8, 7));
        let mut flows: Vec<Flow> = (0..12).map(|n| Flow::random(&mut rng, n)).collect();
        for _ in 0..400 {
            let at = rng.index(12);
            flows[at].change(&mut rng);
            let frame = frame(&mut flows[at], &mut rng);
            let link = call(&mut *stays, 1, &frame);
            assert_eq!(call(&mut *moves, 1, &frame), link, "seed {seed}");
            let memory = moves.snapshot();
            moves = compressor(8, 7);
            moves.restore(&memory).unwrap();
        }
    }
}
