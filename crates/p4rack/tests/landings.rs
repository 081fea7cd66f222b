//! Segments marked as Flightplan's users mark them.

use crate::support;

use base_diag::SourceMap;
use ir_prove::{Effort, prove};
use ir_split::{landings, marks};
use std::sync::Arc;
use support::{case, compile_text, placement, small_program, text};

const DECLARATIONS: &str = "typedef bit<32> Landing;
extern Landing FlightStart();
extern Landing Point_Alpha();
extern Landing Point_Bravo();
extern void flyto(in Landing dest);
parser P";

/// A program with landings, its regions in order.
fn landed(ingress: &str) -> Result<(Arc<ir::Program>, Vec<String>), String> {
    let mut map = SourceMap::new();
    let source = small_program("", ingress, "").replace("parser P", DECLARATIONS);
    let mut program = compile_text(&source, &mut map);
    landings(Arc::make_mut(&mut program)).map_err(|found| text(&found, &map))?;
    let found = marks(&program).map_err(|found| text(&found, &map))?;
    Ok((program, found.iter().map(|m| m.name.to_string()).collect()))
}

#[test]
fn segments_go_on_to_the_next_landing() {
    let ingress = "bit<8> t = hdr.h.a; flyto(Point_Alpha()); bit<8> u = t + 1; hdr.h.b = u;
        if (hdr.h.a > 9) { flyto(FlightStart()); meta.x = u; flyto(Point_Bravo()); hdr.h.a = u; }
        flyto(FlightStart()); std.egress_spec = 3; hdr.h.b = hdr.h.b + u;";
    let (program, regions) = landed(ingress).expect("accepted");
    assert_eq!(regions, ["Point_Alpha", "FlightStart", "Point_Bravo", "FlightStart_2"]);
    for away in [&["Point_Alpha"][..], &["Point_Bravo"], &["Point_Alpha", "Point_Bravo"]] {
        let effort = Effort { packets: 300, ..Effort::default() };
        match prove(&case(Arc::clone(&program), placement(away)), &effort) {
            Ok(tried) => assert!(tried.outputs > 30 && tried.hops > 30, "{tried:?}"),
            Err(failure) => panic!("{away:?}: {}", failure.describe()),
        }
    }
}

#[test]
fn other_names_are_landed_at_once_only() {
    let found = landed("flyto(Point_Alpha()); meta.x = 1; flyto(Point_Alpha()); meta.y = 1;");
    assert!(found.is_err_and(|why| why.contains("P4R0503")), "a doubled landing");
}

#[test]
fn a_landing_in_a_loop_is_refused() {
    let found = landed("for (bit<8> i = 0; i < 3; i = i + 1) { flyto(Point_Alpha()); meta.x = i; }");
    assert!(found.is_err_and(|why| why.contains("P4R0504")), "a loop runs on one device");
}

#[test]
fn what_is_no_landing_is_refused() {
    let found = landed("flyto(7); meta.x = 1;");
    assert!(found.is_err_and(|why| why.contains("its argument is not a `Landing`")), "a number");
}
