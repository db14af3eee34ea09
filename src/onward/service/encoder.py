"""Contexts and actions as rows of numbers: names and categories become features when they are first seen.

A number is a feature of its name, true and false are 1 and 0, a text is a category whose levels are features of 1:
`device=phone`; so a name that comes as a number and as text has features of both kinds. An object inside is read as
`outer.inner`; null is as if it were not there. An action without features is known by its id: `action=a`. What a row
does not have counts as 0.
"""

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onward.core.factor import ORDINARY
from onward.core.types import Matrix, Vector
from onward.service.configuration import FeatureRule
from onward.service.entries import NUMBERS, Action, Values
from onward.service.request_errors import RequestError
from onward.tables.levels import level_name

INTERCEPT = "intercept"
OTHER = "(other)"  # the level that all share which come when there is no more room
ACTION = "action"  # the name whose levels are the ids of actions without features
_DEEPEST = 8  # objects inside objects
_LAYOUTS = 1024  # that are kept
_WIDEST = 20_000  # features and products of an action
_ORDINARY_SQUARES = 1e100  # a sum below it shows at once that no number of it is too large
_MOST_CELLS = 400_000  # of all actions of a decision

Born = tuple[str, str]
"""A feature that is new, and the name it comes from: "" for a product, itself for a number."""


_New = dict[str, tuple[str, int]]
"""Features that are new: the name of each, and its place."""


class Encoded(NamedTuple):
    """Actions as numbers: a column for each known feature, then for each that is new."""

    table: Matrix
    born: list[Born]
    left_out: int = 0  # features and products that have no place


class _Parts(NamedTuple):
    """The features of one object: of each its name, itself and its value."""

    names: tuple[str, ...]
    features: tuple[str, ...]
    values: list[float]


class _Layout(NamedTuple):
    """Where the features of an action and its context go."""

    places: NDArray[np.int64]  # of the constant, the features and the products; −1: nowhere
    left: NDArray[np.int64]  # of each product, which features are multiplied
    right: NDArray[np.int64]
    complete: bool  # whether all have a place
    in_order: bool  # whether they are all features there are, in their order


