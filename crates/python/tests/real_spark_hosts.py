"""`p4rack.spark` with Spark's standalone cluster on hosts of their own: one executor on each of four, the driver on the reducer's (`hosts.py`).

The bytes that reach the driver's host are those of the emulator, with and without reduction; executors and the switch end in the middle of calls. Without
pyspark or root it says so, and the exit status is 77. Arguments: names of the parts to run (`counters_agree`, `executors_end`, `switch_ends`).
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import hosts as lab  # noqa: E402

try:
    import pyspark
except ImportError:
    print("skipped: pyspark cannot be imported; `pip install pyspark` (it needs Java), then run this again")
    sys.exit(77)
if lab.missing():
    print(f"skipped: {lab.missing()}")
    sys.exit(77)

import p4rack.spark  # noqa: E402

COUNT = 4
# Calls in which the switch ends, until one of them is under way then.
RUNS = 10
# Milliseconds before a packet is sent again where bytes are counted: a process may wait long for a processor.
WAIT = 5000
HOME = Path(pyspark.__file__).parent


def folded(pairs):
    found = {}
    for key, value in pairs:
        found[key] = found.get(key, 0) + value
    return found


def data(count, keys):
    """Pairs of each partition. Keys are numbers, so no texts of keys travel."""
    chance = random.Random(1)
    one = lambda: (int(keys * chance.random() ** 2), 1)  # noqa: E731
    return [list(folded(one() for _ in range(count)).items()) for _ in range(COUNT)]


class Cluster:
    """Spark's master beside the driver, and a worker on each host, on the network of control."""

    def __init__(self, hosts):
        place = hosts.place
        address = hosts.master.control
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_DIRS": str(place / "local"),
            "SPARK_WORKER_DIR": str(place / "work"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_NO_DAEMONIZE": "1",
        }
        command = [HOME / "bin/spark-class", "org.apache.spark.deploy"]

        def start(host, role, *words):
            settings = {**environment, "SPARK_LOCAL_IP": host.control}
            words = [str(command[0]), f"{command[1]}.{role}", "--host", host.control, "--webui-port", "0", *words]
            return host.start(*words, log=place / f"{host.name}.log", env=settings)

        self.processes = [start(hosts.master, "master.Master", "--port", "7077")]
        for host in hosts.hosts[:-1]:
            self.processes.append(start(host, "worker.Worker", "--cores", "1", "--memory", "768m", f"spark://{address}:7077"))
        os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP=address)
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": address,
            "spark.driver.bindAddress": address,
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "spark.executorEnv.SPARK_LOCAL_IP": "",
        }
        conf = pyspark.SparkConf().setMaster(f"spark://{address}:7077").setAll(settings.items())
        self.context = pyspark.SparkContext(conf=conf)
        deadline = time.monotonic() + 300
        while self.context.defaultParallelism < COUNT and time.monotonic() < deadline:
            time.sleep(0.1)

    def end(self):
        self.context.stop()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


class Ends:
    """The function of a task. The executors of some attempts and partitions end when all have joined."""

    def __init__(self, losses, marks, task):
        self.losses, self.marks, self.task = losses, marks, task

    def __call__(self, pairs):
        from pyspark import BarrierTaskContext

        partition = BarrierTaskContext.get().partitionId()
        # Each attempt of the stage runs each partition once.
        attempt = len(list(Path(self.marks).glob(f"run-*-{partition}")))
        (Path(self.marks) / f"run-{attempt}-{partition}").touch()
        if (attempt, partition) in self.losses:
            # The names that the task uses: it travels by value, since `p4rack.spark._Task` is another one at the driver.
            names = type(self.task).__call__.__globals__
            original = names["_reduce"]

            def reduce(*arguments):
                # Spark's Python processes serve later tasks, too.
                names["_reduce"] = original
                # This process is a child of Spark's daemon of Python processes, which is one of the executor.
                executor = int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
                assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
                (Path(self.marks) / f"end-{attempt}-{partition}").touch()
                os.kill(executor, signal.SIGKILL)
                # The task may go on: it is a process of its own.
                return original(*arguments)

            names["_reduce"] = reduce
        yield from self.task(pairs)


