"""Policies that raised an error while others played on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """That a policy raised an error: from this round on it did not play in this repeat."""

    policy: str
    repeat: int
    round: int
    error: str

    def __str__(self) -> str:
        return f"{self.policy} failed in repeat {self.repeat}, round {self.round}: {self.error}"
