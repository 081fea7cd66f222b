//! Several processes of one handler, and their parts of leased blocks.

use super::{ask, built, declared};
use base_bits::Bits;
use base_time::Duration;
use dataplane_api::{Registry, ValueExtern};
use handlers::{Built, Isolation, News, register};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn made(built: &Arc<Built>, isolation: Isolation, args: &[u128]) -> Box<dyn ValueExtern> {
    let mut registry = Registry::default();
    register(built, isolation, 7, &mut registry);
    let args: Vec<Bits> = args.iter().map(|arg| Bits::new(8, *arg)).collect();
    let offer = registry.value("count").expect("it is offered");
    (offer.make)(&args).unwrap_or_else(|error| panic!("{}", error.0))
}

/// Counts the calls that it gets; operation 3 crashes. The flow is a block, too.
const CALLS: &str = r#"#include "test.h"
int count(p4r_ctx *ctx, const request_t *q, response_t *r) {
    uint64_t *calls = p4r_memory(ctx);
    if (ctx->arena_used == 0) calls = p4r_alloc(ctx, sizeof *calls);
    if ((int)request_t_op(q) == 3) *(volatile int *)0 = 1;
    response_t_set_sum(r, ++*calls * 1000 + p4r_worker(ctx));
    response_t_set_flag(r, p4r_leased(ctx, request_t_flow(q)));
    return P4R_OK;
}
"#;

/// The calls of the flow's worker, and its number.
fn calls(object: &mut dyn ValueExtern, flow: u128, op: u128) -> Option<(u64, u64)> {
    let given = ask(object, flow, op, 0);
    let sum = given[4].low_u64();
    (!given[5].is_zero()).then_some((sum / 1000, sum % 1000))
}

#[test]
fn blocks_are_leased_by_server() {
    let built = built("leased", CALLS);
    for isolation in [Isolation::Inline, Isolation::Process] {
        for (args, wanted) in [
            (&[][..], [true; 7]),
            (&[0, 1], [true; 7]),
            (&[0, 3], [true, false, false, true, false, false, true]),
            (&[2, 3], [false, false, true, false, false, true, false]),
        ] {
            let mut object = made(&built, isolation, args);
            let leased = [0, 1, 2, 3, 4, 5, 6].map(|block| !ask(&mut *object, block, 1, 0)[1].is_zero());
            assert_eq!(leased, wanted, "{isolation:?} {args:?}");
        }
    }
}

#[test]
fn a_crash_costs_the_flows_of_its_worker() {
    let built = built("workers", CALLS);
    let mut object = made(&built, Isolation::Processes(3), &[]);
    let worker: Vec<u64> = (0..40).filter_map(|flow| calls(&mut *object, flow, 1)).map(|(_, w)| w).collect();
    let again: Vec<u64> = (0..40).filter_map(|flow| calls(&mut *object, flow, 1)).map(|(_, w)| w).collect();
    assert_eq!(worker, again, "a flow stays");
    let share = [0, 1, 2].map(|number| worker.iter().filter(|own| **own == number).count() as u64);
    assert!(share.iter().all(|count| *count > 4) && share.iter().sum::<u64>() == 40, "{share:?}");
    assert_eq!(calls(&mut *object, 7, 3), None, "it crashes");
    for flow in 0..40 {
        let (calls, own) = calls(&mut *object, flow, 1).expect("it goes on");
        let is_new = calls <= share[own as usize];
        assert_eq!(is_new, own == worker[7], "flow {flow}: {calls} calls in worker {own}");
    }
}

#[test]
fn snapshots_of_several_workers_are_taken_by_as_many() {
    let built = built("several", CALLS);
    let mut from = made(&built, Isolation::Processes(3), &[]);
    for flow in 0..40 {
        assert!(calls(&mut *from, flow, 1).is_some());
    }
    let kept = from.snapshot();
    let mut to = made(&built, Isolation::Processes(3), &[]);
    to.restore(&kept).unwrap_or_else(|error| panic!("{}", error.0));
    assert_eq!(to.snapshot(), kept);
    for flow in 0..40 {
        assert_eq!(calls(&mut *to, flow, 1), calls(&mut *from, flow, 1));
    }
    for isolation in [Isolation::Inline, Isolation::Process, Isolation::Processes(2), Isolation::Processes(4)]
    {
        assert!(made(&built, isolation, &[]).restore(&kept).is_err(), "{isolation:?}");
    }
    let single = made(&built, Isolation::Process, &[]).snapshot();
    let why = to.restore(&single).expect_err("it is of one worker").0;
    assert_eq!(why, "the snapshot is not of a handler with 3 workers");
}

