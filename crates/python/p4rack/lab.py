"""Labs: hosts with a real network stack, P4 switches, and links in real time.

    >>> net = Network(program="l2.p4")
    >>> h1, h2 = net.add_host("h1"), net.add_host("h2")
    >>> s1 = net.add_switch("s1")
    >>> net.add_link(h1, s1)
    >>> net.add_link(h2, s1, delay="1ms", bw=100)
    >>> with net:
    ...     s1.table_add("stations", "to_port", [h1.mac], [1])
    ...     s1.table_add("stations", "to_port", [h2.mac], [2])
    ...     net.ping_all()
    h1 -> h2
    h2 -> h1
    *** Results: 0% dropped (2/2 received)

`Network("topology.json")` is the lab of a file or directory. `p4rack lab` is the same in a shell.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from . import Error, _problems

__all__ = ["Error", "Host", "Link", "Network", "Pings", "Switch"]

# Seconds until a lab that was asked to end is ended.
PATIENCE = 30

COMMAND = [sys.executable, "-m", "p4rack", "lab"]


class Node:
    """A host or a switch. Its name is its text."""

    def __init__(self, net, name, description):
        self.net, self.name, self.description = net, name, description

    def __str__(self):
        return self.name

    def _about(self, kind):
        self.net.start()
        return next(about for about in self.net._about[kind] if about["name"] == self.name)


class Host(Node):
    """A host: a network namespace with a network stack of Linux."""

    @property
    def ip(self):
        """The first IP address as text; None without one."""
        return next(iter(self._about("hosts")["addresses"]), None)

    @property
    def mac(self):
        """The MAC address of the first interface, if the description has one."""
        return self._about("hosts")["mac"]

    @property
    def namespace(self):
        """Path of the network namespace, for `setns` and `nsenter --net=PATH`."""
        return self._about("hosts")["namespace"]

    def cmd(self, *words):
        """Runs a shell command; its output, also if it fails. Names of hosts stand for their addresses: `h1.cmd("ping -c 1 h2")`."""
        return self.net._ask(f"{self.name} {' '.join(map(str, words))}")[1]

    def popen(self, *words, **options):
        """Starts a program without waiting for it: a `subprocess.Popen` with these options. One argument is a line for a shell."""
        self.net.start()
        words = ["bash", "-c", str(words[0])] if len(words) == 1 else [str(word) for word in words]
        command = [*COMMAND, "exec", "--lab", self.net._about["id"], self.name, "--", *words]
        return subprocess.Popen(command, **options)

    def run(self, *words, timeout=None, check=False):
        """Runs a program: a `subprocess.CompletedProcess` with exit status and output. One argument is a line for a shell."""
        process = self.popen(*words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, wrong = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        done = subprocess.CompletedProcess(list(words), process.returncode, out, wrong)
        if check:
            done.check_returncode()
        return done

    def ping(self, other, count=1, timeout=1):
        """True if another host, or an address, answers each ping."""
        address = other.ip if isinstance(other, Host) else other
        return self.run("ping", "-c", count, "-W", timeout, address).returncode == 0


class Switch(Node):
    """A P4 switch."""

    @property
    def device_id(self):
        """P4Runtime's device id."""
        return self._about("switches")["device_id"]

    @property
    def address(self):
        """Where it serves P4Runtime: `127.0.0.1:50051`."""
        return self._about("switches")["address"]

    @property
    def thrift(self):
        """Where it serves BMv2's Thrift: `127.0.0.1:9090`."""
        return self._about("switches")["thrift"]

    def cmd(self, line):
        """Runs a command of `simple_switch_CLI`, or one that `SWITCH COMMAND` takes at the prompt; its output."""
        return self.net.cmd(f"{self.name} {line}")

    def table_add(self, table, action, keys, params=(), priority=None):
        """Adds an entry; its handle. Keys and parameters are numbers or texts such as `10.0.1.0/24`, `0x800&&&0xff00`, `1->5`."""
        line = ["table_add", table, action, *keys, "=>", *params]
        said = self.cmd(_line(line if priority is None else [*line, priority]))
        return int(said.rsplit("handle", 1)[1].split()[0])

    def table_set_default(self, table, action, params=()):
        """Sets the default action of a table."""
        self.cmd(_line(["table_set_default", table, action, *params]))

    def table_delete(self, table, handle):
        """Removes the entry that `table_add` gave this handle."""
        self.cmd(_line(["table_delete", table, handle]))

    def table_clear(self, table):
        """Removes all entries of a table."""
        self.cmd(_line(["table_clear", table]))

    def table_dump(self, table=None):
        """The entries of a table, or of all, as `table_add` commands: a list of texts."""
        return self.cmd(_line(["table_dump", *([] if table is None else [table])])).splitlines()

    def register_read(self, register, index):
        """The value of a register's cell."""
        return int(self.cmd(_line(["register_read", register, index])).rsplit("=", 1)[1])

    def register_write(self, register, index, value):
        """Sets a register's cell."""
        self.cmd(_line(["register_write", register, index, value]))


