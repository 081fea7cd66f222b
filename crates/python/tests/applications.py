"""`p4rack.applications` and `p4rack.ray`, against serial computations. Argument: the directory of the examples. Exit status 77 without numpy."""

import json
import subprocess
import sys
import threading
from pathlib import Path

try:
    import numpy
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).parent / "stand-ins"))

import p4rack  # noqa: E402
import p4rack.ray  # noqa: E402
from p4rack import agg  # noqa: E402
from p4rack import applications as apps  # noqa: E402
from ray.util import collective  # noqa: E402

SIZE = 3


def together(program, make):
    """Runs a program at each rank; the results, or an error."""
    done = [None] * SIZE

    def one(rank):
        try:
            group = make(rank)
            done[rank] = program(group, rank)
            group.destroy_group() if hasattr(group, "destroy_group") else group.close()
        except Exception as error:
            done[rank] = error

    threads = [threading.Thread(target=one, args=[rank]) for rank in range(SIZE)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for error in done:
        if isinstance(error, Exception):
            raise error
    return done


def serial_page_rank(sources, targets, nodes, rounds):
    out = numpy.bincount(sources.astype(int), minlength=nodes)
    ranks = numpy.full(nodes, 1.0 / nodes)
    for _ in range(rounds):
        flow = numpy.zeros(nodes)
        numpy.add.at(flow, targets.astype(int), (ranks / numpy.maximum(out, 1))[sources.astype(int)])
        ranks = 0.15 / nodes + 0.85 * (flow + (1.0 - flow.sum()) / nodes)
    return ranks


def all_applications(root):
    words = [apps.words(5000, 3000, seed=rank) for rank in range(SIZE)]
    nodes = 400
    sources, targets = apps.graph(nodes, 3000, seed=5)
    part = [(sources[rank::SIZE], targets[rank::SIZE]) for rank in range(SIZE)]
    apps._PIECE = 1000
    # The last piece is small, and is folded at the end.
    flows = [list(apps.flows(4050, 900, seed=rank)) for rank in range(SIZE)]
    floats = [numpy.random.default_rng(rank).normal(size=1000).astype(numpy.float32) for rank in range(SIZE)]

    def program(group, rank):
        return {
            "words": apps.word_count(group, words[rank]),
            "best": apps.rank_query(group, words[rank], numpy.arange(5000, dtype=numpy.uint32), most=5),
            "degree": apps.in_degree(group, part[rank][1]),
            "rank": apps.page_rank(group, *part[rank], nodes, rounds=6),
            "flows": apps.flow_statistics(group, flows[rank]),
            "sum": apps.gradients(group, floats[rank].copy()),
        }

    done = together(program, lambda rank: agg.Group(SIZE, rank, root))
    for found in done:
        keys, counts = numpy.unique(numpy.concatenate(words), return_counts=True)
        assert (found["words"][0] == keys).all() and (found["words"][1] == counts).all()
        best = {}
        for one in words:
            for at, key in enumerate(one.tolist()):
                best[key] = max(best.get(key, 0), at)
        wanted = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:5]
        assert list(zip(*(one.tolist() for one in found["best"]))) == wanted, (found["best"], wanted)
        degree = numpy.bincount(targets.astype(int), minlength=nodes)
        assert (found["degree"][1] == degree[degree > 0]).all()
        # Each of the links of each round is rounded off by at most 2^-32.
        error = numpy.abs(found["rank"] - serial_page_rank(sources, targets, nodes, 6)).sum()
        assert error <= 2 * 6 * len(sources) * 2.0**-32, error
        assert abs(found["rank"].sum() - 1.0) < 1e-9
        pieces = [piece for one in flows for piece in one]
        flow, packets = numpy.unique(numpy.concatenate([keys for keys, _ in pieces]), return_counts=True)
        total = {}
        for keys, sizes in pieces:
            for key, size in zip(keys.tolist(), sizes.tolist()):
                total[key] = total.get(key, 0) + size
        assert (found["flows"][0] == flow).all() and (found["flows"][1] == packets).all()
        assert found["flows"][2].tolist() == [total[key] for key in flow.tolist()]
        exact = sum(one.astype(numpy.float64) for one in floats)
        assert numpy.abs(found["sum"] - exact).max() < 1e-6
        assert (found["rank"] == done[0]["rank"]).all() and (found["sum"] == done[0]["sum"]).all(), "equal bits"


