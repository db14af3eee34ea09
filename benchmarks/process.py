"""What a whole process costs: memory over a long stream, the import, and the first call of compiled code.

Each is measured in a process of its own. Run as a script, this file is that process; so it imports nothing heavy.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, cast


def memory(chunks: int, early: int = 10, chunk_rows: int = 100_000, d: int = 10) -> dict[str, Any]:
    """Peak memory of a process that streams rows through `partial_fit`: after `early` chunks, and at the end."""
    return _child("stream", chunks, early, chunk_rows, d)


def start_up(repeats: int) -> dict[str, float]:
    """Seconds, best of `repeats` new processes each: import, and first calls with and without code compiled before."""
    imports = [_child("dependencies") for _ in range(repeats)]
    with tempfile.TemporaryDirectory() as cache:
        compiling = _child("first_calls", cache=cache)
        cached = [_child("first_calls", cache=cache) for _ in range(repeats)]
    return {
        "import_dependencies": min(times["import"] for times in imports),
        "import_onward": min(times["import"] for times in cached),
        "import_onward_uncached": compiling["import"],
        "first_batch_uncached": compiling["batch"],
        "first_batch_cached": min(times["batch"] for times in cached),
        "first_row_uncached": compiling["row"],
        "first_row_cached": min(times["row"] for times in cached),
    }


def _child(what: str, *sizes: int, cache: str | None = None) -> dict[str, Any]:
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    command = [sys.executable, str(Path(__file__).resolve()), what, *map(str, sizes)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return cast(dict[str, Any], json.loads(done.stdout))


# In the child


def stream(chunks: int, early: int, chunk_rows: int, d: int) -> dict[str, Any]:
    import numpy as np

    from onward import ForwardRegressor

    rng = np.random.default_rng(0)
    theta = rng.standard_normal(d)
    model = ForwardRegressor()
    early = min(early, chunks)
    early_peak = None
    start = perf_counter()
    for chunk in range(chunks):
        X = rng.standard_normal((chunk_rows, d))
        model.partial_fit(X, X @ theta + rng.standard_normal(chunk_rows))
        if chunk + 1 == early:
            early_peak = peak_memory()
    return {
        "d": d,
        "chunk_rows": chunk_rows,
        "early_rows": early * chunk_rows,
        "early_peak_mb": early_peak,
        "rows": model.n_seen_,
        "peak_mb": peak_memory(),
        "seconds": perf_counter() - start,
    }


def dependencies() -> dict[str, float]:
    start = perf_counter()
    for name in ("numpy", "numba.extending"):
        import_module(name)
    return {"import": perf_counter() - start}


def first_calls() -> dict[str, float]:
    start = perf_counter()
    from onward import ForwardRegressor

    imported = perf_counter()
    import numpy as np

    X, y = np.ones((2, 2)), np.ones(2)
    before_batch = perf_counter()
    model = ForwardRegressor()
    model.predict_then_learn(X, y)
    before_row = perf_counter()
    model.predict_one(X[0])
    model.learn_one(X[0], 1.0)
    end = perf_counter()
    return {"import": imported - start, "batch": before_row - before_batch, "row": end - before_row}


def peak_memory() -> float | None:
    """Peak resident memory of this process in MB; None where the system does not say.

    Not `ru_maxrss` where it can be helped: Linux hands that down from the parent at a fork.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    tasks: dict[str, Callable[..., Any]] = {
        "stream": stream,
        "dependencies": dependencies,
        "first_calls": first_calls,
    }
    print(json.dumps(tasks[sys.argv[1]](*map(int, sys.argv[2:]))))
