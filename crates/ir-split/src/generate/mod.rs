//! Generate the program of one device: its sections of the whole program, and the runtime that hands packets over.
//!
//! ```text
//! parser     start: a frame from a linked port (or recirculated) with our EtherType is a hand-over:
//!                extract p4rack, p4rack_SECTION, then each header that `has_HEADER` says; region := the one named
//!            anything else: the program's own start
//!            for a region elsewhere: extract p4rack alone, it is sent on as it is
//! ingress    if (region == k) { if resumed { restore live values } ..section k.. region = next }    for each k here
//!            if (region == k) { save live values; send; table -> port }                     for each k elsewhere
//! egress     the same for egress sections; leaving from here means recirculating
//! deparser   emit p4rack, p4rack_SECTION, sent headers; then the program's own
//! ```
//!
//! A packet that leaves has its headers moved to copies that are emitted in declaration order; the program's own
//! deparser then finds none. Checksums are verified only on packets that did not come as hand-overs and computed
//! only on packets that do not leave as such.

mod body;
mod brought;
mod checksums;
mod externs;
mod find_port;
mod leaving;
mod moved;
mod originals;
mod places;
mod prune;
mod rename;

use crate::analysis::Analysis;
use crate::arch;
use crate::layout::Layout;
use crate::parsed::parsed_bytes;
use crate::place::{HeaderIndex, Leaf, Places, RoleKey};
use crate::placement::{DeviceIndex, Placement};
use crate::policy::EdgePolicy;
use crate::prepare::{ForeignObjects, Lengths, RequestedEffects, drop_foreign_calls};
use crate::refuse::broken;
use crate::routes::Routes;
use crate::runtime::Runtime;
use crate::section::{Half, SectionId, Sections};
use crate::split::{DeviceProgram, Linkage};
use crate::state::{Idle, idle};
use base_diag::Diagnostic;
pub use externs::Drop;
use ir::build::struct_field;
use ir::{ControlId, Expr, Field, Name, ParserId, Program, Role, Tick, Type, VarId, build};
pub use moved::Moved;
use p4_arch::{Duty, Meaning};
pub use rename::shift_types;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A cut program, ready to be generated.
pub struct Cut<'a> {
    /// The whole program, locals of its bodies hoisted.
    pub program: &'a Program,
    /// Leaves of the program.
    pub places: &'a Places,
    /// Sections of the program.
    pub sections: &'a Sections,
    /// Layout of hand-overs.
    pub layout: &'a Layout,
    /// Device of each region.
    pub placement: &'a Placement,
    /// The policies that lead hand-overs, in order.
    pub policies: &'static [&'static dyn EdgePolicy],
    /// Runtime of hand-overs.
    pub runtime: &'static dyn Runtime,
    /// Paths of hand-overs.
    pub routes: &'a Routes,
    /// The control before the traffic manager.
    pub ingress: ControlId,
    /// The control after it.
    pub egress: ControlId,
    /// The parser.
    pub parser: ParserId,
    /// Prefix of the runtime's names.
    pub prefix: &'a str,
    /// For each header with a varbit, by its path: the metadata field with that varbit's length in bits.
    pub lengths: &'a Lengths,
    /// Effects that the program asks of the traffic manager.
    pub effects: &'a RequestedEffects,
    /// Headers whose originals travel, in the order in which the parser extracts them.
    pub originals: &'a [HeaderIndex],
    /// Sessions may truncate clones.
    pub truncates: bool,
    /// Direct meters and counters that actions of other tables call.
    pub foreign: &'a ForeignObjects,
    /// Egress may read the packet's length.
    pub reads_length: bool,
    /// Egress may read fields of invalid headers.
    pub reads_hidden: bool,
    /// The value that says by which port a packet leaves.
    pub port: Option<Leaf>,
    /// Maximum number of bytes that the parser extracts; `None` if it is unbounded.
    pub parsed_bytes: Option<u64>,
}

