"""A model as a partition of the space into boxes, each with one output.

The paths of a decision tree are such boxes, and so are the points of a truth table. CXps and
their weights can be read off them in one pass, without search.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, paced
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import DomainError, UnsupportedModelError
from axfi_kc.models.base import ListedModel, Model, Uses
from axfi_kc.models.circuit_model import CircuitModel
from axfi_kc.models.linear_model import LinearModel
from axfi_kc.models.table_model import TableModel
from axfi_kc.models.tree_sum import TreeSum

__all__ = ["Boxes", "boxes_of", "relabelled"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Boxes(ListedModel):
    """Disjoint boxes that cover the space.

    Attributes
    ----------
    grid
        The cells of each feature.
    first, last
        Box b holds cells ``first[b, i] <= c < last[b, i]`` of feature i ...
    subsets
        ... and, for a feature i split by sets of values, of these only the cells c with
        ``subsets[i][b, c]``.
    output
        The position in `outputs` of each box's output.
    outputs
        The distinct outputs.
    nodes
        Which leaf of a tree each box is, as its position among the nodes; None where they come from no tree.
    """

    grid: Grid
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    subsets: dict[int, npt.NDArray[np.bool_]]
    output: npt.NDArray[np.int32]
    outputs: tuple[Hashable, ...]
    nodes: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Return the number of boxes."""
        return len(self.output)

    @property
    def words(self) -> str:
        """What the model is, for people."""
        return f"partition into {len(self)} box{'' if len(self) == 1 else 'es'}"

    def uses(self) -> Uses:
        """Return how many boxes restrict each feature, and which features each box restricts."""
        groups = [frozenset(i for i, _ in self.literals(b)) for b in range(len(self))]
        features = range(len(self.grid.axes))
        return Uses(np.array([sum(i in g for g in groups) for i in features], dtype=np.float64), groups)

    def decide(self, cells: npt.NDArray[np.int64]) -> list[Hashable]:
        """Return the outputs at points given by their cells, a row each."""
        missed = np.zeros((len(cells), len(self)), dtype=np.bool_)
        for i in range(cells.shape[1]):
            missed |= self.misses(i, cells[:, i])
        # The boxes partition the space, so each row has exactly one False, and argmin finds it.
        return [self.outputs[k] for k in self.output[np.argmin(missed, axis=1)].tolist()]

    def cells(self, box: int, feature: int) -> list[int]:
        """Return the cells of `feature` that `box` holds."""
        span = range(int(self.first[box, feature]), int(self.last[box, feature]))
        inside = self.subsets.get(feature)
        return [c for c in span if inside is None or inside[box, c]]

    def literals(self, box: int) -> list[tuple[int, list[int]]]:
        """Return the features that `box` restricts, each with its cells."""
        found = ((i, self.cells(box, i)) for i in range(len(self.grid.axes)))
        return [(i, cells) for i, cells in found if len(cells) < self.grid.n_cells[i]]

    def misses(self, feature: int, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell for each point (its cell of `feature`) and each box whether the box misses it."""
        inside = self.subsets.get(feature)
        if inside is not None:
            return ~inside.T[cells]
        at = cells[:, np.newaxis]
        return (at < self.first[:, feature]) | (at >= self.last[:, feature])

    def worths(self, worth: Sequence[Sequence[int]], *, wide: bool, account: Account | None = None) -> npt.NDArray[Any]:
        """Return what each box is worth on each feature: the sum over its cells.

        Parameters
        ----------
        worth
            Per feature, the worth of each cell.
        wide
            Whether to hold Python integers (any size) or int64.
        account
            Under which it is done, if there is a budget.
        """
        dtype = object if wide else np.int64
        if account is not None:
            account.require(self.first.size * np.dtype(dtype).itemsize)
        found = np.empty(self.first.shape, dtype=dtype)
        for i, of_cell in enumerate(paced(worth, account, at_once=1)):
            inside = self.subsets.get(i)
            if inside is not None:
                found[:, i] = inside.astype(dtype) @ np.array(of_cell, dtype=dtype)
            else:
                # One difference of prefix sums per box; integers are not rounded, so it is the sum itself.
                below = np.cumsum(np.array([0, *of_cell], dtype=dtype))
                found[:, i] = below[self.last[:, i]] - below[self.first[:, i]]
        return found


@singledispatch
def boxes_of(model: Any) -> Boxes:
    """Return `model` as boxes.

    Notes
    -----
    A tree has a box per path, at a cost of nodes times features; a table one per point.
    """
    raise UnsupportedModelError(f"{type(model).__name__} has no list of boxes; expected a table or a single tree.")


@boxes_of.register
def _themselves(model: Boxes) -> Boxes:
    return model


@boxes_of.register
def _of_table(model: TableModel) -> Boxes:
    cells = np.indices(model.grid.n_cells, dtype=np.int32).reshape(model.table.ndim, -1).T
    return Boxes(model.grid, cells, cells + 1, {}, model.table.reshape(-1), model.outputs)


@boxes_of.register
def _of_tree(model: TreeSum) -> Boxes:
    if model.n_trees != 1:
        raise UnsupportedModelError(
            f"Only a single tree has a list of paths, but this model has {model.n_trees} trees."
        )
    nodes, grid = len(model.feature), model.grid
    first = np.zeros((nodes, len(grid.axes)), dtype=np.int32)
    last = np.tile(np.array(grid.n_cells, dtype=np.int32), (nodes, 1))
    subsets = {i: np.ones((nodes, grid.n_cells[i]), dtype=np.bool_) for i in _split_by_sets(model)}
    for node in _parents_first(model):
        _narrow(model, node, first, last, subsets)
    kept = _feasible_leaves(model, first, last, subsets)
    leaf_outputs = model.leaf_outputs()
    position: dict[Any, int] = {}
    output = [position.setdefault(leaf_outputs[k], len(position)) for k in model.leaf[kept].tolist()]
    return Boxes(
        grid,
        first[kept],
        last[kept],
        {i: inside[kept] for i, inside in subsets.items()},
        np.array(output, dtype=np.int32),
        tuple(position),
        kept,
    )


@singledispatch
def relabelled(model: Any, names: Mapping[Hashable, Hashable]) -> Model:
    """Return `model` with each output replaced by its name in `names`.

    A single tree is given back as its boxes: the leaves of a regression could not hold every name.

    Examples
    --------
    >>> from axfi_kc.domain.domain import Domain
    >>> from axfi_kc.domain.features import Integer
    >>> same = TableModel.from_outputs(Domain([Integer("a", 0, 1)]), [0, 1])
    >>> relabelled(same, {0: "no", 1: "yes"}).predict([[1]])
    ['yes']
    """
    boxes = boxes_of(model)
    missing = next((y for y in boxes.outputs if y not in names), None)
    if missing is not None:
        raise DomainError(f"Every output needs a new name, but {missing!r} has none; give one for each.")
    return replace(boxes, outputs=tuple(names[y] for y in boxes.outputs))


@relabelled.register
def _renamed(model: CircuitModel, names: Mapping[Hashable, Hashable]) -> Model:
    return replace(model, outputs=tuple(names[y] for y in model.outputs))


@relabelled.register
def _renamed_classes(model: LinearModel, names: Mapping[Hashable, Hashable]) -> Model:
    return model.relabelled(names)


def _split_by_sets(model: TreeSum) -> set[int]:
    """Return the features that some node splits otherwise than into a left and a right part."""
    found = set()
    for node in np.flatnonzero(model.feature >= 0).tolist():
        goes_left = _goes_left(model, node)
        # A threshold sends the first cells left; then two ends describe either side, and no row of flags is needed.
        if not goes_left[: int(goes_left.sum())].all():
            found.add(int(model.feature[node]))
    return found


def _goes_left(model: TreeSum, node: int) -> npt.NDArray[np.bool_]:
    start = int(model.mask_offset[node])
    return model.left_mask[start : start + model.grid.n_cells[model.feature[node]]].astype(np.bool_)


def _parents_first(model: TreeSum) -> list[int]:
    """Return the inner nodes, each before its children."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if model.feature[node] >= 0:
            order.append(node)
            stack += [int(model.right[node]), int(model.left[node])]
    return order


def _narrow(
    model: TreeSum,
    node: int,
    first: npt.NDArray[np.int32],
    last: npt.NDArray[np.int32],
    subsets: dict[int, npt.NDArray[np.bool_]],
) -> None:
    """Give both children of `node` its box, cut by its test."""
    i = int(model.feature[node])
    goes_left = _goes_left(model, node)
    for child, mask in ((int(model.left[node]), goes_left), (int(model.right[node]), ~goes_left)):
        first[child], last[child] = first[node], last[node]
        for inside in subsets.values():
            inside[child] = inside[node]
        if i in subsets:
            subsets[i][child] &= mask
        else:
            allowed = np.flatnonzero(mask)
            low, high = (int(allowed[0]), int(allowed[-1]) + 1) if len(allowed) else (0, 0)
            first[child, i] = max(first[child, i], low)
            last[child, i] = max(min(last[child, i], high), first[child, i])


def _feasible_leaves(
    model: TreeSum, first: npt.NDArray[np.int32], last: npt.NDArray[np.int32], subsets: dict[int, npt.NDArray[np.bool_]]
) -> npt.NDArray[np.int64]:
    # A path that contradicts itself holds no point; kept, its violated features would pass for a weak CXp.
    feasible = (model.feature < 0) & (first < last).all(axis=1)
    for inside in subsets.values():
        feasible &= inside.any(axis=1)
    return np.flatnonzero(feasible)
