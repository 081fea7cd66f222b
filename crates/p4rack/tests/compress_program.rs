//! `crates/netfn-compress/p4/compress.p4` and the frame externs of netfn-compress understand each other: what either makes short the other makes
//! long again, byte for byte; frames that are lost in between harm no others. `compress_tna.p4` does the same for a Tofino, but for frames that
//! the extern makes short.

use base_diag::SourceMap;
use base_time::{Rng, Time};
use compiler::{Until, compile};
use netfn_compress::{Compressor, Decompressor};
use p4rack::Disk;
use p4rack::run::{Engine, Job, entries};
use std::path::Path;

const CONTEXTS: u16 = 1024;

fn switch(engine: Engine) -> device::Switch {
    loaded("compress.p4", "", engine)
}

/// The program for a Tofino; frames leave by `port`.
fn tofino(engine: Engine, port: u32) -> device::Switch {
    let route = format!(
        "[[table.\"Ingress.mac_forwarding\"]]\nkey = [0x020000000001]\naction = \"to_port\"\nargs = [{port}]\n"
    );
    loaded("compress_tna.p4", &route, engine)
}

fn loaded(name: &str, filling: &str, engine: Engine) -> device::Switch {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netfn-compress/p4").join(name);
    let mut map = SourceMap::new();
    let options = p4_syntax::Options::default();
    let compiled = compile(&path.display().to_string(), &Disk, &options, Until::Elaborated, &mut map);
    let program = compiled.program.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let fillings = match filling {
        "" => vec![],
        text => {
            let start = p4rack::sources::add("entries.toml", text, &mut map).expect("it is short");
            let filled = entries::read(&program, Path::new("entries.toml"), text, start);
            vec![filled.unwrap_or_else(|found| panic!("{found:?}"))]
        }
    };
    let job = Job {
        program,
        fillings,
        seed: 1,
        interval: None,
        cpu_port: None,
        trace: false,
        engine,
        registry: netfn_registry::all(),
    };
    job.device().unwrap_or_else(|found| panic!("{found:?}")).0
}

/// Sends a frame through the switch; at most one frame comes out, by the other port.
fn through(switch: &mut device::Switch, port: u32, frame: &[u8]) -> Option<Vec<u8>> {
    let mut out = switch.process(port, frame, Time::ZERO);
    assert!(out.len() <= 1 && out.iter().all(|out| out.port == 3 - port), "{out:?}");
    out.pop().map(|out| out.frame)
}

fn sum(bytes: &[u8]) -> u16 {
    let total: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let once = (total & 0xffff) + (total >> 16);
    !((once & 0xffff) + (once >> 16)) as u16
}