impl<'a> Cut<'a> {
    /// Input of the generator from an analysed program; `None` if the program has no parser.
    pub fn new(
        a: &'a Analysis<'_>,
        policies: &'static [&'static dyn EdgePolicy],
        runtime: &'static dyn Runtime,
    ) -> Option<Cut<'a>> {
        let parser = a.program.stages.iter().find_map(|s| match s.kind {
            ir::StageKind::Parse(id) => Some(id),
            _ => None,
        })?;
        Some(Cut {
            program: &a.program,
            places: a.places(),
            sections: &a.sections,
            layout: a.layout.as_ref().ok()?,
            placement: a.placement,
            policies,
            runtime,
            routes: &a.routes,
            ingress: a.ingress,
            egress: a.egress,
            parser,
            prefix: &a.prefix,
            lengths: &a.lengths,
            effects: &a.effects,
            originals: a.originals.as_ref().ok()?,
            truncates: crate::originals::truncates(a),
            foreign: &a.foreign,
            reads_length: a.reads_length(),
            reads_hidden: a.at_start(Half::Egress).live.hidden.iter().next().is_some(),
            port: a.port_leaf(),
            parsed_bytes: parsed_bytes(&a.program),
        })
    }
}

/// Generates the program of `device`; an error is a mistake of the splitter's own.
pub fn device_program(cut: &Cut<'_>, device: DeviceIndex) -> Result<DeviceProgram, Diagnostic> {
    let mut generator = Generator::new(cut, device);
    let runtime = generator.runtime;
    runtime.declare(&mut generator);
    runtime.parse(&mut generator);
    generator.guard_checksums();
    generator.write_bodies();
    runtime.emit(&mut generator);
    drop_foreign_calls(&mut generator.out, cut.foreign);
    let kept = if generator.is_origin() { idle(cut.program) } else { Idle::default() };
    prune::prune(&mut generator.out, &kept);
    if !generator.is_origin() {
        // The frames of ticks enter the whole program, whose first device is the origin.
        generator.out.annotations.retain(|annotation| annotation.name != Tick::ANNOTATION);
    }
    brought::put_in_order(&mut generator.out, cut);
    match generator.missing.into_inner() {
        Some(what) => Err(broken(&what)),
        None => Ok(DeviceProgram { program: generator.out, linkage: generator.linkage }),
    }
}

/// The program under construction and where its new parts are.
pub struct Generator<'a> {
    pub cut: &'a Cut<'a>,
    pub device: DeviceIndex,
    pub runtime: &'static dyn Runtime,
    pub out: Program,
    pub linkage: Linkage,
    pub headers_type: Type,
    pub metadata_type: Type,
    /// Field numbers in the headers struct.
    pub common: usize,
    pub of_section: BTreeMap<SectionId, usize>,
    pub sent: BTreeMap<HeaderIndex, usize>,
    pub originals: BTreeMap<HeaderIndex, usize>,
    pub pad: Option<usize>,
    /// Field numbers in the metadata struct.
    pub region: usize,
    pub leaving: usize,
    /// First of the two fields for a drop.
    pub dropped: usize,
    /// Ingress drops packets.
    pub drops: bool,
    /// Metadata field of each value that edge policies keep from the incoming to the outgoing hand-over, by the name of
    /// the hand-over's field.
    pub kept: BTreeMap<Name, usize>,
    /// The field list of copies that a policy makes.
    pub clone_list: u32,
    /// Set where egress packs a packet itself, in programs that send packets around too; with its field list.
    pub packed: Option<(usize, u32)>,
    /// Set where a hand-over could be shorter than links carry without padding.
    pub short: Option<usize>,
    pub original_lengths: BTreeMap<HeaderIndex, usize>,
    /// Type declarations were inserted in front of this one of the whole program.
    pub types_at: ir::TypeId,
    pub types_added: u32,
    /// Programs whose controls were brought, by their source; none if it is wrong.
    brought: BTreeMap<String, Option<Rc<Program>>>,
    /// The first thing that was not where the steps before should have put it: nothing is guessed in its place.
    missing: RefCell<Option<String>>,
}

