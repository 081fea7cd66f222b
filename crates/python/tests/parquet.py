"""`p4rack.parquet`: a job whose data and result are Parquet. Argument: the directory of the examples. Exit status 77 without pyarrow."""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    print("skipped: pyarrow cannot be imported; `pip install pyarrow`")
    sys.exit(77)

import p4rack
from p4rack import agg, parquet

EXAMPLE = Path(sys.argv[1]) / "jobs"


def fails(call, *words):
    try:
        call()
    except p4rack.Error as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("it was taken")


def table(path, host, rows):
    users = [None if at % 97 == 0 else f"user {at * at % (40 + host)}" for at in range(rows)]
    numbers = [(at * 7919 * host) % 100_000 for at in range(rows)]
    columns = {"user": users, "bytes": pyarrow.array(numbers, pyarrow.int32()), "note": ["x"] * rows}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=100)
    return users, numbers


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    job, wanted, counted = agg.Job(), Counter(), Counter()
    for host in (1, 2, 3):
        users, numbers = table(f"{host}.parquet", host, 1000)
        for user, number in zip(users, numbers):
            if user is not None:
                wanted[user] += number
                counted[user] += 1
        job.dataset(f"d{host}", f"{host}.parquet", host=f"h{host}")
        job.mapper(f"m{host}", "parquet", data=[f"d{host}"], key="user", value="bytes")
    job.reducer("bytes", of=["m1", "m2", "m3"], at="master", rows=512)
    found = job.run(EXAMPLE / "RACK.toml", local=True)["bytes"]
    assert found.rows == wanted, (found.rows, wanted)
    found.write("bytes.parquet")
    back = pyarrow.parquet.read_table("bytes.parquet").to_pydict()
    assert dict(zip(back["key"], back["value"])) == wanted
    counts = Counter()
    for host in (1, 2, 3):
        for user, [one] in parquet.pairs(Path(f"{host}.parquet").read_bytes(), "user"):
            counts[user] += one
    assert counts == counted

    data = Path("1.parquet").read_bytes()
    fails(lambda: list(parquet.pairs(data, "uzer")), "no column `uzer`", "`user`, `bytes`, `note`")
    fails(lambda: list(parquet.pairs(data, "user", ["note"])), "row 2 of `note` is 'x'", "whole numbers")
    pyarrow.parquet.write_table(pyarrow.table({"user": ["a"], "bytes": [-1]}), "negative.parquet")
    fails(lambda: list(parquet.pairs(Path("negative.parquet").read_bytes(), "user", ["bytes"])), "row 1 of `bytes` is -1")
    fails(lambda: list(parquet.pairs(data[:-9], "user")), "no Parquet file")
    fails(lambda: list(parquet.pairs(b"user,bytes\n", "user")), "no Parquet file")
    # Several values, and sums of more than 64 bits.
    parquet.write({"a": [1, 2], "b": [3, 1 << 70]}, "wide.parquet")
    wide = pyarrow.parquet.read_table("wide.parquet").to_pydict()
    assert wide["key"] == ["a", "b"] and [int(one) for one in wide["value2"]] == [2, 1 << 70]
    os.chdir("/")
print("ok")