/// A frame of one of a few flows; one in ten is something that is not compressed, or hardly.
fn frame(rng: &mut Rng, n: u32) -> Vec<u8> {
    let flow = rng.below(6) as u8;
    let (is_ipv6, is_tcp, has_stamps) = (flow % 2 == 1, flow < 4, flow < 2);
    let odd = rng.below(30);
    let mut transport = vec![0x10, flow, 0, 80];
    if is_tcp {
        transport.extend((1000 + 7 * n).to_be_bytes());
        transport.extend([0, 0, 0, flow]);
        transport.extend([if has_stamps { 0x80 } else { 0x50 }, if odd == 0 { 0x11 } else { 0x10 }, 1, 0]);
        transport.extend([rng.below(256) as u8, rng.below(256) as u8, 0, if odd == 11 { 7 } else { 0 }]);
        if has_stamps {
            transport.extend([1, 1, 8, 10, 0, 0]);
            transport.extend((n as u16).to_be_bytes());
            transport.extend([9, 9, 9, 9]);
        }
    }
    let payload = rng.bytes(rng.clone().below(120) as usize);
    if !is_tcp {
        let length = 8 + payload.len() as u16 + u16::from(odd == 1);
        transport.extend(length.to_be_bytes());
        transport.extend([rng.below(256) as u8, 5]);
    }
    let length = (transport.len() + payload.len()) as u16;
    let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let protocol = if odd == 2 {
        47
    } else if is_tcp {
        6
    } else {
        17
    };
    let ttl = if odd == 3 { 63 } else { 64 };
    if is_ipv6 {
        out.extend([0x86, 0xdd, 0x60, 0, 0x12, if odd == 4 { flow } else { 0x34 }]);
        out.extend(length.to_be_bytes());
        out.extend([protocol, ttl]);
        out.extend([0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, flow]);
        out.extend([0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
    } else {
        let mut ip = vec![0x45, if odd == 5 { 8 } else { 0 }];
        ip.extend((20 + length).to_be_bytes());
        ip.extend((n as u16).to_be_bytes());
        ip.extend([if odd == 6 { 0x20 } else { 0x40 }, 0, ttl, protocol, 0, 0, 10, 0, 0, flow, 10, 0, 1, 0]);
        let check = sum(&ip) ^ u16::from(odd == 7);
        ip[10..12].copy_from_slice(&check.to_be_bytes());
        out.extend([8, 0]);
        out.extend(ip);
    }
    out.extend(transport);
    out.extend(payload);
    match odd {
        // A tail after the IP packet; a frame that looks compressed; one that is cut short.
        8 => out.extend(rng.bytes(6)),
        9 => out[12..14].copy_from_slice(&[0x12, 0x34]),
        10 => out.truncate(30),
        _ => {}
    }
    out
}

/// As [`sent_over`] a link that corrupts what says how headers were, now and then.
fn sent(
    short: impl FnMut(&[u8]) -> Option<Vec<u8>>,
    long: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> (usize, usize) {
    sent_over(0, true, short, long)
}

/// Sends frames of at least `least` bytes through both ends: 2,000, which all have to come, and as many of which one in eight is lost in between. Gives the
/// bytes before and on the link.
fn sent_over(
    least: usize,
    corrupts: bool,
    mut short: impl FnMut(&[u8]) -> Option<Vec<u8>>,
    mut long: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> (usize, usize) {
    let mut rng = Rng::new(5);
    let (mut before, mut on_link, mut came) = (0, 0, 0);
    for n in 0..4000 {
        assert!(n != 2000 || came == n, "{came} of {n} came, and none was lost");
        let mut frame = frame(&mut rng, n);
        frame.resize(frame.len().max(least), 0);
        let compressed = short(&frame).expect("everything goes on");
        before += frame.len();
        on_link += compressed.len();
        if n >= 2000 && rng.below(8) == 0 {
            continue;
        }
        let mut arrived = compressed.clone();
        let is_compressed = compressed[12..14] == [0x12, 0x34];
        if is_compressed {
            // Links pad; and what says how headers were is wrong now and then.
            arrived.resize(arrived.len().max(60), 0xee);
            let wrong = n >= 2000 && rng.below(16) == 0 && corrupts && compressed[17] & 0x50 != 0x50;
            arrived[rng.between(14, 22) as usize] ^= u8::from(wrong) << rng.below(8);
        }
        if let Some(long) = long(&arrived) {
            assert!(long == frame, "frame {n}:\n{frame:02x?}\n{compressed:02x?}\n{long:02x?}");
            came += 1;
        }
    }
    assert!(came > 3500, "{came} of about 3650 came");
    (before, on_link)
}

#[test]
fn the_program_makes_short_what_the_extern_makes_long() {
    for engine in [Engine::Native, Engine::Interp] {
        let (mut switch, mut extern_) = (switch(engine), Decompressor::new(CONTEXTS));
        let (before, on_link) =
            sent(|frame| through(&mut switch, 1, frame), |frame| extern_.decompress(2, frame));
        let (mut other, mut end) = (Compressor::new(CONTEXTS, 64), Decompressor::new(CONTEXTS));
        let (_, by_extern) =
            sent(|frame| Some(other.compress(2, frame, Time::ZERO)), |frame| end.decompress(2, frame));
        assert!(on_link * 10 < before * 8, "{before} bytes became {on_link}");
        assert!(
            on_link.abs_diff(by_extern) * 500 < by_extern,
            "{on_link} bytes, and {by_extern} by the extern"
        );
    }
}

#[test]
fn the_program_makes_long_what_the_extern_makes_short() {
    let (mut switch, mut extern_) = (switch(Engine::Native), Compressor::new(CONTEXTS, 64));
    sent(|frame| Some(extern_.compress(2, frame, Time::ZERO)), |frame| through(&mut switch, 2, frame));
}

#[test]
fn two_switches_understand_each_other() {
    let [mut left, mut right] = [switch(Engine::Native), switch(Engine::Native)];
    sent(|frame| through(&mut left, 1, frame), |frame| through(&mut right, 2, frame));
}

/// Frames that a Tofino receives have 60 bytes.
const LEAST: usize = 60;

#[test]
fn a_tofino_makes_short_what_the_extern_makes_long() {
    for engine in [Engine::Native, Engine::Interp] {
        let (mut switch, mut extern_, mut shorter) = (tofino(engine, 2), Decompressor::new(CONTEXTS), 0);
        let short = |frame: &[u8]| {
            let on_link = through(&mut switch, 1, frame)?;
            // Frames without a reference.
            if on_link[12..14] == [0x12, 0x34] && on_link[17] & 0x60 == 0 {
                shorter += 1;
                assert!(frame.len() >= on_link.len() + 14, "{frame:02x?}\n{on_link:02x?}");
            }
            Some(on_link)
        };
        sent_over(LEAST, true, short, |frame| extern_.decompress(2, frame));
        // One of the six flows is TCP over IPv4 without options.
        assert!((400..667).contains(&shorter), "{shorter} of 4,000 frames are shorter");
    }
}

#[test]
fn two_tofinos_understand_each_other() {
    for engine in [Engine::Native, Engine::Interp] {
        let [mut left, mut right] = [tofino(engine, 2), tofino(engine, 1)];
        let restored = |frame: &[u8]| {
            let mut long = through(&mut right, 2, frame)?;
            if frame[12..14] == [0x12, 0x34] && long[12..14] == [8, 0] {
                // Without the padding of the link.
                long.truncate(14 + usize::from(u16::from_be_bytes([long[16], long[17]])));
            }
            Some(long)
        };
        sent_over(LEAST, false, |frame| through(&mut left, 1, frame), restored);
    }
}
