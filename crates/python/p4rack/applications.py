"""Applications whose reduction the network's switches do, each a call or a few of a group (`p4rack.agg`), with generated data:

    with agg.Group("out/sums.group.json", rank, root) as group:
        counts = applications.word_count(group, applications.words(1_000_000, seed=rank))

Every program calls the same function, with a part of the data; all get the result. Arrays are those of numpy.
`python -m p4rack.applications word_count` runs one with data of P4COM's sizes and checks the result; `--help` has the options.
"""

import argparse
import itertools
import json
import multiprocessing
import sys
import time

import numpy

from . import Error, agg, fixed

__all__ = ["flow_statistics", "flows", "gradients", "graph", "in_degree", "page_rank", "rank_query", "word_count", "words"]

# Sizes of P4COM's data sets: distinct words; nodes and edges of the graph of links; flows and packets.
WORDS = 5_105_919
NODES, EDGES = 875_713, 5_105_039
FLOWS, PACKETS = 20_000_000, 400_000_000

# One in the fixed point of ranks: 32 bits after the point, in values of 64.
_ONE = 1 << 32

# Packets of a trace that are in memory at a time.
_PIECE = 1 << 22


def words(count, distinct=WORDS, skew=1.0, seed=0):
    """Numbers of words by Zipf's law, drawn by inversion of its continuous form."""
    draw = numpy.random.default_rng(seed).random(count)
    if skew == 1.0:
        place = numpy.exp(draw * numpy.log(distinct + 1.0))
    else:
        place = (1.0 + draw * ((distinct + 1.0) ** (1.0 - skew) - 1.0)) ** (1.0 / (1.0 - skew))
    return numpy.minimum(place.astype(numpy.uint64), distinct) - 1


def graph(nodes=NODES, edges=EDGES, seed=0):
    """Sources and targets of links: both ends by a power law, with orders of nodes of their own."""
    order = numpy.random.default_rng(seed).permutation(nodes)
    return words(edges, nodes, 0.6, seed + 1), order[words(edges, nodes, 0.9, seed + 2)].astype(numpy.uint64)


def flows(packets, count=FLOWS, seed=0):
    """Packets in pieces of 2^22: the flow of each one, a number below 2^48 for its addresses and ports, and its bytes. Sizes of flows by a power law."""
    for piece, first in enumerate(range(0, packets, _PIECE)):
        chance = numpy.random.default_rng([seed, piece])
        number = words(min(packets - first, _PIECE), count, 1.1, chance)
        yield _scattered(number), chance.integers(64, 1501, number.size).astype(numpy.uint64)


# A bijection of 47 bits: multiplication by an odd number.
_FACTOR = 0x5DEECE66D
_BACK = pow(_FACTOR, -1, 1 << 47)


def _scattered(numbers, factor=_FACTOR):
    return (numbers * numpy.uint64(factor)) & numpy.uint64((1 << 47) - 1)


def word_count(group, keys):
    """How often each word occurs: distinct words, counts."""
    own, counts = numpy.unique(keys, return_counts=True)
    return group.reduce_by_key(own.astype(numpy.uint64), counts.astype(numpy.uint64))


def rank_query(group, keys, scores, most=10, op="max"):
    """The keys with the largest scores (`op="max"`), or the smallest (`"min"`), best first; ties by key."""
    keys, best = group.reduce_by_key(keys, scores, op)
    order = numpy.lexsort((keys, -best.astype(numpy.int64) if op == "max" else best))[:most]
    return keys[order], best[order]


def in_degree(group, targets):
    """Links to each node that has some: nodes, numbers of links."""
    return word_count(group, targets)


