"""Applications whose reduction the network's switches do, each a call or a few of a group (`p4rack.agg`), with generated data:

    with agg.Group("out/sums.group.json", rank, root) as group:
        counts = applications.word_count(group, applications.words(1_000_000, seed=rank))

Every program calls the same function, with a part of the data; all get the result. Arrays are those of numpy.
"""

import numpy

from . import Error, fixed

__all__ = ["flow_statistics", "flows", "gradients", "graph", "in_degree", "page_rank", "rank_query", "word_count", "words"]

# Sizes of P4COM's data sets: distinct words; nodes and edges of the graph of links; flows and packets.
WORDS = 5_105_919
NODES, EDGES = 875_713, 5_105_039
FLOWS, PACKETS = 20_000_000, 400_000_000

# One in the fixed point of ranks: 32 bits after the point, in values of 64.
_ONE = 1 << 32


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
    """The flow of each packet, a number below 2^48 for its addresses and ports, and the bytes of each packet: sizes of flows by a power law."""
    chance = numpy.random.default_rng(seed)
    number = words(packets, count, 1.1, seed + 1)
    # A bijection of 47 bits: multiplication by an odd number.
    return (number * numpy.uint64(0x5DEECE66D)) & numpy.uint64((1 << 47) - 1), chance.integers(64, 1501, packets).astype(numpy.uint64)


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


def flow_statistics(group, keys, sizes):
    """Packets and bytes of each flow: flows, packets, bytes."""
    own, place = numpy.unique(keys, return_inverse=True)
    packets = numpy.bincount(place, minlength=own.size).astype(numpy.uint64)
    total = numpy.zeros(own.size, numpy.uint64)
    numpy.add.at(total, place, sizes)
    found, counts = group.reduce_by_key(own, packets)
    _, total = group.reduce_by_key(own, total)
    return found, counts, total


def gradients(group, array):
    """The sum of float32 arrays, in place, with the error bound of `p4rack.fixed`."""
    if not fixed.allreduce(group, array):
        raise Error("a value is infinite or no number; switches add finite numbers")
    return array


def _dense(pairs, length):
    dense = numpy.zeros(length)
    dense[pairs[0].astype(numpy.int64)] = pairs[1]
    return dense
