"""Sums of float32 as sums of integers, for reductions in the network. Needs numpy.

Values are cut into blocks of 64. For each block, all programs agree by MAX on the exponent e of the largest magnitude (all of the block are below 2^e). A value v
travels as the integer round(v * 2^s), s = 30 - ceil(log2 N) - e, for N programs, so that the sum of N fits 32 bits. Rounding errs by at most 2^-(s+1) for each value, and the sum is an
integer:

    |result - exact sum| <= N * 2^-(s+1) + half a unit in the last place of float32

Sums of integers do not depend on their order: every program gets the same bits, always.
"""

import numpy

FLOAT = numpy.float32
BLOCK = 64

# Added to exponents of blocks, which are at least -148; 0 is a block of zeros.
_BIAS = 200
_NOT_FINITE = 1000


def exponents(values):
    """For each block: 0 if all are zero, else the exponent of the largest magnitude, biased."""
    blocks = -(-len(values) // BLOCK)
    padded = numpy.zeros(blocks * BLOCK, FLOAT)
    padded[: len(values)] = values
    largest = numpy.abs(padded.reshape(blocks, BLOCK)).max(axis=1)
    _, found = numpy.frexp(largest)
    found = numpy.where(largest == 0, 0, found + _BIAS)
    return numpy.where(numpy.isfinite(largest), found, _NOT_FINITE).astype(numpy.uint32)


def scales(found, programs):
    """The exponent s of each block; 0 for blocks of zeros."""
    spare = (programs - 1).bit_length()
    return numpy.where(found == 0, 0, 30 - spare - (found.astype(numpy.int64) - _BIAS))


def bound(values_of_all):
    """The error that `allreduce` may have at each place, beyond the rounding to float32. `values_of_all`: an array for each program."""
    found = numpy.max([exponents(values) for values in values_of_all], axis=0)
    each = numpy.where(found == 0, 0.0, len(values_of_all) * numpy.exp2(-(scales(found, len(values_of_all)) + 1.0)))
    return numpy.repeat(each, BLOCK)[: len(values_of_all[0])]


def allreduce(group, values):
    """Replaces float32 `values` by the sums of all programs. False, and nothing is replaced, if a value of any program is not finite."""
    found = exponents(values)
    group.allreduce(found, "max")
    if (found == _NOT_FINITE).any():
        return False
    shift = numpy.repeat(scales(found, group.size), BLOCK)[: len(values)]
    # In double precision, multiplication by a power of two is exact.
    whole = numpy.rint(numpy.ldexp(values.astype(numpy.float64), shift)).astype(numpy.int32)
    group.allreduce(whole, "add")
    values[:] = numpy.ldexp(whole.astype(numpy.float64), -shift).astype(FLOAT)
    return True
