//! Programs that `p4rack compile` refuses.

mod support;

use base_diag::{SourceMap, codes::elaborate};
use compiler::p4info::Form;
use compiler::pushed::pushed;
use support::compile_text;

/// No test had a program for TNA beyond elaboration; the members of `error` in `tna.p4` were printed as the program's own.
#[test]
fn programs_for_tofino_are_not_pushed() {
    let source = format!(
        "{}\nPipeline(IP(), I(), ID(), EP(), E(), ED()) one;\nSwitch(one) main;\n",
        include_str!("../../ir-elaborate/tests/tna.p4")
    );
    let mut map = SourceMap::new();
    let program = compile_text(&source, &mut map);
    let found = pushed(&program, Form::Text).err().expect("it is refused");
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [elaborate::ARCHITECTURE]);
    assert_eq!(found[0].title, "programs for `Switch` cannot be run yet");
    let again = compile_text(&target_p4::print(&program), &mut map);
    assert_eq!(ir::text::write(&program), ir::text::write(&again));
}
