"""Orange3 decision trees.

Orange compares in float64 and sends x to the first branch iff ``x <= threshold``. A node on a
discrete attribute sends each value (an index into ``attribute.values``) to a branch of its own
or, binarised, to the one of two branches that a mapping names. Where a branch is missing,
because too few training rows took it, the node itself answers. A class is the lowest index of
the largest probability, and is reported by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from Orange.classification.tree import SklTreeClassifier
from Orange.preprocess.impute import ReplaceUnknowns
from Orange.regression.tree import SklTreeRegressor
from Orange.tree import MappedDiscreteNode, NumericNode, TreeModel

from axfi_kc.compilers.readers import read_model, reads
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Feature, Real
from axfi_kc.domain.from_tables import listing
from axfi_kc.domain.grid import Grid, float64_cut
from axfi_kc.domain.measures import Number
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models import Argmax, Score, Split, TreeNodes, TreeSum
from axfi_kc.models.own_predict import Codes, Predict, compares, numbers_of, predicts

__all__ = ["domain_of"]


def domain_of(data: Any, *, bounds: Mapping[str, tuple[Number, Number]] | None = None) -> Domain:
    """Return the space that the attributes of an Orange table, or of its domain, span.

    A discrete attribute becomes a categorical feature with all of its declared values, by
    name; a continuous one becomes a real feature from the least to the largest known value.

    Parameters
    ----------
    data
        An ``Orange.data.Table``, or an ``Orange.data.Domain``, which holds no numbers: it needs
        `bounds` for every continuous attribute.
    bounds
        ``{attribute: (low, high)}`` of continuous attributes, in place of the data's own.

    Raises
    ------
    DomainError
        If a continuous attribute has neither data nor bounds, or bounds name something else.

    Notes
    -----
    Linear in the number of values. ``Orange.data.pandas_compat.table_to_frame`` turns a table
    into a DataFrame that :meth:`Explainer.explain_batch` takes once its class column is dropped.

    Examples
    --------
    >>> from Orange.data import ContinuousVariable, DiscreteVariable, Domain, Table
    >>> space = Domain([ContinuousVariable("age"), DiscreteVariable("race", values=("a", "b"))])
    >>> table = Table.from_list(space, [[18, "a"], [90, "a"]])
    >>> [f.describe() for f in domain_of(table).features]
    ['a number from 18 to 90', "one of 'a', 'b'"]
    """
    attributes = getattr(data, "domain", data).attributes
    given = dict(bounds or {})
    unused = set(given) - {a.name for a in attributes if a.is_continuous}
    if unused:
        raise DomainError(
            f"Bounds belong to continuous attributes, but were given for {min(unused)!r}, which is not one; drop them."
        )
    return Domain(_feature_of(attribute, data, given.get(attribute.name)) for attribute in attributes)


def _feature_of(attribute: Any, data: Any, bounds: tuple[Number, Number] | None) -> Feature:
    name = attribute.name
    if attribute.is_discrete:
        # The codes are what Orange's nodes test: positions among the values.
        return Categorical(name, attribute.values, columns=[name], codes=[(k,) for k in range(len(attribute.values))])
    if bounds is not None:
        return Real(name, *bounds)
    column = data.get_column(attribute) if hasattr(data, "get_column") else np.zeros(0)
    known = column[~np.isnan(column)]
    if not len(known):
        raise DomainError(
            f"Continuous attribute {name!r} has no known value to take bounds from; "
            f"give a table that has some, or bounds={{{name!r}: (low, high)}}."
        )
    return Real(name, float(known.min()), float(known.max()))


@reads(TreeModel)
def _tree(model: Any, domain: Domain) -> TreeSum:
    _check_attributes(model, domain)
    target = model.domain.class_var
    coded = Domain(_coded(domain, model.domain.attributes))
    values, rule = (_mean, Score()) if target.is_continuous else (_probabilities, Argmax(tuple(target.values)))
    form = TreeSum.of(coded, [_grown(model.root, coded).finished(values)], rule=rule)
    # Read in Orange's codes, then put on the user's domain: the values are in the same order, so cells keep numbers.
    return replace(form, grid=Grid.of(domain, [axis.cuts for axis in form.grid.axes]))


@reads(SklTreeClassifier)
def _scikit_classifier(model: Any, domain: Domain) -> TreeSum:
    names = model.domain.class_var.values
    # classes_ are positions among the values, without those that no training row had; these have no score at all.
    return replace(_scikit(model, domain), rule=Argmax(tuple(names[int(k)] for k in model.skl_model.classes_)))


@reads(SklTreeRegressor)
def _scikit(model: Any, domain: Domain) -> TreeSum:
    _check_attributes(model, domain)
    return cast(TreeSum, read_model(model.skl_model, domain))


@predicts(TreeModel)
@predicts(SklTreeClassifier)
@predicts(SklTreeRegressor)
@compares(TreeModel)
@compares(SklTreeClassifier)
@compares(SklTreeRegressor)
def _ask(model: Any, domain: Domain) -> Predict:
    """Ask by calling the model: Orange's ``predict`` gives rows of probabilities, and knows nothing of names."""
    coded, target = Domain(_coded(domain, model.domain.attributes)), model.domain.class_var

    def predict(codes: Codes) -> list[Any]:
        found = np.asarray(model(numbers_of(coded, codes))).tolist()
        return found if target.is_continuous else [target.values[int(k)] for k in found]

    return predict