/// Threads call at the same time: each call counts once, in its flow's worker, and a crash costs that worker's flows alone.
#[test]
fn threads_share_the_workers() {
    let built = built("threads", CALLS);
    let mut object = made(&built, Isolation::Processes(3), &[]);
    let worker_of: Vec<u64> =
        (0..40).map(|flow| calls(&mut *object, flow, 1).expect("it answers").1).collect();
    let shared = object.shared().expect("it has no tables");
    let call = |flow: u8, op: u8| {
        // As `request_t` and `response_t` are laid out.
        let mut request = [0; 23];
        (request[3], request[4]) = (flow, op);
        let handler = &built.handlers()[0];
        let mut outputs = vec![0; handler.response.as_ref().map_or(0, |fields| fields.size) + 1];
        assert_eq!(handler.request.size, request.len());
        shared.call_packed(0, &request, &mut outputs, super::at(0));
        outputs
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for flow in 0..40 {
                    assert_eq!(call(flow, 1).last(), Some(&1));
                }
            });
        }
    });
    for number in 0..3 {
        let own = worker_of.iter().filter(|worker| **worker == number).count() as u64;
        let flow = worker_of.iter().position(|worker| *worker == number).expect("a flow");
        assert_eq!(calls(&mut *object, flow as u128, 1), Some((5 * own + 1, number)));
    }
    let crashed = call(7, 3);
    assert!(crashed.iter().all(|byte| *byte == 0), "{crashed:?}");
    assert_eq!(built.failures().all().0.len(), 1);
    assert_eq!(call(7, 1).last(), Some(&1), "it goes on");
}

/// A thread may come later than one whose packet is newer.
#[test]
fn time_does_not_run_backwards_in_a_worker() {
    let source = CALLS.replace("++*calls * 1000 + p4r_worker(ctx)", "++*calls * 0 + p4r_now_ns(ctx)");
    let built = built("time", &source);
    let mut object = made(&built, Isolation::Process, &[]);
    let mut seen = |now| ask(&mut *object, 1, 1, now)[4].low_u64();
    assert_eq!([500, 300, 700].map(&mut seen), [500, 500, 700]);
    let kept = object.snapshot();
    object.restore(&kept).unwrap_or_else(|error| panic!("{}", error.0));
    assert_eq!(ask(&mut *object, 1, 1, 200)[4].low_u64(), 200, "a snapshot has no time");
}

/// A packet of a leased block is in the worker that has the block, and each block is in one.
#[test]
fn workers_share_the_blocks_of_their_server() {
    let program = super::PROGRAM.replace("key = { q.flow }", "key = { q.mac }, block = q.block");
    let program = program.replace("bit<32> flow; op_t op;", "bit<32> flow; op_t op; bit<12> block;");
    let handlers = super::declared_in(&program);
    assert_ne!(handlers, declared());
    let source = CALLS.replace("p4r_leased(ctx, request_t_flow(q))", "p4r_leased(ctx, request_t_block(q))");
    let built = super::built_for(&handlers, "blocks", &source);
    let mut object = made(&built, Isolation::Processes(3), &[1, 2]);
    let mut workers = std::collections::BTreeSet::new();
    for block in (1..40).step_by(2) {
        let wide = Bits::zero(72);
        let inputs = [
            Bits::new(32, 9),
            Bits::new(8, 1),
            Bits::new(12, block),
            Bits::new(12, 0),
            Bits::from_bool(false),
            wide,
            Bits::new(48, 5),
        ];
        let mut outputs: Vec<Bits> = [12, 1, 72, 48, 64, 1].into_iter().map(Bits::zero).collect();
        object.call(0, &inputs, &mut outputs, super::at(0));
        assert!(
            !outputs[1].is_zero(),
            "block {block} is not leased to worker {}",
            outputs[4].low_u64() % 1000
        );
        workers.insert(outputs[4].low_u64() % 1000);
    }
    assert_eq!(workers.len(), 3);
}

/// A handler whose block is in the request, with this text after its call.
fn with_blocks(name: &str, rest: &str) -> Arc<Built> {
    let source = CALLS.replace("p4r_leased(ctx, request_t_flow(q))", "p4r_leased(ctx, request_t_block(q))");
    for_blocks(name, &(source + rest))
}

fn for_blocks(name: &str, source: &str) -> Arc<Built> {
    let program = super::PROGRAM.replace("key = { q.flow }", "key = { q.mac }, block = q.block");
    let program = program.replace("bit<32> flow; op_t op;", "bit<32> flow; op_t op; bit<12> block;");
    super::built_for(&super::declared_in(&program), name, source)
}

/// True if the block of the call is leased; operation 3 crashes.
fn is_leased(object: &mut dyn ValueExtern, block: u128, op: u128) -> bool {
    let inputs = [
        Bits::new(32, 9),
        Bits::new(8, op),
        Bits::new(12, block),
        Bits::new(12, 0),
        Bits::from_bool(false),
        Bits::zero(72),
        Bits::new(48, 5),
    ];
    let mut outputs: Vec<Bits> = [12, 1, 72, 48, 64, 1].into_iter().map(Bits::zero).collect();
    object.call(0, &inputs, &mut outputs, super::at(0));
    !outputs[1].is_zero()
}

