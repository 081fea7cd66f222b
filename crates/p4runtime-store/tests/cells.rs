//! Objects of more cells than one message has room for.

use base_bits::Bits;
use control_writes::{Count, Data, EntryKey};
use p4runtime_proto::google::rpc::Code;
use p4runtime_proto::p4::config::v1::P4Info;
use p4runtime_proto::p4::v1::Update;
use p4runtime_proto::{from_text, to_text};
use p4runtime_store::{Live, Result, Store, Wanted, fault};
use std::ops::Range;
use std::sync::Arc;

const INFO: &str = r#"
    pkg_info { arch: "v1model" }
    counters { preamble { id: 1 name: "c" } spec { unit: BOTH } size: 9000000000 }
    meters { preamble { id: 2 name: "m" } spec { unit: PACKETS } size: 9000000000 }
    registers { preamble { id: 3 name: "r" } type_spec { bitstring { bit { bitwidth: 8 } } } size: 2000000000 }
"#;

/// A cell of each has been written.
struct Sparse;

fn bits(byte: u8) -> Data {
    Data::Bits(Bits::new(8, byte.into()))
}

impl Live for Sparse {
    fn counter(&self, _: u32, _: u64) -> Result<Count> {
        fault("not asked", "those that are known are")
    }

    fn counters(&self, _: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Count)) -> Result<()> {
        let known = [(7, Count::default()), (8_999_999_999, Count { packets: 5, bytes: 0 })];
        known
            .into_iter()
            .filter(|(cell, _)| cells.contains(cell))
            .for_each(|(cell, count)| give(cell, count));
        Ok(())
    }

    fn direct_counter(&self, _: u32, _: &EntryKey) -> Result<Count> {
        fault("not asked", "there are none")
    }

    fn register(&self, _: u32, _: u64) -> Result<Data> {
        fault("not asked", "those that are known are")
    }

    fn registers(&self, _: u32, cells: Range<u64>, give: &mut dyn FnMut(u64, Data)) -> Result<()> {
        let known = [(3, bits(0)), (1_999_999_999, bits(6))];
        known.into_iter().filter(|(cell, _)| cells.contains(cell)).for_each(|(cell, data)| give(cell, data));
        Ok(())
    }

    fn since_last_hit(&self, _: u32, _: &EntryKey) -> Result<u64> {
        fault("not asked", "nothing times out")
    }
}

/// Objects with more than 4,194,304 cells could be written but not read, so that a rack with one was never repaired.
#[test]
fn what_is_written_is_read_however_many_cells_there_are() {
    let info: P4Info = from_text(INFO).unwrap();
    let mut store = Store::new(Arc::new(info));
    let rates = "meter_entry { meter_id: 2 index { index: 8999999999 } config { cir: 1 cburst: 1 pir: 1 pburst: 1 } }";
    let update: Update = from_text(&format!("type: MODIFY entity {{ {rates} }}")).unwrap();
    for change in store.plan(&update).unwrap() {
        store.commit(change, None);
    }
    let mut written = vec![];
    store.read_written(&Sparse, &mut |entity| written.push(to_text(&entity).unwrap())).unwrap();
    let wanted = [
        rates,
        "counter_entry { counter_id: 1 index { index: 8999999999 } data { packet_count: 5 } }",
        "register_entry { register_id: 3 index { index: 1999999999 } data { bitstring: \"\\006\" } }",
    ];
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(written.iter().map(|text| words(text)).collect::<Vec<_>>(), wanted);
    let mut counted = 0;
    store.read_counted(&Sparse, &|_| false, &mut |_| counted += 1).unwrap();
    assert_eq!(counted, 2);
    // P4Runtime reads each cell, and so many are refused.
    for query in ["counter_entry { counter_id: 1 }", "meter_entry {}"] {
        let query = from_text(query).unwrap();
        assert_eq!(store.find(&query, Wanted::All).unwrap_err().code, Code::ResourceExhausted);
        assert!(store.find(&query, Wanted::Written).is_ok());
    }
    // One cell is no object.
    assert!(
        store
            .find(&from_text("register_entry { register_id: 3 index { index: 7 } }").unwrap(), Wanted::All)
            .is_ok()
    );
}
