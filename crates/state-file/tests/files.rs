//! Files that are something else, or damaged, or in use.

use p4runtime_proto::p4::v1::ForwardingPipelineConfig;
use redb::{Database, TableDefinition};
use state_file::{Keeper, StateFile};
use state_journal::{Batch, FORMAT};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// An empty directory of a test.
fn empty(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("state_file_{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn row(number: u8) -> (Vec<u8>, Option<Vec<u8>>) {
    // An entity without content.
    (vec![2, number], Some(vec![]))
}

fn first() -> Batch {
    Batch { program: Some(ForwardingPipelineConfig::default()), rows: BTreeMap::from([row(1)]) }
}

fn refusal(path: &Path) -> String {
    let before = std::fs::read(path).unwrap();
    let error = StateFile::open(path, false).expect_err("it is refused").to_string();
    assert_eq!(std::fs::read(path).unwrap(), before, "it stays as it is");
    error.replace(&path.display().to_string(), "FILE")
}

#[test]
fn what_was_kept_comes_back_and_a_fresh_start_forgets_it() {
    let directory = empty("comes_back");
    let path = directory.join("state");
    {
        let (mut file, state) = StateFile::open(&path, false).unwrap();
        assert_eq!(state, None);
        file.commit(&first()).unwrap();
        file.commit(&Batch { program: None, rows: BTreeMap::from([row(2), (vec![2, 1], None)]) }).unwrap();
        assert!(StateFile::open(&path, false).unwrap_err().to_string().ends_with("another process uses it"));
    }
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let (file, state) = StateFile::open(&path, false).unwrap();
    let state = state.unwrap();
    assert_eq!((state.format.as_str(), state.entities.len()), (FORMAT, 1));
    drop(file);
    let (mut file, state) = StateFile::open(&path, true).unwrap();
    assert_eq!(state, None);
    file.commit(&Batch { rows: BTreeMap::new(), ..first() }).unwrap();
    drop(file);
    assert_eq!(StateFile::open(&path, false).unwrap().1.unwrap().entities, []);
}

#[test]
fn a_keeper_keeps_all_in_order_and_what_is_sent_before_the_end() {
    let directory = empty("keeper");
    let path = directory.join("state");
    let (mut file, _) = StateFile::open(&path, false).unwrap();
    let (said, received) = mpsc::channel();
    let keep = move |batch: &Batch| file.commit(batch).map_err(|error| error.to_string());
    let keeper = Keeper::start(keep, move |count, kept| said.send((count, kept)).unwrap()).unwrap();
    keeper.send(first());
    for number in 2..100 {
        keeper.send(Batch { program: None, rows: BTreeMap::from([row(number)]) });
    }
    drop(keeper);
    let received: Vec<_> = received.iter().collect();
    assert_eq!(received.last(), Some(&(99, Ok(()))));
    assert!(received.is_sorted_by_key(|(count, _)| *count));
    assert_eq!(StateFile::open(&path, false).unwrap().1.unwrap().entities.len(), 99);
}

/// A disk is full for a while.
#[test]
fn what_could_not_be_kept_is_kept_with_the_next() {
    let (said, received) = mpsc::channel();
    let (kept_by, kept) = mpsc::channel();
    let mut tries = 0;
    let keep = move |batch: &Batch| {
        tries += 1;
        if tries == 2 {
            return Err("no space left on device".to_string());
        }
        kept_by.send(batch.clone()).unwrap();
        Ok(())
    };
    let keeper = Keeper::start(keep, move |count, kept| said.send((count, kept)).unwrap()).unwrap();
    let later = |number| Batch { program: None, rows: BTreeMap::from([row(number)]) };
    keeper.send(first());
    assert_eq!(received.recv(), Ok((1, Ok(()))));
    keeper.send(later(2));
    assert_eq!(received.recv(), Ok((2, Err("no space left on device".to_string()))));
    keeper.send(later(3));
    assert_eq!(received.recv(), Ok((3, Ok(()))));
    assert_eq!(kept.recv(), Ok(first()));
    assert_eq!(kept.recv().map(|batch| batch.rows), Ok(BTreeMap::from([row(2), row(3)])));
}

#[test]
fn other_files_and_versions_are_refused_and_left_alone() {
    let directory = empty("others");
    let path = directory.join("notes.txt");
    std::fs::write(&path, "a list of things, longer than the head of a database\n".repeat(200)).unwrap();
    assert_eq!(
        refusal(&path),
        "state file `FILE`: it is not a state file of p4rack, and stays as it is: name another file"
    );
    let path = directory.join("other.redb");
    {
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(TableDefinition::<&str, u64>::new("counts")).unwrap().insert("a", 1).unwrap();
        write.commit().unwrap();
    }
    let error = StateFile::open(&path, false).unwrap_err().to_string();
    assert!(error.contains("it is not a state file of p4rack"), "{error}");
    let path = directory.join("newer");
    {
        let (mut file, _) = StateFile::open(&path, false).unwrap();
        file.commit(&first()).unwrap();
    }
    {
        let database = Database::open(&path).unwrap();
        let write = database.begin_write().unwrap();
        let state = TableDefinition::<&str, &[u8]>::new("state");
        write.open_table(state).unwrap().insert("format", b"p4rack state 2".as_slice()).unwrap();
        write.commit().unwrap();
    }
    let error = StateFile::open(&path, false).unwrap_err().to_string();
    assert!(error.contains("its form is `p4rack state 2`, this version reads `p4rack state 1`"), "{error}");
    let error = StateFile::open(Path::new("/nowhere/state"), false).unwrap_err().to_string();
    assert!(error.starts_with("state file `/nowhere/state`: "), "{error}");
}

/// No damage makes it panic, and what it reads is whole.
#[test]
fn a_damaged_file_is_refused_or_read_as_it_was() {
    let directory = empty("damaged");
    let path = directory.join("state");
    {
        let (mut file, _) = StateFile::open(&path, false).unwrap();
        let rows = (0..200).map(row).collect();
        file.commit(&Batch { rows, ..first() }).unwrap();
    }
    let whole = std::fs::read(&path).unwrap();
    std::panic::set_hook(Box::new(|_| ()));
    let mut rng = base_time::Rng::new(36);
    let mut refused = 0;
    for _ in 0..40 {
        let mut bytes = whole.clone();
        match rng.below(2) {
            0 => bytes.truncate(rng.below(bytes.len() as u64) as usize),
            _ => {
                let at = rng.below(bytes.len().min(1 << 16) as u64) as usize;
                bytes[at..].iter_mut().take(64).for_each(|byte| *byte = !*byte);
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        match StateFile::open(&path, false) {
            Err(error) => {
                refused += 1;
                let error = error.to_string();
                let is_known = ["damaged", "not a state file", "another program", "version"];
                assert!(is_known.iter().any(|known| error.contains(known)), "{error}");
            }
            Ok((_, state)) => assert!(state.is_none_or(|state| state.entities.len() == 200)),
        }
    }
    assert!(refused > 10, "{refused}");
}
