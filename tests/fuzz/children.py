"""Cases of a harness, each done in a child process with limits on time and memory; what became of them, counted.

A case is a number: the same number is the same case on every machine, so that a finding can be repeated by its
command. An outcome begins with a word: "finding: …" is one, every other is counted. Lines after the first are what was
refused on the way.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from numba.core import caching, event

SECONDS = 2.0  # of work, for each case
WAIT = 180.0  # for a child that does not work at all, or compiles beside others
MEMORY = 1 << 30
RESERVED = 4 << 30  # of addresses: Arrow's allocator reserves more than it uses
LIFE = 500  # cases that one child does
SHOWN = 30  # kinds of findings that are shown
EVERY = 30.0  # seconds between two lines of progress


class Case(NamedTuple):
    """What one case is of, what it does, and the seconds of work that it may take."""

    name: str
    outcome: Callable[[], str]
    seconds: float = SECONDS


@dataclass(frozen=True)
class Harness:
    """Cases of one kind.

    `begin` is called in each child before it is limited. Numbers −real … −1 are of what nothing was done to: they must
    not be refused. A case may stand for several `steps`, which are what is counted. A child does `life` cases, and is
    waited for so many seconds where it does not work itself.
    """

    title: str
    module: str
    case: Callable[[int], Case]
    begin: Callable[[], None]
    real: int = 0
    steps: int = 1
    life: int = LIFE
    wait: float = WAIT
    within: str = "refusals"  # what the lines after the first tell of

    def command(self, number: int) -> str:
        """What repeats one case."""
        return f"python -m {self.module} --cases 1 --seed {number}"


def finding(doing: str, error: BaseException) -> str:
    """The outcome of a case that ended with an exception."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return f"finding: {doing}: {type(error).__name__} at {where}: {str(error)[:300]}"


class _Untimed(event.Listener):
    """Stops the clock while numba compiles what no real case has used, and in turn what that calls."""

    def __init__(self) -> None:
        self.depth = 0
        self.left = 0.0

    def on_start(self, event: Any) -> None:
        if not self.depth:
            self.left = signal.setitimer(signal.ITIMER_PROF, 0)[0]
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if not self.depth:
            signal.setitimer(signal.ITIMER_PROF, self.left)


def leaks_are_errors() -> None:
    """Warnings of NumPy about what our code computes are findings; what we warn of, and others of theirs, is not."""
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=RuntimeWarning, module=r"onward\.")


def _limit() -> None:
    """Limit this process. It may die at any moment from now on, so that it writes nothing to the cache others use."""
    setattr(caching.Cache, "save_overload", lambda cache, signature, data: None)  # noqa: B010
    event.register("numba:compile", _Untimed())  # type: ignore[no-untyped-call]
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + RESERVED, size + RESERVED))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def _work(harness: Harness, first: int, out: int) -> None:
    """Do cases from number `first` on; a line for each before and after."""
    leaks_are_errors()
    harness.begin()
    _limit()
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(first, first + harness.life):
        case = harness.case(number)
        os.write(out, json.dumps([number, case.name]).encode() + b"\n")
        signal.setitimer(signal.ITIMER_PROF, case.seconds)  # dies of it, wherever it is
        outcome = case.outcome()
        signal.setitimer(signal.ITIMER_PROF, 0)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held > MEMORY >> 10:
            outcome = "finding: more than 1 GB"
        os.write(out, json.dumps([number, case.name, outcome]).encode() + b"\n")
    os._exit(0)


