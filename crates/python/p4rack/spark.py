"""Spark's `reduceByKey` through the network's switches:

    import p4rack.spark
    counts = p4rack.spark.reduce_by_key(words.map(lambda word: (word, 1)), "add", plan="out/sums.group.json")

Each partition is a task of a barrier stage and a program of a group (`p4rack.agg`); the driver is its root. If a task fails, Spark runs the whole stage again. The
tasks of one attempt find each other by their task numbers, which no other attempt has, and the driver begins a new group for each attempt: no pair
is counted twice. What switches cannot reduce is reduced by Spark's own shuffle, and the reason is reported. docs/spark.md has the rules.
"""

import json
import operator
import secrets
import socket
import threading
import time
import warnings
from array import array
from collections import Counter

from . import Error, agg

__all__ = ["Error", "fallbacks", "reduce_by_key", "reduce_column"]

# How often each reason led to Spark's own shuffle.
fallbacks = Counter()

# Programs of a group (`reduce-workers`, form.rs); on one machine, addresses of the loopback.
MOST_TASKS = 255
MOST_LOCAL_TASKS = 249

_OPS = {"add": operator.add, "sum": operator.add, "max": max, "min": min, "or": operator.or_}
_NAMES = {operator.add: "add", operator.iadd: "add", max: "max", min: "min", operator.or_: "or"}

_lock = threading.Lock()


def reduce_by_key(rdd, op="add", plan=None, host=None, timeout=60.0, wait=None):
    """Folds the values of equal keys of an RDD of pairs: an RDD of distinct keys and their values. Runs at once, not when the result is used.

    `op` is "add", "max", "min", "or", or the function of that meaning (`operator.add`, `max`, `min`, `operator.or_`). `plan` is the file
    REDUCER.group.json; without it, all tasks run on this machine and no switch reduces. `host` is the driver's address for tasks. `wait` is
    that of `p4rack.agg.Group`. Keys are
    all `str`, all `bytes`, or all numbers from 0 to 2^64 - 1; values are integers of 64 bits. The attribute `p4rack` of the result is a report:
    of the call (`p4rack.agg`), with `attempts`, or with `fallback`, why Spark's own shuffle was used.
    """
    name = op if op in _OPS else _NAMES.get(op) if callable(op) else None
    if name is None and not callable(op):
        raise Error(f"there is no operator `{op}`; operators are {', '.join(f'`{one}`' for one in _OPS)}")
    name = "add" if name == "sum" else name
    function = op if name is None else _OPS[name]
    sc = rdd.context
    tasks = _tasks(plan, rdd.getNumPartitions())
    reason = _why_not(sc, name, tasks, timeout)
    if reason is not None:
        return _fall_back(rdd, function, reason)
    if rdd.getNumPartitions() != tasks:
        rdd = rdd.coalesce(tasks) if rdd.getNumPartitions() > tasks else rdd.repartition(tasks)
    address = host or sc.getConf().get("spark.driver.host", "127.0.0.1")
    with _Driver(name, plan, tasks, address, (timeout, wait)) as driver:
        rdd = rdd.cache()
        # Spark runs a barrier stage again only if another stage reads its result, over a shuffle: it ends a job whose last stage loses a task.
        stage = rdd.barrier().mapPartitions(_Task(name, driver.address, driver.token, tasks, (timeout, wait))).coalesce(1, shuffle=True)
        try:
            sent = stage.collect()
        except Exception as error:
            raise driver.why() or error from error
        reasons = {one["reason"] for one in sent if one["reason"] is not None}
        if reasons:
            return _fall_back(rdd, function, min(reasons))
        [attempt] = {one["attempt"] for one in sent}
        pairs, report = driver.result(attempt)
    result = sc.parallelize(pairs, tasks)
    result.p4rack = report
    return result


def reduce_column(frame, key, value, op="add", **options):
    """Folds a column of a DataFrame by the values of another one: a DataFrame of both. Rows in which one of them is null do not count."""
    rows = frame.select(key, value).rdd.map(tuple).filter(lambda row: None not in row)
    reduced = reduce_by_key(rows, op, **options)
    result = frame.sparkSession.createDataFrame(reduced, [key, value])
    result.p4rack = reduced.p4rack
    return result


def _tasks(plan, partitions):
    """Tasks of the stage: programs of the plan without the root."""
    if plan is None:
        return max(1, min(partitions, MOST_LOCAL_TASKS))
    try:
        with open(plan, encoding="utf-8") as file:
            return len(json.load(file)["members"]) - 1
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Error(f"`{plan}` is no file of a group: {error}; `p4rack job compile` writes REDUCER.group.json") from None


def _why_not(sc, name, tasks, timeout):
    """Why switches cannot reduce, as far as the driver knows."""
    if name is None:
        return "the operator is a function that switches do not have"
    if sc.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        return "Spark runs no barrier stage with dynamic allocation"
    if tasks > MOST_TASKS:
        return f"{tasks} tasks; a group has {MOST_TASKS} beside its root"
    cores = _cores(sc, tasks, timeout)
    if tasks > cores:
        return f"{tasks} tasks must run at once, and Spark has {cores} cores"
    return None


