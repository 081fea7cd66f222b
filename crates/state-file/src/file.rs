//! The file.

use p4runtime_proto::p4rack::v1::SavedState;
use p4runtime_proto::to_binary;
use redb::{Builder, Database, ReadableTable, StorageBackend, TableDefinition, TableHandle};
use state_journal::{Batch, FORMAT, Kept, Store, Unreadable};
use std::any::Any;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const STATE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("state");
const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
const FORMAT_KEY: &str = "format";
const PROGRAM_KEY: &str = "program";

/// Bytes of the file that are kept in memory.
const CACHE: usize = 16 << 20;

/// A file with the state of a switch.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    /// Closed after a failure.
    database: Option<Database>,
}

/// Why a file cannot keep the state.
#[derive(Debug)]
pub struct StateFileError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug)]
enum Why {
    Io(String),
    InUse,
    Foreign,
    Damaged(String),
    Unreadable(Unreadable),
}

impl fmt::Display for StateFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state file `{}`: ", self.path.display())?;
        match &self.why {
            Why::Io(error) => f.write_str(error),
            Why::InUse => f.write_str("another process uses it"),
            Why::Foreign => {
                f.write_str("it is not a state file of p4rack, and stays as it is: name another file")
            }
            Why::Damaged(why) => write!(
                f,
                "it is damaged ({why}) and stays as it is: restore a copy of it, or name another file and restore a state that \
                 `p4rack ctl save` has saved"
            ),
            Why::Unreadable(why @ Unreadable::Version(_)) => {
                write!(
                    f,
                    "{why}; run that version, save the state with `p4rack ctl save`, and restore it with this one"
                )
            }
            Why::Unreadable(why) => write!(f, "{why}; it stays as it is: name another file"),
        }
    }
}

impl std::error::Error for StateFileError {}

impl From<redb::Error> for Why {
    fn from(error: redb::Error) -> Why {
        match error {
            redb::Error::DatabaseAlreadyOpen => Why::InUse,
            redb::Error::UpgradeRequired(version) => {
                Why::Unreadable(Unreadable::Version(format!("database version {version}")))
            }
            redb::Error::Io(error) => Why::of(error),
            redb::Error::Corrupted(why) => Why::Damaged(why),
            error @ (redb::Error::TableTypeMismatch { .. } | redb::Error::TableIsMultimap(_)) => {
                drop(error);
                Why::Foreign
            }
            other => Why::Io(other.to_string()),
        }
    }
}

impl Why {
    fn of(error: Error) -> Why {
        match error.kind() {
            ErrorKind::InvalidData => Why::Foreign,
            ErrorKind::UnexpectedEof => Why::Damaged("its end is missing".to_string()),
            _ => Why::Io(error.to_string()),
        }
    }
}

/// Runs a step of the database. A damaged file can make it panic.
fn guarded<T>(step: impl FnOnce() -> Result<T, Why>) -> Result<T, Why> {
    let text = |panic: &(dyn Any + Send)| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    };
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| Err(Why::Damaged(text(&*panic))))
}

impl StateFile {
    /// Opens a file, or creates it, readable by its user alone. With the state that it keeps, if there is one; if `is_fresh`, without
    /// it, and the first batch replaces it.
    pub fn open(path: &Path, is_fresh: bool) -> Result<(StateFile, Option<SavedState>), StateFileError> {
        let mut file = StateFile { path: path.to_path_buf(), database: None };
        let state = guarded(|| {
            file.reopen()?;
            let kept = file.kept()?;
            if is_fresh { Ok(None) } else { kept.state().map_err(Why::Unreadable) }
        });
        match state {
            Ok(state) => Ok((file, state)),
            Err(why) => Err(StateFileError { path: file.path, why }),
        }
    }

    /// The same on other storage.
    pub fn on(storage: impl StorageBackend) -> Result<(StateFile, Option<SavedState>), StateFileError> {
        let path = PathBuf::new();
        let opened = guarded(|| {
            let database = builder().create_with_backend(storage).map_err(redb::Error::from)?;
            let file = StateFile { path: path.clone(), database: Some(database) };
            let state = file.kept()?.state().map_err(Why::Unreadable)?;
            Ok((file, state))
        });
        opened.map_err(|why| StateFileError { path, why })
    }

    fn reopen(&mut self) -> Result<(), Why> {
        let is_new = !self.path.exists();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.path);
        let file = file.map_err(|error| Why::Io(error.to_string()))?;
        if is_new {
            // The name of a file is kept by its directory.
            let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let synced =
                File::open(directory.unwrap_or(Path::new("."))).and_then(|directory| directory.sync_all());
            synced.map_err(|error| Why::Io(error.to_string()))?;
        }
        self.database = Some(builder().create_file(file).map_err(redb::Error::from)?);
        Ok(())
    }

    fn kept(&self) -> Result<Kept, Why> {
        let Some(database) = &self.database else { return Ok(Kept::default()) };
        let transaction = database.begin_read().map_err(redb::Error::from)?;
        let names: Vec<String> = {
            let tables = transaction.list_tables().map_err(redb::Error::from)?;
            tables.map(|table| table.name().to_string()).collect()
        };
        if names.is_empty() {
            return Ok(Kept::default());
        }
        if names != ["rows", "state"] {
            return Err(Why::Foreign);
        }
        let state = transaction.open_table(STATE).map_err(redb::Error::from)?;
        let get = |key| -> Result<Vec<u8>, Why> {
            let found = state.get(key).map_err(redb::Error::from)?;
            Ok(found.map(|value| value.value().to_vec()).unwrap_or_default())
        };
        let format = String::from_utf8_lossy(&get(FORMAT_KEY)?).into_owned();
        let mut kept = Kept { format, program: get(PROGRAM_KEY)?, ..Kept::default() };
        let rows = transaction.open_table(ROWS).map_err(redb::Error::from)?;
        for row in rows.iter().map_err(redb::Error::from)? {
            let (key, value) = row.map_err(redb::Error::from)?;
            kept.rows.insert(key.value().to_vec(), value.value().to_vec());
        }
        Ok(kept)
    }

    /// Does a batch. After an error the file is as before, and the batch can be tried again.
    pub fn commit(&mut self, batch: &Batch) -> Result<(), StateFileError> {
        let done = guarded(|| {
            if self.database.is_none() {
                self.reopen()?;
            }
            let Some(database) = &self.database else { return Ok(()) };
            write(database, batch).map_err(Why::from)
        });
        done.map_err(|why| {
            // The database refuses everything after an error of its file.
            self.database = None;
            StateFileError { path: self.path.clone(), why }
        })
    }
}

impl Store for StateFile {
    fn commit(&mut self, batch: &Batch) -> Result<(), String> {
        StateFile::commit(self, batch).map_err(|error| error.to_string())
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE);
    builder
}

#[allow(clippy::result_large_err)]
fn write(database: &Database, batch: &Batch) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    if let Some(program) = &batch.program {
        transaction.delete_table(ROWS)?;
        let mut state = transaction.open_table(STATE)?;
        state.insert(FORMAT_KEY, FORMAT.as_bytes())?;
        state.insert(PROGRAM_KEY, to_binary(program).as_slice())?;
    }
    {
        let mut rows = transaction.open_table(ROWS)?;
        for (key, value) in &batch.rows {
            match value {
                Some(value) => drop(rows.insert(key.as_slice(), value.as_slice())?),
                None => drop(rows.remove(key.as_slice())?),
            }
        }
    }
    transaction.commit()?;
    Ok(())
}
