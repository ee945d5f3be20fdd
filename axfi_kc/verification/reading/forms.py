"""The model as the checker reads it from the library's dump: scores, and the sums whose signs say "not similar"."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Feature, Integer, is_missing
from axfi_kc.models.own_predict import library_class, override_of
from axfi_kc.verification.reading.columns import Seen, Split, cuts_of, fits, goes_left
from axfi_kc.verification.spaces import Bound, Number, first_of, number_of

__all__ = ["CellForm", "Form", "LinearForm", "Margin", "OwnTree", "Rule", "TreeForm", "class_name", "spread"]


Kind = Literal["above", "from", "largest", "itself"]
_NEAR = Fraction(1, 10**5)  # relative, of a tie: more than any library rounds


@dataclass(frozen=True, slots=True)
class Margin:
    """``sum of factors times scores + constant``; dissimilar where it is above 0, or also at 0 if `tie`."""

    factors: tuple[Fraction, ...]
    constant: Fraction
    tie: bool

    def part(self, scores: Sequence[Fraction]) -> Fraction:
        """Return what given scores add to the sum."""
        return sum((f * s for f, s in zip(self.factors, scores, strict=True)), Fraction(0))

    def holds(self, total: Fraction) -> bool:
        """Tell whether such a sum means dissimilar."""
        return total > 0 or (self.tie and total == 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a library turns scores into outputs."""

    # ``"above"``: the second label iff the score is above 0; ``"from"``: iff it is at least 0; ``"largest"``: the label
    # of the largest score, the first of several; ``"itself"``: the score times `scale`.
    kind: Kind
    labels: tuple[Hashable, ...] = ()  # the labels of a classifier
    scale: Fraction = Fraction(1)  # what a regression multiplies its score by

    @classmethod
    def of(
        cls, labels: tuple[Hashable, ...], n_scores: int, *, two: Kind = "above", scale: Fraction = Fraction(1)
    ) -> Rule:
        """Return the rule of a regression, if there are no labels, or of a classifier; `two` decides by one score."""
        if not labels:
            return cls("itself", scale=scale)
        return cls(two if n_scores == 1 and len(labels) == 2 else "largest", labels)

    def output(self, scores: Sequence[Fraction]) -> Any:
        """Return the output for given scores."""
        if self.kind == "largest":
            return self.labels[max(range(len(scores)), key=lambda k: (scores[k], -k))]
        if self.kind == "itself":
            return scores[0] * self.scale
        return self.labels[int(scores[0] > 0 or (self.kind == "from" and scores[0] == 0))]

    def is_close(self, scores: Sequence[Fraction]) -> bool:
        """Tell whether scores are so near a tie between labels that a library may break it otherwise.

        Examples
        --------
        >>> rule = Rule("above", (0, 1))
        >>> rule.is_close((Fraction(1, 10**9),)), rule.is_close((Fraction(1, 9),))
        (True, False)
        """
        if self.kind == "itself":
            return False
        first, second = sorted((*scores, *[Fraction(0)] * (self.kind != "largest")), reverse=True)[:2]
        return first - second <= _NEAR * (1 + max(map(abs, scores)))

    def knows(self, prediction: Any, delta: Fraction | None, toward: Any = None) -> bool:
        """Tell whether such an output exists, so that others can be compared with it."""
        if self.kind == "itself":
            return delta is not None and toward is None
        return delta is None and prediction in self.labels and (toward is None or toward in self.labels)

    def margins(self, prediction: Any, delta: Fraction | None, n_scores: int) -> tuple[Margin, ...]:
        """Return the sums that are above 0 where the output is not similar to `prediction`.

        Examples
        --------
        >>> Rule("above", (0, 1)).margins(1, None, 1)
        (Margin(factors=(Fraction(-1, 1),), constant=Fraction(0, 1), tie=True),)
        """
        zero = Fraction(0)
        if self.kind == "itself":
            centre, reach = Fraction(prediction), delta or zero
            above, below = (self.scale, -centre - reach), (-self.scale, centre - reach)
            return tuple(Margin((factor,), constant, tie=False) for factor, constant in (above, below))
        own, scores = self.labels.index(prediction), range(n_scores)
        if self.kind == "largest":
            # Of equal scores the first wins, so only those before the own one win a tie against it.
            return tuple(
                Margin(tuple(Fraction((j == k) - (j == own)) for j in scores), zero, tie=k < own)
                for k in scores
                if k != own
            )
        return (Margin((Fraction(-1 if own else 1),), zero, tie=self.kind == ("above" if own else "from")),)


