//! The architecture's facts for the splitter: all code that knows an architecture by name is here and in `p4-arch`.

use crate::expressions::constant;
use ir::{
    Arch, Call, Callee, Const, ControlId, ExprKind, ExternFunction, ExternObject, InstanceId, Program, Stage,
    StageKind, Type,
};
use p4_arch::v1model::{ARCHITECTURE, CUT};
use p4_arch::{CutCall, CutFacts, Duty, FieldMoment, Meaning};

/// Width of the port fields.
pub const PORT_BITS: u32 = CUT.port_bits;

/// The externs that generated code uses.
pub struct OwnExterns {
    /// Counter of packets that the runtime drops.
    pub counter: CounterFacts,
    /// Marks a packet to be dropped; with the name of its parameter, the standard metadata.
    pub drop: (&'static str, &'static str),
    /// The function that clones a packet as received.
    pub clone: CloneFacts,
    /// Cuts a packet short; with the name of its parameter, a number of bytes.
    pub truncate: (&'static str, &'static str),
    /// Sends a packet around; with the name of its parameter, a field list.
    pub recirculate: (&'static str, &'static str),
    /// Lets the packet as received pass ingress again; with the name of its parameter, a field list.
    pub resubmit: (&'static str, &'static str),
}

/// An extern object that counts, made from a number of cells and a kind.
pub struct CounterFacts {
    /// The extern type.
    pub name: &'static str,
    /// The method that counts a packet in a cell.
    pub method: &'static str,
    /// The enum of kinds, which counters of packets are the first of.
    pub kinds: &'static str,
    /// Names of the members.
    pub members: [&'static str; 3],
    /// The version since which the type of its index is a parameter.
    pub generic_since: u32,
}

/// A function that copies packets: its parameters are a kind, a session, and a field list.
pub struct CloneFacts {
    /// The function.
    pub name: &'static str,
    /// Names of the parameters.
    pub params: [&'static str; 3],
    /// The enum of kinds; its first member is a clone of the packet as received.
    pub kinds: &'static str,
    /// Members of the enum.
    pub members: [&'static str; 2],
}

/// Externs of v1model in generated code.
pub const OWN_EXTERNS: OwnExterns = OwnExterns {
    counter: CounterFacts {
        name: "counter",
        method: "count",
        kinds: "CounterType",
        members: ["packets", "bytes", "packets_and_bytes"],
        generic_since: 20_200_408,
    },
    drop: ("mark_to_drop", "standard_metadata"),
    clone: CloneFacts {
        name: "clone_preserving_field_list",
        params: ["type", "session", "index"],
        kinds: "CloneType",
        members: ["I2E", "E2E"],
    },
    truncate: ("truncate", "length"),
    recirculate: ("recirculate_preserving_field_list", "index"),
    resubmit: ("resubmit_preserving_field_list", "index"),
};

/// The facts of a program's architecture; `None` if programs for it are not split.
pub fn facts(program: &Program) -> Option<&'static CutFacts> {
    match program.arch {
        Arch::V1Model(_) => Some(&CUT),
        _ => None,
    }
}

/// The stage with this duty.
pub fn stage(program: &Program, duty: Duty) -> Option<&Stage> {
    program.stage(facts(program)?.stage(duty)?)
}

/// The control of the stage with this duty.
pub fn control(program: &Program, duty: Duty) -> Option<ControlId> {
    match stage(program, duty)?.kind {
        StageKind::Control(id) | StageKind::Deparse(id) => Some(id),
        StageKind::Parse(_) | StageKind::TrafficManager => None,
    }
}

/// The name of the stage with this duty.
pub fn stage_name(program: &Program, duty: Duty) -> &'static str {
    facts(program).and_then(|facts| facts.stage(duty)).unwrap_or_default()
}

/// The name of the standard metadata's field with this meaning.
pub fn field(program: &Program, meaning: Meaning) -> Option<&'static str> {
    facts(program)?.field(meaning)
}

/// Standard metadata that is the same when the packet is parsed again.
pub const SAME_AGAIN: [Meaning; 2] = [Meaning::InPort, Meaning::Length];

/// How a call of one of the architecture's functions bears on a cut.
pub fn call(function: &ExternFunction) -> Option<CutCall> {
    CUT.call(&function.name).filter(|_| !function.user)
}

/// The program declares a function that makes clones.
pub fn makes_clones(program: &Program) -> bool {
    let clones = |f: &ExternFunction| matches!(call(f), Some(CutCall::Clone | CutCall::OldClone));
    program.extern_functions.iter().any(clones)
}

/// Standard metadata that the device fills before ingress.
pub fn set_at_start() -> Vec<&'static str> {
    written_at(&[
        FieldMoment::Received,
        FieldMoment::PacketStart,
        FieldMoment::ParserEnd,
        FieldMoment::VerifyChecksum,
    ])
}

