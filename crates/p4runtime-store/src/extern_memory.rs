//! Memories of frame externs and value externs as the entries of `ExternEntry` (P4Runtime 1.5, section 9.9): one for each object, which is
//! read and written as a whole.

use crate::catalog::{Catalog, Described};
use crate::change::Change;
use crate::fault::{Result, Within, fault};
use crate::presence::only_modified;
use crate::read::Live;
use crate::store::Store;
use p4runtime_proto::Any;
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::v1::{ExternEntry, update::Type};
use p4runtime_proto::p4rack::v1::Memory;
use p4runtime_proto::{from_binary, to_binary};

/// Type of the entries.
const TYPE_URL: &str = "type.googleapis.com/p4rack.v1.Memory";

/// Limit on the bytes of a memory that is read or written.
pub(crate) const MOST_MEMORY: usize = 16 << 20;

pub(crate) fn plan(catalog: &Catalog, how: Type, entry: &ExternEntry) -> Result<Change> {
    only_modified(how)?;
    catalog.memory(entry)
}

impl Catalog {
    /// The write of a memory.
    pub fn memory(&self, entry: &ExternEntry) -> Result<Change> {
        let (type_id, object) = self.extern_object(entry.extern_id)?;
        let change = || {
            if entry.extern_type_id != type_id {
                return fault("the object has another type", format!("its `extern_type_id` is {type_id}"))
                    .within("extern_type_id");
            }
            let Some(memory) = entry.entry.as_ref().filter(|any| any.type_url == TYPE_URL) else {
                return fault("the memory is missing", format!("the entry must be a `{TYPE_URL}`"))
                    .within("entry");
            };
            let Ok(Memory { bytes }) = from_binary(&memory.value) else {
                return fault("the memory cannot be read", "its bytes are no `p4rack.v1.Memory`")
                    .within("entry");
            };
            Ok(Change::Memory { object: entry.extern_id, to: bytes })
        };
        change().about(|| format!("extern object `{}`", object.name()))
    }
}

impl Store {
    /// The objects that fit a query.
    pub(crate) fn memories(&self, query: &ExternEntry) -> Result<Vec<u32>> {
        if query.extern_id != 0 {
            self.catalog.extern_object(query.extern_id)?;
        }
        let fits = |wanted: u32, has: u32| wanted == 0 || wanted == has;
        let all = self.catalog.extern_objects();
        let found =
            all.filter(|(of, object)| fits(query.extern_type_id, *of) && fits(query.extern_id, object.id()));
        Ok(found.map(|(_, object)| object.id()).collect())
    }

    /// The memory of an object as a message.
    pub(crate) fn memory_entry(&self, object: u32, live: &dyn Live) -> Result<ExternEntry> {
        let memory = live.memory(object)?;
        if memory.len() > MOST_MEMORY {
            let why = format!("it has {} bytes, and the limit is {MOST_MEMORY}", memory.len());
            return fault("the memory is too large to be read", why)
                .code(Code::ResourceExhausted)
                .about(|| format!("extern object {object}"));
        }
        self.memory_message(object, &memory)
    }

    pub(crate) fn memory_message(&self, object: u32, memory: &[u8]) -> Result<ExternEntry> {
        let (extern_type_id, _) = self.catalog.extern_object(object)?;
        let value = to_binary(&Memory { bytes: memory.to_vec() });
        let entry = Some(Any { type_url: TYPE_URL.to_string(), value });
        Ok(ExternEntry { extern_type_id, extern_id: object, entry })
    }
}
