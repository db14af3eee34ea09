"""Feed `onward fit -` rows at random rates, end it at random moments in each way, and check what is left.

    python tools/live_streams.py 200          # so many streams; a line for each that went wrong, and a summary

A stream ends by Ctrl-C, SIGTERM, SIGHUP, the end of the pipe or a row that cannot be read. Every row that was read, and
so printed, must be in the saved model, the exit code must be the one that is promised, and standard error must hold our
own lines only.
"""

import contextlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ONWARD = [sys.executable, "-m", "onward"]
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "end": 0, "bad row": 1}
READY = 60.0  # seconds to wait for the first row's prediction: the compiler may have to run first


@dataclass(frozen=True)
class Outcome:
    """How a stream went: rows sent, printed and saved (None without a file), exit code, standard error."""

    ending: str
    rate: float
    early: bool
    sent: int
    printed: int
    saved: int | None
    code: int
    errors: str
    slowest: float

    @property
    def faults(self) -> list[str]:
        """What is not as promised, in words."""
        found = []
        if self.code != CODES[self.ending] and not (self.early and self.code in (CODES[self.ending], 1)):
            found.append(f"exit code {self.code}, expected {CODES[self.ending]}")
        if (self.saved or 0) != self.printed:
            found.append(f"{self.printed} rows printed, {self.saved} saved")
        if self.ending in ("end", "bad row") and not self.early and self.saved != self.sent:
            found.append(f"{self.sent} rows sent, {self.saved} saved")
        strange = [line for line in self.errors.splitlines() if not line.startswith("onward: ")]
        if strange:
            found.append(f"standard error: {strange[0]!r}")
        return found


def run_stream(seed: int, folder: Path, seconds: float = 3.0) -> Outcome:
    """One stream: at 0.2 to 10,000 rows a second, for up to so many seconds."""
    rng = random.Random(seed)
    ending = list(CODES)[seed % len(CODES)]
    rate, early = 10 ** rng.uniform(-0.7, 4.0), rng.random() < 0.15
    model, printed_to, errors_to = (folder / f"{seed}.{name}" for name in ("onward", "csv", "txt"))
    with printed_to.open("wb") as out, errors_to.open("wb") as err:
        process = subprocess.Popen(
            [*ONWARD, "fit", "-", "-t", "y", "--categorical", "c", "--follow", "--save", str(model)],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
        )
    pipe = process.stdin
    assert pipe is not None
    sent = 0

    def send(rows: int) -> None:
        nonlocal sent
        text = "".join(f"{rng.gauss(0, 1):.3f},{rng.choice('uvw')},{rng.gauss(0, 1):.3f}\n" for _ in range(rows))
        pipe.write(text.encode())
        pipe.flush()
        sent += rows

    slowest = 0.0
    try:
        pipe.write(b"a,c,y\n")
        send(1)
        if early:
            time.sleep(rng.uniform(0.0, 3.0))
        else:
            _wait_for(printed_to, 2, READY)  # the header and the first row
            begun, until = time.monotonic(), rng.uniform(0.2, seconds)
            while (now := time.monotonic() - begun) < until:
                send(max(0, int(now * rate) + 1 - sent))
                time.sleep(min(0.05, 1 / rate))
            came = time.monotonic()
            send(1)
            _wait_for(printed_to, sent + 1, READY)
            slowest = time.monotonic() - came
        if ending == "end":
            pipe.close()
        elif ending == "bad row":
            pipe.write(b"oops,u,1\n")
            pipe.flush()
        else:
            process.send_signal(getattr(signal, ending))
        code = process.wait(READY)
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    printed = max(0, printed_to.read_bytes().count(b"\n") - 1)
    return Outcome(
        ending, rate, early, sent, printed, _rows(model), code, errors_to.read_text(errors="replace"), slowest
    )


def _wait_for(path: Path, lines: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while path.read_bytes().count(b"\n") < lines and time.monotonic() < end:
        time.sleep(0.005)


def _rows(model: Path) -> int | None:
    if not model.exists():
        return None
    from onward import load

    return int(load(model).n_seen_)


def main() -> None:
    """Run the streams, two at a time."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    lock, outcomes, faulty = threading.Lock(), Counter[str](), 0
    slowest: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for seed, outcome in enumerate(pool.map(lambda seed: run_stream(seed, Path(folder)), range(count))):
            with lock:
                outcomes[f"{outcome.ending}: exit code {outcome.code}"] += 1
                faulty += bool(outcome.faults)
                slowest += [outcome.slowest] if not outcome.early else []
                for fault in outcome.faults:
                    print(f"stream {seed}: {fault} ({outcome})", flush=True)
    print("\n".join(f"{name}: {number} streams" for name, number in sorted(outcomes.items())))
    slowest.sort()
    print(
        f"{count} streams, {faulty} at fault; a row was printed after {1e3 * slowest[len(slowest) // 2]:.0f} ms "
        f"(median), {1e3 * slowest[-1]:.0f} ms (slowest)"
    )
    sys.exit(bool(faulty))


if __name__ == "__main__":
    main()
