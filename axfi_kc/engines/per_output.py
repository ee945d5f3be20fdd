"""What engines that go instance by instance share.

Above all, what they make once for each output they meet is kept here from question to question.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget, Meter, Watch
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import counted
from axfi_kc.engines.found import Found, Located, cell_worths
from axfi_kc.engines.radius import largest_radius, naming_row
from axfi_kc.errors import BudgetError
from axfi_kc.families.masks import sorted_sets
from axfi_kc.models import Model, Similarity
from axfi_kc.models.joint import Box, BoxList

__all__ = ["InstanceEngine", "PerOutput", "one_by_one", "unfinished"]


_KEPT = 16  # a classifier has few outputs, a regression many
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Codes = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int64]
Weighting = tuple[str, tuple[tuple[int, ...], ...]]  # the kind of weights, and what each cell is worth


class PerOutput(Generic[K, T]):
    """Calls `make` once for each output and keeps what it returns; of numbers, only the latest few.

    What is made is made under the budget of the question that first needs it. It is kept only when it is
    complete: if the budget is spent on the way, the next question starts afresh, under its own.

    Parameters
    ----------
    make
        Makes what belongs to an output, within a budget (None: no limit). A method rather than a lambda:
        engines are sent to workers.

    Examples
    --------
    >>> made = PerOutput(lambda output, budget: [output, budget])
    >>> made("yes", Budget(nodes=9)) is made("yes")
    True
    """

    def __init__(self, make: Callable[[K, Budget | None], T]) -> None:
        self._make = make
        self._made: dict[K, T] = {}

    def __call__(self, output: K, budget: Budget | None = None) -> T:
        """Return what belongs to `output`."""
        found = self._made.get(output)
        if found is None:
            found = self._make(output, budget)  # kept only if this returns
            if len(self._made) >= _KEPT and isinstance(output, Fraction):
                self._made.clear()
            self._made[output] = found
        return found


class InstanceEngine(ABC):
    """Explains one instance after the other, by a search on cells."""

    searches = True  # each instance takes its time, so that nothing is gained by many at once

    def __init__(self, model: Model, similarity: Similarity) -> None:
        self._model = model
        self.locate = model.cells_and_outputs
        self._similarity = similarity
        self._at = PerOutput(self._made)

    def explain(
        self,
        codes: Codes,
        *,
        weights: str = "ratio",
        max_size: int | None = None,
        budget: Budget | None = None,
        located: Located | None = None,
        partial: bool = False,
    ) -> Found:
        """Return the CXps and weights of each instance.

        Raises
        ------
        BudgetError
            If the budget for one instance was spent; it carries the CXps certified so far.
        """
        self._prepare(by_size=max_size is not None or Watch(budget).can_end)
        cells, outputs = located or self.locate(codes)
        worths, wholes = cell_worths(self._model.grid, weights)
        limit = cells.shape[1] if max_size is None else max_size
        explain = self._explain_radius if partial else self._explain_all
        weighed, nodes, radii = [], [], []
        for n, (v, output) in enumerate(zip(cells, outputs, strict=True)):
            meter = Meter(budget)
            with naming_row(n):
                found, radius = explain(v, self._at(output, budget), (weights, worths), limit, meter)
            weighed.append(found)
            nodes.append(meter.nodes)
            radii.append(radius)
        return Found.of_instances(outputs, weighed, wholes=wholes, kind=weights, nodes=nodes, radii=radii)

    def _explain_all(self, *question: Any) -> tuple[tuple[list[int], list[int]], None]:
        return self._explain_one(*question), None

    def _explain_radius(
        self, v: Cells, searched: Any, weights: Weighting, max_size: int, meter: Meter
    ) -> tuple[tuple[list[int], list[int]], int | None]:
        """Return the CXps and totals of the largest radius that fits the meter, and this radius; None: all of them."""
        explain = functools.partial(self._explain_one, v, searched, weights)
        return largest_radius(explain, limit=max_size, meter=meter)

    def explain_in_boxes(
        self, codes: Codes, *, max_size: int | None = None, budget: Budget | None = None, located: Located | None = None
    ) -> tuple[Found, BoxList]:
        """Return the CXps of each instance, with unit weights, and the adversarial examples of each as boxes."""
        self._prepare(by_size=max_size is not None)
        cells, outputs = located or self.locate(codes)
        worths, wholes = cell_worths(self._model.grid, "unit")
        limit = cells.shape[1] if max_size is None else max_size
        weighed, nodes, boxes = [], [], []
        for n, (v, output) in enumerate(zip(cells, outputs, strict=True)):
            meter = Meter(budget)
            with naming_row(n):
                searched = self._at(output, budget)
                weighed.append(self._explain_one(v, searched, ("unit", worths), limit, meter))
                boxes.append(self._boxes(v, searched, weighed[-1][0], meter, minimal=True))
            nodes.append(meter.nodes)
        found = Found.of_instances(outputs, weighed, wholes=wholes, kind="unit", nodes=nodes)
        return found, BoxList.joined(boxes)

    def dissimilar_boxes(self, v: Cells, output: Hashable, mask: int, *, budget: Budget | None = None) -> Iterator[Box]:
        """Iterate over disjoint boxes of the dissimilar points that agree with v, its cells, outside `mask`."""
        self._prepare()
        # One by one: there may be so many that whoever asks for them has to look at the clock.
        return self._boxes(v, self._at(output, budget), [mask], Meter(budget), minimal=False).each()

    @abstractmethod
    def _boxes(self, v: Cells, searched: Any, masks: list[int], meter: Meter, *, minimal: bool) -> BoxList:
        """Return boxes of the dissimilar points of sets of features, which are CXps if they are `minimal`."""

    @abstractmethod
    def _prepare(self, *, by_size: bool = False) -> None:
        """Compile the kernels, or load them from disk, before a budget's clock starts.

        `by_size` says whether sets may be asked about by their number of features.
        """

    @abstractmethod
    def _made(self, output: Hashable, budget: Budget | None) -> Any:
        """Return what is searched for instances with this output."""

    @abstractmethod
    def _explain_one(
        self, v: Cells, searched: Any, weights: Weighting, max_size: int, meter: Meter
    ) -> tuple[list[int], list[int]]:
        """Return the CXps of the instance with cells v, sorted, and their totals."""


def one_by_one(explain: Callable[..., Found], codes: Codes, located: Located) -> Found:
    """Return what `explain` finds for each instance alone: a budget is each instance's own."""
    parts = []
    for n in range(len(codes)):
        row = slice(n, n + 1)
        with naming_row(n):
            parts.append(explain(codes[row], located=(located[0][row], located[1][row])))
    return Found.joined(parts)


def unfinished(found: Iterable[int], domain: Domain, meter: Meter) -> BudgetError:
    """Return the error of a search that was given up, with the CXps found so far."""
    cxps = tuple(domain.names_of(mask) for mask in sorted_sets(found))
    nodes, seconds = meter.spent
    return BudgetError(
        f"The budget was spent after {counted(nodes, 'search node')} and {seconds:.2f} s, with "
        f"{counted(len(cxps), 'CXp')} found (the error's cxps, each certified); allow more, or set max_size.",
        cxps=cxps,
        nodes=nodes,
        seconds=seconds,
    )
