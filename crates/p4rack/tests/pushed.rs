//! Programs that `p4rack compile` turns into a config.

use crate::support;

use base_diag::SourceMap;
use compiler::p4info::Form;
use compiler::pushed::pushed;
use support::compile_text;

/// The members of `error` in `tna.p4` were once printed as the program's own.
#[test]
fn programs_for_tofino_are_pushed_and_printed() {
    let source = format!(
        "{}\nPipeline(IP(), I(), ID(), EP(), E(), ED()) one;\nSwitch(one) main;\n",
        include_str!("../../ir-elaborate/tests/tna.p4")
    );
    let mut map = SourceMap::new();
    let program = compile_text(&source, &mut map);
    let config = pushed(&program, Form::Text).expect("it runs");
    let info = String::from_utf8(config.p4info).expect("text");
    assert!(info.contains("name: \"I.counts\""), "{info}");
    let again = compile_text(&target_p4::print(&program), &mut map);
    assert_eq!(ir::text::write(&program), ir::text::write(&again));
}
