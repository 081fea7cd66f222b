//! Memories of externs under RECONCILE_AND_COMMIT: each is copied once, and again at the end only if it may have changed since.

use base_time::Time;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::from_text;
use p4runtime_proto::p4::v1::{
    ForwardingPipelineConfig, P4Data, SetForwardingPipelineConfigRequest, StreamMessageRequest,
};
use p4runtime_server::{Builder, Built, Server, Status, StreamId, Target};
use p4runtime_store::{Catalog, Change, Live, Numbers, Result, fault};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const OBJECTS: [u32; 3] = [0x8500_0001, 0x8500_0002, 0x8500_0003];

const INFO: &str = r#"
    pkg_info { arch: "v1model" }
    externs {
        extern_type_id: 0x85 extern_type_name: "Cache"
        instances { preamble { id: 0x85000001 name: "a" } }
        instances { preamble { id: 0x85000002 name: "b" } }
        instances { preamble { id: 0x85000003 name: "c" } }
    }
"#;

/// Devices in the order in which they were built, and how often each memory of theirs was read.
type Reads = Arc<Mutex<BTreeMap<(u32, u32), u32>>>;

struct Device {
    number: u32,
    /// Memory and version.
    memories: BTreeMap<u32, (Vec<u8>, u64)>,
    knows_versions: bool,
    reads: Reads,
}

impl Device {
    fn write(&mut self, object: u32, to: &[u8]) {
        let memory = self.memories.entry(object).or_default();
        *memory = (to.to_vec(), memory.1 + 1);
    }

    fn contents(&self) -> Vec<Vec<u8>> {
        OBJECTS
            .map(|object| self.memories.get(&object).map(|(bytes, _)| bytes.clone()).unwrap_or_default())
            .into()
    }
}

impl Live for Device {
    fn counter(&self, _: u32, _: u64) -> Result<Count> {
        fault("not asked", "there are none")
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        fault("not asked", "there are none")
    }

    fn register(&self, _: u32, _: u64) -> Result<Data> {
        fault("not asked", "there are none")
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        fault("not asked", "there are none")
    }

    fn memory(&self, object: u32) -> Result<Vec<u8>> {
        *self.reads.lock().unwrap().entry((self.number, object)).or_default() += 1;
        Ok(self.memories.get(&object).map(|(bytes, _)| bytes.clone()).unwrap_or_default())
    }

    fn memory_version(&self, object: u32) -> Result<Option<u64>> {
        let version = self.memories.get(&object).map_or(0, |(_, version)| *version);
        Ok(self.knows_versions.then_some(version))
    }
}

impl Target for Device {
    fn apply(&mut self, _: &Catalog, change: &Change) -> Result<()> {
        match change {
            Change::Memory { object, to } => self.write(*object, to),
            _ => return fault("not asked", "there are only memories"),
        }
        Ok(())
    }

    fn take_digests(&mut self, _: &Catalog) -> Vec<(u32, P4Data)> {
        vec![]
    }

    fn take_idle(&mut self, _: &Catalog, _: Time) -> Vec<(u32, EntryKey)> {
        vec![]
    }
}

struct Maker {
    knows_versions: bool,
    reads: Reads,
    built: Mutex<u32>,
}

impl Builder for Maker {
    type Target = Device;

    fn build(&self, _: &ForwardingPipelineConfig) -> std::result::Result<Built<Device>, Status> {
        let info = Arc::new(from_text(INFO).unwrap());
        let numbers = Numbers::of(&info);
        let mut built = self.built.lock().unwrap();
        *built += 1;
        let target = Device {
            number: *built,
            memories: BTreeMap::new(),
            knows_versions: self.knows_versions,
            reads: Arc::clone(&self.reads),
        };
        Ok(Built { target, plain: Arc::clone(&info), info, numbers, initial: vec![], memory: u64::MAX })
    }
}

fn config(action: &str) -> SetForwardingPipelineConfigRequest {
    let mut request: SetForwardingPipelineConfigRequest = from_text(&format!(
        "device_id: 1 election_id {{ low: 1 }} action: {action} config {{ p4_device_config: \"program\" }}"
    ))
    .unwrap();
    request.config.as_mut().unwrap().p4info = Some(from_text(INFO).unwrap());
    request
}

/// A switch with three memories, empty or filled, whose program is replaced; `meanwhile` happens between the copy and the last slice. Returns the
/// memories of the new program, and how often those of the old one and of the new one were read.
fn replaced(
    knows_versions: bool,
    is_filled: bool,
    meanwhile: impl FnOnce(&mut Device),
) -> (Vec<Vec<u8>>, [Vec<u32>; 2]) {
    let reads = Reads::default();
    let maker = Maker { knows_versions, reads: Arc::clone(&reads), built: Mutex::default() };
    let mut server = Server::new(maker, 1, 0);
    let primary: StreamMessageRequest =
        from_text("arbitration { device_id: 1 election_id { low: 1 } }").unwrap();
    server.message(StreamId(1), &primary);
    server.set_config(config("VERIFY_AND_COMMIT")).unwrap();
    for (object, byte) in OBJECTS.into_iter().zip(1..).filter(|_| is_filled) {
        server.target().unwrap().write(object, &[byte; 3]);
    }
    assert!(server.begin_config(config("RECONCILE_AND_COMMIT")).is_none());
    while !server.is_about_to_replace() {
        assert!(server.go_on_replacing(false).is_none());
    }
    meanwhile(server.target().unwrap());
    server.go_on_replacing(false).expect("the last slice").unwrap();
    let contents = server.target().unwrap().contents();
    let reads = reads.lock().unwrap();
    let of = |number: u32| OBJECTS.map(|object| reads.get(&(number, object)).copied().unwrap_or(0)).into();
    (contents, [of(1), of(2)])
}

#[test]
fn memories_that_have_not_changed_are_read_once() {
    let (contents, reads) = replaced(true, true, |_| ());
    assert_eq!(contents, [[1; 3], [2; 3], [3; 3]]);
    assert_eq!(reads, [[1, 1, 1], [0, 0, 0]]);
}

#[test]
fn a_memory_that_has_changed_is_copied_again() {
    for object in OBJECTS {
        let is_it = |other: u32| other == object;
        let (contents, reads) = replaced(true, true, |device| device.write(object, &[9; 5]));
        let expected: Vec<Vec<u8>> = OBJECTS
            .into_iter()
            .zip(1..)
            .map(|(other, byte)| if is_it(other) { vec![9; 5] } else { vec![byte; 3] })
            .collect();
        assert_eq!(contents, expected);
        assert_eq!(reads[0], OBJECTS.map(|other| 1 + u32::from(is_it(other))));
        assert_eq!(reads[1], OBJECTS.map(|other| u32::from(is_it(other))));
    }
}

/// A memory that was empty was not copied: what it has become since is.
#[test]
fn a_memory_that_was_empty_is_copied_at_the_end() {
    let (contents, reads) = replaced(true, false, |device| device.write(OBJECTS[1], &[7]));
    assert_eq!(contents, [vec![], vec![7], vec![]]);
    assert_eq!(reads, [[2, 2, 2], [0, 1, 0]]);
}

/// Threads may change some memories without the device's knowledge.
#[test]
fn memories_without_versions_are_compared() {
    let change = |device: &mut Device| device.write(OBJECTS[1], &[9; 5]);
    let (contents, reads) = replaced(false, true, change);
    assert_eq!(contents, [vec![1; 3], vec![9; 5], vec![3; 3]]);
    assert_eq!(reads, [[2, 2, 2], [1, 1, 1]]);
}
