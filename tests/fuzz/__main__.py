"""All harnesses, the minutes shared out among them: `python -m tests.fuzz --minutes 20`.

Two run at a time where there are two processors. Each prints a line now and then, its counts in the end, and the
command that repeats each kind of finding. The exit status is 1 if there was any.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

# Shares of the minutes: in 20 of them, with two processors, 10⁵ files, 10⁵ tables, 3·10⁵ calls and 100 kills.
HARNESSES = {"mutated_tables": 15.0, "forged_files": 11.0, "killed_runs": 9.0, "random_calls": 5.0}
AT_ONCE = 2
SLACK = 180.0  # seconds that one may take beyond its minutes: to compile what it needs, and to end its last case
# Tables are small: threads of polars would only wait for each other.
ENVIRONMENT = {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def start(name: str, *options: str) -> subprocess.Popen[bytes]:
    """A harness as a process, in a session of its own, so that all it starts can be ended with it."""
    command = [sys.executable, "-m", f"tests.fuzz.{name}", *options]
    return subprocess.Popen(command, env=ENVIRONMENT | os.environ, start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a harness and all it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(names: Sequence[str], minutes: float) -> int:
    """Run harnesses, so many at a time, each for its share of the minutes; how many had findings, or failed."""
    at_once = min(AT_ONCE, os.cpu_count() or 1, len(names))
    shares = {name: minutes * at_once * HARNESSES[name] / sum(map(HARNESSES.__getitem__, names)) for name in names}
    waiting, running, bad = list(names), dict[str, tuple[subprocess.Popen[bytes], float]](), 0
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                each = shares[name]
                print(f"==> {name}, {each:.3g} minutes", flush=True)
                running[name] = start(name, "--minutes", str(each)), time.monotonic() + 60 * each + SLACK
            time.sleep(0.2)
            for name, (process, until) in list(running.items()):
                if process.poll() is None and time.monotonic() < until:
                    continue
                if process.returncode is None:
                    print(f"{name}: did not end in time")
                bad += process.returncode != 0
                end(running.pop(name)[0])
    finally:
        for process, _ in running.values():
            end(process)
    return bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0, help="for all of them together")
    parser.add_argument("harnesses", nargs="*", choices=[*HARNESSES, []], help="those to run; without any, all")
    given = parser.parse_args()
    sys.exit(1 if run(given.harnesses or list(HARNESSES), given.minutes) else 0)
