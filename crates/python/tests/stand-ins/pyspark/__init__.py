"""A stand-in for PySpark 4: the parts that `p4rack.spark` uses. A task is a process; if one of a barrier stage ends, the others are ended, and the stage runs again, with other
task numbers."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
import traceback

_processes = multiprocessing.get_context("fork")
_MOST_ATTEMPTS = 4


class Failed(Exception):
    pass


class BarrierTaskContext:
    _own = None

    def __init__(self, partition, number, pipe):
        self._partition, self._number, self._pipe = partition, number, pipe

    @staticmethod
    def get():
        return BarrierTaskContext._own

    def partitionId(self):
        return self._partition

    def taskAttemptId(self):
        return self._number

    def allGather(self, message=""):
        self._pipe.send(("gather", message))
        return self._pipe.recv()


class SparkConf:
    def __init__(self, settings):
        self._settings = settings

    def get(self, key, default=None):
        return self._settings.get(key, default)


class SparkContext:
    def __init__(self, cores=4, **settings):
        self.defaultParallelism = cores
        self.master, self.startTime = f"local[{cores}]", int(time.time() * 1000)
        self._conf = SparkConf({key.replace("_", "."): value for key, value in settings.items()})
        self._tasks = 0
        # Called with the partition, in a task's process, before it runs: tests end tasks there.
        self.before = lambda partition, number: None

    def getConf(self):
        return self._conf

    def parallelize(self, items, partitions=None):
        items, partitions = list(items), partitions or self.defaultParallelism
        return RDD(self, [items[at::partitions] for at in range(partitions)])


class RDD:
    def __init__(self, context, parts):
        self.context, self._parts = context, parts

    def getNumPartitions(self):
        return len(self._parts)

    def _again(self, partitions):
        return self.context.parallelize(self.collect(), partitions)

    coalesce = repartition = _again

    def cache(self):
        return self

    def map(self, function):
        return RDD(self.context, [[function(one) for one in part] for part in self._parts])

    def filter(self, function):
        return RDD(self.context, [[one for one in part if function(one)] for part in self._parts])

    def collect(self):
        return [one for part in self._parts for one in part]

    def reduceByKey(self, function):
        folded = {}
        for key, value in self.collect():
            folded[key] = function(folded[key], value) if key in folded else value
        return self.context.parallelize(folded.items(), self.getNumPartitions())

    def barrier(self):
        return _Barrier(self)


class _Barrier:
    def __init__(self, rdd):
        self._rdd = rdd

    def mapPartitions(self, function):
        return _Stage(self._rdd, function)


class _Shuffled:
    """A later stage, which reads what a barrier stage has written."""

    def __init__(self, stage):
        self._stage = stage

    def collect(self):
        return self._stage._collect(_MOST_ATTEMPTS)


class _Stage:
    def __init__(self, rdd, function):
        self._rdd, self._function = rdd, function

    def collect(self):
        """As the last stage of a job: Spark may have used results of some partitions, and does not run it again."""
        return self._collect(1)

    def coalesce(self, partitions, shuffle=False):
        return _Shuffled(self) if shuffle else self

    def _collect(self, most_attempts):
        said = []
        for _ in range(most_attempts):
            done, why = self._attempt()
            if done is not None:
                return [one for part in done for one in part]
            said.append(why)
        raise Failed(f"Job aborted due to stage failure: {said}")

    def _attempt(self):
        context, parts = self._rdd.context, self._rdd._parts
        if len(parts) > context.defaultParallelism:
            raise Failed("a barrier stage needs more slots than there are")
        tasks = []
        for partition, part in enumerate(parts):
            context._tasks += 1
            here, there = _processes.Pipe()
            number = context._tasks
            task = _processes.Process(target=self._run, args=[partition, number, part, there], daemon=True)
            task.start()
            there.close()
            tasks.append((task, here))
        done, gathered, why = [None] * len(tasks), {}, None
        while why is None and any(one is None for one in done):
            waiting = [here for at, (_, here) in enumerate(tasks) if done[at] is None and at not in gathered]
            for here in multiprocessing.connection.wait(waiting, timeout=60) or [None]:
                at = next((at for at, (_, one) in enumerate(tasks) if one is here), None)
                try:
                    sort, value = here.recv() if here else ("failed", "nothing happens")
                except EOFError:
                    sort, value = "failed", f"the executor of partition {at} is lost"
                if sort == "gather":
                    gathered[at] = value
                elif sort == "done":
                    done[at] = value
                else:
                    why = value
            if len(gathered) == len(tasks):
                for at, (_, here) in enumerate(tasks):
                    here.send([gathered[other] for other in range(len(tasks))])
                gathered = {}
        for task, here in tasks:
            if why is not None:
                task.kill()
            task.join()
            here.close()
        return (None, why) if why is not None else (done, None)

    def _run(self, partition, number, part, pipe):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Executors have none of the driver's sockets.
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor > 2 and descriptor != pipe.fileno():
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        try:
            BarrierTaskContext._own = BarrierTaskContext(partition, number, pipe)
            self._rdd.context.before(partition, number)
            pipe.send(("done", list(self._function(iter(part)))))
        except BaseException:
            pipe.send(("failed", traceback.format_exc()))
        finally:
            os._exit(0)