def page_rank(group, sources, targets, nodes, rounds=10, damping=0.85):
    """Ranks of all nodes, which sum to 1, from each program's links. Sums are exact in steps of 2^-32: the result is the same for any division of the links."""
    out = _dense(word_count(group, sources), nodes)
    ranks = numpy.full(nodes, 1.0 / nodes)
    for _ in range(rounds):
        share = numpy.floor(ranks / numpy.maximum(out, 1) * _ONE).astype(numpy.uint64)
        own = numpy.zeros(nodes, numpy.uint64)
        numpy.add.at(own, targets.astype(numpy.int64), share[sources.astype(numpy.int64)])
        held = numpy.flatnonzero(own)
        flow = _dense(group.reduce_by_key(held.astype(numpy.uint64), own[held]), nodes) / _ONE
        # Nodes without links, and what was rounded off, give to all.
        ranks = (1.0 - damping) / nodes + damping * (flow + (1.0 - flow.sum()) / nodes)
    return ranks


def flow_statistics(group, pieces):
    """Packets and bytes of each flow: flows, packets, bytes. `pieces` are flows of packets and their bytes (`flows`); one piece at a time is in memory."""
    parts = []
    for keys, sizes in pieces:
        parts.append(_flow_sums([(keys, numpy.ones_like(keys), sizes)]))
        # Each part is at least twice as large as the next one.
        while len(parts) > 1 and parts[-2][0].size < 2 * parts[-1][0].size:
            parts[-2:] = [_flow_sums(parts[-2:])]
    own, packets, total = _flow_sums(parts or [[numpy.zeros(0, numpy.uint64)] * 3])
    del parts
    found, counts = group.reduce_by_key(own, packets)
    _, total = group.reduce_by_key(own, total)
    return found, counts, total


def _flow_sums(parts):
    """Flows, packets and bytes of several parts, as one."""
    keys, packets, sizes = (numpy.concatenate(column) for column in zip(*parts))
    own, place = numpy.unique(keys, return_inverse=True)
    sums = numpy.zeros((2, own.size), numpy.uint64)
    numpy.add.at(sums[0], place, packets)
    numpy.add.at(sums[1], place, sizes)
    return own, *sums


def gradients(group, array):
    """The sum of float32 arrays, in place, with the error bound of `p4rack.fixed`."""
    if not fixed.allreduce(group, array):
        raise Error("a value is infinite or no number; switches add finite numbers")
    return array


def _dense(pairs, length):
    dense = numpy.zeros(length)
    dense[pairs[0].astype(numpy.int64)] = pairs[1]
    return dense


def _parts(name, share, programs, rank):
    """The part of a program's data: the paper's sizes, times `share`."""
    size = max(int(SIZES[name] * share), programs)
    own = size // programs + (rank < size % programs)
    if name in ("word_count", "rank_query"):
        return words(own, max(int(WORDS * share), 1), seed=rank)
    if name in ("in_degree", "page_rank"):
        # The graph is one; each program has every so-many-th link.
        sources, targets = graph(max(int(NODES * share), 2), size)
        return sources[rank::programs], targets[rank::programs]
    if name == "flow_statistics":
        return flows(own, max(int(FLOWS * share), 1), seed=rank)
    return numpy.random.default_rng(rank).normal(size=size).astype(numpy.float32)


# Words, links, packets, and the parameters of ResNet50.
SIZES = {
    "word_count": WORDS,
    "rank_query": WORDS,
    "in_degree": EDGES,
    "page_rank": EDGES,
    "flow_statistics": PACKETS,
    "gradients": 25_559_081,
}


def _apply(name, group, part, share):
    """The application's result, as arrays."""
    if name == "word_count":
        return word_count(group, part)
    if name == "rank_query":
        return rank_query(group, part, (part * numpy.uint64(2654435761) % numpy.uint64(1 << 31)).astype(numpy.uint32), most=100)
    if name == "in_degree":
        return in_degree(group, part[1])
    if name == "page_rank":
        return (page_rank(group, *part, max(int(NODES * share), 2), rounds=3),)
    if name == "flow_statistics":
        return flow_statistics(group, part)
    return (gradients(group, part.copy()),)


