//! Writes of a control plane before packets arrive: entries, default actions, groups, sessions, value sets.

use super::entries::{default_action, width};
use super::pool::Pool;
use super::{EntrySpec, entries};
use base_bits::Bits;
use base_time::Rng;
use control_writes::Match;
use device::Session;
use ir::{Name, Program, Type};

/// Most groups and sessions, and most ports of a group.
const MOST: usize = 12;

/// State written by the control plane.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Setup {
    /// Table entries.
    pub entries: Vec<EntrySpec>,
    /// Default actions that are not those of the source: table, action, data.
    pub defaults: Vec<(Name, Name, Vec<Bits>)>,
    /// Members of the program's value sets.
    pub value_sets: Vec<(Name, Vec<Match>)>,
    /// Multicast groups: ports with replica ids.
    pub groups: Vec<(u32, Vec<(u32, u16)>)>,
    /// Clone sessions.
    pub sessions: Vec<(u32, Session)>,
}

impl Setup {
    /// Table entries alone.
    pub fn with_entries(entries: Vec<EntrySpec>) -> Setup {
        Setup { entries, ..Setup::default() }
    }
}

/// Draws all of it; up to `most` entries for each key of a table.
pub fn setup(program: &Program, pool: &mut Pool, most: usize, rng: &Rng) -> Setup {
    let entries = entries(program, pool, most, &mut rng.split("entries"));
    let mut rng = rng.split("setup");
    let mut defaults = vec![];
    for control in &program.controls {
        for table in control.tables.iter().filter(|t| !t.default_action.is_const) {
            if rng.chance(1, 4) {
                defaults.extend(default_action(program, control, table, pool, &mut rng));
            }
        }
    }
    let value_sets = program.parsers.iter().flat_map(|p| &p.value_sets).flat_map(|set| {
        let count = rng.between(0, set.size.min(4));
        let members: Vec<_> = (0..count).filter_map(|_| member(program, &set.ty, pool, &mut rng)).collect();
        members.into_iter().map(|m| (set.control_plane_name.clone(), m)).collect::<Vec<_>>()
    });
    let value_sets = value_sets.collect();
    let numbers = |values: Vec<Bits>| values.into_iter().filter_map(|v| v.to_u32()).take(MOST);
    // `mcast_grp` has 16 bits, the session of a clone 32, of which BMv2 sees 15.
    let group_numbers: Vec<u32> = numbers(pool.known(16)).filter(|n| *n != 0).collect();
    let session_numbers: Vec<u32> = numbers(pool.known(32)).map(|n| n & 0x7fff).collect();
    let groups: Vec<_> = group_numbers
        .into_iter()
        .map(|group| {
            let count = rng.index(4);
            (group, (0..count).map(|_| (pool.port(&mut rng), rng.index(5) as u16)).collect())
        })
        .collect();
    let sessions = session_numbers
        .into_iter()
        .map(|session| {
            let port = (!rng.chance(1, 4)).then(|| pool.port(&mut rng));
            let group = rng.chance(1, 3).then(|| rng.pick(&groups).map(|(g, _): &(u32, _)| *g)).flatten();
            (session, Session { port, group, ..Session::default() })
        })
        .collect();
    Setup { entries, defaults, value_sets, groups, sessions }
}

/// Lets sessions truncate clones, some of them within the packet's headers.
pub fn truncate_clones(setup: &mut Setup, rng: &Rng) {
    let mut rng = rng.split("truncated");
    for (_, session) in &mut setup.sessions {
        let most = if rng.chance(1, 2) { 40 } else { 160 };
        session.max_length = rng.chance(1, 2).then(|| rng.between(1, most) as u32);
    }
}

/// A member of a value set: one value for each field of its type.
fn member(program: &Program, ty: &Type, pool: &mut Pool, rng: &mut Rng) -> Option<Vec<Match>> {
    let fields = program.fields(ty);
    let types: Vec<Type> = match (ty, fields.is_empty()) {
        (Type::Tuple(parts), _) => parts.clone(),
        (_, true) => vec![ty.clone()],
        (_, false) => fields.iter().map(|f| f.ty.clone()).collect(),
    };
    types.iter().map(|ty| Some(Match::Exact(pool.draw(width(program, ty)?, rng)))).collect()
}
