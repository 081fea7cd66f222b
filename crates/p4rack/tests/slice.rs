//! The slice's program on its way.

use base_diag::{SourceMap, Style, render};
use ir::Program;
use ir_prove::{Case, Effort, Part, prove};
use ir_split::{DeviceIndex, Placement, split};
use p4rack::{Disk, Until, compile};
use std::sync::Arc;

fn program() -> Arc<Program> {
    let mut map = SourceMap::new();
    let main = format!("{}/../../examples/slice/slice.p4", env!("CARGO_MANIFEST_DIR"));
    let compiled = compile(&main, &Disk, &Default::default(), Until::Elaborated, &mut map);
    let text: String = compiled.diagnostics.iter().map(|d| render(d, &map, Style::Plain)).collect();
    compiled.program.unwrap_or_else(|| panic!("{text}"))
}

fn placement(helper: &[&str]) -> Placement {
    let (tor, nic) = (DeviceIndex(0), DeviceIndex(1));
    Placement {
        devices: vec!["tor".into(), "nic".into()],
        regions: helper.iter().map(|r| ((*r).into(), nic)).collect(),
        ports: [((tor, nic), 300), ((nic, tor), 301)].into(),
        ..Placement::whole("tor")
    }
}

fn case(helper: &[&str]) -> Case {
    let whole = program();
    let placement = placement(helper);
    let made = split(&whole, &placement).unwrap_or_else(|d| panic!("{d:#?}"));
    let mut registry = dataplane_api::Registry::default();
    netfn_beacon::register(&mut registry);
    let parts = made.devices.into_iter().map(|d| {
        d.map(|d| {
            if let Err(e) = ir::verify::verify(&d.program) {
                panic!("{helper:?}: {e:#?}");
            }
            Part { program: Arc::new(d.program), linkage: d.linkage }
        })
    });
    Case { whole, parts: parts.collect(), placement, registry }
}

#[test]
fn every_combination_of_cuts_is_equal() {
    let regions = ["Sample", "Acl", "Mark", "Out"];
    for mask in 0..16 {
        let helper: Vec<&str> = (0..4).filter(|i| mask & (1 << i) != 0).map(|i| regions[i]).collect();
        match prove(&case(&helper), &Effort { packets: 1000, ..Effort::default() }) {
            Ok(tried) => println!("{helper:?}: {tried:?}"),
            Err(failure) => panic!("{helper:?}: {} {} {:x?}", failure.proof, failure.round, failure.difference),
        }
    }
}

#[test]
#[ignore]
fn debug() {
    use dataplane_api::Device;
    let case = case(&["Out"]);
    let part = case.parts[0].as_ref().unwrap();
    println!("{}", ir::text::write(&part.program));
    let rng = base_time::Rng::new(1).split_index(0);
    let mut pool = ir_prove::generate::Pool::new(&case.whole, &case.reserved_ports(), &rng);
    let entries = ir_prove::generate::entries(&case.whole, &mut pool, 16, &mut rng.split("entries"));
    let mut network = case.network(&entries).unwrap();
    let frame: Vec<u8> = "c6f4c31b21601653b71368b3080046008 0ff0001a688e8008101e2933c60f1b929b30596eeb30cf8c2f61d2b5166a84c".replace(' ', "").as_bytes().chunks(2).map(|c| u8::from_str_radix(std::str::from_utf8(c).unwrap(), 16).unwrap()).collect();
    for d in network.devices.iter_mut().flatten() { d.set_trace(true); }
    network.inject(0x1fe, &frame, base_time::Time::ZERO);
    let _ = network.settle(1000);
    for d in network.devices.iter_mut().flatten() { println!("==== {:?}", d.counters()); for e in d.take_trace() { println!("{e:?}"); } }
}