def call(context, parts, plan, wait=None):
    rdd = context.parallelize([pair for part in parts for pair in part], COUNT)
    result = p4rack.spark.reduce_by_key(rdd, "add", plan=plan, timeout=120, wait=wait)
    # Spark's own shuffle has no attempts.
    assert "attempts" in result.p4rack, result.p4rack
    assert dict(result.collect()) == folded(pair for part in parts for pair in part)
    return result.p4rack


def counters_agree(hosts, context):
    parts = data(60_000, 20_000)
    bytes_of = {}
    for by in ("hosts", "switch"):
        plan = hosts.compile(by)
        hosts.switch(by)
        before = hosts.master.received()
        report = call(context, parts, plan, WAIT)
        bytes_of[by] = found = hosts.master.received() - before
        wanted = hosts.predicted(by, report["rounds"], parts)
        print(f"{by}: {found} bytes reached the driver's host, {wanted} in the emulator ({found / wanted - 1:+.2%}); {report['rounds']} rounds", flush=True)
        assert abs(found - wanted) * 20 <= wanted
    assert bytes_of["switch"] < bytes_of["hosts"] * 0.9, bytes_of


def executors_end(hosts, context):
    plan = hosts.compile("switch")
    hosts.switch("switch")
    parts = data(15_000, 5_000)
    original = p4rack.spark._Task
    # Attempts of the stage and partitions: one, two at a time, one after the other.
    for losses in ([(0, 1)], [(0, 0), (0, 2)], [(0, 0), (1, 1)]):
        with tempfile.TemporaryDirectory() as marks:
            p4rack.spark._Task = lambda *about: Ends(losses, marks, original(*about))  # noqa: B023
            try:
                started = time.monotonic()
                report = call(context, parts, plan)
            finally:
                p4rack.spark._Task = original
            ended = sorted(name for name in os.listdir(marks) if name.startswith("end"))
        print(f"executors of (attempt, partition) {losses} ended: {report['attempts']} attempts, {time.monotonic() - started:.0f} s", flush=True)
        assert report["attempts"] == 1 + max(attempt for attempt, _ in losses) + 1, report
        assert ended == sorted(f"end-{attempt}-{partition}" for attempt, partition in losses), ended


def switch_ends(hosts, context):
    plan = hosts.compile("switch")
    hosts.switch("switch")
    parts = data(60_000, 40_000)
    for _ in range(RUNS):
        before = hosts.master.received()
        is_over = threading.Event()

        def restart():
            while hosts.master.received() < before + 40_000 and not is_over.is_set():  # noqa: B023
                time.sleep(0.001)
            hosts.switch("switch")

        thread = threading.Thread(target=restart)
        thread.start()
        report = call(context, parts, plan)
        is_over.set()
        thread.join()
        if report["restarts"] > 0:
            print(f"the switch ended: {report['restarts']} restarts in a call", flush=True)
            return
    raise AssertionError("no call was under way when the switch ended")


PARTS = [counters_agree, executors_end, switch_ends]


def main():
    with tempfile.TemporaryDirectory() as place:
        hosts = lab.Hosts(place, COUNT)
        try:
            cluster = Cluster(hosts)
            try:
                for part in PARTS:
                    if part.__name__ in (sys.argv[1:] or [part.__name__]):
                        part(hosts, cluster.context)
            finally:
                cluster.end()
        except Exception:
            for log in ("switch.log", "h1.log", "master.log"):
                if (hosts.place / log).exists():
                    print(f"{log}:\n" + "".join((hosts.place / log).open().readlines()[-30:]), file=sys.stderr)
            raise
        finally:
            hosts.end()
    print(f"ok, pyspark {pyspark.__version__}")


if __name__ == "__main__":
    main()