class _Alone:
    """A group of one program, with the fold of numpy: what the network's results are compared with."""

    size = 1

    def reduce_by_key(self, keys, values, op="add"):
        own, place = numpy.unique(keys, return_inverse=True)
        fold = {"add": numpy.add, "max": numpy.maximum}[op]
        found = numpy.zeros(own.size, numpy.uint64)
        fold.at(found, place, values.astype(numpy.uint64))
        return own, found


def _is_exact(name, share, programs, found):
    """True if a result is that of all data in one program; of gradients, if each element is within its bound."""
    parts = [_parts(name, share, programs, rank) for rank in range(programs)]
    if name == "gradients":
        exact = sum(part.astype(numpy.float64) for part in parts)
        allowed = fixed.bound(parts) + numpy.spacing(numpy.abs(exact).astype(numpy.float32)).astype(numpy.float64)
        return bool((numpy.abs(found[0] - exact) <= allowed).all())
    if name == "flow_statistics":
        packets, total = numpy.zeros((2, max(int(FLOWS * share), 1)), numpy.uint64)
        for keys, sizes in itertools.chain.from_iterable(parts):
            place = _scattered(keys, _BACK)
            numpy.add.at(packets, place, numpy.uint64(1))
            numpy.add.at(total, place, sizes)
        place = _scattered(found[0], _BACK)
        is_each_once = numpy.unique(place).size == place.size == numpy.count_nonzero(packets)
        return is_each_once and bool((found[1] == packets[place]).all() and (found[2] == total[place]).all())
    if isinstance(parts[0], tuple):
        whole = tuple(numpy.concatenate(column) for column in zip(*parts))
    else:
        whole = numpy.concatenate(parts)
    wanted = _apply(name, _Alone(), whole, share)
    if name == "page_rank":
        # Sums of all links and of the parts of links are rounded off at other places: by 2^-32 for each link and round.
        return bool(numpy.abs(found[0] - wanted[0]).sum() <= 2 * 3 * len(whole[0]) * 2.0**-32)
    return all(one.shape == other.shape and (one == other).all() for one, other in zip(found, wanted))


def _program(name, share, programs, rank, plan, root, timeout):
    with agg.Group(plan or programs, rank, root, timeout=timeout) as group:
        part = _parts(name, share, programs, rank)
        group.barrier()
        begun = time.monotonic()
        found = _apply(name, group, part, share)
        seconds = time.monotonic() - begun
        report = dict(group.report)
    if rank > 0:
        return
    is_exact = _is_exact(name, share, programs, found)
    said = {"application": name, "programs": programs, "elements": int(SIZES[name] * share), "results": len(found[0])}
    print(json.dumps({**said, "exact": is_exact, "seconds": round(seconds, 2), "last_call": report}), flush=True)
    if not is_exact:
        raise SystemExit(1)


def _main(words):
    parser = argparse.ArgumentParser(
        prog="python -m p4rack.applications",
        description="Runs an application with generated data of P4COM's sizes, and compares the result with a serial computation. "
        "Without --rank, all programs are processes of this machine.",
    )
    parser.add_argument("application", choices=sorted(SIZES))
    parser.add_argument("--share", type=float, default=1.0, help="part of the paper's sizes, such as 0.01 (default: 1)")
    parser.add_argument("--programs", type=int, default=3, help="programs of the group (default: 3)")
    parser.add_argument("--plan", help="the file REDUCER.group.json; without it, no switch reduces")
    parser.add_argument("--root", default="127.0.0.1:9600", help="address of rank 0")
    parser.add_argument("--rank", type=int, help="run this program alone; others are started elsewhere")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds that another program may be silent")
    asked = parser.parse_args(words)
    if not 0 < asked.share <= 1 or not 1 <= asked.programs <= 256:
        parser.error("--share is above 0 and at most 1, --programs from 1 to 256")
    ranks = range(asked.programs) if asked.rank is None else [asked.rank]
    make = multiprocessing.get_context("spawn").Process
    of = (asked.application, asked.share, asked.programs)
    processes = [make(target=_program, args=(*of, rank, asked.plan, asked.root, asked.timeout)) for rank in ranks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return max(abs(process.exitcode) for process in processes)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
