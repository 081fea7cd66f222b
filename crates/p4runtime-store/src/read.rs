//! Queries (P4Runtime 1.5, section 13): a message with holes to all entities that fit it, in canonical form.

use crate::action;
use crate::catalog::Described;
use crate::change::{Entry, Run};
use crate::fault::{Result, Within, fault, not_supported};
use crate::store::Store;
use crate::{data, matches, number, object, profile, replication};
use control_writes::{Count, Data, EntryKey, Rates};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::table::IdleTimeoutBehavior;
use p4runtime_proto::p4::config::v1::table_action_call::Argument;
use p4runtime_proto::p4::config::v1::{Table, TableActionCall};
use p4runtime_proto::p4::v1::{
    self, ActionProfileAction, ActionProfileActionSet, ActionProfileGroup, ActionProfileMember,
    CloneSessionEntry, CounterData, CounterEntry, DigestEntry, DirectCounterEntry, DirectMeterEntry, Index,
    MeterEntry, MulticastGroupEntry, P4Data, PacketReplicationEngineEntry, RegisterEntry, TableAction,
    TableEntry, ValueSetEntry, ValueSetMember, action_profile_group, entity::Entity, p4_data,
    packet_replication_engine_entry as pre, table_action, table_entry::IdleTimeout,
};
use std::ops::{Range, RangeInclusive};

/// Limit on the cells of an object that one query reads.
const MOST_CELLS: i64 = 1 << 21;

/// What the data plane has written; asked only about what is there.
pub trait Live {
    /// A cell of a counter.
    fn counter(&self, counter: u32, index: u64) -> Result<Count>;
    /// Cells of a counter, among these: at least those that are not zero.
    fn counters(&self, counter: u32, mut cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        cells.try_for_each(|cell| self.counter(counter, cell).map(|count| give(cell, count)))
    }
    /// The same of a register.
    fn registers(&self, register: u32, mut cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        cells.try_for_each(|cell| self.register(register, cell).map(|data| give(cell, data)))
    }
    /// The direct counter of an entry.
    fn direct_counter(&self, table: u32, key: &EntryKey) -> Result<Count>;
    /// A cell of a register.
    fn register(&self, register: u32, index: u64) -> Result<Data>;
    /// Nanoseconds since an entry was hit or made.
    fn since_last_hit(&self, table: u32, key: &EntryKey) -> Result<u64>;
}

/// What has cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indexed {
    /// A counter.
    Counter(u32),
    /// A meter.
    Meter(u32),
    /// A register.
    Register(u32),
}

/// Which cells are wanted of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Each of them, as P4Runtime reads them. There is a limit on how many.
    All,
    /// Those that have been written: what is zero, or has no rates, is left out.
    Written,
}

impl Store {
    /// The objects all cells of which a query asks for, with how many these are: [`read_cells`](Store::read_cells) reads some at a
    /// time. Nothing for other queries.
    pub fn cells(&self, query: &v1::Entity, wanted: Wanted) -> Result<Option<Vec<(Indexed, u64)>>> {
        if wanted == Wanted::All {
            self.refuse_endless(query)?;
        }
        let info = self.catalog.info();
        let size = |size: i64| u64::try_from(size).unwrap_or(0);
        let all = match &query.entity {
            Some(Entity::CounterEntry(q)) if q.counter_id == 0 || q.index.is_none() => {
                self.known(q.counter_id, |id| self.catalog.counter(id)).within("counter_entry")?;
                let all = info.counters.iter().filter(|counter| is(q.counter_id, counter.id()));
                all.map(|counter| (Indexed::Counter(counter.id()), size(counter.size))).collect()
            }
            // As a query for something else, this is refused.
            Some(Entity::MeterEntry(q))
                if q.counter_data.is_none() && (q.meter_id == 0 || q.index.is_none()) =>
            {
                self.known(q.meter_id, |id| self.catalog.meter(id)).within("meter_entry")?;
                let all = info.meters.iter().filter(|meter| is(q.meter_id, meter.id()));
                all.map(|meter| (Indexed::Meter(meter.id()), size(meter.size))).collect()
            }
            Some(Entity::RegisterEntry(q)) if q.register_id == 0 || q.index.is_none() => {
                self.known(q.register_id, |id| self.catalog.register(id)).within("register_entry")?;
                let all = info.registers.iter().filter(|register| is(q.register_id, register.id()));
                all.map(|register| (Indexed::Register(register.id()), size(register.size.into()))).collect()
            }
            _ => return Ok(None),
        };
        Ok(Some(all))
    }

