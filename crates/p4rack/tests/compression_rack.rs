//! `examples/compression`: headers made short by a P4 program on a switch at one end of a bad link, by the native functions at the other.

use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use p4rack::{Racked, rack, up};
use rack_model::Probability;
use std::collections::BTreeSet;
use std::path::Path;

fn load() -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/compression");
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

/// The link between the two ends.
const LINK: usize = 1;

#[test]
fn workloads_arrive_over_fewer_bytes() {
    let mut racked = load();
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    let [voices, back, transfer] = report.workloads.as_slice() else { panic!("{report:?}") };
    assert!(report.workloads.iter().all(|workload| workload.corrupted == 0), "{report:?}");
    // One in twenty is lost, and what comes after lost references.
    assert!((200..400).contains(&voices.lost) && (70..150).contains(&back.lost), "{report:?}");
    assert_eq!((transfer.sent, transfer.received), (4, 4), "{transfer:?}");

    racked.rack.links[LINK].loss = Probability::ZERO;
    let report = up::bring_up(&racked).unwrap().run().unwrap();
    assert!(
        report.workloads.iter().all(|workload| workload.lost == 0 && workload.corrupted == 0),
        "{report:?}"
    );
    let bytes = |from: &str| report.links.iter().find(|link| link.from == from).unwrap().bytes;
    // Of frames of 82 bytes 17 are saved, of those of TCP 27 there and none back: a link pads to 60 bytes.
    assert!(bytes("tor:2") * 100 < bytes("h1") * 86, "{} of {}", bytes("tor:2"), bytes("h1"));
    assert!(bytes("nic:2") * 100 < bytes("h2") * 82, "{} of {}", bytes("nic:2"), bytes("h2"));
}

/// TCP over IPv4 of one of eight flows, with what comes into the head of a test: a sequence number, a window, a checksum.
fn frame(to: u8, n: u16, rng: &mut Rng) -> Vec<u8> {
    let from = 3 - to;
    let payload = rng.between(10, 300) as usize;
    let mut ip = vec![0x45, 0];
    ip.extend((40 + payload as u16).to_be_bytes());
    ip.extend(n.to_be_bytes());
    ip.extend([0x40, 0, if rng.below(20) == 0 { 63 } else { 64 }, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let once = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!((once & 0xffff) + (once >> 16)) as u16).to_be_bytes());
    let tcp = [&[0x10, (n % 8) as u8, 0, 80, 0, 0][..], &n.to_be_bytes(), &[0, 0, 0, 7, 0x50, 0x10]].concat();
    [&[2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0], &ip[..], &tcp, &rng.bytes(payload + 6)].concat()
}

/// One frame in five is lost on the link. Every frame arrives bit for bit and in order, or not at all.
#[test]
fn frames_arrive_as_they_were_sent_or_not_at_all() {
    for seed in 1..=5 {
        let mut racked = load();
        racked.rack.seed = seed;
        racked.rack.workloads.clear();
        racked.rack.links[LINK].loss = Probability::parse("20%").unwrap();
        let mut running = up::bring_up(&racked).unwrap();
        let mut rng = Rng::new(seed);
        let hosts = ["h1", "h2"].map(|name| racked.rack.host(name).unwrap());
        hosts.iter().for_each(|host| running.emulator.listen(*host));
        // To `h1` and to `h2`.
        let sent = [1, 2].map(|to| (0..1000).map(|n| frame(to, n, &mut rng)).collect::<Vec<_>>());
        for n in 0..1000 {
            let at = Time::ZERO + Duration::from_us(100 * n as u64);
            for (frames, from) in sent.iter().zip([hosts[1], hosts[0]]) {
                assert!(running.emulator.send(from, frames[n].clone(), at));
            }
        }
        running.run().unwrap();
        for (frames, host) in sent.iter().zip(hosts) {
            let came = running.emulator.take_received(host);
            let mut all = frames.iter();
            assert!(
                came.iter().all(|one| all.any(|frame| *frame == one.frame)),
                "seed {seed}: a wrong frame"
            );
            let different: BTreeSet<&Vec<u8>> = came.iter().map(|one| &one.frame).collect();
            assert!(different.len() == came.len() && (700..860).contains(&came.len()), "{}", came.len());
        }
    }
}
