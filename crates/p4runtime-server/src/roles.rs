//! Objects of a program by role (P4Runtime 1.5, section 5).

use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_store::Described;

/// True if the program assigns anything to a role.
pub(crate) fn names_role(info: &P4Info, role: &str) -> bool {
    fn any<D: Described>(all: &[D], role: &str) -> bool {
        all.iter().any(|thing| owner(Some(thing)) == Some(role))
    }
    any(&info.tables, role)
        || any(&info.action_profiles, role)
        || any(&info.counters, role)
        || any(&info.meters, role)
        || any(&info.registers, role)
        || any(&info.value_sets, role)
        || any(&info.digests, role)
}

/// The role that an annotation names.
pub(crate) fn owner<D: Described>(thing: Option<&D>) -> Option<&str> {
    let annotations = thing.and_then(Described::preamble).map_or(&[][..], |preamble| &preamble.annotations);
    annotations.iter().find_map(|text| text.strip_prefix("@p4runtime_role(\"")?.strip_suffix("\")"))
}
