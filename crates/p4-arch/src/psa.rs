//! PSA, the Portable Switch Architecture (P4.org PSA 1.2).

use crate::Access::{self, Read, Update, Write};
use crate::Carried::{CloneE2e, CloneI2e, Normal, Recirculate, Resubmit};
use crate::Role::{self, Headers, Input, Metadata, Output, Packet};
use crate::architecture::{
    Architecture, Effect, FunctionFacts, ObjectFacts, PackageFacts, StageFacts, StageKind, TableUse,
};
use crate::rows::{PACKET_IN, PACKET_OUT, function, method, object, passing};

/// The facts of PSA.
pub static ARCHITECTURE: Architecture = Architecture {
    name: "psa",
    include: "psa.p4",
    mains: &["PSA_Switch"],
    packages: &[
        PackageFacts { name: "IngressPipeline", params: &["ip", "ig", "id"] },
        PackageFacts { name: "EgressPipeline", params: &["ep", "eg", "ed"] },
        PackageFacts { name: "PSA_Switch", params: &["ingress", "pre", "egress", "bqe"] },
    ],
    stages: STAGES,
    structs: &[],
    standard_metadata: None,
    standard_fields: &[],
    functions: FUNCTIONS,
    objects: OBJECTS,
    drop_port: None,
    cut: None,
};

/// A packet that leaves egress by this port goes to ingress again (PSA 1.2 §4.1).
pub const PORT_RECIRCULATE: u32 = 0xffff_fffa;

/// The members of `PSA_PacketPath_t`, in order.
pub mod packet_path {
    /// In by a port.
    pub const NORMAL: u32 = 0;
    /// From ingress, one copy.
    pub const NORMAL_UNICAST: u32 = 1;
    /// From ingress, a copy of a group.
    pub const NORMAL_MULTICAST: u32 = 2;
    /// A clone of ingress, in egress.
    pub const CLONE_I2E: u32 = 3;
    /// A clone of egress, in egress.
    pub const CLONE_E2E: u32 = 4;
    /// In ingress again, as it came in.
    pub const RESUBMIT: u32 = 5;
    /// In ingress again, as it left egress.
    pub const RECIRCULATE: u32 = 6;
}

const fn stage(
    name: &'static str,
    kind: StageKind,
    argument: &'static str,
    roles: &'static [Role],
    calls: &'static [&'static str],
) -> StageFacts {
    StageFacts { name, kind, argument: Some(argument), roles, calls }
}

const STAGES: &[StageFacts] = &[
    stage(
        "ingress_parser",
        StageKind::Parse,
        "ingress.ip",
        &[Packet, Headers, Metadata, Input, Role::Carried(Resubmit), Role::Carried(Recirculate)],
        &["verify"],
    ),
    stage("ingress", StageKind::Control, "ingress.ig", &[Headers, Metadata, Input, Output], &[]),
    stage(
        "ingress_deparser",
        StageKind::Deparse,
        "ingress.id",
        &[
            Packet,
            Role::Carried(CloneI2e),
            Role::Carried(Resubmit),
            Role::Carried(Normal),
            Headers,
            Metadata,
            Output,
        ],
        &["psa_clone_i2e", "psa_resubmit", "psa_normal"],
    ),
    StageFacts {
        name: "traffic_manager",
        kind: StageKind::TrafficManager,
        argument: None,
        roles: &[],
        calls: &[],
    },
    stage(
        "egress_parser",
        StageKind::Parse,
        "egress.ep",
        &[
            Packet,
            Headers,
            Metadata,
            Input,
            Role::Carried(Normal),
            Role::Carried(CloneI2e),
            Role::Carried(CloneE2e),
        ],
        &["verify"],
    ),
    stage("egress", StageKind::Control, "egress.eg", &[Headers, Metadata, Input, Output], &[]),
    stage(
        "egress_deparser",
        StageKind::Deparse,
        "egress.ed",
        &[Packet, Role::Carried(CloneE2e), Role::Carried(Recirculate), Headers, Metadata, Output, Input],
        &["psa_clone_e2e", "psa_recirculate"],
    ),
];

const FUNCTIONS: &[FunctionFacts] = &[
    function("verify", Effect::Verifies),
    function("static_assert", Effect::Pure),
    function("psa_clone_i2e", Effect::Pure),
    function("psa_resubmit", Effect::Pure),
    function("psa_normal", Effect::Pure),
    function("psa_clone_e2e", Effect::Pure),
    function("psa_recirculate", Effect::Pure),
    function("assert", Effect::Asserts),
    function("assume", Effect::Asserts),
];

const OBJECTS: &[ObjectFacts] = &[
    PACKET_IN,
    PACKET_OUT,
    passing("PacketReplicationEngine", &[]),
    passing("BufferingQueueingEngine", &[]),
    HASH,
    CHECKSUM,
    INTERNET_CHECKSUM,
    COUNTER,
    object("DirectCounter", TableUse::Direct("psa_direct_counter"), &[method("count", Update, None)]),
    METER,
    object(
        "DirectMeter",
        TableUse::Direct("psa_direct_meter"),
        &[method("execute", Update, None), method("dpdk_execute", Update, None)],
    ),
    REGISTER,
    RANDOM,
    object("ActionProfile", TableUse::Implementation("psa_implementation"), &[]),
    object("ActionSelector", TableUse::Implementation("psa_implementation"), &[]),
    DIGEST,
];

// PNA declares these too.

pub(crate) const HASH: ObjectFacts = passing("Hash", &[method("get_hash", Access::None, None)]);

/// Keeps its sum only while one block runs (PSA 1.2 §7.5): nothing lasts from packet to packet.
pub(crate) const CHECKSUM: ObjectFacts = passing(
    "Checksum",
    &[method("clear", Write, None), method("update", Update, None), method("get", Read, None)],
);

/// As [`CHECKSUM`].
pub(crate) const INTERNET_CHECKSUM: ObjectFacts = passing(
    "InternetChecksum",
    &[
        method("clear", Write, None),
        method("add", Update, None),
        method("subtract", Update, None),
        method("get", Read, None),
        method("get_state", Read, None),
        method("set_state", Write, None),
    ],
);

pub(crate) const COUNTER: ObjectFacts =
    object("Counter", TableUse::None, &[method("count", Update, Some("index"))]);

pub(crate) const METER: ObjectFacts = object(
    "Meter",
    TableUse::None,
    &[method("execute", Update, Some("index")), method("dpdk_execute", Update, Some("index"))],
);

pub(crate) const REGISTER: ObjectFacts = object(
    "Register",
    TableUse::None,
    &[method("read", Read, Some("index")), method("write", Write, Some("index"))],
);

pub(crate) const RANDOM: ObjectFacts = passing("Random", &[method("read", Access::None, None)]);

/// Digests leave the device at once; the control plane knows a digest by its name.
pub(crate) const DIGEST: ObjectFacts = ObjectFacts {
    name: "Digest",
    table: TableUse::None,
    state: false,
    control_plane: true,
    methods: &[method("pack", Access::None, None)],
};