    fn known<T>(&self, id: u32, find: impl Fn(u32) -> Result<T>) -> Result<()> {
        if id == 0 { Ok(()) } else { find(id).map(drop) }
    }

    /// Gives `out` some cells of an object.
    pub fn read_cells(
        &self,
        of: Indexed,
        cells: Range<u64>,
        wanted: Wanted,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let index = |cell: u64| Some(Index { index: number(cell) });
        let mut give = |entity: Entity| out(v1::Entity { entity: Some(entity) });
        match (of, wanted) {
            (Indexed::Counter(counter_id), Wanted::All) => {
                for cell in cells {
                    let query = CounterEntry { counter_id, index: index(cell), data: None };
                    self.read_counters(&query, live, &mut give)?;
                }
                Ok(())
            }
            (Indexed::Counter(counter_id), Wanted::Written) => {
                live.counters(counter_id, cells, &mut |cell, count| {
                    if count == Count::default() {
                        return;
                    }
                    let data = Some(counter_data(count));
                    give(Entity::CounterEntry(CounterEntry { counter_id, index: index(cell), data }));
                })
            }
            (Indexed::Meter(meter_id), Wanted::All) => {
                for cell in cells {
                    let query = MeterEntry { meter_id, index: index(cell), ..MeterEntry::default() };
                    self.read_meters(&query, &mut give)?;
                }
                Ok(())
            }
            (Indexed::Meter(meter_id), Wanted::Written) => {
                for ((_, cell), rates) in self.meters.range((meter_id, cells.start)..(meter_id, cells.end)) {
                    let (index, config) = (index(*cell), Some(object::config(rates)));
                    give(Entity::MeterEntry(MeterEntry { meter_id, index, config, counter_data: None }));
                }
                Ok(())
            }
            (Indexed::Register(register_id), Wanted::All) => {
                for cell in cells {
                    let query = RegisterEntry { register_id, index: index(cell), data: None };
                    self.read_registers(&query, live, &mut give)?;
                }
                Ok(())
            }
            (Indexed::Register(register_id), Wanted::Written) => {
                let spec = self.catalog.register(register_id)?.type_spec.as_ref();
                let mut done = Ok(());
                live.registers(register_id, cells, &mut |cell, value| match data::encode(
                    &self.catalog,
                    spec,
                    &value,
                ) {
                    Ok(data) if is_zero(&data) => {}
                    Ok(data) => {
                        let (index, data) = (index(cell), Some(data));
                        give(Entity::RegisterEntry(RegisterEntry { register_id, index, data }));
                    }
                    Err(fault) => done = Err(fault),
                })?;
                done
            }
        }
    }

    /// Gives `out` the cells of all objects of a kind that have been written.
    fn read_written_cells(
        &self,
        kind: Entity,
        live: &dyn Live,
        out: &mut dyn FnMut(v1::Entity),
    ) -> Result<()> {
        let all = self.cells(&v1::Entity { entity: Some(kind) }, Wanted::Written)?;
        let mut all = all.unwrap_or_default().into_iter();
        all.try_for_each(|(of, size)| self.read_cells(of, 0..size, Wanted::Written, live, out))
    }

    /// Gives `out` all entities that fit `query`.
    pub fn read(&self, query: &v1::Entity, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let mut give = |entity: Entity| out(v1::Entity { entity: Some(entity) });
        self.refuse_endless(query)?;
        match &query.entity {
            None => fault("a query for nothing", "it names no kind of entity"),
            Some(Entity::TableEntry(q)) => self.read_entries(q, live, &mut give).within("table_entry"),
            Some(Entity::ActionProfileMember(q)) => {
                self.read_members(q, &mut give).within("action_profile_member")
            }
            Some(Entity::ActionProfileGroup(q)) => {
                self.read_groups(q, &mut give).within("action_profile_group")
            }
            Some(Entity::CounterEntry(q)) => self.read_counters(q, live, &mut give).within("counter_entry"),
            Some(Entity::DirectCounterEntry(q)) => {
                self.read_direct_counters(q, live, &mut give).within("direct_counter_entry")
            }
            Some(Entity::MeterEntry(q)) => self.read_meters(q, &mut give).within("meter_entry"),
            Some(Entity::DirectMeterEntry(q)) => {
                self.read_direct_meters(q, &mut give).within("direct_meter_entry")
            }
            Some(Entity::RegisterEntry(q)) => {
                self.read_registers(q, live, &mut give).within("register_entry")
            }
            Some(Entity::ValueSetEntry(q)) => self.read_value_sets(q, &mut give).within("value_set_entry"),
            Some(Entity::DigestEntry(q)) => self.read_digests(q, &mut give).within("digest_entry"),
            Some(Entity::PacketReplicationEngineEntry(q)) => {
                self.read_replication(q, &mut give).within("packet_replication_engine_entry")
            }
            Some(Entity::ExternEntry(q)) if q.extern_type_id == 0 => Ok(()),
            Some(Entity::ExternEntry(_)) => not_supported("entries of other externs").within("extern_entry"),
        }
    }

