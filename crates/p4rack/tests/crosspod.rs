//! A program of the shape of Flightplan's Crosspod, split over two and over five helpers: equal, and at what cost.

use crate::support;

use base_diag::SourceMap;
use expect_test::{Expect, expect};
use ir_footprint::overhead;
use ir_prove::{Case, Effort, prove};
use ir_split::{DeviceIndex, Placement};
use std::sync::Arc;
use support::{compile_text, text};

/// Bits of the header of Flightplan's `Full` runtime.
const THEIRS: u64 = 288;

/// One helper for each list of regions, all joined with the switch and with one another.
fn placement(helpers: &[&[&str]]) -> Placement {
    let count = helpers.len() as u32 + 1;
    let device = |n: u32| DeviceIndex(n);
    let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let on = |(n, regions): (u32, &&[&str])| {
        regions.iter().map(move |r| ((*r).into(), DeviceIndex(n).into())).collect::<Vec<_>>()
    };
    Placement {
        devices: (0..count)
            .map(|n| if n == 0 { "switch".into() } else { format!("helper{n}").into() })
            .collect(),
        sites: (1..).zip(helpers).flat_map(on).collect(),
        ports: pairs.map(|(a, b)| ((device(a), device(b)), 500 + u64::from(b))).collect(),
        ..Placement::whole("switch")
    }
}

fn check(helpers: &[&[&str]], live: Expect, costs: Expect) {
    let mut map = SourceMap::new();
    let whole = compile_text(include_str!("programs/crosspod.p4"), &mut map);
    let placement = placement(helpers);
    let (split, parts, _) = compiler::make_parts(&whole, &placement, &mut map)
        .unwrap_or_else(|found| panic!("{}", text(&found, &map)));
    let values = |s: &ir_split::SectionInfo| {
        let live = s.live.as_ref()?;
        let values: Vec<String> = live.iter().map(|v| format!("{}:{}", v.name, v.bits)).collect();
        Some(format!("{}: {}\n", s.name, values.join(" ")))
    };
    live.assert_eq(&split.sections.iter().filter_map(values).collect::<String>());
    let all: Vec<_> = placement
        .devices
        .iter()
        .zip(&parts)
        .filter_map(|(name, part)| Some(overhead::of_part(name, part.as_ref()?)))
        .collect();
    costs.assert_eq(&overhead::text(&all));
    assert!(all.iter().all(|o| o.header_bits <= THEIRS), "{all:?}");
    let case = Case { whole: Arc::clone(&whole), parts, placement, registry: Default::default() };
    match prove(&case, &Effort { packets: 300, ..Effort::default() }) {
        Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 60, "{tried:?}"),
        Err(failure) => panic!("{}", failure.describe()),
    }
}

#[test]
fn two_helpers_as_at_p0a0() {
    check(
        &[&["FecDecode", "Decompress", "Cache"], &["Compress", "FecEncode"]],
        expect![[r#"
            FecDecode: std.ingress_port:9
            ingress.2: meta.k:8 meta.h:8 std.egress_spec:9
            Compress: hdr.ipv4.proto:8 meta.k:8 meta.h:8 std.egress_spec:9
            ingress.end: std.egress_spec:9
        "#]],
        expect![[r#"
            device   tables  entry bits  register bits  header bits  branches  ports
            switch        2          46              0          184        29      2
            helper1       2          20              0          176        20      1
            helper2       2          20              0          184        19      1
        "#]],
    );
}

#[test]
fn five_helpers_as_at_p1e0() {
    check(
        &[&["FecDecode"], &["Decompress"], &["Cache"], &["Compress"], &["FecEncode"]],
        expect![[r#"
            FecDecode: std.ingress_port:9
            Decompress: meta.k:8 meta.h:8 std.ingress_port:9 std.egress_spec:9
            Cache: meta.k:8 meta.h:8 std.egress_spec:9
            ingress.2: meta.k:8 meta.h:8 std.egress_spec:9
            Compress: hdr.ipv4.proto:8 meta.k:8 meta.h:8 std.egress_spec:9
            FecEncode: hdr.ipv4.proto:8 meta.k:8 meta.h:8 std.egress_spec:9
            ingress.end: std.egress_spec:9
        "#]],
        expect![[r#"
            device   tables  entry bits  register bits  header bits  branches  ports
            switch        2          46              0          184        29      2
            helper1       2          23              0          184        18      1
            helper2       2          23              0          184        18      1
            helper3       2          20              0          176        18      1
            helper4       2          23              0          184        18      1
            helper5       2          20              0          184        18      1
        "#]],
    );
}