class Link:
    """A link between two nodes."""

    def __init__(self, net, ends, settings):
        self.net, self.ends, self.settings = net, ends, settings

    def down(self):
        """Takes the link down. Frames in flight are lost."""
        self._set("down")

    def up(self):
        """Takes the link up again."""
        self._set("up")

    def _set(self, state):
        self.net.cmd(f"link {self.ends[0]} {self.ends[1]} {state}")


class Pings(Mapping):
    """Results of `ping_all`: for each pair of names whether the second answered the first. It is true if all did."""

    def __init__(self, text, hosts):
        self.text, self._answers = text, {}
        for line in text.splitlines():
            host, arrow, answers = line.partition(" -> ")
            if arrow and host in hosts:
                others = [other for other in hosts if other != host]
                self._answers |= {(host, to): word == to for to, word in zip(others, answers.split())}

    @property
    def dropped(self):
        """Percentage of pings without an answer."""
        return 100.0 * (len(self) - sum(self.values())) / max(len(self), 1)

    def __getitem__(self, pair):
        return self._answers[tuple(map(str, pair))]

    def __iter__(self):
        return iter(self._answers)

    def __len__(self):
        return len(self._answers)

    def __bool__(self):
        return all(self._answers.values())

    def __repr__(self):
        return self.text.rstrip()