@dataclass(frozen=True, slots=True)
class OwnTree:
    """One tree over the model's columns."""

    column: tuple[int, ...]  # the column tested at each node, -1 at a leaf
    split: tuple[Split | None, ...]  # what goes left at each node
    left: tuple[int, ...]
    right: tuple[int, ...]
    values: tuple[tuple[Fraction, ...], ...]  # the scores that a leaf adds
    missing: tuple[bool, ...] | None  # whether what is missing goes left at each node; None: the library refuses it

    @classmethod
    def of(
        cls,
        leaf: Sequence[bool],
        column: Iterable[int],
        split: Iterable[Split | None],
        children: tuple[Iterable[int], Iterable[int]],
        values: tuple[tuple[Fraction, ...], ...],
        missing: Iterable[Any] | None = None,
    ) -> OwnTree:
        """Return a tree from a library's lists, which hold columns and splits at leaves too."""
        tests = (-1 if at_leaf else int(c) for at_leaf, c in zip(leaf, column, strict=True))
        splits = (None if at_leaf else s for at_leaf, s in zip(leaf, split, strict=True))
        sides = None if missing is None else tuple(map(bool, missing))
        return cls(tuple(tests), tuple(splits), tuple(children[0]), tuple(children[1]), values, sides)

    def sends_left(self, node: int, entry: Any) -> bool:
        """Tell whether an entry of the column that a node tests goes left there."""
        return goes_left(self.split[node] or frozenset(), entry, missing=bool(self.missing and self.missing[node]))

    def leaf(self, row: Sequence[Any]) -> int:
        """Return the leaf that a row of the model's columns reaches."""
        node = 0
        while self.column[node] >= 0:
            here = self.sends_left(node, row[self.column[node]])
            node = self.left[node] if here else self.right[node]
        return node


def spread(values: Iterable[float | Fraction], place: int, width: int) -> tuple[tuple[Fraction, ...], ...]:
    """Return for each value the scores of a leaf that adds it to one of `width` scores."""
    zeros = (Fraction(0),) * width
    return tuple((*zeros[:place], Fraction(value), *zeros[place + 1 :]) for value in values)


@dataclass(frozen=True, slots=True)
class TreeForm:
    """Trees that are added up."""

    trees: tuple[OwnTree, ...]
    base: tuple[Fraction, ...]  # what every score starts from
    rule: Rule | None  # None: what the trees say together is left to ``predict``, and only their cells are known
    columns: tuple[Seen, ...]  # what the trees see

    def tests(self) -> Iterator[tuple[Seen, Split]]:
        """Iterate over all tests of all trees."""
        for tree in self.trees:
            for column, split in zip(tree.column, tree.split, strict=True):
                if column >= 0 and split is not None:
                    yield self.columns[column], split

    def fits(self, domain: Domain) -> bool:
        """Tell whether every test means something over the domain, where values are missing too."""
        blank = any(domain.features[s.feature].missing and is_missing(s.absent) for s in self.columns)
        if blank and any(tree.missing is None for tree in self.trees):
            return False
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

    def scores(self, codes: Sequence[float], domain: Domain) -> list[Fraction]:
        """Return the exact scores at a point."""
        row = [seen.at(domain.features[seen.feature], number_of(codes[seen.feature])) for seen in self.columns]
        scores = list(self.base)
        for tree in self.trees:
            scores = [a + b for a, b in zip(scores, tree.values[tree.leaf(row)], strict=True)]
        return scores

    def output(self, codes: Sequence[float], domain: Domain) -> Any:
        """Return the exact output at a point."""
        return None if self.rule is None else self.rule.output(self.scores(codes, domain))


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Scores that are sums over features."""

    # Per feature, what multiplies its value in each score; None where entries are given.
    slopes: tuple[tuple[Fraction, ...] | None, ...]
    # Per discrete feature, what each value adds to each score; None where a number is multiplied.
    entries: tuple[tuple[tuple[Fraction, ...], ...] | None, ...]
    base: tuple[Fraction, ...]  # the constant of each score
    rule: Rule
    # Per feature, what the missing value adds to each score; None where the library has nothing to add.
    absent: tuple[tuple[Fraction, ...] | None, ...]

    def fits(self, domain: Domain) -> bool:
        """Tell whether there is a score wherever values are missing."""
        return not any(f.missing and a is None for f, a in zip(domain.features, self.absent, strict=True))

    def row(self, i: int, number: Number, feature: Feature) -> tuple[Fraction, ...]:
        """Return what a feature adds to each score at a value."""
        entries = self.entries[i]
        if number is None:
            return self.absent[i] or ()
        if entries is None:
            return tuple(slope * number for slope in self.slopes[i] or ())
        return entries[int(number) - first_of(feature)]

    def scores(self, codes: Sequence[float], domain: Domain) -> list[Fraction]:
        """Return the exact scores at a point."""
        scores = list(self.base)
        for i, (code, feature) in enumerate(zip(codes, domain.features, strict=True)):
            scores = [a + b for a, b in zip(scores, self.row(i, number_of(code), feature), strict=True)]
        return scores

    def output(self, codes: Sequence[float], domain: Domain) -> Any:
        """Return the exact output at a point."""
        return self.rule.output(self.scores(codes, domain))


@dataclass(frozen=True, slots=True)
class CellForm:
    """A model of which only the cuts are known: it is a function of the cells between them."""

    cuts: tuple[frozenset[Bound], ...]

    def fits(self, domain: Domain) -> bool:
        """Tell that cells are cells over any domain."""
        return True

    def bounds(self, domain: Domain) -> list[set[Bound]]:
        """Return where each feature is cut."""
        return [set(cuts) for cuts in self.cuts]


Form = TreeForm | LinearForm | CellForm


def class_name(model: Any) -> str | None:
    """Return the name of the library's class that a model or transformer works as; None where it has ways of its own.

    What a subclass overrides is in no dump, so nothing may be proved from one.
    """
    kind = library_class(model)
    return None if kind is None or override_of(model, kind) is not None else kind.__name__
