//! The machine stops at any point: what was kept is there when the file is opened again.

use base_time::Rng;
use p4runtime_proto::p4::v1::{
    Entity, ForwardingPipelineConfig, RegisterEntry, TableEntry, entity::Entity as Kind,
};
use redb::StorageBackend;
use state_file::StateFile;
use state_journal::{Batch, Kept, Notes};
use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex};

/// Something that was done to the storage.
#[derive(Clone, Debug)]
enum Step {
    Write(u64, Vec<u8>),
    Length(u64),
    Sync,
    /// A batch was acknowledged.
    Kept,
}

/// Storage in memory that remembers every step.
#[derive(Clone, Debug, Default)]
struct Storage {
    bytes: Arc<Mutex<Vec<u8>>>,
    steps: Arc<Mutex<Vec<Step>>>,
}

impl StorageBackend for Storage {
    fn len(&self) -> Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let bytes = self.bytes.lock().unwrap();
        let at = offset as usize;
        bytes.get(at..at + len).map(<[u8]>::to_vec).ok_or_else(|| Error::from(ErrorKind::UnexpectedEof))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.steps.lock().unwrap().push(Step::Length(len));
        self.bytes.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self, _: bool) -> Result<()> {
        self.steps.lock().unwrap().push(Step::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.steps.lock().unwrap().push(Step::Write(offset, data.to_vec()));
        apply(&mut self.bytes.lock().unwrap(), offset, data);
        Ok(())
    }
}

fn apply(bytes: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (from, to) = (offset as usize, offset as usize + data.len());
    if bytes.len() < to {
        bytes.resize(to, 0);
    }
    bytes[from..to].copy_from_slice(data);
}

/// A batch of a few changes; the first has a program.
fn batch(rng: &mut Rng, is_first: bool) -> Batch {
    let mut notes = Notes::default();
    for _ in 0..=rng.below(4) {
        let (number, is_there) = (rng.below(12) as u32, rng.below(3) > 0);
        let of = |kind| Entity { entity: Some(kind) };
        if rng.below(3) == 0 {
            let query = RegisterEntry { register_id: 1 + number, ..RegisterEntry::default() };
            let now = is_there.then(|| of(Kind::RegisterEntry(query.clone())));
            notes.note(of(Kind::RegisterEntry(query)), now);
        } else {
            let query = TableEntry { table_id: 1 + number, ..TableEntry::default() };
            let metadata = vec![rng.below(256) as u8; rng.below(300) as usize];
            let now = is_there.then(|| of(Kind::TableEntry(TableEntry { metadata, ..query.clone() })));
            notes.note(of(Kind::TableEntry(query)), now);
        }
    }
    let anew = is_first || rng.below(10) == 0;
    let program = anew.then(|| ForwardingPipelineConfig {
        p4_device_config: vec![rng.below(256) as u8; 20].into(),
        ..ForwardingPipelineConfig::default()
    });
    Batch { program, rows: notes.rows(|_| ()) }
}

/// Contents of the disk if the machine stops after so many steps: all synced data, and any part of the rest.
fn left(steps: &[Step], rng: &mut Rng) -> Vec<u8> {
    let synced = steps.iter().rposition(|step| matches!(step, Step::Sync)).map_or(0, |at| at + 1);
    let mut bytes = vec![];
    for (at, step) in steps.iter().enumerate() {
        match step {
            // A file that is cut or grown is as the journal of its file system has it: in order.
            Step::Length(len) => bytes.resize(*len as usize, 0),
            Step::Write(offset, data) if at < synced => apply(&mut bytes, *offset, data),
            Step::Write(offset, data) => match rng.below(3) {
                0 => {}
                1 => apply(&mut bytes, *offset, data),
                _ => apply(&mut bytes, *offset, &data[..rng.below(data.len() as u64 + 1) as usize]),
            },
            Step::Sync | Step::Kept => {}
        }
    }
    bytes
}

fn try_sequence(seed: u64) {
    let mut rng = Rng::new(seed);
    let storage = Storage::default();
    // The state after each batch.
    let mut states = vec![Kept::default()];
    {
        let (mut file, state) = StateFile::on(storage.clone()).unwrap();
        assert_eq!(state, None);
        for index in 0..=rng.below(5) {
            let batch = batch(&mut rng, index == 0);
            let mut state = states.last().unwrap().clone();
            state.follow(&batch);
            states.push(state);
            file.commit(&batch).unwrap();
            storage.steps.lock().unwrap().push(Step::Kept);
        }
    }
    let steps = storage.steps.lock().unwrap().clone();
    for stop in 0..=steps.len() {
        let steps = &steps[..stop];
        let kept = steps.iter().filter(|step| matches!(step, Step::Kept)).count();
        let bytes = left(steps, &mut rng);
        let again = Storage { bytes: Arc::new(Mutex::new(bytes)), ..Storage::default() };
        // A file that was being made, and kept nothing, may be damaged: there is nothing to lose.
        let state = match StateFile::on(again) {
            Ok((_, state)) => state,
            Err(_) if kept == 0 => continue,
            Err(error) => panic!("seed {seed}, stop {stop} of {}: {error}", steps.len()),
        };
        let is_right = |at: usize| states.get(at).is_some_and(|known| known.state().unwrap() == state);
        assert!(is_right(kept) || is_right(kept + 1), "seed {seed}, stop {stop}, {kept} kept: {state:?}");
    }
}

/// Each sequence of writes stops at each of its steps, some 60 of them. `./test --all` tries 150 sequences.
#[test]
fn what_was_kept_is_there_wherever_the_machine_stops() {
    features::seeds(3, 150).for_each(try_sequence);
}
