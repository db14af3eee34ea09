"""The time, without leaps ahead that are taken back: one wrong hour would end the wait of all decisions."""

import logging
import time
from collections.abc import Callable

_LEAP = 5.0  # seconds ahead of time as it passes, from which on it is a leap
_SETTLED = 60.0  # seconds after which a clock that leapt is believed
_log = logging.getLogger("onward.service")


class SteadyClock:
    """Seconds since 1970, as the system tells them, but for leaps ahead, which count when they have lasted a minute.

    Until then time goes on as it passes. A clock that is set back is believed at once.
    """

    def __init__(self, wall: Callable[[], float] = time.time, passing: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._passing = wall, passing
        self._from = wall(), passing()  # when both were believed last
        self._leapt: float | None = None  # when it leapt, as time passes

    def __call__(self) -> float:
        """What time it is."""
        now, passed = self._wall(), self._passing()
        then, before = self._from
        steady = then + (passed - before)
        if now - steady > _LEAP:
            if self._leapt is None:
                self._leapt = passed
                _log.warning(
                    "the clock leapt %.0f s ahead: it is believed if it stays so for %g s", now - steady, _SETTLED
                )
            if passed - self._leapt < _SETTLED:
                return steady
        self._from, self._leapt = (now, passed), None
        return now
