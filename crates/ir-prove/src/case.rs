//! A program and a split of it, ready to be run side by side.

use crate::environment::{Answers, Watch};
use crate::generate::{EntrySpec, Setup};
use crate::record::{Join, Map};
use crate::split_run::{Conditions, Joined, SplitRun};
use crate::whole::Whole;
use base_bits::Bits;
use base_diag::Diagnostic;
use control_writes::Match;
use dataplane_api::{Device, EntryError, Registry};
use device::{Environment, Options, PassThrough, Session, Switch};
use ir::{InstanceId, Name, Program};
use ir_split::{Linkage, PORT_BITS, Part, Placement, Policy, RuntimeName};
use ir_state::Mode;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Passes and copies that one frame may cause; a split packet takes several passes for one of the whole program.
const PASS_LIMIT: u32 = 512;

/// Bytes of the shortest frame of Ethernet, without checksum.
const SHORTEST_FRAME: usize = 60;

/// A whole program and its split.
#[derive(Clone)]
pub struct Case {
    /// The program as the user wrote it.
    pub whole: Arc<Program>,
    /// For each device of the placement.
    pub parts: Vec<Option<Part>>,
    /// Device of each region.
    pub placement: Placement,
    /// The frame externs that all devices offer.
    pub registry: Registry,
}

/// A case that could not be set up: the programs or their linkage are at fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupError {
    /// The interpreter refuses a program.
    Program(Vec<Diagnostic>),
    /// A device refuses an entry.
    Entry(EntryError),
    /// An entry's table is on no device.
    Misplaced(String),
    /// The placement's links do not go together.
    Network(device_network::BuildError),
}

impl From<EntryError> for SetupError {
    fn from(error: EntryError) -> SetupError {
        SetupError::Entry(error)
    }
}

impl Case {
    /// Sessions may truncate clones: the split program makes the same ones.
    pub fn truncates_clones(&self) -> bool {
        self.parts.iter().flatten().all(|part| part.linkage.truncates_clones)
    }

    /// The shortest frame that the proofs send. Without a header, hand-overs shorter than 60 bytes do not survive links that pad; Ethernet
    /// delivers none.
    pub(crate) fn shortest_frame(&self) -> usize {
        if self.placement.runtime == RuntimeName::Full || !self.placement.pads { 0 } else { SHORTEST_FRAME }
    }

    /// The whole program on one device for each origin, with these entries.
    pub fn wholes(&self, setup: &Setup, answers: &Answers) -> Result<Vec<Whole>, SetupError> {
        self.placement.origins().map(|_| self.whole(setup, answers)).collect()
    }

    /// The whole program on one device, with these entries.
    pub fn whole(&self, setup: &Setup, answers: &Answers) -> Result<Whole, SetupError> {
        let mut switch = self.device(&self.whole, Box::new(answers.clone()))?;
        for entry in &setup.entries {
            write(&mut switch, &self.whole, entry)?;
        }
        prepare(&mut switch, &self.whole, setup)?;
        replicate(&mut switch, setup);
        let uses = ir_split::uses_in_order(&self.whole);
        Ok(Whole::new(switch, answers.clone(), &self.reserved_ports(), uses))
    }

    /// Removes entries and members that the whole program refuses, such as duplicates of its source's.
    pub fn accepted(&self, setup: &mut Setup) -> Result<(), SetupError> {
        let mut switch = self.device(&self.whole, Box::new(PassThrough))?;
        setup.entries.retain(|entry| write(&mut switch, &self.whole, entry).is_ok());
        setup.value_sets.retain(|(set, member)| switch.value_set_add(set, member).is_ok());
        Ok(())
    }

    /// The split program on its devices, with these entries.
    pub fn split_run(&self, setup: &Setup, conditions: &Conditions) -> Result<SplitRun, SetupError> {
        let watch = Watch::default();
        let switches = self.switches(setup, &watch)?;
        let pads = self.placement.pads;
        SplitRun::new(switches, &self.joined(), self.map(), watch, conditions, pads)
            .map_err(SetupError::Network)
    }

