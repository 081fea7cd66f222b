"""Hosts for the tests of frameworks: network namespaces with real interfaces. It needs root and iproute2.

Each host has `eth0` (10.0.1.N, the master 10.0.0.1) at a port of one `p4rack switch`, and `eth1` (10.1.1.N, 10.1.0.1) at a bridge of the kernel: pairs of a group
travel by the first, whose counters therefore have nothing else; all that a framework sends itself travels by the second.
"""

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

CLONE_NEWNET = 0x40000000
ROWS, WINDOW = 256, 16


class Namespace:
    """A network namespace, which is there as long as a process in it."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], stderr=subprocess.DEVNULL)
        ours, deadline = os.readlink("/proc/self/ns/net"), time.monotonic() + 10
        while self._name() in (ours, None):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise PermissionError("there may be no network namespaces here; run this as root")
            time.sleep(0.01)
        self.run("ip", "link", "set", "lo", "up")

    def _name(self):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{self.process.pid}/ns/net")

    def _inside(self, words):
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", *map(str, words)]

    def run(self, *words):
        done = subprocess.run(self._inside(words), capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def start(self, *words, log, **options):
        with open(log, "a") as file:
            return subprocess.Popen(self._inside(words), stdin=subprocess.DEVNULL, stdout=file, stderr=file, **options)

    def enter(self):
        """Moves this thread, and what it starts, here."""
        with open(f"/proc/{self.process.pid}/ns/net") as space:
            if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET) != 0:
                raise PermissionError(os.strerror(ctypes.get_errno()))

    def end(self):
        self.process.kill()
        self.process.wait()


class Host(Namespace):
    def __init__(self, name, port, switch):
        super().__init__()
        self.name = name
        last = "0.1" if name == "master" else f"1.{port}"
        self.address, self.control = f"10.0.{last}", f"10.1.{last}"
        self.card = f"02:00:0a:00:{'00:01' if name == 'master' else f'01:{port:02x}'}"
        for interface, address, peer in (("eth0", self.address, f"sw{port}"), ("eth1", self.control, f"br{port}")):
            switch.run("ip", "link", "add", peer, "type", "veth", "peer", "name", interface, "netns", self.process.pid)
            switch.run("ip", "link", "set", peer, "up")
            if interface == "eth0":
                self.run("ip", "link", "set", interface, "address", self.card)
            else:
                switch.run("ip", "link", "set", peer, "master", "bridge")
            self.run("ip", "address", "add", f"{address}/16", "dev", interface)
            self.run("ip", "link", "set", interface, "up")

    def received(self):
        """Bytes that have reached the host from the switch."""
        for line in Path(f"/proc/{self.process.pid}/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == "eth0":
                return int(counts.split()[0])
        raise OSError("`eth0` is gone")


class Hosts:
    """`count` hosts, the master and the switch. This process moves to the master's namespace."""

    def __init__(self, place, count):
        self.place = Path(place)
        self.spaces = [Namespace()]
        self.space = self.spaces[0]
        self.process = None
        self.space.run("ip", "link", "add", "bridge", "type", "bridge")
        self.space.run("ip", "link", "set", "bridge", "up")
        self.hosts = []
        for port in range(1, count + 2):
            host = Host(f"h{port}" if port <= count else "master", port, self.space)
            self.spaces.append(host)
            self.hosts.append(host)
        self.master = self.hosts[-1]
        for host in self.hosts:
            for other in self.hosts:
                # The switch forwards IPv4 alone: no host can ask for a card.
                if other is not host:
                    host.run("ip", "neighbour", "replace", other.address, "lladdr", other.card, "dev", "eth0")
        (self.place / "RACK.toml").write_text(self.rack())
        self.master.enter()

    def rack(self):
        text = '[rack]\nname = "hosts"\nseed = 1\n\n[device.tor]\nclass = "switch"\n'
        for port, host in enumerate(self.hosts, 1):
            text += f'\n[host.{host.name}]\nmac = "{host.card}"\nip = "{host.address}/16"\n'
            text += f'\n[[link]]\nends = ["{host.name}", "tor:{port}"]\nrate = "1Gbit/s"\n'
        return text

    def p4rack(self, *words):
        done = subprocess.run([sys.executable, "-m", "p4rack", *map(str, words)], cwd=self.place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def compile(self, by, profile="pipeline"):
        """The file of a group of all hosts whose pairs are folded by the switch, or by no switch."""
        names = [host.name for host in self.hosts[:-1]]
        job = "".join(f"mapper {name} = program(at = {name})\n" for name in names)
        rows = f", rows = {ROWS}" if profile == "pipeline" else f", profile = {profile}"
        job += f"reducer sums = add({', '.join(names)}, at = master, by = {by}{rows}, window = {WINDOW})\n"
        (self.place / f"{by}.job").write_text(job)
        self.p4rack("job", "compile", f"{by}.job", "-o", by)
        return str(self.place / by / "sums.group.json")

    def switch(self, by):
        """Starts the switch with the programs of `compile`; ends the one that ran."""
        self.stop()
        ports = [word for port in range(1, len(self.hosts) + 1) for word in ("-i", f"{port}@sw{port}")]
        log = self.place / "switch.log"
        words = (sys.executable, "-m", "p4rack", "switch", f"{by}/tor.toml", "--grpc-server-addr", "127.0.0.1:0", *ports)
        self.process = self.space.start(*words, log=log, cwd=self.place)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            # Boot numbers are seconds.
            time.sleep(1.1)
            self.process = None

    def predicted(self, by, rounds, pairs):
        """Bytes that the emulator sends to the master for the same pairs of each host, whose keys are numbers."""
        files = ["".join(f"{key},{value}\n" for key, value in some) for some in pairs]
        return self._emulated(files, "pairs(d{}, key = 1, value = 2)", f"by = {by}, key = number, rows = {ROWS}, rounds = {rounds}")

    def predicted_array(self, by, elements):
        """The same for an array of each host."""
        files = ["1\n" * elements] * (len(self.hosts) - 1)
        return self._emulated(files, "array(d{})", f"by = {by}, profile = arrays, elements = {elements}")

    def _emulated(self, files, mapper, settings):
        job = ""
        for number, text in enumerate(files, 1):
            (self.place / f"{number}.csv").write_text(text)
            job += f'dataset d{number} = "h{number}:{number}.csv"\nmapper m{number} = {mapper.format(number)}\n'
        names = ", ".join(f"m{number}" for number in range(1, len(files) + 1))
        job += f"reducer sums = add({names}, at = master, window = {WINDOW}, {settings})\n"
        (self.place / "predicted.job").write_text(job)
        up = f'{self.rack()}\n[[job]]\nfile = "predicted.job"\npatience = "10s"\n'
        (self.place / "up.toml").write_text(up)
        links = json.loads(self.p4rack("up", "up.toml", "--format", "json"))["report"]["links"]
        return next(link["bytes"] for link in links if link["to"] == "master")

    def end(self):
        self.stop()
        for space in self.spaces:
            space.end()


def missing():
    """Why there can be no hosts; none if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    lacking = [name for name in ("ip", "nsenter", "unshare") if shutil.which(name) is None]
    return f"`{lacking[0]}` is not installed" if lacking else None
