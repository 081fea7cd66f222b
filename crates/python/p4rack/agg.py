"""Reduction in the network: programs that fold arrays and key-value pairs together, through switches; and MapReduce jobs.

    >>> group = agg.join("out/sums.group.json", rank=1, root="10.0.0.1:9600")
    >>> keys, sums = group.reduce_by_key(keys, values)          # equal keys of all programs
    >>> group.allreduce(gradients)                              # place by place, in the array itself

    >>> job = agg.Job()
    >>> job.dataset("d1", host="h1", path="data/1.txt")
    >>> job.mapper("m1", "words", data=["d1"])
    >>> job.reducer("counts", op="add", of=["m1"], at="master")
    >>> job.run("RACK.toml", local=True)["counts"].rows
    {'a': 7, ...}

Arrays are anything with Python's buffer protocol: `numpy.ndarray` and `array.array` of int32, uint32, int64 or uint64. They are read and written
where they are, without the interpreter's lock: do not write to them while a call runs. docs/reduce-from-python.md has it all.
"""

import array
import contextlib
import csv
import inspect
import json
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import Error, _ask
from ._native import Group as _Group

__all__ = ["Error", "Group", "Job", "Result", "allreduce", "join", "leave", "local", "reduce_by_key"]

_default = None


class Group:
    """Programs that make the same calls in the same order, each with a rank. Rank 0 is the root: it runs beside the reducer.

    `plan` is the file REDUCER.group.json that `p4rack job compile` or `p4rack job switches` has written, or a number of programs: a group
    on this machine without switches. `root` is the address at which rank 0 listens. A program that waits for another one, or for
    a switch, for longer than `timeout` seconds raises `Error`; so do calls that do not fit each other. Then the group is over.

    `going` is a function that is asked from time to time; when it returns false, a call that waits ends with an `Error`.
    `wait` is the least time before a packet is sent again, in milliseconds (default 5): a larger one saves packets where processes wait for a processor.
    """

    def __init__(self, plan, rank, root="127.0.0.1:9600", timeout=300.0, loss=0.0, going=None, wait=None):
        self._group = _Group(plan, rank, root, timeout, loss, going, wait)
        self.report = None

    @property
    def rank(self):
        return self._group.rank

    @property
    def size(self):
        return self._group.size

    def reduce_by_key(self, keys, values, op="add"):
        """Folds the values of equal keys of all programs: distinct keys in order, and their values. All programs get both.

        Keys are an array of numbers from 0 on, or a sequence of `str` or of `bytes`. The results are arrays of numpy if `values` is one,
        else of the module `array`; keys that were text are a list.
        """
        kind = None
        if not hasattr(keys, "__array_interface__") and not isinstance(keys, (array.array, memoryview)):
            keys = list(keys)
            kind = str if all(isinstance(key, str) for key in keys) else bytes
            if kind is bytes and not all(isinstance(key, bytes) for key in keys):
                raise Error("keys are of several types; they are numbers in an array, or all `str`, or all `bytes`")
            keys = [key.encode() for key in keys] if kind is str else keys
        found, folded, is_signed, self.report = self._group.reduce_by_key(_aligned(keys), _aligned(values), op)
        make = _numpy_array if hasattr(values, "__array_interface__") else _array
        if kind is None:
            found = make(found, False)
        elif kind is str:
            found = [key.decode() for key in found]
        return found, make(folded, is_signed)

    def allreduce(self, values, op="add"):
        """Folds arrays of all programs place by place, in the array itself, which is returned. A result that does not fit is an `Error`."""
        self.report = self._group.all_reduce(_aligned(values), op)
        return values

    def barrier(self):
        """Waits until all programs are here."""
        self.allreduce(array.array("I", [0]))

    def close(self):
        """Leaves. Others that wait for this program get an `Error`."""
        self._group.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _aligned(values):
    """An empty `array.array` has no memory of its own, and the address of its buffer may suit no number: a part of another one has."""
    if isinstance(values, array.array) and len(values) == 0:
        return memoryview(array.array(values.typecode, [0]))[:0]
    return values


def _array(numbers, is_signed):
    return array.array("q" if is_signed else "Q", numbers)


def _numpy_array(numbers, is_signed):
    import numpy

    return numpy.frombuffer(numbers, dtype=numpy.int64 if is_signed else numpy.uint64)


def join(plan, rank, root="127.0.0.1:9600", timeout=300.0):
    """Joins a group, which `reduce_by_key` and `allreduce` of this module use from now on."""
    global _default
    leave()
    _default = Group(plan, rank, root, timeout)
    return _default


def leave():
    """Leaves that group."""
    global _default
    if _default is not None:
        _default.close()
    _default = None


def _joined():
    if _default is None:
        raise Error("this program is in no group; `agg.join(plan, rank, root)` joins one")
    return _default


def reduce_by_key(keys, values, op="add"):
    """`Group.reduce_by_key` of the group that was joined."""
    return _joined().reduce_by_key(keys, values, op)


def allreduce(values, op="add"):
    """`Group.allreduce` of the group that was joined."""
    return _joined().allreduce(values, op)


