//! Blocks that are chosen by trial: the first that fits the devices of a rack.

use base_diag::{Diagnostic, SourceMap};
use p4rack::rack::{self, Problems};
use p4rack::{Racked, load};
use rack_plan::Wishes;
use std::fs;
use std::path::PathBuf;

/// A program whose region `R` uses a block for this purpose, on a switch of a class and a SmartNIC with these resources.
fn files(name: &str, include: &str, call: &str, class: &str, resources: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("variants-{name}"));
    fs::create_dir_all(&directory).unwrap();
    let program = format!(
        "#include <core.p4>
#define V1MODEL_VERSION 20200408
#include <v1model.p4>
#include <p4rack/blocks/{include},as=Chosen.p4>
header h_t {{ bit<32> a; bit<32> b; bit<32> c; }}
struct headers {{ h_t h; }}
struct metadata {{ }}
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    state start {{ packet.extract(hdr.h); transition accept; }}
}}
control V(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{
    Chosen() chosen;
    apply {{
        @region(\"R\") {{ {call} }}
        std.egress_spec = 2;
    }}
}}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {{ apply {{ }} }}
control C(inout headers hdr, inout metadata meta) {{ apply {{ }} }}
control D(packet_out packet, in headers hdr) {{ apply {{ packet.emit(hdr.h); }} }}
V1Switch(P(), V(), I(), E(), C(), D()) main;
"
    );
    let rack = format!(
        "[rack]
[device.tor]
class = \"{class}\"
resources = {resources}
externs = [\"keyed-register\"]
[device.nic]
class = \"smartnic\"
resources = {resources}
externs = [\"keyed-register\"]
[[link]]
ends = [\"tor:3\", \"nic:1\"]
rate = \"10Gbit/s\"
[[app]]
program = \"program.p4\"
origin = \"tor\"
devices = [\"nic\"]
map = \"plan\"
"
    );
    fs::write(directory.join("program.p4"), program).unwrap();
    fs::write(directory.join("RACK.toml"), rack).unwrap();
    directory
}

const PRODUCT: (&str, &str) = ("product/error=1%,bits=32", "chosen.apply(hdr.h.a, hdr.h.b, hdr.h.c);");
const KEYS: (&str, &str) = ("number-of-keys/error=5%,flows=50000", "chosen.apply(hdr.h.a, hdr.h.c);");

fn loaded((include, call): (&str, &str), class: &str, resources: &str) -> Result<Racked, Vec<Diagnostic>> {
    let all = format!("{include}{call}{class}{resources}");
    let name: String = all.chars().filter(char::is_ascii_alphanumeric).collect();
    load(&files(&name, include, call, class, resources), &[], &mut SourceMap::new())
}

/// The name of the chosen block, and the number of refused ones.
fn chosen(racked: &Racked) -> (String, usize) {
    let [(_, block)] = &racked.blocks.blocks[..] else { panic!("{:?}", racked.blocks) };
    (block.name(), racked.blocks.refused.len())
}

#[test]
fn the_first_block_that_fits_is_taken() {
    // With room for everything, the block with the fewest stages.
    let (first, refused) = chosen(&loaded(PRODUCT, "switch", "{ EntryBits = \"900000\" }").unwrap());
    assert!(first.starts_with("p4rack/blocks/multiply/") && refused == 0, "{first} {refused}");
    // Its logarithms of whole operands take more entries than those of normalised ones.
    let racked = loaded(PRODUCT, "switch", "{ EntryBits = \"30000\" }").unwrap();
    let (second, refused) = chosen(&racked);
    assert!(second.starts_with("p4rack/blocks/multiply-normalised/") && refused >= 1, "{second} {refused}");
    assert!(racked.blocks.blocks.iter().all(|(_, block)| block.error <= 0.01));
    let text = racked.blocks.text();
    assert!(text.contains(&format!("not {first}: ")) && text.contains(&second), "{text}");
    // Without entries, only the product itself is left.
    let (exact, _) = chosen(&loaded(PRODUCT, "switch", "{ EntryBits = \"10\" }").unwrap());
    assert!(exact.starts_with("exact twin of p4rack/blocks/multiply"), "{exact}");
}

#[test]
fn register_bits_decide_too() {
    let (bitmap, refused) = chosen(&loaded(KEYS, "switch", "{ RegisterBits = \"9000\" }").unwrap());
    assert_eq!((bitmap.as_str(), refused), ("p4rack/blocks/bitmap/cells=8192,as=Chosen.p4", 0));
    let (second, refused) = chosen(&loaded(KEYS, "switch", "{ RegisterBits = \"7000\" }").unwrap());
    assert!(second.starts_with("p4rack/blocks/hyperloglog/") && refused == 1, "{second} {refused}");
}

#[test]
fn a_device_that_cannot_run_the_exact_twin_does_not_get_it() {
    // The SmartNIC multiplies; a limited switch does not.
    let racked = loaded(PRODUCT, "flexswitch", "{ EntryBits = \"10\" }").unwrap();
    assert!(chosen(&racked).0.starts_with("exact twin of"));
    let placement = &racked.apps[0].placement;
    assert_eq!(placement.sites.len(), 1, "the region runs on the SmartNIC");
}

#[test]
fn without_a_block_that_fits_each_reason_is_given() {
    let found = loaded(KEYS, "switch", "{ RegisterBits = \"20\" }").err().unwrap();
    let notes: Vec<&str> = found.iter().flat_map(|found| &found.notes).map(String::as_str).collect();
    assert!(notes.iter().any(|note| note.starts_with("with p4rack/blocks/hyperloglog/")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("with exact twin of")), "{notes:?}");
}

#[test]
fn a_plan_is_made_for_the_block_that_fits() {
    let directory = files("plan", PRODUCT.0, PRODUCT.1, "switch", "{ EntryBits = \"30000\" }");
    let Problems { problems, blocks, .. } =
        rack::load_problems(&directory, &[], &Wishes::default(), &[], &mut SourceMap::new()).unwrap();
    assert!(blocks.blocks[0].1.name().contains("multiply-normalised"), "{blocks:?}");
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_wrong_program_is_refused_at_once() {
    let wrong = ("product/error=1%,bits=32", "chosen.apply(hdr.h.a, hdr.h.missing, hdr.h.c);");
    let found = loaded(wrong, "switch", "{ EntryBits = \"31000\" }").err().unwrap();
    assert!(
        found[0].title.contains("missing") && found[0].notes.iter().all(|note| !note.contains("with p4rack")),
        "{found:#?}"
    );
    let unreachable = ("product/error=0.001%,mantissa=2", "chosen.apply(hdr.h.a, hdr.h.b, hdr.h.c);");
    let found = loaded(unreachable, "switch", "{ EntryBits = \"32000\" }").err().unwrap();
    assert!(format!("{found:?}").contains("no size reaches the error: the nearest has"), "{found:#?}");
}
