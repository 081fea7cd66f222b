"""Clients of memcached over UDP that write, read, delete and let keys die at once, and the search for an answer that no single store could have
given.

Each value is written once. Of a key, the writes, the reads of a value and the deletions are linearizable just if (Gibbons and Korach, Testing shared
memories, 1997) no two values are there in parts of time that both have to lie apart and overlap. A value has to be there from the first end of what wrote or read
it to the last start; or, if all of these meet, at one moment in between. That a key is gone is looked at by itself: something must have
been able to end its value.
"""

import argparse
import ast
import bisect
import itertools
import os
import random
import socket
import sys
import threading
import time

KEYS = 6
TIMEOUT = 0.5
# memcached's clock ticks in seconds, and may be read a second before it ticks.
CLOCK = 2.0
FOREVER = float("inf")


class Client(threading.Thread):
    """One that sends a request, waits for the answer, and writes down when."""

    def __init__(self, number, address, until, pause):
        super().__init__()
        self.number, self.until, self.pause = number, until, pause
        self.random = random.Random(number)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(address)
        self.socket.settimeout(TIMEOUT)
        self.requests = 0
        # (key, kind, value, seconds to live, start, end)
        self.history = []
        self.gets = 0
        self.unanswered = 0

    def ask(self, text):
        """The answer to a request, or nothing: then nobody knows whether it was done."""
        self.requests = (self.requests + 1) % 65536
        head = self.requests.to_bytes(2, "big")
        self.socket.send(head + b"\0\0\0\1\0\0" + text)
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            try:
                answer = self.socket.recv(65536)
            except TimeoutError:
                break
            if answer[:2] == head:
                return answer[8:]
        self.unanswered += 1
        # What comes later is not taken for the answer to something else.
        self.requests = (self.requests + 7) % 65536
        return None

    def note(self, key, kind, value, live, start, is_known=True):
        self.history.append((key, kind, value, live, start, time.monotonic() if is_known else FOREVER))

    def run(self):
        while time.monotonic() < self.until:
            key = f"key{self.random.randrange(KEYS)}".encode()
            self.step(key)
            time.sleep(self.random.random() * self.pause)

    def step(self, key):
        value = f"{self.number}.{len(self.history)}".encode()
        chance, start = self.random.random(), time.monotonic()
        if chance < 0.70:
            self.gets += 1
            self.read(key, self.ask(b"get " + key + b"\r\n"), start)
        elif chance < 0.76:
            self.gets += 1
            found = self.ask(b"gets " + key + b"\r\n")
            unique = self.read(key, found, start)
            if unique:
                self.write(key, b"cas", value, 0, unique)
        elif chance < 0.92:
            live = self.random.choice([0, 0, 0, 0, 3])
            self.write(key, self.random.choice([b"set", b"set", b"replace", b"add"]), value, live)
        else:
            done = self.ask(b"delete " + key + b"\r\n")
            # NOT_FOUND, too: it was gone at a moment in between.
            self.note(key, "delete", None, 0, start, done in (b"DELETED\r\n", b"NOT_FOUND\r\n"))

    def write(self, key, verb, value, live, unique=b""):
        start = time.monotonic()
        head = b"%s %s 0 %d %d %s" % (verb, key, live, len(value), unique)
        done = self.ask(head.strip() + b"\r\n" + value + b"\r\n")
        if done in (b"NOT_STORED\r\n", b"EXISTS\r\n", b"NOT_FOUND\r\n"):
            return
        self.note(key, "write", value, live, start, done == b"STORED\r\n")

    def read(self, key, found, start):
        if found is None:
            return None
        if found == b"END\r\n":
            self.note(key, "miss", None, 0, start)
            return None
        head, value, _ = found.split(b"\r\n", 2)
        self.note(key, "read", value, 0, start)
        words = head.split()
        return words[4] if len(words) > 4 else None


def faults(history):
    """What no single store could have done with one key."""
    writes, reads, misses, deletes = {}, {}, [], []
    for _, kind, value, live, start, end in history:
        if kind == "write":
            writes[value] = (start, end, live)
        elif kind == "read":
            reads.setdefault(value, []).append((start, end))
        elif kind == "miss":
            misses.append((start, end))
        else:
            deletes.append((start, end))
    # (from, to, what): forward zones, in which the value has to be there; or backward ones, at one moment of which something happens.
    forward, backward = [], []
    for value, (start, end, live) in writes.items():
        seen = reads.pop(value, [])
        if end == FOREVER and not seen:
            continue
        for read in seen:
            if read[1] < start:
                yield f"{value} was read before it was written"
            if live and read[0] > end + live + CLOCK:
                yield f"{value} was read {read[0] - end:.3f} s after it was written, for {live} s"
        first = min([end, *(read[1] for read in seen)])
        last = max([start, *(read[0] for read in seen)])
        (forward if first < last else backward).append((min(first, last), max(first, last), value))
    for value in reads:
        yield f"{value} was read and never written"
    backward += [(start, end, b"a deletion") for start, end in deletes if end < FOREVER]
    forward.sort()
    for (_, last, a), (first, _, b) in zip(forward, forward[1:]):
        if first < last:
            yield f"{a} and {b} were there at the same time"
    # Pairs that overlap are reported above. Of the others, only the last that begins before `first` can enclose it.
    starts = [start for start, _, _ in forward]
    for first, last, what in backward:
        at = bisect.bisect_left(starts, first) - 1
        if at >= 0 and last < forward[at][1]:
            yield f"{forward[at][2]} outlived {what}, by {forward[at][1] - last:.4f} s"
    # A value that stays and that nothing can have ended is not missed. What ends it comes after its write: a deletion that ends after the
    # write has begun may, and so may a value that dies, in whose place the other then never was. What had ended before may not.
    lasting = sorted((end, start) for start, end, live in writes.values() if not live and end < FOREVER)
    ends = [end for end, _ in lasting]
    # Of the writes that ended so early, the one that began last; and when it ended.
    latest = list(itertools.accumulate(((start, end) for end, start in lasting), max))
    enders = sorted(deletes + [(start, end) for start, end, live in writes.values() if live])
    starts = [start for start, _ in enders]
    last_ends = list(itertools.accumulate((end for _, end in enders), max))
    for start, end in misses:
        at = bisect.bisect_left(ends, start) - 1
        before = bisect.bisect_left(starts, end) - 1
        if at >= 0 and (before < 0 or last_ends[before] <= latest[at][0]):
            yield f"a value was missed {start - latest[at][1]:.4f} s after it was written"


