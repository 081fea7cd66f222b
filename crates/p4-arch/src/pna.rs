//! PNA, the Portable NIC Architecture. Its programs are checked and elaborated; nothing runs them yet.

use crate::Access::{self, Update};
use crate::Role::{Headers, Input, Metadata, Output, Packet};
use crate::architecture::{
    Architecture, Effect, FunctionFacts, ObjectFacts, PackageFacts, StageFacts, StageKind, TableUse,
};
use crate::psa::{CHECKSUM, COUNTER, DIGEST, HASH, INTERNET_CHECKSUM, METER, RANDOM, REGISTER};
use crate::rows::{PACKET_IN, PACKET_OUT, function, method, object, passing};

/// The facts of PNA.
pub static ARCHITECTURE: Architecture = Architecture {
    name: "pna",
    include: "pna.p4",
    mains: &["PNA_NIC"],
    packages: &[PackageFacts {
        name: "PNA_NIC",
        params: &["main_parser", "pre_control", "main_control", "main_deparser"],
    }],
    stages: STAGES,
    structs: &[],
    standard_metadata: None,
    standard_fields: &[],
    functions: FUNCTIONS,
    objects: OBJECTS,
    drop_port: None,
    cut: None,
};

const STAGES: &[StageFacts] = &[
    StageFacts {
        name: "main_parser",
        kind: StageKind::Parse,
        argument: Some("main_parser"),
        roles: &[Packet, Headers, Metadata, Input],
        calls: &["verify"],
    },
    StageFacts {
        name: "pre_control",
        kind: StageKind::Control,
        argument: Some("pre_control"),
        roles: &[Headers, Metadata, Input, Output],
        calls: &[],
    },
    StageFacts {
        name: "main_control",
        kind: StageKind::Control,
        argument: Some("main_control"),
        roles: &[Headers, Metadata, Input, Output],
        calls: &[
            "drop_packet",
            "send_to_port",
            "mirror_packet",
            "recirculate",
            "add_entry",
            "allocate_flow_id",
            "set_entry_expire_time",
            "restart_expire_timer",
        ],
    },
    StageFacts {
        name: "main_deparser",
        kind: StageKind::Deparse,
        argument: Some("main_deparser"),
        roles: &[Packet, Headers, Metadata, Output],
        calls: &[],
    },
    StageFacts {
        name: "traffic_manager",
        kind: StageKind::TrafficManager,
        argument: None,
        roles: &[],
        calls: &[],
    },
];

const FUNCTIONS: &[FunctionFacts] = &[
    function("verify", Effect::Verifies),
    function("static_assert", Effect::Pure),
    function("drop_packet", Effect::Requests),
    function("send_to_port", Effect::Requests),
    function("mirror_packet", Effect::Requests),
    function("recirculate", Effect::Requests),
    function("add_entry", Effect::Sends),
    function("allocate_flow_id", Effect::Draws),
    function("set_entry_expire_time", Effect::Requests),
    function("restart_expire_timer", Effect::Requests),
    function("SelectByDirection", Effect::Pure),
];

const OBJECTS: &[ObjectFacts] = &[
    PACKET_IN,
    PACKET_OUT,
    HASH,
    CHECKSUM,
    INTERNET_CHECKSUM,
    COUNTER,
    object("DirectCounter", TableUse::Direct("pna_direct_counter"), &[method("count", Update, None)]),
    METER,
    object(
        "DirectMeter",
        TableUse::Direct("pna_direct_meter"),
        &[method("execute", Update, None), method("dpdk_execute", Update, None)],
    ),
    REGISTER,
    RANDOM,
    object("ActionProfile", TableUse::Implementation("pna_implementation"), &[]),
    object("ActionSelector", TableUse::Implementation("pna_implementation"), &[]),
    DIGEST,
    passing(
        "ipsec_accelerator",
        &[
            method("set_sa_index", Access::Packet, None),
            method("set_ip_header_offset", Access::Packet, None),
            method("enable", Access::Packet, None),
            method("disable", Access::Packet, None),
            method("from_ipsec", Access::Read, None),
        ],
    ),
];
