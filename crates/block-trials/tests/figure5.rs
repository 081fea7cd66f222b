//! Why FlexSwitch's Fig. 5 cannot run in one pass: what is written to a cell of the first row needs the second row, and the other way round.

use base_diag::{SourceMap, codes::limits};
use compiler::{Until, compile};
use device::Options;
use device_classes::DeviceClass;
use p4_arch::Texts;
use std::sync::Arc;

fn program() -> Arc<ir::Program> {
    let mut map = SourceMap::new();
    let texts = Texts(&[("figure5.p4", include_str!("figure5.p4"))]);
    let compiled = compile("figure5.p4", &texts, &p4_syntax::Options::default(), Until::Elaborated, &mut map);
    compiled.program.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
}

#[test]
fn its_rows_need_each_other() {
    let found = ir_limits::check(&program(), DeviceClass::FlexSwitch);
    let circle = found.iter().find(|diagnostic| diagnostic.code == limits::CIRCULAR_ACCESS);
    let note = circle.and_then(|circle| circle.notes.first());
    assert_eq!(
        note.map(String::as_str),
        Some(
            "a `flexswitch` reads and writes a cell in one stage; needed, in turn: register `I.row1`, register `I.row2`, register `I.row1`"
        ),
        "{found:#?}"
    );
}

/// A software device runs it, and the sum of the route parts leaves the range of routes: the difference of two routes may be negative.
#[test]
fn its_routes_leave_their_range() {
    let mut switch = ir_interp::switch(program(), Options::default()).expect("it runs");
    let mut rng = base_time::Rng::new(1);
    let (mut now, mut outside) = (1_000u32, 0);
    for _ in 0..20_000 {
        now += rng.below(3) as u32;
        let wish = rng.below(4) as u32;
        let flow = rng.below(8_000) as u32;
        let frame = [flow, now, wish].map(u32::to_be_bytes).concat();
        let sent = switch.process(1, &frame, base_time::Time::ZERO);
        let route = sent.first().and_then(|sent| sent.frame.get(8..12)).expect("a packet with a route");
        outside += u32::from(route > [0, 0, 0, 3].as_slice());
    }
    assert!(outside > 0, "no route left the range");
}