/// Standard metadata that the traffic manager sets before egress; former values are lost.
pub fn set_at_egress() -> Vec<&'static str> {
    written_at(&[FieldMoment::EgressStart])
}

/// Standard metadata that the traffic manager reads after ingress.
pub fn read_after_ingress() -> Vec<&'static str> {
    read_at(FieldMoment::IngressEnd)
}

/// Standard metadata that is read after egress, beside the port to leave by.
pub fn read_after_egress() -> Vec<&'static str> {
    read_at(FieldMoment::EgressEnd)
}

fn written_at(moments: &[FieldMoment]) -> Vec<&'static str> {
    let fields = ARCHITECTURE.standard_fields.iter();
    fields.filter(|f| f.written.iter().any(|m| moments.contains(m))).map(|f| f.name).collect()
}

fn read_at(moment: FieldMoment) -> Vec<&'static str> {
    ARCHITECTURE.standard_fields.iter().filter(|f| f.read.contains(&moment)).map(|f| f.name).collect()
}

/// How an extern bears on a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Reads and writes its arguments only, or nothing that can be observed in packets or state.
    Pure,
    /// Marks the packet to be dropped.
    Drop,
    /// The first argument says whether the others matter.
    Conditional,
    /// Reads and writes the memory of one instance.
    State,
    /// Asks the traffic manager for something.
    Order,
    /// Not kept exact across a cut yet.
    Unsupported,
}

/// Effect of an extern function.
pub fn function_effect(function: &ExternFunction) -> Effect {
    if function.user {
        return if function.value_extern().is_some() { Effect::Pure } else { Effect::Unsupported };
    }
    match call(function) {
        Some(CutCall::Drop) => Effect::Drop,
        Some(CutCall::Conditional) => Effect::Conditional,
        Some(CutCall::Clone | CutCall::Resubmit | CutCall::Recirculate | CutCall::Truncate) => Effect::Order,
        Some(CutCall::OldClone | CutCall::Digest) | None => {
            match ARCHITECTURE.function(&function.name).map(|f| f.effect) {
                Some(
                    p4_arch::Effect::Pure
                    | p4_arch::Effect::Draws
                    | p4_arch::Effect::Sends
                    | p4_arch::Effect::Asserts
                    | p4_arch::Effect::Logs,
                ) => Effect::Pure,
                _ => Effect::Unsupported,
            }
        }
    }
}

/// Effect of an extern object's methods.
pub fn object_effect(program: &Program, object: &ExternObject) -> Effect {
    if frame_extern(object).is_some() || object.value_extern().is_some() {
        return Effect::State;
    }
    match ir_state::sharing(program, object) {
        Some(_) => Effect::State,
        None => Effect::Unsupported,
    }
}

/// The method surely gives a result: an index outside of the object leaves it alone, and so does a table that missed.
pub fn surely_gives(program: &Program, call: &Call) -> bool {
    let Callee::Method(id, method) = call.callee else { return true };
    let instance = program.instance(id);
    let object = program.extern_object(instance.object);
    let (Some(facts), Some(declared)) =
        (ARCHITECTURE.object(&object.name).filter(|_| !object.user), object.methods.get(method as usize))
    else {
        return true;
    };
    let named = facts.method(&declared.name).and_then(|facts| facts.index);
    let position = declared.signature.params.iter().position(|param| Some(param.name.as_str()) == named);
    let index = position.and_then(|at| call.args.get(at)?.as_ref());
    let size = instance.args.first().and_then(|size| match &size.kind {
        ExprKind::Const(Const::Bits(bits)) => bits.to_u64(),
        _ => None,
    });
    let (Some(index), Some(size)) = (index, size) else { return false };
    let most = match program.representation(&index.ty) {
        Type::Bit(width) if *width < 64 => (1u64 << width) - 1,
        _ => u64::MAX,
    };
    constant(index).map_or(most, u64::from) < size
}

/// The name in `@frame_extern("name")`.
pub fn frame_extern(object: &ExternObject) -> Option<&str> {
    object.frame_extern()?.as_str()
}

/// The first instance of a frame extern: its frames are parsed in the middle of ingress.
pub fn first_frame_extern(program: &Program) -> Option<&ir::Instance> {
    program.instances.iter().find(|i| frame_extern(program.extern_object(i.object)).is_some())
}

/// The object counts or meters bytes: it sees the length of the packet.
pub fn counts_bytes(program: &Program, instance: InstanceId) -> bool {
    let object = program.instance(instance);
    let counted = matches!(
        program.extern_object(object.object).name.as_str(),
        "counter" | "direct_counter" | "meter" | "direct_meter"
    );
    // `packets` is the first member of `CounterType` and of `MeterType`.
    counted && !object.args.iter().any(|arg| arg.kind == ExprKind::Const(Const::Enum(0)))
}
