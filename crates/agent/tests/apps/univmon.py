"""UnivMon: a cell of the sketch is the sum over its flows' packets, a flow over the threshold of its level is reported once in a window, and windows begin with nothing."""

import struct
import zlib
from collections import Counter

import finsy as fy
from common import TCP, UDP, address, ask_for, ends, is_sound, main, packet, route

ROWS, COLUMNS, LEVELS, LEAST = 5, 2048, 16, 8


def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
    return crc


def place(flow):
    """The level of a flow, and for each row its cell and the sign of its counts."""
    src, dst, protocol, sport, dport = flow
    src, dst, protocol, ports = address(src), address(dst), bytes([protocol]), struct.pack("!HH", sport, dport)
    sample = f"{crc16(ports + protocol + dst + src):016b}"
    level = min(len(sample) - len(sample.lstrip("1")), LEVELS - 1)
    orders = [(src, dst, protocol, ports), (dst, src, ports, protocol), (ports, src, dst, protocol), (src, ports, protocol, dst), (dst, protocol, ports, src)]
    hashes = [zlib.crc32(b"".join(order)) for order in orders]
    return level, [(level * COLUMNS + hashed % COLUMNS, 1 if hashed >> 31 else -1) for hashed in hashes]


def exact(counts):
    """The cells of each row that are not zero."""
    rows = [Counter() for _ in range(ROWS)]
    for flow, packets in counts.items():
        for row, (cell, sign) in zip(rows, place(flow)[1]):
            row[cell] += sign * packets
    return [{cell: count for cell, count in row.items() if count} for row in rows]


async def cells(switch, row, of):
    """Those of some cells of a row that are not zero."""
    name = f"MonIngress.row_{row}.cells"
    found = [entry async for entry in switch.read(fy.P4RegisterEntry(name, index=cell) for cell in of)]
    assert [entry.index for entry in found] == of
    return {entry.index: entry.data for entry in found if entry.data}


async def trial(switch, cables, rng):
    levels = [
        fy.P4TableEntry("MonIngress.thresholds", match=fy.Match({"meta_level": level}), action=fy.Action("MonIngress.threshold_is", packets=LEAST))
        for level in range(LEVELS)
    ]
    await switch.write([+entry for entry in levels] + [route("MonIngress", "0.0.0.0/0", 2)])
    reports = await ask_for(switch, "heavy_flow_t")
    flows = [(f"10.1.0.{number % 7}", "198.51.100.9", [TCP, UDP][number % 2], 4000 + number, 443) for number in range(20)]
    for window in range(2):
        counts, told = Counter(), []
        for number in range(150):
            # The first flows send most packets.
            flow = flows[min(rng.randrange(len(flows)), rng.randrange(len(flows)))]
            port, left = await cables.exchange(1, packet(*flow))
            assert port == 2 and is_sound(left)
            counts[flow] += 1
            print(window, number, *ends(left), left.hex())
        sums = exact(counts)
        # The cells of all flows, and as many others as a read brings quickly.
        some = sorted({cell for flow in flows for cell, _ in place(flow)[1]} | {rng.randrange(LEVELS * COLUMNS) for _ in range(100)})
        for row in range(ROWS):
            assert await cells(switch, row, some) == sums[row], (window, row)
        # With so few flows no two share a cell: the estimate of a flow is its count.
        assert all(len(row) == len(counts) for row in sums), "cells are shared: other flows"
        heavy = {flow for flow, packets in counts.items() if packets >= LEAST}
        for _ in heavy:
            data = await reports.next()
            told.append(tuple(data[name] for name in ("protocol", "src_port", "dst_port", "level")))
        assert sorted(told) == sorted((flow[2], flow[3], flow[4], place(flow)[0]) for flow in heavy), told
        assert 3 < len(heavy) < len(counts)
        print(window, sorted(told), [sorted(row.items()) for row in sums])
        # A request for each register: all 300,000 cells in one take more than the client's time limit on a slow machine.
        for name in [f"MonIngress.row_{row}.cells" for row in range(ROWS)] + ["MonIngress.known", "MonIngress.known_too"]:
            await switch.write([~fy.P4RegisterEntry(name, data=0)])
        for row in range(ROWS):
            assert await cells(switch, row, some) == {}, (window, row)
    assert cables.came.empty() and reports.came.empty()


main(trial)
