"""p4runtime-shell: controllers of two roles and of the default one, at the same time, each the primary of its own."""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeClient, P4RuntimeWriteException
from p4runtime_sh.shell import FwdPipeConfig

address, info, program = sys.argv[1:]
sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=FwdPipeConfig(info, program))
WHOLE = sh.client
ROLES = {role: P4RuntimeClient(1, address, (0, 1), role) for role in ("routing", "filter")}


def route(destination):
    made = sh.TableEntry("MyIngress.route")(action="MyIngress.forward")
    made.match["hdr.ethernet.dst"] = destination
    made.action["port"] = "2"
    return made


def source(address):
    made = sh.TableEntry("MyIngress.sources")(action="MyIngress.drop")
    made.match["hdr.ethernet.src"] = address
    return made


def refused(write, owner):
    try:
        write()
    except P4RuntimeWriteException as error:
        assert "PERMISSION_DENIED" in str(error) and f"`{owner}`" in str(error), error
    else:
        sys.exit("a role has written what is another's")


def tables():
    return [len(list(sh.TableEntry(name).read())) for name in ("MyIngress.route", "MyIngress.sources")]


def main():
    sh.client = ROLES["routing"]
    route("0a:00:00:00:00:01").insert()
    refused(source("0b:00:00:00:00:01").insert, "filter")
    sh.client = ROLES["filter"]
    source("0b:00:00:00:00:01").insert()
    refused(route("0a:00:00:00:00:01").delete, "routing")
    # Each sees its own; what is nobody's is everybody's; and the default role has it all.
    seen = {}
    for name, client in {**ROLES, "": WHOLE}.items():
        sh.client = client
        seen[name] = tables()
        count = sh.CounterEntry("MyIngress.frames")
        count.index = 1
        count.packet_count = 7
        count.modify()
    assert seen == {"routing": [1, 0], "filter": [0, 1], "": [1, 1]}, seen
    route("0a:00:00:00:00:01").delete()
    route("0a:00:00:00:00:02").insert()
    # One role's primary goes, and the others stay what they are.
    ROLES.pop("routing").tear_down()
    sh.client = ROLES["filter"]
    source("0b:00:00:00:00:02").insert()


try:
    main()
finally:
    for client in ROLES.values():
        client.tear_down()
    sh.client = WHOLE
    sh.teardown()