    /// The switches of the split's devices, with these entries.
    pub(crate) fn switches(&self, setup: &Setup, watch: &Watch) -> Result<Vec<Option<Switch>>, SetupError> {
        let mut devices = vec![];
        for part in &self.parts {
            let Some(part) = part else {
                devices.push(None);
                continue;
            };
            let mut switch = self.device(&part.program, Box::new(watch.clone()))?;
            link(&mut switch, &part.linkage)?;
            prepare(&mut switch, &part.program, setup)?;
            devices.push(Some(switch));
        }
        for entry in &setup.entries {
            self.distribute(&mut devices, entry)?;
        }
        for origin in self.placement.origins() {
            if let Some(Some(switch)) = devices.get_mut(origin.0 as usize) {
                replicate(switch, setup);
            }
        }
        Ok(devices)
    }

    pub(crate) fn map(&self) -> Map {
        let first = self.parts.get(self.placement.origin().0 as usize);
        let linkage = first.and_then(|p| p.as_ref()).map(|p| p.linkage.clone()).unwrap_or_default();
        let origins = self.placement.origins().map(|d| d.0 as usize).collect();
        let has_others = |policy| matches!(policy, Policy::Failover | Policy::Group);
        let led = self.placement.sites.values().filter(|site| has_others(site.policy));
        let spares =
            led.flat_map(|site| site.devices.iter().skip(1)).map(|device| device.0 as usize).collect();
        Map { origins, spares, linkage, joined: self.joins(), ..Map::default() }
    }

    /// The state of the program's objects, of all origins together, named as in [`SplitRun::state`].
    pub fn state(&self, wholes: &[Whole]) -> BTreeMap<String, Vec<u8>> {
        let joins = self.joins();
        let mut each: Vec<_> = self.placement.origins().zip(wholes).collect();
        each.sort_by_key(|(device, _)| *device);
        let mut all: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (device, whole) in each {
            for (name, value) in whole.switch.state() {
                match (all.get_mut(&name), joins.get(name.as_str())) {
                    (Some(known), Some(join)) => *known = join.join(known, &value),
                    (Some(_), None) => drop(all.insert(format!("{name}@{}", device.0), value)),
                    (None, _) => drop(all.insert(name, value)),
                }
            }
        }
        all
    }

    /// Objects whose order of use does not show: counters, merged registers, and random numbers, which are replayed.
    fn joins(&self) -> BTreeMap<Name, Join> {
        let all = (0..self.whole.instances.len()).map(InstanceId::from);
        let join = |object: InstanceId| {
            let instance = self.whole.instance(object);
            let width = instance.type_args.first().and_then(|ty| self.whole.bits(ty));
            let join = match (ir_state::mode_of(&self.whole, object), width) {
                _ if ir_state::adds_up(&self.whole, object) => Join::Counts,
                (Mode::Merged(merge), Some(width @ 1..=128)) if ir_state::is_merged(&self.whole, object) => {
                    Join::Cells(merge, width as u32)
                }
                _ => return None,
            };
            Some((instance.control_plane_name.clone(), join))
        };
        all.filter_map(join).chain([("random".into(), Join::Counts)]).collect()
    }

    fn device(
        &self,
        program: &Arc<Program>,
        environment: Box<dyn Environment>,
    ) -> Result<Switch, SetupError> {
        let registry = self.registry.clone();
        // A packet that goes round for ever is cut off early: thousands of them are tried.
        let options =
            Options { registry, environment, pass_limit: PASS_LIMIT, has_ticks: false, ..Options::default() };
        ir_interp::switch(Arc::clone(program), options).map_err(SetupError::Program)
    }

