//! Groups of programs, here threads, whose results equal a serial fold. `cli/tests/groups.rs` has groups with switches.

use aggregate::Op;
use base_time::Rng;
use reduce_workers::{
    Attachment, Group, GroupError, GroupPlan, Joining, Keys, MOST_WAIT, Reduced, ReducedKeys, Report, Values,
};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A group of so many programs on addresses of the loopback that no other test has.
fn plan(net: u8, size: u8) -> GroupPlan {
    let member = |rank| Attachment::Kernel { address: Ipv4Addr::new(127, 71, net, 1 + rank) };
    GroupPlan::of_hosts("test", (0..size).map(member).collect())
}

fn free() -> SocketAddr {
    linux_net::free_addresses(1).unwrap()[0]
}

fn joining(rank: usize, root: SocketAddr) -> Joining {
    Joining { rank, root, patience: Duration::from_secs(60), loss: 100_000, wait: None }
}

/// Runs a program at each rank; what each has returned.
fn run<T: Send>(plan: &GroupPlan, program: impl Fn(Group) -> T + Sync) -> Vec<Result<T, GroupError>> {
    run_at(free(), plan, program)
}

fn run_at<T: Send>(
    root: SocketAddr,
    plan: &GroupPlan,
    program: impl Fn(Group) -> T + Sync,
) -> Vec<Result<T, GroupError>> {
    std::thread::scope(|scope| {
        let one = |rank| {
            let program = &program;
            scope.spawn(move || Group::join(plan.clone(), &joining(rank, root), &mut || true).map(program))
        };
        let threads: Vec<_> = (0..plan.members.len()).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Pairs of a rank, with keys of a common set.
fn pairs(rank: usize, call: u64, most: i64) -> (Vec<u64>, Vec<i64>) {
    let mut rng = Rng::new(100 * call + rank as u64);
    (0..300).map(|_| (rng.below(200) * 1_000_003, rng.below(2 * most as u64 + 1) as i64 - most)).unzip()
}

fn folded(size: usize, call: u64, most: i64, fold: fn(i64, i64) -> i64) -> BTreeMap<u64, i64> {
    let mut all = BTreeMap::new();
    for (key, value) in (0..size).flat_map(|rank| {
        let (keys, values) = pairs(rank, call, most);
        keys.into_iter().zip(values)
    }) {
        all.entry(key).and_modify(|held| *held = fold(*held, value)).or_insert(value);
    }
    all
}

fn signed(reduced: &Reduced) -> BTreeMap<u64, i64> {
    let ReducedKeys::Numbers(keys) = &reduced.keys else { panic!("{reduced:?}") };
    assert!(reduced.is_signed);
    keys.iter().copied().zip(reduced.values.iter().map(|value| *value as i64)).collect()
}

#[test]
fn keys_and_arrays_are_folded_call_after_call() {
    const SIZE: usize = 3;
    let done = run(&plan(1, SIZE as u8), |mut group| {
        let rank = group.rank();
        let mut maps = vec![];
        for (call, op, most) in
            [(1, Op::Add, 1000), (2, Op::Max, 1 << 30), (3, Op::Add, 1 << 50), (4, Op::Min, 9)]
        {
            let (keys, values) = pairs(rank, call, most);
            let keys = Keys::Numbers(Values::U64(&keys));
            let (reduced, _) = group.reduce_by_key(&keys, Values::I64(&values), op, &mut || true).unwrap();
            maps.push(signed(&reduced));
        }
        let array: Vec<i32> = (0..1000).map(|at| at * (rank as i32 + 1) - 500).collect();
        let (sum, report) = group.all_reduce(Values::I32(&array), Op::Add, &mut || true).unwrap();
        (maps, sum, report)
    });
    let wanted = [
        folded(SIZE, 1, 1000, |a, b| a + b),
        folded(SIZE, 2, 1 << 30, i64::max),
        folded(SIZE, 3, 1 << 50, |a, b| a + b),
        folded(SIZE, 4, 9, i64::min),
    ];
    for one in done {
        let (maps, sum, report) = one.unwrap();
        assert_eq!(maps, wanted);
        let sum: Vec<i32> =
            sum.chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(sum, (0..1000).map(|at| at * 6 - 1500).collect::<Vec<i32>>());
        assert_eq!((report.pairs_sent, report.pairs_arrived, report.keys), (2000, 2000, 1000));
        assert_eq!(report.fallback.as_deref(), Some("the group has no switch"));
    }
}

#[test]
fn texts_and_large_numbers_are_named_by_a_program_that_has_them() {
    let text = |number: u64| {
        format!("{number}, {}", "a key that is longer than a slot ".repeat(number as usize % 4))
    };
    let done = run(&plan(2, 3), |mut group| {
        let (numbers, values) = pairs(group.rank(), 1, 0);
        let ones = vec![1u32; values.len()];
        let texts: Vec<String> = numbers.iter().map(|number| text(*number)).collect();
        let keys = Keys::Texts(texts.iter().map(String::as_bytes).collect());
        let (texts, _) = group.reduce_by_key(&keys, Values::U32(&ones), Op::Add, &mut || true).unwrap();
        let large: Vec<u64> = numbers.iter().map(|number| u64::MAX - number).collect();
        let keys = Keys::Numbers(Values::U64(&large));
        let (large, _) = group.reduce_by_key(&keys, Values::U32(&ones), Op::Add, &mut || true).unwrap();
        (texts, large)
    });
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    (0..3).flat_map(|rank| pairs(rank, 1, 0).0).for_each(|key| *counts.entry(key).or_default() += 1);
    let wanted: BTreeMap<Vec<u8>, u64> =
        counts.iter().map(|(key, count)| (text(*key).into_bytes(), *count)).collect();
    for one in done {
        let (texts, large) = one.unwrap();
        let ReducedKeys::Texts(keys) = texts.keys else { panic!("{:?}", texts.keys) };
        assert_eq!(keys.into_iter().zip(texts.values).collect::<BTreeMap<_, _>>(), wanted);
        let ReducedKeys::Numbers(keys) = large.keys else { panic!("{:?}", large.keys) };
        let found: BTreeMap<u64, u64> = keys.iter().map(|key| u64::MAX - key).zip(large.values).collect();
        assert_eq!(found, counts);
    }
}

/// Part of what is said, and the call.
type Case = (&'static str, fn(&mut Group) -> Called);

type Called = Result<(Vec<u8>, Report), GroupError>;

/// Errors that two ranks report for these calls.
fn mistaken(net: u8, call: impl Fn(&mut Group) -> Called + Sync) -> Vec<String> {
    let done = run(&plan(net, 2), |mut group| {
        let first = call(&mut group).expect_err("it has no result").to_string();
        let second =
            group.all_reduce(Values::U32(&[1]), Op::Add, &mut || true).expect_err("the group has ended");
        assert!(second.to_string().starts_with("the group has ended: "), "{second}");
        first
    });
    done.into_iter().map(Result::unwrap).collect()
}

#[test]
fn calls_that_do_not_fit_end_the_group_at_every_rank() {
    let cases: [Case; 5] = [
        ("`allreduce` of 3 values and `allreduce` of 4 values", |group| {
            group.all_reduce(Values::U32(&vec![1; 3 + group.rank()]), Op::Add, &mut || true)
        }),
        ("operator add and operator max", |group| {
            group.all_reduce(Values::U32(&[1]), [Op::Add, Op::Max][group.rank()], &mut || true)
        }),
        ("type u32 and type i32", |group| {
            let values = [Values::U32(&[1]), Values::I32(&[1])][group.rank()];
            group.all_reduce(values, Op::Add, &mut || true)
        }),
        ("the result of element 1 is 4294967296, which does not fit `u32`", |group| {
            group.all_reduce(Values::U32(&[0, 1 << 31]), Op::Add, &mut || true)
        }),
        ("the values of `max` are more than 2^32 - 1 apart", |group| {
            let value = [0, 1 << 40][group.rank()];
            group.all_reduce(Values::I64(&[value, 1 << 33]), Op::Max, &mut || true)
        }),
    ];
    for ((wanted, call), net) in cases.into_iter().zip(10..) {
        let said = mistaken(net, call);
        // Rank 0 alone has no value of its own to compare, so the ranges of the others count.
        assert!(said.iter().all(|said| said.contains(wanted)), "{said:?}");
        assert!(said.iter().all(|said| said.contains("; ")), "{said:?}");
    }
}

/// Rank 0 rests between packets, as a process that waits for the processor. Its partner sends nothing twice with a long `wait`. No packet is lost before its
/// receiver is ready: the next one would come after the patience.
#[test]
fn a_long_wait_saves_what_a_slow_root_would_get_twice() {
    let plan = plan(9, 2);
    let bytes = |wait| {
        let root = free();
        let patience = Duration::from_secs(6);
        let join = |rank| Joining { loss: 0, wait, patience, ..joining(rank, root) };
        let run = |rank: usize| {
            let mut group = Group::join(plan.clone(), &join(rank), &mut || true).unwrap();
            let keys: Vec<u64> = (0..10_000).collect();
            let values = vec![1; keys.len()];
            let mut slow = || {
                std::thread::sleep(Duration::from_millis(if rank == 0 { 60 } else { 0 }));
                true
            };
            let keys = Keys::Numbers(Values::U64(&keys));
            group.reduce_by_key(&keys, Values::U64(&values), Op::Add, &mut slow).unwrap().1.bytes_to
        };
        std::thread::scope(|scope| {
            let other = scope.spawn(|| run(1));
            let bytes = run(0);
            other.join().unwrap();
            bytes
        })
    };
    let long = bytes(Some(9_000));
    assert_eq!(long, bytes(Some(10_000)));
    // It is chance whether the root rests while a packet waits for it.
    assert!((0..50).any(|_| bytes(Some(1)) > long), "{long}");
}

#[test]
fn a_program_that_leaves_or_does_not_come_is_named() {
    let done = run(&plan(3, 3), |mut group| match group.rank() {
        2 => None,
        _ => group.all_reduce(Values::U32(&[1, 2]), Op::Add, &mut || true).err(),
    });
    for (one, rank) in done.into_iter().zip(0..) {
        let said = one.unwrap().map(|error| error.title);
        assert_eq!(said.as_deref(), (rank < 2).then_some("rank 2 is gone"));
    }
    let impatient = Joining { patience: Duration::from_millis(100), ..joining(0, free()) };
    let missing = Group::join(plan(4, 3), &impatient, &mut || true).err().unwrap();
    assert!(missing.title.starts_with("rank 1, 2 did not come"), "{missing}");
    let lonely = Joining { rank: 1, ..impatient };
    let missing = Group::join(plan(4, 3), &lonely, &mut || true).err().unwrap();
    assert!(missing.title.starts_with("no program of rank 0 at 127.0.0.1:"), "{missing}");
    let stopped = Group::join(plan(4, 3), &joining(0, free()), &mut || false).err().unwrap();
    assert_eq!(stopped.title, "the call was interrupted");
    let strange = Group::join(plan(4, 3), &joining(7, free()), &mut || true).err().unwrap();
    assert_eq!(strange.title, "no rank 7 in a group of 3");
    for wait in [0, MOST_WAIT + 1] {
        let hasty = Joining { wait: Some(wait), ..joining(0, free()) };
        let refused = Group::join(plan(4, 3), &hasty, &mut || true).err().unwrap();
        assert_eq!(refused.title, format!("`wait` is not {wait} milliseconds"));
    }
}

#[test]
fn programs_with_different_files_are_refused() {
    let root = free();
    let (one, other) = (plan(5, 2), GroupPlan { name: "other".into(), ..plan(5, 2) });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| Group::join(one, &joining(0, root), &mut || true).err());
        let second = scope.spawn(|| Group::join(other, &joining(1, root), &mut || true).err());
        for said in [first, second].map(|thread| thread.join().unwrap().unwrap()) {
            assert!(said.title.contains("rank 1 of 2 in `other`"), "{said}");
        }
    });
}

#[test]
fn files_of_groups_are_checked() {
    let place = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("group.json");
    let read = |plan: &GroupPlan| {
        std::fs::write(&place, plan.text()).unwrap();
        GroupPlan::read(&place).map_err(|error| error.title)
    };
    let good = plan(6, 2);
    assert_eq!(read(&good), Ok(good.clone()));
    let cases = [
        (GroupPlan { version: "0.0.1".into(), ..good.clone() }, "it is of version 0.0.1, and this is"),
        (GroupPlan { members: vec![], ..good.clone() }, "a group has 1 to 256 programs, not 0"),
        (GroupPlan { rows: 100, ..good.clone() }, "100 rows are no power of two"),
        (GroupPlan { lanes: 0, ..good.clone() }, "a packet has 1 to 128 lanes, not 0"),
        (GroupPlan { parents: 1, ..good.clone() }, "more parents than switches"),
    ];
    for (plan, wanted) in cases {
        let said = read(&plan).unwrap_err();
        assert!(said.contains(wanted), "{said}");
    }
    std::fs::write(&place, "{\"version\": 1").unwrap();
    assert!(GroupPlan::read(&place).unwrap_err().title.contains("group.json"));
    assert!(GroupPlan::read("nothing.json".as_ref()).is_err());
}

#[test]
fn a_program_is_in_two_groups_of_its_machine() {
    let [first, second] = [(); 2].map(|()| free());
    let plan = |root: SocketAddr| GroupPlan::on_this_machine(3, root.port());
    let sum = |group: &mut Group, value: u32| {
        let (sum, _) = group.all_reduce(Values::U32(&[value]), Op::Add, &mut || true).unwrap();
        u32::from_le_bytes(sum.try_into().unwrap())
    };
    let done = run_at(first, &plan(first), |mut group| {
        let rank = group.rank();
        let mut other = Group::join(plan(second), &joining(rank, second), &mut || true).unwrap();
        let value = rank as u32;
        [sum(&mut group, value), sum(&mut other, 10 * value), sum(&mut group, 100 * value)]
    });
    for one in done {
        assert_eq!(one.unwrap(), [3, 30, 300]);
    }
}
