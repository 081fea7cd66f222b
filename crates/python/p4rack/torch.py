"""`torch.distributed` with reductions in the network: the backend `p4rack`.

    import p4rack.torch                                     # registers it
    torch.distributed.init_process_group("p4rack", rank=rank, world_size=world)

Sums of float32 are sums of fixed-point numbers of 32 bits with an exponent for each block of 64 values (`p4rack.fixed`): their error is bounded, and every rank
has the same bits whatever the order of arrival. What cannot be reduced in the network is reduced by gloo; `fallbacks` counts why, and each reason is
a warning once. docs/torch.md has the environment variables and limits.
"""

import json
import os
import pathlib
import socket
import warnings
import weakref
from collections import Counter

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Work

from . import Error, agg, fixed

__all__ = ["Options", "P4rackGroup", "hook"]

# Programs of one group (`reduce-workers`, form.rs).
MOST_RANKS = 256


class _Done(Work):
    """An operation that has ended."""

    def __init__(self, result):
        super().__init__()
        self._future = torch.futures.Future()
        self._future.set_result(result)

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def get_future(self):
        return self._future


class Options:
    """Options of a group: `new_group(ranks, pg_options=p4rack.torch.Options("out/even.group.json"))`.

    `plan` is the file REDUCER.group.json for the group's ranks, in their order. The group of all ranks takes it from P4RACK_GROUP if it has no options.
    `wait` is that of `p4rack.agg.Group`.
    """

    def __init__(self, plan, wait=None):
        self.plan, self.wait = plan, wait


# Hosts whose packets a group of this process receives.
_hosts = weakref.WeakValueDictionary()


class P4rackGroup(dist.ProcessGroup):
    """A process group: `allreduce` and `barrier` go through the network's switches, everything else to gloo.

    A group of some of the ranks needs a plan of its own (`Options`). Without one, gloo does everything.
    """

    def __init__(self, given, options=None):
        store, rank, size, timeout = given.store, given.group_rank, given.group_size, given.timeout
        super().__init__(rank, size)
        is_world = not given.global_ranks_in_group
        plan = getattr(options, "plan", None) or (os.environ.get("P4RACK_GROUP") or size if is_world else None)
        if plan is not None and size > MOST_RANKS:
            raise Error(f"a group of {size} ranks; p4rack has {MOST_RANKS} at most: use gloo, or sub-groups")
        self._gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
        self._rank, self._size = rank, size
        self._group = None
        self._pinned = {}
        self.fallbacks = Counter()
        self._why_gloo = "a group of some ranks has no plan of its own: pass `pg_options=p4rack.torch.Options(PLAN)`"
        if plan is not None:
            seconds = timeout.total_seconds() if hasattr(timeout, "total_seconds") else float(timeout)
            times = seconds, getattr(options, "wait", None)
            self._why_gloo = self._join(store, plan, times, os.environ.get("P4RACK_ROOT") if is_world else None)

    def _join(self, store, plan, times, root):
        """Joins the group of a plan. All ranks learn from the store where rank 0 listens, or the reason why none joins, which is returned."""
        host = _host(plan, self._rank)
        busy = f"rank {self._rank}: `{host}` is in another group of this process" if host in _hosts else ""
        mine = {"busy": busy, "root": (root or _free_address()) if self._rank == 0 else None}
        store.set(f"p4rack/{self._rank}", json.dumps(mine))
        all_ranks = [json.loads(store.get(f"p4rack/{rank}")) for rank in range(self._size)]
        for one in all_ranks:
            if one["busy"]:
                return one["busy"]
        group = agg.Group(plan, self._rank, all_ranks[0]["root"], timeout=times[0], wait=times[1])
        if group.size != self._size:
            raise Error(f"`{plan}` is a group of {group.size} programs, and the group has {self._size} ranks")
        self._host, self._group = host, group
        _hosts[host] = group
        return None

    def getBackendName(self):
        return "p4rack"

    def size(self):
        return self._size

    @property
    def report(self):
        """Cost of the last reduction on the link of rank 0; none before the first, and for a group that gloo serves."""
        return self._group and self._group.report

    def shutdown(self):
        """Leaves the group: `destroy_process_group` calls it."""
        group, self._group, self._pinned = self._group, None, {}
        self._why_gloo = "the group has ended"
        if group is not None:
            group.close()
            _hosts.pop(self._host, None)

    def _fall_back(self, reason):
        if not self.fallbacks[reason]:
            warnings.warn(f"p4rack: reduced by gloo, not in the network: {reason}", stacklevel=4)
        self.fallbacks[reason] += 1

    def allreduce(self, tensors, opts):
        reduce_op = opts.reduceOp if opts is not None else dist.ReduceOp.SUM
        reason = self._why_gloo or _why_not(tensors, reduce_op)
        if reason is None:
            reason = self._reduce(tensors[0], reduce_op)
        if reason is not None:
            self._fall_back(reason)
            return self._gloo.allreduce(tensors, opts)
        return _Done(tensors)

    def _reduce(self, tensor, reduce_op):
        """Reduces in place; why nothing was done, if it was not: the same at every rank."""
        flat = self._on_host(tensor.detach().contiguous().view(-1))
        values = flat.numpy()
        if values.dtype == fixed.FLOAT:
            if not fixed.allreduce(self._group, values):
                return "a value is infinite or no number"
            if reduce_op == dist.ReduceOp.AVG:
                flat /= self._size
        else:
            self._group.allreduce(values, _OPS[_name(reduce_op)])
        if flat.data_ptr() != tensor.data_ptr():
            tensor.copy_(flat.view(tensor.shape))
        return None

    def _on_host(self, flat):
        """A tensor of the CPU itself; of another device, a copy in memory that the device reads and writes without a further one. Each type has one buffer, as
        long as the longest tensor so far."""
        if flat.device.type == "cpu":
            return flat
        buffer = self._pinned.get(flat.dtype)
        if buffer is None or buffer.numel() < flat.numel():
            buffer = self._pinned[flat.dtype] = torch.empty(flat.numel(), dtype=flat.dtype, pin_memory=True)
        # Waits for the device.
        return buffer[: flat.numel()].copy_(flat)

    def barrier(self, opts=None):
        if self._group is None:
            return self._gloo.barrier(opts or dist.BarrierOptions())
        self._group.barrier()
        return _Done([])