impl<'a> Generator<'a> {
    fn new(cut: &'a Cut<'a>, device: DeviceIndex) -> Generator<'a> {
        Generator {
            cut,
            device,
            runtime: cut.runtime.of_device(cut, device).unwrap_or(cut.runtime),
            out: cut.program.clone(),
            linkage: Linkage {
                prefix: cut.prefix.to_string(),
                region_bits: cut.layout.width_of("region"),
                egress: u64::from(cut.sections.first(Half::Egress).0),
                truncates_clones: cut.truncates,
                ..Linkage::default()
            },
            headers_type: Type::Void,
            metadata_type: Type::Void,
            common: 0,
            of_section: BTreeMap::new(),
            sent: BTreeMap::new(),
            originals: BTreeMap::new(),
            pad: None,
            region: 0,
            leaving: 0,
            dropped: 0,
            drops: false,
            kept: BTreeMap::new(),
            clone_list: 0,
            packed: None,
            short: None,
            original_lengths: BTreeMap::new(),
            types_at: ir::TypeId(0),
            types_added: 0,
            brought: BTreeMap::new(),
            missing: RefCell::new(None),
        }
    }

    /// The device in the map of regions.
    pub fn role(&self) -> DeviceIndex {
        self.cut.placement.role(self.device)
    }

    pub fn is_origin(&self) -> bool {
        self.role() == self.cut.placement.origin()
    }

    /// The variable that plays a role in a stage's block.
    pub fn role_var(&self, stage: Duty, role: Role) -> Option<VarId> {
        let stage = arch::stage(&self.out, stage)?;
        let position = stage.roles.iter().position(|r| *r == role)?;
        let params = match stage.kind {
            ir::StageKind::Parse(id) => &self.out.parser(id).params,
            ir::StageKind::Control(id) | ir::StageKind::Deparse(id) => &self.out.control(id).params,
            ir::StageKind::TrafficManager => return None,
        };
        params.get(position).copied()
    }

    /// Records that something is missing, so that no program results. `stand_in` is used until then.
    pub fn lacks<T>(&self, what: String, stand_in: T) -> T {
        self.missing.borrow_mut().get_or_insert(what);
        stand_in
    }

    /// The variable that plays a role that every block of the stage has.
    pub fn sure_role_var(&self, stage: Duty, role: Role) -> VarId {
        self.role_var(stage, role)
            .unwrap_or_else(|| self.lacks(format!("the {role:?} parameter of {stage:?}"), VarId(0)))
    }

    /// The headers struct as seen in a stage.
    pub fn headers(&self, stage: Duty) -> Expr {
        build::var(self.sure_role_var(stage, Role::Headers), &self.headers_type)
    }

    /// The metadata struct as seen in a stage.
    pub fn metadata(&self, stage: Duty) -> Expr {
        build::var(self.sure_role_var(stage, Role::Metadata), &self.metadata_type)
    }

    /// The field of the standard metadata with that meaning.
    pub fn standard(&self, stage: Duty, meaning: Meaning) -> Expr {
        let var = self.sure_role_var(stage, Role::StandardMetadata);
        let leaf = self.cut.places.standard(meaning).map(|leaf| self.cut.places.info(leaf));
        let ty = self.shared_type(stage, Role::StandardMetadata);
        let base = build::var(var, &ty);
        match leaf {
            Some(info) => build::field(base, info.path[0] as usize, info.ty.clone()),
            None => self.lacks(format!("the field of the standard metadata for {meaning:?}"), base),
        }
    }

    /// The field of the standard metadata with that name.
    pub fn standard_field(&self, stage: Duty, name: &str, width: u32) -> Expr {
        let base = build::var(
            self.sure_role_var(stage, Role::StandardMetadata),
            &self.shared_type(stage, Role::StandardMetadata),
        );
        match self.out.fields(&base.ty).iter().position(|field| field.name == name) {
            Some(number) => build::field(base, number, Type::Bit(width)),
            None => self.lacks(format!("the field `{name}` of the standard metadata"), base),
        }
    }

    pub fn shared_type(&self, stage: Duty, role: Role) -> Type {
        let var = self.role_var(stage, role);
        let vars = match arch::stage(&self.out, stage).map(|s| s.kind) {
            Some(ir::StageKind::Parse(id)) => &self.out.parser(id).vars,
            Some(ir::StageKind::Control(id) | ir::StageKind::Deparse(id)) => &self.out.control(id).vars,
            _ => return Type::Void,
        };
        var.map_or(Type::Void, |v| vars[v.index()].ty.clone())
    }

    /// The `n`-th field of the headers struct.
    pub fn header_field(&self, stage: Duty, n: usize) -> Expr {
        let ty = self.out.fields(&self.headers_type)[n].ty.clone();
        build::field(self.headers(stage), n, ty)
    }

    /// A field of a header, by name.
    pub fn named_field(&self, header: Expr, name: &str) -> Expr {
        let fields = self.out.fields(&header.ty);
        match fields.iter().position(|f| f.name == name) {
            Some(index) => {
                let ty = fields[index].ty.clone();
                build::field(header, index, ty)
            }
            None => self.lacks(format!("the field `{name}` of a header"), header),
        }
    }

    /// A field that all hand-overs have.
    pub fn common_field(&self, stage: Duty, name: &str) -> Expr {
        self.named_field(self.header_field(stage, self.common), name)
    }

    /// True in this stage for a packet with the header of hand-overs.
    pub fn came_with_header(&self, stage: Duty) -> Expr {
        build::is_valid(self.header_field(stage, self.common))
    }

    /// Value that a policy keeps of a hand-over's field; `None` if none on this device does.
    pub fn kept_field(&self, stage: Duty, name: &str) -> Option<Expr> {
        let number = *self.kept.get(name)?;
        let ty = self.out.fields(&self.metadata_type)[number].ty.clone();
        Some(build::field(self.metadata(stage), number, ty))
    }

    /// The most bits of a header.
    pub fn bits_of(&self, header: &Type) -> u64 {
        self.out.bits(header).unwrap_or_else(|| self.lacks("the size of a header".to_string(), 0))
    }

    /// A header instance of the program.
    pub fn program_header(&self, stage: Duty, index: HeaderIndex) -> Expr {
        self.descend(self.headers(stage), &self.cut.places.header(index).path)
    }

    pub fn descend(&self, base: Expr, path: &[u32]) -> Expr {
        path.iter().fold(base, |base, &index| match &base.ty {
            Type::Stack(elem, _) => build::element(base.clone(), index, elem.as_ref().clone()),
            _ => {
                let ty = self.out.fields(&base.ty)[index as usize].ty.clone();
                build::field(base, index as usize, ty)
            }
        })
    }

    /// A name of the runtime: `p4rack_send`.
    pub fn own(&self, name: &str) -> Name {
        format!("{}_{name}", self.cut.prefix).into()
    }

    /// The current length of a header's varbit, in bits.
    pub fn varbit_length(&self, stage: Duty, header: HeaderIndex) -> Option<Expr> {
        let field = self.cut.lengths.get(&self.cut.places.header(header).path)?;
        Some(build::field(self.metadata(stage), *field, Type::Bit(32)))
    }

    /// Declares the metadata of all runtimes, `region`, `leaving` and the fields of drops, and then `more`. Returns the number of the first
    /// field of `more`.
    pub fn declare_metadata(&mut self, more: Vec<Field>) -> usize {
        let own = [("region", self.cut.layout.region_bits), ("leaving", 1)];
        let mut fields = own.map(|(name, bits)| struct_field(&self.own(name), Type::Bit(bits))).to_vec();
        fields.extend(self.drop_metadata());
        let count = fields.len();
        fields.extend(more);
        let base = self.append_fields(&self.metadata_type.clone(), fields);
        (self.region, self.leaving, self.dropped) = (base, base + 1, base + 2);
        base + count
    }

    /// `meta.p4rack_region` as seen in a stage.
    pub fn region_of(&self, stage: Duty) -> Expr {
        build::field(self.metadata(stage), self.region, Type::Bit(self.cut.layout.region_bits))
    }

    pub fn region_value(&self, id: u64) -> Expr {
        build::bits(self.cut.layout.region_bits, id)
    }

    /// `meta.p4rack_leaving` as seen in a stage.
    pub fn leaving_of(&self, stage: Duty) -> Expr {
        build::field(self.metadata(stage), self.leaving, Type::Bit(1))
    }

    /// A shared object's role.
    pub fn role_of(key: RoleKey) -> Role {
        match key {
            RoleKey::Headers => Role::Headers,
            RoleKey::Metadata => Role::Metadata,
            RoleKey::Standard => Role::StandardMetadata,
        }
    }
}
