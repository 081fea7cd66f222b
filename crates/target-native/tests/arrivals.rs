//! Frames that another core wrote: a worker looks at each of them once, whatever becomes of its packet, and nothing else shows of that.

use crate::{common, frames};

use base_time::{Rng, Time};
use ir::Program;
use target_native::{Fate, Packet, Shared};

const NOTED: [u8; 2] = [0x88, 0xb5];

/// Frames whose first byte decides what becomes of them, some of them with the EtherType that is noted.
fn received(count: usize, rng: &mut Rng) -> Vec<Packet> {
    let mut frame = |at: usize| {
        let mut frame: Vec<u8> = (0..rng.between(0, 60)).map(|_| rng.between(0, 0x6f) as u8).collect();
        if rng.between(0, 2) == 0
            && let Some(ether_type) = frame.get_mut(12..14)
        {
            ether_type.copy_from_slice(&NOTED);
        }
        Packet::new(at as u32 % 7, &frame).expect("it fits")
    };
    (0..count).map(&mut frame).collect()
}

fn shared(program: &Program) -> Shared {
    let (options, _) = frames::options();
    let shared = Shared::new(program, options).expect("it runs");
    shared.write(|switch| switch.multicast_group_set(1, vec![(4, 1), (5, 3)]));
    shared
}

#[test]
fn each_frame_is_looked_at_once_before_it_runs() {
    let path = |name: &str| format!("{}/tests/{name}.p4", env!("CARGO_MANIFEST_DIR"));
    let far = common::program_with(&path("ahead"), &["SIZE=60000"]);
    let programs = [
        ("copies", common::program_at(&path("copies"))),
        ("frame externs", Program::clone(&frames::program())),
        ("interpreted", frames::interpreted()),
        ("PSA", common::program_at(&path("psa"))),
        ("far cells", far),
        ("router", common::program("router")),
    ];
    for (name, program) in programs {
        let [one, other] = [(); 2].map(|()| shared(&program));
        let (mut worker, mut plain) = (one.worker(), other.worker());
        worker.request_frames(NOTED);
        let (mut rng, mut noted) = (Rng::new(1), 0);
        for count in [1, 7, 8, 9, 16, 17, 100, 512, 1500, 3] {
            let mut packets = received(count, &mut rng);
            let of_noted = packets.iter().filter(|packet| packet.frame().get(12..14) == Some(&NOTED[..]));
            let want: Vec<u32> = of_noted.map(Packet::in_port).collect();
            let mut alone = packets.clone();
            let outputs = worker.process(&mut packets, Time::ZERO);
            assert_eq!(worker.noted(), want, "{name}, {count}");
            noted += want.len();
            assert_eq!(outputs, plain.process(&mut alone, Time::ZERO), "{name}, {count}");
            assert_eq!(plain.noted(), [0; 0]);
            for (packet, alone) in packets.iter().zip(&alone) {
                assert_eq!(packet.fate(), alone.fate(), "{name}, {count}");
                if matches!(packet.fate(), Fate::Sent(_)) {
                    assert_eq!(packet.frame(), alone.frame(), "{name}, {count}");
                }
            }
        }
        assert!(noted > 300, "{name}: {noted}");
    }
}
