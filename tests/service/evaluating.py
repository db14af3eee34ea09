"""Evaluation without a process of its own, so that whatever goes wrong in it is seen here, and soon."""

from collections.abc import Sequence

from onward.service.answer_types import EvaluateAnswer
from onward.service.encoder import Born
from onward.service.evaluation import Evaluator, LogSource, evaluate_source
from onward.service.request_types import EvaluateRequest


class EvaluatorHere(Evaluator):
    """Evaluates in the process that asks."""

    async def evaluate(self, source: LogSource, features: Sequence[Born], asked: EvaluateRequest) -> EvaluateAnswer:
        return evaluate_source(source, features, asked)
