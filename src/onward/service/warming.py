"""Settings tried out on a loop or a model that is thrown away.

So compiled code is ready when a loop is made, and no visitor waits for the compiler; and settings with which nothing
could be learned are refused, which some learners notice only when they learn.
"""

import functools
from typing import Any

import msgspec

from onward.service.configuration import LoopConfig, ModelConfig
from onward.service.entries import Action, Begin, Entry, from_json, to_json
from onward.service.evaluation import evaluate_entries
from onward.service.loop import Loop
from onward.service.regression_model import Model
from onward.service.request_errors import RequestError
from onward.service.request_types import EvaluateRequest

_LONGEST = 300  # characters of a message


def warm(config: LoopConfig | ModelConfig) -> None:
    """Do once what a loop or a model of these settings does; RequestError if it cannot."""
    try:
        if isinstance(config, LoopConfig):
            _warm_loop(msgspec.json.encode(config))
        else:
            _warm_model(msgspec.json.encode(config))
    except RequestError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        field = "policy" if isinstance(config, LoopConfig) else "settings"
        raise RequestError("bad_request", f"nothing can be learned so: {error}"[:_LONGEST], field) from error


def warm_evaluation(policy: dict[str, Any]) -> None:
    """Judge a policy once on a small log."""
    config = LoopConfig(explore=0.5)
    entries = [Entry("warm", Begin(config), seq=1)]
    loop = Loop.begin(entries[0])
    for number in range(20):
        actions = [Action("a", {"x": 0.1 * number}), Action("b", {"x": 1.0})]
        entries.append(loop.propose(str(number), {"y": 1.0}, actions, at=float(number)))
        loop.fold(entries[-1])
        entries.append(loop.propose_reward(str(number), float(number % 3), at=float(number)))
        loop.fold(entries[-1])
    evaluate_entries(entries, config, list(loop.encoder.names.items()), EvaluateRequest([policy]))


@functools.lru_cache(maxsize=256)
def _warm_loop(config: bytes) -> None:
    loop = Loop("warm", msgspec.json.decode(config, type=LoopConfig))
    actions = [Action("a", {"x": 0.5}), Action("b", {"x": 1.0})]
    for number in range(3):  # with new features, with known ones, and once something is learned
        loop.decide(str(number), {"y": 1.0}, actions, at=float(number))
        loop.reward(str(number), 1.0, at=float(number))
    entry = loop.propose("3", {"y": 1.0}, actions, at=3.0)
    from_json(to_json(entry.content))  # what the log could not hold is refused
    loop.state()
    Loop.from_bytes(loop.to_bytes()).digest()


@functools.lru_cache(maxsize=256)
def _warm_model(config: bytes) -> None:
    made = msgspec.json.decode(config, type=ModelConfig)
    Model("warm", made).learner.learn_one({"x": 0.5}, 1.0, 1.0)  # where a model would leave out the row, this says why
    model = Model("warm", made)
    rows = [{"x": 0.5}, {"x": 1.0}, {"x": 1.5}]
    model.fold(model.propose_learn(rows, [1.0, 2.0, 3.0], at=0.0))
    model.predict(rows)
    model.state()
    Model.from_bytes(model.to_bytes()).digest()