class Network:
    """A lab. `with net:` brings it up and takes it down; `start` and `stop` do the same.

    `source` is a `topology.json`, `p4app.json` or `RACK.toml`, or a directory with one. Without it, the network is what `add_host`,
    `add_switch` and `add_link` make. `program` is the program of switches that have none, and `programs` a directory in which programs are
    looked for first. Addresses that no host has been given are assigned by `strategy`: `l2` (all hosts in 10.0.0.0/16), `mixed` (a network
    for each switch), `l3` (a network for each host) or `manual` (none), as in p4-utils. `arp=False` leaves hosts to ask for MAC addresses.
    `pcap=True` records the frames of switch ports in `pcaps/`. `grpc_port` is the first switch's, `0` for free ones.
    """

    def __init__(self, source=None, *, program=None, programs=None, strategy="l2", arp=True, pcap=False, grpc_port=None, defines=(), seed=1):
        self.source = None if source is None else Path(source)
        self.program, self.programs, self.strategy, self.arp = program, programs, strategy, arp
        self.pcap, self.grpc_port, self.defines, self.seed = pcap, grpc_port, list(defines), seed
        self.hosts, self.switches, self.links, self.notes = {}, {}, [], []
        self._process, self._about, self._lock = None, None, threading.RLock()
        self._work = None

    # What it is made of.

    def add_host(self, name, ip=None, mac=None, gateway=None, commands=()):
        """Adds a host. `ip` has a prefix length: `10.0.1.1/24`. `commands` run when the network is up."""
        about = {"ip": ip, "mac": mac, "gw": gateway, "commands": list(commands)}
        return self._add(self.hosts, Host, name, about)

    def add_switch(self, name, program=None, entries=None, cpu_port=None):
        """Adds a switch. `entries` is a file in any form that `p4rack run --entries` reads, or a list of `simple_switch_CLI` commands."""
        about = {"p4_src": program and str(program), "entries": entries, "cpu_port": cpu_port}
        return self._add(self.switches, Switch, name, about)

    def add_link(self, node1, node2, port1=None, port2=None, *, delay=None, jitter=None, bw=None, loss=None, queue=None):
        """Adds a link: `delay` and `jitter` like `5ms`, `bw` in Mbit/s, `loss` in percent, `queue` in frames. Ports of switches count from 1 in
        the order of their links if they are not given."""
        self._changeable()
        for node in (node1, node2):
            if str(node) not in self.hosts and str(node) not in self.switches:
                raise Error(f"there is no host or switch `{node}`: add it before its links")
        settings = {"port1": port1, "port2": port2, "delay": delay, "jitter": jitter, "bw": bw, "loss": loss, "queue_length": queue}
        link = Link(self, (str(node1), str(node2)), settings)
        self.links.append(link)
        return link

    def _add(self, among, kind, name, about):
        self._changeable()
        if name in self.hosts or name in self.switches:
            raise Error(f"there is a node `{name}` already")
        among[name] = kind(self, name, about)
        return among[name]

    def _changeable(self):
        if self.source is not None:
            raise Error(f"the network is that of `{self.source}`: nothing can be added to it")
        if self._process is not None:
            raise Error("the network is up: add nodes and links before `start`")

    def __getitem__(self, name):
        if self.source is not None:
            self.start()
        node = self.hosts.get(name) or self.switches.get(name)
        if node is None:
            raise KeyError(name)
        return node

    def get(self, *names):
        """The nodes of these names, as Mininet's `get`: one, or a list."""
        nodes = [self[name] for name in names]
        return nodes[0] if len(nodes) == 1 else nodes

    def link(self, node1, node2):
        """The link between two nodes."""
        wanted = {str(node1), str(node2)}
        found = next((link for link in self.links if set(link.ends) == wanted), None)
        # A file's links are known to the lab alone.
        return found or Link(self, (str(node1), str(node2)), {})

    # Up and down.

    def start(self):
        """Brings the network up, if it is not: programs are compiled, tables filled, hosts and links made. What is wrong is an `Error`."""
        with self._lock:
            if self._process is not None:
                return self
            words = [*COMMAND, str(self._described()), "--format", "json", "--seed", str(self.seed)]
            if self.source is None:
                words += ["--directory", os.getcwd()]
            for option, value in [("--program", self.program), ("--programs", self.programs), ("--grpc-port", self.grpc_port)]:
                # A network of its own has its program in its description.
                if value is not None and not (option == "--program" and self.source is None):
                    words += [option, str(value)]
            words += [] if self.pcap else ["--no-pcap"]
            words += [word for define in self.defines for word in ("-D", define)]
            # Ctrl-C in a notebook is for the cell, not for the lab.
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
            first = process.stdout.readline()
            try:
                greeting = json.loads(first)
                self._about, self.notes = greeting["lab"], greeting["notes"]
            except (json.JSONDecodeError, KeyError, TypeError):
                output = first + process.stdout.read()
                self._ended(process)
                raise Error(_startup_problems(output) or f"`p4rack lab` ended with {process.returncode}") from None
            self._process = process
            if self.source is not None:
                self.hosts = {about["name"]: Host(self, about["name"], {}) for about in self._about["hosts"]}
                self.switches = {about["name"]: Switch(self, about["name"], {}) for about in self._about["switches"]}
        return self

    def stop(self):
        """Takes the network down. Nothing of it is left."""
        with self._lock:
            process, self._process, self._about = self._process, None, None
            if process is not None:
                self._ended(process)
            if self._work is not None:
                self._work.cleanup()
                self._work = None

    @staticmethod
    def _ended(process):
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def __enter__(self):
        """Brings the network up; one to which nothing has been added comes up with its first command, or by `start`."""
        if self.source is not None or self.hosts or self.switches:
            self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    # What can be asked of it.

    def cmd(self, line):
        """Runs a command of the prompt of `p4rack lab`; its output. A command that fails is an `Error`."""
        ok, output = self._ask(line)
        if not ok:
            raise Error(output.strip() or f"`{line}` failed")
        return output

    def ping_all(self, timeout=1):
        """Pings every host from every other: a `Pings`, which is true if all answered."""
        output = self._ask(f"pingall {timeout}")[1]
        return Pings(output, [about["name"] for about in self._about["hosts"]])

    def iperf(self, host1, host2):
        """Mbit/s of one TCP connection that sends for three seconds."""
        return float(self.cmd(f"iperf {host1} {host2}").rsplit(":", 1)[1].split()[0])

    def cli(self):
        """A prompt, as `p4rack lab` has it; `exit` ends the prompt, not the network."""
        while True:
            try:
                line = input("p4rack> ")
            except EOFError:
                break
            if line.strip() in ("exit", "quit"):
                break
            print(self._ask(line)[1], end="")

    def _ask(self, line):
        """Whether a command succeeded, and its output."""
        with self._lock:
            self.start()
            try:
                self._process.stdin.write(json.dumps(line) + "\n")
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if not answer:
                self.stop()
                raise Error("the lab has ended")
        reply = json.loads(answer)
        return reply["ok"], reply["output"]

    def _described(self):
        """The file that describes the network."""
        if self.source is not None:
            return self.source
        if self._work is None:
            self._work = tempfile.TemporaryDirectory(prefix="p4rack-lab-")
        work = Path(self._work.name)
        switches = {}
        for name, switch in self.switches.items():
            about = dict(switch.description)
            entries = about.pop("entries")
            if isinstance(entries, (list, tuple)):
                file = work / f"{name}-commands.txt"
                file.write_text("".join(f"{line}\n" for line in entries))
                entries = file
            switches[name] = _given(about | {"cli_input": entries and str(entries)})
        topology = {
            "assignment_strategy": self.strategy,
            "auto_arp_tables": self.arp,
            "hosts": {name: _given(host.description) for name, host in self.hosts.items()},
            "switches": switches,
            "links": [[*link.ends, _given(link.settings)] for link in self.links],
        }
        app = _given({"p4_src": self.program and str(self.program), "pcap_dump": self.pcap, "topology": topology})
        file = work / "p4app.json"
        file.write_text(json.dumps(app, indent=2))
        return file

    def _repr_svg_(self):
        """The topology as a picture, which notebooks show."""
        done = subprocess.run([*COMMAND, "draw", str(self._described())], capture_output=True, text=True)
        if done.returncode != 0:
            raise Error(done.stderr.strip())
        return done.stdout

    def __repr__(self):
        state = "down" if self._process is None else "up"
        return f"<Network {state}: hosts {' '.join(self.hosts)}, switches {' '.join(self.switches)}, {len(self.links)} links>"


def _given(settings):
    """Settings that were given."""
    return {key: value for key, value in settings.items() if value is not None}


def _line(words):
    return " ".join(map(str, words))


def _startup_problems(text):
    """Problems reported by a lab that did not start."""
    try:
        return _problems(json.loads(text))
    except json.JSONDecodeError:
        return text.strip()