    /// Refuses to read all cells of an object that has too many.
    fn refuse_endless(&self, query: &v1::Entity) -> Result<()> {
        let info = self.catalog.info();
        let few = |kind: &'static str,
                   wanted: u32,
                   index: Option<&Index>,
                   all: &mut dyn Iterator<Item = (u32, i64)>| {
            let asked = all.filter(|(id, _)| is(wanted, *id) && (wanted == 0 || index.is_none()));
            match asked.map(|(_, cells)| cells).find(|cells| *cells > MOST_CELLS) {
                None => Ok(()),
                Some(cells) => fault(
                    "too many cells for one read",
                    format!("{cells}: at most {MOST_CELLS} are read at once"),
                )
                .code(Code::ResourceExhausted)
                .help(|| Some("read single cells, each by its `index`".to_string()))
                .within(kind),
            }
        };
        match &query.entity {
            Some(Entity::CounterEntry(q)) => {
                let mut all = info.counters.iter().map(|counter| (counter.id(), counter.size));
                few("counter_entry", q.counter_id, q.index.as_ref(), &mut all)
            }
            Some(Entity::MeterEntry(q)) => {
                let mut all = info.meters.iter().map(|meter| (meter.id(), meter.size));
                few("meter_entry", q.meter_id, q.index.as_ref(), &mut all)
            }
            Some(Entity::RegisterEntry(q)) => {
                let mut all = info.registers.iter().map(|register| (register.id(), i64::from(register.size)));
                few("register_entry", q.register_id, q.index.as_ref(), &mut all)
            }
            _ => Ok(()),
        }
    }