def _outcomes(harness: Harness, number: int) -> Iterator[tuple[int, str, str]]:
    """The outcome of cases from a number on, for ever."""
    context = multiprocessing.get_context("fork")
    while True:
        ours, theirs = os.pipe()
        child = context.Process(target=_work, args=(harness, number, theirs), daemon=True)
        child.start()
        os.close(theirs)
        name, pending, ended = "", b"", False
        try:
            while select.select([ours], [], [], harness.wait)[0]:
                read = os.read(ours, 1 << 20)
                if not read:
                    ended = True
                    break
                *lines, pending = (pending + read).split(b"\n")
                for line in lines:
                    number, name, *outcome = json.loads(line)
                    if outcome:
                        yield number, name, outcome[0]
                        number += 1
        finally:
            if not ended:  # it works still, and nobody wants to know, or for too long
                child.kill()
            child.join(5.0)
            os.close(ours)
        if ended and child.exitcode == 0:  # it has done its share
            continue
        slow = not ended or child.exitcode == -signal.SIGPROF
        words = "more than 2 s" if slow else f"the process died ({child.exitcode})"
        yield number, name, f"finding: {words}"
        number += 1


def run(harness: Harness, cases: int | None, minutes: float, seed: int, verbose: bool = False) -> int:
    """Do so many cases, or as many as the minutes allow; how many findings there were. Prints what came of them."""
    begun = shown = time.monotonic()
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    findings: list[tuple[str, str]] = []  # the command that repeats it, and what it says
    for number, name, outcome in itertools.chain(
        itertools.islice(_outcomes(harness, -harness.real), harness.real), _outcomes(harness, seed)
    ):
        head, *words = outcome.split("\n")
        kind = head.split(":")[0]
        if number < 0:
            if kind in ("refused", "finding"):
                findings.append((harness.command(number), f"nothing was altered, {name}: {head}"))
        else:
            counts[kind] += 1
            refusals.update(words)
        if kind == "finding" and number >= 0:
            findings.append((harness.command(number), f"{name}: {head}"))
            if verbose:
                print(": ".join(findings[-1]), flush=True)
        now = time.monotonic()
        if (cases is not None and counts.total() >= cases) or now > begun + 60 * minutes:
            break
        if now > shown + EVERY:
            shown = now
            print(_progress(harness, counts, len(findings), now - begun), file=sys.stderr, flush=True)
    print(_summary(harness, counts, refusals.total(), len(findings)), flush=True)
    if verbose:
        for refusal, count in refusals.most_common(60):
            print(f"  {count:6,} {refusal}")
    for line in _grouped(findings):
        print(line)
    return len(findings)


def _progress(harness: Harness, counts: Counter[str], findings: int, seconds: float) -> str:
    done = harness.steps * counts.total()
    return f"  {harness.title}: {done:,} in {seconds:.0f} s, {done / seconds:,.0f} a second, findings {findings:,}"


def _summary(harness: Harness, counts: Counter[str], refusals: int, findings: int) -> str:
    kinds = "".join(f", {kind} {count:,}" for kind, count in sorted(counts.items()) if kind != "finding")
    within = f" ({refusals:,} {harness.within} on the way)" if refusals else ""
    return f"{harness.title}: {harness.steps * counts.total():,}{kinds}{within}, findings {findings:,}"


def _grouped(findings: list[tuple[str, str]]) -> Iterator[str]:
    """Findings that say the same, but for numbers and names in quotes, together: the first of each, and how many."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for command, words in findings:
        alike.setdefault(re.sub(r"'[^']*'|[\d.e+-]+", "#", words.split(": ", 1)[-1]), []).append((command, words))
    for group in list(alike.values())[:SHOWN]:
        command, words = group[0]
        yield f"  {len(group):,} ×  {command}\n      {words}"
    if len(alike) > SHOWN:
        yield f"  and {len(alike) - SHOWN:,} more kinds"


def new_seed() -> int:
    """Where the cases of a long run begin: others each time."""
    return int(time.time()) * 1000


def main(harness: Harness, arguments: list[str] | None = None) -> int:
    """What a harness does when it is run as a module: the exit status."""
    parser = argparse.ArgumentParser(description=sys.modules[harness.case.__module__].__doc__)
    parser.add_argument("--cases", "--files", type=int, help="so many, and no more")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=None, help="the number of the first case; without it: a new one")
    parser.add_argument("--verbose", action="store_true", help="each finding as it comes, and what was refused")
    given = parser.parse_args(arguments)
    seed = new_seed() if given.seed is None else given.seed
    return 1 if run(harness, given.cases, given.minutes, seed, given.verbose) else 0
