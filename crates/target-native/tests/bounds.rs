//! Tables are bounded by the size that the program declares, and so is their memory; packets take none. One test: it counts what
//! is allocated.
#![allow(unsafe_code)]

mod common;

use base_bits::Bits;
use base_time::Time;
use control_writes::Match;
use device::Options;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use target_native::{Engine, Fate, Packet};

/// Counts the bytes in use.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);

/// Number of allocations.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the system's allocator does the work, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size(), Ordering::Relaxed);
        TAKEN.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: by the contract of this function.
        unsafe { System.dealloc(address, layout) }
    }
}

fn used() -> usize {
    USED.load(Ordering::Relaxed)
}

const TABLES: [&str; 4] = ["exacts", "prefixes", "masked", "ranges"];

/// Entries of each table.
const SIZE: u64 = 200;

fn engine(size: &str) -> Engine {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/bounds.p4");
    let program = common::program_with(path, &[size]);
    Engine::compile(&program, Options::default()).expect("it compiles")
}

/// The number of an entry as the key of a table; a packet with that number hits it.
fn key(table: &str, number: u64) -> (Match, Option<i64>) {
    let bits = |width, value| Bits::new(width, u128::from(value));
    match table {
        "exacts" => (Match::Exact(bits(48, number)), None),
        "prefixes" => (Match::Lpm { value: bits(32, number << 8), prefix_len: 24 }, None),
        "masked" => (Match::Ternary { value: bits(64, number), mask: bits(64, 0xffff_ffff) }, Some(1)),
        _ => (Match::Range { lo: bits(8, number % 256), hi: bits(8, 255) }, Some(1 + (number / 256) as i64)),
    }
}

fn add(engine: &mut Engine, table: &str, number: u64) -> Result<(), String> {
    let (key, priority) = key(table, number);
    let added = engine.switch().table_add(table, &[key], "found", &[Bits::new(32, 1)], priority);
    added.map(drop).map_err(|error| error.message)
}

fn delete(engine: &mut Engine, table: &str, number: u64) {
    let (key, priority) = key(table, number);
    engine.switch().table_delete(table, &[key], priority).expect("it is there");
}

/// Number of tables that a packet with this number hits.
fn hits(engine: &mut Engine, number: u64) -> u8 {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&number.to_be_bytes()[2..]);
    frame[6..10].copy_from_slice(&((number << 8) as u32 + 7).to_be_bytes());
    frame[10..18].copy_from_slice(&number.to_be_bytes());
    frame[18] = (number % 256) as u8;
    let mut packets = [Packet::new(1, &frame).expect("it fits")];
    engine.process(&mut packets, Time::ZERO);
    packets[0].frame()[22]
}

#[test]
fn tables_and_their_memory_are_bounded_by_their_sizes() {
    full_tables_refuse();
    a_great_size_costs_nothing();
    entries_that_come_and_go_leave_nothing();
    packets_take_none("bounds.p4", [0; 60]);
    packets_take_none("l2_psa.p4", [200; 60]);
}

fn packets_take_none(program: &str, frame: [u8; 60]) {
    let path = format!("{}/tests/{program}", env!("CARGO_MANIFEST_DIR"));
    let mut engine = Engine::compile(&common::program_with(&path, &["SIZE=200"]), Options::default())
        .expect("it compiles");
    let received = vec![Packet::new(1, &frame).expect("it fits"); 32];
    let mut packets = received.clone();
    engine.process(&mut packets, Time::ZERO);
    assert!(packets.iter().all(|packet| matches!(packet.fate(), Fate::Sent(_))), "{program}");
    packets.clone_from(&received);
    let before = TAKEN.load(Ordering::Relaxed);
    engine.process(&mut packets, Time::ZERO);
    let taken = TAKEN.load(Ordering::Relaxed) - before;
    assert!(taken <= 1, "{program}: a batch of 32 takes memory {taken} times");
}

fn full_tables_refuse() {
    let mut engine = engine("SIZE=200");
    for table in TABLES {
        (0..SIZE).for_each(|number| add(&mut engine, table, number).expect("there is room"));
    }
    assert_eq!(hits(&mut engine, SIZE - 1), 4);
    let before = used();
    for table in TABLES {
        let refused = format!("`I.{table}` is full: it has {SIZE} entries");
        for number in SIZE..2 * SIZE {
            assert_eq!(add(&mut engine, table, number), Err(refused.clone()));
        }
    }
    assert_eq!(hits(&mut engine, SIZE - 1), 4, "what is there stays");
    assert_eq!(hits(&mut engine, 2 * SIZE - 1), 1, "nothing but the range, which ends with its field");
    assert_eq!(used(), before, "what is refused takes no memory");
    for table in TABLES {
        delete(&mut engine, table, 3);
        add(&mut engine, table, SIZE).expect("there is room again");
    }
    assert_eq!(hits(&mut engine, SIZE), 4);
    assert_eq!(hits(&mut engine, 3), 1);
}

fn a_great_size_costs_nothing() {
    let taken = |size| {
        let before = used();
        let mut engine = engine(size);
        add(&mut engine, "exacts", 1).expect("there is room");
        assert_eq!(hits(&mut engine, 1), 1);
        let taken = used() - before;
        drop(engine);
        taken
    };
    let (small, great) = (taken("SIZE=200"), taken("SIZE=2000000000"));
    assert!(great <= small + small / 10, "{small} bytes for 200 entries, {great} for two billions");
}

/// A tenth of a million entries, and with `P4RACK_ALL` all of it.
fn entries_that_come_and_go_leave_nothing() {
    let mut engine = engine("SIZE=200");
    let mut most = 0;
    let entries = if features::is_long() { 1_000_000 } else { 100_000 };
    for round in 0..entries / SIZE / TABLES.len() as u64 {
        for table in TABLES {
            (0..SIZE).for_each(|number| add(&mut engine, table, round + number).expect("there is room"));
        }
        assert_eq!(hits(&mut engine, round), 4);
        match round {
            // Tables that have grown once may queueing; prefixes and ranges take a little more here than there.
            0..20 => most = used().max(most),
            _ => assert!(used() <= most + most / 10, "{} bytes in round {round}, {most} before", used()),
        }
        for table in TABLES {
            (0..SIZE).for_each(|number| delete(&mut engine, table, round + number));
        }
        assert_eq!(hits(&mut engine, round), 0);
    }
}
