"""What workers share out, and whether it is worth it."""

from pathlib import Path

import pytest

from onward.scale import Chunk, why_workers_do_not_pay
from onward.tables.sources import File


def chunks(megabytes: int, count: int) -> list[Chunk]:
    file = File(Path("rows.parquet"), "parquet")
    return [Chunk(file, range(i, i + 1), megabytes * 1_000_000 // count) for i in range(count)]


@pytest.mark.parametrize(
    ("megabytes", "count", "workers", "with_scores", "reason"),
    [
        (10_000, 1, 4, False, "all rows are in one chunk"),
        (40, 4, 8, False, "one pass takes about 0.1 s, workers about 2 s to start alone"),
        (8000, 40, 2, True, "one pass takes about 20 s, and 2 workers, which read most rows twice, no less"),
        (8000, 40, 2, False, None),
        (8000, 40, 4, True, None),
        (8000, 40, 1, True, "one pass takes about 20.0 s"),
    ],
)
def test_why_workers_do_not_pay(
    megabytes: int, count: int, workers: int, with_scores: bool, reason: str | None
) -> None:
    found = why_workers_do_not_pay(chunks(megabytes, count), workers, with_scores=with_scores)
    assert (found is None) if reason is None else str(found).startswith(reason)
