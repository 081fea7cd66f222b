//! Random traffic through random losses, against models that keep everything.

use crate::support;

use base_time::{Duration, Rng, Time};
use netfn_fec::tag::{Kind, Parsed, parse};
use support::*;

/// Arithmetic of the field one element at a time, from the definition: bytes, tables and vectors are the library's, sums and
/// inverses are not.
mod slow {
    use reed_solomon_simd::engine::tables;

    fn product(a: u16, b: u16) -> u16 {
        let t = tables::get_exp_log();
        if a == 0 || b == 0 {
            return 0;
        }
        let sum = u32::from(t.log[usize::from(a)]) + u32::from(t.log[usize::from(b)]);
        t.exp[(sum % 65535) as usize]
    }

    fn inverse(a: u16) -> u16 {
        // a^(2^16 - 2), by squaring.
        let (mut result, mut power, mut exponent) = (1, a, 65534u32);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = product(result, power);
            }
            power = product(power, power);
            exponent >>= 1;
        }
        result
    }

    /// Row `row` of the parity of `frames`.
    pub fn parity(row: u16, frames: &[Vec<u8>]) -> Vec<u8> {
        let longest = frames.iter().map(Vec::len).max().unwrap() + 2;
        let mut sum = vec![0; longest.div_ceil(64) * 64];
        for (i, frame) in (16u16..).zip(frames) {
            let mut symbol = (frame.len() as u16).to_be_bytes().to_vec();
            symbol.extend(frame);
            symbol.resize(sum.len(), 0);
            let factor = product(i, inverse(row ^ i));
            for chunk in (0..sum.len()).step_by(64) {
                for at in chunk..chunk + 32 {
                    let element = u16::from(symbol[at]) | u16::from(symbol[at + 32]) << 8;
                    let term = product(factor, element);
                    sum[at] ^= term as u8;
                    sum[at + 32] ^= (term >> 8) as u8;
                }
            }
        }
        sum.truncate(if row == 0 { longest } else { sum.len() });
        sum
    }
}

#[test]
fn parity_is_what_the_definition_says() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let (k, h) = (rng.between(1, 20) as u8, rng.between(1, 16) as u8);
        let sent: Vec<Vec<u8>> = (0..k).map(|n| frame(n.into(), rng.between(18, 300) as usize)).collect();
        let mut encoder = encoder(0);
        let link: Vec<Vec<u8>> =
            sent.iter().flat_map(|f| frames(encode(&mut *encoder, f, k, h, us(0)))).collect();
        assert_eq!(link.len(), usize::from(k + h));
        for (row, frame) in link[usize::from(k)..].iter().enumerate() {
            let Parsed::Tagged(tagged) = parse(frame) else { panic!() };
            assert_eq!(tagged.coded(), slow::parity(row as u16, &sent), "seed {seed}, row {row}");
        }
    }
}

/// A frame on the link, or what its sender's timer gave.
struct OnLink {
    at: Time,
    bytes: Vec<u8>,
    /// Number of the user's frame; `None` for parity.
    number: Option<u32>,
    block: u32,
}

/// `count` frames with random gaps through an encoder.
fn sent(rng: &mut Rng, count: u32, k: u8, h: u8, hold: u64) -> Vec<OnLink> {
    let mut sender = encoder(hold);
    let mut link = vec![];
    let mut now = us(rng.below(1000));
    let push = |link: &mut Vec<OnLink>, at: Time, bytes: Vec<u8>| {
        let t = tag(&bytes);
        let number = (t.kind == Kind::Data).then(|| number(&[&bytes[..12], &bytes[26..]].concat()));
        link.push(OnLink { at, bytes, number, block: t.block });
    };
    for n in 0..=count {
        now += Duration::from_us(if rng.chance(1, 10) { 3 * hold } else { rng.below(hold) });
        while let Some(due) = sender.deadline().filter(|due| *due <= now || n == count) {
            tick(&mut *sender, due).into_iter().for_each(|e| push(&mut link, due, e.frame));
        }
        if n < count {
            let length = rng.between(18, 200) as usize;
            let emitted = encode(&mut *sender, &frame(n, length), k, h, now);
            emitted.into_iter().for_each(|e| push(&mut link, now, e.frame));
        }
        if rng.chance(1, 20) {
            let bytes = sender.snapshot();
            sender = encoder(hold);
            sender.restore(&bytes).unwrap();
        }
    }
    link
}

