"""Servers that are killed, lose their database or fill their disk: `make serve-check` in short."""

import pytest

from tests.service.kill_rounds import SkippedError, database_away, full_disk, kills
from tests.service.postgres import NoPostgresError


def test_killed_on_sqlite_nothing_is_lost_or_learned_twice() -> None:
    assert kills("sqlite", 2, seed=1)["rewards"] > 0


def test_one_of_two_servers_killed_on_postgresql() -> None:
    try:
        assert kills("postgresql", 2, seed=2, n_servers=2)["rewards"] > 0
    except NoPostgresError as error:
        pytest.skip(str(error))


def test_a_database_that_goes_away_and_comes_back() -> None:
    try:
        assert database_away(1, seed=3)["rewards"] > 0
    except NoPostgresError as error:
        pytest.skip(str(error))


def test_a_full_disk() -> None:
    try:
        assert full_disk(1, seed=4)["refused"] > 0
    except SkippedError as error:
        pytest.skip(str(error))
