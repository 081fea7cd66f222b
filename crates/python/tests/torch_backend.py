"""`p4rack.torch` against a stand-in of torch. Argument: the directory of the examples. Needs numpy; exit status 77 without it."""

import datetime
import os
import socket
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

try:
    import numpy
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parent / "stand-ins"))
import torch
import torch.distributed as dist

import p4rack
import p4rack.torch
from p4rack import agg, fixed

MINUTE = datetime.timedelta(seconds=60)


def make(store, rank, size, ranks=(), options=None):
    """A group, as torch makes it; `ranks`: those of all that are in it, none for the group of all."""
    given = SimpleNamespace(store=store, group_rank=rank, group_size=size, timeout=MINUTE, global_ranks_in_group=list(ranks))
    made, is_extended, devices = dist.Backend.plugins["p4rack"]
    assert is_extended and devices == ["cpu", "cuda"]
    return made(given, options)


def world(size, program, options=None):
    """Runs a program at each rank; what each returned."""
    store, done = dist.Store(size), [None] * size

    def one(rank):
        try:
            group = make(store, rank, size, options=options)
            try:
                done[rank] = program(group, rank)
            finally:
                group.shutdown()
        except Exception as error:
            done[rank] = error

    threads = [threading.Thread(target=one, args=[rank]) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in done:
        if isinstance(one, Exception):
            raise one
    return done


def reduced(group, values, op=dist.ReduceOp.SUM):
    options = dist.AllreduceOptions()
    options.reduceOp = op
    tensor = values if isinstance(values, torch.Tensor) else torch.Tensor(values)
    work = group.allreduce([tensor], options)
    assert work is not None
    return tensor.values


def gradients(rank, seed, count):
    """Values of very different magnitude, block by block."""
    chance = numpy.random.default_rng([rank, seed])
    magnitudes = numpy.exp2(numpy.repeat(numpy.random.default_rng(seed).integers(-140, 100, -(-count // 64)), 64)[:count])
    return (chance.standard_normal(count) * magnitudes).astype(numpy.float32)


def sums_are_within_their_bound():
    for size in (2, 3, 5):
        for count in (1, 63, 64, 1000):
            all_values = [gradients(rank, count, count) for rank in range(size)]
            done = world(size, lambda group, rank: reduced(group, all_values[rank].copy()))
            exact = numpy.sum([values.astype(numpy.float64) for values in all_values], axis=0)
            allowed = fixed.bound(all_values) + numpy.spacing(numpy.abs(exact).astype(numpy.float32)).astype(numpy.float64)
            for found in done:
                wrong = numpy.abs(found.astype(numpy.float64) - exact) > allowed
                assert not wrong.any(), (size, count, numpy.nonzero(wrong))
                # The same bits at every rank.
                assert found.tobytes() == done[0].tobytes()


def the_order_of_ranks_changes_no_bit():
    values = [gradients(rank, 7, 300) for rank in range(4)]
    first = world(4, lambda group, rank: reduced(group, values[rank].copy()))
    other = world(4, lambda group, rank: reduced(group, values[3 - rank].copy()))
    assert first[0].tobytes() == other[0].tobytes()


def integers_and_other_forms():
    def program(group, rank):
        whole = numpy.arange(10, dtype=numpy.int32) - 5 * rank
        large = numpy.full(3, (1 << 40) + rank)
        strided = numpy.ones((4, 4), numpy.float32)[:, ::2]
        found = [
            reduced(group, whole.copy()).tolist(),
            reduced(group, whole.copy(), dist.ReduceOp.MAX).tolist(),
            reduced(group, whole.copy(), dist.ReduceOp.MIN).tolist(),
            reduced(group, large).tolist(),
            reduced(group, strided).tolist(),
            reduced(group, numpy.full(2, 3.0 + rank, numpy.float32), dist.ReduceOp.AVG).tolist(),
            reduced(group, numpy.zeros(2, numpy.float32)).tolist(),
        ]
        group.barrier()
        assert not group.fallbacks and not group._gloo.calls, group.fallbacks
        assert group.report["pairs_sent"] > 0 and (group.getBackendName(), group.size()) == ("p4rack", 2)
        return found

    wanted = [
        [2 * at - 5 for at in range(10)],
        list(range(10)),
        [at - 5 for at in range(10)],
        [(2 << 40) + 1] * 3,
        [[2.0, 2.0]] * 4,
        [3.5, 3.5],
        [0.0, 0.0],
    ]
    assert world(2, program) == [wanted, wanted]


def what_the_network_cannot_do_goes_to_gloo():
    def program(group, rank):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            double = reduced(group, numpy.full(2, 0.1))
            reduced(group, numpy.full(2, 0.1))
            most = reduced(group, numpy.full(2, float(rank), numpy.float32), dist.ReduceOp.MAX)
            large = reduced(group, numpy.full(1, (rank + 1) << 40), dist.ReduceOp.MAX)
            bad = reduced(group, numpy.array([1, numpy.inf if rank else 2], numpy.float32))
            reduced(group, torch.tensor([1.0], device="xpu"))
            product = reduced(group, numpy.array([2], numpy.int32), dist.ReduceOp.PRODUCT)
            one = torch.tensor([rank + 1.0])
            group.broadcast([one], None)
            good = reduced(group, numpy.ones(1, numpy.float32))
        assert numpy.allclose(double, 0.2) and most.tolist() == [1, 1] and large.tolist() == [2 << 40]
        assert good.tolist() == [2]
        assert bad.tolist() == [2, numpy.inf] and product.tolist() == [4] and one.values.tolist() == [1.0]
        assert group._gloo.calls == ["allreduce"] * 7 + ["broadcast"]
        return dict(group.fallbacks)

    first, second = world(2, program)
    wanted = {
        "tensors of float64": 2,
        "MAX of float32": 1,
        "MAX of int64": 1,
        "a value is infinite or no number": 1,
        "tensors on `xpu`": 1,
    }
    product = {reason: count for reason, count in first.items() if reason not in wanted}
    assert first == second and {**wanted, **product} == first and list(product.values()) == [1], first


def tensors_of_a_gpu_pass_pinned_memory():
    def program(group, rank):
        found = []
        # The second one is shorter than the buffer of its type, and the last one is not contiguous.
        for values in ([1.5 + rank, 2.0, -3.0], [4.0, rank], [0.25] * 5):
            one = torch.tensor(values, device="cuda")
            found.append(reduced(group, one).tolist())
            assert one.device.type == "cuda"
        whole = torch.tensor([[rank, 1], [2, 3]], torch.int32, device="cuda")
        found.append(reduced(group, torch.Tensor(whole.values.T, "cuda"), dist.ReduceOp.MAX).tolist())
        found.append(reduced(group, torch.tensor([1.0, 3.0 * rank], device="cuda"), dist.ReduceOp.AVG).tolist())
        # One rank's tensor may be on the CPU.
        mixed = torch.tensor([2.0], device="cuda" if rank else "cpu")
        found.append(reduced(group, mixed).tolist())
        assert not group.fallbacks and not group._gloo.calls, group.fallbacks
        assert {dtype.name: buffer.numel() for dtype, buffer in group._pinned.items()} == {"float32": 5, "int32": 4}
        return found

    torch.pinned.clear()
    wanted = [[4.0, 4.0, -6.0], [8.0, 1.0], [0.5] * 5, [[1, 2], [1, 3]], [1.0, 1.5], [4.0]]
    assert world(2, program) == [wanted, wanted]
    assert len(torch.pinned) == 2 * (2 * 5) + 2 and all(torch.pinned), torch.pinned


def a_model_learns_as_it_does_with_exact_sums():
    """Linear regression by three ranks; the hook averages gradients."""
    truth = numpy.random.default_rng(1).standard_normal(40)

    def data(rank):
        chance = numpy.random.default_rng([2, rank])
        inputs = chance.standard_normal((200, 40))
        return inputs, inputs @ truth + 0.01 * chance.standard_normal(200)

    class Bucket:
        def __init__(self, gradient):
            self.tensor = torch.Tensor(gradient)

        def buffer(self):
            return self.tensor

    def step(weights, rank):
        inputs, outputs = data(rank)
        wrong = inputs @ weights - outputs
        return inputs.T @ wrong / 200, float(wrong @ wrong / 200)

    def program(group, rank):
        weights, losses = numpy.zeros(40), []
        for _ in range(60):
            gradient, loss = step(weights, rank)
            future = p4rack.torch.hook(group, Bucket(gradient.astype(numpy.float32)))
            weights = weights - 0.1 * future.wait().values
            losses.append(loss)
        return weights, losses

    weights, losses = numpy.zeros(40), [[], [], []]
    for _ in range(60):
        steps = [step(weights, rank) for rank in range(3)]
        for rank in range(3):
            losses[rank].append(steps[rank][1])
        weights = weights - 0.1 * numpy.mean([gradient.astype(numpy.float32) for gradient, _ in steps], axis=0)
    found = world(3, program)
    for rank in range(3):
        assert (found[rank][0] == found[0][0]).all(), "ranks have different models"
        assert numpy.allclose(found[rank][1], losses[rank], rtol=1e-4), "the curve is another one"
    assert losses[0][-1] < losses[0][0] / 100 and numpy.allclose(found[0][0], weights, atol=1e-5)


def mistakes_say_what_to_do():
    def fails(call, *words):
        try:
            call()
        except p4rack.Error as error:
            assert all(word in str(error) for word in words), error
        else:
            raise AssertionError("it was taken")

    fails(lambda: make(dist.Store(1), 0, 257), "257 ranks", "256")
    os.environ["P4RACK_GROUP"] = "nothing.group.json"
    fails(lambda: make(dist.Store(1), 0, 1), "nothing.group.json")
    del os.environ["P4RACK_GROUP"]
    assert make(dist.Store(1), 0, 1, [3]).report is None
    try:
        make(dist.Store(1), 0, 1, [3], p4rack.torch.Options(1, wait="soon"))
    except TypeError as error:
        assert "integer" in str(error), error
    else:
        raise AssertionError("`wait` is not used")
    # A root whose port is taken.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        os.environ["P4RACK_ROOT"] = f"127.0.0.1:{taken.getsockname()[1]}"
        fails(lambda: make(dist.Store(1), 0, 1), "cannot listen", os.environ["P4RACK_ROOT"])
        del os.environ["P4RACK_ROOT"]


def network(hosts, place):
    """A RACK.toml: so many hosts and a master at one switch."""
    lines = ['[rack]\nname = "star"\nseed = 1\n[device.s1]\nclass = "switch"']
    for number, name in enumerate([*(f"h{host}" for host in range(1, hosts + 1)), "master"], 1):
        lines.append(f'[host.{name}]\nmac = "02:00:00:00:00:{number:02x}"\nip = "10.0.0.{number}/24"')
        lines.append(f'[[link]]\nends = ["{name}", "s1:{number}"]\nrate = "1Gbit/s"')
    (place / "RACK.toml").write_text("\n".join(lines) + "\n")
    return place / "RACK.toml"


def arrays(hosts, **settings):
    """A group of a program on each host, and one at the master."""
    job = agg.Job()
    names = [f"w{host}" for host in range(1, hosts + 1)]
    for host, name in enumerate(names, 1):
        job.program(name, at=f"h{host}")
    job.reducer("grads", of=names, at="master", **settings)
    return job


def within_the_bound(found, values):
    exact = numpy.sum([one.astype(numpy.float64) for one in values], axis=0)
    allowed = fixed.bound(values) + numpy.spacing(numpy.abs(exact).astype(numpy.float32)).astype(numpy.float64)
    return (numpy.abs(found.astype(numpy.float64) - exact) <= allowed).all()


def through_switches(example):
    values = [gradients(rank, 9, 2000) for rank in range(4)]
    with agg.local(arrays(3, rows=512), rack=example) as plans:
        os.environ["P4RACK_GROUP"] = plans["grads"]
        done = world(4, lambda group, rank: (reduced(group, values[rank].copy()), group.report))
        del os.environ["P4RACK_GROUP"]
    for found, report in done:
        assert within_the_bound(found, values)
        # Three arrays arrive as little more than one.
        assert report["fallback"] is None and report["pairs_that_arrived"] < 3500, report


def six_senders_of_arrays_save_four_fifths():
    """Bytes of frames that reach rank 0, beside those of six arrays of float32 over TCP."""
    count = 64 * 1024
    values = [gradients(rank, 11, count) for rank in range(7)]
    with tempfile.TemporaryDirectory() as place:
        rack = network(6, Path(place))
        with agg.local(arrays(6, profile="arrays"), rack=rack) as plans:
            # Time is to pass before a packet is sent again, however slow the machine is.
            options = p4rack.torch.Options(plans["grads"], wait=2000)

            def program(group, rank):
                calls, call = [], group._group.allreduce

                def counted(array, op="add"):
                    call(array, op)
                    calls.append((op, group.report))

                group._group.allreduce = counted
                found = reduced(group, values[rank].copy())
                return found, calls

            done = world(7, program, options)
    for found, calls in done:
        assert within_the_bound(found, values) and found.tobytes() == done[0][0].tobytes()
        # Exponents of blocks, and values.
        assert [op for op, _ in calls] == ["max", "add"] and all(report["fallback"] is None for _, report in calls), calls
    reports = [report for _, report in done[0][1]]
    assert [report["pairs_that_arrived"] for report in reports] == [count // 64, count], reports
    bytes_to_root = sum(report["bytes_to_root"] for report in reports)
    plain = 6 * -(-4 * count // 1460) * (1460 + 78)
    saved = 1 - bytes_to_root / plain
    print(f"six senders of {count} values: {bytes_to_root} bytes of frames reach rank 0, {saved:.1%} fewer than {plain} of float32 over TCP")
    # Less only if a packet is sent again.
    assert 0.7 < saved < 5 / 6, saved


def a_rank_in_two_groups_sends_both_to_gloo():
    """A host has one socket. Rank 2 is in one group only, and learns why the others do not join."""
    stores = [dist.Store(2), dist.Store(3)]
    both = threading.Barrier(3)
    done = [None] * 3

    def one(rank):
        first = make(stores[0], rank, 2, [0, 1], p4rack.torch.Options(2)) if rank < 2 else None
        both.wait()
        second = make(stores[1], rank, 3, [0, 1, 2], p4rack.torch.Options(3))
        sums = [reduced(group, numpy.full(3, rank + 1, numpy.int32)).tolist() for group in (first, second) if group]
        done[rank] = sums, list(second.fallbacks)
        for group in (first, second):
            if group:
                group.shutdown()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=one, args=[rank]) for rank in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [sums for sums, _ in done] == [[[3] * 3, [6] * 3], [[3] * 3, [6] * 3], [[6] * 3]], done
    for _, reasons in done:
        assert len(reasons) == 1 and "rank 0" in reasons[0] and "another group" in reasons[0], done


def groups_of_some_ranks(example):
    """With a plan they go through switches; without one, or if the host is in another group already, gloo reduces, at all their ranks."""
    values = [gradients(rank, 13, 500) for rank in range(4)]
    stores = [dist.Store(4) for _ in range(3)]
    done = [None] * 4

    def one(rank, plan):
        first = make(stores[0], rank, 4, [1, 2, 3, 4], p4rack.torch.Options(plan))
        second = make(stores[1], rank, 4, [1, 2, 3, 4])
        # Hosts have one socket.
        third = make(stores[2], rank, 4, [1, 2, 3, 4], p4rack.torch.Options(plan))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = [reduced(group, values[rank].copy()) for group in (first, second, third)]
            second.barrier()
        done[rank] = found, [dict(group.fallbacks) for group in (first, second, third)], second._gloo.calls
        first.shutdown()

    with agg.local(arrays(3, profile="arrays"), rack=example) as plans:
        threads = [threading.Thread(target=one, args=[rank, plans["grads"]]) for rank in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for found, fallbacks, calls in done:
        assert within_the_bound(found[0], values) and fallbacks[0] == {}
        assert all(numpy.allclose(found[0], other, rtol=1e-5) for other in found[1:])
        [(no_plan, times)] = fallbacks[1].items()
        assert "no plan" in no_plan and "Options" in no_plan and times == 1 and calls == ["allreduce", "barrier"]
        [(is_busy, times)] = fallbacks[2].items()
        assert "rank 0" in is_busy and "another group" in is_busy and times == 1, fallbacks
    assert not p4rack.torch._hosts, "a group that has ended holds its host"


sums_are_within_their_bound()
the_order_of_ranks_changes_no_bit()
integers_and_other_forms()
what_the_network_cannot_do_goes_to_gloo()
tensors_of_a_gpu_pass_pinned_memory()
a_model_learns_as_it_does_with_exact_sums()
mistakes_say_what_to_do()
through_switches(Path(sys.argv[1]) / "jobs")
six_senders_of_arrays_save_four_fifths()
a_rank_in_two_groups_sends_both_to_gloo()
groups_of_some_ranks(Path(sys.argv[1]) / "jobs")
print("ok")
