//! Facts about an architecture for the splitter: as data, so that another architecture is another row.

/// The facts.
#[derive(Debug)]
pub struct CutFacts {
    /// The stage for each duty.
    pub stages: &'static [(Duty, &'static str)],
    /// The field of the standard metadata for each meaning.
    pub fields: &'static [(Meaning, &'static str)],
    /// Fields of the standard metadata that differ among packets with the same headers that came by one port.
    pub varying: &'static [&'static str],
    /// Extern functions that bear on a cut. Others touch their arguments only, or are refused.
    pub calls: &'static [(&'static str, CutCall)],
    /// Extern objects that may be used in a program that is cut.
    pub state: &'static [(&'static str, StateMode)],
    /// Bits of a port's number.
    pub port_bits: u32,
}

/// Purpose of a stage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Duty {
    /// Bytes to headers.
    Parse,
    /// Checksums are verified.
    Verify,
    /// Before the traffic manager.
    Ingress,
    /// After it.
    Egress,
    /// Checksums are computed.
    Compute,
    /// Headers to bytes.
    Deparse,
}

/// Meaning of a field of the standard metadata.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meaning {
    /// The port by which the packet came in.
    InPort,
    /// The packet's length in bytes.
    Length,
    /// The port that ingress chooses.
    ToPort,
    /// The port that the packet is queued for, in egress.
    OutPort,
    /// The multicast group.
    Group,
    /// New, cloned, sent around, ...
    Kind,
}

/// How an extern function bears on a cut.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CutCall {
    /// Marks the packet to be dropped: it writes [`Meaning::ToPort`].
    Drop,
    /// The first argument says whether the others matter.
    Conditional,
    /// Asks for a clone.
    Clone,
    /// Asks for a clone in a form that no cut keeps exact.
    OldClone,
    /// Asks for another pass of the packet as it came in.
    Resubmit,
    /// Asks for another pass of the packet as it is.
    Recirculate,
    /// Asks for the packet to be cut short.
    Truncate,
    /// Sends data to the control plane.
    Digest,
}

/// How packets share an extern object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StateMode {
    /// Packets read results of earlier packets: the object is on one device, and the order of its uses counts.
    Ordered,
    /// Packets only add to it: it may be at several devices, each with a part of the sum.
    Sum,
    /// Packets only add to the entry that they hit: it is where its table is.
    PerEntry,
    /// Only the control plane changes it.
    Control,
}

impl CutFacts {
    /// The name of the stage with this duty.
    pub fn stage(&self, duty: Duty) -> Option<&'static str> {
        self.stages.iter().find(|(known, _)| *known == duty).map(|(_, name)| *name)
    }

    /// The name of the field with this meaning.
    pub fn field(&self, meaning: Meaning) -> Option<&'static str> {
        self.fields.iter().find(|(known, _)| *known == meaning).map(|(_, name)| *name)
    }

    /// How the function of this name bears on a cut.
    pub fn call(&self, name: &str) -> Option<CutCall> {
        self.calls.iter().find(|(known, _)| *known == name).map(|(_, call)| *call)
    }

    /// How packets share objects of this extern type.
    pub fn state(&self, name: &str) -> Option<StateMode> {
        self.state.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
    }
}
