//! TNA and T2NA, the native architectures of Tofino 1 and 2.
//!
//! Effects of externs, for the splitter, are missing yet: the objects are only core.p4's and those of tables.

use crate::Role::{self, Headers, Input, Metadata, Output, Packet};
use crate::architecture::{
    Access, Architecture, Effect, FunctionFacts, ObjectFacts, PackageFacts, StageFacts, StageKind, TableUse,
};
use crate::rows::{PACKET_IN, PACKET_OUT, function, method, object};

/// The `ucast_egress_port` of a packet for which the program has set none. No pipe has this port.
pub const NO_PORT: u32 = 0x1ff;

/// Name of the register with the metadata of ports, in the ingress parser. No program can write this name.
pub const PORT_METADATA: &str = "$PORT_METADATA";

/// Name of the register with the settings of an `Lpf` or `Wred` of this name.
pub fn settings_of(filter: &str) -> String {
    format!("{filter}.$SETTINGS")
}

/// Bits of the fields of the settings: of an `Lpf` whether it measures rates, the time constants of rise and decay in
/// nanoseconds, the binary logarithm of the divisor; of a `Wred` the time constant, the lower and the upper threshold,
/// and the probability just below the upper one, in parts of 2^32.
pub fn settings_bits(is_wred: bool) -> [u32; 4] {
    if is_wred { [32; 4] } else { [8, 32, 32, 8] }
}

/// A register of the packet generator, in the ingress parser: name, number of cells, and bits of the fields of a cell.
pub struct GeneratorRegister {
    /// No program can write this name.
    pub name: &'static str,
    /// Cells on Tofino 1 and on Tofino 2.
    pub cells: [u32; 2],
    /// One field is a number, several are a tuple.
    pub fields: &'static [u32],
}

/// The registers: for each application its trigger, source port, place and length in the buffer, and timer in
/// nanoseconds; batches less one, packets of a batch less one, and nanoseconds between batches and packets; the lines of
/// the buffer; and for each application the number of triggers, batches and packets.
pub const GENERATOR: [GeneratorRegister; 4] = [
    GeneratorRegister { name: "$PKTGEN_APP", cells: [8, 16], fields: &[8, 16, 16, 16, 32] },
    GeneratorRegister { name: "$PKTGEN_BATCH", cells: [8, 16], fields: &[16, 16, 32, 32] },
    GeneratorRegister { name: "$PKTGEN_BUFFER", cells: [1024, 1024], fields: &[8 * GENERATOR_LINE] },
    GeneratorRegister { name: "$PKTGEN_COUNT", cells: [8, 16], fields: &[32, 32, 32] },
];

/// Bytes of a line of the packet generator's buffer.
pub const GENERATOR_LINE: u32 = 16;

/// Types of the headers with which generated packets begin.
pub const GENERATED: [&str; 2] = ["pktgen_timer_header_t", "pktgen_port_down_header_t"];

/// Bits of a port's number.
pub const PORT_BITS: u32 = 9;

/// Numbers of ports.
pub const PORTS: u32 = 1 << PORT_BITS;

/// Bits of what the control plane sets for each port, before a received frame.
pub fn port_metadata_bits(generation: u32) -> u32 {
    if generation == 1 { 64 } else { 192 }
}

/// The port that leads to the switch's processor.
pub fn cpu_port(generation: u32) -> u32 {
    if generation == 1 { 64 } else { 0 }
}

/// True for the port of each pipe that leads back to its ingress: 68 on Tofino 1, 6 on Tofino 2.
pub fn recirculates(generation: u32, port: u32) -> bool {
    port & 0x7f == if generation == 1 { 68 } else { 6 }
}

/// The bits of `drop_ctl`.
pub mod drop_ctl {
    /// Unicast, multicast and resubmission.
    pub const PACKET: u64 = 1;
    /// The copy to the processor.
    pub const COPY_TO_CPU: u64 = 2;
    /// The mirror.
    pub const MIRROR: u64 = 4;
}

/// The bits of `parser_err`.
pub mod parser_error {
    /// No select case fits, or an explicit `reject`.
    pub const NO_MATCH: u64 = 0x0001;
    /// The packet ends in a header.
    pub const PARTIAL_HEADER: u64 = 0x0002;
    /// A counter's value exceeds its maximum.
    pub const COUNTER_RANGE: u64 = 0x0004;

