"""Which columns of a table become features, and how: what a model must know to read the next table alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, cast, get_args

from onward.core.shown import brief, several, shortened
from onward.tables.notation import Notation
from onward.tables.recipe_memory import Memory
from onward.tables.terms import Lag, Name, Number, Product, Term, columns_in, lags_in, parse_term

Kind = Literal["number", "boolean", "time", "duration", "category"]
"""How a column becomes numbers: as it is; 0 or 1; years since 2000; days; one 0/1 feature for each level."""

Missing = Literal["error", "skip", "zero"]
"""What to do with a missing value: refuse the data, leave the row out, or count it as 0."""

KINDS: tuple[str, ...] = get_args(Kind)
RULES: tuple[str, ...] = get_args(Missing)


@dataclass(frozen=True)
class Column:
    """A column that features are made of.

    Attributes:
        name: of the column.
        kind: what it holds: "number", "boolean", "time", "duration" or "category".

    Example:
        >>> from onward.tables import Column
        >>> Column("km", "number")
        Column(name='km', kind='number')
    """

    name: str
    kind: Kind


@dataclass(frozen=True)
class LevelGroup:
    """What makes a feature for each level that is seen: a category, or the product of some with numbers.

    The feature of a level is called by the group's name and the level: city=Rome, km:city=Rome, city:day=Rome:Monday.
    """

    name: str
    categories: tuple[str, ...]
    factors: tuple[Number, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """How rows of a table become features, a target and a weight.

    Features stand in this order: the columns that make one each, the terms without categories, then the levels of the
    categories (`city=Rome`) and of terms with categories, in the order in which they were first seen.

    Args:
        target, columns, weight, missing: as in `Table`; the columns are those that are features.
        time: the column of the rows' times.
        na, decimal, thousands, date_format: how values are written as text, as in `Notation`.
        terms: features that are made of columns.
        inputs: columns that are read for the terms alone.
        drop_first: whether the first level of a category makes no feature.
        memory: what was seen so far, as far as the next rows need it.

    Example:
        >>> import polars as pl
        >>> from onward import Table, fit
        >>> trips = pl.DataFrame({"km": [1.0, 3.0, 2.0], "city": ["Rome", "Oslo", "Rome"], "fare": [5.0, 9.0, 7.0]})
        >>> model = fit(trips, Table("fare", categorical=["city"])).model
        >>> model.recipe_.kinds
        {'km': 'number', 'city': 'category'}
    """

    target: str
    columns: tuple[Column, ...]
    weight: str | None = None
    missing: Missing = "error"
    na: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str | None = None
    date_format: str | None = None
    terms: tuple[Term, ...] = ()
    inputs: tuple[Column, ...] = ()
    drop_first: bool = False
    memory: Memory = field(default_factory=Memory, compare=False)
    time: Column | None = None

    @property
    def notation(self) -> Notation:
        """How values are written as text."""
        return Notation(self.na, self.decimal, self.thousands, self.date_format)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The columns that are read to make features, with their kinds."""
        return {column.name: column.kind for column in (*self.columns, *self.inputs)}

    @property
    def plain(self) -> list[Column]:
        """The columns that make one feature each."""
        return [column for column in self.columns if column.kind != "category"]

    @property
    def categories(self) -> list[str]:
        """The columns that make a feature for each level."""
        return [column.name for column in self.columns if column.kind == "category"]

    @property
    def fixed_terms(self) -> list[Term]:
        """The terms without categories, whose features are known beforehand."""
        return [term for term in self.terms if not self._categories_in(term)]

    @property
    def level_groups(self) -> list[LevelGroup]:
        """What makes a feature for each level: the categories, and the terms that have some."""
        groups = [LevelGroup(name, (name,)) for name in self.categories]
        for term in self.terms:
            levels = self._categories_in(term)
            if levels and isinstance(term, Product):
                numbers = tuple(each for each in term.factors if not self._is_category(each))
                groups.append(LevelGroup(term.text, tuple(levels), numbers))
        return groups

    @property
    def lags(self) -> dict[str, Lag]:
        """The lags in the terms, by their texts."""
        return {lag.text: lag for term in self.terms for lag in lags_in(term)}

    @property
    def looks_back_to_target(self) -> bool:
        """Whether a term needs the targets of earlier rows."""
        return any(self.target in columns_in(term) for term in self.terms)

    def _is_category(self, number: Number) -> bool:
        return isinstance(number, Name) and self.kinds.get(number.column) == "category"

    def _categories_in(self, term: Term) -> list[str]:
        kinds = self.kinds
        return [column for column in columns_in(term) if kinds.get(column) == "category"]

    def levels(self, names: Sequence[object]) -> list[tuple[str, str]]:
        """The (group, level) of each feature name that stands for one, in order; ValueError if a name is neither.

        Args:
            names: of the features.
        """
        from onward.tables.term_values import feature_names

        fixed = {column.name for column in self.plain}
        fixed |= {name for term in self.fixed_terms for name in feature_names(term)}
        groups = [group.name for group in self.level_groups]
        found = []
        for name in map(str, names):
            if name in fixed:
                continue
            owners = [group for group in groups if name.startswith(f"{group}=")]
            if owners:
                owner = max(owners, key=len)
                found.append((owner, name[len(owner) + 1 :]))
            else:
                terms = f" and none of the terms {several([term.text for term in self.terms])}" if self.terms else ""
                columns = several([column.name for column in self.columns])
                raise ValueError(f"the feature {brief(name)} comes from none of the columns {columns}{terms}")
        return found

    def difference(self, other: "Recipe") -> str | None:
        """In what two recipes do not fit together, in words; None if they do.

        Args:
            other: another recipe.
        """
        if self.target != other.target:
            return f"the target is {brief(self.target)} in one and {brief(other.target)} in the other"
        mine, theirs = (dict.fromkeys(recipe.columns) for recipe in (self, other))
        for column in [*mine, *theirs]:
            if column not in mine or column not in theirs:
                return f"the column {brief(column.name)} as a {column.kind} is in one but not in the other"
        for term in (*self.terms, *other.terms):
            if term not in self.terms or term not in other.terms:
                return f"the term {shortened(term.text)} is in one but not in the other"
        if self.drop_first != other.drop_first or (
            self.drop_first and self.memory.first_levels != other.memory.first_levels
        ):
            return "other first levels of categories are left out in one than in the other"
        if self.time != other.time:
            return f"the time is {_describe_column(self.time)} in one and {_describe_column(other.time)} in the other"
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
            "decimal": self.decimal,
            "thousands": self.thousands,
            "date_format": self.date_format,
            "terms": [term.text for term in self.terms],
            "inputs": [[column.name, column.kind] for column in self.inputs],
            "drop_first": self.drop_first,
            "memory": self.memory.to_record(),
            "time": None if self.time is None else [self.time.name, self.time.kind],
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """What `to_record` described, also before there were terms; ValueError or KeyError if it does not fit.

        `check_recipe_of_model` says whether it can be followed, once the model is known.

        Args:
            record: plain values.
        """
        columns, inputs = (_columns(each) for each in (record["columns"], record.get("inputs", [])))
        (time,) = _columns([record["time"]]) if record.get("time") is not None else (None,)
        na, terms, drop_first = record["na"], record.get("terms", []), record.get("drop_first", False)
        if not isinstance(na, list) or not all(isinstance(text, str) for text in na):
            raise ValueError(f"texts for missing values must be a list of texts, got {brief(na)}")
        if not isinstance(record["target"], str) or not isinstance(record["weight"], str | None):
            raise ValueError(
                f"the target and the weight must be names, got {brief(record['target'])} and {brief(record['weight'])}"
            )
        if not isinstance(record["missing"], str) or record["missing"] not in RULES:
            raise ValueError(f"a rule for missing values is one of {', '.join(RULES)}, got {brief(record['missing'])}")
        if not isinstance(terms, list) or not isinstance(drop_first, bool):
            raise ValueError(f"terms must be a list, and drop_first true or false, got {brief((terms, drop_first))}")
        made = cls(
            record["target"],
            columns,
            record["weight"],
            cast(Missing, record["missing"]),
            tuple(na),
            record.get("decimal", "."),
            record.get("thousands"),
            record.get("date_format"),
            tuple(parse_term(text) for text in terms),
            inputs,
            drop_first,
            Memory.from_record(record["memory"]) if "memory" in record else Memory(),
            time,
        )
        _ = made.notation  # which checks it
        return made


def _columns(given: Any) -> tuple[Column, ...]:
    """The columns that a file tells of, each by its name and kind."""
    found = []
    for each in given if isinstance(given, list) else [given]:
        if not (isinstance(each, list) and len(each) == 2 and all(isinstance(part, str) for part in each)):
            raise ValueError(f"a column is told by its name and its kind, got {brief(each)}")
        if each[1] not in KINDS:
            raise ValueError(f"unknown kind of column: expected one of {', '.join(KINDS)}, got {brief(each[1])}")
        found.append(Column(each[0], cast(Kind, each[1])))
    return tuple(found)


def _describe_column(column: Column | None) -> str:
    return "not given" if column is None else f"{brief(column.name)} as a {column.kind}"
