"""finsy: a controller of a role, which says so with a configuration of nothing.

ADDRESS P4INFO PROGRAM"""

import asyncio
import sys
from pathlib import Path

import finsy as fy
from google.protobuf.empty_pb2 import Empty

address, info, _ = sys.argv[1:]
done = asyncio.Event()


def entry(table, action, **match):
    return fy.P4TableEntry(f"MyIngress.{table}", match=fy.Match(match), action=action)


async def ready(switch):
    await switch.write([+entry("route", fy.Action("MyIngress.forward", port=2), dst="0a:00:00:00:00:09")])
    try:
        await switch.write([+entry("sources", fy.Action("MyIngress.drop"), src="0b:00:00:00:00:09")])
    except fy.P4ClientError as error:
        assert "`filter`" in str(error), error
    else:
        sys.exit("a role has written what is another's")
    await switch.write([-entry("route", fy.Action("MyIngress.forward", port=2), dst="0a:00:00:00:00:09")])
    done.set()


async def main():
    options = fy.SwitchOptions(
        p4info=Path(info),
        device_id=1,
        role_name="routing",
        role_config=Empty(),
        initial_election_id=10,
        ready_handler=ready,
    )
    async with fy.Switch("one", address, options) as switch:
        await asyncio.wait_for(done.wait(), 20)
        assert switch.is_primary


asyncio.run(main())
