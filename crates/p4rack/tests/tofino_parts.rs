//! Parts of the example racks as programs for TNA: the same packets, from the entries of the rack.

use crate::support::{example, text};
use base_bits::BitWriter;
use base_diag::SourceMap;
use base_time::{Duration, Rng, Time};
use compiler::reparse;
use control_writes::{Match, Write};
use dataplane_api::{Output, Port};
use device::{Options, Switch};
use p4rack::Racked;
use std::collections::BTreeMap;

/// Rack, device, the least number of packets that have to leave, and whether times count steps of 1,024 ns.
const PARTS: [(&str, &str, usize, bool); 7] = [
    ("fat-tree/figure-7/RACK.toml", "edge-0-1", 200, false),
    ("slice/plain.toml", "nic", 10, false),
    ("headerless/RACK.toml", "nic", 10, false),
    ("ananta/RACK.toml", "agent1", 200, false),
    ("pias/plain.toml", "tor", 200, false),
    ("hedera/RACK.toml", "lower", 200, false),
    ("crosspod/resource-saver.toml", "left", 200, true),
];
const PACKETS: usize = 1500;
/// No parser of these programs wants more bytes.
const BYTES: usize = 300;

/// Values of the entries' keys, by width: packets with these find entries.
type Pools = BTreeMap<u32, Vec<u128>>;

fn pools(racked: &Racked, app: usize, device: usize) -> Pools {
    let mut pools = Pools::new();
    for write in racked.fill(app, device) {
        let Write::Entry { key, .. } = write else { continue };
        for value in &key.matches {
            if let Match::Exact(value) | Match::Lpm { value, .. } | Match::Ternary { value, .. } = value {
                pools.entry(value.width()).or_default().push(value.low_u128());
            }
        }
    }
    pools
}

struct Frames {
    rng: Rng,
    pools: Pools,
}

impl Frames {
    /// Mostly a value of an entry, with random low bits now and then.
    fn field(&mut self, out: &mut BitWriter, width: u32) {
        let known = self.pools.get(&width).and_then(|values| self.rng.pick(values)).copied();
        let any = self.rng.next_u128() & ((1 << width) - 1);
        let value = match known {
            Some(known) if self.rng.chance(7, 8) => known ^ if self.rng.chance(1, 4) { any & 3 } else { 0 },
            _ => any,
        };
        out.push_u128(width, value);
    }

    /// Ethernet, IPv4 and ports; half of the frames are handed over from another device.
    fn next(&mut self) -> Vec<u8> {
        let mut out = BitWriter::new();
        if self.rng.next_bool() {
            out.push_u128(96, 0);
            out.push_u128(16, 0x88b5);
            let region = self.rng.between(1, 7);
            [(4, 1), (8, 1), (8, 1), (4, region)]
                .iter()
                .for_each(|(bits, value)| out.push_u128(*bits, u128::from(*value)));
        } else {
            self.field(&mut out, 48);
            self.field(&mut out, 48);
            out.push_u128(16, if self.rng.chance(1, 8) { 0x86dd } else { 0x0800 });
            out.push_u128(8, 0x45);
            let rest = self.rng.next_u128();
            out.push_u128(40, rest & ((1 << 40) - 1));
            // Fragments have no ports.
            out.push_u128(16, u128::from(self.rng.chance(1, 8)));
            out.push_u128(8, u128::from(self.rng.between(0, 64)));
            out.push_u128(8, if self.rng.next_bool() { 6 } else { 17 });
            self.field(&mut out, 16);
            self.field(&mut out, 32);
            self.field(&mut out, 32);
            self.field(&mut out, 16);
            self.field(&mut out, 16);
        }
        let mut frame = out.finish();
        let more = self.rng.bytes(BYTES - frame.len());
        frame.extend(more);
        frame
    }

    fn port(&mut self) -> Port {
        let known = self.pools.get(&9).and_then(|values| self.rng.pick(values)).copied();
        let any = u128::from(self.rng.between(1, 4));
        known.filter(|_| self.rng.next_bool()).unwrap_or(any) as Port
    }
}

fn sorted(mut outputs: Vec<Output>) -> Vec<Output> {
    outputs.sort();
    outputs
}

/// The part and its conversion, with the rack's entries.
fn both(racked: &Racked, app: usize, device: usize, ticks: bool) -> [Switch; 2] {
    let placed = racked.part(app, device).expect("it runs a program");
    let mut map = SourceMap::new();
    let original =
        reparse("part.p4", placed.text, &mut map).unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let converted = target_tna::convert(&original, target_tna::Options { ticks })
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let converted = reparse("part.tna.p4", &converted.text, &mut map)
        .unwrap_or_else(|found| panic!("{}\n{}", converted.text, text(&found, &map)));
    [original, converted].map(|program| {
        let mut switch = ir_interp::switch(program, Options::default()).expect("it can be run");
        let writes = racked.fill(app, device).into_iter();
        writes.for_each(|write| switch.write(write, Time::ZERO).expect("an entry"));
        ir_prove::link(&mut switch, &placed.part.linkage).expect("entries of the runtime");
        switch
    })
}

#[test]
fn converted_parts_send_the_same_packets() {
    for (file, name, least, ticks) in PARTS {
        let racked = example(file);
        let placed = racked.parts().find(|placed| placed.name == name).expect("a device with a program");
        let (app, device) = (placed.app, placed.device);
        let mut switches = both(&racked, app, device, ticks);
        let mut frames = Frames { rng: Rng::new(11), pools: pools(&racked, app, device) };
        let step = if ticks { Duration::from_ns(1024) } else { Duration::from_us(1) };
        let (mut now, mut sent) = ([Time::ZERO; 2], 0);
        for _ in 0..PACKETS {
            now = [now[0] + Duration::from_us(3), now[1] + step + step + step];
            let (port, frame) = (frames.port(), frames.next());
            let mut times = now.into_iter();
            let [original, converted] = switches.each_mut().map(|s| {
                let now = times.next().unwrap_or(Time::ZERO);
                sorted(s.process(port, &frame, now))
            });
            sent += original.len();
            assert_eq!(original, converted, "{file}, {name}: port {port}, {frame:02x?}");
        }
        assert!(sent >= least, "{file}, {name}: {sent}");
    }
}