def _check_attributes(model: Any, domain: Domain) -> None:
    """Raise unless the domain's columns are the attributes that the tree tests, unchanged."""
    tested = tuple(a.name for a in model.domain.attributes)
    if tested != domain.columns:
        raise DomainError(
            f"The tree was trained on columns {list(tested)}, but the domain describes {list(domain.columns)}; "
            "give the domain the same columns in the same order (domain_of makes it from the training table)."
        )
    original = {a.name: a for a in model.original_domain.attributes}
    changed = next((a for a in model.domain.attributes if not _is_same(a, original.get(a.name, a))), None)
    if changed is not None:
        raise UnsupportedModelError(
            f"The learner's preprocessors replaced the values of {changed.name!r} before training; "
            "apply them to the table first, and train on and explain the result."
        )


def _is_same(attribute: Any, original: Any) -> bool:
    """Tell whether two attributes of one name agree on every known value."""
    source = attribute.compute_value
    return attribute == original or (isinstance(source, ReplaceUnknowns) and source.variable == original)


def _coded(domain: Domain, attributes: Sequence[Any]) -> Iterator[Feature]:
    """Iterate over the features, with the codes of discrete attributes as Orange has them."""
    rest = iter(attributes)
    for feature in domain.features:
        own = [next(rest) for _ in feature.columns]
        if not any(a.is_discrete for a in own):
            yield feature
            continue
        if not isinstance(feature, Categorical):
            raise DomainError(
                f"Orange has {feature.name!r} as discrete, without an order, but the domain has it as "
                f"{feature.kind}; declare it categorical."
            )
        columns = [_indices(feature, c, a) if a.is_discrete else _codes(feature, c) for c, a in enumerate(own)]
        yield Categorical(feature.name, feature.values, columns=feature.columns, codes=list(zip(*columns, strict=True)))


def _codes(feature: Categorical, component: int) -> list[Any]:
    return [row[component] for row in feature.codes]


def _indices(feature: Categorical, component: int, attribute: Any) -> list[int]:
    """Return which of the attribute's values each code is: its index, or its name.

    Integers may be either (index 1, or the value called "1"). Codes apart from the values are
    the model's own, so indices; otherwise two readings that differ are refused, not guessed.
    """
    names, codes = list(attribute.values), _codes(feature, component)
    indices = [int(c) if _is_index(c, len(names)) else None for c in codes]
    by_name = [names.index(str(c)) if str(c) in names else None for c in codes]
    explicit = feature.codes != tuple((v,) for v in feature.values)
    # Indices first: where codes are explicit and both readings are possible, readings[0] is the one meant.
    readings = [r for r in (indices, by_name) if None not in r]
    if not readings:
        strange = next((c for c, k, n in zip(codes, indices, by_name, strict=True) if k is n is None), codes[0])
        raise DomainError(
            f"Feature {feature.name!r} holds {strange!r}, but must hold the Orange attribute's values, "
            f"{listing(names)}, or their indices; correct the domain."
        )
    if readings[0] != readings[-1] and not explicit:
        raise DomainError(
            f"Feature {feature.name!r} holds {codes[:4]}, which may be indices or names of the Orange attribute's "
            f"values {names[:4]}; give the names as strings, or make the domain with domain_of."
        )
    return [k for k in readings[0] if k is not None]


