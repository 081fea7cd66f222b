"""The module as it is installed. Argument: the directory of the examples."""

import subprocess
import sys
from pathlib import Path

import p4rack

examples = Path(sys.argv[1])
program = examples / "bench/router/router.p4"


def fails(call, *words):
    try:
        call()
    except p4rack.Error as error:
        text = str(error)
        assert all(word in text for word in words), text
    else:
        raise AssertionError("it was taken")


def frame(ttl):
    header = bytearray.fromhex("45000026000000004011000000000000000000000a000001")[:20]
    header[8] = ttl
    header[12:20] = bytes([192, 168, 0, 1, 10, 1, 2, 3])
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = (~total & 0xFFFF).to_bytes(2, "big")
    return bytes(12) + b"\x08\x00" + bytes(header) + bytes(18)


for engine in ["native", "interp"]:
    switch = p4rack.Switch(str(program), engine=engine)
    assert len(switch.tables()) == 2, switch.tables()
    switch.add("routes", {"hdr.ipv4.dst_addr": "10.0.0.0/8"}, "set_next_hop", {"next_hop": 7})
    hop = {"port": 3, "src_addr": 0x020000000001, "dst_addr": "0x020000000002"}
    switch.add("next_hops", {"meta.next_hop": 7}, "forward", hop)
    [(port, sent)] = switch.process(1, frame(64))
    assert (port, sent[:12].hex(), sent[22]) == (3, "020000000002020000000001", 63), (port, sent.hex())
    assert switch.process(1, frame(1)) == []
    [entry] = switch.entries("next_hops")
    assert entry["keys"] == ["0x0007"] and entry["data"] == [3, 0x020000000001, 0x020000000002], entry
    assert isinstance(switch.state(), list)
    fails(lambda: switch.add("route", {}, "drop"), "route", "did you mean")
    fails(lambda: switch.add("routes", {"hdr.ipv4.dst_addr": "10.0.0.0/77"}, "drop"), "no longer")
    fails(lambda: switch.write("table_add routes set_next_hop 10.0.0.0/8 => 1"), "routes")
    switch.write("table_add routes set_next_hop 11.0.0.0/8 => 7")
    assert len(switch.entries("routes")) == 2

fails(lambda: p4rack.Switch("nothing.p4"), "nothing.p4")
fails(lambda: p4rack.Switch(str(program), engine="fast"), "fast")
assert p4rack.check(program) == []
fails(lambda: p4rack.check("nothing.p4"), "nothing.p4")
ping = p4rack.up(examples / "slice", seed=1)["report"]["workloads"][0]
assert (ping["sent"], ping["received"]) == (100, 99), ping
assert p4rack.plan(examples / "slice")["ok"]
version = subprocess.run(["p4rack", "--version"], capture_output=True, text=True, check=True).stdout
assert version.startswith("p4rack "), version
assert subprocess.run(["p4rack", "check", "nothing.p4"], capture_output=True).returncode == 1
assert subprocess.run(["p4rack", "nonsense"], capture_output=True).returncode == 2
print("ok")
