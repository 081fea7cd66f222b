"""NetCache: each read has the value of the last write that was answered, whoever answers it; of keys that are read often, that is the switch."""

import struct

import finsy as fy
from common import UDP, ask_for, counted, ends, main, packet, route

GET, PUT, DELETE, GET_REPLY, WRITE_REPLY, UPDATE, UPDATE_REPLY = range(1, 8)
CLIENT, SERVER, PORT = "198.51.100.7", "10.2.0.1", 50000
KEYS = [number << 90 | 7 for number in range(1, 6)]
# Misses in a window that make a key hot, and keys that the cache has room for.
HOT, SLOTS = 4, 2


def query(op, key, request, number=0, value=b""):
    return struct.pack("!BBHII", op, len(value) // 16, 1, request, number) + key.to_bytes(16, "big") + value


def read(frame):
    op, blocks, _, request, number = struct.unpack("!BBHII", frame[42:54])
    value = frame[70 : 14 + struct.unpack("!H", frame[16:18])[0]]
    assert len(value) == 16 * blocks, frame.hex()
    return op, int.from_bytes(frame[54:70], "big"), request, number, value


class Rack:
    """The clients, the server and the controller."""

    def __init__(self, switch, cables):
        self.switch, self.cables = switch, cables
        self.store, self.cached, self.slots, self.request, self.base = {}, {}, {}, 0, 1
        self.reads = {0: 0, 1: 0}

    async def sent(self, port, bytes_of):
        """Sends a query or an answer; the port and the query that leaves."""
        ends_of = (CLIENT, SERVER, UDP, 40000, PORT) if port == 1 else (SERVER, CLIENT, UDP, PORT, 40000)
        leaves, left = await self.cables.exchange(port, packet(*ends_of, bytes_of))
        print(self.request, port, leaves, *ends(left), left.hex())
        return leaves, read(left)

    async def get(self, key):
        """A read, and whether the switch has answered it."""
        self.request += 1
        leaves, (op, of, request, _, value) = await self.sent(1, query(GET, key, self.request))
        assert (of, request) == (key, self.request)
        by_switch = leaves == 1
        if not by_switch:
            assert (leaves, op) == (2, GET)
            leaves, (op, _, _, _, value) = await self.sent(2, query(GET_REPLY, key, request, value=self.store.get(key, b"")))
        assert (leaves, op) == (1, GET_REPLY) and value == self.store.get(key, b""), (key, value)
        if key in self.slots:
            self.reads[0 if by_switch else 1] += 1
        return by_switch

    async def write(self, key, value):
        """A write as the server does it: only one with a newer number of the switch where the key is cached."""
        self.request += 1
        op = PUT if value else DELETE
        leaves, (of_op, of, request, number, came) = await self.sent(1, query(op, key, self.request, value=value))
        assert (leaves, of_op, of, came) == (2, op, key, value)
        if key in self.cached:
            assert number == self.cached[key] + 1, (number, self.cached)
            self.cached[key] = number
        else:
            assert number == 0
        self.store[key] = value
        leaves, (of_op, *_) = await self.sent(2, query(WRITE_REPLY, key, request))
        assert (leaves, of_op) == (1, WRITE_REPLY)

    async def update(self, key, number=None):
        """The server's update of a cached value; the switch answers it."""
        number = self.cached[key] if number is None else number
        leaves, (op, of, _, of_number, value) = await self.sent(2, query(UPDATE, key, 0, number, self.store.get(key, b"")))
        assert (leaves, op, of, of_number, value) == (2, UPDATE_REPLY, key, number, b"")

    def entry(self, key, slot):
        action = fy.Action("CacheIngress.cached", slot=slot)
        return fy.P4TableEntry("CacheIngress.keys", match=fy.Match({"hdr_query_key": key}), action=action)

    async def insert(self, key):
        """A hot key comes into the cache; the oldest one gives way."""
        free = [slot for slot in range(SLOTS) if slot not in self.slots.values()]
        if not free:
            oldest = next(iter(self.slots))
            free = [self.slots.pop(oldest)]
            await self.switch.write([-self.entry(oldest, free[0])])
            self.base = max(self.base, self.cached.pop(oldest) + 1)
        self.cached[key], self.slots[key] = self.base, free[0]
        cells = [fy.P4RegisterEntry(f"CacheIngress.{name}", index=free[0], data=to) for name, to in (("valid", 0), ("numbers", self.base))]
        await self.switch.write([~cell for cell in cells])
        await self.switch.write([+self.entry(key, free[0])])


async def trial(switch, cables, rng):
    server = fy.P4TableEntry(
        "CacheIngress.servers", match=fy.Match({"standard_metadata_ingress_port": 2}), action=fy.Action("CacheIngress.is_server")
    )
    hot = fy.P4TableEntry("CacheIngress.hot", action=fy.Action("CacheIngress.hot_from", misses=HOT), is_default_action=True)
    await switch.write([+server, ~hot, route("CacheIngress", "198.51.100.0/24", 1), route("CacheIngress", "10.2.0.0/16", 2)])
    reports = await ask_for(switch, "hot_key_t")
    rack = Rack(switch, cables)
    by_switch = evicted = stale = 0
    misses = dict.fromkeys(KEYS, 0)
    for number in range(160):
        key = KEYS[min(rng.randrange(len(KEYS)), rng.randrange(len(KEYS)))]
        chance = rng.random()
        if chance < 0.15:
            await rack.write(key, rng.randbytes(16 * rng.randint(1, 8)) if chance < 0.12 else b"")
            if key in rack.slots:
                # Until the update the server answers; an update of an older write changes nothing.
                await rack.update(key, rack.cached[key] - 1)
                assert not await rack.get(key)
                stale += 1
                await rack.update(key)
            continue
        answered = await rack.get(key)
        assert answered == (key in rack.slots), key
        by_switch += answered
        if not answered:
            misses[key] += 1
            if misses[key] == HOT:
                told = await reports.next()
                assert told in (key, {"key": key}), told
                evicted += len(rack.slots) == SLOTS
                await rack.insert(key)
                await rack.update(key)
        if number % 40 == 39:
            # A new window: keys may become hot again. One register after the other: each has 65,536 cells, and finsy waits ten seconds for an answer.
            for name in ("count_0", "count_1", "count_2", "reported"):
                await switch.write([~fy.P4RegisterEntry(f"CacheIngress.{name}", data=0)])
            misses = dict.fromkeys(KEYS, 0)
    for index, wanted in rack.reads.items():
        await counted(switch, "CacheIngress.reads", index, wanted)
    assert cables.came.empty() and reports.came.empty()
    assert by_switch > 40 and evicted > 1 and stale > 3, (by_switch, evicted, stale)
    print(by_switch, evicted, stale, rack.reads)


main(trial)
