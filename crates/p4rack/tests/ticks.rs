//! `examples/monitor`: ticks in a rack, and blocks on a limited switch.

use crate::support;

use base_diag::SourceMap;
use p4rack::{Racked, rack, up};
use rack_model::HostId;
use std::path::Path;

fn racked() -> Racked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/monitor");
    rack::load(&path, &[], &mut SourceMap::new()).unwrap_or_else(|found| panic!("{found:#?}"))
}

/// Reports that arrive at the collector: bytes of the last interval, senders, and the time in microseconds.
fn reports() -> Vec<(u32, u32, u64)> {
    let racked = racked();
    let mut running = up::bring_up(&racked).unwrap_or_else(|found| panic!("{found:#?}"));
    let collector = HostId(2);
    running.emulator.listen(collector);
    let report = running.run().unwrap_or_else(|found| panic!("{found:#?}"));
    assert_eq!(report.workloads[0].lost, 0);
    let received = running.emulator.take_received(collector);
    let number = |frame: &[u8], from: usize, to: usize| {
        frame[from..to].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let of = |frame: &[u8]| {
        assert_eq!(number(frame, 12, 14), 0x88b5);
        (number(frame, 14, 18) as u32, number(frame, 18, 22) as u32, number(frame, 22, 28))
    };
    received.iter().map(|received| of(&received.frame)).collect()
}

#[test]
fn a_switch_reports_once_a_period_also_when_its_links_are_idle() {
    let reports = reports();
    let times: Vec<u64> = reports.iter().map(|(_, _, at)| *at).collect();
    assert_eq!(times, (1..=20).map(|ms| 1000 * ms).collect::<Vec<u64>>());
    // Frames of 1,042 bytes, 10 in a millisecond: those of an interval of 1,024 us.
    let busy: Vec<u32> = reports[2..10].iter().map(|(rate, ..)| *rate).collect();
    assert!(busy.iter().all(|rate| [10 * 1042, 11 * 1042].contains(rate)), "{busy:?}");
    // Without packets nothing else would publish the end of the traffic.
    assert!(reports[12..].iter().all(|(rate, ..)| *rate == 0), "{reports:?}");
    assert!(reports[1..].iter().all(|(_, senders, _)| *senders == 1), "{reports:?}");
}

/// The frames of ticks enter where frames enter, and a cut does the same with them as with all others.
#[test]
fn the_part_that_has_the_ports_has_the_ticks() {
    let ingress = "@region(\"R\") { bit<8> count; counts.read(count, 0); count = count + hdr.h.a; counts.write(0, count); hdr.h.b = count; }
        std.egress_spec = 2;";
    let text = support::small_program("register<bit<8>, bit<32>>(1) counts;", ingress, "")
        .replace("V1Switch(", "@tick(\"50us\", 7, \"0102\")\nV1Switch(");
    let case = support::case(support::compile_text(&text, &mut SourceMap::new()), support::placement(&["R"]));
    let ticks: Vec<usize> = case.parts.iter().flatten().map(|part| part.program.ticks().len()).collect();
    assert_eq!((case.whole.ticks().len(), ticks), (1, vec![1, 0]));
    let tried = ir_prove::prove(&case, &ir_prove::Effort::default())
        .unwrap_or_else(|failure| panic!("{}", failure.describe()));
    assert!(tried.hops > 0, "{tried:?}");
}

/// A part that treats the frame of a tick wrongly, and nothing else, is noticed: ticks are among the packets of a proof.
#[test]
fn a_proof_draws_ticks() {
    let is_equal = |then: &str, tick: &str| {
        let case = |then: &str| {
            let ingress = format!("@region(\"R\") {{ hdr.h.b = hdr.h.b + 1; {then} }} std.egress_spec = 2;");
            let text = support::small_program("", &ingress, "");
            let text = text.replace("V1Switch(", &format!("{tick}\nV1Switch("));
            support::case(support::compile_text(&text, &mut SourceMap::new()), support::placement(&["R"]))
        };
        let case = ir_prove::Case { parts: case(then).parts, ..case("") };
        ir_prove::prove(&case, &ir_prove::Effort::default()).is_ok()
    };
    let tick = "@tick(\"50us\", 301, \"9d02\")";
    let wrong = "if (std.ingress_port == 301 && hdr.h.a == 0x9d) { hdr.h.b = 0; }";
    assert!(is_equal("", tick));
    assert!(!is_equal(wrong, tick));
    // No other packet shows it.
    assert!(is_equal(wrong, ""));
}

#[test]
fn a_program_with_ticks_is_not_merged_with_others() {
    let text = support::small_program("", "std.egress_spec = 2;", "");
    let without = support::compile_text(&text, &mut SourceMap::new());
    let ticks = text.replace("V1Switch(", "@tick(\"50us\", 7, \"0102\")\nV1Switch(");
    let with = support::compile_text(&ticks, &mut SourceMap::new());
    let app = |name: &str, program, class: Option<&str>| ir_merge::App {
        name: name.into(),
        program,
        class: class.map(|class| traffic_classes::Class::read(class).expect("a class")),
        priority: None,
        has_regions: false,
        shares_parser: false,
    };
    assert!(ir_merge::merge(&[app("a", &without, Some("port == 1")), app("b", &without, None)]).is_ok());
    let found = ir_merge::merge(&[app("a", &with, Some("port == 1")), app("b", &without, None)]);
    let found = found.expect_err("it has ticks");
    let [only] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(only.title, "`a` cannot be merged with other programs");
    assert!(only.notes[0].contains("`@tick`"), "{only:?}");
}
