"""The model as the checker reads it from the library's dump: scores, and the sums whose signs say "not similar"."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Feature, Integer
from axfi_kc.models.own_predict import library_class, library_of, override_of
from axfi_kc.verification.reading.columns import Seen, Split, columns_of, cuts_of, fits, goes_left
from axfi_kc.verification.spaces import Bound

__all__ = [
    "CellForm",
    "Form",
    "LinearForm",
    "Margin",
    "OwnTree",
    "Rule",
    "TreeForm",
    "class_name",
    "form_of",
    "read_inner",
]


@dataclass(frozen=True, slots=True)
class Margin:
    """``sum of factors times scores + constant``; dissimilar where it is above 0, or also at 0 if `tie`."""

    factors: tuple[Fraction, ...]
    constant: Fraction
    tie: bool

    def at(self, scores: Sequence[Fraction]) -> Fraction:
        """Return the sum for given scores."""
        return sum((f * s for f, s in zip(self.factors, scores, strict=True)), self.constant)

    def holds(self, total: Fraction) -> bool:
        """Tell whether such a sum means dissimilar."""
        return total > 0 or (self.tie and total == 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a library turns scores into outputs.

    Attributes
    ----------
    kind
        ``"above"``: the second label iff the score is above 0; ``"from"``: iff it is at least 0; ``"largest"``:
        the label of the largest score, the first of several; ``"itself"``: the score times `scale`.
    labels
        The labels of a classifier.
    scale
        What a regression multiplies its score by.
    """

    kind: Literal["above", "from", "largest", "itself"]
    labels: tuple[Hashable, ...] = ()
    scale: Fraction = Fraction(1)

    def output(self, scores: Sequence[Fraction]) -> Any:
        """Return the output for given scores."""
        if self.kind == "largest":
            return self.labels[max(range(len(scores)), key=lambda k: (scores[k], -k))]
        if self.kind == "itself":
            return scores[0] * self.scale
        return self.labels[int(scores[0] > 0 or (self.kind == "from" and scores[0] == 0))]

    def knows(self, prediction: Any, delta: Fraction | None) -> bool:
        """Tell whether such an output exists, so that others can be compared with it."""
        if self.kind == "itself":
            return delta is not None
        return delta is None and prediction in self.labels

    def margins(self, prediction: Any, delta: Fraction | None, n_scores: int) -> tuple[Margin, ...]:
        """Return the sums that are above 0 where the output is not similar to `prediction`.

        Examples
        --------
        >>> Rule("above", (0, 1)).margins(1, None, 1)
        (Margin(factors=(Fraction(-1, 1),), constant=Fraction(0, 1), tie=True),)
        """
        one, zero = Fraction(1), Fraction(0)
        if self.kind == "itself":
            centre, reach = Fraction(prediction), delta or zero
            return (
                Margin((self.scale,), -centre - reach, tie=False),
                Margin((-self.scale,), centre - reach, tie=False),
            )
        own = self.labels.index(prediction)
        if self.kind == "largest":
            others = [k for k in range(n_scores) if k != own]
            return tuple(
                Margin(tuple(Fraction((j == k) - (j == own)) for j in range(n_scores)), zero, tie=k < own)
                for k in others
            )
        if own == 1:
            return (Margin((-one,), zero, tie=self.kind == "above"),)
        return (Margin((one,), zero, tie=self.kind == "from"),)


