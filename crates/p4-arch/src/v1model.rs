//! v1model, as `simple_switch` runs it.

use crate::Access::{Read, Update, Write};
use crate::FieldMoment::{
    EgressEnd, EgressStart, IngressEnd, PacketStart, ParserEnd, Received, VerifyChecksum,
};
use crate::Role::{Headers, Metadata, Packet, StandardMetadata};
use crate::architecture::{
    Access, Architecture, Effect, FunctionFacts, ObjectFacts, PackageFacts, StageFacts, StageKind,
    StandardField, TableUse,
};
use crate::cut::{CutCall, CutFacts, Duty, Meaning, StateMode};
use crate::rows::{PACKET_IN, PACKET_OUT, function, method, object, passing};

/// The facts of v1model.
pub static ARCHITECTURE: Architecture = Architecture {
    name: "v1model",
    include: "v1model.p4",
    mains: &["V1Switch"],
    packages: &[PackageFacts { name: "V1Switch", params: &["p", "vr", "ig", "eg", "ck", "dep"] }],
    stages: STAGES,
    structs: &[Headers, Metadata],
    standard_metadata: Some("standard_metadata_t"),
    standard_fields: STANDARD_FIELDS,
    functions: FUNCTIONS,
    objects: OBJECTS,
    drop_port: Some(DROP_PORT),
    cut: Some(&CUT),
};

/// Facts about v1model for the splitter.
pub static CUT: CutFacts = CutFacts {
    stages: &[
        (Duty::Parse, "parser"),
        (Duty::Verify, "verify_checksum"),
        (Duty::Ingress, "ingress"),
        (Duty::Egress, "egress"),
        (Duty::Compute, "compute_checksum"),
        (Duty::Deparse, "deparser"),
    ],
    fields: &[
        (Meaning::InPort, "ingress_port"),
        (Meaning::Length, "packet_length"),
        (Meaning::ToPort, "egress_spec"),
        (Meaning::OutPort, "egress_port"),
        (Meaning::Group, "mcast_grp"),
        (Meaning::Kind, "instance_type"),
    ],
    varying: &[
        "packet_length",
        "checksum_error",
        "parser_error",
        "ingress_global_timestamp",
        "egress_global_timestamp",
        "enq_timestamp",
        "enq_qdepth",
        "deq_timedelta",
        "deq_qdepth",
        "priority",
    ],
    calls: &[
        ("mark_to_drop", CutCall::Drop),
        ("verify_checksum", CutCall::Conditional),
        ("update_checksum", CutCall::Conditional),
        ("verify_checksum_with_payload", CutCall::Conditional),
        ("update_checksum_with_payload", CutCall::Conditional),
        ("clone", CutCall::Clone),
        ("clone_preserving_field_list", CutCall::Clone),
        ("clone3", CutCall::OldClone),
        ("resubmit_preserving_field_list", CutCall::Resubmit),
        ("recirculate_preserving_field_list", CutCall::Recirculate),
        ("truncate", CutCall::Truncate),
        ("digest", CutCall::Digest),
    ],
    state: &[
        ("register", StateMode::Ordered),
        ("meter", StateMode::Ordered),
        ("direct_meter", StateMode::Ordered),
        ("counter", StateMode::Sum),
        ("direct_counter", StateMode::PerEntry),
        ("action_profile", StateMode::Control),
        ("action_selector", StateMode::Control),
    ],
    port_bits: 9,
};

/// `mark_to_drop` writes it to `egress_spec`; a packet whose `egress_spec` holds it at the end of ingress or of
/// egress is dropped.
pub const DROP_PORT: u32 = 511;

/// The annotation of a metadata field that counters and meters of bytes take for the length of the frame
/// in ingress and egress.
/// Devices of p4rack know it, `simple_switch` does not.
pub const COUNTED_LENGTH: &str = "counted_length";

/// The annotation of a header, a member of the headers struct, whose frames carry another frame: the headers with
/// [`ORIGINAL`] in their order, then what the parser leaves. A session that truncates an ingress clone truncates the carried
/// frame. Devices of p4rack know it, `simple_switch` does not.
pub const HAND_OVER: &str = "hand_over";

/// The annotation of the headers of a carried frame; see [`HAND_OVER`].
pub const ORIGINAL: &str = "original";

