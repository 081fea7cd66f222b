"""Ray's collectives through the network's switches: the backend `P4RACK` of `ray.util.collective`.

    from ray.util import collective
    import p4rack.ray

    p4rack.ray.register()                                   # on the driver and in every actor
    collective.init_collective_group(world_size, rank, backend="P4RACK", group_name="sums")
    collective.allreduce(gradients, group_name="sums")

Sums of float32 are sums of fixed-point numbers (`p4rack.fixed`), equal at all ranks in any order of arrival. The other collectives are made of reductions: their bits are
exact. docs/ray.md has the environment variables and limits.
"""

import os
import socket
import time

import numpy
from ray.util.collective.collective_group.base_collective_group import BaseGroup

from . import Error, agg, fixed

__all__ = ["Error", "P4rackGroup", "register"]

_OPS = {"SUM": "add", "MAX": "max", "MIN": "min"}
_INTEGERS = ("int32", "uint32", "int64", "uint64")


class P4rackGroup(BaseGroup):
    """A group of actors. Tensors are arrays of numpy."""

    def __init__(self, world_size, rank, group_name, timeout=300.0):
        super().__init__(world_size, rank, group_name)
        plan = os.environ.get("P4RACK_GROUP") or world_size
        root = os.environ.get("P4RACK_ROOT") or _meet(group_name, rank, timeout)
        self._group = agg.Group(plan, rank, root, timeout=timeout)
        if self._group.size != world_size:
            raise Error(f"`{plan}` is a group of {self._group.size} programs, and `{group_name}` has {world_size} ranks")
        self._size, self._rank = world_size, rank

    @classmethod
    def backend(cls):
        return "P4RACK"

    @classmethod
    def check_backend_availability(cls):
        return True

    @property
    def report(self):
        """Cost of the last reduction on the link of rank 0."""
        return self._group.report

    def destroy_group(self):
        self._group.close()

    def barrier(self, barrier_options=None):
        self._group.barrier()

    def allreduce(self, tensor, allreduce_options=None):
        for one in _tensors(tensor):
            one[...] = self._reduced(one, allreduce_options)

    def reduce(self, tensor, reduce_options=None):
        root = getattr(reduce_options, "root_rank", 0)
        for one in _tensors(tensor):
            reduced = self._reduced(one, reduce_options)
            if self._rank == root:
                one[...] = reduced

    def broadcast(self, tensor, broadcast_options=None):
        root = getattr(broadcast_options, "root_rank", 0)
        for one in _tensors(tensor):
            [whole] = self._gathered(one, [root])
            one[...] = whole

    def allgather(self, tensor_lists, tensor, allgather_options=None):
        for into, one in zip(tensor_lists if isinstance(tensor_lists[0], list) else [tensor_lists], _tensors(tensor)):
            for place, whole in zip(into, self._gathered(one, range(self._size))):
                place[...] = whole

    def reducescatter(self, tensor, tensor_lists, reducescatter_options=None):
        for one, parts in zip(_tensors(tensor), tensor_lists if isinstance(tensor_lists[0], list) else [tensor_lists]):
            one[...] = self._reduced(numpy.stack(parts), reducescatter_options)[self._rank]

    def send(self, tensor, send_options=None):
        raise Error("p4rack sends nothing from one rank to another; use another group for `send` and `recv`")

    recv = send

    def _reduced(self, tensor, options):
        """The reduction of all ranks' tensors, as another array."""
        name = getattr(getattr(options, "reduceOp", None), "name", "SUM")
        values = numpy.array(tensor, order="C").reshape(-1)
        if values.dtype == numpy.float32 and name == "SUM":
            if not fixed.allreduce(self._group, values):
                raise Error("a value is infinite or no number; switches add finite numbers")
        elif values.dtype.name in _INTEGERS and name in _OPS:
            self._group.allreduce(values, _OPS[name])
        else:
            raise Error(f"{name} of {values.dtype}; switches have SUM of float32, and SUM, MAX and MIN of integers: use a group of another backend")
        return values.reshape(tensor.shape)

    def _gathered(self, tensor, ranks):
        """The tensors of some ranks, as bits: each place is OR of one tensor and zeros."""
        bits = numpy.frombuffer(numpy.ascontiguousarray(tensor).tobytes().ljust(-(-tensor.nbytes // 4) * 4, b"\0"), numpy.uint32)
        places = numpy.zeros((len(ranks), bits.size), numpy.uint32)
        for place, rank in zip(places, ranks):
            if rank == self._rank:
                place[:] = bits
        flat = places.reshape(-1)
        self._group.allreduce(flat, "or")
        rows = flat.reshape(places.shape)
        return [numpy.frombuffer(row.tobytes()[: tensor.nbytes], tensor.dtype).reshape(tensor.shape) for row in rows]


def _tensors(tensor):
    tensors = tensor if isinstance(tensor, list) else [tensor]
    for one in tensors:
        if not isinstance(one, numpy.ndarray):
            raise Error(f"a tensor is `{type(one).__name__}`; tensors are arrays of numpy: `tensor.numpy()` of torch on the CPU")
    return tensors


def _meet(name, rank, timeout):
    """The address of rank 0, in Ray's own store."""
    from ray.experimental import internal_kv
    from ray.util import get_node_ip_address

    key = f"p4rack:{name}".encode()
    if rank == 0:
        host = get_node_ip_address()
        with socket.socket() as one:
            one.bind((host, 0))
            root = f"{host}:{one.getsockname()[1]}"
        internal_kv._internal_kv_put(key, root.encode(), overwrite=True)
        return root
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        found = internal_kv._internal_kv_get(key)
        if found:
            return found.decode()
        time.sleep(0.05)
    raise Error(f"rank 0 of `{name}` did not come within {timeout:.0f} s")


def register():
    """Makes the backend known to `ray.util.collective` in this process."""
    from ray.util.collective import register_collective_backend

    register_collective_backend("P4RACK", P4rackGroup)
