"""`p4rack.spark` against a stand-in of PySpark, or against PySpark itself if the environment has it. Argument: the directory of the examples."""

import json
import operator
import os
import random
import shutil
import signal
import sys
import tempfile
import warnings
from pathlib import Path

IS_REAL = os.environ.get("P4RACK_REAL_SPARK") == "1"
if IS_REAL:
    # Tasks run in the environment of this program.
    os.environ["PYSPARK_PYTHON"] = sys.executable
else:
    sys.path.insert(0, str(Path(__file__).parent / "stand-ins"))

import p4rack  # noqa: E402
import p4rack.spark  # noqa: E402
from p4rack import agg  # noqa: E402
from pyspark import SparkContext  # noqa: E402

EXAMPLE = Path(sys.argv[1]) / "jobs"


def context(cores=4, **settings):
    return real_context(f"local[{cores}]") if IS_REAL else SparkContext(cores, **settings)


def real_context(master):
    from pyspark import SparkConf

    conf = SparkConf().setMaster(master).set("spark.ui.enabled", "false").set("spark.driver.host", "127.0.0.1")
    return SparkContext(conf=conf)


def words(count, seed):
    chance = random.Random(seed)
    return [(f"word-{int(chance.paretovariate(0.7)) % 500}", 1) for _ in range(count)]


def folded(pairs, function):
    found = {}
    for key, value in pairs:
        found[key] = function(found[key], value) if key in found else value
    return found


def check(sc, pairs, op, function, **options):
    result = p4rack.spark.reduce_by_key(sc.parallelize(pairs, 3), op, **options)
    rows = result.collect()
    assert len(rows) == len(dict(rows)), "each key once"
    assert dict(rows) == folded(pairs, function), op
    return result.p4rack


def operators_and_keys(sc):
    pairs = words(3000, 1)
    for op, function in [("add", operator.add), (max, max), ("min", min), (operator.or_, operator.or_)]:
        report = check(sc, pairs, op, function)
        assert report["keys"] == len(folded(pairs, function)) and report["attempts"] == 1, report
    chance = random.Random(2)
    numbers = [(chance.randrange(200) << 40, chance.randrange(-(1 << 40), 1 << 40)) for _ in range(2000)]
    check(sc, numbers, "add", operator.add)
    check(sc, [(key.to_bytes(8, "big"), value >> 12) for key, value in numbers], "max", max)
    check(sc, [("only", 7)], "add", operator.add)
    assert p4rack.spark.reduce_by_key(sc.parallelize([], 2)).collect() == []


def spark_reduces_the_rest(sc):
    cases = [
        ([("a", 1.5), ("a", 2.0)], "add", operator.add, "values are `float`"),
        ([((1, 2), 1), ((1, 2), 3)], "add", operator.add, "keys are `tuple`"),
        ([(1, 1), ("1", 1)], "add", operator.add, "keys are `"),
        ([(-1, 1), (-1, 2)], "add", operator.add, "outside of 0"),
        ([("a", 1 << 70), ("b", 1)], "add", operator.add, "more than 64 bits"),
        ([("a", 1 << 40), ("a", -5)], "max", max, "values of max are more than 2^32 - 1 apart"),
        ([("x" * 5000, 1)], "add", operator.add, "longer than 4,096"),
        ([("a", 3), ("a", 4)], lambda a, b: a * b, lambda a, b: a * b, "a function that switches do not have"),
    ]
    for pairs, op, function, reason in cases:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            report = check(sc, pairs, op, function)
        assert reason in report["fallback"], (reason, report)
        assert any(reason in str(one.message) for one in said), (reason, said)
        assert p4rack.spark.fallbacks[report["fallback"]] >= 1


def mistakes(sc):
    for call, words in [
        (lambda: p4rack.spark.reduce_by_key(sc.parallelize([]), "mean"), ["no operator `mean`", "`add`"]),
        (lambda: p4rack.spark.reduce_by_key(sc.parallelize([]), plan="nowhere.json"), ["nowhere.json", "job compile"]),
    ]:
        try:
            call()
        except p4rack.Error as error:
            assert all(word in str(error) for word in words), error
        else:
            raise AssertionError(words)


def places_of_tasks():
    """Each task takes a rank whose address its machine has."""
    places = p4rack.spark._places
    assert places({0: [2, 1], 1: [2], 2: [3]}) == {0: 1, 1: 2, 2: 3}
    assert places({0: [1, 2], 1: [1], 2: [1, 2]}) is None
    plan = {"members": [{"kernel": {"address": address}} for address in ("127.0.0.1", "127.0.0.2", "192.0.2.1")]}
    assert p4rack.spark._ranks(json.dumps(plan)) == [1], "192.0.2.1 is nobody's"


