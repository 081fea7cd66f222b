"""finsy at its defaults: one bad update among many is reported so that clients can read it. ADDRESS P4INFO, with a program that runs."""

import asyncio
import sys
from pathlib import Path

import finsy as fy

address, info = sys.argv[1:]
done = asyncio.Event()


def entry(number):
    match = fy.Match({"hdr.ethernet.dst": f"0e:00:00:00:{number >> 8:02x}:{number & 255:02x}/48"})
    return fy.P4TableEntry("MyIngress.route", match=match, action=fy.Action("MyIngress.forward", port=2))


async def ready(switch):
    for size in (20, 150, 220, 1000):
        updates = [+entry(number) for number in range(size)]
        updates[7] = -entry(60000)
        try:
            await switch.write(updates)
        except fy.P4ClientError as error:
            assert error.code == fy.GRPCStatusCode.UNKNOWN, (size, error)
            for part in (f"1 of {size} updates failed", "; the first: updates[7]: "):
                assert part in error.message, (size, error.message)
            assert error.details[7].canonical_code == fy.GRPCStatusCode.NOT_FOUND, (size, error.details)
        else:
            sys.exit("nothing was refused")
        await switch.delete([entry(number) for number in range(size) if number != 7], strict=False)
    done.set()


async def main():
    options = fy.SwitchOptions(p4info=Path(info), device_id=1, initial_election_id=200, ready_handler=ready)
    async with fy.Switch("one", address, options):
        await asyncio.wait_for(done.wait(), 50)


asyncio.run(main())
