"""`p4rack.torch` with torch itself. Argument: the directory of the examples. Without torch it says so, and the exit status is 77.

Ranks are processes. With scikit-learn, the model of `a_model_learns` reads the handwritten digits that scikit-learn ships; otherwise it reads clusters that
are drawn here.
"""

import os
import sys
import tempfile
import warnings
from pathlib import Path

try:
    import torch
except ImportError:
    print("skipped: torch cannot be imported; `pip install torch` (CPU is enough), then run this again")
    sys.exit(77)

import numpy
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.nn.parallel import DistributedDataParallel

import p4rack.torch
from p4rack import agg, fixed

STEPS = 30
RATE = 0.2


def start(rank, size, program, place, *arguments):
    """The process of a rank; `place` is a directory of all."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    warnings.simplefilter("ignore")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    store = dist.FileStore(str(Path(place) / "store"), size)
    program(store, rank, size, *arguments)


def world(size, program, *arguments):
    """Runs a program at each rank. One that fails ends all, and is an error here."""
    with tempfile.TemporaryDirectory() as place:
        processes.spawn(start, args=(size, program, place, *arguments), nprocs=size)


def gathered(values, group=None):
    """The arrays of all ranks of a group, by gloo."""
    found = [torch.zeros_like(values) for _ in range(dist.get_world_size(group))]
    dist.all_gather(found, values, group=group)
    return [one.numpy() for one in found]


def check_sum(mine, group=None):
    """Sums a tensor of float32, and compares each element with the sum in double precision, and the bits with those of other ranks."""
    all_values = gathered(mine, group)
    found = mine.clone()
    dist.all_reduce(found, group=group)
    exact = numpy.sum([one.astype(numpy.float64) for one in all_values], axis=0)
    allowed = fixed.bound(all_values) + numpy.spacing(numpy.abs(exact).astype(numpy.float32)).astype(numpy.float64)
    assert (numpy.abs(found.numpy().astype(numpy.float64) - exact) <= allowed).all()
    assert all((one == found.numpy()).all() for one in gathered(found, group)), "ranks have different bits"


def collectives(store, rank, size):
    dist.init_process_group("p4rack", store=store, rank=rank, world_size=size)
    group = dist.group.WORLD
    assert (dist.get_backend(), group.size()) == ("p4rack", size)
    check_sum(torch.randn(1000) * 2.0 ** torch.randint(-100, 60, (1000,)))
    whole = torch.arange(10, dtype=torch.int32) - 5 * rank
    for op, wanted in ((dist.ReduceOp.SUM, [at * size - 15 for at in range(10)]), (dist.ReduceOp.MAX, list(range(10)))):
        found = whole.clone()
        dist.all_reduce(found, op)
        assert found.tolist() == wanted, (op, found)
    wide = torch.full((3,), (1 << 40) + rank)
    dist.all_reduce(wide)
    assert wide.tolist() == [3 * (1 << 40) + 3] * 3
    mean = torch.full((2,), 3.0 * rank)
    work = dist.all_reduce(mean, dist.ReduceOp.AVG, async_op=True)
    work.wait()
    assert mean.tolist() == [3.0, 3.0] and work.is_completed()
    columns = torch.ones(4, 4)[:, ::2]
    dist.all_reduce(columns)
    assert columns.tolist() == [[3.0, 3.0]] * 4
    dist.barrier()
    # gathered() uses gloo, but does not fall back: nothing promises it in the network.
    assert not group.fallbacks, group.fallbacks
    double = torch.tensor([0.5 + rank], dtype=torch.float64)
    dist.all_reduce(double)
    assert double.item() == 4.5 and group.fallbacks == {"tensors of float64": 1}, group.fallbacks
    endless = torch.tensor([1.0, float("inf") if rank else 1.0])
    dist.all_reduce(endless)
    assert endless[1] == float("inf") and group.fallbacks["a value is infinite or no number"] == 1
    source = torch.tensor([float(rank)])
    dist.broadcast(source, 1)
    assert source.item() == 1.0
    if rank < 2:
        other = torch.full((4,), float(rank))
        dist.send(other, 1 - rank) if rank == 0 else dist.recv(other, 0)
        assert other.tolist() == [0.0] * 4
    parts = [torch.zeros(1) for _ in range(size)]
    dist.all_to_all(parts, [torch.tensor([float(10 * rank + at)]) for at in range(size)])
    assert [part.item() for part in parts] == [10.0 * at + rank for at in range(size)]
    # A group of some ranks without a plan.
    pair = dist.new_group([0, 2])
    if rank != 1:
        found = torch.tensor([float(rank + 1)])
        dist.all_reduce(found, group=pair)
        [reason] = pair.fallbacks
        assert found.item() == 4.0 and "no plan" in reason and pair.report is None
        dist.barrier(group=pair)
    check_sum(torch.randn(70))
    dist.destroy_process_group()


def groups_with_plans(store, rank, size, plan):
    """The network's group is a part of a world of gloo. Its rank 0 is not the rank 0 of all."""
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    some = dist.new_group(range(1, size), backend="p4rack", pg_options=p4rack.torch.Options(plan))
    if rank > 0:
        check_sum(torch.randn(5000), some)
        assert not some.fallbacks and some.report["fallback"] is None, some.fallbacks
        assert some.report["pairs_that_arrived"] == 5000, some.report
    again = dist.new_group(range(1, size), backend="p4rack", pg_options=p4rack.torch.Options(plan))
    if rank > 0:
        found = torch.ones(3)
        dist.all_reduce(found, group=again)
        [reason] = again.fallbacks
        assert found.tolist() == [size - 1.0] * 3 and "another group" in reason, reason
    dist.destroy_process_group()


