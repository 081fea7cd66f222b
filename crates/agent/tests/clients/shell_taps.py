"""p4runtime-shell writes a route; frames that are sent to one TAP interface come out of the other."""

import socket
import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.shell import FwdPipeConfig

address, info, program = sys.argv[1:]
sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=FwdPipeConfig(info, program))
KIND = 0x1234


def port(name):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(KIND))
    raw.bind((name, KIND))
    raw.settimeout(10)
    return raw


def frame(number, length):
    return bytes.fromhex("0a0000000001 0b0000000002 1234") + bytes([number]) * (length - 14)


def main():
    left, right = port("left"), port("right")
    left.send(frame(1, 60))  # Nothing leads there yet.
    route = sh.TableEntry("MyIngress.route")(action="MyIngress.forward")
    route.match["hdr.ethernet.dst"] = "0a:00:00:00:00:01"
    route.action["port"] = "2"
    route.insert()
    for number, length in enumerate([60, 61, 1000, 1514], start=2):
        left.send(frame(number, length))
        assert right.recv(4096) == frame(number, length), length
    # A route leads back where a frame came from, too.
    route.action["port"] = "1"
    route.modify()
    right.send(frame(9, 60))
    assert left.recv(4096) == frame(9, 60)
    counts = [entry.packet_count for entry in sh.CounterEntry("MyIngress.frames").read()]
    # The system says something of its own on a new interface now and then.
    assert counts[1] >= 5 and counts[2] >= 1, counts


try:
    main()
finally:
    sh.teardown()