/// The values of `standard_metadata.instance_type`.
pub mod instance_type {
    /// A packet that came in by a port.
    pub const NORMAL: u32 = 0;
    /// A clone made at the end of ingress.
    pub const INGRESS_CLONE: u32 = 1;
    /// A clone made at the end of egress.
    pub const EGRESS_CLONE: u32 = 2;
    /// Kept for the numbering; `simple_switch` never makes one.
    pub const COALESCED: u32 = 3;
    /// Deparsed and sent to the parser again.
    pub const RECIRCULATED: u32 = 4;
    /// A copy of a multicast group.
    pub const REPLICATED: u32 = 5;
    /// Sent to the parser again as it came in.
    pub const RESUBMITTED: u32 = 6;
}

const STAGES: &[StageFacts] = &[
    StageFacts {
        name: "parser",
        kind: StageKind::Parse,
        argument: Some("p"),
        roles: &[Packet, Headers, Metadata, StandardMetadata],
        calls: &["verify"],
    },
    StageFacts {
        name: "verify_checksum",
        kind: StageKind::Control,
        argument: Some("vr"),
        roles: &[Headers, Metadata],
        calls: &["verify_checksum", "verify_checksum_with_payload"],
    },
    StageFacts {
        name: "ingress",
        kind: StageKind::Control,
        argument: Some("ig"),
        roles: &[Headers, Metadata, StandardMetadata],
        calls: &[
            "clone",
            "clone3",
            "clone_preserving_field_list",
            "resubmit",
            "resubmit_preserving_field_list",
            "digest",
        ],
    },
    StageFacts {
        name: "traffic_manager",
        kind: StageKind::TrafficManager,
        argument: None,
        roles: &[],
        calls: &[],
    },
    StageFacts {
        name: "egress",
        kind: StageKind::Control,
        argument: Some("eg"),
        roles: &[Headers, Metadata, StandardMetadata],
        calls: &[
            "clone",
            "clone3",
            "clone_preserving_field_list",
            "recirculate",
            "recirculate_preserving_field_list",
        ],
    },
    StageFacts {
        name: "compute_checksum",
        kind: StageKind::Control,
        argument: Some("ck"),
        roles: &[Headers, Metadata],
        calls: &["update_checksum", "update_checksum_with_payload"],
    },
    StageFacts {
        name: "deparser",
        kind: StageKind::Deparse,
        argument: Some("dep"),
        roles: &[Packet, Headers],
        calls: &[],
    },
];

const fn field(
    name: &'static str,
    written: &'static [crate::FieldMoment],
    read: &'static [crate::FieldMoment],
) -> StandardField {
    StandardField { name, written, read }
}

/// `egress_spec` is set at the start of egress too: to one more than the drop port, which its 9 bits show as 0.
const STANDARD_FIELDS: &[StandardField] = &[
    field("ingress_port", &[Received], &[]),
    field("egress_spec", &[EgressStart], &[IngressEnd, EgressEnd]),
    field("egress_port", &[EgressStart], &[]),
    field("instance_type", &[PacketStart, EgressStart], &[]),
    field("packet_length", &[PacketStart, EgressStart], &[]),
    field("enq_timestamp", &[EgressStart], &[]),
    field("enq_qdepth", &[EgressStart], &[]),
    field("deq_timedelta", &[EgressStart], &[]),
    field("deq_qdepth", &[EgressStart], &[]),
    field("ingress_global_timestamp", &[Received], &[]),
    field("egress_global_timestamp", &[EgressStart], &[]),
    field("mcast_grp", &[], &[IngressEnd]),
    field("egress_rid", &[EgressStart], &[]),
    field("checksum_error", &[VerifyChecksum], &[]),
    field("parser_error", &[ParserEnd], &[]),
    field("priority", &[], &[IngressEnd]),
];