@contextlib.contextmanager
def local(job, rack=None, out=None):
    """Runs the switches of a job on this machine while the block runs: a dict of files for `join`, by the name of the reducer."""
    with tempfile.TemporaryDirectory(prefix="p4rack-") as place:
        if isinstance(job, Job):
            job = job.write(Path(place) / "a.job")
        words = ["job", "switches", str(job), "-o", str(out or Path(place) / "out")]
        words += ["--rack", str(rack)] if rack else []
        said = Path(place) / "said"
        with open(said, "w") as errors:
            command = [sys.executable, "-m", "p4rack", *words]
            switches = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            line = switches.stdout.readline()
            if not line:
                switches.wait()
                raise Error(said.read_text().strip())
            yield {Path(path).name.removesuffix(".group.json"): path for path in json.loads(line)["groups"]}
        finally:
            switches.stdin.close()
            try:
                switches.wait(10)
            except subprocess.TimeoutExpired:
                switches.send_signal(signal.SIGKILL)
                switches.wait()
            switches.stdout.close()


class Result:
    """What a reducer of a job has found: `rows` by key (a list of values where a key has several), and the `report` of the run."""

    def __init__(self, report):
        self.report = report
        self.rows = {}
        with open(report["file"], newline="", encoding="utf-8") as lines:
            for key, *values in csv.reader(lines):
                self.rows[key] = int(values[0]) if len(values) == 1 else [int(value) for value in values]

    def __repr__(self):
        return f"<{self.report['name']}: {len(self.rows)} keys>"

    def write(self, path):
        """Writes the rows as Parquet (`p4rack.parquet`)."""
        from . import parquet

        parquet.write(self.rows, path)


class Job:
    """A MapReduce job: the statements of a job file, made in Python. `text` is the file."""

    def __init__(self):
        self._lines = []

    @property
    def text(self):
        return "".join(line + "\n" for line in self._lines)

    def dataset(self, name, path, host=None):
        """Data: a file, or a directory of files, on a host."""
        self._lines.append(f"dataset {name} = {_text(f'{host}:{path}' if host else path)}")

    def mapper(self, name, fn="words", data=(), **settings):
        """Pairs of data sets. `fn` is a function of the job language (`words`, `lines`, `count`, `pairs`, `array`, with their settings), `parquet` with the columns `key` and `value` of Parquet files
        (`p4rack.parquet`), or a function of Python that takes a text and yields keys, or tuples of a key and values; its module must be importable at the mapper's host."""
        if fn == "parquet":
            values = settings.pop("value", [])
            columns = [settings.pop("key"), *(values if isinstance(values, (list, tuple)) else [values])]
            settings["command"] = shlex.join([sys.executable, "-m", "p4rack.parquet", *columns])
            fn = "run"
        if callable(fn):
            settings["command"] = _command(fn)
            fn = "run"
        self._call("mapper", name, fn, list(data), settings)

    def program(self, name, at):
        """A program on a host that joins the group of its reducer."""
        self._call("mapper", name, "program", [], {"at": at})

    def reducer(self, name, op="add", of=(), **settings):
        """The fold of mappers. Settings are those of the job language: `at`, `by`, `key`, `value`, `rounds`, `rows`, ..."""
        self._call("reducer", name, op, list(of), settings)

    def _call(self, sort, name, function, members, settings):
        words = list(members)
        for key, values in settings.items():
            for value in values if isinstance(values, (list, tuple)) else [values]:
                words.append(f"{key} = {value if isinstance(value, int) else _text(str(value))}")
        self._lines.append(f"{sort} {name} = {function}({', '.join(words)})")

    def write(self, path):
        """Writes the job file; its path."""
        Path(path).write_text(self.text, encoding="utf-8")
        return str(path)

    def _with_file(self, command, rack, **options):
        with tempfile.TemporaryDirectory(prefix="p4rack-") as place:
            return _ask("job", command, self.write(Path(place) / "p4rack.job"), rack=rack, **options)

    def check(self, rack=None):
        """The meaning of the job. Mistakes are an `Error`."""
        return self._with_file("check", rack)["jobs"][0]

    def compile(self, rack, out):
        """Writes programs and entries of switches, and the files by which workers and programs join; where pairs are reduced."""
        return self._with_file("compile", rack, output=out)

    def run(self, rack, out="out", **options):
        """Runs the job: a `Result` for each reducer, by name. `local=True` starts everything on this machine, in the current directory;
        the other options are those of `p4rack job run`."""
        path = Path(f".p4rack-{id(self):x}.job")
        try:
            done = _ask("job", "run", self.write(path), rack=rack, output=out, **options)
        finally:
            path.unlink(missing_ok=True)
        return {one["name"]: Result(one) for one in done["reducers"]}


def _text(text):
    if '"' in text or "\n" in text:
        raise Error(f"{text!r} cannot be written in a job; leave out quotation marks and line ends")
    return f'"{text}"'


def _command(fn):
    """The command that runs a function as a mapper."""
    name = getattr(fn, "__qualname__", "")
    if not name.isidentifier():
        raise Error(f"{fn!r} has no name in a module; declare it by `def` outside of functions and classes")
    module = fn.__module__
    if module == "__main__":
        module = str(Path(inspect.getfile(fn)).resolve())
    return shlex.join([sys.executable, "-m", "p4rack.agg", module, name])


def _map(module, name):
    """Runs a mapper's function: data from standard input, lines `key TAB value` to standard output."""
    import importlib
    import importlib.util

    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location("__p4rack_mapper__", module)
        found = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(Path(module).parent))
        spec.loader.exec_module(found)
    else:
        sys.path.insert(0, "")
        found = importlib.import_module(module)
    for pair in getattr(found, name)(sys.stdin.read()):
        key, *values = pair if isinstance(pair, tuple) else (pair, 1)
        key = str(key)
        if "\t" in key or "\n" in key:
            sys.exit(f"the key {key!r} has a tab or a line end")
        sys.stdout.write("\t".join([key, *(str(int(value)) for value in values)]) + "\n")


if __name__ == "__main__":
    _map(*sys.argv[1:3])