def _cores(sc, wanted, timeout):
    """Spark's cores. Those of a cluster's executors come one after the other when an application starts."""
    is_local = sc.master == "local" or sc.master.startswith("local[")
    while sc.defaultParallelism < wanted and not is_local and time.time() < sc.startTime / 1000 + timeout:
        time.sleep(0.1)
    return sc.defaultParallelism


def _fall_back(rdd, function, reason):
    if not fallbacks[reason]:
        warnings.warn(f"p4rack: reduced by Spark's own shuffle, not in the network: {reason}", stacklevel=3)
    fallbacks[reason] += 1
    result = rdd.reduceByKey(function)
    result.p4rack = {"fallback": reason}
    return result


class _Task:
    """The function of a task. It travels to the executors."""

    def __init__(self, op, address, token, tasks, times):
        self.op, self.address, self.token, self.tasks = op, address, token, tasks
        self.timeout, self.wait = times

    def __call__(self, pairs):
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        folded, own = _folded(pairs, _OPS[self.op])
        own["id"], own["partition"] = context.taskAttemptId(), context.partitionId()
        own["ranks"] = _ranks(self._ask({})["plan"])
        # All tasks of this attempt, and no other.
        all_tasks = [json.loads(one) for one in context.allGather(json.dumps(own))]
        attempt = min(one["id"] for one in all_tasks)
        kind, is_signed, reason = _agree(all_tasks, self.op)
        places = _places({one["partition"]: one["ranks"] for one in all_tasks})
        if reason is None and places is None:
            reason = "the hosts of the tasks are not those of the plan"
        answer = self._ask({"attempt": attempt, "reason": reason, "kind": kind, "signed": is_signed})
        if reason is None:
            # A task without pairs has keys of the kind of the others.
            keys = array("Q", folded.keys()) if kind == "number" else list(folded.keys())
            values = array("q" if is_signed else "Q", folded.values())
            plan, rank = answer["plan"], places[context.partitionId()]
            with _plan_file(plan) as path, agg.Group(path, rank, answer["root"], timeout=self.timeout, wait=self.wait) as group:
                _reduce(group, kind, keys, values, self.op)
        yield {"attempt": attempt, "reason": reason, "pairs": len(folded)}

    def _ask(self, question):
        """Asks the driver where the root of this attempt is."""
        host, port = self.address
        try:
            with socket.create_connection((host, port), timeout=self.timeout) as link:
                link.sendall(json.dumps({"token": self.token, **question}).encode() + b"\n")
                answer = json.loads(link.makefile().readline() or "{}")
        except (OSError, ValueError) as error:
            raise Error(f"the driver at {host}:{port} does not answer: {error}; `host` is its address for tasks") from None
        if "refused" in answer or not answer:
            raise Error(f"the driver refuses this task: {answer.get('refused', 'it has ended')}")
        return answer


def _folded(pairs, function):
    """A task's pairs, equal keys folded, and what they are."""
    folded, reason = {}, None
    for key, value in pairs:
        if type(value) is not int:
            reason = f"values are `{type(value).__name__}`"
            break
        folded[key] = function(folded[key], value) if key in folded else value
    kinds = {type(key) for key in folded}
    kind = None
    if reason is None and kinds:
        kind = {int: "number", str: "str", bytes: "bytes"}.get(min(kinds, key=str)) if len(kinds) == 1 else None
        if kind is None:
            reason = f"keys are {' and '.join(sorted(f'`{one.__name__}`' for one in kinds))}"
        elif kind == "number" and not (min(folded) >= 0 and max(folded) < 1 << 64):
            reason = "keys are numbers outside of 0 to 2^64 - 1"
        elif kind != "number" and max(len(key.encode() if kind == "str" else key) for key in folded) > 4096:
            reason = "keys are longer than 4,096 bytes"
    least, most = (min(folded.values()), max(folded.values())) if folded and reason is None else (0, 0)
    if least < -(1 << 63) or most >= 1 << 64 or (least < 0 and most >= 1 << 63):
        reason = "values have more than 64 bits"
    return folded, {"kind": kind, "least": least, "most": most, "reason": reason}


def _agree(tasks, op):
    """Kind of keys, whether values are signed, and why the tasks cannot reduce together: the same at each task."""
    reasons = sorted(one["reason"] for one in tasks if one["reason"] is not None)
    kinds = sorted({one["kind"] for one in tasks if one["kind"] is not None})
    least, most = min(one["least"] for one in tasks), max(one["most"] for one in tasks)
    if not reasons and len(kinds) > 1:
        reasons = [f"keys are {' and '.join(f'`{kind}`' for kind in kinds)}"]
    if not reasons and least < 0 and most >= 1 << 63:
        reasons = ["values have more than 64 bits"]
    if not reasons and op in ("max", "min") and most - least >= 1 << 32:
        reasons = [f"values of {op} are more than 2^32 - 1 apart"]
    return (kinds[0] if kinds else "number"), least < 0, (reasons[0] if reasons else None)