    /// The bit for a member of `error`.
    pub fn bit(error: &str) -> u64 {
        match error {
            "PacketTooShort" | "HeaderTooShort" | "ParserInvalidArgument" | "StackOutOfBounds" => {
                PARTIAL_HEADER
            }
            "CounterRange" => COUNTER_RANGE,
            _ => NO_MATCH,
        }
    }
}

/// The facts of TNA.
pub static TNA: Architecture = Architecture {
    name: "tna",
    include: "tna.p4",
    mains: &["Switch", "MultiParserSwitch"],
    packages: &[
        PackageFacts {
            name: "Pipeline",
            params: &[
                "ingress_parser",
                "ingress",
                "ingress_deparser",
                "egress_parser",
                "egress",
                "egress_deparser",
            ],
        },
        SWITCH,
    ],
    stages: &[
        INGRESS_PARSER,
        INGRESS,
        INGRESS_DEPARSER,
        TRAFFIC_MANAGER,
        EGRESS_PARSER,
        EGRESS,
        EGRESS_DEPARSER,
    ],
    structs: &[],
    standard_metadata: None,
    standard_fields: &[],
    functions: FUNCTIONS,
    objects: OBJECTS,
    drop_port: None,
    cut: None,
};

/// The facts of T2NA.
pub static T2NA: Architecture = Architecture {
    name: "t2na",
    include: "t2na.p4",
    mains: &["Switch"],
    packages: &[
        PackageFacts {
            name: "Pipeline",
            params: &[
                "ingress_parser",
                "ingress",
                "ingress_deparser",
                "egress_parser",
                "egress",
                "egress_deparser",
                "ghost",
            ],
        },
        SWITCH,
    ],
    stages: &[
        INGRESS_PARSER,
        INGRESS,
        INGRESS_DEPARSER,
        TRAFFIC_MANAGER,
        EGRESS_PARSER,
        EGRESS,
        EGRESS_DEPARSER,
        StageFacts {
            name: "ghost",
            kind: StageKind::Control,
            argument: Some("ghost"),
            roles: &[Input],
            calls: &[],
        },
    ],
    structs: &[],
    standard_metadata: None,
    standard_fields: &[],
    functions: FUNCTIONS,
    objects: OBJECTS,
    drop_port: None,
    cut: None,
};

const SWITCH: PackageFacts = PackageFacts { name: "Switch", params: &["pipe0", "pipe1", "pipe2", "pipe3"] };

const fn stage(
    name: &'static str,
    kind: StageKind,
    roles: &'static [Role],
    calls: &'static [&'static str],
) -> StageFacts {
    StageFacts { name, kind, argument: Some(name), roles, calls }
}

const INGRESS_PARSER: StageFacts = stage(
    "ingress_parser",
    StageKind::Parse,
    &[Packet, Headers, Metadata, Input, Output, Input],
    &["verify"],
);

const INGRESS: StageFacts =
    stage("ingress", StageKind::Control, &[Headers, Metadata, Input, Input, Output, Output, Input], &[]);

const INGRESS_DEPARSER: StageFacts =
    stage("ingress_deparser", StageKind::Deparse, &[Packet, Headers, Metadata, Output, Input], &[]);

const TRAFFIC_MANAGER: StageFacts = StageFacts {
    name: "traffic_manager",
    kind: StageKind::TrafficManager,
    argument: None,
    roles: &[],
    calls: &[],
};

const EGRESS_PARSER: StageFacts =
    stage("egress_parser", StageKind::Parse, &[Packet, Headers, Metadata, Input, Input, Output], &["verify"]);

const EGRESS: StageFacts =
    stage("egress", StageKind::Control, &[Headers, Metadata, Input, Input, Output, Output], &[]);

const EGRESS_DEPARSER: StageFacts =
    stage("egress_deparser", StageKind::Deparse, &[Packet, Headers, Metadata, Output, Input, Input], &[]);

const FUNCTIONS: &[FunctionFacts] =
    &[function("verify", Effect::Verifies), function("static_assert", Effect::Pure)];

const OBJECTS: &[ObjectFacts] = &[
    PACKET_IN,
    PACKET_OUT,
    object("DirectCounter", TableUse::Direct("counters"), &[method("count", Access::Update, None)]),
    object("DirectMeter", TableUse::Direct("meters"), &[method("execute", Access::Update, None)]),
    object("ActionProfile", TableUse::Implementation("implementation"), &[]),
    object("ActionSelector", TableUse::Implementation("implementation"), &[]),
];
