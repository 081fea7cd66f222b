//! `examples/rules`: alerts beside exact counts.

use crate::support::{Both, engines_of};
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use dataplane_api::Device;
use device::Switch;
use device_classes::DeviceClass;
use ir_value::Value;
use p4rack::{Racked, rack};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Rules, the most urgent first; 0x12 are TCP's SYN and ACK.
const RULES: &str = "\
add rules 7 hdr.ipv4.protocol:6 dst_port:80 hdr.ipv4.dst_addr:0x0a0000f3 sources_of_destination_in_4s(number:6, count:7)
add rules 6 hdr.ipv4.protocol:6 dst_port:80 destinations_of_source_in_4s(number:5, count:10)
add rules 5 hdr.ipv4.protocol:6 dst_port:22 flags:0b***0**1* source_in_4s(number:1, count:20)
add rules 4 hdr.ipv4.src_addr:0x0a000001 NoAction()
add rules 3 hdr.ipv4.protocol:17 dst_port:53 destination_in_1s(number:2, count:100)
add rules 2 hdr.ipv4.protocol:17 source_in_34s(number:3, count:400)
add rules 1 hdr.ipv4.dst_addr:0x0a0000ff source_in_1s(number:4, count:1)
";

fn racked(rules: &str) -> Racked {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/rules");
    let hosts = std::fs::read_to_string(directory.join("entries.stf")).unwrap();
    let hosts: String =
        hosts.lines().filter(|line| line.starts_with("add hosts")).map(|line| format!("{line}\n")).collect();
    let entries =
        std::env::temp_dir().join(format!("p4rack-rules-{}-{}.stf", std::process::id(), rules.len()));
    std::fs::write(&entries, hosts + rules).unwrap();
    let set = |rack: &mut rack_model::Rack| {
        rack.apps[0].entries = Some(entries.to_str().unwrap().to_string().into());
    };
    let racked = rack::load_as(&directory.join("RACK.toml"), &[], &mut SourceMap::new(), &set, &mut |_| ());
    std::fs::remove_file(&entries).unwrap();
    racked.unwrap_or_else(|found| panic!("{found:#?}"))
}

/// A packet: addresses, protocol, destination port, TCP's flags.
#[derive(Clone, Copy, Debug)]
struct Sent {
    from: u32,
    to: u32,
    protocol: u8,
    port: u16,
    flags: u8,
}

impl Sent {
    fn frame(self) -> Vec<u8> {
        let mut frame = vec![0; 80];
        frame[..15].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45]);
        frame[23] = self.protocol;
        frame[26..30].copy_from_slice(&self.from.to_be_bytes());
        frame[30..34].copy_from_slice(&self.to.to_be_bytes());
        frame[36..38].copy_from_slice(&self.port.to_be_bytes());
        frame[47] = self.flags;
        frame
    }

    /// The rule, the address that it counts, the window's length in powers of two of a microsecond, and the count.
    fn rule(self) -> Option<(u16, u32, u32, u32)> {
        match self {
            Sent { protocol: 6, port: 80, to: 0x0a00_00f3, .. } => Some((6, self.to, 22, 7)),
            Sent { protocol: 6, port: 80, .. } => Some((5, self.from, 22, 10)),
            Sent { protocol: 6, port: 22, flags, .. } if flags & 0x12 == 2 => Some((1, self.from, 22, 20)),
            Sent { from: 0x0a00_0001, .. } => None,
            Sent { protocol: 17, port: 53, .. } => Some((2, self.to, 20, 100)),
            Sent { protocol: 17, .. } => Some((3, self.from, 25, 400)),
            Sent { to: 0x0a00_00ff, .. } => Some((4, self.from, 20, 1)),
            _ => None,
        }
    }
}

/// Rules and addresses that a device has reported.
fn alerts(switch: &mut Switch) -> Vec<(u16, u32)> {
    let number = |value: &Value| match value {
        Value::Bits(bits) => bits.low_u64() as u32,
        other => panic!("{other:?}"),
    };
    let alert = |digest: device::Digest| {
        let Value::Struct(fields) = digest.data else { panic!("{digest:?}") };
        (number(&fields[0]) as u16, number(&fields[1]))
    };
    switch.take_digests().into_iter().map(alert).collect()
}

#[test]
fn each_rule_is_reported_once_in_a_window_when_its_count_is_reached() {
    let mut devices = Both::new(engines_of(&racked(RULES), 0, 0), 15_000);
    let mut rng = Rng::new(11);
    let mut counts: BTreeMap<(u16, u32, u64), u32> = BTreeMap::new();
    // The other addresses that rules 5 and 6 count.
    let mut others: BTreeSet<(u16, u32, u64, u32)> = BTreeSet::new();
    let (mut now, mut reported) = (0x0123_4567_8900u64 & 0xffff_ffff_ffff, [0; 7]);
    for _ in 0..60_000 {
        now += rng.below(200);
        let sent = Sent {
            from: 0x0a00_0000 | rng.below(12) as u32,
            to: 0x0a00_00f0 | rng.below(16) as u32,
            protocol: [1, 6, 6, 17, 17, 17][rng.index(6)],
            port: [22, 53, 53, 80][rng.index(4)],
            flags: [2, 0x12, 0x10, 0x1b][rng.index(4)],
        };
        let mut wanted = vec![];
        if let Some((rule, address, window, limit)) = sent.rule() {
            let count = counts.entry((rule, address, now >> window)).or_default();
            let is_new = match rule {
                5 => others.insert((rule, address, now >> window, sent.to)),
                6 => others.insert((rule, address, now >> window, sent.from)),
                _ => true,
            };
            *count += u32::from(is_new);
            if is_new && *count == limit {
                wanted.push((rule, address));
                reported[usize::from(rule)] += 1;
            }
        }
        devices.each(|device| {
            let queued = device.ingress(1, sent.frame(), Time::ZERO + Duration::from_us(now));
            assert_eq!(queued.len(), 1, "every packet is forwarded");
            assert_eq!(alerts(device), wanted, "{sent:?} at {now} us");
        });
    }
    assert!(reported[1..6].iter().all(|count| *count > 10) && reported[6] > 0, "{reported:?}");
}

/// 68 of 1,500 sources that send one packet each share a counter of a row with an earlier one. A source is reported if it shares all three: 0.3 are
/// expected if the rows are independent, and 68 if sources that share one counter share the others.
#[test]
fn sources_that_share_one_counter_do_not_share_the_others() {
    let racked = racked("add rules 1 hdr.ipv4.protocol:17 source_in_34s(number:3, count:2)\n");
    for mut device in engines_of(&racked, 0, 0) {
        let mut rng = Rng::new(3);
        for _ in 0..1500 {
            let from = rng.next_u64() as u32;
            let sent = Sent { from, to: 0x0a00_0001, protocol: 17, port: 53, flags: 0 };
            device.ingress(1, sent.frame(), Time::ZERO);
        }
        let reported = alerts(&mut device);
        assert!(reported.len() <= 3, "{reported:?}");
    }
}

#[test]
fn a_limited_switch_counts() {
    let found = ir_limits::check(&racked(RULES).apps[0].whole, DeviceClass::FlexSwitch);
    assert!(found.is_empty(), "{found:#?}");
}
