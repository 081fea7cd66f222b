"""p4runtime-shell: every entity written and read, packets in and out, digests, idle timeouts.

ADDRESS P4INFO PROGRAM, and for TLS: AUTHORITY, or AUTHORITY CERTIFICATE KEY."""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException
from p4runtime_sh.shell import FwdPipeConfig, SSLOptions

address, info, program, *tls = sys.argv[1:]
config = FwdPipeConfig(info, program)
sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=config, ssl_options=SSLOptions(not tls, *tls))


def entry(destination, action, **args):
    made = sh.TableEntry("MyIngress.route")(action=action)
    made.match["hdr.ethernet.dst"] = destination
    for name, value in args.items():
        made.action[name] = value
    return made


def main():
    route = entry("0a:00:00:00:00:00/8", "MyIngress.forward", port="2")
    route.insert()
    route.action["port"] = "3"
    route.modify()
    [read] = list(sh.TableEntry("MyIngress.route").read())
    assert read.action["port"].value == b"\x03", read
    try:
        route.insert()
    except P4RuntimeWriteException as error:
        assert "ALREADY_EXISTS" in str(error), error
    else:
        sys.exit("an entry was inserted twice")

    ternary = sh.TableEntry("MyIngress.filter")(action="NoAction", priority=7)
    ternary.match["hdr.ethernet.type"] = "0x0800&&&0xff00"
    ternary.match["std.ingress_port"] = "1..5"
    ternary.insert()
    assert [e.priority for e in sh.TableEntry("MyIngress.filter").read()] == [7]

    for number in (1, 2):
        member = sh.ActionProfileMember("MyIngress.members")(member_id=number, action="MyIngress.forward")
        member.action["port"] = str(number)
        member.insert()
    group = sh.ActionProfileGroup("MyIngress.members")(group_id=1)
    group.add(1, 1)
    group.add(2, 1)
    group.insert()
    ecmp = sh.TableEntry("MyIngress.ecmp")
    ecmp.match["meta.hop"] = "9"
    ecmp.group_id = 1
    ecmp.insert()
    assert len(list(sh.ActionProfileMember("MyIngress.members").read())) == 2

    counter = sh.CounterEntry("MyIngress.packets")
    counter.index = 1
    counter.packet_count = 5
    counter.modify()
    assert [c.packet_count for c in sh.CounterEntry("MyIngress.packets").read()] == [0, 5, 0, 0]
    direct = sh.DirectCounterEntry("MyIngress.hits")
    direct.table_entry.match["hdr.ethernet.dst"] = "0a:00:00:00:00:00/8"
    direct.packet_count = 9
    direct.modify()
    assert [c.packet_count for c in sh.DirectCounterEntry("MyIngress.hits").read()] == [9]
    meter = sh.MeterEntry("MyIngress.rate")
    meter.index = 2
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    assert [m.pir for m in sh.MeterEntry("MyIngress.rate").read()] == [0, 0, 3, 0]

    multicast = sh.MulticastGroupEntry(4)
    multicast.add(1, 1)
    multicast.add(2, 2)
    multicast.insert()
    [read] = list(sh.MulticastGroupEntry(4).read())
    assert len(read.replicas) == 2, read
    clone = sh.CloneSessionEntry(5)
    clone.add(1, 1)
    clone.insert()
    [read] = list(sh.CloneSessionEntry(5).read())
    assert len(read.replicas) == 1, read

    # Through the tables to the CPU port, and back as a packet-in with metadata.
    entry("0c:00:00:00:00:00/8", "MyIngress.to_cpu").insert()
    frame = bytes.fromhex("0c00000000010b00000000020800aabb")
    packet_in = sh.PacketIn()
    sh.PacketOut(frame, egress_port="3", submit="1").send()
    [got] = list(packet_in.sniff(timeout=1))
    assert got.packet.payload == frame, got
    assert [m.value for m in got.packet.metadata] == [b"\x01\xfe", b"\x05"], got

    # Out by a port, as it is.
    sh.PacketOut(frame, egress_port="3", submit="0").send()


try:
    main()
finally:
    sh.teardown()
