"""Which columns of a table become features, and how: what a model must know to read the next table alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

Kind = Literal["number", "boolean", "time", "duration", "category"]
"""How a column becomes numbers: as it is; 0 or 1; years since 2000; days; one 0/1 feature for each level."""

Missing = Literal["error", "skip", "zero"]
"""What to do with a missing value: refuse the data, leave the row out, or count it as 0."""

KINDS: tuple[str, ...] = get_args(Kind)
RULES: tuple[str, ...] = get_args(Missing)


@dataclass(frozen=True)
class Column:
    """A column that features are made of."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Recipe:
    """How rows of a table become features, a target and a weight.

    Features stand in this order: the columns that make one each, then the levels of the categories (`city=Rome`), in
    the order in which they were first seen.
    """

    target: str
    columns: tuple[Column, ...]
    weight: str | None = None
    missing: Missing = "error"
    na: tuple[str, ...] = ()  # texts that stand for a missing value, beside the usual ones

    @property
    def plain(self) -> list[Column]:
        """The columns that make one feature each."""
        return [column for column in self.columns if column.kind != "category"]

    @property
    def categories(self) -> list[str]:
        """The columns that make a feature for each level."""
        return [column.name for column in self.columns if column.kind == "category"]

    def levels(self, names: Sequence[object]) -> list[tuple[str, str]]:
        """The (column, level) of each feature name that stands for one, in order; ValueError if a name is neither."""
        plain = {column.name for column in self.plain}
        found = []
        for name in map(str, names):
            if name in plain:
                continue
            owners = [column for column in self.categories if name.startswith(f"{column}=")]
            if owners:
                owner = max(owners, key=len)
                found.append((owner, name[len(owner) + 1 :]))
            else:
                raise ValueError(
                    f"the feature {name!r} comes from none of the columns {[c.name for c in self.columns]}"
                )
        return found

    def difference(self, other: "Recipe") -> str | None:
        """In what two recipes do not fit together, in words; None if they do."""
        if self.target != other.target:
            return f"the target is {self.target!r} in one and {other.target!r} in the other"
        mine, theirs = (dict.fromkeys(recipe.columns) for recipe in (self, other))
        for column in [*mine, *theirs]:
            if column not in mine or column not in theirs:
                return f"the column {column.name!r} as a {column.kind} is in one but not in the other"
        return None

    # Model files

    def to_record(self) -> dict[str, Any]:
        """Plain values, for a model file."""
        return {
            "target": self.target,
            "columns": [[column.name, column.kind] for column in self.columns],
            "weight": self.weight,
            "missing": self.missing,
            "na": list(self.na),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record` described; ValueError or KeyError if it does not fit together."""
        columns = tuple(Column(name, kind) for name, kind in record["columns"])
        if any(column.kind not in KINDS for column in columns) or record["missing"] not in RULES:
            raise ValueError(f"unknown kind of column or rule for missing values in {record}")
        return cls(record["target"], columns, record["weight"], record["missing"], tuple(record["na"]))