class Encoder:
    """Which features there are, in the order in which they came: the columns of a policy."""

    def __init__(self, rule: FeatureRule) -> None:
        self.rule = rule
        self._excluded = frozenset(rule.exclude or ())
        self.columns: dict[str, int] = {}
        self.names: dict[str, str] = {}  # of each feature
        self.levels: dict[str, int] = {}  # how many of each category
        self._layouts: dict[tuple[tuple[str, ...], ...], _Layout] = {}  # by names and features of both parts

    def encode(self, context: Values, actions: Sequence[Action]) -> Encoded:
        """All actions of a decision as rows, and the features among them that are new. Changes nothing."""
        fresh: dict[str, set[str]] = {}
        if self._excluded:
            context = self._without_excluded(context)
            actions = [Action(each.id, self._without_excluded(each.features)) for each in actions]
        context_parts = self._parts(context, "context", fresh)
        alike = self._encode_alike(context_parts, actions)
        if alike is not None:
            return Encoded(alike, [])
        action_parts = [self._parts_of_action(action, f"actions[{i}]", fresh) for i, action in enumerate(actions)]
        born: _New = {}
        left_out: set[str] = set()
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
        for i, parts in enumerate(action_parts):
            groups.setdefault((parts.names, parts.features), []).append(i)
            self._check_size(parts, context_parts, len(actions), f"actions[{i}]")
        laid = [
            (self._layout(action_parts[members[0]], context_parts, born, left_out, f"actions[{members[0]}]"), members)
            for members in groups.values()
        ]
        width = len(self.columns) + len(born)
        if width == 0:
            raise RequestError("no_features", "the actions have no features that may be learned from", "actions")
        table = self._filled(width, laid, action_parts, context_parts)
        return Encoded(table, [(feature, name) for feature, (name, _) in born.items()], len(left_out))

    def _encode_alike(self, context: _Parts, actions: Sequence[Action]) -> Matrix | None:
        """Actions that have numbers of the same names, in one order, all of them known, as most do; None for others."""
        names = tuple(actions[0].features)
        layout = self._layouts.get((names, names, context.names, context.features)) if names else None
        if layout is None:
            return None
        values: list[float] = []
        for action in actions:
            if tuple(action.features) != names:
                return None
            values += action.features.values()
        if not NUMBERS.issuperset(map(type, values)):
            return None
        try:
            # What np.array would give, in a quarter of the time
            W = np.frombuffer(bytearray(struct.pack(f"{len(values)}d", *values))).reshape(len(actions), len(names))
        except OverflowError:
            return None  # which is explained where it is looked at closely
        if context.values:
            W = np.concatenate([W, np.broadcast_to(context.values, (len(actions), len(context.values)))], axis=1)
        V = self._with_products(W, layout)
        if not np.vdot(V, V) < _ORDINARY_SQUARES and not np.abs(V).max() < ORDINARY:
            return None
        if layout.in_order:
            return V
        table = _nothing(len(actions), len(self.columns))
        table[:, layout.places] = V
        return table

    def _without_excluded(self, given: Values, outer: str = "") -> Values:
        """Values without those that are never learned from."""
        return {
            key: self._without_excluded(value, f"{outer}{key}.") if type(value) is dict else value
            for key, value in given.items()
            if outer + key not in self._excluded
        }

    def _check_size(self, action: _Parts, context: _Parts, n_actions: int, where: str) -> None:
        """RequestError if features and their products are so many that making them would hold up everybody."""
        width = len(action.names) + len(context.names)
        if self.rule.interactions is True:
            width += len(action.names) * len(context.names)
        if width > _WIDEST or width * n_actions > _MOST_CELLS:
            told = f"expected at most {_WIDEST:,} features and products, and {_MOST_CELLS:,} of all actions"
            raise RequestError("too_many_features", f"{told}, got {width:,} of {n_actions} actions", where)

    def known_table(self, context: Values, actions: Sequence[Action]) -> Matrix:
        """All actions of a decision as rows of the features that are known; others count for nothing."""
        return np.ascontiguousarray(self.encode(context, actions).table[:, : len(self.columns)])

    def row(self, features: dict[str, float]) -> Vector:
        """Features by name as a row; those that have no place count for nothing. Never an error."""
        row = np.zeros(len(self.columns))
        for name, value in features.items():
            place = self.columns.get(name)
            if place is not None:
                row[place] = value
        return row

    def named_values(self, given: Values, where: str, *, learning: bool) -> tuple[dict[str, float], list[Born]]:
        """One row as numbers by name, and the features that are new; those that there is no room for are left out."""
        parts, born = self._parts(given, where, {}), list[Born]()
        out: dict[str, float] = {}
        for name, feature, value in zip(parts.names, parts.features, parts.values, strict=True):
            if feature in out:
                raise RequestError("ambiguous_name", f"{name!r} is there twice", f"{where}.{name}")
            if not abs(value) < ORDINARY:
                raise _too_large([], parts, where)
            if feature not in self.columns:
                if len(self.columns) + len(born) >= self.rule.max_features or not learning:
                    continue
                born.append((feature, name))
            out[feature] = float(value)
        return out, born

    def add(self, born: Sequence[Born]) -> list[str]:
        """Know these features from now on, as far as there is room: those that were new."""
        added = []
        for feature, name in born:
            if feature in self.columns or len(self.columns) >= self.rule.max_features:
                continue
            if name and feature != name and name != INTERCEPT:
                if self.levels.get(name, 0) >= self.rule.max_levels and feature != level_name(name, OTHER):
                    continue
                self.levels[name] = self.levels.get(name, 0) + 1
            self.columns[feature] = len(self.columns)
            self.names[feature] = name
            added.append(feature)
        if added:
            self._layouts.clear()
        return added

    # Parts

    def _parts_of_action(self, action: Action, where: str, fresh: dict[str, set[str]]) -> _Parts:
        parts = self._parts(action.features, f"{where}.features", fresh)
        if parts.features or ACTION in self._excluded:
            return parts
        return _Parts((ACTION,), (self._level(ACTION, action.id, fresh),), [1.0])

    def _parts(self, given: Values, where: str, fresh: dict[str, set[str]]) -> _Parts:
        if NUMBERS.issuperset(map(type, given.values())):  # as most are: at a tenth of the cost
            features_alone = tuple(given)
            return _Parts(features_alone, features_alone, list(given.values()))
        names: list[str] = []
        features: list[str] = []
        values: list[float] = []
        self._collect(given, "", where, fresh, names, features, values)
        return _Parts(tuple(names), tuple(features), values)

    def _collect(
        self,
        given: Values,
        outer: str,
        where: str,
        fresh: dict[str, set[str]],
        names: list[str],
        features: list[str],
        values: list[float],
    ) -> None:
        for key, value in given.items():
            name, kind = outer + key if outer else key, type(value)
            if kind is float or kind is int or kind is bool:
                names.append(name)
                features.append(name)
                values.append(value)
            elif kind is str:
                names.append(name)
                features.append(self._level(name, value, fresh))
                values.append(1.0)
            elif kind is dict:
                if name.count(".") >= _DEEPEST:
                    raise RequestError(
                        "too_deep", f"{name!r} holds objects inside objects: too many", f"{where}.{name}"
                    )
                self._collect(value, f"{name}.", where, fresh, names, features, values)
            elif value is not None:
                raise RequestError(
                    "bad_feature",
                    f"{name!r} must be a number, text, true or false, got {_shown(value)}",
                    f"{where}.{name}",
                )

    def _level(self, name: str, value: str, fresh: dict[str, set[str]]) -> str:
        feature = level_name(name, value)
        if feature in self.columns:
            return feature
        new = fresh.setdefault(name, set())
        if feature not in new:
            if self.levels.get(name, 0) + len(new) >= self.rule.max_levels:
                return level_name(name, OTHER)
            new.add(feature)
        return feature

    # Layouts

    def _layout(self, action: _Parts, context: _Parts, born: _New, left_out: set[str], where: str) -> _Layout:
        key = action.names, action.features, context.names, context.features
        layout = self._layouts.get(key)
        if layout is None:
            before = len(born)
            layout = self._new_layout(action, context, born, left_out, where)
            if len(born) == before and layout.complete:
                if len(self._layouts) >= _LAYOUTS:
                    self._layouts.clear()
                self._layouts[key] = layout
        return layout

    def _new_layout(self, action: _Parts, context: _Parts, born: _New, left_out: set[str], where: str) -> _Layout:
        names = [*action.names, *context.names]
        features = [*action.features, *context.features]
        if len(set(names)) < len(names):
            both = next(name for name in names if names.count(name) > 1)
            raise RequestError(
                "ambiguous_name", f"{both!r} is there twice, or in the action and in its context", f"{where}.{both}"
            )
        if self.rule.intercept and INTERCEPT in names:
            raise RequestError("ambiguous_name", f"{INTERCEPT!r} is the name of the constant", where)
        left, right = self._products(names, len(action.names))
        constant: list[Born] = [(INTERCEPT, INTERCEPT)] if self.rule.intercept else []
        products = [(f"{features[i]}:{features[j]}", "") for i, j in zip(left, right, strict=True)]
        every = [*constant, *zip(features, names, strict=True), *products]
        if len({feature for feature, _ in every}) < len(every):
            raise RequestError("ambiguous_name", "two features have one name: expected names without ':' or '='", where)
        places = np.array([self._place(feature, name, born) for feature, name in every], dtype=np.int64)
        complete = bool((places >= 0).all())
        if not complete:
            left_out.update(every[i][0] for i in np.flatnonzero(places < 0))
        in_order = np.array_equal(places, np.arange(len(self.columns))) and not born
        return _Layout(places, np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), complete, in_order)

    def _products(self, names: list[str], n_action: int) -> tuple[list[int], list[int]]:
        rule = self.rule.interactions
        if rule is True:
            others = range(n_action, len(names))
            return [i for i in range(n_action) for _ in others], [j for _ in range(n_action) for j in others]
        at = {name: i for i, name in enumerate(names)}
        pairs = [(at[one], at[two]) for one, two in rule or () if one in at and two in at]
        return [i for i, _ in pairs], [j for _, j in pairs]

    def _place(self, feature: str, name: str, born: _New) -> int:
        place = self.columns.get(feature)
        if place is not None:  # of something else, if a name looks like a level or a product: that has no place
            return place if self.names[feature] == name else -1
        if feature not in born:
            if len(self.columns) + len(born) >= self.rule.max_features:
                return -1
            born[feature] = name, len(self.columns) + len(born)
        return born[feature][1] if born[feature][0] == name else -1

    def _filled(self, d: int, laid: list[tuple[_Layout, list[int]]], actions: list[_Parts], context: _Parts) -> Matrix:
        table = _nothing(len(actions), d + 1)  # the last column is nowhere
        for layout, members in laid:
            try:
                W = np.array([actions[i].values + context.values for i in members], dtype=np.float64)
            except OverflowError:
                raise _too_large(actions, context) from None
            V = self._with_products(W, layout)
            if not np.abs(V).max(initial=0.0) < ORDINARY:
                raise _too_large(actions, context)
            if len(members) == len(table):
                table[:, layout.places] = V
            else:
                table[np.array(members)[:, None], layout.places] = V
        return np.ascontiguousarray(table[:, :d])

    def _with_products(self, W: Matrix, layout: _Layout) -> Matrix:
        """The constant, features and their products."""
        parts = [W]
        if len(layout.left):
            with np.errstate(over="ignore", invalid="ignore"):  # who calls looks at the size, and says it with names
                parts.append(W[:, layout.left] * W[:, layout.right])
        if self.rule.intercept:
            parts.insert(0, np.ones((len(W), 1)))
        return np.concatenate(parts, axis=1) if len(parts) > 1 else W


def _nothing(n: int, d: int) -> Matrix:
    """Zeros. `np.zeros` lets other threads go first, which may take milliseconds."""
    table = np.empty((n, d))
    table.fill(0.0)
    return table


def _too_large(actions: list[_Parts], context: _Parts, label: str = "context") -> RequestError:
    """The error that names the first number which no policy can take; or products of numbers are too large."""
    for i, parts in [*enumerate(actions), (-1, context)]:
        for name, value in zip(parts.names, parts.values, strict=True):
            if not abs(value) < ORDINARY:
                where = label if i < 0 else f"actions[{i}].features"
                message = f"{name!r} must be a number below {ORDINARY:g} in size, got {_shown(value)}"
                return RequestError("bad_feature", message, f"{where}.{name}")
    return RequestError("bad_feature", f"products of features must be below {ORDINARY:g} in size", "context")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