fn set(blocks: &[usize]) -> Vec<u8> {
    let mut set = vec![0; 512];
    blocks.iter().for_each(|block| set[block / 8] |= 1 << (block % 8));
    set
}

/// Leases change between calls. The handler says what it still uses, and forgets it when it begins anew.
#[test]
fn leases_move() {
    // Block 7 is in use after a call for it; the pool ends with block 40.
    let says = "int count_block(p4r_ctx *ctx, uint64_t block) {
    uint64_t *calls = p4r_memory(ctx);
    if (block > 40) return P4R_FOREIGN;
    return block == 7 && ctx->arena_used && *calls ? P4R_BUSY : P4R_EMPTY;
}
";
    let in_c = with_blocks("moved", says);
    let says = "def count(ctx, request):
    if request.op == 3:
        raise ValueError()
    ctx.memory['calls'] = True
    return {'flag': ctx.leased(request.block)}

def count_block(ctx, block):
    return None if block > 40 else block == 7 and 'calls' in ctx.memory
";
    let in_python = for_blocks("moved.py", says);
    let all = [
        (&in_c, Isolation::Inline),
        (&in_c, Isolation::Process),
        (&in_c, Isolation::Processes(3)),
        (&in_python, Isolation::Process),
    ];
    for (built, isolation) in all {
        let mut object = made(built, isolation, &[1, 2]);
        assert!(is_leased(&mut *object, 7, 1), "the arguments say so");
        let given = object.lease(None);
        assert_eq!((given.busy, given.usable), (set(&[]), 0), "{isolation:?}: it begins anew");
        assert!(!is_leased(&mut *object, 7, 1));
        // Block B is of worker B / 2 modulo 3.
        assert_eq!(object.lease(Some(&set(&[5, 7, 8, 50]))).usable, 3, "block 50 is not of the pool");
        assert_eq!([7, 8, 9].map(|block| is_leased(&mut *object, block, 1)), [true, true, false]);
        let given = object.lease(Some(&set(&[5, 9, 13])));
        assert_eq!((given.busy, given.usable), (set(&[7]), 3), "{isolation:?}");
        assert_eq!([7, 8, 9].map(|block| is_leased(&mut *object, block, 1)), [false, false, true]);
        if isolation != Isolation::Inline {
            assert!(!is_leased(&mut *object, 9, 3), "it crashes");
            assert_eq!([7, 9].map(|block| is_leased(&mut *object, block, 1)), [false, true]);
            let few = object.lease(Some(&set(&[9]))).usable;
            assert_eq!(few, if isolation == Isolation::Process { 1 } else { 0 }, "two workers have none");
        }
    }
}

/// A handler that does not say what it uses keeps what it has had.
#[test]
fn leases_stay_where_nobody_says_that_they_are_free() {
    let built = with_blocks("silent", "");
    for isolation in [Isolation::Inline, Isolation::Processes(2)] {
        let mut object = made(&built, isolation, &[0, 1]);
        object.lease(None);
        object.lease(Some(&set(&[3, 4])));
        let given = object.lease(Some(&set(&[4, 5])));
        assert_eq!((given.busy, given.usable), (set(&[3, 4, 5]), 2), "{isolation:?}");
        let given = object.lease(None);
        assert_eq!((given.busy, given.usable), (set(&[]), 0), "{isolation:?}");
    }
}

/// Calls that take more processor time than their budget are answered, counted and reported.
#[test]
fn slow_calls_are_counted() {
    static REPORTED: AtomicU64 = AtomicU64::new(0);
    fn report(news: News<'_>) {
        match news {
            News::Slow(slow) => REPORTED.fetch_max(slow.calls, Ordering::Relaxed),
            News::Failed(failure) => panic!("{failure:?}"),
        };
    }
    let long = "for (volatile int i = 0; i < 20000000;) i++;";
    let source = CALLS.replace("*(volatile int *)0 = 1;", long);
    assert!(source.contains(long));
    let program = super::PROGRAM.replace("config = ", "budget = \"1ms\", config = ");
    let built = super::built_for(&super::declared_in(&program), "slow", &source);
    built.failures().report_to(report);
    let mut object = made(&built, Isolation::Processes(2), &[]);
    for flow in 0..20 {
        let op = if flow < 5 { 3 } else { 1 };
        assert!(calls(&mut *object, flow, op).is_some(), "it answers");
    }
    let [slow] = &built.failures().slow_calls()[..] else { panic!("{:?}", built.failures()) };
    assert_eq!((slow.handler.as_str(), slow.budget, slow.calls), ("count", Duration::from_ms(1), 5));
    assert!(slow.longest > slow.budget && slow.request.contains("op = 0x3"), "{slow:?}");
    assert_eq!(REPORTED.load(Ordering::Relaxed), 4, "reported at 1, 2 and 4");
}
