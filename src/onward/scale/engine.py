"""Where work is done: processes of this machine, or a cluster, reached through joblib.

loky (joblib's own processes) needs nothing; Dask and Ray are extras. Whoever runs the tasks, they come back in any
order, and what a dead worker left undone is done again.
"""

import importlib.util
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from joblib import Parallel, delayed, parallel_config

Backend = Literal["loky", "dask", "ray"]
BACKENDS: tuple[str, ...] = get_args(Backend)
ATTEMPTS = 3  # for work that died with its worker
REACH = 10.0  # seconds to find a scheduler in

Task = TypeVar("Task")
Result = TypeVar("Result")


class EngineError(OSError):
    """The engine is missing, cannot be reached, or is gone; the message says what to do.

    Example:
        >>> from onward.scale import EngineError
        >>> issubclass(EngineError, OSError)
        True
    """


@dataclass(frozen=True)
class Engine:
    """Which engine, how many workers, and where it is.

    Args:
        jobs: workers to start, or tasks at a time in a cluster that is running; −1 for as many as there are processors,
            here or in the cluster.
        backend: "loky", "dask" or "ray".
        address: of a running cluster: tcp://host:8786 for Dask, ray://host:10001 or "auto" for Ray. Without it, Dask
            and Ray start one on this machine.

    Raises:
        ValueError: if a setting is none of those that there are.
        EngineError: if the engine is not installed.

    Example:
        >>> from onward.scale import Engine
        >>> with Engine(jobs=1).started() as workers:
        ...     sorted(workers.run(abs, [-3, 2]))
        [(0, 3), (1, 2)]
    """

    jobs: int = -1
    backend: Backend = "loky"
    address: str | None = None

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}")
        if self.jobs == 0 or self.jobs < -1:
            raise ValueError(f"jobs must be -1 or at least 1, got {self.jobs}")
        if self.address is not None and self.backend == "loky":
            raise ValueError(f"loky runs on this machine: expected no address, got {self.address!r}")
        module = {"loky": "joblib", "dask": "distributed", "ray": "ray"}[self.backend]
        if importlib.util.find_spec(module) is None:
            raise EngineError(f"{self.backend} is not installed; install it with: pip install 'onward[{self.backend}]'")

    @contextmanager
    def started(self) -> "Iterator[Workers]":
        """Workers to hand tasks to. What was started here is stopped in the end; what was running before goes on.

        Returns:
            A context with the workers.

        Raises:
            EngineError: if a cluster cannot be reached.
        """
        with ExitStack() as stack:
            if self.backend == "dask":
                count = stack.enter_context(_dask(self))
            elif self.backend == "ray":
                count = stack.enter_context(_ray(self))
            else:
                count = os.cpu_count() or 1 if self.jobs == -1 else self.jobs
                # A worker has one processor, so its libraries get one thread.
                stack.enter_context(parallel_config(backend="loky", inner_max_num_threads=1))
            yield Workers(self, count)


class Workers:
    """Workers that take tasks. `count` is how many there are."""

    def __init__(self, engine: Engine, count: int) -> None:
        self.engine, self.count = engine, count

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """function(task) for each task, as they are done: the task's place among the tasks, and the result.

        The function may run twice for a task whose worker died, so it must not mind. Its own errors are raised as they
        are.
        """
        if self.count == 1 and self.engine.backend == "loky":
            for place, task in enumerate(tasks):
                yield place, function(task)
            return
        left = dict(enumerate(tasks))
        for attempt in range(ATTEMPTS):
            try:
                for place, result in self._results(function, left):
                    del left[place]
                    yield place, result
                return
            except _worker_errors(self.engine.backend) as error:
                if attempt + 1 == ATTEMPTS:
                    raise EngineError(
                        f"workers died {ATTEMPTS} times with {len(left)} of {len(tasks)} tasks left "
                        f"({_reason(error)}); was there enough memory?"
                    ) from error
            except _connection_errors(self.engine.backend) as error:
                raise EngineError(
                    f"the {self.engine.backend} cluster{_address_text(self.engine)} is gone with {len(left)} of "
                    f"{len(tasks)} tasks left ({_reason(error)})"
                ) from error

    def _results(self, function: Callable[[Task], Result], tasks: dict[int, Task]) -> Iterator[tuple[int, Result]]:
        calls = [delayed(_numbered)(function, place, task) for place, task in tasks.items()]
        if self.engine.backend == "ray":  # hands results back all at once, so a few at a time
            with Parallel(n_jobs=self.count, batch_size=1) as workers:
                for first in range(0, len(calls), 4 * self.count):
                    yield from workers(calls[first : first + 4 * self.count])
            return
        # A cluster takes all that it is given at once. So no more than `jobs` is given to it, if that was asked for.
        ahead = self.count if self.engine.address is not None and self.engine.jobs != -1 else 2 * self.count
        pool = Parallel(n_jobs=self.count, batch_size=1, pre_dispatch=ahead, return_as="generator_unordered")
        yield from pool(calls)


