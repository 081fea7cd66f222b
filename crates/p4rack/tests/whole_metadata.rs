//! Programs that use their whole metadata as one value, with a handler on a group: the group's field of the flow is not part of it.

use crate::groups::{CLIENT, CLIENT_ADDRESS, NET, NET_ADDRESS, load, ms, stateless};
use crate::support::nat::{Flow, UDP, packet};
use crate::support::text;

use base_diag::SourceMap;
use base_time::Rng;
use device::Options;
use p4rack::{rack, up};

/// Name, statements before the call, statements after it.
const WHOLE_USES: &[(&str, &str, &str)] = &[
    ("list", "meta = { hdr.packet.src, hdr.packet.dst };", "hdr.packet.src = meta.a;"),
    (
        "copy",
        "metadata_t saved = meta; meta.a = 7; saved.b = hdr.packet.src; meta = saved;",
        "hdr.packet.src = meta.b;",
    ),
    (
        "equal",
        "metadata_t other = { hdr.packet.src, 0 };",
        "if (meta == other) { hdr.packet.src = 1; } else { hdr.packet.src = 2; }",
    ),
    (
        "locals",
        "metadata_t one; metadata_t two; one.a = hdr.packet.src; one.b = 0; two.a = hdr.packet.dst; two.b = 0;",
        "if (one == two) { hdr.packet.src = 1; } else { hdr.packet.src = 2; } meta.a = 1;",
    ),
    (
        "choice",
        "metadata_t other = { hdr.packet.src, 3 };",
        "meta = hdr.packet.dst[1:1] == 1 ? other : meta; hdr.packet.src = meta.b;",
    ),
    ("hash", "meta.a = hdr.packet.src;", "hash(hdr.packet.src, HashAlgorithm.crc16, 16w0, meta, 16w0xffff);"),
    ("digest", "meta.a = hdr.packet.src;", "digest<metadata_t>(1, meta);"),
    ("action", "fill(meta, hdr.packet.src);", "hdr.packet.src = meta.a;"),
    ("function", "meta.b = sum(meta, hdr.packet.src);", "hdr.packet.src = meta.b;"),
    (
        "nested",
        "pair_t pair; pair.one = meta; pair.two = { hdr.packet.src, 5 }; meta = pair.two;",
        "hdr.packet.src = meta.a + meta.b + pair.one.a;",
    ),
    (
        "clone",
        "meta = { hdr.packet.src, 1 };",
        "clone_preserving_field_list(CloneType.I2E, 5, 1); hdr.packet.src = meta.a;",
    ),
];

#[test]
fn metadata_used_as_one_value_has_no_field_of_the_group() {
    for (name, before, after) in WHOLE_USES {
        let calls = format!(
            "{before} q.port = hdr.packet.dst; if (even(q)) {{ std.egress_spec = 2; }} else {{ std.egress_spec = 1; }} {after}"
        );
        let place = stateless(&format!("whole-{name}"), &calls, "variant = \"pin\"", "");
        let source = std::fs::read_to_string(place.join("even.p4")).expect("the program");
        let metadata = "struct metadata_t { @field_list(1) bit<16> a; bit<16> b; } struct pair_t { metadata_t one; metadata_t two; }
action fill(inout metadata_t m, in bit<16> x) { m.a = x; m.b = x; }
bit<16> sum(in metadata_t m, in bit<16> x) { metadata_t n = m; n.a = x; return n.a + m.a; }";
        std::fs::write(place.join("even.p4"), source.replace("struct metadata_t { }", metadata))
            .expect("a file");
        let (mut racked, mut map) = (load(&place), SourceMap::new());
        racked.rack.workloads.clear();
        let main = place.join("even.p4").display().to_string();
        let program = rack::compile_program(&main, &Default::default(), &mut map, &mut vec![]);
        let program = program.unwrap_or_else(|found| panic!("{name}: {}", text(&found, &map)));
        let registry = racked.apps[0].offers.registry.clone();
        let options = Options { registry, ..Options::default() };
        let mut device = ir_interp::switch(program, options).expect("it runs");
        let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("{name}: {found:#?}"));
        running.emulator.listen(CLIENT);
        running.emulator.listen(NET);
        let (mut rng, mut expected, mut came) = (Rng::new(7), [vec![], vec![]], [vec![], vec![]]);
        for n in 0..100 {
            let port = |rng: &mut Rng| if rng.next_bool() { 3 } else { rng.next_u64() as u16 };
            let (src, dst) = (port(&mut rng), port(&mut rng));
            let frame = packet(
                Flow { protocol: UDP, src: (CLIENT_ADDRESS, src), dst: (NET_ADDRESS, dst) },
                &[n; 24],
                false,
            );
            for output in device.process(1, &frame, ms(u64::from(n))) {
                expected[output.port as usize - 1].push(output.frame);
            }
            assert!(running.emulator.send(CLIENT, frame, ms(u64::from(n))));
        }
        running.run_until(ms(200)).unwrap_or_else(|violation| panic!("{name}: {violation}"));
        for (came, host) in came.iter_mut().zip([CLIENT, NET]) {
            came.extend(running.emulator.take_received(host).into_iter().map(|received| received.frame));
        }
        assert!(expected.iter().all(|frames| frames.len() > 20), "{name}");
        let first =
            came.iter().flatten().zip(expected.iter().flatten()).find(|(came, expected)| came != expected);
        assert_eq!((first, came[0].len()), (None, expected[0].len()), "{name}");
    }
}
