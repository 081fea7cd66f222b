//! Cost of the runtimes for `examples/headerless`, as docs/flightplan.md has it beside the paper's Table 4.

use base_diag::SourceMap;
use ir_footprint::overhead::overhead;
use ir_split::{DeviceIndex, Part, Placement, RuntimeName};
use std::sync::Arc;

/// Costs of the switch and of the helper: tables, bits of entries, of registers, of the header; ports.
fn costs(runtime: RuntimeName) -> Vec<(usize, u64, u64, u64, usize)> {
    let source = include_str!("../../../examples/headerless/wall.p4");
    let (texts, mut map) = ([("wall.p4", source)], SourceMap::new());
    let program = ir_elaborate::program("wall.p4", &p4_arch::Texts(&texts), &Default::default(), &mut map)
        .unwrap_or_else(|found| panic!("{found:#?}"));
    let (tor, nic) = (DeviceIndex(0), DeviceIndex(1));
    let placement = Placement {
        devices: ["tor", "nic"].map(Into::into).to_vec(),
        sites: [("Wall".into(), nic.into())].into(),
        ports: [((tor, nic), 3), ((nic, tor), 1)].into(),
        more_ports: [((tor, nic), vec![3, 4]), ((nic, tor), vec![1, 2])].into(),
        runtime,
        ..Placement::whole("tor")
    };
    let split = ir_split::split(&program, &placement).unwrap_or_else(|found| panic!("{found:#?}"));
    let part =
        |device: ir_split::DeviceProgram| Part { program: Arc::new(device.program), linkage: device.linkage };
    let parts: Vec<Part> = split.devices.into_iter().flatten().map(part).collect();
    let all = overhead(["tor", "nic"].into_iter().zip(&parts));
    all.iter().map(|o| (o.tables, o.entry_bits, o.register_bits, o.header_bits, o.ports)).collect()
}

#[test]
fn without_a_header_there_are_no_header_bits_and_no_registers() {
    assert_eq!(costs(RuntimeName::Full), [(2, 22, 0, 160, 1), (2, 20, 0, 160, 1)]);
    assert_eq!(costs(RuntimeName::Headerless), [(3, 84, 0, 0, 2), (3, 75, 0, 0, 1)]);
    assert_eq!(costs(RuntimeName::HeaderlessIpv4), [(2, 31, 0, 0, 2), (2, 22, 0, 0, 1)]);
}
