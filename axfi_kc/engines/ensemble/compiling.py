"""Compiles the kernels of ensembles before they are needed, some of them in a second process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from typing import TYPE_CHECKING, Any

import numpy as np

from axfi_kc.budget import Meter, clocks_stopped
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Integer
from axfi_kc.domain.grid import Cut
from axfi_kc.engines.compiling_beside import SecondProcess
from axfi_kc.models import Positive, TreeNodes, TreeSum
from axfi_kc.models.tree_sum import Margins

if TYPE_CHECKING:
    from axfi_kc.engines.ensemble.bound_kernels import Ensemble

__all__ = ["compile_kernels", "laid_out_stump", "stump_by_hand"]


def compile_kernels(*questions: str) -> None:
    """Compile the kernels of questions on a stump, or load them from disk; the clocks of budgets stand still.

    Those of the first are compiled here, those of the others in a second process, meanwhile.
    """
    from axfi_kc.compiled import number_compiled

    new = [question for question in questions if question not in _compiled]
    if not new:
        return
    first, *others = new
    # Who listens to a search, or stops it, means that one and not a stump.
    alone = Context().run
    with clocks_stopped(), SecondProcess() as second:
        if others and not number_compiled():
            alone(laid_out_stump)
        # Where something had to be compiled, so have these to be, most likely.
        if others and number_compiled():
            second.call(_ask, others)
        alone(_ask, [first])
        alone(laid_out_stump)
    with clocks_stopped():
        alone(_ask, others)
    _compiled.update(new)


_compiled: set[str] = set()  # questions whose kernels are there


def _ask(questions: Sequence[str]) -> None:
    """Answer questions about a stump."""
    from axfi_kc.engines.ensemble.cxp_search import CxpSearch, find_cxps, find_witness
    from axfi_kc.engines.ensemble.search import weigh
    from axfi_kc.engines.ensemble.workers import minimal

    ensemble, v, meter = stump_by_hand(), np.zeros(1, np.int32), Meter()
    answers: dict[str, Callable[[], Any]] = {
        "all CXps": lambda: find_cxps(ensemble, v, max_size=1, meter=meter),
        "CXps by size": lambda: list(CxpSearch(ensemble, v, max_size=1, meter=meter).climb(1)),
        "CXps from large sets": lambda: CxpSearch(ensemble, v, max_size=1, meter=meter).dualize(1),
        "a witness": lambda: find_witness(ensemble, v, 1, meter=meter),
        "weights": lambda: weigh(ensemble, v, [(0,)], [[0, 1, 2]], meter=meter),
        "minimal sets": lambda: minimal(np.zeros((1, 1), np.uint64), 1),
    }
    for question in questions:
        answers[question]()


def laid_out_stump() -> Ensemble:
    """Return a feature of two cells and a tree that tells them apart, after compiling what lays out trees."""
    from axfi_kc.engines.ensemble.search import lay_out_trees

    domain = Domain([Integer("x", 0, 1)])
    children = np.array([1, -1, -1]), np.array([2, -1, -1])
    values = np.array([[0.0], [0.0], [1.0]])
    stump = TreeNodes(np.array([0, -1, -1]), [Cut(0.0, closed=True), None, None], *children, values)
    model = TreeSum.of(domain, [stump, stump], rule=Positive((0, 1)))
    return lay_out_trees(model, *Margins.of(model, 0, None).limbs())


def stump_by_hand() -> Ensemble:
    """Return what :func:`laid_out_stump` does without its kernels, so that those of questions need not wait for them.

    Examples
    --------
    >>> all(np.array_equal(*both) for both in zip(stump_by_hand(), laid_out_stump(), strict=True))
    True
    """
    from axfi_kc.engines.ensemble.bound_kernels import Ensemble

    def int32(*entries: Any) -> Any:
        return np.array(entries, np.int32)

    return Ensemble(
        n_cells=int32(2), start=int32(0, 1), root=int32(0), node=int32([0, 2, 1, 0], [-1, 1, 0, 0], [-1, 0, 0, 1]),
        counts=int32(), value=np.array([[0], [0], [2]]), base=np.array([[0]]), touch_start=int32(0, 1),
        touch=int32(0), block_start=int32(0, 1), leaf_start=int32(0, 2), leaf=int32(2, 1), test_start=int32(0, 1),
        test=int32([0, 0, 1]), sides=np.array([[2, 1]], np.uint64), after_start=np.array([0, 3]),
        after=int32([0, 0, 1]),
    )  # fmt: skip