    /// Gives `out` all that a controller has written, in an order in which it can be written again: what is named
    /// comes first. Cells of counters and registers that are zero are left out.
    pub fn read_written(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let mut give = |entity: Entity| {
            if !is_kind_unwritten(&entity) {
                out(v1::Entity { entity: Some(entity) });
            }
        };
        self.read_members(&ActionProfileMember::default(), &mut give)?;
        self.read_groups(&ActionProfileGroup::default(), &mut give)?;
        let asked = |query: TableEntry| TableEntry {
            meter_config: Some(v1::MeterConfig::default()),
            counter_data: Some(CounterData::default()),
            ..query
        };
        self.read_entries(&asked(TableEntry::default()), live, &mut give)?;
        for (table, _) in self.tables.iter().filter(|(_, state)| state.default.call.is_some()) {
            give(Entity::TableEntry(self.default_message(self.catalog.table(*table)?)));
        }
        // A default action may be the program's, and constant, and what it has of direct objects the controller's.
        let meters = DirectMeterEntry { table_entry: Some(defaults()), ..DirectMeterEntry::default() };
        self.read_direct_meters(&meters, &mut give)?;
        let counters = DirectCounterEntry { table_entry: Some(defaults()), data: None };
        self.read_direct_counters(&counters, live, &mut give)?;
        let mut replication =
            |kind| self.read_replication(&PacketReplicationEngineEntry { r#type: Some(kind) }, &mut give);
        replication(pre::Type::MulticastGroupEntry(MulticastGroupEntry::default()))?;
        replication(pre::Type::CloneSessionEntry(CloneSessionEntry::default()))?;
        self.read_value_sets(&ValueSetEntry::default(), &mut give)?;
        self.read_digests(&DigestEntry::default(), &mut give)?;
        self.read_written_cells(Entity::MeterEntry(MeterEntry::default()), live, out)?;
        self.read_written_cells(Entity::CounterEntry(CounterEntry::default()), live, out)?;
        self.read_written_cells(Entity::RegisterEntry(RegisterEntry::default()), live, out)
    }

    /// Gives `out` what controllers have written that matches values or has action data, without what the data plane writes.
    pub(crate) fn read_kept(&self, out: &mut dyn FnMut(v1::Entity)) {
        let mut give = |entity: Entity| out(v1::Entity { entity: Some(entity) });
        // Asked for all of a kind, these have no faults.
        let _ = self.read_members(&ActionProfileMember::default(), &mut give);
        let _ = self.read_value_sets(&ValueSetEntry::default(), &mut give);
        for table in &self.catalog.info().tables {
            for (key, entry) in self.entries(table.id()) {
                give(Entity::TableEntry(self.plain_entry(table, key, entry)));
            }
            if self.default_entry(table.id()).call.is_some() {
                give(Entity::TableEntry(self.default_message(table)));
            }
        }
    }

    /// Gives `out` what the data plane has written and controllers can write too, but for what is zero.
    pub fn read_counted(&self, live: &dyn Live, out: &mut dyn FnMut(v1::Entity)) -> Result<()> {
        let mut give = |entity: Entity| {
            if !is_kind_unwritten(&entity) {
                out(v1::Entity { entity: Some(entity) });
            }
        };
        self.read_direct_counters(&DirectCounterEntry::default(), live, &mut give)?;
        let of_defaults = DirectCounterEntry { table_entry: Some(defaults()), data: None };
        self.read_direct_counters(&of_defaults, live, &mut give)?;
        self.read_written_cells(Entity::CounterEntry(CounterEntry::default()), live, out)?;
        self.read_written_cells(Entity::RegisterEntry(RegisterEntry::default()), live, out)
    }

    fn read_entries(&self, query: &TableEntry, live: &dyn Live, give: &mut dyn FnMut(Entity)) -> Result<()> {
        let tables: Vec<&Table> = match query.table_id {
            0 => self.catalog.info().tables.iter().collect(),
            id => vec![self.catalog.table(id)?],
        };
        for table in tables {
            let asked = |known: &Table| query.table_id == known.id();
            if asked(table) {
                self.refuse_impossible(table, query)?;
            }
            if query.is_default_action {
                give(Entity::TableEntry(self.default_entry_message(table, query, live)?));
                continue;
            }
            let one = (asked(table) && !query.r#match.is_empty())
                .then(|| matches::decode(&table.match_fields, &query.r#match));
            let one = one.transpose()?;
            let mut consider = |(key, entry): (&EntryKey, &Entry)| -> Result<()> {
                if fits(query, key, entry) {
                    give(Entity::TableEntry(self.entry_message(table, key, entry, query, live)?));
                }
                Ok(())
            };
            match one {
                Some(matches) => self.entries_with(table.id(), &matches).try_for_each(&mut consider)?,
                None => self.entries(table.id()).try_for_each(&mut consider)?,
            }
        }
        Ok(())
    }

    fn refuse_impossible(&self, table: &Table, query: &TableEntry) -> Result<()> {
        if query.time_since_last_hit.is_some()
            && table.idle_timeout_behavior() == IdleTimeoutBehavior::NoTimeout
        {
            return fault("entries of this table do not time out", "the source says no `support_timeout`")
                .within("time_since_last_hit");
        }
        if query.meter_counter_data.is_some() {
            return not_supported("counters of meters").within("meter_counter_data");
        }
        if query.is_default_action
            && query.counter_data.is_some()
            && self.catalog.direct_counter(query.table_id).is_some()
        {
            return self.catalog.may_count_misses().within("counter_data");
        }
        Ok(())
    }

    /// The default entry of a table, the controller's or the program's, with what the data plane has written where `query` asks
    /// for it.
    pub(crate) fn default_entry_message(
        &self,
        table: &Table,
        query: &TableEntry,
        live: &dyn Live,
    ) -> Result<TableEntry> {
        let mut message = self.default_message(table);
        if self.catalog.counts_misses() {
            let rates = self.default_entry(table.id()).meter.as_ref();
            self.add_direct(&mut message, &EntryKey::of_default(), rates, query, live)?;
        }
        Ok(message)
    }

    /// True if an entry says of the default entry of its table what this store does, direct objects aside.
    pub fn is_initial_default(&self, entry: &TableEntry) -> bool {
        let own = self.catalog.table(entry.table_id).map(|table| self.default_message(table));
        #[allow(deprecated)]
        own.is_ok_and(|own| {
            own.action == entry.action
                && own.metadata == entry.metadata
                && own.controller_metadata == entry.controller_metadata
        })
    }

    /// The same, without what is direct.
    fn default_message(&self, table: &Table) -> TableEntry {
        let id = table.id();
        let set = self.default_entry(id);
        let action = match (&set.call, &table.initial_default_action) {
            (Some(call), _) => Some(action::encode(&self.catalog, call)),
            (None, Some(initial)) => {
                Some(v1::Action { action_id: initial.action_id, params: self.initial_params(initial) })
            }
            (None, None) if table.const_default_action_id != 0 => {
                Some(v1::Action { action_id: table.const_default_action_id, params: vec![] })
            }
            (None, None) => None,
        };
        #[allow(deprecated)]
        TableEntry {
            table_id: id,
            is_default_action: true,
            is_const: table.const_default_action_id != 0,
            action: action.map(|action| TableAction { r#type: Some(table_action::Type::Action(action)) }),
            metadata: set.metadata.clone(),
            controller_metadata: set.controller_metadata,
            ..TableEntry::default()
        }
    }

    /// The data of the program's own default action in canonical form: P4Info has it at full width.
    fn initial_params(&self, initial: &TableActionCall) -> Vec<v1::action::Param> {
        let params = self.catalog.action(initial.action_id).map_or(&[][..], |action| &action.params);
        let bits = |id| params.iter().find(|param| param.id == id).map_or(0, |param| param.bitwidth);
        let param = |arg: &Argument| v1::action::Param {
            param_id: arg.param_id,
            value: number::canonical(&arg.value, bits(arg.param_id)),
        };
        initial.arguments.iter().map(param).collect()
    }

    /// An entry as a message, with what the data plane has written where `query` asks for it.
    pub(crate) fn entry_message(
        &self,
        table: &Table,
        key: &EntryKey,
        entry: &Entry,
        query: &TableEntry,
        live: &dyn Live,
    ) -> Result<TableEntry> {
        let id = table.id();
        let mut message = self.plain_entry(table, key, entry);
        self.add_direct(&mut message, key, entry.meter.as_ref(), query, live)?;
        if query.time_since_last_hit.is_some()
            && table.idle_timeout_behavior() != IdleTimeoutBehavior::NoTimeout
        {
            let elapsed = live.since_last_hit(id, key)?;
            message.time_since_last_hit = Some(IdleTimeout { elapsed_ns: number(elapsed) });
        }
        Ok(message)
    }

    /// Adds what an entry has in direct objects, where `query` asks for it.
    fn add_direct(
        &self,
        message: &mut TableEntry,
        key: &EntryKey,
        rates: Option<&Rates>,
        query: &TableEntry,
        live: &dyn Live,
    ) -> Result<()> {
        let table = message.table_id;
        if query.meter_config.is_some() {
            message.meter_config = rates.map(object::config);
        }
        if query.counter_data.is_some() && self.catalog.direct_counter(table).is_some() {
            message.counter_data = Some(counter_data(live.direct_counter(table, key)?));
        }
        Ok(())
    }

    /// An entry as a message, without what the data plane writes.
    pub fn plain_entry(&self, table: &Table, key: &EntryKey, entry: &Entry) -> TableEntry {
        #[allow(deprecated)]
        TableEntry {
            table_id: table.id(),
            r#match: matches::encode(&table.match_fields, &key.matches),
            priority: priority(key),
            action: Some(TableAction { r#type: Some(self.run_message(&entry.run)) }),
            is_const: entry.is_const,
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            idle_timeout_ns: entry.idle_timeout_ns,
            ..TableEntry::default()
        }
    }

    fn run_message(&self, run: &Run) -> table_action::Type {
        match run {
            Run::Action(call) => table_action::Type::Action(action::encode(&self.catalog, call)),
            Run::Member(member) => table_action::Type::ActionProfileMemberId(*member),
            Run::Group(group) => table_action::Type::ActionProfileGroupId(*group),
            Run::OneShot(set) => table_action::Type::ActionProfileActionSet(ActionProfileActionSet {
                action_profile_actions: set
                    .actions
                    .iter()
                    .map(|one| ActionProfileAction {
                        action: Some(action::encode(&self.catalog, &one.call)),
                        weight: one.weight,
                        watch_kind: profile::action_watch(one.watch),
                    })
                    .collect(),
                size_semantics: profile::size_message(set.size_semantics) as i32,
                action_selection_mode: profile::mode_message(set.selection_mode) as i32,
            }),
        }
    }

    fn read_members(&self, query: &ActionProfileMember, give: &mut dyn FnMut(Entity)) -> Result<()> {
        if query.action_profile_id != 0 {
            self.catalog.profile(query.action_profile_id)?;
        }
        for ((profile, member), shared) in self.members.range(pairs(query.action_profile_id, query.member_id))
        {
            if is(query.member_id, *member) {
                give(Entity::ActionProfileMember(ActionProfileMember {
                    action_profile_id: *profile,
                    member_id: *member,
                    action: Some(action::encode(&self.catalog, &shared.what)),
                }));
            }
        }
        Ok(())
    }

    fn read_groups(&self, query: &ActionProfileGroup, give: &mut dyn FnMut(Entity)) -> Result<()> {
        if query.action_profile_id != 0 {
            self.catalog.profile(query.action_profile_id)?;
        }
        for ((profile, group), shared) in self.groups.range(pairs(query.action_profile_id, query.group_id)) {
            if is(query.group_id, *group) {
                let members = shared.what.members.iter().map(|member| action_profile_group::Member {
                    member_id: member.member,
                    weight: member.weight,
                    watch_kind: profile::member_watch(member.watch),
                });
                give(Entity::ActionProfileGroup(ActionProfileGroup {
                    action_profile_id: *profile,
                    group_id: *group,
                    members: members.collect(),
                    max_size: shared.what.max_size,
                }));
            }
        }
        Ok(())
    }

    fn read_counters(
        &self,
        query: &CounterEntry,
        live: &dyn Live,
        give: &mut dyn FnMut(Entity),
    ) -> Result<()> {
        let counters = match query.counter_id {
            0 => self.catalog.info().counters.iter().collect(),
            id => vec![self.catalog.counter(id)?],
        };
        for counter in counters {
            let index = query.index.as_ref().filter(|_| query.counter_id != 0);
            for cell in
                object::cells(index, counter.size).about(|| format!("counter `{}`", counter.name()))?
            {
                let data = Some(counter_data(live.counter(counter.id(), cell)?));
                let index = Some(Index { index: number(cell) });
                give(Entity::CounterEntry(CounterEntry { counter_id: counter.id(), index, data }));
            }
        }
        Ok(())
    }

    /// The entries that a query about something direct means: one, those of a table, or all. As of table entries (P4Runtime
    /// §9.1), default entries are meant by `is_default_action` alone.
    fn direct_entries(
        &self,
        query: Option<&TableEntry>,
        has: impl Fn(u32) -> bool,
    ) -> Result<Vec<(&Table, EntryKey)>> {
        let query = query.cloned().unwrap_or_default();
        if query.table_id != 0 && (query.is_default_action || !query.r#match.is_empty()) {
            let (table, key) = object::direct_entry(self, Some(&query))?;
            let known = self.catalog.table(table)?;
            return match has(table) {
                true => Ok(vec![(known, key)]),
                false => {
                    fault("the table has no such thing", "nothing direct of this kind").within("table_entry")
                }
            };
        }
        let tables: Vec<&Table> = match query.table_id {
            0 => self.catalog.info().tables.iter().filter(|table| has(table.id())).collect(),
            id => vec![self.catalog.table(id).within("table_entry")?],
        };
        let wanted = |key: &EntryKey| query.priority == 0 || i64::from(query.priority) == key.priority;
        let mut found = vec![];
        for table in tables.into_iter().filter(|table| has(table.id())) {
            if query.is_default_action {
                let of_default = self.catalog.counts_misses().then(EntryKey::of_default).filter(wanted);
                found.extend(of_default.map(|key| (table, key)));
            } else {
                let keys = self.entries(table.id()).map(|(key, _)| key).filter(|key| wanted(key));
                found.extend(keys.map(|key| (table, key.clone())));
            }
        }
        Ok(found)
    }

    fn read_direct_counters(
        &self,
        query: &DirectCounterEntry,
        live: &dyn Live,
        give: &mut dyn FnMut(Entity),
    ) -> Result<()> {
        let has = |table| self.catalog.direct_counter(table).is_some();
        for (table, key) in self.direct_entries(query.table_entry.as_ref(), has)? {
            let data = Some(counter_data(live.direct_counter(table.id(), &key)?));
            let table_entry = Some(key_message(table, &key));
            give(Entity::DirectCounterEntry(DirectCounterEntry { table_entry, data }));
        }
        Ok(())
    }

    fn read_meters(&self, query: &MeterEntry, give: &mut dyn FnMut(Entity)) -> Result<()> {
        if query.counter_data.is_some() {
            return not_supported("counters of meters").within("counter_data");
        }
        let meters = match query.meter_id {
            0 => self.catalog.info().meters.iter().collect(),
            id => vec![self.catalog.meter(id)?],
        };
        for meter in meters {
            let id = meter.id();
            let index = query.index.as_ref().filter(|_| query.meter_id != 0);
            for cell in object::cells(index, meter.size).about(|| format!("meter `{}`", meter.name()))? {
                let config = self.meters.get(&(id, cell)).map(object::config);
                let index = Some(Index { index: number(cell) });
                give(Entity::MeterEntry(MeterEntry { meter_id: id, index, config, counter_data: None }));
            }
        }
        Ok(())
    }

    fn read_direct_meters(&self, query: &DirectMeterEntry, give: &mut dyn FnMut(Entity)) -> Result<()> {
        if query.counter_data.is_some() {
            return not_supported("counters of meters").within("counter_data");
        }
        let has = |table| self.catalog.direct_meter(table).is_some();
        for (table, key) in self.direct_entries(query.table_entry.as_ref(), has)? {
            let rates = match key.is_of_default() {
                true => self.default_entry(table.id()).meter.as_ref(),
                false => self.entry(table.id(), &key).and_then(|entry| entry.meter.as_ref()),
            };
            let config = rates.map(object::config);
            let table_entry = Some(key_message(table, &key));
            give(Entity::DirectMeterEntry(DirectMeterEntry { table_entry, config, counter_data: None }));
        }
        Ok(())
    }

    fn read_registers(
        &self,
        query: &RegisterEntry,
        live: &dyn Live,
        give: &mut dyn FnMut(Entity),
    ) -> Result<()> {
        let registers = match query.register_id {
            0 => self.catalog.info().registers.iter().collect(),
            id => vec![self.catalog.register(id)?],
        };
        for register in registers {
            let id = register.id();
            let index = query.index.as_ref().filter(|_| query.register_id != 0);
            let cells = object::cells(index, i64::from(register.size));
            for cell in cells.about(|| format!("register `{}`", register.name()))? {
                let value = live.register(id, cell)?;
                let data = Some(data::encode(&self.catalog, register.type_spec.as_ref(), &value)?);
                let index = Some(Index { index: number(cell) });
                give(Entity::RegisterEntry(RegisterEntry { register_id: id, index, data }));
            }
        }
        Ok(())
    }

    fn read_value_sets(&self, query: &ValueSetEntry, give: &mut dyn FnMut(Entity)) -> Result<()> {
        let sets = match query.value_set_id {
            0 => self.catalog.info().value_sets.iter().collect(),
            id => vec![self.catalog.value_set(id)?],
        };
        for set in sets {
            let members = self.value_sets.get(&set.id()).into_iter().flatten();
            let members =
                members.map(|member| ValueSetMember { r#match: matches::encode(&set.r#match, member) });
            let members = members.collect();
            give(Entity::ValueSetEntry(ValueSetEntry { value_set_id: set.id(), members }));
        }
        Ok(())
    }

    fn read_digests(&self, query: &DigestEntry, give: &mut dyn FnMut(Entity)) -> Result<()> {
        if query.digest_id != 0 {
            self.catalog.digest(query.digest_id)?;
        }
        for (digest, config) in &self.digests {
            if is(query.digest_id, *digest) {
                let config = Some(object::digest_config(config));
                give(Entity::DigestEntry(DigestEntry { digest_id: *digest, config }));
            }
        }
        Ok(())
    }

    fn read_replication(
        &self,
        query: &PacketReplicationEngineEntry,
        give: &mut dyn FnMut(Entity),
    ) -> Result<()> {
        let mut entry = |kind| {
            give(Entity::PacketReplicationEngineEntry(PacketReplicationEngineEntry { r#type: Some(kind) }))
        };
        match &query.r#type {
            None => {
                return fault(
                    "a query for nothing",
                    "it is neither for multicast groups nor for clone sessions",
                );
            }
            Some(pre::Type::MulticastGroupEntry(query)) => {
                for (group, to) in self.multicast.range(one_or_all(query.multicast_group_id)) {
                    entry(pre::Type::MulticastGroupEntry(MulticastGroupEntry {
                        multicast_group_id: *group,
                        replicas: replication::encode(&to.replicas),
                        metadata: to.metadata.clone(),
                    }));
                }
            }
            Some(pre::Type::CloneSessionEntry(query)) => {
                for (session, to) in self.sessions.range(one_or_all(query.session_id)) {
                    entry(pre::Type::CloneSessionEntry(CloneSessionEntry {
                        session_id: *session,
                        replicas: replication::encode(&to.replicas),
                        class_of_service: to.class_of_service.into(),
                        packet_length_bytes: i32::try_from(to.packet_length_bytes).unwrap_or(i32::MAX),
                    }));
                }
            }
        }
        Ok(())
    }
}

/// The query for the default entries of all tables.
fn defaults() -> TableEntry {
    TableEntry { is_default_action: true, ..TableEntry::default() }
}

/// True for what is as it is on a device that was just built, default entries left aside.
pub fn is_unwritten(entity: &v1::Entity) -> bool {
    entity.entity.as_ref().is_none_or(is_kind_unwritten)
}

fn is_kind_unwritten(entity: &Entity) -> bool {
    match entity {
        Entity::TableEntry(e) => e.is_const,
        Entity::ValueSetEntry(e) => e.members.is_empty(),
        Entity::MeterEntry(e) => e.config.is_none(),
        Entity::DirectMeterEntry(e) => e.config.is_none(),
        Entity::CounterEntry(e) => e.data.unwrap_or_default() == CounterData::default(),
        Entity::DirectCounterEntry(e) => e.data.unwrap_or_default() == CounterData::default(),
        Entity::RegisterEntry(e) => e.data.as_ref().is_none_or(is_zero),
        _ => false,
    }
}

/// Zero in all its parts. Enums and errors have no zero that is known here.
fn is_zero(data: &P4Data) -> bool {
    let zero = |bytes: &Vec<u8>| bytes.iter().all(|byte| *byte == 0);
    match &data.data {
        Some(p4_data::Data::Bitstring(bytes) | p4_data::Data::EnumValue(bytes)) => zero(bytes),
        Some(p4_data::Data::Bool(value)) => !value,
        Some(p4_data::Data::Tuple(parts) | p4_data::Data::Struct(parts)) => parts.members.iter().all(is_zero),
        Some(p4_data::Data::Header(header)) => !header.is_valid && header.bitstrings.iter().all(zero),
        _ => false,
    }
}

/// A zero asks for all.
fn is(wanted: u32, id: u32) -> bool {
    wanted == 0 || wanted == id
}

/// The keys that a zero, which asks for all, or another number means.
fn one_or_all(wanted: u32) -> RangeInclusive<u32> {
    if wanted == 0 { 0..=u32::MAX } else { wanted..=wanted }
}

/// The same of keys of two numbers, as far as they are next to one another.
fn pairs(first: u32, second: u32) -> RangeInclusive<(u32, u32)> {
    match (first, second) {
        (0, _) => (0, 0)..=(u32::MAX, u32::MAX),
        (first, second) => {
            let seconds = one_or_all(second);
            (first, *seconds.start())..=(first, *seconds.end())
        }
    }
}

fn fits(query: &TableEntry, key: &EntryKey, entry: &Entry) -> bool {
    if query.table_id == 0 {
        return true;
    }
    let action = match query.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(wanted)) => match &entry.run {
            Run::Action(call) => wanted.action_id == 0 || wanted.action_id == call.action,
            _ => false,
        },
        _ => true,
    };
    #[allow(deprecated)]
    let cookie = query.controller_metadata == 0 || query.controller_metadata == entry.controller_metadata;
    let metadata = query.metadata.is_empty() || query.metadata == entry.metadata;
    let priority = query.priority == 0 || i64::from(query.priority) == key.priority;
    action && cookie && metadata && priority
}

fn key_message(table: &Table, key: &EntryKey) -> TableEntry {
    TableEntry {
        table_id: table.id(),
        r#match: matches::encode(&table.match_fields, &key.matches),
        priority: priority(key),
        is_default_action: key.is_of_default(),
        ..TableEntry::default()
    }
}

/// The priority as messages have it.
fn priority(key: &EntryKey) -> i32 {
    i32::try_from(key.priority).unwrap_or(i32::MAX)
}

fn counter_data(count: Count) -> CounterData {
    CounterData { packet_count: number(count.packets), byte_count: number(count.bytes) }
}

fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