def _reduce(group, kind, keys, values, op):
    """A call of the group: keys, values."""
    if kind == "number":
        return group.reduce_by_key(keys, values, op)
    # `Group.reduce_by_key` cannot see in a list without keys whether others have `str` or `bytes`.
    texts = [key.encode() if kind == "str" else key for key in keys]
    found, folded, is_signed, group.report = group._group.reduce_by_key(texts, agg._aligned(values), op)
    return ([key.decode() for key in found] if kind == "str" else found), agg._array(folded, is_signed)


def _ranks(plan):
    """Ranks that may run on this machine: those whose address it has."""
    if isinstance(plan, int):
        return list(range(1, plan))
    ranks = []
    for rank, member in enumerate(json.loads(plan)["members"]):
        if "kernel" in member:
            host = member["kernel"]["address"]
        else:
            host = member["cable"]["local"].rsplit(":", 1)[0]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            try:
                one.bind((host, 0))
            except OSError:
                continue
        ranks += [rank] if rank > 0 else []
    return ranks


def _places(ranks):
    """A rank for each partition, each once, by augmenting paths; none if there are not enough. All tasks find the same."""
    taken = {}

    def place(partition, seen):
        for rank in ranks[partition]:
            if rank not in seen:
                seen.add(rank)
                if rank not in taken or place(taken[rank], seen):
                    taken[rank] = partition
                    return True
        return False

    if all(place(partition, set()) for partition in sorted(ranks)):
        return {partition: rank for rank, partition in taken.items()}
    return None


class _plan_file:
    """A plan as a file, at any host; a number of programs as it is."""

    def __init__(self, plan):
        self.plan, self.file = plan, None

    def __enter__(self):
        if isinstance(self.plan, int):
            return self.plan
        import tempfile

        self.file = tempfile.NamedTemporaryFile("w", suffix=".group.json", encoding="utf-8")
        self.file.write(self.plan)
        self.file.flush()
        return self.file.name

    def __exit__(self, *_):
        if self.file is not None:
            self.file.close()


class _Attempt:
    """The root of one attempt, in a thread."""

    def __init__(self, number, driver):
        self.number, self.driver = number, driver
        self.is_wanted, self.done, self.error = True, None, None
        self.root = f"{driver.host}:{_free(driver.host)}"
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        driver = self.driver
        try:
            with _plan_file(driver.text) as path, agg.Group(
                path, 0, self.root, timeout=driver.timeout, going=lambda: self.is_wanted, wait=driver.wait
            ) as group:
                kind, is_signed = driver.shape[self.number]
                empty = array("Q") if kind == "number" else []
                found = _reduce(group, kind, empty, array("q" if is_signed else "Q"), driver.op)
                self.done = (list(zip(found[0], found[1])), dict(group.report))
        except Exception as error:  # It is raised where the result is taken.
            self.error = error

    def end(self):
        self.is_wanted = False
        self.thread.join()


def _free(host):
    with socket.socket() as one:
        one.bind((host, 0))
        return one.getsockname()[1]


class _Driver:
    """Tells tasks where the root of their attempt is. A later attempt ends the earlier ones."""

    def __init__(self, op, plan, tasks, host, times):
        self.op, self.host = op, host
        self.timeout, self.wait = times
        self.token = secrets.token_hex(16)
        self.text = tasks + 1
        if plan is not None:
            with open(plan, encoding="utf-8") as file:
                self.text = file.read()
        self.attempts, self.shape, self.last = {}, {}, -1

    def __enter__(self):
        _lock.acquire()
        self.listener = socket.create_server((self.host, 0))
        self.address = self.listener.getsockname()[:2]
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        for attempt in self.attempts.values():
            attempt.end()
        _lock.release()

    def _serve(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            with link:
                link.settimeout(5)
                try:
                    question = json.loads(link.makefile().readline(1 << 16))
                    answer = self._answer(question)
                    link.sendall(json.dumps(answer).encode() + b"\n")
                except (OSError, ValueError, KeyError, TypeError):
                    continue

    def _answer(self, question):
        if not secrets.compare_digest(str(question["token"]), self.token):
            return {"refused": "it is a task of another job"}
        if "attempt" not in question:
            return {"plan": self.text}
        number = int(question["attempt"])
        if number < self.last:
            return {"refused": f"attempt {number} has ended; attempt {self.last} runs"}
        if number > self.last:
            # Spark has ended the earlier attempt: it runs a stage again after all of its tasks have ended.
            for attempt in self.attempts.values():
                attempt.end()
            self.last = number
        if question["reason"] is None and number not in self.attempts:
            self.shape[number] = (question["kind"], bool(question["signed"]))
            self.attempts[number] = _Attempt(number, self)
            self.attempts[number].thread.start()
        attempt = self.attempts.get(number)
        return {"plan": self.text, "root": attempt.root if attempt else None}

    def why(self):
        """The error of the last root, if it is one that no later attempt mends."""
        attempt = self.attempts.get(self.last)
        if attempt is None:
            return None
        attempt.end()
        return attempt.error

    def result(self, number):
        attempt = self.attempts[number]
        attempt.thread.join()
        if attempt.error is not None:
            raise attempt.error
        pairs, report = attempt.done
        return pairs, {**report, "attempts": len(self.attempts)}
