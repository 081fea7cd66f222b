"""`p4rack.sweep`. Argument: the directory of the examples. Dask and Ray are stand-ins, unless P4RACK_REAL_DASK is set; Parquet is tested if pyarrow is there."""

import concurrent.futures
import csv
import os
import sys
import tempfile
from pathlib import Path

import p4rack
import p4rack.sweep

EXAMPLE = Path(sys.argv[1]) / "slice"
SET = {"rack.name": ["a", "b"]}


class Client:
    """The part of `dask.distributed.Client` that is used."""

    def map(self, function, tasks, pure):
        assert pure is False
        return [lambda task=task: function(task) for task in tasks]

    def gather(self, futures):
        return [future() for future in futures]


class Ray:
    """The part of the module `ray` that is used."""

    class _Remote:
        def __init__(self, function):
            self.remote = function

    def remote(self, function):
        return self._Remote(function)

    def get(self, results):
        return results


def fails(call, *words):
    try:
        call()
    except p4rack.Error as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("it was taken")


here = p4rack.sweep.run(EXAMPLE, seeds=[1, 2, 3], set=SET, jobs=2)
workloads = len({row["name"] for row in here})
assert len(here) == 6 * workloads and [row["rack.name"] for row in here[:: 3 * workloads]] == ["a", "b"]
assert [row["seed"] for row in here[::workloads]] == [1, 2, 3] * 2
assert all(row["sent"] >= row["received"] > 0 for row in here), here
# The seed decides, the name does not.
assert [row["latency.mean_ps"] for row in here[: len(here) // 2]] == [row["latency.mean_ps"] for row in here[len(here) // 2 :]]
once = p4rack.up(EXAMPLE, seed=2)["report"]["workloads"][0]
assert (here[workloads]["received"], here[workloads]["latency.mean_ps"]) == (once["received"], once["latency"]["mean_ps"])
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    for on in (Client(), Ray(), pool):
        assert p4rack.sweep.run(EXAMPLE, seeds=[1, 2, 3], set=SET, on=on, each=2) == here, on
if os.environ.get("P4RACK_REAL_DASK"):
    from dask.distributed import Client as Dask

    with Dask(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        assert p4rack.sweep.run(EXAMPLE, seeds=[1, 2, 3], set=SET, on=client, each=1) == here
        print("dask: the same rows")
assert p4rack.sweep.run(EXAMPLE, seeds=[]) == []

fails(lambda: p4rack.sweep.run(EXAMPLE, set={"link.lose": ["1%"]}), "link.lose", "write it there first")
fails(lambda: p4rack.sweep.run(EXAMPLE, set={"link.rate": ["fast"]}), "RACK.toml with link.rate=fast")
fails(lambda: p4rack.sweep.run(EXAMPLE, set={"link[0].ends": ["a,b"]}), "no comma")
fails(lambda: p4rack.sweep.run(EXAMPLE, seeds=[1], on=7), "`int`", "Dask")
fails(lambda: p4rack.sweep.run(EXAMPLE / "nothing.toml", seeds=[1], on=Client()), "nothing.toml")

with tempfile.TemporaryDirectory() as place:
    path = Path(place) / "rows.csv"
    p4rack.sweep.write(here, path)
    with open(path, newline="", encoding="utf-8") as lines:
        found = list(csv.DictReader(lines))
    assert [row["received"] for row in found] == [str(row["received"]) for row in here]
    path = Path(place) / "rows.parquet"
    try:
        import pyarrow.parquet
    except ImportError:
        fails(lambda: p4rack.sweep.write(here, path), "pip install pyarrow")
        print("without pyarrow")
    else:
        p4rack.sweep.write(here, path)
        columns = pyarrow.parquet.read_table(path).to_pylist()
        wanted = [{name: row.get(name) for name in columns[0]} for row in here]
        assert columns == wanted, (columns[0], wanted[0])
print("ok")
