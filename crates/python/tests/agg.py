"""`p4rack.agg`. Argument: the directory of the examples. Programs of a group are threads here: calls release the interpreter's lock."""

import os
import socket
import sys
import threading
from array import array
from collections import Counter
from pathlib import Path

import p4rack
from p4rack import agg

try:
    import numpy
except ImportError:
    numpy = None

from mappers import letters

EXAMPLE = Path(sys.argv[1]) / "jobs"
# Workers import the mapper, too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))


def fails(call, *words):
    try:
        call()
    except p4rack.Error as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("it was taken")


def free():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def together(plan, size, program):
    """Runs a program at each rank; what each returned, or its error."""
    root, done = free(), [None] * size

    def one(rank):
        try:
            with agg.Group(plan, rank, root, timeout=60) as group:
                done[rank] = program(group)
        except Exception as error:
            done[rank] = error

    threads = [threading.Thread(target=one, args=[rank]) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def words(rank):
    return [f"word{number * number % (50 + rank)}" for number in range(300)]


def all_kinds(group):
    """Sums of arrays, of texts, of numbers, and of nothing."""
    empty = group.reduce_by_key(array("Q"), array("q"))
    assert [list(one) for one in empty] == [[], []] and list(group.allreduce(array("I"))) == []
    own = [1] if group.rank == group.size - 1 else []
    keys, sums = group.reduce_by_key(array("Q", own), array("Q", own))
    assert (list(keys), list(sums)) == ([1], [1]), "some programs have nothing"
    rank = group.rank
    values = array("i", [at * (rank + 1) - 700 for at in range(2000)])
    assert group.allreduce(values) is values
    texts, counts = group.reduce_by_key(words(rank), array("I", [1] * 300))
    numbers, most = group.reduce_by_key(array("q", range(rank, 100)), array("q", [-rank] * (100 - rank)), op="max")
    raw, _ = group.reduce_by_key([b"\x00\xff", b"a"], array("Q", [1, 2]))
    group.barrier()
    return list(values), dict(zip(texts, counts)), dict(zip(numbers, most)), raw, group.report["fallback"]


def check_all_kinds(plan, size, fallback):
    for done in together(plan, size, all_kinds):
        assert not isinstance(done, Exception), done
        values, texts, numbers, raw, said = done
        times = size * (size + 1) // 2
        assert values == [at * times - 700 * size for at in range(2000)]
        assert texts == Counter(word for rank in range(size) for word in words(rank))
        assert numbers == {key: 0 for key in range(100)}, numbers
        assert raw == [b"\x00\xff", b"a"] and said == fallback, (raw, said)


check_all_kinds(3, 3, "the group has no switch")
check_all_kinds(1, 1, None)

if numpy:

    def of_numpy(group):
        values = numpy.arange(1000, dtype=numpy.int64) - 500
        before = values.ctypes.data
        group.allreduce(values)
        keys, sums = group.reduce_by_key(numpy.array([5, 5, 1 << 40], dtype=numpy.uint64), numpy.ones(3, numpy.int32))
        assert values.ctypes.data == before and keys.dtype == numpy.uint64 and sums.dtype == numpy.int64
        fails(lambda: group.allreduce(numpy.ones(3)), "`ndarray`", "int32")
        fails(lambda: group.allreduce(values[::2]), "not contiguous")
        values.flags.writeable = False
        fails(lambda: group.allreduce(values), "cannot be written")
        return values, keys.tolist(), sums.tolist()

    for done in together(2, 2, of_numpy):
        assert not isinstance(done, Exception), done
        values, keys, sums = done
        assert (values == (numpy.arange(1000) - 500) * 2).all() and keys == [5, 1 << 40] and sums == [4, 2]

# Through the switches of the example: three programs send, the fourth is beside the reducer.
job = agg.Job()
for number in (1, 2, 3):
    job.program(f"w{number}", at=f"h{number}")
job.reducer("sums", op="add", of=["w1", "w2", "w3"], at="master", rows=512)


def through_switches(group):
    values = array("I", range(3000))
    group.allreduce(values)
    sums = group.report
    keys, most = group.reduce_by_key(array("I", range(0, 500)), array("I", [group.rank] * 500), op="max")
    group.allreduce(array("I", [1]), op="or")
    return list(values), sums, set(most), group.report["fallback"]


with agg.local(job, rack=EXAMPLE) as plans:
    for done in together(plans["sums"], 4, through_switches):
        assert not isinstance(done, Exception), done
        values, report, most, fallback = done
        assert values == [4 * at for at in range(3000)] and most == {3}
        assert report["fallback"] is None and report["pairs_sent"] == 9000, report
        # Three arrays arrive as little more than one.
        assert report["pairs_that_arrived"] < 5000, report
        assert fallback == "the switches fold by add, max, min only", fallback

# A job of files, with a mapper in Python.
job = agg.Job()
for number in (1, 2, 3):
    job.dataset(f"d{number}", str(EXAMPLE / f"data/{number}.txt"), host=f"h{number}")
    job.mapper(f"m{number}", letters, data=[f"d{number}"])
job.reducer("lengths", op="add", of=["m1", "m2", "m3"], at="master", values=2, rows=16)
assert job.check(EXAMPLE)["reducers"][0]["values"] == 2, job.text
assert job.compile(EXAMPLE, "made")["reducers"][0]["switches"], job.text
wanted = Counter()
for number in (1, 2, 3):
    for letter, length, one in letters((EXAMPLE / f"data/{number}.txt").read_text()):
        wanted[letter, 0] += length
        wanted[letter, 1] += one
found = job.run(EXAMPLE, local=True)["lengths"]
assert {(key, at): value for key, values in found.rows.items() for at, value in enumerate(values)} == wanted, found.rows
assert found.report["pairs_sent"] > len(wanted) and "lengths" in repr(found)

# Mistakes.
job.reducer("more", op="mean", of=["m1"], at="master")
fails(lambda: job.check(EXAMPLE), "`mean` cannot be reduced by switches", "sums and counts")
fails(lambda: agg.Job().dataset("d", 'a"b'), "quotation marks")
fails(lambda: agg.Job().mapper("m", lambda text: []), "def")
fails(lambda: agg.reduce_by_key(["a"], array("I", [1])), "agg.join")
fails(lambda: agg.Group("nothing.json", 0), "nothing.json", "p4rack job compile")
fails(lambda: agg.Group(2, 5), "no rank 5")
fails(lambda: agg.Group(2, 0, root="nowhere"), "`nowhere` is no address")
fails(lambda: agg.Group(2, 1, root=free(), timeout=0.1), "no program of rank 0")
fails(lambda: agg.Group(2, 1, timeout=0), "`timeout`")
fails(lambda: agg.Group(2, 1, wait=0), "`wait` is not 0 milliseconds", "1 to 10000")
alone = agg.join(1, 0, root=free())
fails(lambda: alone.reduce_by_key(["a", b"b"], array("I", [1, 2])), "several types")
fails(lambda: alone.reduce_by_key(["a"], array("I", [1, 2])), "1 keys and 2 values")
fails(lambda: alone.reduce_by_key(array("i", [-1]), array("I", [2])), "key 0 is -1")
fails(lambda: alone.allreduce(array("f", [1])), "`array`", "int32")
fails(lambda: alone.allreduce(array("I", [1]), op="mean"), "`mean`")
assert agg.reduce_by_key(["b", "a", "b"], array("I", [1, 2, 3]))[0] == ["a", "b"]
agg.leave()
fails(lambda: alone.allreduce(array("I", [1])), "closed")
print("ok")