def _is_index(code: Any, size: int) -> bool:
    number = isinstance(code, int | float | np.number) and not isinstance(code, bool)
    return number and code in range(size)


def _mean(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the predictions of a regression from (mean, variance) rows."""
    if not np.isfinite(rows[:, 0]).all():
        raise UnsupportedModelError(
            "A leaf of this regression tree predicts NaN, the mean of no rows; train with min_samples_leaf >= 1."
        )
    return rows[:, :1]


def _probabilities(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the class probabilities of each leaf, rounded as Orange rounds them.

    Rounding can make a tie. A leaf without rows has 0/0 everywhere in Orange, whose argmax is
    the first class, as it is of zeros.
    """
    totals = np.sum(rows, axis=1)[:, np.newaxis]
    return np.divide(rows, totals, out=np.zeros_like(rows), where=totals != 0)


@dataclass(frozen=True, slots=True)
class _Growth:
    """A binary tree under construction: column, split and children of each node."""

    nodes: list[tuple[int, Split | None, int, int]] = field(default_factory=list)
    leaves: dict[int, Any] = field(default_factory=dict)

    def sprout(self) -> int:
        """Add a node without children and return its number."""
        self.nodes.append((-1, None, -1, -1))
        return len(self.nodes) - 1

    def split(self, at: int, column: int, split: Split) -> tuple[int, int]:
        """Split node `at` and return its children."""
        left, right = self.sprout(), self.sprout()
        self.nodes[at] = (column, split, left, right)
        return left, right

    def finished(self, values: Callable[..., npt.NDArray[np.float64]]) -> TreeNodes:
        """Return the tree, with the leaves' rows turned into `values`."""
        column, splits, left, right = zip(*self.nodes, strict=True)
        outputs = values(np.array(list(self.leaves.values()), dtype=np.float64))
        scores = np.zeros((len(self.nodes), outputs.shape[1]))
        scores[list(self.leaves)] = outputs
        return TreeNodes(np.array(column), splits, np.array(left), np.array(right), scores)


def _grown(root: Any, domain: Domain) -> _Growth:
    """Return the tree below `root` in binary nodes: n branches become a chain of n - 1 tests."""
    tree = _Growth()
    codes = [_codes(f, c) if isinstance(f, Categorical) else [] for f in domain.features for c in range(len(f.columns))]
    stack = [(tree.sprout(), root)]
    while stack:
        at, node = stack.pop()
        if not node.children:
            tree.leaves[at] = node.value
            continue
        for split, child in _branches(node, codes):
            here, at = (at, -1) if split is None else tree.split(at, node.attr_idx, split)
            if child is None:
                tree.leaves[here] = node.value
            else:
                stack.append((here, child))
    return tree


def _branches(node: Any, codes: Sequence[Sequence[Any]]) -> list[tuple[Split | None, Any]]:
    """Return what goes to each branch of `node`; the last takes what is left (None).

    A child of None stands for the node's own value.
    """
    if isinstance(node, NumericNode):
        return [(float64_cut(float(node.threshold)), node.children[0]), (None, node.children[1])]
    taken = _taken(node, codes[node.attr_idx])
    groups: dict[int, list[float]] = {}
    for code, branch in taken.items():
        # All missing branches give the node's own value, so they are one group that no test needs to tell apart.
        groups.setdefault(-1 if node.children[branch] is None else branch, []).append(float(code))
    children = [None if branch < 0 else node.children[branch] for branch in groups]
    splits: list[Split | None] = [frozenset(group) for group in groups.values()]
    return list(zip([*splits[:-1], None], children, strict=True))


def _taken(node: Any, codes: Sequence[int]) -> dict[int, int]:
    """Return the branch that each of the domain's values takes."""
    mapping = node.mapping if isinstance(node, MappedDiscreteNode) else range(len(node.children))
    late = next((c for c in codes if c >= len(mapping)), None)
    if late is not None:
        raise UnsupportedModelError(
            f"Value {node.attr.values[late]!r} was added to attribute {node.attr.name!r} after training, and the tree "
            "has no branch for it; train again, or leave it out of the domain."
        )
    return {code: int(mapping[code]) for code in codes}
