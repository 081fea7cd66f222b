//! The shape of an architecture's facts.

use crate::declared::Declared;

/// Facts about an architecture beside its declarations.
#[derive(Debug)]
pub struct Architecture {
    /// `v1model`, `psa`, ...
    pub name: &'static str,
    /// The file that declares it, as programs include it.
    pub include: &'static str,
    /// The package types that `main` may have.
    pub mains: &'static [&'static str],
    /// The package types that its file declares.
    pub packages: &'static [PackageFacts],
    /// The stages in the order a packet meets them.
    pub stages: &'static [StageFacts],
    /// The roles of parameters that must be structs.
    pub structs: &'static [Role],
    /// The struct type of the standard metadata, where one struct goes all the way with a packet.
    pub standard_metadata: Option<&'static str>,
    /// Fields of the standard metadata that the switch itself writes or reads.
    pub standard_fields: &'static [StandardField],
    /// Effects of extern functions. A name has one row, whatever its overloads.
    pub functions: &'static [FunctionFacts],
    /// State of extern objects, and effects of their methods.
    pub objects: &'static [ObjectFacts],
    /// The port number that means "drop", unless the user sets another, where a port means it.
    pub drop_port: Option<u32>,
    /// Facts for the splitter; `None` for an architecture whose programs are not cut.
    pub cut: Option<&'static crate::CutFacts>,
}

/// A package type.
#[derive(Debug)]
pub struct PackageFacts {
    /// The package type.
    pub name: &'static str,
    /// Parameters, in order.
    pub params: &'static [&'static str],
}

impl Architecture {
    /// The facts of an extern function.
    pub fn function(&self, name: &str) -> Option<&'static FunctionFacts> {
        self.functions.iter().find(|f| f.name == name)
    }

    /// Kind of object that a table property takes; `None` for other properties.
    pub fn table_property(&self, property: &str) -> Option<TableObject> {
        self.objects.iter().find_map(|object| match object.table {
            TableUse::Implementation(name) if name == property => Some(TableObject::Implementation),
            TableUse::Direct(name) if name == property => Some(match object.method("count") {
                Some(_) => TableObject::Counters,
                None => TableObject::Meters,
            }),
            _ => None,
        })
    }

    /// The property that gives a table such an object.
    pub fn property_for(&self, object: TableObject) -> Option<&'static str> {
        let names = self.objects.iter().filter_map(|o| match o.table {
            TableUse::Implementation(name) | TableUse::Direct(name) => Some(name),
            TableUse::None => None,
        });
        names.into_iter().find(|name| self.table_property(name) == Some(object))
    }

    /// The facts of an extern type.
    pub fn object(&self, name: &str) -> Option<&'static ObjectFacts> {
        self.objects.iter().find(|o| o.name == name)
    }

    /// The package type of this name.
    pub fn package(&self, name: &str) -> Option<&'static PackageFacts> {
        self.packages.iter().find(|p| p.name == name)
    }

    /// Names that the architecture's file declares.
    pub fn declared(&self) -> Declared {
        crate::declared::declared(self.include)
    }

    /// The stage whose block is the argument at `path` in `main` (`ingress.ip`), and what stands before that in
    /// the path (`pipe0` in TNA).
    pub fn stage_at<'p>(&self, path: &'p str) -> Option<(&'static StageFacts, &'p str)> {
        self.stages.iter().find_map(|stage| {
            let before = path.strip_suffix(stage.argument?)?;
            match before.strip_suffix('.') {
                Some(before) => Some((stage, before)),
                None => before.is_empty().then_some((stage, "")),
            }
        })
    }

    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&'static StageFacts> {
        self.stages.iter().find(|s| s.name == name)
    }

    /// The facts of a standard-metadata field; `None` where only the program touches it.
    pub fn standard_field(&self, name: &str) -> Option<&'static StandardField> {
        self.standard_fields.iter().find(|f| f.name == name)
    }
}

/// One step of a packet's path.
#[derive(Debug)]
pub struct StageFacts {
    /// `parser`, `ingress`, ...
    pub name: &'static str,
    /// Kind of the stage.
    pub kind: StageKind,
    /// The argument of `main` that is the block, as the parameters' names from the outer to the inner package
    /// (`ingress.ip`); `None` for the traffic manager.
    pub argument: Option<&'static str>,
    /// Role of each parameter of the block, in order. A block may leave out `@optional` ones at the end.
    pub roles: &'static [Role],
    /// The extern functions that may only be called in some stages and are meant to be called here.
    pub calls: &'static [&'static str],
}

/// Kinds of stages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StageKind {
    /// A parser: bytes to headers.
    Parse,
    /// A control.
    Control,
    /// A control that emits: headers to bytes.
    Deparse,
    /// The switch's own: drop, replicate, queue.
    TrafficManager,
}

