"""finsy: entities of types of their own, packets, digests, idle timeouts, a change of the primary.

ADDRESS P4INFO PROGRAM, and for TLS: AUTHORITY, or AUTHORITY CERTIFICATE KEY."""

import asyncio
import sys
from pathlib import Path

import finsy as fy
from finsy.p4entity import P4ValueSetMember

address, info, program, *tls = sys.argv[1:]
pem = [Path(name) for name in tls] + [None, None]
credentials = fy.GRPCCredentialsTLS(cacert=pem[0], cert=pem[1], private_key=pem[2]) if tls else None
FRAME = bytes.fromhex("0c00000000010b00000000020800")
done = asyncio.Event()


async def one(found):
    return [entity async for entity in found]


async def ready(switch):
    if done.is_set():  # Again, as a backup.
        return
    route = fy.P4TableEntry(
        "MyIngress.route",
        match=fy.Match({"hdr.ethernet.dst": "0c:00:00:00:00:00/8"}),
        action=fy.Action("MyIngress.to_cpu"),
    )
    await switch.write([+route])
    [read] = await one(switch.read(fy.P4TableEntry("MyIngress.route")))
    assert read.match == {"dst": (0x0C0000000000, 8)} and read.action.name == "to_cpu", read
    await switch.write([~fy.P4RegisterEntry("MyIngress.pairs", index=1, data={"a": 5, "b": -2})])
    pairs = await one(switch.read(fy.P4RegisterEntry("MyIngress.pairs")))
    assert [pair.data for pair in pairs] == [{"a": 0, "b": 0}, {"a": 5, "b": -2}], pairs
    await switch.write([~fy.P4ValueSetEntry("Parse.types", members=[P4ValueSetMember(0x0800)])])
    assert len((await one(switch.read(fy.P4ValueSetEntry("Parse.types", members=[]))))[0].members) == 1

    # A digest for each new source, an idle entry, a packet to the controller: all from one frame through the tables.
    known = fy.P4TableEntry(
        "MyIngress.known",
        match=fy.Match({"hdr.ethernet.src": "0b:00:00:00:00:09"}),
        action=fy.Action("NoAction"),
        idle_timeout_ns=50_000_000,
    )
    learn = fy.P4TableEntry("MyIngress.known", action=fy.Action("MyIngress.learn"), is_default_action=True)
    digest = fy.P4DigestEntry("learn_t", max_list_size=1, max_timeout_ns=0, ack_timeout_ns=10**9)
    await switch.write([+known, ~learn, +digest])
    streams = [switch.read_packets(), switch.read_digests("learn_t"), switch.read_idle_timeouts()]
    firsts = [asyncio.create_task(asyncio.wait_for(anext(stream), 10)) for stream in streams]
    await asyncio.sleep(0.2)
    await switch.write([fy.P4PacketOut(FRAME, egress_port=3, submit=1)])
    packet, learned, idle = await asyncio.gather(*firsts)
    assert packet.payload == FRAME and packet["reason"] == 5, packet
    assert learned.data[0]["address"] == 0x0B0000000002, learned
    await switch.write([learned.ack()])
    assert [entry.match for entry in idle.table_entry] == [{"src": 0x0B0000000009}], idle
    done.set()


async def main():
    common = fy.SwitchOptions(p4info=Path(info), device_id=1, channel_credentials=credentials)
    options = common(p4blob=Path(program), p4force=True, initial_election_id=10, ready_handler=ready)
    async with fy.Switch("one", address, options) as first:
        await asyncio.wait_for(done.wait(), 20)
        assert first.is_primary
        # Another controller with a higher election id becomes the primary.
        second = common(initial_election_id=20)
        async with fy.Switch("two", address, second) as two:
            for _ in range(100):
                if two.is_primary and not first.is_primary:
                    return
                await asyncio.sleep(0.05)
            sys.exit("the primary did not change")


asyncio.run(main())