def _numbered(function: Callable[[Task], Result], place: int, task: Task) -> tuple[int, Result]:
    return place, function(task)


@contextmanager
def _dask(engine: Engine) -> Iterator[int]:
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        stack.enter_context(_quiet("distributed"))
        if engine.address is None:
            count = os.cpu_count() or 1 if engine.jobs == -1 else engine.jobs
            cluster: Any = stack.enter_context(
                LocalCluster(
                    n_workers=count,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",  # any free port: the usual one may be taken, which Dask warns of
                    processes=True,
                    silence_logs=_SILENT,
                )
            )
            address: Any = cluster
        else:
            address = engine.address
        try:
            client = stack.enter_context(Client(address, timeout=REACH, set_as_default=False))
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"cannot reach a Dask scheduler{_address_text(engine)} ({_reason(error)})") from error
        threads = sum(client.nthreads().values())
        if threads == 0:
            raise EngineError(f"the Dask cluster{_address_text(engine)} has no workers")
        stack.enter_context(parallel_config(backend="dask", client=client))
        yield threads if engine.jobs == -1 else engine.jobs


@contextmanager
def _ray(engine: Engine) -> Iterator[int]:
    import ray
    from ray.util.joblib import register_ray

    running = ray.is_initialized()
    if not running:
        try:
            cpus = None if engine.jobs == -1 or engine.address is not None else engine.jobs
            ray.init(address=engine.address, num_cpus=cpus, include_dashboard=None, log_to_driver=False)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise EngineError(f"cannot reach Ray{_address_text(engine)} ({_reason(error)})") from error
    try:
        register_ray()
        count = int(ray.cluster_resources().get("CPU", 1)) if engine.jobs == -1 else engine.jobs
        with parallel_config(backend="ray"):
            yield count
    finally:
        if not running:
            ray.shutdown()


_SILENT = logging.CRITICAL + 1


@contextmanager
def _quiet(library: str) -> Iterator[None]:
    """What a library logs is not shown: what matters of it comes as an exception."""
    names = [name for name in logging.root.manager.loggerDict if f"{name}.".startswith(f"{library}.")]
    before = {name: logging.getLogger(name).level for name in {library, *names}}
    try:
        for name in before:
            logging.getLogger(name).setLevel(_SILENT)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _worker_errors(backend: Backend) -> tuple[type[BaseException], ...]:
    """What is raised when a worker died with its task."""
    if backend == "dask":
        from distributed.scheduler import KilledWorker

        return (KilledWorker,)
    if backend == "ray":
        from ray.exceptions import RayActorError, WorkerCrashedError

        return (RayActorError, WorkerCrashedError)
    return (BrokenProcessPool,)


def _connection_errors(backend: Backend) -> tuple[type[BaseException], ...]:
    """What is raised when the cluster itself is gone."""
    if backend == "dask":
        from distributed.comm.core import CommClosedError

        return (CommClosedError, CancelledError, TimeoutError)
    return ()


def _address_text(engine: Engine) -> str:
    return "" if engine.address is None else f" at {engine.address}"


def _reason(error: BaseException) -> str:
    if isinstance(error, CancelledError):
        return "the connection to its scheduler was lost"
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
