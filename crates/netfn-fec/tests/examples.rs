//! Calls and ticks by hand, and what is refused.

use crate::support;

use base_bits::Bits;
use dataplane_api::{FrameExtern, Registry};
use expect_test::expect;
use netfn_fec::tag::Kind;
use netfn_fec::{Decoder, Encoder, Limits};
use support::*;

/// Frames `1..=count` of 100 bytes as they are on the link, with the parity.
fn on_the_link(count: u32, k: u8, h: u8) -> Vec<Vec<u8>> {
    let mut encoder = encoder(100);
    let mut sent: Vec<Vec<u8>> =
        (1..=count).flat_map(|n| frames(encode(&mut *encoder, &frame(n, 100), k, h, us(0)))).collect();
    sent.extend(frames(tick(&mut *encoder, us(100))));
    sent
}

/// Output of a decoder for each frame of `link`, in the given order.
fn received(decoder: &mut dyn FrameExtern, link: &[Vec<u8>], order: &[usize]) -> String {
    let each = order.iter().map(|at| reported(&decode(decoder, &link[*at], us(200))));
    each.collect::<Vec<_>>().join(" | ")
}

#[test]
fn a_block_is_tagged_and_its_parity_follows() {
    let mut encoder = encoder(100);
    let mut reported = String::new();
    for n in 1..=6 {
        for e in encode(&mut *encoder, &frame(n, 100 + n as usize), 5, 1, us(0)) {
            let t = tag(&e.frame);
            let what = (t.kind, t.index, t.count, t.before, t.length, e.frame.len(), e.carries_on);
            reported += &format!("{what:?}\n");
            assert_eq!((t.class, t.channel), (2, 7));
        }
    }
    expect![[r#"
        (Data, 0, 5, 0, 101, 115, true)
        (Data, 1, 5, 0, 102, 116, true)
        (Data, 2, 5, 0, 103, 117, true)
        (Data, 3, 5, 0, 104, 118, true)
        (Data, 4, 5, 0, 105, 119, true)
        (Parity, 0, 5, 0, 107, 135, false)
        (Data, 0, 5, 5, 106, 120, true)
    "#]]
    .assert_eq(&reported);
}

#[test]
fn lost_frames_come_back_in_order() {
    let link = on_the_link(10, 5, 2);
    let all = received(&mut *decoder(100, 0, 0, 0), &link, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    expect!["1 | 2 | 3 | 4 | 5 |  |  | 6 | 7 | 8 | 9 | 10 |  | "].assert_eq(&all);
    let two_lost = received(&mut *decoder(100, 0, 0, 0), &link, &[0, 3, 4, 5, 6, 7, 8]);
    expect!["1 |  |  |  | +2 +3 +4 +5 | 6 | 7"].assert_eq(&two_lost);
    let three_lost = received(&mut *decoder(100, 0, 0, 0), &link, &[0, 4, 5, 6, 7, 8]);
    expect!["1 |  |  |  | +5 6 | 7"].assert_eq(&three_lost);
}

#[test]
fn frames_that_overtake_one_another_wait() {
    let link = on_the_link(10, 5, 1);
    let order = [0, 2, 1, 6, 7, 3, 4, 5, 8];
    let waits = received(&mut *decoder(100, 1, 0, 0), &link, &order);
    expect!["1 |  | 2 +3 |  |  | 4 | 5 +6 +7 |  | 8"].assert_eq(&waits);
    let links_keep_order = received(&mut *decoder(100, 0, 0, 0), &link, &order);
    expect!["1 |  | 2 +3 | 6 | 7 |  |  |  | 8"].assert_eq(&links_keep_order);
}

#[test]
fn nothing_waits_longer_than_allowed() {
    let link = on_the_link(5, 5, 1);
    let mut decoder = decoder(100, 0, 0, 0);
    assert_eq!(reported(&decode(&mut *decoder, &link[0], us(10))), "1");
    assert_eq!(decoder.deadline(), None);
    assert_eq!(reported(&decode(&mut *decoder, &link[2], us(20))), "");
    assert_eq!(reported(&decode(&mut *decoder, &link[4], us(30))), "");
    assert_eq!(decoder.deadline(), Some(us(120)));
    assert_eq!(reported(&tick(&mut *decoder, us(120))), "+3");
    assert_eq!(decoder.deadline(), Some(us(130)));
    assert_eq!(reported(&decode(&mut *decoder, &link[1], us(125))), "", "2 was given up");
    assert_eq!(reported(&tick(&mut *decoder, us(130))), "+5");
    assert_eq!(decoder.deadline(), None);
}

#[test]
fn a_block_that_is_not_full_is_closed_by_the_timer() {
    let mut encoder = encoder(100);
    assert_eq!(encoder.deadline(), None);
    let first = frames(encode(&mut *encoder, &frame(1, 100), 5, 1, us(10)));
    encode(&mut *encoder, &frame(2, 60), 5, 1, us(50));
    assert_eq!(encoder.deadline(), Some(us(110)));
    let parity = frames(tick(&mut *encoder, us(110)));
    assert_eq!((tag(&parity[0]).kind, tag(&parity[0]).count), (Kind::Parity, 2));
    assert_eq!((parity.len(), encoder.deadline()), (1, None));
    let third = frames(encode(&mut *encoder, &frame(3, 60), 5, 1, us(120)));
    let mut receiver = decoder(100, 0, 0, 0);
    let each = [&first[0], &parity[0], &third[0]].map(|f| reported(&decode(&mut *receiver, f, us(200))));
    assert_eq!(each, ["1", "+2", "3"]);
    // Without the parity, the next block says how long this one was.
    let mut receiver = decoder(100, 3, 0, 0);
    assert_eq!(reported(&decode(&mut *receiver, &first[0], us(200))), "1");
    assert_eq!(reported(&decode(&mut *receiver, &third[0], us(200))), "", "2 may still come");
}

#[test]
fn other_numbers_begin_another_block() {
    let mut encoder = encoder(100);
    encode(&mut *encoder, &frame(1, 100), 5, 1, us(0));
    let now: Vec<_> = encode(&mut *encoder, &frame(2, 100), 3, 2, us(0))
        .iter()
        .map(|e| (tag(&e.frame).kind, tag(&e.frame).count))
        .collect();
    assert_eq!(now, [(Kind::Parity, 1), (Kind::Data, 3)]);
}

#[test]
fn doubles_and_late_frames_end() {
    let link = on_the_link(10, 5, 1);
    let reported = received(&mut *decoder(100, 0, 0, 0), &link, &[0, 0, 1, 1, 2, 3, 4, 5, 5, 4, 6, 5]);
    expect!["1 |  | 2 |  | 3 | 4 | 5 |  |  |  | 6 | "].assert_eq(&reported);
}

#[test]
fn an_encoder_that_restarts_is_followed_at_once() {
    let mut receiver = decoder(100, 2, 0, 0);
    received(&mut *receiver, &on_the_link(500, 5, 1), &[0, 1, 2, 3, 4, 5, 6]);
    let mut anew = encoder(100);
    let sent = frames(encode(&mut *anew, &frame(77, 100), 5, 1, us(12345)));
    assert_eq!(reported(&decode(&mut *receiver, &sent[0], us(12400))), "77");
    // One that is far behind, as after a move of an old memory, is followed, too.
    let mut late = decoder(100, 2, 0, 0);
    let link = on_the_link(500, 5, 1);
    assert_eq!(reported(&decode(&mut *late, &link[480], us(1))), "401");
    let many = received(&mut *late, &link, &[295, 296, 297, 0, 1, 2]);
    expect![" |  |  | 1 | 2 | 3"].assert_eq(&many);
}

#[test]
fn an_outage_of_any_length_is_survived() {
    let link = on_the_link(4000, 5, 1);
    for gap in [7, 30, 301, 1800, 4700] {
        let mut receiver = decoder(100, 2, 0, 0);
        received(&mut *receiver, &link, &[0, 1, 2]);
        let after: Vec<usize> = (gap..gap + 60).collect();
        let reported = received(&mut *receiver, &link, &after);
        // Of six on the link the last is parity.
        let end = gap + 59;
        let last = end / 6 * 5 + (end % 6 + 1).min(5);
        assert!(reported.split(" | ").any(|one| one == last.to_string()), "{gap}: {reported}");
    }
}

#[test]
fn losses_make_a_mark_and_their_end_another() {
    let link = on_the_link(200, 5, 0);
    let mut receiver = decoder(100, 0, 50, 20_000);
    let mut marks = vec![];
    for (n, sent) in link.iter().enumerate() {
        if n < 100 && n % 25 == 3 {
            continue;
        }
        for e in decode(&mut *receiver, sent, us(200)) {
            if e.frame[12..14] == netfn_fec::mark::ETHER_TYPE.to_be_bytes() {
                marks.push((n, e.frame[26..28].to_vec(), e.frame[38], e.frame.len()));
            }
        }
    }
    // 2 of each 50 are lost: 40,000 ppm of 20,000; from the third 50 on none.
    assert_eq!(marks, [(49, vec![0, 3], 1, 45), (99, vec![0, 3], 1, 45), (149, vec![0, 3], 0, 45)]);
}

#[test]
fn what_cannot_be_tagged_goes_on_as_it_is() {
    let mut encoder = Encoder::new(base_time::Duration::from_us(1));
    let with = |encoder: &mut Encoder, frame: &[u8], k, h| {
        let out = encode(encoder, frame, k, h, us(0));
        out.len() == 1 && out[0].carries_on && out[0].frame == frame
    };
    assert!(with(&mut encoder, &[1; 13], 5, 1));
    assert!(with(&mut encoder, &vec![1; 65_001], 5, 1));
    assert!(with(&mut encoder, &[1; 60], 0, 1));
    assert!(with(&mut encoder, &[1; 60], 129, 1));
    assert!(with(&mut encoder, &[1; 60], 5, 17));
    assert_eq!(encoder.passed(), 5);
    assert!(!with(&mut encoder, &[1; 14], 5, 0));
    let mut plain = Decoder::new(Limits::default());
    assert!(decode(&mut plain, &frame(1, 60), us(0)).iter().all(|e| e.carries_on && e.frame == frame(1, 60)));
}

#[test]
fn links_may_pad_short_frames() {
    let mut sent = on_the_link(2, 2, 1);
    for frame in &mut sent {
        let padded = frame.len() + 9;
        frame.resize(padded, 0xee);
    }
    let mut receiver = decoder(100, 0, 0, 0);
    assert_eq!(untagged(&decode(&mut *receiver, &sent[0], us(0))[0].frame), frame(1, 100));
    assert_eq!(untagged(&decode(&mut *receiver, &sent[2], us(0))[0].frame), frame(2, 100));
}

#[test]
fn wrong_arguments_and_bad_snapshots_are_refused() {
    let mut registry = Registry::default();
    netfn_fec::register(&mut registry);
    let error = |name: &str, args: &[Bits]| registry.get(name).unwrap()(args).err().unwrap().0;
    expect!["`fec-encode` takes 1 argument, hold_us, and was given 0"].assert_eq(&error("fec-encode", &[]));
    let args = [Bits::new(48, 1), Bits::new(8, 16), Bits::new(32, 0), Bits::new(32, 0)];
    expect!["`reach` of `fec-decode` is 15 at most, and not 16"].assert_eq(&error("fec-decode", &args));
    let link = on_the_link(7, 5, 2);
    let mut one = decoder(100, 2, 9, 9);
    received(&mut *one, &link, &[0, 2, 3, 8]);
    let good = one.snapshot();
    for length in 0..good.len() {
        assert!(decoder(100, 2, 9, 9).restore(&good[..length]).is_err());
    }
    assert!(decoder(101, 2, 9, 9).restore(&good).is_err());
    let mut other = decoder(100, 2, 9, 9);
    other.restore(&good).unwrap();
    assert_eq!(
        reported(&decode(&mut *other, &link[6], us(250))),
        reported(&decode(&mut *one, &link[6], us(250)))
    );
    assert_eq!(other.snapshot(), one.snapshot());
}
