"""`torch.distributed`: gloo is a barrier between threads that have the same store."""

import threading

import numpy


class ReduceOp:
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = range(8)


class AllreduceOptions:
    reduceOp = ReduceOp.SUM


class BarrierOptions:
    pass


class group:
    WORLD = None


class ProcessGroup:
    def __init__(self, rank, size):
        self._rank = rank


class Store:
    """What the threads of a world share."""

    def __init__(self, size):
        self.barrier, self.given = threading.Barrier(size), [None] * size
        self.values, self.has_changed = {}, threading.Condition()

    def set(self, key, value):
        with self.has_changed:
            self.values[key] = value.encode()
            self.has_changed.notify_all()

    def get(self, key):
        with self.has_changed:
            self.has_changed.wait_for(lambda: key in self.values, timeout=60)
            return self.values[key]


class ProcessGroupGloo(ProcessGroup):
    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self.store, self.calls = store, []

    def _all(self, values):
        self.store.given[self._rank] = values
        self.store.barrier.wait()
        found = [given.copy() for given in self.store.given]
        self.store.barrier.wait()
        return found

    def allreduce(self, tensors, opts):
        from .._C._distributed_c10d import Work

        self.calls.append("allreduce")
        fold = {ReduceOp.SUM: numpy.add, ReduceOp.MAX: numpy.maximum, ReduceOp.PRODUCT: numpy.multiply}[opts.reduceOp]
        for tensor in tensors:
            if tensor.device.type == "cpu":
                tensor.values[...] = fold.reduce(self._all(tensor.values))
        return Work()

    def barrier(self, opts):
        self.calls.append("barrier")
        self.store.barrier.wait()

    def broadcast(self, tensors, opts):
        self.calls.append("broadcast")
        tensors[0].values[...] = self._all(tensors[0].values)[0]


class Backend:
    plugins = {}

    @classmethod
    def register_backend(cls, name, make, extended_api=False, devices=None):
        cls.plugins[name] = make, extended_api, devices
