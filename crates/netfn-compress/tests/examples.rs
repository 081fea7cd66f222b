//! Frames by hand: how long they become, and what is refused.

use crate::support;

use base_time::Rng;
use expect_test::expect;
use support::*;

/// Bytes of the frames on the link, of those that a flow makes; each comes back whole.
fn lengths(flow: &mut Flow, payload: usize, count: usize, change: impl Fn(&mut Flow, usize)) -> Vec<usize> {
    let (mut sender, mut receiver) = (compressor(16, 0), decompressor(16));
    let mut rng = Rng::new(1);
    let each = (0..count).map(|n| {
        change(flow, n);
        let frame = flow.frame(&mut rng, payload, 0);
        let link = call(&mut *sender, 1, &frame).unwrap();
        assert_eq!(call(&mut *receiver, 1, &link).unwrap(), frame);
        link.len()
    });
    each.collect()
}

#[test]
fn headers_become_short() {
    let mut reported = String::new();
    for (name, is_ipv6, is_tcp, options) in [
        ("UDP, IPv4", false, false, 0),
        ("UDP, IPv6", true, false, 0),
        ("TCP, IPv4", false, true, 0),
        ("TCP, IPv4, timestamps", false, true, 12),
        ("TCP, IPv6, timestamps", true, true, 12),
    ] {
        let mut flow = Flow::new(1, is_ipv6, is_tcp);
        flow.options = options;
        let before = flow.clone().frame(&mut Rng::new(1), 100, 0).len() - 112;
        let link = lengths(&mut flow, 100, 6, |flow, n| flow.clock = n as u32);
        let behind: Vec<usize> = link.iter().map(|length| length - 112).collect();
        reported += &format!("{name:<24}{before:3}  {behind:?}\n");
    }
    expect![[r#"
        UDP, IPv4                30  [40, 44, 44, 13, 13, 13]
        UDP, IPv6                50  [60, 62, 62, 11, 11, 11]
        TCP, IPv4                42  [52, 60, 60, 17, 17, 17]
        TCP, IPv4, timestamps    54  [64, 80, 80, 25, 25, 25]
        TCP, IPv6, timestamps    74  [84, 98, 98, 23, 23, 23]
    "#]]
    .assert_eq(&reported);
}

#[test]
fn what_changes_with_a_flow_is_carried() {
    let mut flow = Flow::new(1, false, true);
    let link = lengths(&mut flow, 100, 12, |flow, n| match n {
        5 => flow.class = 4,
        6 => flow.ttl = 63,
        7 => flow.window = 99,
        // From here on the data offset is another: as it was three times, then a new reference.
        8 => flow.options = 12,
        _ => {}
    });
    expect!["[164, 172, 172, 129, 129, 130, 131, 133, 166, 166, 166, 176]"].assert_eq(&format!("{link:?}"));
}

/// A switch's program reads no others in a reference: what was compressed with it would never come out.
#[test]
fn what_has_options_but_timestamps_goes_on_as_it_is() {
    let (mut sender, mut rng) = (compressor(16, 0), Rng::new(1));
    for (is_ipv6, ip_options, options, is_short) in [
        (false, 0, 12, true),
        (true, 0, 12, true),
        (false, 0, 20, false),
        (true, 0, 20, false),
        (false, 8, 0, false),
    ] {
        let mut flow = Flow::new(1, is_ipv6, true);
        (flow.ip_options, flow.options) = (ip_options, options);
        let frame = flow.frame(&mut rng, 0, 0);
        assert_eq!(call(&mut *sender, 1, &frame).unwrap() != frame, is_short);
    }
    // Selective acknowledgements are as long as timestamps.
    let mut flow = Flow::new(1, false, true);
    flow.options = 12;
    let mut frame = flow.frame(&mut rng, 0, 0);
    frame[56..58].copy_from_slice(&[5, 10]);
    assert_eq!(call(&mut *sender, 1, &frame).unwrap(), frame);
}

#[test]
fn a_lost_frame_harms_no_other() {
    let (mut sender, mut receiver) = (compressor(16, 10), decompressor(16));
    let mut rng = Rng::new(1);
    let mut flow = Flow::new(1, false, true);
    let mut reported = String::new();
    for n in 0..40 {
        let frame = flow.frame(&mut rng, 100, 0);
        let link = call(&mut *sender, 1, &frame).unwrap();
        // All frames with the reference are lost, then some without.
        if n < 3 || n % 7 == 0 {
            reported += "x";
            continue;
        }
        reported += match call(&mut *receiver, 1, &link) {
            Some(whole) => {
                assert_eq!(whole, frame);
                "+"
            }
            None => "-",
        };
    }
    expect!["xxx----x----++x++++++x++++++x++++++x++++"].assert_eq(&reported);
}

#[test]
fn flows_that_share_contexts_do_not_get_mixed_up() {
    let (mut sender, mut receiver) = (compressor(4, 0), decompressor(4));
    let mut rng = Rng::new(1);
    let mut flows: Vec<Flow> = (0..9).map(|n| Flow::new(n, n % 2 == 0, n % 3 == 0)).collect();
    for _ in 0..2000 {
        let n = rng.index(9);
        let frame = flows[n].frame(&mut rng, 50, 0);
        let link = call(&mut *sender, 1, &frame).unwrap();
        assert_eq!(call(&mut *receiver, 1, &link).unwrap(), frame);
    }
}

#[test]
fn what_is_not_compressed_goes_on_as_it_is() {
    let (mut sender, mut receiver) = (compressor(16, 0), decompressor(16));
    let mut rng = Rng::new(1);
    let good = Flow::new(1, false, true).frame(&mut rng, 100, 0);
    let udp = Flow::new(1, true, false).frame(&mut rng, 100, 0);
    let with = |frame: &[u8], at: usize, byte: u8| {
        let mut frame = frame.to_vec();
        frame[at] = byte;
        frame
    };
    let odd = [
        vec![],
        good[..13].to_vec(),
        good[..40].to_vec(),
        with(&good, 12, 9),
        with(&good, 14, 0x44),
        with(&good, 14, 0x55),
        with(&good, 20, 0x20),
        with(&good, 24, 1),
        with(&good, 23, 1),
        with(&good, 46, 0x40),
        with(&udp, 59, 7),
        with(&udp, 20, 0),
        rng.bytes(60),
    ];
    for frame in odd {
        assert_eq!(call(&mut *sender, 1, &frame).unwrap(), frame);
        assert_eq!(call(&mut *receiver, 1, &frame).unwrap(), frame);
    }
    let mut looks_compressed = good.clone();
    looks_compressed[12..14].copy_from_slice(&[0x12, 0x34]);
    let link = call(&mut *sender, 1, &looks_compressed).unwrap();
    assert_ne!(link, looks_compressed);
    assert_eq!(call(&mut *receiver, 1, &[&link[..], &[0; 9]].concat()).unwrap(), looks_compressed);
}

#[test]
fn wrong_arguments_and_bad_snapshots_are_refused() {
    let error = |name: &str, args: &[u16]| make(name, args).err().unwrap().0;
    expect!["`contexts` of `header-compress` is a power of two from 4 to 32768, and not 12"]
        .assert_eq(&error("header-compress", &[12, 0]));
    expect!["`header-decompress` takes 1 argument, contexts, and was given 2"]
        .assert_eq(&error("header-decompress", &[16, 0]));
    let (mut sender, mut receiver) = (compressor(4, 7), decompressor(4));
    let mut rng = Rng::new(1);
    for n in 0..20 {
        let frame = Flow::new(n % 3, false, true).frame(&mut rng, 9, 0);
        let link = call(&mut *sender, n % 2, &frame).unwrap();
        call(&mut *receiver, n % 2, &link);
    }
    let (sent, received) = (sender.snapshot(), receiver.snapshot());
    for length in 0..sent.len() {
        assert!(compressor(4, 7).restore(&sent[..length]).is_err());
    }
    for length in 0..received.len() {
        assert!(decompressor(4).restore(&received[..length]).is_err());
    }
    assert!(compressor(4, 8).restore(&sent).is_err() && decompressor(8).restore(&received).is_err());
}
