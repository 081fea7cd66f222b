//! Features of programs, for the coverage table.

use std::collections::{BTreeMap, BTreeSet};

macro_rules! features {
    ($($variant:ident $name:literal,)*) => {
        /// A construct of the language or an effect of v1model.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs)]
        pub enum Feature { $($variant,)* }

        impl Feature {
            /// All, in the order of the table.
            pub const ALL: &[Feature] = &[$(Feature::$variant,)*];

            /// As the table calls it.
            pub fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }
        }
    };
}

features! {
    Wide64 "values of more than 64 bits",
    Wide128 "values of more than 128 bits",
    Signed "int<N>",
    Enum "enum",
    SerEnum "serializable enum",
    NewType "newtype",
    Typedef "typedef",
    Const "const",
    Tuple "tuple",
    ListExpr "list expression",
    StructExpr "struct-valued expression",
    Dots "default initialiser ...",
    NestedStruct "struct in a header",
    GenericStruct "generic struct",
    GenericHeader "generic header",
    Union "header union",
    Stack "header stack",
    EmptyAgain "empty header or stack declared again",
    Array "array of numbers",
    Varbit "varbit",
    BoolInMeta "bool in metadata",
    ErrorInMeta "error in metadata",
    Uninitialised "uninitialised read",
    Arithmetic "arithmetic",
    SignedArithmetic "signed arithmetic",
    Saturating "saturating arithmetic",
    VariableShift "shift by a variable amount",
    ConstDivision "division of constants",
    Concat "concatenation",
    Slice "slice",
    SliceAssign "assignment to a slice",
    PlusSlice "+: slice",
    PlusSliceAssign "assignment to a +: slice",
    Cast "cast",
    Conditional "conditional expression",
    ShortCircuit "side effect behind && or ||",
    EffectInOperand "side effect in an operand",
    CompareAggregates "comparison of structs, headers or stacks",
    CompoundAssign "compound assignment",
    Function "function",
    GenericFunction "generic function",
    FunctionReturn "return out of the middle of a function",
    OutArgument "out and inout arguments",
    Aliasing "arguments that alias",
    SliceArgument "slice as an inout argument",
    ElementArgument "stack element at a run-time index as an argument",
    Next "stack.next",
    Last "stack.last",
    LastIndex "stack.lastIndex",
    PushFront "push_front",
    PopFront "pop_front",
    ConstIndex "constant index",
    RunTimeIndex "run-time index",
    UnionMember "member of a union written",
    IsValid "isValid",
    SetValid "setValid",
    SetInvalid "setInvalid",
    HeaderAssign "header assigned as a whole",
    StackAssign "stack assigned as a whole",
    InvalidHeader "{#}",
    Lookahead "lookahead",
    Advance "advance",
    VarbitExtract "extract of a varbit",
    Verify "verify",
    UserError "error of the program's own",
    SelectMask "select: mask",
    SelectRange "select: range",
    SelectTuple "select: several values",
    SelectDefault "select: default",
    SelectNoDefault "select without default",
    ValueSet "parser value set",
    SubParser "sub-parser",
    ParserLoop "loop of parser states",
    Reject "transition reject",
    PacketLength "packet.length()",
    SubControl "sub-control",
    AppliedAgain "instance of a sub-control applied again",
    SubControlTwice "sub-control with two instances",
    ConstructorParam "constructor parameter",
    ControlReturn "return in a control",
    ControlExit "exit in a control",
    Action "action",
    TopLevelAction "top-level action",
    DirectedAction "action with directed parameters",
    ActionData "action data",
    ActionCall "direct call of an action",
    ActionReturn "return in an action",
    ActionExit "exit in an action",
    Exact "exact",
    Lpm "lpm",
    Ternary "ternary",
    Range "range",
    Optional "optional",
    Selector "selector",
    Keyless "table without key",
    ComputedKey "computed key",
    ConstEntries "const entries",
    ConstPriorities "const entries with priorities",
    MutableEntries "entries that can be changed",
    SmallestPriority "smallest priority wins",
    DefaultArgs "default action with arguments",
    ConstDefault "const default action",
    TableOnly "@tableonly, @defaultonly",
    ActionProfile "action profile",
    ActionSelector "action selector",
    DirectCounter "direct counter",
    DirectMeter "direct meter",
    Hit "apply().hit",
    Miss "apply().miss",
    SwitchAction "switch on action_run",
    SwitchValue "switch on a value",
    FallThrough "switch with fall-through",
    For "for",
    ForInRange "for over a range",
    ForInValues "for over an array or list",
    Break "break",
    Continue "continue",
    Resubmit "resubmit",
    Recirculate "recirculate",
    CloneIngress "clone at ingress",
    CloneEgress "clone at egress",
    FieldList "field list",
    Multicast "multicast",
    Digest "digest",
    Drop "drop",
    DropOverride "drop undone",
    VerifyChecksum "verify_checksum",
    UpdateChecksum "update_checksum",
    VerifyPayload "verify_checksum_with_payload",
    UpdatePayload "update_checksum_with_payload",
    HashCrc32 "hash: crc32",
    HashCrc32Custom "hash: crc32_custom",
    HashCrc16 "hash: crc16",
    HashCrc16Custom "hash: crc16_custom",
    HashIdentity "hash: identity",
    HashCsum16 "hash: csum16",
    HashXor16 "hash: xor16",
    RegisterRead "register read",
    RegisterWrite "register write",
    Counter "counter",
    Meter "meter",
    ValueFunction "value extern: function",
    ValueObject "value extern: object",
    Random "random",
    Truncate "truncate",
    LogMsg "log_msg",
    Assert "assert, assume",
    QueueMetadata "queueing metadata",
    Timestamp "timestamps",
    Priority "priority",
    IndexTypes "V1MODEL_VERSION 20200408",
}

/// Number of programs that contain each feature.
#[derive(Clone, Default, Debug)]
pub struct Coverage {
    programs: u64,
    counts: BTreeMap<Feature, u64>,
}

impl Coverage {
    /// Counts a program.
    pub fn add(&mut self, features: &BTreeSet<Feature>) {
        self.programs += 1;
        for feature in features {
            *self.counts.entry(*feature).or_default() += 1;
        }
    }

    /// Counts the programs of `other` too.
    pub fn merge(&mut self, other: &Coverage) {
        self.programs += other.programs;
        for (feature, count) in &other.counts {
            *self.counts.entry(*feature).or_default() += count;
        }
    }

    /// Features that fewer than one in a hundred programs contain.
    pub fn rare(&self) -> Vec<Feature> {
        let rare = |f: &Feature| self.counts.get(f).copied().unwrap_or(0) * 100 < self.programs;
        Feature::ALL.iter().copied().filter(rare).collect()
    }

    /// One line for each feature: in how many of a hundred programs.
    pub fn table(&self) -> String {
        let share = |f: &Feature| {
            let count = self.counts.get(f).copied().unwrap_or(0);
            let tenths = count * 1000 / self.programs.max(1);
            format!("{:>5}.{} %  {}\n", tenths / 10, tenths % 10, f.name())
        };
        Feature::ALL.iter().map(share).collect()
    }
}
