//! Inputs of a program: control-plane writes and packets, drawn from the program's constants.

use base_bits::Bits;
use base_time::{Rng, Time};
use control_writes::{Match, Rate, Rates};
use dataplane_api::EntryError;
use device::{Session, Switch};
use ir::{MatchKind, Program, Type};
use ir_prove::generate::{EntrySpec, PacketMaker, Pool, entries};

/// A write of the control plane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// An entry of a table.
    Entry(EntrySpec),
    /// An entry that names a member of the table's profile, or a group if there is more than one. Each is an
    /// action with its data.
    Indirect {
        /// Table and keys; its action is the first member.
        entry: EntrySpec,
        /// Further members.
        others: Vec<(String, Vec<Bits>)>,
    },
    /// A new default action.
    Default(EntrySpec),
    /// A member of a value set.
    ValueSet(String, Vec<Match>),
    /// A multicast group: ports and replica ids.
    Group(u32, Vec<(u32, u16)>),
    /// A clone session.
    Session(u32, Session),
    /// A cell of a register.
    Register(String, u64, Bits),
    /// The rates of all meters of an array.
    Meter(String, Rates),
}

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Port of arrival.
    pub port: u32,
    /// The frame.
    pub frame: Vec<u8>,
    /// Time of arrival.
    pub at: Time,
}

/// All of it, in order: writes first.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Inputs {
    /// Before the first packet.
    pub writes: Vec<Write>,
    /// In order of time.
    pub packets: Vec<Packet>,
}

/// Most entries for each key of a table.
const ENTRIES: usize = 4;

/// Writes and packets for `program`.
pub fn inputs(program: &Program, packets: usize, seed: u64) -> Inputs {
    let rng = Rng::new(seed).split("inputs");
    let mut pool = Pool::new(program, &[], &rng);
    let mut writes = table_writes(program, &mut pool, &mut rng.split("tables"));
    writes.extend(other_writes(program, &mut pool, &mut rng.split("objects")));
    let maker = PacketMaker::new(program);
    let mut draw = rng.split("packets");
    let packet = |at: usize| {
        let mut frame = maker.packet(&mut pool, &mut draw);
        if draw.chance(1, 6) && !frame.is_empty() {
            let spot = draw.index(frame.len());
            frame[spot] ^= 1 << draw.below(8);
        }
        Packet { port: pool.port(&mut draw), frame, at: Time::from_ps(1_000_000_000 * (at as u64 + 1)) }
    };
    Inputs { writes, packets: (0..packets).map(packet).collect() }
}

fn table_writes(program: &Program, pool: &mut Pool, rng: &mut Rng) -> Vec<Write> {
    let mut writes: Vec<Write> = vec![];
    let specs = entries(program, pool, ENTRIES, rng);
    for spec in &specs {
        let tables = program.controls.iter().flat_map(|c| &c.tables);
        let Some(table) = { tables }.find(|t| t.control_plane_name == spec.table) else { continue };
        let selects = table.keys.iter().any(|k| k.match_kind == MatchKind::Selector);
        if table.implementation.is_none() {
            writes.push(match rng.chance(1, 12) && !table.default_action.is_const {
                true => Write::Default(spec.clone()),
                false => Write::Entry(spec.clone()),
            });
            continue;
        }
        let same = specs.iter().filter(|s| s.table == spec.table);
        let others = same.take(if selects { rng.index(4) } else { 0 });
        let others = others.map(|s| (s.action.to_string(), s.args.clone())).collect();
        writes.push(Write::Indirect { entry: spec.clone(), others });
    }
    writes
}

fn other_writes(program: &Program, pool: &mut Pool, rng: &mut Rng) -> Vec<Write> {
    let mut writes = vec![];
    for set in program.parsers.iter().flat_map(|p| &p.value_sets) {
        let types: Vec<Type> = match program.representation(&set.ty) {
            Type::Tuple(types) => types.clone(),
            named @ Type::Named(_) => program.fields(named).iter().map(|f| f.ty.clone()).collect(),
            other => vec![other.clone()],
        };
        for _ in 0..rng.index(3) {
            let widths = types.iter().map(|t| program.bits(t).unwrap_or(1) as u32);
            let member = widths.map(|w| Match::Exact(pool.draw(w, rng))).collect();
            writes.push(Write::ValueSet(set.control_plane_name.to_string(), member));
        }
    }
    for group in 1..=3 {
        let members = (0..rng.index(4)).map(|i| (rng.below(8) as u32, i as u16)).collect();
        writes.push(Write::Group(group, members));
    }
    for session in 1..=3 {
        let port = rng.chance(3, 4).then(|| rng.below(8) as u32);
        let group = rng.chance(1, 4).then(|| 1 + rng.below(3) as u32);
        writes.push(Write::Session(session, Session { port, group, ..Session::default() }));
    }
    for instance in &program.instances {
        let name = instance.control_plane_name.to_string();
        match program.extern_object(instance.object).name.as_str() {
            "register" if rng.next_bool() => {
                let width = instance.type_args.first().and_then(|t| program.bits(t)).unwrap_or(1) as u32;
                writes.push(Write::Register(name, rng.below(2), pool.draw(width, rng)));
            }
            "meter" => {
                let rate = |per: u64, burst| Rate { per_gigamicrosecond: per.into(), burst };
                let committed = rate(rng.below(2_000_000), rng.below(100));
                let peak = rate(2_000_000 + rng.below(2_000_000), rng.below(300));
                writes.push(Write::Meter(name, Rates { committed, peak }));
            }
            _ => {}
        }
    }
    writes
}

impl Write {
    /// Does it.
    pub fn apply(&self, switch: &mut Switch) -> Result<(), EntryError> {
        match self {
            Write::Entry(e) => {
                switch.table_add(&e.table, &e.keys, &e.action, &e.args, e.priority)?;
            }
            Write::Indirect { entry, others } => {
                let mut members = vec![switch.member_add(&entry.table, &entry.action, &entry.args)?];
                for (action, args) in others {
                    members.push(switch.member_add(&entry.table, action, args)?);
                }
                if others.is_empty() {
                    switch.table_add_member(&entry.table, &entry.keys, members[0], entry.priority)?;
                } else {
                    let group = switch.group_add(&entry.table, &members)?;
                    switch.table_add_group(&entry.table, &entry.keys, group, entry.priority)?;
                }
            }
            Write::Default(e) => switch.table_set_default(&e.table, &e.action, &e.args)?,
            Write::ValueSet(set, member) => switch.value_set_add(set, member)?,
            Write::Group(group, members) => switch.multicast_group_set(*group, members.clone()),
            Write::Session(session, to) => switch.clone_session_set(*session, Some(*to)),
            Write::Register(name, index, value) => switch.register_write(name, *index, value)?,
            Write::Meter(name, rates) => switch.meter_array_set_rates(name, *rates)?,
        }
        Ok(())
    }
}
