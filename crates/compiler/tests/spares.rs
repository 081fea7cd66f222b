//! The parts of a program with spares are printed and compiled again, and the device of a spare has the program of the preferred one.

use base_diag::SourceMap;
use compiler::make_parts;
use ir_split::{DeviceIndex, Placement, Policy, Site};
use p4_arch::Texts;
use p4_syntax::Options;

#[test]
fn parts_with_spares_are_printed_and_compiled_again() {
    let source = include_str!("../../ir-split/testdata/split/spares.p4");
    let mut map = SourceMap::default();
    let texts = [("spares.p4", source)];
    let program = ir_elaborate::program("spares.p4", &Texts(&texts), &Options::default(), &mut map);
    let [tor, nic, spare] = [0, 1, 2].map(DeviceIndex);
    let links = [((tor, nic), 11), ((nic, tor), 21), ((tor, spare), 12), ((spare, tor), 22)];
    let placement = Placement {
        devices: ["tor", "nic", "spare"].map(Into::into).to_vec(),
        sites: [("R".into(), Site::at(vec![nic, spare], Policy::Failover))].into(),
        ports: links.into(),
        ..Placement::whole("tor")
    };
    let program = program.expect("a program");
    let made = make_parts(&program, &placement, &mut map);
    let (_, parts, texts) = made.unwrap_or_else(|found| panic!("{found:#?}"));
    assert_eq!(parts.iter().flatten().count(), 3);
    let [Some(tor), Some(nic), Some(spare)] = texts.as_slice() else { panic!("three parts") };
    assert!(tor.contains("p4rack_leave.apply(") && !tor.contains("p4rack_arrive"), "{tor}");
    assert!(nic.contains("p4rack_arrive.apply(") && !nic.contains("p4rack_leave.apply("), "{nic}");
    let without_address =
        |text: &str| text.lines().filter(|line| !line.contains("src_addr")).collect::<Vec<_>>().join("\n");
    assert_eq!(without_address(nic), without_address(spare));
}