# (what was done to one key, in the form of `Client.history`; how many faults it has)
EXAMPLES = [
    ("a value that nothing has ended", [("write", b"a", 0, 0, 1), ("miss", None, 0, 2, 3)], 1),
    ("deleted before it was written", [("delete", None, 0, 0, 1), ("write", b"a", 0, 2, 3), ("miss", None, 0, 4, 5)], 1),
    ("deleted while it was written", [("delete", None, 0, 1, 2), ("write", b"a", 0, 0, 3), ("miss", None, 0, 4, 5)], 0),
    ("deleted while it is read", [("write", b"a", 0, 0, 1), ("miss", None, 0, 4, 6), ("delete", None, 0, 5, 7)], 0),
    ("deleted after it was read", [("write", b"a", 0, 0, 1), ("miss", None, 0, 4, 5), ("delete", None, 0, 6, 7)], 1),
    ("one of two writes was deleted", [("write", b"a", 0, 0, 9), ("delete", None, 0, 1, 2), ("write", b"b", 0, 3, 4),
                                       ("miss", None, 0, 10, 11)], 1),
    ("a value in its place dies", [("write", b"a", 0, 0, 2), ("write", b"b", 3, 1, 3), ("miss", None, 0, 9, 10)], 0),
    ("a value before it dies", [("write", b"b", 3, 0, 1), ("write", b"a", 0, 2, 3), ("miss", None, 0, 9, 10)], 1),
    ("it is not known whether it was deleted", [("delete", None, 0, 0, FOREVER), ("write", b"a", 0, 2, 3), ("miss", None, 0, 4, 5)], 0),
    ("an old value comes back", [("write", b"a", 0, 0, 1), ("write", b"b", 0, 2, 3), ("read", b"a", 0, 4, 5)], 1),
    ("a read beside a write", [("write", b"a", 0, 0, 1), ("write", b"b", 0, 2, 5), ("read", b"a", 0, 3, 4)], 0),
]


def check_examples():
    for what, done, expected in EXAMPLES:
        found = list(faults([(b"key", *one) for one in done]))
        if len(found) != expected:
            sys.exit(f"{what}: {found}")


def reads_at(address):
    """How many reads the store has answered."""
    with socket.create_connection(address) as stream:
        stream.sendall(b"stats\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            text += stream.recv(65536)
    lines = (line.split() for line in text.decode().splitlines())
    return sum(int(line[2]) for line in lines if line[1:2] in (["get_hits"], ["get_misses"]))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("address", help="of the store, an IPv4 address")
    arguments.add_argument("--seconds", type=float, default=10)
    arguments.add_argument("--clients", type=int, default=6)
    arguments.add_argument("--pause", type=float, default=0.002, help="seconds between two requests, at most")
    arguments.add_argument("--first", type=int, default=0, help="number of the first client")
    arguments.add_argument("--save", help="write what was done to this file, and look at nothing")
    arguments.add_argument("--also", help="what others did, as they have saved it")
    given = arguments.parse_args()
    check_examples()
    address = (given.address, 11211)
    until = time.monotonic() + given.seconds
    clients = [Client(given.first + n, address, until, given.pause) for n in range(given.clients)]
    # What others have left is not ours.
    for number in range(0 if given.save else KEYS):
        clients[0].ask(b"delete key%d\r\n" % number)
    before = reads_at(address)
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    history = [entry for client in clients for entry in client.history]
    if given.save:
        with open(given.save + ".part", "w") as file:
            file.write(repr(history))
        os.rename(given.save + ".part", given.save)
        return
    at_store = reads_at(address) - before
    while given.also and not os.path.exists(given.also):
        time.sleep(0.1)
    if given.also:
        with open(given.also) as file:
            # `inf` is no literal.
            history += ast.literal_eval(file.read().replace("inf)", "1e999)"))
    found = []
    for number in range(KEYS):
        key = f"key{number}".encode()
        found += [f"{key}: {fault}" for fault in faults([entry for entry in history if entry[0] == key])]
    gets, unanswered = sum(client.gets for client in clients), sum(client.unanswered for client in clients)
    print(f"{len(history)} requests, {gets} reads, {gets - at_store} of them answered by the cache, {unanswered} unanswered")
    print(f"{len(found)} answers that no single store could have given")
    for fault in found[:10]:
        print("  " + fault)
    if unanswered * 100 > len(history):
        sys.exit("more than one request of a hundred has no answer")
    if not given.also and (gets - at_store) * 10 < gets:
        sys.exit("the cache answers less than a tenth of the reads")
    sys.exit(3 if found else 0)


main()
