"""What a pass over chunks takes, from a few measured constants: the cost model of docs/scaling.md."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """Seconds, at one number of features d.

    Attributes:
        read, reduce, learn, write: for a row: to read it; to add it to a state without regularisation; to predict it
            and learn it; to write its prediction with an interval into a part, and the part into the file.
        join: for a row: to copy its prediction from a part into the one file, which the driver does alone.
        fill: for a part: its first d rows take so much longer than others.
        merge: of two states.
        task: for the driver to hand out a task and take its result, a state sent along.
        busy: how many times as long work takes while the other processors are at work, too.
    """

    read: float
    reduce: float
    learn: float
    merge: float
    task: float
    write: float = 0.0
    join: float = 0.0
    fill: float = 0.0
    busy: float = 1.0


def learned(rows: float, chunks: int, workers: int, costs: Costs) -> float:
    """Seconds of a fit without scores: chunks are reduced, and merged as a tree while they come in."""
    each = (rows / chunks * (costs.read + costs.reduce) + costs.fill) * (costs.busy if workers > 1 else 1.0)
    driver = chunks * (costs.task + costs.merge)
    return max(makespan([each] * chunks, workers), driver) + math.log2(max(2, chunks)) * costs.merge


def predicted(rows: float, chunks: int, workers: int, costs: Costs, file: bool = False) -> float:
    """Seconds of a fit with scores, and with a file of predictions if asked for.

    One worker predicts the front while the others reduce the rest; the rest is merged in order, then predicted by all.
    """
    size, busy = rows / chunks, costs.busy if workers > 1 else 1.0
    reduce = (size * (costs.read + costs.reduce) + costs.fill) * busy
    predict = size * (costs.read + costs.learn + (costs.write if file else 0.0)) * busy
    front = max(1, chunks // workers)
    rest = chunks - front
    first = max(makespan([front * predict, *[reduce] * rest], workers), rest * costs.task)
    second = max(makespan([predict] * rest, workers), rest * costs.task)
    return first + rest * costs.merge + second + (rows * costs.join if file else 0.0)


def makespan(tasks: Sequence[float], workers: int) -> float:
    """When the last task ends, if each goes, in order, to the worker that is free first."""
    free = [0.0] * workers
    for seconds in tasks:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def share(workers: int) -> float:
    """What the workers' time with scores is of one pass, if a row takes as long to reduce as to predict."""
    return (2 * workers - 1) / workers**2
