"""The buffer of a policy, which its settings make, and rows as the loops on it take them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onward.bandits import choosing, memories
from onward.bandits.buffers import USUAL_LAM, PolicySettings, fresh_buffer, refusal, usual_lam
from onward.bandits.design import Design
from onward.bandits.inputs import Columns, as_actions, in_order, row_in_order, series_names
from onward.bandits.journaling import Journaled
from onward.bandits.locking import Buffered
from onward.bandits.memories import Memory
from onward.bandits.policy_known import Known
from onward.bandits.quick_normals import Source, source_of
from onward.bandits.randomness import draw
from onward.bandits.rules import Estimator, Rule
from onward.bandits.settings import GREEDY, OPTIMISTIC, SAMPLING
from onward.core.fast_path import close, is_float64_array
from onward.core.types import Matrix, Vector
from onward.tables import as_row


class PolicyBuffer(Journaled, Buffered):
    """The part of a policy that has its settings and its buffer, and checks what is done to it."""

    memory: Memory
    rule: Rule
    estimator: Estimator
    lam: float | tuple[float, ...] | None
    prior_mean: tuple[float, ...] | None
    known: Known
    explore: float

    _columns: Columns = None  # names of the features, if actions came in a data frame before anything was known

    _of_arms = False  # whether it is what the arms of `Disjoint` are

    _settings: PolicySettings
    _dimension: int
    _rng: np.random.Generator

    # Where plain actions go straight to, once it is closed
    _choose_loop: Callable[[Vector, Any], int] | None
    _learn_loop: Callable[[Vector, Any, Any], int] | None
    _sample_loop: Callable[..., int] | None = None  # those of a rule that samples
    _source: Source | None = None  # of the normal numbers that it draws

    @property
    def _has_compiled_index(self) -> bool:
        raise NotImplementedError

    @property
    def design(self) -> Design:
        """What it is made of: policies of one design play alike."""
        return Design(self.memory, self.rule, self.estimator, self.lam, self.prior_mean, self.known, self.explore)

    @property
    def is_tuned(self) -> bool:
        """Whether each choice takes one of several scales."""
        return self._settings.numbers["scales"] > 0

    # Rows

    def checked_table(self, actions: ArrayLike) -> Matrix:
        """Actions as the loops take them, or an error that says what is wrong with them.

        Args:
            actions: (k, d), a row for each action.
        """
        table, columns = actions, self._columns
        if not is_float64_array(table, 2):
            table, columns = in_order(actions, columns)
            table = as_actions(table)
        if table.shape[1] != self._dimension or not table.size:
            self._check_shape(table)
        status = choosing.check(self._buffer, table)
        if status < 0:
            raise refusal(status, table, self.known.action_bound)
        if columns != self._columns and not self._dimension:
            with self._lock:
                self._columns = columns
                self._note_state()
        return table

    def _check_shape(self, actions: Matrix) -> None:
        if not len(actions):
            raise ValueError("no action given: expected at least one row, got none")
        d = actions.shape[1]
        if d == 0:
            raise ValueError("actions must have at least one feature, got rows of none")
        if self._dimension and d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        for name, value in (("lam", self.lam), ("prior_mean", self.prior_mean)):
            if isinstance(value, tuple) and len(value) != d:
                raise ValueError(f"actions have {d} features, but {name} has {len(value)} values")

    def checked_row(self, action: ArrayLike) -> Vector:
        """One action as the loops take it, or an error that says what is wrong with it."""
        row = action if is_float64_array(action, 1) else as_row(row_in_order(action, self._columns))[0]
        self.checked_table(row.reshape(1, -1))
        if row is not action and self._columns is None and not self._dimension:
            self._columns = series_names(action)
        return row

    def _draw(self, d: int) -> Vector:
        """The random numbers of one choice."""
        return draw(self.rule.kind, self._rng, d, self.explore, self.is_tuned)

    # The buffer

    def started(self, actions: Matrix) -> Vector:
        """The buffer itself, to be learned into; a new one for such actions if it knows nothing yet."""
        if not self._dimension:
            self._buffer, self._dimension = self.buffer_for(actions), actions.shape[1]
        if not self._learn_loop and self._journal is None:
            close(choosing.check, self._buffer, np.zeros((1, 1)))
            self._choose_loop = self._plain_loop(many=False)
            self._sample_loop = choosing.sampling_loop() if self._samples_plainly() else None
            self._learn_loop = memories.learn_loop(self.memory.kind)
        return self._buffer

    def _plain_loop(self, many: bool) -> Callable[[Vector, Any], int] | None:
        """The loop for choices that nothing is drawn for; None if something is."""
        lots = self.explore or self.is_tuned or self.rule.kind not in (OPTIMISTIC, GREEDY)
        return None if lots or not self._has_compiled_index else choosing.fast_loop(many)

    def _samples_plainly(self) -> bool:
        """Whether normal numbers are all that is drawn for a choice, and loops can draw them."""
        lots = self.explore or self.is_tuned or self.rule.kind != SAMPLING
        return not lots and self._has_compiled_index and source_of(self._rng) is not None

    def _go_the_long_way(self) -> None:
        with self._closed() as buffer:
            self._forget_loops()
            self._buffer = buffer

    def _forget_loops(self) -> None:
        """In another process they are not closed yet; and what a journal is to hold must go the long way."""
        self._choose_loop = self._learn_loop = self._sample_loop = self._source = None

    def buffer_for(self, actions: Matrix, given: int | None = None) -> Vector:
        """The buffer; a new one for such actions if it knows nothing yet, of `given` features if so said."""
        d = actions.shape[1]
        if not self._dimension:
            lam = usual_lam(actions) if self.lam is None else USUAL_LAM
            return fresh_buffer(self._settings, self.memory, d, d if given is None else given, lam)
        if d != self._dimension:
            raise ValueError(f"actions have {d} features, but this policy knows {self._dimension}")
        return self._buffer
