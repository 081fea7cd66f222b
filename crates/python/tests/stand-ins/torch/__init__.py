"""A stand-in for torch 2.15: the parts that `p4rack.torch` uses, over numpy. Threads are ranks."""

import numpy


class _Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


float32, float64, int32, int64, int8 = (_Dtype(name) for name in "float32 float64 int32 int64 int8".split())
_OF = {one.name: one for one in (float32, float64, int32, int64, int8)}


class _Device:
    def __init__(self, kind):
        self.type = kind


class Tensor:
    is_sparse = False

    def __init__(self, values, device="cpu", is_pinned=False):
        self.values, self.device, self.pinned = values, _Device(device), is_pinned

    dtype = property(lambda self: _OF[self.values.dtype.name])
    shape = property(lambda self: self.values.shape)

    def numel(self):
        return self.values.size

    def detach(self):
        return Tensor(self.values, self.device.type)

    def contiguous(self):
        return Tensor(numpy.ascontiguousarray(self.values), self.device.type)

    def view(self, *shape):
        return Tensor(self.values.reshape(*shape), self.device.type, self.pinned)

    def numpy(self):
        if self.device.type != "cpu":
            raise TypeError("can't convert a tensor of another device to numpy")
        return self.values

    def __getitem__(self, at):
        return Tensor(self.values[at], self.device.type, self.pinned)

    def data_ptr(self):
        return self.values.ctypes.data

    def copy_(self, other):
        if {"cuda"} == {self.device.type, other.device.type} - {"cpu"}:
            pinned.append(self.pinned or other.pinned)
        self.values[...] = other.values
        return self

    def __itruediv__(self, divisor):
        self.values /= divisor
        return self


# Of each copy between a GPU and the CPU: whether the memory was pinned.
pinned = []


def tensor(values, dtype=float32, device="cpu"):
    return Tensor(numpy.array(values, dtype=dtype.name), device)


def empty(size, dtype=float32, pin_memory=False):
    return Tensor(numpy.full(size, 77, dtype=dtype.name), is_pinned=pin_memory)


from . import _C, distributed, futures  # noqa: E402, F401