/// Runs a decoder on `arriving` frames, with its timers, and moves its memory from time to time. Returns the delivered frames.
fn delivered(rng: &mut Rng, arriving: &[(Time, &OnLink)], wait: u64, reach: u8) -> Vec<Vec<u8>> {
    let make = || decoder(wait, reach, 0, 0);
    let mut receiver = make();
    let mut got = vec![];
    for (at, one) in arriving {
        while let Some(due) = receiver.deadline().filter(|due| due <= at) {
            got.extend(frames(tick(&mut *receiver, due)));
            assert!(receiver.deadline().is_none_or(|next| next > due));
        }
        got.extend(frames(decode(&mut *receiver, &one.bytes, *at)));
        if rng.chance(1, 20) {
            let bytes = receiver.snapshot();
            receiver = make();
            receiver.restore(&bytes).unwrap();
            assert_eq!(receiver.snapshot(), bytes);
        }
    }
    while let Some(due) = receiver.deadline() {
        got.extend(frames(tick(&mut *receiver, due)));
    }
    got.iter().map(|frame| untagged(frame)).collect()
}

/// On a link that keeps order: of each block all frames if as many rows came as frames are lost, else those that came.
fn expected(link: &[OnLink], came: &[bool]) -> Vec<u32> {
    let mut numbers = vec![];
    let mut at = 0;
    while at < link.len() {
        let end = at + link[at..].iter().take_while(|one| one.block == link[at].block).count();
        let block: Vec<(&OnLink, bool)> = link[at..end].iter().zip(came[at..end].iter().copied()).collect();
        let lost = block.iter().filter(|(one, came)| one.number.is_some() && !came).count();
        let rows = block.iter().filter(|(one, came)| one.number.is_none() && *came).count();
        let kept = block.iter().filter(|(_, came)| *came || lost <= rows);
        numbers.extend(kept.filter_map(|(one, _)| one.number));
        at = end;
    }
    numbers
}

#[test]
fn a_link_that_loses_gives_what_the_code_can_give() {
    let (mut recovered, mut lost) = (0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let (k, h, hold) = (rng.between(1, 9) as u8, rng.below(4) as u8, rng.between(1, 50));
        let link = sent(&mut rng, 150, k, h, hold);
        let loss = rng.below(400_000) as u32;
        let came: Vec<bool> = link.iter().map(|_| !rng.chance_ppm(loss)).collect();
        let arriving: Vec<(Time, &OnLink)> =
            link.iter().zip(&came).filter(|(_, came)| **came).map(|(one, _)| (one.at, one)).collect();
        // Long enough for parity that a timer sends, and for the next block's first frame.
        let (wait, reach) = (100 * hold, rng.below(3) as u8);
        let got = delivered(&mut rng, &arriving, wait, reach);
        let numbers: Vec<u32> = got.iter().map(|frame| number(frame)).collect();
        assert_eq!(numbers, expected(&link, &came), "seed {seed}: k {k}, h {h}, reach {reach}");
        for one in got {
            assert_eq!(one, frame(number(&one), one.len()), "seed {seed}");
        }
        let direct = link.iter().zip(&came).filter(|(one, came)| one.number.is_some() && **came).count();
        recovered += numbers.len() - direct;
        lost += 150 - numbers.len();
    }
    assert!(recovered > 2000 && lost > 2000, "{recovered} recovered, {lost} lost");
}

#[test]
fn a_link_that_reorders_and_doubles_gives_each_frame_once_in_order_and_right() {
    let (mut all, mut sum) = (0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let (k, h, hold) = (rng.between(1, 9) as u8, rng.below(4) as u8, rng.between(1, 50));
        let link = sent(&mut rng, 150, k, h, hold);
        let late = hold * rng.between(0, 6);
        let mut arriving = vec![];
        for one in &link {
            let copies = if rng.chance(1, 10) { 2 } else { usize::from(!rng.chance(1, 20)) };
            (0..copies).for_each(|_| arriving.push((one.at + Duration::from_us(rng.below(late + 1)), one)));
        }
        arriving.sort_by_key(|(at, _)| *at);
        let got = delivered(&mut rng, &arriving, 100 * hold, 15);
        let numbers: Vec<u32> = got.iter().map(|frame| number(frame)).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "seed {seed}: {numbers:?}");
        for one in got {
            assert_eq!(one, frame(number(&one), one.len()), "seed {seed}");
        }
        sum += numbers.len();
        all += 150;
    }
    assert!(sum * 100 > all * 95, "{sum} of {all}");
}

/// Flightplan's figures: with independent loss p, k = 5 and h = 1 a data frame is gone if it and one of five others are.
#[test]
fn residual_loss_is_what_it_should_be() {
    for (ppm, wanted) in [(50_000, 11_311), (100_000, 40_951)] {
        let mut rng = Rng::new(ppm.into());
        let (mut sender, mut receiver) = (encoder(0), decoder(1000, 0, 0, 0));
        let count = 200_000;
        let mut got = 0;
        for n in 0..count {
            for one in encode(&mut *sender, &frame(n, 64), 5, 1, us(1)) {
                if !rng.chance_ppm(ppm) {
                    got += decode(&mut *receiver, &one.frame, us(1)).len() as u32;
                }
            }
        }
        let residual = u64::from(count - got) * 1_000_000 / u64::from(count);
        assert!(residual.abs_diff(wanted) * 10 < wanted, "{ppm}: {residual} of {wanted}");
    }
}
