//! The Thrift services: from a call to its reply.
//!
//! The state that BMv2's clients see beyond P4Runtime's is kept here: handles of entries ([`Handles`]) and nodes of multicast groups. It is
//! derived again from the switch where a P4Runtime controller has changed something.

use crate::call::{Answer, Application, Args, Refusal, code, declared, unable, why};
use crate::catalog::{Named, find};
use crate::description::description;
use crate::entry::error;
use crate::handles::Handles;
use crate::multicast::Nodes;
use crate::switch::Switch;
use crate::wire::{Fields, Kind, Message, Value};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::{P4Info, Table};
use p4runtime_proto::p4::v1::{Entity, TableEntry, Update, entity::Entity as Of, update};
use p4runtime_server::Status;

/// Facts about the process that clients can query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// P4Runtime's device id.
    pub device_id: u64,
    /// TCP port of the Thrift services.
    pub thrift_port: u16,
    /// Nanomsg address at which digests are published.
    pub notifications: Option<String>,
}

/// All services of one switch.
pub struct Services<S> {
    pub(crate) switch: S,
    pub(crate) about: About,
    /// P4Info of the program; empty without one.
    pub(crate) info: P4Info,
    pub(crate) has_program: bool,
    /// The program as JSON.
    pub(crate) config: String,
    pub(crate) handles: Handles,
    pub(crate) nodes: Nodes,
}

impl<S: Switch> Services<S> {
    /// Services of a switch that may have no program yet.
    pub fn new(switch: S, about: About) -> Services<S> {
        Services {
            switch,
            about,
            info: P4Info::default(),
            has_program: false,
            config: String::new(),
            handles: Handles::default(),
            nodes: Nodes::default(),
        }
    }

    /// Does a call; its reply, if it wants one.
    pub fn handle(&mut self, call: &Message) -> Option<Message> {
        // `SERVICE:METHOD`; a method belongs to one service.
        let (service, method) = call.name.split_once(':').unwrap_or(("standard", &call.name));
        let answer = self.refresh().and_then(|()| self.call(service, method, &Args(&call.fields)));
        if let Err(Refusal::Declared(_, why) | Refusal::Application(_, why)) = &answer {
            self.switch.note(method, why);
        }
        if call.kind == Kind::Oneway {
            return None;
        }
        let (kind, fields): (Kind, Fields) = match answer {
            Ok(Value::Struct(none)) if none.is_empty() => (Kind::Reply, vec![]),
            Ok(value) => (Kind::Reply, vec![(0, value)]),
            Err(Refusal::Declared(code, _)) => {
                (Kind::Reply, vec![(1, Value::Struct(vec![(1, Value::I32(code))]))])
            }
            Err(Refusal::Application(of, why)) => {
                (Kind::Exception, vec![(1, Value::text(why)), (2, Value::I32(of as i32))])
            }
        };
        Some(Message { kind, name: method.to_string(), sequence: call.sequence, fields })
    }

    /// Drops state that belongs to a replaced program.
    fn refresh(&mut self) -> Answer<()> {
        let program = self.switch.p4info().or_else(|status| unable(status.message))?;
        let has_program = program.is_some();
        let info = program.unwrap_or_default();
        if info != self.info || has_program != self.has_program || self.config.is_empty() {
            let calculations = self.switch.calculations().or_else(|status| unable(status.message))?;
            self.config = description(&info, &calculations, None);
            (self.info, self.has_program) = (info, has_program);
            self.handles = Handles::default();
            self.nodes = Nodes::default();
            self.forget_digests();
        }
        Ok(())
    }

    pub(crate) fn forget_digests(&mut self) {
        self.switch.learning(&mut |learning| {
            learning.reset();
            None
        });
    }