    /// Writes an entry to every device that applies its table.
    fn distribute(&self, devices: &mut [Option<Switch>], entry: &EntrySpec) -> Result<(), SetupError> {
        let has_table = |part: &Part| {
            let mut tables = part.program.controls.iter().flat_map(|c| &c.tables);
            tables.any(|t| t.control_plane_name == entry.table)
        };
        let owners: Vec<usize> =
            (0..self.parts.len()).filter(|&i| self.parts[i].as_ref().is_some_and(has_table)).collect();
        if owners.is_empty() {
            return Err(SetupError::Misplaced(entry.table.to_string()));
        }
        for owner in owners {
            if let (Some(switch), Some(part)) = (&mut devices[owner], &self.parts[owner]) {
                write(switch, &part.program, entry)?;
            }
        }
        Ok(())
    }

    fn joined(&self) -> Joined {
        let ends = self.placement.ports.keys().flat_map(|&(a, b)| {
            let pairs = self.placement.ports_to(a, b).iter().zip(self.placement.ports_to(b, a));
            pairs.map(move |(&port, &back)| ((a.0 as usize, port as u32), (b.0 as usize, back as u32)))
        });
        ends.collect()
    }

    /// The origins' ports that join them to other devices.
    pub fn reserved_ports(&self) -> Vec<u64> {
        self.placement.origins().flat_map(|origin| self.placement.link_ports(origin)).collect()
    }
}

/// An entry of a table with a profile names a member made for it, or a group of that member and the one before.
fn write(switch: &mut Switch, program: &Program, entry: &EntrySpec) -> Result<(), EntryError> {
    let mut tables = program.controls.iter().flat_map(|c| &c.tables);
    let table = tables.find(|t| t.control_plane_name == entry.table);
    let (name, keys, priority) = (&entry.table, &entry.keys, entry.priority);
    let Some(profile) = table.and_then(|t| t.implementation) else {
        return switch.table_add(name, keys, &entry.action, &entry.args, priority).map(|_| ());
    };
    let member = switch.member_add(name, &entry.action, &entry.args)?;
    if program.extern_object(program.instance(profile).object).name == "action_selector" {
        let mut members = vec![member];
        members.extend(member.checked_sub(1));
        let group = switch.group_add(name, &members)?;
        return switch.table_add_group(name, keys, group, priority).map(|_| ());
    }
    switch.table_add_member(name, keys, member, priority).map(|_| ())
}

/// Default actions and value sets, where the program has them.
fn prepare(switch: &mut Switch, program: &Program, setup: &Setup) -> Result<(), EntryError> {
    for (table, action, args) in &setup.defaults {
        if program.controls.iter().flat_map(|c| &c.tables).any(|t| t.control_plane_name == *table) {
            switch.table_set_default(table, action, args)?;
        }
    }
    for (set, member) in &setup.value_sets {
        if program.parsers.iter().flat_map(|p| &p.value_sets).any(|s| s.control_plane_name == *set) {
            switch.value_set_add(set, member)?;
        }
    }
    Ok(())
}

/// Groups and sessions are the traffic manager's.
fn replicate(switch: &mut Switch, setup: &Setup) {
    for (group, members) in &setup.groups {
        switch.multicast_group_set(*group, members.clone());
    }
    for (session, to) in &setup.sessions {
        switch.clone_session_set(*session, Some(*to));
    }
}

/// Writes the entries of the runtime's own tables.
pub fn link(switch: &mut Switch, linkage: &Linkage) -> Result<(), EntryError> {
    for (name, members) in &linkage.value_sets {
        for &member in members {
            switch.value_set_add(name, &[Match::Exact(Bits::new(PORT_BITS, u128::from(member)))])?;
        }
    }
    for entry in &linkage.entries {
        // Devices fit values to the widths that the program says.
        let bits = |value: &u64| Bits::new(u64::BITS, u128::from(*value));
        let keys: Vec<Match> = entry.keys.iter().map(|key| Match::Exact(bits(key))).collect();
        let args: Vec<Bits> = entry.args.iter().map(bits).collect();
        switch.table_add(&entry.table, &keys, &entry.action, &args, None)?;
    }
    for &(session, port) in &linkage.sessions {
        let port = u32::try_from(port).ok();
        switch.clone_session_set(session, Some(Session { port, ..Session::default() }));
    }
    Ok(())
}
