"""A game over tasks: within a task the compiled loop plays, and between tasks what was learned is looked at."""

import numpy as np
from numpy.typing import NDArray

from onward.bandits.buffers import refusal
from onward.bandits.environments import Block
from onward.bandits.game import play_rounds
from onward.bandits.meta import MetaOFUL
from onward.bandits.settings import Status
from onward.core.types import Vector


class TaskGame:
    """Plays the rounds of a `MetaOFUL`, which it overwrites, as if it were asked round by round."""

    def __init__(self, meta: MetaOFUL) -> None:
        self._meta, self._lost = meta, 0.0

    def play(self, block: Block) -> tuple[Vector, NDArray[np.int32]]:
        """Rounds that come in a block."""
        n = len(block.means)
        regret, choices, done = np.empty(n), np.empty(n, dtype=np.int32), 0
        while done < n:
            policy = self._meta.policy
            policy.checked_table(block.actions[0 if len(block.actions) == 1 else done])
            buffer = policy.started(block.actions[0])
            stop = min(n, done + self._meta.rounds_left) if self._meta.rounds_left else n
            done, status = play_rounds(
                *(buffer, policy.generator, block.actions, block.means[:stop], block.noise[:stop]),
                *(done, self._lost, regret, choices),
            )
            if done < stop:
                assert status != Status.FULL  # a memory of everything does not grow
                offered = block.actions[0 if len(block.actions) == 1 else done]
                raise refusal(status, offered, policy.known.action_bound)
            self._lost = float(regret[done - 1])
            self._meta.end_task_if_over()
        return regret, choices
