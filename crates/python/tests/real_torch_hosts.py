"""`p4rack.torch` with torch itself on hosts of their own: rank 0 on the reducer's host and one rank on each of four others, or of as many as the argument says (`hosts.py`).

The bytes that reach rank 0's host are those of the emulator's switch, with and without reduction, and the switch ends in the middle of a reduction. Without torch or root it
says so, and the exit status is 77.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import hosts as lab  # noqa: E402

try:
    import torch
except ImportError:
    print("skipped: torch cannot be imported; `pip install torch` (CPU is enough), then run this again")
    sys.exit(77)
if lab.missing():
    print(f"skipped: {lab.missing()}")
    sys.exit(77)

import numpy  # noqa: E402
import torch.distributed as dist  # noqa: E402

import p4rack.torch  # noqa: E402
from p4rack import fixed  # noqa: E402

# Sums in which the switch ends, until one of them is under way then.
RUNS = 6
ELEMENTS = 65_536
# Milliseconds before a packet is sent again: bytes are counted, and a process may wait long for a processor.
WAIT = 5000


def mine(rank, step):
    """The gradients of a rank in a step."""
    chance = numpy.random.default_rng([rank, step])
    return torch.tensor(chance.standard_normal(ELEMENTS), dtype=torch.float32)


def rank_main(rank, world, plan):
    """A rank: it sums as often as lines of its standard input say, and prints the report of each sum."""
    torch.set_num_threads(1)
    dist.init_process_group("p4rack", rank=rank, world_size=world, pg_options=p4rack.torch.Options(plan, WAIT))
    group = dist.group.WORLD
    for step, _ in enumerate(sys.stdin):
        found = mine(rank, step)
        dist.all_reduce(found)
        parts = [mine(other, step).numpy() for other in range(world)]
        exact = numpy.sum([one.astype(numpy.float64) for one in parts], axis=0)
        allowed = fixed.bound(parts) + numpy.spacing(numpy.abs(exact).astype(numpy.float32)).astype(numpy.float64)
        assert (numpy.abs(found.numpy().astype(numpy.float64) - exact) <= allowed).all(), "an element is beyond its bound"
        assert not group.fallbacks, group.fallbacks
        print(json.dumps(group.report), flush=True)
    dist.destroy_process_group()


class World:
    """The ranks, each on its host."""

    def __init__(self, hosts, plan):
        environment = {**os.environ, "MASTER_ADDR": hosts.master.control, "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth1"}
        self.ranks = []
        for rank, host in enumerate([hosts.master, *hosts.hosts[:-1]]):
            words = host._inside([sys.executable, __file__, rank, len(hosts.hosts), plan])
            log = open(hosts.place / f"rank-{rank}.log", "a")
            self.ranks.append(subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True))
            log.close()

    def sum(self):
        for rank in self.ranks:
            rank.stdin.write("\n")
            rank.stdin.flush()
        reports = [rank.stdout.readline() for rank in self.ranks]
        assert all(reports), "a rank has ended"
        return json.loads(reports[0])

    def end(self):
        for rank in self.ranks:
            rank.stdin.close()
        for rank in self.ranks:
            try:
                rank.wait(30)
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()


def agrees(hosts, world, by):
    """Bytes of a sum that have reached the host of rank 0."""
    wanted = hosts.predicted_array(by, ELEMENTS + ELEMENTS // fixed.BLOCK)
    before = hosts.master.received()
    world.sum()
    found = hosts.master.received() - before
    print(f"{by}: {found} bytes reached rank 0's host, {wanted} in the emulator ({found / wanted - 1:+.2%})", flush=True)
    assert abs(found - wanted) * 20 <= wanted
    return found


def main(count):
    with tempfile.TemporaryDirectory() as place:
        hosts = lab.Hosts(place, count)
        world = None
        try:
            bytes_of = {}
            for by in ("hosts", "switch"):
                plan = hosts.compile(by, profile="arrays")
                hosts.switch(by)
                if world is not None:
                    world.end()
                world = World(hosts, plan)
                bytes_of[by] = agrees(hosts, world, by)
            saved = 1 - bytes_of["switch"] / bytes_of["hosts"]
            assert saved > 0.95 - 1 / count, bytes_of
            for _ in range(RUNS):
                before = hosts.master.received()
                is_over = threading.Event()

                def restart():
                    while hosts.master.received() < before + 60_000 and not is_over.is_set():  # noqa: B023
                        time.sleep(0.0005)
                    hosts.switch("switch")

                thread = threading.Thread(target=restart)
                thread.start()
                report = world.sum()
                is_over.set()
                thread.join()
                if report["restarts"] > 0:
                    break
            assert report["restarts"] > 0, report
            print(f"the switch saves {saved:.3f} of the bytes; it ended in the middle of a sum: {report['restarts']} restarts", flush=True)
        except Exception:
            for log in ("switch.log", "rank-0.log", "rank-1.log"):
                if (hosts.place / log).exists():
                    print(f"{log}:\n" + "".join((hosts.place / log).open().readlines()[-30:]), file=sys.stderr)
            raise
        finally:
            if world is not None:
                world.end()
            hosts.end()
    print(f"ok, torch {torch.__version__}")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        rank_main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
