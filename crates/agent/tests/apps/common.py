"""What the controllers of the example apps share: a finsy switch, cables to its ports, and packets.

Arguments: ADDRESS DEVICE P4INFO PROGRAM PORT=OURS:ITS...; a port's frames are UDP datagrams between two ports of this machine. What a script prints has to be the same for
one device and for a rack."""

import asyncio
import random
import socket
import struct
import sys
from pathlib import Path

import finsy as fy

LIMIT = 20
OUR_MAC, HOST_MAC = 0x020000000000, 0x020000010000
TCP, UDP = 6, 17


class Cables:
    """Frames to the ports of the switch, and from them."""

    def __init__(self, ports):
        self.its, self.came = {}, asyncio.Queue()
        self.sockets = {}
        for port, (ours, its) in ports.items():
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.bind(("127.0.0.1", ours))
            made.setblocking(False)
            self.sockets[port], self.its[port] = made, its
            asyncio.get_running_loop().add_reader(made, self.read, port, made)

    def read(self, port, made):
        self.came.put_nowait((port, made.recv(4096)))

    def send(self, port, frame):
        self.sockets[port].sendto(frame, ("127.0.0.1", self.its[port]))

    async def exchange(self, port, frame):
        """Sends a frame; the port and the bytes of the one that leaves."""
        self.send(port, frame)
        return await asyncio.wait_for(self.came.get(), LIMIT)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def address(text):
    return socket.inet_aton(text)


def packet(src, dst, protocol, sport, dport, payload=b"p4rack"):
    """A frame of UDP or TCP over IPv4, with right checksums."""
    if protocol == UDP:
        return summed(src, dst, UDP, struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload)
    return segment(src, dst, sport, dport, 1, 2, 0x10, payload=payload)


def segment(src, dst, sport, dport, seq, ack, flags, options=b"", payload=b""):
    """A frame of TCP over IPv4. `flags` are those from FIN on."""
    words = 5 + len(options) // 4
    return summed(src, dst, TCP, struct.pack("!HHIIBBHHH", sport, dport, seq, ack, words << 4, flags, 512, 0, 0) + options + payload)


def summed(src, dst, protocol, l4):
    """A frame whose checksums are filled in."""
    pseudo = address(src) + address(dst) + struct.pack("!BBH", 0, protocol, len(l4))
    total = checksum(pseudo + l4 + b"\0" * (len(l4) % 2))
    at = 6 if protocol == UDP else 16
    l4 = l4[:at] + struct.pack("!H", total) + l4[at + 2 :]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(l4), 7, 0, 64, protocol, 0) + address(src) + address(dst)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return bytes.fromhex("0200000000010200000000aa0800") + head + l4


def is_sound(frame):
    """True if the checksums of a frame are right."""
    head, l4 = frame[14:34], frame[34 : 14 + struct.unpack("!H", frame[16:18])[0]]
    pseudo = head[12:20] + struct.pack("!BBH", 0, head[9], len(l4))
    return checksum(head) == 0 and checksum(pseudo + l4 + b"\0" * (len(l4) % 2)) == 0


def ends(frame):
    """Addresses and ports of a frame."""
    src, dst = socket.inet_ntoa(frame[26:30]), socket.inet_ntoa(frame[30:34])
    return (src, *struct.unpack("!H", frame[34:36]), dst, *struct.unpack("!H", frame[36:38]))


def route(control, prefix, port):
    action = fy.Action(f"{control}.forward", port=port, src=OUR_MAC + port, dst=HOST_MAC + port)
    return +fy.P4TableEntry(f"{control}.routes", match=fy.Match({"hdr_ipv4_dst": prefix}), action=action)


async def counted(switch, counter, index, wanted):
    """Waits until a counter has counted so many packets; no packet is lost on the way, so it has to come."""
    async with asyncio.timeout(LIMIT):
        while True:
            cells = [cell async for cell in switch.read(fy.P4CounterEntry(counter, index=index))]
            if cells[0].packet_count == wanted:
                return
            assert cells[0].packet_count < wanted, (counter, index, cells[0].packet_count, wanted)
            await asyncio.sleep(0.02)


class Reports:
    """Digests of a name, acknowledged as they come."""

    def __init__(self, switch, name):
        self.switch, self.name, self.came = switch, name, asyncio.Queue()
        self.task = asyncio.create_task(self.run())

    async def run(self):
        async for report in self.switch.read_digests(self.name):
            for data in report.data:
                await self.came.put(data)
            await self.switch.write([report.ack()])

    async def next(self):
        return await asyncio.wait_for(self.came.get(), LIMIT)


async def ask_for(switch, digest):
    reports = Reports(switch, digest)
    await switch.write([+fy.P4DigestEntry(digest, max_list_size=1, max_timeout_ns=0, ack_timeout_ns=10**9)])
    return reports


def readable(info):
    """The P4Info with `_` in the names of match fields: finsy 0.30 takes `hdr.ipv4.src` and `meta.l4.src` for one name, `src`. Ids stay."""
    renamed, of_match = [], False
    for line in info.read_text().split("\n"):
        if line.startswith("  match_fields"):
            of_match = True
        elif line.startswith("  }"):
            of_match = False
        renamed.append(line.replace(".", "_") if of_match and line.startswith("    name: ") else line)
    to = info.with_suffix(".renamed.txtpb")
    to.write_text("\n".join(renamed))
    return to


def main(trial):
    """Runs `trial(switch, cables, rng)` as the primary of the switch."""
    target, device, info, program, *cables = sys.argv[1:]
    ports = {}
    for cable in cables:
        port, ends_of = cable.split("=")
        ports[int(port)] = tuple(int(end) for end in ends_of.split(":"))

    async def run():
        done = asyncio.get_running_loop().create_future()

        async def ready(switch):
            try:
                await trial(switch, Cables(ports), random.Random(1))
                done.set_result(None)
            except BaseException as error:  # It is raised again below.
                done.set_exception(error)

        options = fy.SwitchOptions(p4info=readable(Path(info)), p4blob=Path(program), p4force=True, device_id=int(device), ready_handler=ready)
        async with fy.Switch("app", target, options):
            await asyncio.wait_for(done, 120)

    asyncio.run(run())
