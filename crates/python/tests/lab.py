"""`p4rack.lab`. Argument: the directory of the examples. Exit status 77 where no lab may run."""

import shutil
import sys
from pathlib import Path

import p4rack
from p4rack.lab import Network, Pings

EXAMPLE = Path(sys.argv[1]) / "lab"


def fails(call, *words):
    try:
        call()
    except p4rack.Error as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("it was taken")


def of_its_own():
    """Two hosts and a bridge, made in Python."""
    net = Network(program=EXAMPLE / "bridge.p4", grpc_port=0)
    h1 = net.add_host("h1", commands=["echo 1 > /proc/sys/net/ipv4/ip_forward"])
    h2 = net.add_host("h2", ip="10.0.7.2/16", mac="02:00:00:00:00:02")
    s1 = net.add_switch("s1", entries=["table_add stations to_port 02:00:00:00:00:02 => 2"])
    net.add_link(h1, s1)
    cable = net.add_link(h2, s1, delay="2ms", bw=50, loss=0, queue=100)
    fails(lambda: net.add_host("h1"), "`h1`")
    fails(lambda: net.add_link("h1", "s7"), "`s7`")
    assert "bridge.p4" in net._repr_svg_() and "10.0.7.2" in net._repr_svg_(), net._repr_svg_()
    return net, h1, h2, s1, cable


net, h1, h2, s1, cable = of_its_own()
try:
    net.start()
except p4rack.Error as error:
    if "root" in str(error):
        print(f"SKIPPED: {error}")
        sys.exit(77)
    raise
with net:
    assert (h1.ip, h2.ip, h2.mac) == ("10.0.0.1", "10.0.7.2", "02:00:00:00:00:02")
    pings = net.ping_all(timeout=0.3)
    assert not pings and pings.dropped == 100 and not pings[h1, h2], pings
    handle = s1.table_add("stations", "to_port", [h1.mac], [1])
    pings = net.ping_all()
    assert pings and pings.dropped == 0 and pings["h2", "h1"] and len(pings) == 2, pings
    assert h1.cmd("echo", h2) == "10.0.7.2\n"
    if shutil.which("ping"):
        assert "1 received" in h1.cmd("ping -c 1 -W 2", h2), h1.cmd("ip address")
    assert h1.cmd("printf 'a\nb'; false") == "a\nb"
    assert h1.cmd("cat /proc/sys/net/ipv4/ip_forward") == "1\n"
    fails(lambda: s1.table_add("station", "to_port", [1], [1]), "station")
    assert len(s1.table_dump("stations")) == 2, s1.table_dump()
    done = h2.run("sh", "-c", "echo out; echo wrong >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "wrong\n"), done
    listens = h2.popen("sleep 1000")
    assert net.iperf(h1, h2) > 1
    cable.down()
    assert net.ping_all(timeout=0.3).dropped == 100
    net.link("h2", "s1").up()
    assert net.ping_all(timeout=5)
    s1.table_delete("stations", handle)
    assert len(s1.table_dump("stations")) == 1
    assert s1.address.startswith("127.0.0.1:") and s1.device_id == 1 and net["s1"] is s1
    fails(lambda: net.add_host("h3"), "is up")
assert listens.wait() != 0

assert not Path("topology.json").exists() and not (EXAMPLE / "bridge.json").exists(), "files are left behind"

with Network(EXAMPLE, grpc_port=0) as net:
    h1, s3 = net.get("h1", "s3")
    assert net.ping_all() and h1.cmd("echo $((1 + 1))") == "2\n" and s3.device_id == 2
    assert "links" not in repr(Pings("", [])) and "h4" in repr(net)
    fails(lambda: net.cmd("link s1 s9 down"), "`s9`")

with Network() as net:
    net.add_switch("s1", program="nothing.p4")
    net.add_link(net.add_host("h1"), "s1")
    fails(net.start, "nothing.p4", "p4app.json:")
print("ok")
