"""Evaluation without a process of its own, so that whatever goes wrong in it is seen here, and soon."""

from collections.abc import AsyncIterator, Sequence

from onward.service.answer_types import EvaluateAnswer
from onward.service.configuration import LoopConfig
from onward.service.encoder import Born
from onward.service.entries import Entry
from onward.service.evaluation import Evaluator, evaluate_entries, read_within_limits
from onward.service.request_types import EvaluateRequest


class EvaluatorHere(Evaluator):
    """Evaluates in the process that asks."""

    async def evaluate(
        self,
        entries: AsyncIterator[list[Entry]],
        config: LoopConfig,
        features: Sequence[Born],
        asked: EvaluateRequest,
    ) -> EvaluateAnswer:
        return evaluate_entries(await read_within_limits(entries, len(features)), config, features, asked)