    fn call(&mut self, service: &str, method: &str, args: &Args<'_>) -> Answer {
        let found = match service {
            "standard" => match method.split('_').nth(1) {
                Some("mt") if method.starts_with("bm_mt_act_prof_") => self.profiles(method, args),
                Some("mt") => self.tables(method, args),
                Some("counter" | "meter" | "register" | "parse") => self.objects(method, args),
                _ => self.management(method, args),
            },
            "simple_pre" | "simple_pre_lag" => self.multicast(method, args),
            "simple_switch" => self.simple_switch(method, args),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let why = format!("there is no method `{method}` in service `{service}`");
            Err(Refusal::Application(Application::UnknownMethod, why))
        })
    }

    /// The table with this name.
    pub(crate) fn table(&self, name: &str) -> Answer<Table> {
        match find(&self.info.tables, name) {
            Some(table) => Ok(table.clone()),
            None => declared(error::INVALID_TABLE_NAME, format!("there is no table `{name}`")),
        }
    }

    pub(crate) fn read(&mut self, query: Of) -> Result<Vec<Of>, Status> {
        let found = self.switch.read(vec![Entity { entity: Some(query) }])?;
        Ok(found.into_iter().filter_map(|entity| entity.entity).collect())
    }

    pub(crate) fn write(&mut self, how: update::Type, what: Of) -> Result<(), Status> {
        self.switch.write(vec![updated(how, what)])
    }

    /// The entries of a table.
    pub(crate) fn entries(&mut self, table: &Table) -> Answer<Vec<TableEntry>> {
        let query = TableEntry { table_id: table.id(), ..TableEntry::default() };
        let query = match table.idle_timeout_behavior {
            0 => query,
            _ => TableEntry { time_since_last_hit: Some(Default::default()), ..query },
        };
        let found = self.read(Of::TableEntry(query)).or_else(|status| table_error(&status))?;
        let entry = |of| match of {
            Of::TableEntry(entry) if !entry.is_default_action => Some(entry),
            _ => None,
        };
        Ok(found.into_iter().filter_map(entry).collect())
    }

    /// The entries of a table with their handles. A handle stays with its entry.
    pub(crate) fn handled(&mut self, table: &Table) -> Answer<Vec<(u32, TableEntry)>> {
        let entries = self.entries(table)?;
        Ok(self.handles.note(table.id(), entries))
    }

    /// The entry with a handle.
    pub(crate) fn entry(&mut self, table: &Table, handle: u32) -> Answer<TableEntry> {
        if self.handles.key(table.id(), handle).is_none() {
            self.handled(table)?;
        }
        let gone = || format!("`{}` has no entry {handle}", table.name());
        let Some(key) = self.handles.key(table.id(), handle) else {
            return declared(error::INVALID_HANDLE, gone());
        };
        let query = match table.idle_timeout_behavior {
            0 => key.clone(),
            _ => TableEntry { time_since_last_hit: Some(Default::default()), ..key.clone() },
        };
        let found = self.read(Of::TableEntry(query)).or_else(|status| table_error(&status))?;
        match found.into_iter().next() {
            Some(Of::TableEntry(entry)) => Ok(entry),
            _ => {
                self.handles.forget(table.id(), handle);
                declared(error::INVALID_HANDLE, gone())
            }
        }
    }
}

/// An update.
pub(crate) fn updated(how: update::Type, what: Of) -> Update {
    Update { r#type: how as i32, entity: Some(Entity { entity: Some(what) }) }
}

/// A status as `InvalidTableOperation`.
pub(crate) fn table_error<T>(status: &Status) -> Answer<T> {
    let code = match code(status) {
        Code::AlreadyExists => error::DUPLICATE_ENTRY,
        Code::ResourceExhausted => error::TABLE_FULL,
        Code::NotFound => error::INVALID_HANDLE,
        Code::InvalidArgument | Code::OutOfRange => error::BAD_MATCH_KEY,
        Code::PermissionDenied => error::IMMUTABLE_TABLE_ENTRIES,
        _ => error::ERROR,
    };
    declared(code, why(status))
}
