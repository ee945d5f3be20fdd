"""The points of a grid that can exist: the constraints of a domain over the cells of a model.

Every constraint holds on all of a cell or on nothing of it, because grids are cut where constraints cut. So it is a
Boolean function of cells, kept as a reduced ordered diagram. A search over sums of trees carries it as *penalty
trees*: one more tree per constraint, 0 where it holds and so far below zero elsewhere that no sum makes up for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget, preparation
from axfi_kc.circuits.circuit import Circuit
from axfi_kc.circuits.files.circuit_constraint import CircuitConstraint
from axfi_kc.circuits.queries.boxes import CircuitBoxes
from axfi_kc.circuits.targets.mdd_nodes import MddNodes
from axfi_kc.domain.constraints import All, Between, Constraint, Implies, Not, Some
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.domain.region import Near
from axfi_kc.errors import DomainError
from axfi_kc.models.box_model import Boxes
from axfi_kc.models.restriction import circuit_on, code_inside
from axfi_kc.models.tree_sum import Margins, TreeSum

__all__ = [
    "Support",
    "excluded",
    "penalised",
    "positive_share",
    "possible_boxes",
    "possible_points",
    "possible_share",
    "support_of",
    "unlimited",
]


_FALSE, _TRUE = 0, 1
_MOST_COMBINATIONS = 1_000_000  # of cells that one comparison is asked about
_MOST_BOXES = 200_000
_MOST_SUMS = 50_000  # of the distances of cells
_MOST_LEAVES = 20_000  # of one penalty tree
Cells = npt.NDArray[np.int64]


@dataclass(eq=False)
class Support:
    """The possible points, as nodes of a diagram.

    Attributes
    ----------
    grid
        The cells.
    nodes, root
        The diagram of the points that meet all constraints.
    roots
        That of each constraint.
    """

    grid: Grid
    nodes: MddNodes = field(repr=False)
    root: int
    roots: tuple[int, ...]

    @cached_property
    def circuit(self) -> Circuit:
        """The possible points as a circuit over cells."""
        return self.nodes.circuit(self.root)

    @cached_property
    def as_boxes(self) -> CircuitBoxes:
        """The possible points, to be listed as boxes."""
        return CircuitBoxes(self.circuit)

    @cached_property
    def scope(self) -> int:
        """The features that constraints are about, as a mask."""
        return sum(1 << self.nodes.order[p] for p in {self.nodes.places[n] for n in self.nodes.reached(self.root)})

    def holds(self, cells: Sequence[int]) -> bool:
        """Tell whether a point is possible."""
        node = self.root
        while node > _TRUE:
            node = self._child(node, cells[self.nodes.order[self.nodes.places[node]]])
        return node == _TRUE

    def _child(self, node: int, cell: int) -> int:
        runs = self.nodes.runs[node]
        return next(child for end, child in zip(runs[::2], runs[1::2], strict=True) if cell < end)

    def verdict(self, cells: Sequence[Collection[int]]) -> tuple[bool, bool]:
        """Tell whether some point of a box, given by the cells of each feature, is possible, and whether all are."""
        known = {_FALSE: (False, False), _TRUE: (True, True)}

        def asked(node: int) -> tuple[bool, bool]:
            if node not in known:
                inside = cells[self.nodes.order[self.nodes.places[node]]]
                below = [asked(child) for child in {self._child(node, c) for c in inside}]
                known[node] = any(some for some, _ in below), all(every for _, every in below)
            return known[node]

        return asked(self.root)

    def share(self, v: Sequence[int], free: int) -> Fraction:
        """Return the probability of the possible points, given that they agree with v outside the features `free`.

        Notes
        -----
        A pass over the diagram; the result depends only on the features that constraints are about, and is kept.
        """
        key = (free & self.scope, *(v[i] for i in self.constrained))
        if key not in self._shares:
            self._shares[key] = self._share(v, free)
        return self._shares[key]

    @cached_property
    def _shares(self) -> dict[tuple[int, ...], Fraction]:
        return {}

    @cached_property
    def constrained(self) -> list[int]:
        """The features that constraints are about."""
        return [i for i in range(len(self.grid.axes)) if self.scope >> i & 1]

    def _share(self, v: Sequence[int], free: int) -> Fraction:
        known = {_FALSE: Fraction(0), _TRUE: Fraction(1)}
        for node in self.nodes.reached(self.root):
            i = self.nodes.order[self.nodes.places[node]]
            if not free >> i & 1:
                known[node] = known[self._child(node, v[i])]
                continue
            axis, total, first = self.grid.axes[i], Fraction(0), 0
            for end, child in zip(self.nodes.runs[node][::2], self.nodes.runs[node][1::2], strict=True):
                total += sum(axis.numerators[first:end]) * known[child]
                first = end
            known[node] = total / axis.denominator
        return known[self.root]

    def boxes(self) -> Iterator[dict[int, list[int]]]:
        """Iterate over disjoint boxes that together are the possible points: ``{feature: cells}``."""
        stack: list[tuple[int, dict[int, list[int]]]] = [(self.root, {})]
        while stack:
            at, box = stack.pop()
            if at == _TRUE:
                yield box
            elif at != _FALSE:
                i = self.nodes.order[self.nodes.places[at]]
                stack += [(child, {**box, i: cells}) for child, cells in self._arcs(at)]

    def _arcs(self, node: int) -> list[tuple[int, list[int]]]:
        """Return the children of a node, each with all of its cells."""
        found: dict[int, list[int]] = {}
        runs, first = self.nodes.runs[node], 0
        for end, child in zip(runs[::2], runs[1::2], strict=True):
            found.setdefault(child, []).extend(range(first, end))
            first = end
        return list(found.items())


def support_of(grid: Grid, *, budget: Budget | None = None) -> Support | None:
    """Return the possible points of a grid; None if its domain has no constraints.

    Parameters
    ----------
    grid
        The cells.
    budget
        What it may cost; by default what is left for :func:`~axfi_kc.budget.preparation`.

    Raises
    ------
    DomainError, BudgetError
        If no point is possible; or if the budget was spent.
    """
    domain = grid.domain
    if not domain.constraints:
        return None
    mentioned = dict.fromkeys(domain.index(name) for c in domain.constraints for name in c.names)
    order = [*mentioned, *(i for i in range(len(domain)) if i not in mentioned)]
    advice = "allow more, or name features that constraints link one after the other"
    account = Account(budget or preparation(), goal="diagram of the constraints", advice=advice)
    nodes = MddNodes(grid, order, account=account)
    roots = tuple(_compiled(c, nodes) for c in domain.constraints)
    root = _TRUE
    for n, other in enumerate(roots):
        root = nodes.conjoined(root, other)
        if root == _FALSE:
            earlier = "; ".join(map(str, domain.constraints[:n]))
            raise DomainError(
                f"The constraints contradict each other, so that no point is possible: {domain.constraints[n]}"
                f"{f' cannot hold together with {earlier}' if earlier else ' never holds'}; leave one out."
            )
    nodes.charge(Account(None, goal="diagram"))  # whoever asks more of them later
    return Support(grid, nodes, root, roots)


def unlimited(grid: Grid) -> Support:
    """Return the possible points of a grid where all are, whatever its domain says."""
    order = list(range(len(grid.axes)))
    return Support(grid, MddNodes(grid, order, account=Account(None, goal="diagram")), _TRUE, ())


def possible_share(grid: Grid, fixed: Mapping[int, int] | None = None) -> Fraction:
    """Return the probability that a point is possible, given the cells of some features; 1 without constraints.

    Raises
    ------
    DomainError
        If it is 0, so that nothing has a probability among the possible points.

    Examples
    --------
    >>> from axfi_kc.domain import Domain, Integer
    >>> from axfi_kc.domain.constraints import feature
    >>> domain = Domain([Integer("a", 0, 1), Integer("b", 0, 1)]).where(feature("a") <= feature("b"))
    >>> possible_share(Grid.of_values(domain)), possible_share(Grid.of_values(domain), {0: 1})
    (Fraction(3, 4), Fraction(1, 2))
    """
    support = support_of(grid)
    if support is None:
        return Fraction(1)
    cells = [(fixed or {}).get(i, 0) for i in range(len(grid.axes))]
    free = sum(1 << i for i in range(len(cells)) if i not in (fixed or {}))
    return positive_share(support.share(cells, free))


def positive_share(share: Fraction, names: Sequence[str] = ()) -> Fraction:
    """Return the probability of possible points that others are divided by; DomainError if it is 0.

    `names` are those of the features that change, if not all do.
    """
    if not share:
        where = f", where only {', '.join(map(repr, names))} may change," if names else ""
        raise DomainError(
            f"The points that the constraints leave{where} have probability 0, so that nothing has a probability among "
            "them; give their values a measure, or use weights='count' or weights='unit'."
        )
    return share


@checked("budget")
def possible_points(domain: Domain, *, budget: Budget | None = None) -> Circuit:
    """Return the points of a domain that can exist as a circuit, to be counted, drawn and saved.

    Parameters
    ----------
    domain
        With constraints.
    budget
        What it may cost; its nodes are those of diagrams.

    Raises
    ------
    DomainError, BudgetError
        If the domain has no constraints, or no point meets them; or if the budget was spent.

    Examples
    --------
    >>> from axfi_kc.circuits.queries import count
    >>> from axfi_kc.domain.constraints import at_most_one
    >>> from axfi_kc.domain.features import Integer
    >>> flags = Domain([Integer(name, 0, 1) for name in "abc"]).where(at_most_one("a", "b", "c"))
    >>> count(possible_points(flags))
    4
    """
    if not isinstance(domain, Domain):
        raise DomainError(f"Expected a domain with constraints, but {quoted(domain)} was given.")
    support = support_of(Grid.of(domain, [()] * len(domain)), budget=budget)
    if support is None:
        raise DomainError("Every point of this domain can exist: it has no constraints; add some with domain.where.")
    return support.circuit


def _compiled(constraint: Constraint, nodes: MddNodes) -> int:
    """Return the node of a constraint."""
    below = [_compiled(part, nodes) for part in constraint.parts]
    if isinstance(constraint, All):
        return _reduced(nodes.conjoined, below, _TRUE)
    if isinstance(constraint, Some):
        return _reduced(nodes.disjoined, below, _FALSE)
    if isinstance(constraint, Implies):
        return nodes.disjoined(nodes.complement(below[0]), below[1])
    if isinstance(constraint, Not):
        return nodes.complement(below[0])
    if isinstance(constraint, Between):
        return _counted(below, constraint, nodes)
    if isinstance(constraint, Near):
        return _added_up(constraint, nodes)
    if isinstance(constraint, CircuitConstraint):
        return nodes.load(circuit_on(constraint.circuit, nodes.grid))
    return _tabulated(constraint, nodes)


def _reduced(join: Any, below: Sequence[int], start: int) -> int:
    for node in below:
        start = join(start, node)
    return start


def _counted(below: Sequence[int], constraint: Between, nodes: MddNodes) -> int:
    """Return where the number of parts that hold lies within limits: after each part, one node per number so far."""
    so_far = [_TRUE]  # so_far[k]: exactly k of the parts seen hold
    for part in below:
        other = nodes.complement(part)
        stay = [nodes.conjoined(n, other) for n in so_far]
        more = [nodes.conjoined(n, part) for n in so_far]
        so_far = [nodes.disjoined(a, b) for a, b in zip([*stay, _FALSE], [_FALSE, *more], strict=True)]
        so_far = so_far[: constraint.most + 1]  # more than that will not do whatever follows
    return _reduced(nodes.disjoined, so_far[constraint.least :], _FALSE)


def _added_up(near: Near, nodes: MddNodes) -> int:
    """Return the cells that a ball meets: feature by feature, one node per distance so far."""
    domain, axes = nodes.grid.domain, nodes.grid.axes
    features = sorted((domain.index(name) for name in near.names), key=nodes.order.index)
    rows = [near.reaches(domain.names[i], axes[i]) for i in features]
    # What the rest adds at most: where even that is near, nothing more is asked.
    rest = list(itertools.accumulate((max(row.values()).radius for row in reversed(rows)), initial=Fraction(0)))[::-1]
    made: dict[tuple[int, Fraction, bool], int] = {}

    def grown(k: int, so_far: Fraction, is_open: bool) -> int:
        if so_far > near.radius or (is_open and so_far == near.radius):
            return _FALSE
        if k == len(rows) or so_far + rest[k] < near.radius:
            return _TRUE
        key = (k, so_far, is_open)
        if key not in made:
            nodes.spend(1)
            if len(made) > _MOST_SUMS:
                raise DomainError(
                    f"A ball of norm 'l1' needs more than {_MOST_SUMS} sums of distances here; take a smaller radius, "
                    "freeze features, or use norm='linf'."
                )
            cells = range(axes[features[k]].n_cells)
            far = [rows[k].get(c) for c in cells]  # a missing value is at no distance
            below = [_FALSE if f is None else grown(k + 1, so_far + f.radius, is_open or f.is_open) for f in far]
            made[key] = nodes.node(nodes.order.index(features[k]), range(1, len(cells) + 1), below)
        return made[key]

    return grown(0, Fraction(0), False)


def _tabulated(constraint: Constraint, nodes: MddNodes) -> int:
    """Return a comparison, asked at one point of each combination of cells of its features."""
    domain, grid = nodes.grid.domain, nodes.grid
    features = sorted((domain.index(name) for name in constraint.names), key=nodes.order.index)
    codes = [[code_inside(grid.axes[i], c) for c in range(grid.n_cells[i])] for i in features]
    size = int(np.prod([len(row) for row in codes], dtype=object))
    if size > _MOST_COMBINATIONS:
        raise DomainError(
            f"{constraint} is about {size} combinations of values, more than {_MOST_COMBINATIONS}; narrow the features."
        )
    point: list[Any] = [0.0] * len(domain)
    level = []
    for row in nodes.account.paced(product(*codes)):
        for i, code in zip(features, row, strict=True):
            point[i] = code
        level.append(int(constraint.holds(point, domain)))
    for i, of_feature in zip(reversed(features), reversed(codes), strict=True):
        n, place = len(of_feature), nodes.order.index(i)
        level = [nodes.node(place, range(1, n + 1), level[k : k + n]) for k in range(0, len(level), n)]
    return level[0]


def possible_boxes(boxes: Boxes, support: Support | None) -> Boxes:
    """Return the parts of boxes that are possible; points that are not lie in none of them.

    Notes
    -----
    The boxes times those of the constraints.
    """
    if support is None:
        return boxes
    kept = list(itertools.islice(support.boxes(), _MOST_BOXES // max(len(boxes), 1) + 1))
    if len(kept) * len(boxes) > _MOST_BOXES:
        raise DomainError(
            f"The constraints cut {len(boxes)} boxes into more than {_MOST_BOXES}; explain through target='mdd'."
        )
    parts = [_cut_boxes(boxes, box, support.scope) for box in kept]
    merged = {i: np.concatenate([part.subsets[i] for part in parts]) for i in parts[0].subsets}
    first, last, output = (np.concatenate([getattr(boxes, name)] * len(parts)) for name in ("first", "last", "output"))
    alive = np.ones(len(output), dtype=np.bool_)
    for inside in merged.values():
        alive &= inside.any(axis=1)
    subsets = {i: inside[alive] for i, inside in merged.items()}
    return replace(boxes, first=first[alive], last=last[alive], output=output[alive], subsets=subsets, nodes=None)


def _cut_boxes(boxes: Boxes, box: dict[int, list[int]], scope: int) -> Boxes:
    """Return boxes cut by one more, all features that constraints are about as sets of cells."""
    subsets = dict(boxes.subsets)
    for i, n in enumerate(boxes.grid.n_cells):
        if not scope >> i & 1:
            continue
        cells = np.arange(n)
        inside = subsets.get(i)
        if inside is None:
            inside = (cells >= boxes.first[:, [i]]) & (cells < boxes.last[:, [i]])
        subsets[i] = inside & np.isin(cells, box.get(i, cells))
    return replace(boxes, subsets=subsets)


def penalised(model: TreeSum, margins: Margins, support: Support | None) -> tuple[TreeSum, Margins]:
    """Return a sum of trees with a tree per constraint, and margins that are positive at possible points only."""
    if support is None:
        return model, margins
    wider, flags = _with_constraints(model, support)
    most = _largest_sums(model, margins)
    extra = np.array([[-bad * m for m in most] for bad in flags], dtype=object).reshape(len(flags), len(most))
    values = np.concatenate([margins.values, extra])
    return wider, replace(margins, values=values, n_trees=wider.n_trees)


def excluded(model: TreeSum, margins: Margins, support: Support | None) -> tuple[TreeSum, Margins]:
    """Return a sum of trees with a tree per constraint, and one more margin, which is positive at impossible points."""
    if support is None:
        return model, margins
    wider, flags = _with_constraints(model, support)
    values = np.zeros((len(margins.values) + len(flags), len(margins.base) + 1), dtype=object)
    values[: len(margins.values), :-1] = margins.values
    values[len(margins.values) :, -1] = [int(bad) for bad in flags]
    return wider, replace(margins, values=values, base=np.append(margins.base, 0), n_trees=wider.n_trees)


def _with_constraints(model: TreeSum, support: Support) -> tuple[TreeSum, list[bool]]:
    """Return a sum with a tree per constraint, and for each of their leaves whether it is violated there."""
    flags: list[bool] = []
    for tree in (tree for root in support.roots for tree in _penalty_trees(support, root)):
        model = _with_tree(model, tree)
        flags += [violated for *_, violated in tree if violated is not None]
    return model, flags


def _largest_sums(model: TreeSum, margins: Margins) -> list[int]:
    """Return for each sum what it can never exceed, and at least 1: the price of a violated constraint."""
    most = margins.base.tolist()
    for first, end in itertools.pairwise(model.tree_offset.tolist()):
        rows = model.leaf[first:end]
        best = margins.values[rows[rows >= 0]].max(axis=0).tolist()
        most = [a + b for a, b in zip(most, best, strict=True)]
    return [max(m, 1) for m in most]


# feature, cells that go left, left child, right child, and at a leaf whether the constraint is violated
_Node = tuple[int, list[int] | None, int, int, bool | None]


def _penalty_trees(support: Support, root: int) -> list[list[_Node]]:
    """Return a constraint as trees: its diagram unrolled, each node a chain of tests."""
    tree: list[_Node] = []

    def leaf(violated: bool) -> int:
        tree.append((-1, None, -1, -1, violated))
        return len(tree) - 1

    def grown(node: int) -> int:
        if len(tree) > _MOST_LEAVES:
            raise DomainError(
                "A constraint needs too large a tree to be searched with a sum of trees; split it into several, or "
                "explain through target='mdd'."
            )
        if node <= _TRUE:
            return leaf(node == _FALSE)
        feature = support.nodes.order[support.nodes.places[node]]
        arcs = support._arcs(node)
        at = rest = -1
        for k, (child, cells) in enumerate(arcs[:-1]):
            place = len(tree)
            tree.append((feature, cells, -1, -1, None))
            if k == 0:
                at = place
            else:
                tree[rest] = (*tree[rest][:3], place, None)
            below = grown(child)
            tree[place] = (feature, cells, below, -1, None)
            rest = place
        last = grown(arcs[-1][0])
        tree[rest] = (*tree[rest][:3], last, None)
        return at

    grown(root)
    return [tree]


def _with_tree(model: TreeSum, tree: list[_Node]) -> TreeSum:
    """Return a sum with one more tree, whose leaves add nothing."""
    first, leaves = len(model.feature), len(model.values)
    masks, offsets, at = [], [], len(model.left_mask)
    for feature, cells, *_ in tree:
        offsets.append(at)
        if cells is not None:
            mask = np.zeros(model.grid.n_cells[feature], np.uint8)
            mask[cells] = 1
            masks.append(mask)
            at += len(mask)
    is_leaf = [cells is None for _, cells, *_ in tree]
    numbers = np.where(is_leaf, leaves + np.cumsum(is_leaf) - 1, -1)
    children = [[-1 if child < 0 else first + child for child in row[2:4]] for row in tree]
    return replace(
        model,
        tree_offset=np.append(model.tree_offset, first + len(tree)),
        feature=np.append(model.feature, [f for f, *_ in tree]).astype(np.int32),
        left=np.append(model.left, [a for a, _ in children]).astype(np.int32),
        right=np.append(model.right, [b for _, b in children]).astype(np.int32),
        mask_offset=np.append(model.mask_offset, offsets).astype(np.int64),
        left_mask=np.concatenate([model.left_mask, *masks]),
        leaf=np.append(model.leaf, numbers).astype(np.int32),
        values=np.concatenate([model.values, np.zeros((sum(is_leaf), model.values.shape[1]))]),
    )