def settings_of_spark():
    pairs = words(100, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check(SparkContext(2), pairs, "add", operator.add)
        assert "must run at once" in report["fallback"], report
        report = check(SparkContext(4, spark_dynamicAllocation_enabled="true"), pairs, "add", operator.add)
        assert "dynamic allocation" in report["fallback"], report


def executors_come_late():
    """Cores of a cluster that come after the first call began are waited for; those that do not come are not."""

    class Cluster(SparkContext):
        asked = 0

        @property
        def defaultParallelism(self):
            self.asked += 1
            return 4 if self.asked > 3 else 1

        @defaultParallelism.setter
        def defaultParallelism(self, cores):
            pass

    late = Cluster()
    late.master = "spark://master:7077"
    assert "attempts" in check(late, words(100, 5), "add", operator.add)
    never = SparkContext(2)
    never.master, never.startTime = "spark://master:7077", 0
    assert p4rack.spark._cores(never, 3, 60) == 2, "the application has run for longer than 60 s"


def executor_loss(plan=None):
    """The process of a task ends in its first attempt: before it joins, before its pairs are sent, and while they are sent."""
    pairs = words(20000, 4)
    for partition, end in enumerate([end_before, end_when_joined, end_soon]):
        sc = context()
        # Task numbers of the first attempt are 1 to 3.
        sc.before = lambda at, number: end() if (at, number) == (partition, partition + 1) else None  # noqa: B023
        report = check(sc, pairs, "add", operator.add, plan=plan, timeout=20)
        yield report["attempts"]


class Lost:
    """The function of one partition's task, whose executor ends once."""

    def __init__(self, partition, end, task, mark):
        self.partition, self.end, self.task, self.mark = partition, end, task, mark

    def __call__(self, pairs):
        from pyspark import BarrierTaskContext

        if BarrierTaskContext.get().partitionId() == self.partition and not self.mark.exists():
            self.mark.touch()
            self.end(self.task)
        return self.task(pairs)


def real_executor_loss():
    """The process of a task's executor ends, with Spark's own executors: before the task joins, before its pairs are sent, and while they are sent. The task itself may go on."""
    import pyspark

    os.environ.update(SPARK_HOME=str(Path(pyspark.__file__).parent), SPARK_SCALA_VERSION="2.13")
    sc = real_context("local-cluster[3,1,1024]")
    original = p4rack.spark._Task
    pairs = words(20000, 4)
    marks = Path(tempfile.mkdtemp())
    for partition, end in enumerate([executor_ends, executor_ends_when_joined, executor_ends_soon]):
        p4rack.spark._Task = lambda *about: Lost(partition, end, original(*about), marks / str(partition))  # noqa: B023
        try:
            report = check(sc, pairs, "add", operator.add, timeout=300)
        finally:
            p4rack.spark._Task = original
        assert (marks / str(partition)).exists()
        yield report["attempts"]
    sc.stop()
    shutil.rmtree(marks)


def executor_ends(_=None):
    # This process is a child of Spark's daemon of Python processes, which is one of the executor.
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
    assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
    os.kill(executor, signal.SIGKILL)


def executor_ends_when_joined(task, seconds=0):
    import threading
    import time

    # The names that the task uses: it travels by value, since `p4rack.spark._Task` is another one at the driver.
    names = type(task).__call__.__globals__
    original = names["_reduce"]

    def reduce(*arguments):
        # Spark's Python processes serve later tasks, too.
        names["_reduce"] = original
        if seconds == 0:
            executor_ends()
        else:
            threading.Thread(target=lambda: (time.sleep(seconds), executor_ends())).start()
        return original(*arguments)

    names["_reduce"] = reduce


def executor_ends_soon(task):
    executor_ends_when_joined(task, 0.002)


def end_before():
    os.kill(os.getpid(), signal.SIGKILL)


def end_when_joined():
    p4rack.spark._reduce = lambda *_: os.kill(os.getpid(), signal.SIGKILL)


def end_soon():
    original = p4rack.spark._reduce

    def reduce(*arguments):
        # The alarm may come at any point of the call, or after it.
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        return original(*arguments)

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    p4rack.spark._reduce = reduce


def through_switches():
    """The tree of three switches of the examples; a task is lost in the first attempt, and the same switches go on."""
    job = agg.Job()
    for number in (1, 2, 3):
        job.program(f"w{number}", at=f"h{number}")
    job.reducer("sums", op="add", of=["w1", "w2", "w3"], at="master", rows=512)
    with agg.local(job, rack=EXAMPLE) as plans:
        sc = context()
        for call in range(3):
            report = check(sc, words(5000, 10 + call), "add", operator.add, plan=plans["sums"])
            assert report["fallback"] is None and report["pairs_that_arrived"] < report["pairs_sent"], report
        if not IS_REAL:
            attempts = list(executor_loss(plans["sums"]))
            assert attempts[1] == 2, attempts


def main():
    sc = context()
    operators_and_keys(sc)
    mistakes(sc)
    places_of_tasks()
    spark_reduces_the_rest(sc)
    if not IS_REAL:
        settings_of_spark()
        executors_come_late()
        attempts = list(executor_loss())
    else:
        sc.stop()
        attempts = list(real_executor_loss())
    assert attempts[1] == 2, attempts
    # A task that ends before all have met leads to no group.
    assert attempts[0] == 1, attempts
    through_switches()
    print("ok")


main()