def digits():
    try:
        from sklearn.datasets import load_digits

        inputs, classes = load_digits(return_X_y=True)
        return "digits of scikit-learn", torch.tensor(inputs / 16, dtype=torch.float32), torch.tensor(classes)
    except ImportError:
        chance = numpy.random.default_rng(3)
        classes = chance.integers(0, 10, 1800)
        inputs = chance.standard_normal((10, 64))[classes] + 0.7 * chance.standard_normal((1800, 64))
        return "drawn clusters", torch.tensor(inputs / 8, dtype=torch.float32), torch.tensor(classes)


def trained(model, rank, size, register=None):
    """Trains by full batches, each rank with its part of the data: the loss of each step, and the parameters."""
    _, inputs, classes = digits()
    mine = slice(rank, len(inputs) // size * size, size)
    parallel = DistributedDataParallel(model)
    if register is not None:
        parallel.register_comm_hook(*register)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=RATE)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(parallel(inputs[mine]), classes[mine])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, torch.cat([one.detach().reshape(-1) for one in model.parameters()]).to(torch.float64).numpy()


def linear():
    torch.manual_seed(5)
    return torch.nn.Linear(64, 10)


def layers():
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


def a_model_learns(store, rank, size):
    """Beside gloo: with the hook, and with DistributedDataParallel's own reduction.

    The gradient descent of the linear model is a contraction (cross entropy is convex and smooth, and the step is small), so the errors of gradients add up at
    most: the distance of the parameters has a bound, the sum of those of all steps.
    """
    dist.init_process_group("gloo", store=dist.PrefixStore("gloo", store), rank=rank, world_size=size)
    models = (linear, layers)
    wanted = [trained(model(), rank, size) for model in models]
    dist.destroy_process_group()

    dist.init_process_group("p4rack", store=dist.PrefixStore("p4rack", store), rank=rank, world_size=size)
    group = dist.group.WORLD
    bounds = []

    def hook(group, bucket):
        all_values = gathered(bucket.buffer().clone())
        future = p4rack.torch.hook(group, bucket)
        found = future.value().numpy().astype(numpy.float64)
        mean = numpy.mean([one.astype(numpy.float64) for one in all_values], axis=0)
        bound = fixed.bound(all_values) / size
        # Rounding of the sum to float32, and of its quotient.
        rounding = numpy.spacing(numpy.abs(mean).astype(numpy.float32)).astype(numpy.float64)
        assert (numpy.abs(found - mean) <= bound + rounding).all(), "a gradient is beyond its bound"
        bounds.append(numpy.linalg.norm(bound + rounding))
        return future

    for model, (losses, parameters) in zip(models, wanted):
        bounds.clear()
        found = trained(model(), rank, size, (group, hook))
        assert len(bounds) >= STEPS
        # Gloo rounds, too, and both compute gradients in float32: as much again, and 1e-6 for each step.
        allowed = RATE * (2 * sum(bounds) + STEPS * 1e-6)
        apart = numpy.linalg.norm(found[1] - parameters)
        moved = numpy.linalg.norm(parameters - torch.cat([one.detach().reshape(-1) for one in model().parameters()]).numpy())
        if rank == 0:
            data, *_ = digits()
            print(f"{data}, {model.__name__}: loss {losses[0]:.3f} to {losses[-1]:.3f}; parameters moved by {moved:.3f}, {apart:.1e} from gloo's, bound {allowed:.1e}")
        if model is linear:
            assert apart <= allowed, (apart, allowed)
        assert numpy.allclose(found[0], losses, rtol=1e-4) and losses[-1] < 0.97 * losses[0], losses
        assert all((one == found[1]).all() for one in gathered(torch.tensor(found[1]))), "ranks have different models"
        found = trained(model(), rank, size)
        assert numpy.allclose(found[0], losses, rtol=1e-4) and numpy.linalg.norm(found[1] - parameters) <= 10 * allowed
    assert not group.fallbacks, group.fallbacks
    dist.destroy_process_group()


def plans(hosts, rack):
    job = agg.Job()
    names = [f"w{host}" for host in range(1, hosts + 1)]
    for host, name in enumerate(names, 1):
        job.program(name, at=f"h{host}")
    job.reducer("grads", of=names, at="master", profile="arrays")
    return agg.local(job, rack=rack)


if __name__ == "__main__":
    jobs = Path(sys.argv[1]) / "jobs"
    world(3, collectives)
    with plans(3, jobs) as files:
        world(5, groups_with_plans, files["grads"])
    world(3, a_model_learns)
    print(f"ok, torch {torch.__version__}")
