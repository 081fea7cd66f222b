"""p4rack runs P4 programs on a whole rack as if it were one switch.

    >>> switch = p4rack.Switch("router.p4")
    >>> switch.add("routes", {"hdr.ipv4.dst_addr": "10.0.0.0/8"}, "forward", {"port": 2})
    >>> switch.process(1, frame)
    [(2, b'...')]
    >>> p4rack.up("examples/slice")["report"]["workloads"][0]["received"]
    99

`check`, `analyze`, `plan`, `split` and `up` are the commands of the same name, with their options as arguments (`seed=7` is `--seed 7`,
`full_rate=True` is `--full-rate`) and what they print as `--format json`. `p4rack.lab` has labs: hosts with a real network stack,
P4 switches and links in real time.
"""

import json
import os
import signal
import subprocess
import sys

from ._native import Error, Switch, run

__all__ = ["Error", "Switch", "analyze", "check", "command", "plan", "split", "up"]


def command():
    """The command `p4rack`."""
    # As programs have it that are not written in Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # For processes that the command starts.
    os.environ["P4RACK_PYTHON"] = sys.executable
    sys.exit(run(["p4rack", *sys.argv[1:]]))


def _ask(name, *arguments, **options):
    words = [name, *map(str, arguments), "--format", "json"]
    for option, value in options.items():
        flag = "--" + option.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [flag] if one is True else [] if one in (False, None) else [flag, str(one)]
    done = subprocess.run([sys.executable, "-m", "p4rack", *words], capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = None
    if done.returncode != 0 or answer is None:
        raise Error(_problems(answer) or done.stderr.strip() or f"`p4rack {name}` ended with {done.returncode}")
    return answer


def _problems(answer):
    each = answer if isinstance(answer, list) else [answer or {}]
    found = [problem for one in each for problem in one.get("diagnostics", [])]
    return "\n".join("; ".join([_placed(problem), *problem["notes"], *problem["help"]]) for problem in found)


def _placed(problem):
    """A problem's title, and what is wrong where."""
    places = [f"{label['file']}:{label['line']}: {label['text']}" for label in problem["labels"] if label["file"]]
    return "; ".join([problem["title"], *places])


def check(program, **options):
    """Parses and type-checks a program: its diagnostics. Mistakes are an `Error`."""
    return _ask("check", program, **options)[0]["diagnostics"]


def analyze(program, **options):
    """A program's regions: tables, state, what a cut around each would carry."""
    return _ask("analyze", program, **options)


def plan(rack, **options):
    """The plans of a rack of which none is better in every objective."""
    return _ask("plan", rack, **options)


def split(rack, **options):
    """Writes what each device of a rack runs into the directory `out`; what was made."""
    out = {"o": options.pop("out")} if "out" in options else {}
    return _ask("split", rack, *(["-o", out["o"]] if out else []), **options)


def up(rack, **options):
    """Brings a rack up in virtual time and runs its workloads: `report` has the measurements; for a rack with phases, `phases` has one report per phase."""
    return _ask("up", rack, **options)