const FUNCTIONS: &[FunctionFacts] = &[
    function("verify", Effect::Verifies),
    function("static_assert", Effect::Pure),
    function("random", Effect::Draws),
    function("digest", Effect::Sends),
    function("mark_to_drop", Effect::Pure),
    function("hash", Effect::Pure),
    function("verify_checksum", Effect::WritesStandard("checksum_error")),
    function("update_checksum", Effect::Pure),
    function("verify_checksum_with_payload", Effect::ReadsPayloadWritesStandard("checksum_error")),
    function("update_checksum_with_payload", Effect::ReadsPayload),
    function("clone", Effect::Requests),
    function("resubmit", Effect::Requests),
    function("resubmit_preserving_field_list", Effect::Requests),
    function("recirculate", Effect::Requests),
    function("recirculate_preserving_field_list", Effect::Requests),
    function("clone3", Effect::Requests),
    function("clone_preserving_field_list", Effect::Requests),
    function("truncate", Effect::Requests),
    function("assert", Effect::Asserts),
    function("assume", Effect::Asserts),
    function("log_msg", Effect::Logs),
];

const OBJECTS: &[ObjectFacts] = &[
    PACKET_IN,
    PACKET_OUT,
    object("counter", TableUse::None, &[method("count", Update, Some("index"))]),
    object("direct_counter", TableUse::Direct("counters"), &[method("count", Update, None)]),
    object("meter", TableUse::None, &[method("execute_meter", Update, Some("index"))]),
    object("direct_meter", TableUse::Direct("meters"), &[method("read", Update, None)]),
    object(
        "register",
        TableUse::None,
        &[method("read", Read, Some("index")), method("write", Write, Some("index"))],
    ),
    object("action_profile", TableUse::Implementation("implementation"), &[]),
    object("action_selector", TableUse::Implementation("implementation"), &[]),
    passing("Checksum16", &[method("get", Access::None, None)]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::include;

    fn declarations() -> String {
        format!("{}{}", include("core.p4").unwrap_or(""), include("v1model.p4").unwrap_or(""))
    }

    #[test]
    fn every_standard_field_is_declared_and_has_facts() {
        let text = include("v1model.p4").unwrap_or("");
        let body = text
            .split("struct standard_metadata_t {")
            .nth(1)
            .and_then(|t| t.split("\n}").next())
            .unwrap_or("");
        let mut declared: Vec<&str> = body
            .lines()
            .filter_map(|l| l.split("//").next().unwrap_or("").trim().strip_suffix(';'))
            .filter_map(|l| l.rsplit(' ').next())
            .collect();
        declared.sort_unstable();
        declared.dedup();
        let mut known: Vec<&str> = STANDARD_FIELDS.iter().map(|f| f.name).collect();
        known.sort_unstable();
        assert_eq!(declared, known);
    }

    #[test]
    fn every_extern_function_is_declared_and_has_facts() {
        let text = declarations();
        let mut declared: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("extern ").filter(|l| l.contains('(')))
            .filter_map(|l| l.split(['(', '<']).next().and_then(|l| l.rsplit(' ').next()))
            .collect();
        declared.sort_unstable();
        declared.dedup();
        let mut known: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
        known.sort_unstable();
        assert_eq!(declared, known);
    }

    #[test]
    fn every_extern_object_is_declared_and_has_facts() {
        let text = declarations();
        let mut declared: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("extern ")?.strip_suffix(" {"))
            .filter_map(|l| l.split('<').next())
            .collect();
        declared.sort_unstable();
        declared.dedup();
        let mut known: Vec<&str> = OBJECTS.iter().map(|o| o.name).collect();
        known.sort_unstable();
        assert_eq!(declared, known);
        for object in OBJECTS {
            for method in object.methods {
                assert!(text.contains(&format!(" {}", method.name)), "{}.{}", object.name, method.name);
            }
        }
    }

    #[test]
    fn what_a_splitter_knows_is_declared() {
        for (_, stage) in CUT.stages {
            assert!(ARCHITECTURE.stage(stage).is_some(), "{stage}");
        }
        for field in CUT.fields.iter().map(|(_, field)| field).chain(CUT.varying) {
            assert!(ARCHITECTURE.standard_field(field).is_some(), "{field}");
        }
        for (call, _) in CUT.calls {
            assert!(ARCHITECTURE.function(call).is_some(), "{call}");
        }
        for (object, _) in CUT.state {
            assert!(ARCHITECTURE.object(object).is_some(), "{object}");
        }
    }

    #[test]
    fn calls_of_a_stage_have_facts() {
        for call in STAGES.iter().flat_map(|s| s.calls) {
            assert!(ARCHITECTURE.function(call).is_some(), "{call}");
        }
    }
}
