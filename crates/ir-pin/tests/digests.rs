//! Pinned programs that send digests can be split: a digest and its copy are on different paths.

use base_diag::SourceMap;
use ir::Name;
use ir_pin::{Affinity, Request, Shards, pin};
use ir_split::{DeviceIndex, Placement, Policy, Site};
use p4_arch::Texts;
use p4_syntax::Options;

const HEADERS: &str = include_str!("../../../examples/apps/headers.p4");
const FIREWALL: &str = include_str!("../../../examples/apps/firewall.p4");

#[test]
fn a_digest_and_its_copy_are_sent_by_the_origin() {
    let texts = [("firewall.p4", FIREWALL), ("headers.p4", HEADERS)];
    let program =
        ir_elaborate::program("firewall.p4", &Texts(&texts), &Options::default(), &mut SourceMap::new());
    let program = program.unwrap_or_else(|found| panic!("{found:#?}"));
    let key = ["hdr.ipv4.dst", "hdr.ipv4.protocol", "hdr.ipv4.src", "standard_metadata.ingress_port"];
    let request = Request {
        affinity: Affinity::Medium,
        region: "external".into(),
        key: key.map(Name::from).to_vec(),
        shards: Some(Shards { count: 2, parts: vec![0, 2], pairs: vec![(0, 1)] }),
        flows: 4096,
        resident: [].into(),
    };
    let pinned = pin(&program, &request).unwrap_or_else(|found| panic!("{found:#?}"));
    let (switch, helpers) = (DeviceIndex(0), [DeviceIndex(1), DeviceIndex(2)]);
    let site = Site::at(helpers.to_vec(), Policy::Shard);
    let ports = helpers
        .into_iter()
        .flat_map(|helper| [((switch, helper), u64::from(300 + helper.0)), ((helper, switch), 1)]);
    let placement = Placement {
        devices: ["edge", "nic1", "nic2"].map(Name::from).to_vec(),
        sites: [("external".into(), site)].into(),
        ports: ports.collect(),
        ..Placement::whole("edge")
    };
    let split = ir_split::split(&pinned.program, &placement).unwrap_or_else(|found| panic!("{found:#?}"));
    let digests = |at: usize| {
        let device = split.devices[at].as_ref().expect("each device runs a part");
        ir::text::write(&device.program).matches("extern digest").count()
    };
    // Each has a place of its own; helpers hand the data over.
    assert_eq!([digests(0), digests(1), digests(2)], [2, 0, 0]);
}
