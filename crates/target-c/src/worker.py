# A worker process for handlers in Python: the same frames as worker.c. Before this text stands `HANDLERS`: for each handler the layouts of its request, response
# and key, each as (name, first byte, bytes, bits, kind); and `SOURCES`, names and files.
#
#   worker.py NAME          answers calls of this handler on standard input
#   worker.py --check       reports mistakes in the sources as a C compiler does

import ast, marshal, sys, time

NEVER = 2**64 - 1
MASK = 2**64 - 1
ALLOWED = {
    "array", "base64", "binascii", "bisect", "collections", "copy", "dataclasses", "enum", "fractions", "functools", "hashlib", "heapq",
    "ipaddress", "itertools", "json", "math", "operator", "re", "statistics", "string", "struct", "textwrap", "typing", "zlib",
}
REFUSED = {"open", "eval", "exec", "compile", "input", "breakpoint", "__import__", "globals", "vars", "id", "exit", "quit", "print"}


class Context:
    """A handler's context. `memory` is all that it keeps: a dict of numbers, strings, bytes, lists, tuples, sets and dicts."""

    def __init__(self):
        self.now_ns = 0
        self.memory = {}
        self.worker = 0
        self._random, self._tick, self._share, self._blocks = 0, NEVER, (0, 1), None

    def random(self):
        self._random = self._random + 0x9E3779B97F4A7C15 & MASK
        z = self._random
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def random_below(self, bound):
        return self.random() * bound >> 64

    def tick_at(self, when_ns):
        self._tick = min(max(int(when_ns), 0), NEVER)

    def leased(self, block):
        if self._blocks is not None:
            return block // 8 < len(self._blocks) and self._blocks[block // 8] >> block % 8 & 1 == 1
        server, servers = self._share
        return servers <= 1 or block % servers == server


class Fields:
    """The fields of a request or a key. Those of a nested struct are `outer_inner`."""

    def __init__(self, layout, data):
        for name, at, size, bits, kind in layout:
            value = int.from_bytes(data[at : at + size], "big", signed=kind == "Signed")
            setattr(self, name, value != 0 if kind == "Bool" else value)


def packed(layout, size, values):
    data = bytearray(size)
    known = {name for name, *_ in layout}
    for name in values:
        if name not in known:
            raise KeyError(f"the response has no field {name!r}")
    for name, at, length, bits, kind in layout:
        value = int(values.get(name, 0))
        value &= (1 << bits) - 1
        if kind == "Signed" and value >> bits - 1:
            value |= (1 << length * 8) - (1 << bits)
        data[at : at + length] = value.to_bytes(length, "big")
    return bytes(data)


def check():
    defined, bad = set(), False

    def report(file, node, text):
        nonlocal bad
        bad = True
        print(f"{file}:{getattr(node, 'lineno', 1)}:{getattr(node, 'col_offset', 0) + 1}: error: {text}", file=sys.stderr)

    for file, copy in SOURCES:
        try:
            with open(copy, encoding="utf-8") as source:
                tree = ast.parse(source.read(), file)
        except SyntaxError as error:
            error.col_offset = (error.offset or 1) - 1
            report(file, error, error.msg)
            continue
        defined.update(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or "."]
            for name in names:
                if name.split(".")[0] not in ALLOWED:
                    report(file, node, f"a handler must not import `{name}`: the same packets must give the same results")
            if isinstance(node, ast.Name) and node.id in REFUSED:
                report(file, node, f"a handler must not use `{node.id}`")
            if isinstance(node, (ast.Global, ast.AsyncFunctionDef)):
                report(file, node, "a handler keeps everything in `ctx.memory`, and runs one call after the other")
    for name in sorted(defined & set(HANDLERS)):
        print(name)
    return bad


def load(name):
    space = {"__name__": "handler"}
    for file, copy in SOURCES:
        with open(copy, encoding="utf-8") as source:
            exec(compile(source.read(), file, "exec"), space)
    return lambda part: space.get(name + part)


def fully(size):
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)
    return data


def serve(name):
    (request, _), (response, size), (key, key_size) = HANDLERS[name]
    ctx, get = Context(), load(name)
    sys.stdout.flush()
    number = lambda data: int.from_bytes(data[:8], "little")
    store = lambda value: value.to_bytes(8, "little")
    optional = lambda part, *args: get(part)(ctx, *args) if get(part) else None
    while True:
        frame = fully(int.from_bytes(fully(4), "little"))
        operation, body = frame[:1], frame[1:]
        status, answer = 0, b""
        if operation == b"i":
            ctx._random, ctx.worker = number(body), int.from_bytes(body[8:12], "little")
            ctx._share = (int.from_bytes(body[12:14], "little"), int.from_bytes(body[14:16], "little"))
            status = 1 if optional("_init", body[16:-1].decode()) is False else 0
        elif operation == b"c":
            ctx.now_ns = number(body)
            began = time.process_time_ns()
            given = get("")(ctx, Fields(request, body[8:]))
            took = time.process_time_ns() - began
            if given is None or given is False:
                status, given = 1, {}
            answer = store(ctx._tick) + store(took) + packed(response, size, {} if given is True else given)
        elif operation == b"t":
            ctx.now_ns, ctx._tick = number(body), NEVER
            optional("_tick", ctx.now_ns)
            answer = store(ctx._tick)
        elif operation == b"s":
            # Version 2 has no references, so equal memory gives equal bytes.
            answer = store(ctx._random) + store(ctx._tick) + marshal.dumps(ctx.memory, 2)
        elif operation == b"r":
            try:
                memory = marshal.loads(body[16:])
            except (EOFError, ValueError, TypeError):
                memory = None
            if isinstance(memory, dict):
                ctx._random, ctx._tick, ctx.memory = number(body), number(body[8:]), memory
            else:
                status = 1
        elif operation == b"e":
            answer = optional("_export", Fields(key, body)) or b""
        elif operation == b"l":
            ctx._blocks, busy, usable = body, bytearray(len(body)), 0
            if get("_block"):
                for block in range(1, len(body) * 8):
                    said = get("_block")(ctx, block)
                    if said:
                        busy[block // 8] |= 1 << block % 8
                    usable += said is not None and ctx.leased(block)
                answer = usable.to_bytes(4, "little") + bytes(busy)
            else:
                status = 1
        elif operation == b"m":
            status = 0 if optional("_import", Fields(key, body), body[key_size:]) else 1
        else:
            sys.exit(4)
        sys.stdout.buffer.write((len(answer) + 1).to_bytes(4, "little") + bytes([status]) + answer)
        sys.stdout.buffer.flush()


if sys.argv[1] == "--check":
    sys.exit(1 if check() else 0)
serve(sys.argv[1])
