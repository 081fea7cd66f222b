"""Pairs of Parquet files for jobs, and results as Parquet. Needs pyarrow.

    mapper m1 = run(d1, command = "python -m p4rack.parquet user bytes")        # the column of keys, and those of values

A mapper without a column of values counts its keys. In Python: `job.mapper("m1", "parquet", data=["d1"], key="user", value="bytes")`, and
`result.write("counts.parquet")`.
"""

import sys

from . import Error

__all__ = ["Error", "pairs", "write"]

# Rows that are read at a time.
ROWS = 1 << 16


def _pyarrow():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise Error("Parquet needs pyarrow: `pip install pyarrow`") from error
    return pyarrow


def pairs(data, key, values=()):
    """The pairs of a file's bytes: key as text, values as whole numbers (1 if there is no column of values). Rows whose key is null are left out."""
    arrow = _pyarrow()
    try:
        file = arrow.parquet.ParquetFile(arrow.BufferReader(data))
    except arrow.ArrowInvalid as error:
        raise Error(f"the data is no Parquet file: {error}") from error
    columns = [key, *values]
    for column in columns:
        if column not in file.schema_arrow.names:
            raise Error(f"there is no column `{column}`; there are `{'`, `'.join(file.schema_arrow.names)}`")
    row = 0
    for batch in file.iter_batches(ROWS, columns=columns):
        of = {name: batch.column(batch.schema.get_field_index(name)).to_pylist() for name in columns}
        for at, name in enumerate(of[key]):
            row += 1
            if name is None:
                continue
            found = [of[value][at] for value in values] or [1]
            for column, value in zip(values, found):
                if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                    raise Error(f"row {row} of `{column}` is {value!r}; values are whole numbers from 0 to 2^64 - 1")
            text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
            if "\t" in text or "\n" in text:
                raise Error(f"row {row}: the key {text!r} has a tab or a line end")
            yield text, found


def write(rows, path):
    """Writes rows of a result, values (or lists of them) by key, with the columns `key` and `value` or `value1`, `value2`, ..."""
    arrow = _pyarrow()
    lists = [value if isinstance(value, list) else [value] for value in rows.values()]
    width = max(map(len, lists), default=1)
    names = ["value"] if width == 1 else [f"value{number}" for number in range(1, width + 1)]
    # Sums of values of 64 bits may have more.
    kind = arrow.uint64() if all(value < 1 << 64 for one in lists for value in one) else arrow.decimal128(38)
    columns = {name: arrow.array([one[at] for one in lists], type=kind) for at, name in enumerate(names)}
    arrow.parquet.write_table(arrow.table({"key": list(rows), **columns}), str(path))


def _main(words):
    if not words:
        sys.exit("usage: python -m p4rack.parquet KEY [VALUE ...]: columns of the Parquet file at the standard input")
    try:
        for name, values in pairs(sys.stdin.buffer.read(), words[0], words[1:]):
            sys.stdout.write("\t".join([name, *map(str, values)]) + "\n")
    except Error as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(sys.argv[1:])