/// Role of a parameter of a stage's block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The packet: `packet_in` of a parser, `packet_out` of a deparser.
    Packet,
    /// The parsed headers.
    Headers,
    /// The program's own metadata.
    Metadata,
    /// The switch's metadata, one struct all the way.
    StandardMetadata,
    /// Metadata that the switch gives to this stage.
    Input,
    /// Metadata by which the program requests effects.
    Output,
    /// Metadata carried from the deparser that ends one pass to the parser that begins another.
    Carried(Carried),
}

/// Path of a packet from one pass to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carried {
    /// Ingress to egress, unicast and multicast.
    Normal,
    /// A clone of ingress.
    CloneI2e,
    /// A clone of egress.
    CloneE2e,
    /// Back to ingress as it came in.
    Resubmit,
    /// Back to ingress as it left egress.
    Recirculate,
}

/// A field of the standard metadata, and when the switch touches it.
#[derive(Debug)]
pub struct StandardField {
    /// The field.
    pub name: &'static str,
    /// When the switch writes it. A field without [`FieldMoment::Received`] or [`FieldMoment::PacketStart`]
    /// here is 0 when a packet starts.
    pub written: &'static [FieldMoment],
    /// When the switch reads it.
    pub read: &'static [FieldMoment],
}

/// A point of a packet's path at which the switch touches standard metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldMoment {
    /// When the packet came in by a port. A packet that starts again has 0.
    Received,
    /// Before the parser, new and restarted packets alike.
    PacketStart,
    /// When the parser has ended, by accept or by an error.
    ParserEnd,
    /// While checksums are verified.
    VerifyChecksum,
    /// The traffic manager, when ingress is done.
    IngressEnd,
    /// The traffic manager, before egress.
    EgressStart,
    /// The switch, when egress is done.
    EgressEnd,
}

/// Effect of an extern function.
#[derive(Debug)]
pub struct FunctionFacts {
    /// The function.
    pub name: &'static str,
    /// Effect of a call beside writing its `out` and `inout` arguments.
    pub effect: Effect,
}

/// Effect of a call beside writing its `out` and `inout` arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Nothing: the result depends on the arguments alone, an unused call may go, equal calls may be one.
    Pure,
    /// The function reads the bytes after the parsed headers.
    ReadsPayload,
    /// The function draws a random number: no two calls may be merged, and the draws have an order.
    Draws,
    /// The function writes the named field of the standard metadata, which is not an argument.
    WritesStandard(&'static str),
    /// The function reads the payload and writes the named field of the standard metadata.
    ReadsPayloadWritesStandard(&'static str),
    /// The function requests an effect of the traffic manager in the packet's effect record; a later call of the same
    /// function replaces the request.
    Requests,
    /// The function sends a message beside the packet; every call counts.
    Sends,
    /// The function may stop the parser with an error.
    Verifies,
    /// The function may stop the run.
    Asserts,
    /// The function writes to the log.
    Logs,
}

/// State of an extern object, and effects of its methods.
#[derive(Debug)]
pub struct ObjectFacts {
    /// The extern type.
    pub name: &'static str,
    /// How tables use the object.
    pub table: TableUse,
    /// True where the object keeps something from one packet to the next.
    pub state: bool,
    /// True where the control plane can see or set it, so that it has a control-plane name.
    pub control_plane: bool,
    /// The methods, one row a name.
    pub methods: &'static [MethodFacts],
}

impl ObjectFacts {
    /// The facts of a method.
    pub fn method(&self, name: &str) -> Option<&'static MethodFacts> {
        self.methods.iter().find(|m| m.name == name)
    }
}

/// The table property through which an object belongs to a table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableUse {
    /// None: it stands alone.
    None,
    /// One cell an entry, named by this property.
    Direct(&'static str),
    /// The object holds the table's action data; the property with this name refers to it.
    Implementation(&'static str),
}

/// An object that a table property gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableObject {
    /// Action data that entries share.
    Implementation,
    /// A counter for each entry.
    Counters,
    /// A meter for each entry.
    Meters,
}

/// Effect of a method.
#[derive(Debug)]
pub struct MethodFacts {
    /// The method.
    pub name: &'static str,
    /// Access to the object.
    pub access: Access,
    /// The parameter that says which cell, where the object has several.
    pub index: Option<&'static str>,
}

/// Access of a method to its object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Nothing that lasts.
    None,
    /// Reads a cell.
    Read,
    /// Writes a cell without reading it.
    Write,
    /// Reads and writes a cell in one step.
    Update,
    /// Moves the packet's cursor or appends to the packet.
    Packet,
}