@dataclass(frozen=True, slots=True)
class OwnTree:
    """One tree over the model's columns.

    Attributes
    ----------
    column
        The column tested at each node, -1 at a leaf.
    split
        What goes left at each node.
    left, right
        The children.
    values
        The scores that a leaf adds.
    """

    column: tuple[int, ...]
    split: tuple[Split | None, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    values: tuple[tuple[Fraction, ...], ...]

    def leaf(self, row: Sequence[Any]) -> int:
        """Return the leaf that a row of the model's columns reaches."""
        node = 0
        while self.column[node] >= 0:
            here = goes_left(self.split[node] or frozenset(), row[self.column[node]])
            node = self.left[node] if here else self.right[node]
        return node


@dataclass(frozen=True, slots=True)
class TreeForm:
    """Trees that are added up.

    Attributes
    ----------
    trees
        The trees.
    base
        What every score starts from.
    rule
        From scores to output.
    columns
        What the trees see.
    """

    trees: tuple[OwnTree, ...]
    base: tuple[Fraction, ...]
    rule: Rule
    columns: tuple[Seen, ...]

    def tests(self) -> Iterator[tuple[Seen, Split]]:
        """Iterate over all tests of all trees."""
        for tree in self.trees:
            for column, split in zip(tree.column, tree.split, strict=True):
                if column >= 0 and split is not None:
                    yield self.columns[column], split

    def fits(self, domain: Domain) -> bool:
        """Tell whether every test means something over the domain."""
        return all(fits(split, seen, domain.features[seen.feature]) for seen, split in self.tests())

    def bounds(self, domain: Domain) -> list[set[Bound]]:
        """Return where each feature is cut; a feature whose column is a list, at every value."""
        found: list[set[Bound]] = [set() for _ in domain.features]
        for seen, split in self.tests():
            feature = domain.features[seen.feature]
            if seen.entries is None:
                found[seen.feature].update(cuts_of(split))
            elif isinstance(feature, Integer):
                found[seen.feature].update((Fraction(k), True) for k in range(feature.low, feature.high))
        return found

    def output(self, numbers: Sequence[Fraction], domain: Domain) -> Any:
        """Return the exact output at a point."""
        row = [seen.at(domain.features[seen.feature], numbers[seen.feature]) for seen in self.columns]
        scores = list(self.base)
        for tree in self.trees:
            scores = [a + b for a, b in zip(scores, tree.values[tree.leaf(row)], strict=True)]
        return self.rule.output(scores)


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Scores that are sums over features.

    Attributes
    ----------
    slopes
        Per feature, what multiplies its value in each score; None where entries are given.
    entries
        Per discrete feature, what each value adds to each score; None where a number is multiplied.
    base
        The constant of each score.
    rule
        From scores to output.
    """

    slopes: tuple[tuple[Fraction, ...] | None, ...]
    entries: tuple[tuple[tuple[Fraction, ...], ...] | None, ...]
    base: tuple[Fraction, ...]
    rule: Rule

    def row(self, i: int, number: Fraction, feature: Feature) -> tuple[Fraction, ...]:
        """Return what a feature adds to each score at a value; that of a categorical feature is its position."""
        entries = self.entries[i]
        if entries is None:
            return tuple(slope * number for slope in self.slopes[i] or ())
        return entries[int(number) - (feature.low if isinstance(feature, Integer) else 0)]

    def output(self, numbers: Sequence[Fraction], domain: Domain) -> Any:
        """Return the exact output at a point."""
        scores = list(self.base)
        for i, (number, feature) in enumerate(zip(numbers, domain.features, strict=True)):
            scores = [a + b for a, b in zip(scores, self.row(i, number, feature), strict=True)]
        return self.rule.output(scores)


@dataclass(frozen=True, slots=True)
class CellForm:
    """A model of which only the cuts are known: it is a function of the cells between them."""

    cuts: tuple[frozenset[Bound], ...]

    def bounds(self, domain: Domain) -> list[set[Bound]]:
        """Return where each feature is cut."""
        return [set(cuts) for cuts in self.cuts]


Form = TreeForm | LinearForm | CellForm


def form_of(model: Any, domain: Domain) -> Form | None:
    """Return the model as its library's dump has it; None where only ``predict`` is to be had."""
    if library_of(model) is not None:
        found = read_inner(model, domain, columns_of(domain))
        return None if isinstance(found, TreeForm) and not found.fits(domain) else found
    if hasattr(model, "parts") and hasattr(model, "denominator"):
        return _read_parts(model)
    grid = getattr(model, "grid", None)
    if grid is not None:
        cuts = (frozenset((Fraction(c.value), bool(c.closed)) for c in axis.cuts) for axis in grid.axes)
        return CellForm(tuple(cuts))
    return None


def _read_parts(model: Any) -> LinearForm:
    """Return a neutral linear model, which holds integers over one denominator."""
    slopes: list[Any] = []
    entries: list[Any] = []
    for part in model.parts:
        if hasattr(part, "factors"):
            slopes.append(tuple(Fraction(f, model.denominator) for f in part.factors))
            entries.append(None)
        else:
            slopes.append(None)
            rows = zip(*part.rows, strict=True)
            entries.append(tuple(tuple(Fraction(e, model.denominator) for e in row) for row in rows))
    kinds: dict[str, Any] = {"Positive": "above", "Argmax": "largest", "Score": "itself"}
    scale = getattr(model.rule, "scale", Fraction(1))
    rule = Rule(kinds[type(model.rule).__name__], getattr(model.rule, "labels", ()), scale)
    return LinearForm(tuple(slopes), tuple(entries), tuple(Fraction(b, model.denominator) for b in model.base), rule)


Columns = tuple[Seen, ...]


def _read_sklearn(model: Any, domain: Domain, columns: Columns) -> Form | None:
    from axfi_kc.verification.reading.sklearn import sklearn_form

    return sklearn_form(model, domain, columns)


def _read_xgboost(model: Any, domain: Domain, columns: Columns) -> Form | None:
    from axfi_kc.verification.reading.xgboost import xgboost_form

    return xgboost_form(model, columns)


def _read_lightgbm(model: Any, domain: Domain, columns: Columns) -> Form | None:
    from axfi_kc.verification.reading.lightgbm import lightgbm_form

    return lightgbm_form(model, columns)


_READERS: dict[str, Callable[[Any, Domain, Columns], Form | None]] = {
    "sklearn": _read_sklearn,
    "xgboost": _read_xgboost,
    "lightgbm": _read_lightgbm,
}


def read_inner(model: Any, domain: Domain, columns: Columns) -> Form | None:
    """Return the last step of a pipeline, which sees `columns`; None where nothing can be read."""
    reader = _READERS.get(library_of(model) or "")
    return None if reader is None or class_name(model) is None else reader(model, domain, columns)


def class_name(model: Any) -> str | None:
    """Return the name of the library's class that a model or transformer works as; None where it has ways of its own.

    What a subclass overrides is in no dump, so nothing may be proved from one.
    """
    kind = library_class(model)
    return None if kind is None or override_of(model, kind) is not None else kind.__name__