def _host(plan, rank):
    """The attachment of a rank's host, and the UDP port: sockets that one group at a time can have."""
    if isinstance(plan, int):
        return f"rank {rank} on this machine"
    try:
        read = json.loads(pathlib.Path(plan).read_text(encoding="utf-8"))
        [(kind, member)] = read["members"][rank].items()
        return f"{member['address']}:{read['port']}" if kind == "kernel" else member["local"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        # `agg.Group` says what is wrong with it.
        return str(plan)


def _free_address():
    """HOST:PORT with a free port of this machine, at the address by which it reaches the master."""
    master = os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "9599"))
    # Nothing is sent: the kernel chooses a local address.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(master)
        host = one.getsockname()[0]
    with socket.create_server((host, 0)) as one:
        return f"{host}:{one.getsockname()[1]}"


# What gloo does.
def _delegate(name):
    def method(self, *arguments, **options):
        return getattr(self._gloo, name)(*arguments, **options)

    method.__name__ = name
    return method


for _method in (
    "broadcast allgather _allgather_base allgather_into_tensor_coalesced allgather_coalesced gather scatter reduce reduce_scatter "
    "_reduce_scatter_base alltoall alltoall_base send recv recv_anysource allreduce_coalesced"
).split():
    setattr(P4rackGroup, _method, _delegate(_method))

_DEVICES = ["cpu", "cuda"]
_OPS = {"SUM": "add", "MAX": "max", "MIN": "min", "BOR": "or"}


def _name(reduce_op):
    """The name of a ReduceOp, which torch gives as one of its members or as an object that equals one."""
    return next((name for name in [*_OPS, "AVG"] if reduce_op == getattr(dist.ReduceOp, name)), str(reduce_op))


def _why_not(tensors, reduce_op):
    """Why tensors are not reduced in the network; none if they are. Ranks whose tensors agree get the same answer."""
    if len(tensors) != 1:
        return f"{len(tensors)} tensors in one call"
    [tensor] = tensors
    name = _name(reduce_op)
    if tensor.device.type not in _DEVICES:
        return f"tensors on `{tensor.device.type}`"
    if tensor.is_sparse:
        return "sparse tensors"
    if tensor.numel() == 0:
        return "empty tensors"
    if tensor.dtype == torch.float32:
        return None if name in ("SUM", "AVG") else f"{name} of float32"
    if tensor.dtype in (torch.int32, torch.int64):
        # Slots have 32 bits: largest and smallest values may be too far apart.
        is_wide = tensor.dtype == torch.int64 and name in ("MAX", "MIN")
        return f"{name} of int64" if is_wide else None if name in _OPS else f"{name} of integers"
    return f"tensors of {str(tensor.dtype).removeprefix('torch.')}"


def hook(group, bucket):
    """A communication hook of DistributedDataParallel: `model.register_comm_hook(process_group, p4rack.torch.hook)`. Gradients are averaged."""
    group = dist.group.WORLD if group is None else group
    gradients = bucket.buffer()
    options = dist.AllreduceOptions()
    options.reduceOp = dist.ReduceOp.SUM
    group.allreduce([gradients], options).wait()
    gradients /= group.size()
    future = torch.futures.Future()
    future.set_result(gradients)
    return future


dist.Backend.register_backend("p4rack", P4rackGroup, extended_api=True, devices=_DEVICES)