def generated_data():
    words = apps.words(200_000, seed=1)
    assert words.max() < apps.WORDS and (words == 0).mean() > 0.03, "the first word is frequent"
    sources, targets = apps.graph(1000, 20_000, seed=1)
    assert sources.max() < 1000 and targets.max() < 1000 and len(sources) == 20_000
    degree = numpy.sort(numpy.bincount(targets.astype(int)))[::-1]
    assert degree[:10].sum() > 5 * degree.mean() * 10, "a power law"
    [(keys, _)] = apps.flows(10_000, 500, seed=1)
    assert len(numpy.unique(keys)) <= 500 and int(keys.max()) < 1 << 48
    first, second = apps.flows(2 * apps._PIECE, 500, seed=1)
    assert len(second[0]) == apps._PIECE and (first[0] != second[0]).any() and (first[1] != second[1]).any()
    assert (apps.words(100, seed=3) == apps.words(100, seed=3)).all()


class Options:
    def __init__(self, name="SUM", root=0):
        self.reduceOp = type("ReduceOp", (), {"name": name})
        self.root_rank = root


def ray_group():
    p4rack.ray.register()
    make = collective.backends["P4RACK"]
    assert make.backend() == "P4RACK" and make.check_backend_availability()

    def program(group, rank):
        group.barrier()
        floats = numpy.full((4, 5), rank + 0.5, numpy.float32)
        group.allreduce([floats], Options())
        most = numpy.array([rank, -rank], numpy.int32)
        group.allreduce([most], Options("MAX"))
        only = numpy.array([rank + 1], numpy.int64)
        group.reduce([only], Options(root=1))
        copied = numpy.array([rank * 1.25], numpy.float64)
        group.broadcast([copied], Options(root=2))
        into = [numpy.zeros(3, numpy.int16) for _ in range(SIZE)]
        group.allgather([into], [numpy.array([rank, rank, 7], numpy.int16)])
        part = numpy.zeros(2, numpy.uint32)
        group.reducescatter([part], [[numpy.full(2, at + rank, numpy.uint32) for at in range(SIZE)]])
        for call, words in [
            (lambda: group.allreduce([numpy.zeros(2)], Options()), "SUM of float64"),
            (lambda: group.allreduce([numpy.zeros(2, numpy.int32)], Options("PRODUCT")), "PRODUCT of int32"),
            (lambda: group.allreduce(["a"], Options()), "`str`"),
            (lambda: group.send([floats]), "another group"),
        ]:
            try:
                call()
            except p4rack.Error as error:
                assert words in str(error), error
            else:
                raise AssertionError(words)
        return floats, most, only, copied, into, part

    for rank, (floats, most, only, copied, into, part) in enumerate(together(program, lambda rank: make(SIZE, rank, "test"))):
        assert (floats == 4.5).all() and floats.shape == (4, 5) and most.tolist() == [2, 0]
        assert only.tolist() == [6 if rank == 1 else rank + 1] and copied.tolist() == [2.5]
        assert [one.tolist() for one in into] == [[0, 0, 7], [1, 1, 7], [2, 2, 7]]
        assert part.tolist() == [3 * rank + 3] * 2


def as_a_command():
    """Each application, with a thousandth of the paper's sizes or less."""
    shares = {"flow_statistics": "0.00005", "gradients": "0.0005"}
    for number, name in enumerate(sorted(apps.SIZES)):
        words = [name, "--share", shares.get(name, "0.001"), "--programs", "2", "--root", f"127.0.0.1:{9650 + number}", "--timeout", "60"]
        done = subprocess.run([sys.executable, "-m", "p4rack.applications", *words], capture_output=True, text=True)
        assert done.returncode == 0, (name, done)
        said = json.loads(done.stdout)
        assert said["exact"] is True and said["results"] > 0 and said["last_call"]["pairs_sent"] > 0, said
    refused = subprocess.run([sys.executable, "-m", "p4rack.applications", "word_count", "--share", "2"], capture_output=True, text=True)
    assert refused.returncode == 2 and "at most 1" in refused.stderr, refused


generated_data()
as_a_command()
all_applications("127.0.0.1:9642")
ray_group()
print("ok")
