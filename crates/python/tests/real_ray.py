"""`p4rack.ray` in three actors of Ray itself, on this machine: every call of `ray.util.collective` that the switches can do, and the errors of the others. Exit status 77 without Ray."""

import sys

try:
    import numpy
    import ray
    from ray.util import collective
except ImportError as error:
    print(f"skipped: {error}; `pip install ray numpy`", file=sys.stderr)
    sys.exit(77)

import p4rack.ray

SIZE = 3


@ray.remote(num_cpus=0)
class Worker:
    def __init__(self):
        p4rack.ray.register()

    def join(self, rank, name):
        collective.init_collective_group(SIZE, rank, backend="P4RACK", group_name=name)
        return collective.get_rank(name), collective.get_collective_group_size(name)

    def leave(self, name):
        collective.destroy_collective_group(name)

    def results(self, rank, name):
        """What each call makes of this rank's arrays, by the call's name."""
        floats = numpy.full((4, 5), rank + 0.5, numpy.float32)
        collective.allreduce(floats, group_name=name)
        most = numpy.array([rank, -rank], numpy.int32)
        collective.allreduce(most, group_name=name, op=collective.types.ReduceOp.MAX)
        only = numpy.array([rank + 1], numpy.int64)
        collective.reduce(only, dst_rank=1, group_name=name)
        copied = numpy.array([rank * 1.25], numpy.float64)
        collective.broadcast(copied, src_rank=2, group_name=name)
        into = [numpy.zeros(3, numpy.int16) for _ in range(SIZE)]
        collective.allgather(into, numpy.array([rank, rank, 7], numpy.int16), group_name=name)
        part = numpy.zeros(2, numpy.uint32)
        collective.reducescatter(part, [numpy.full(2, at + rank, numpy.uint32) for at in range(SIZE)], group_name=name)
        collective.barrier(name)
        return {"allreduce": floats, "max": most, "reduce": only, "broadcast": copied, "allgather": into, "reducescatter": part}

    def refused(self, rank, name):
        """The errors of calls that switches cannot do. No rank sends anything for them, so the group still works."""
        errors = []
        for call in [
            lambda: collective.allreduce(numpy.zeros(2), group_name=name),
            lambda: collective.allreduce(numpy.zeros(2, numpy.int32), group_name=name, op=collective.types.ReduceOp.PRODUCT),
            lambda: collective.send(numpy.zeros(2, numpy.float32), (rank + 1) % SIZE, group_name=name),
        ]:
            try:
                call()
                errors.append("no error")
            except p4rack.Error as error:
                errors.append(str(error))
        return errors


def check(results):
    for rank, one in enumerate(results):
        assert (one["allreduce"] == 4.5).all() and one["allreduce"].shape == (4, 5), one
        assert one["max"].tolist() == [2, 0], one
        assert one["reduce"].tolist() == [6 if rank == 1 else rank + 1], one
        assert one["broadcast"].tolist() == [2.5], one
        assert [row.tolist() for row in one["allgather"]] == [[0, 0, 7], [1, 1, 7], [2, 2, 7]], one
        assert one["reducescatter"].tolist() == [3 * rank + 3] * 2, one


def of_all(workers, call, *arguments):
    return ray.get([getattr(worker, call).remote(rank, *arguments) for rank, worker in enumerate(workers)], timeout=120)


p4rack.ray.register()
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
workers = [Worker.remote() for _ in range(SIZE)]

assert of_all(workers, "join", "sums") == [(rank, SIZE) for rank in range(SIZE)]
check(of_all(workers, "results", "sums"))
for errors in of_all(workers, "refused", "sums"):
    for error, words in zip(errors, ["SUM of float64", "PRODUCT of int32", "another group"]):
        assert words in error, errors
check(of_all(workers, "results", "sums"))

# A second group of the same actors beside the first, and the first one's name again after it was left.
assert of_all(workers, "join", "more") == [(rank, SIZE) for rank in range(SIZE)]
check(of_all(workers, "results", "more"))
ray.get([worker.leave.remote("sums") for worker in workers], timeout=120)
assert of_all(workers, "join", "sums") == [(rank, SIZE) for rank in range(SIZE)]
check(of_all(workers, "results", "sums"))

# A group that the driver declares.
declared = [Worker.remote() for _ in range(SIZE)]
collective.create_collective_group(declared, SIZE, list(range(SIZE)), backend="P4RACK", group_name="declared")
check(of_all(declared, "results", "declared"))
ray.shutdown()
print("ok")
