"""Sweeps of emulated racks: every combination of seeds and values, on this machine or on many.

    >>> rows = p4rack.sweep.run("examples/slice", seeds=range(1, 21), set={"link.loss": ["0%", "1%"]})
    >>> p4rack.sweep.write(rows, "losses.parquet")                       # or .csv

    >>> rows = p4rack.sweep.run("rack", seeds=range(1000), on=dask.distributed.Client("10.0.0.1:8786"))
    >>> rows = p4rack.sweep.run("rack", seeds=range(1000), on=ray)       # after ray.init()

A row is a dict for each workload of each run (and phase): the values that were set, the seed, and the measurements of `p4rack up`, as
`p4rack sweep` prints them. Rows are in the order of the combinations, whoever computes them: the last value changes fastest, then seeds.

With `on`, the directory of the rack travels to the workers, which need the package p4rack in the same version. Files outside of it must be
at the same place on all machines.
"""

import csv
import io
import itertools
import tempfile
import zipfile
from pathlib import Path

from . import Error, _ask

__all__ = ["Error", "run", "write"]

# Bytes of a rack's directory, which travel with each group of runs.
MOST_BYTES = 64 << 20


def run(rack, seeds=None, set=None, phase=None, on=None, jobs=None, each=None):
    """Runs all combinations; a list of rows.

    `set` maps keys of RACK.toml (`"link.loss"`, `"workload[0].count"`) to lists of values. `on` is a client of Dask, the module `ray`, an executor of
    `concurrent.futures`, or nothing: this machine, with `jobs` runs at a time. `each` is the number of runs of a task for `on`; default: all seeds of a combination, 100 at most.
    """
    paths = list(set or {})
    combinations = list(itertools.product(*([str(value) for value in set[path]] for path in paths)))
    seeds = None if seeds is None else [int(seed) for seed in seeds]
    for path, value in ((path, value) for values in combinations for path, value in zip(paths, values)):
        if "," in value:
            raise Error(f"`{path}` has the value {value!r}; values have no comma here, write another file for lists")
    if on is None:
        options = {"set": [f"{path}={','.join(str(value) for value in set[path])}" for path in paths]}
        return _rows(rack, options, seeds, phase, jobs)
    each = each or 100
    parts = [seeds] if seeds is None else [seeds[at : at + each] for at in range(0, len(seeds), each)]
    packed = _packed(Path(rack))
    tasks = [
        (packed, [f"{path}={value}" for path, value in zip(paths, values)], part, phase)
        for values in combinations
        for part in parts
    ]
    return list(itertools.chain.from_iterable(_distributed(tasks, on)))


def _rows(rack, options, seeds, phase, jobs=None):
    if seeds is not None:
        if not seeds:
            return []
        options["seeds"] = ",".join(str(seed) for seed in seeds)
    return _ask("sweep", rack, phase=phase, jobs=jobs, **options)["rows"]


def _distributed(tasks, on):
    """The rows of each task, in their order."""
    if hasattr(on, "gather") and hasattr(on, "map"):
        return on.gather(on.map(_task, tasks, pure=False))
    if hasattr(on, "remote") and hasattr(on, "get"):
        remote = on.remote(_task)
        return on.get([remote.remote(task) for task in tasks])
    if hasattr(on, "map"):
        return on.map(_task, tasks)
    raise Error(f"`on` is `{type(on).__name__}`; it is a client of Dask, the module `ray`, or an executor of concurrent.futures")


def _packed(rack):
    """The name of the rack's file, and its directory as a zip archive."""
    file = rack / "RACK.toml" if rack.is_dir() else rack
    if not file.is_file():
        raise Error(f"`{file}` is no file")
    archive, size = io.BytesIO(), 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(file.parent.rglob("*")):
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(file.parent).parts):
                size += path.stat().st_size
                if size > MOST_BYTES:
                    raise Error(f"the directory of `{file}` has more than {MOST_BYTES >> 20} MiB; put the rack into a directory of its own")
                # Without times: the same files are the same archive.
                packed.writestr(zipfile.ZipInfo(path.relative_to(file.parent).as_posix()), path.read_bytes())
    return file.name, archive.getvalue()


def _task(task):
    (name, archive), settings, seeds, phase = task
    with tempfile.TemporaryDirectory(prefix="p4rack-sweep-") as place:
        zipfile.ZipFile(io.BytesIO(archive)).extractall(place)
        return _rows(Path(place) / name, {"set": settings}, seeds, phase)


def write(rows, path):
    """Writes rows as Parquet (`.parquet`, which needs pyarrow) or CSV (any other name), with the columns of all rows."""
    columns = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    if str(path).endswith(".parquet"):
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise Error("Parquet needs pyarrow: `pip install pyarrow`, or write `.csv`") from error
        table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
        pyarrow.parquet.write_table(table, str(path))
        return
    with open(path, "w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, columns, restval="")
        table.writeheader()
        table.writerows(rows)
