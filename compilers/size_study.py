"""A study of sizes: several models, languages, codes, orders, vtrees and seeds in one table."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from axfi_kc.arguments import called, checked, quoted, whole
from axfi_kc.budget import Budget
from axfi_kc.circuits.targets import TARGETS
from axfi_kc.compilers.feature_orders import Order
from axfi_kc.compilers.sizes import COLUMNS, DEFAULT_BUDGET, SizeRow, Way, plan_of, size_rows, typed
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import Number
from axfi_kc.durable_files import write_whole
from axfi_kc.errors import CircuitError, DomainError, MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SEARCHES", "SizeStudy", "size_study", "study_suffix"]


SEARCHES = {"sift": ("mdd", "obdd"), "window": ("mdd",), "vtree": ("sdd",)}
"""The searches for better orders and vtrees, with the languages that have them."""
_MEASURES = ("nodes", "edges", "bytes", "seconds", "circuit_nodes", "circuit_edges")
_FILES = (".csv", ".json", ".html")


@dataclass(frozen=True, slots=True, eq=False)
class SizeStudy:
    """The table of a study.

    Attributes
    ----------
    frame
        A row per model and way to compile it: ``model``, ``seed`` and the columns of
        :func:`~axfi_kc.compilers.sizes.compare_sizes`.
    """

    frame: pd.DataFrame = field(repr=False)

    @checked("measure")
    def best(self, measure: str = "nodes") -> pd.DataFrame:
        """Return, for each model and language (and with and without constraints), the row with the least `measure`.

        Raises
        ------
        DomainError
            If there is no such measure.
        """
        if measure not in _MEASURES:
            raise DomainError(f"A size is measured in one of {', '.join(_MEASURES)}, but {quoted(measure)} was given.")
        known = self.frame[self.frame[measure].notna()]
        keys = ["model", "target", "constraints"]
        rows = known.groupby(keys, sort=False, dropna=False)[measure].idxmin()
        return self.frame.loc[rows.tolist()].reset_index(drop=True)

    @checked("path")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file: ``.csv``, ``.json`` (a list of rows; fractions are text) or ``.html``.

        Raises
        ------
        DomainError
            If the suffix is another.
        FileWriteError
            If the file cannot be written.
        """
        suffix, rows = study_suffix(path), self.frame.astype(object).where(self.frame.notna(), None)
        rows["probability"] = [None if p is None else str(p) for p in rows["probability"]]
        if suffix == ".csv":
            text = rows.to_csv(index=False)
        elif suffix == ".json":
            rows["count"] = [None if n is None else str(n) for n in rows["count"]]
            text = rows.to_json(orient="records", indent=1)
        else:
            text = rows.to_html(index=False, na_rep="")
        write_whole(path, text, what="The study")


def study_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix that says how a study is saved; DomainError if it is none of these."""
    suffix = Path(path).suffix
    if suffix not in _FILES:
        raise DomainError(
            f"A study is saved as {', '.join(_FILES)}, but {quoted(suffix)} was given; name one of these."
        )
    return suffix


@checked(
    "models", "outputs", "targets", "codes", "orders", "vtrees", "seeds", "searches", "budget", "progress", "on_row"
)
def size_study(
    models: Mapping[str, Any],
    domain: Domain | None = None,
    *,
    outputs: Mapping[str, Any] | None = None,
    delta: Number | None = None,
    targets: Sequence[str] | None = None,
    codes: Sequence[str] = ("order",),
    orders: Sequence[Order] = ("influence", "force", "given"),
    vtrees: Sequence[Any] = ("right", "balanced"),
    seeds: Sequence[int] = (),
    searches: Sequence[str] = (),
    budget: Budget = DEFAULT_BUDGET,
    progress: bool = False,
    on_row: Callable[[str, SizeRow], None] | None = None,
) -> SizeStudy:
    """Compile several models in many ways and return all sizes in one table.

    Parameters
    ----------
    models
        By name: a model as in :func:`axfi_kc.compile_model`, or a pair of one and its domain. A domain with constraints
        has rows with and without them.
    domain
        Of the models that come without one.
    outputs
        By name, the output that the circuit of a model is about; by default the greater of two classes.
    delta
        For regressions, as in :func:`axfi_kc.compile_model`.
    targets, codes, orders, vtrees
        As in :func:`axfi_kc.compare_sizes`.
    seeds
        For each of these, a random order of the features and, for SDDs, a random vtree are added.
    searches
        Which searches to add a row for, after each order: ``"sift"`` (of MDDs and OBDDs), ``"window"`` (of MDDs: three
        neighbours at a time) and ``"vtree"`` (of SDDs, PySDD's own).
    budget
        What each row may cost; a search that is not finished gives the best it has found.
    progress
        Whether to show a progress bar.
    on_row
        Called with the model's name and each row as soon as it is known.

    Returns
    -------
    SizeStudy
        ``.frame``, ``.best()``, ``.save(path)``; ``plot_sizes(study.best())`` draws it.

    Raises
    ------
    DomainError
        If there is no model, a model has no domain, or a search is unknown.

    Examples
    --------
    >>> from axfi_kc.domain import Integer
    >>> bits = Domain([Integer(f"x{i}", 0, 1) for i in range(4)])
    >>> two = {"most": lambda p: sum(p) >= 2, "odd": lambda p: sum(p) % 2}
    >>> study = size_study(two, bits, targets=["mdd", "sdd"], orders=["given"], seeds=[0], searches=["sift"])
    >>> len(study.frame), bool(study.frame["agrees"].all())
    (18, True)
    >>> study.best()[["model", "target", "nodes"]].to_numpy().tolist()
    [['most', 'mdd', 6], ['most', 'sdd', 5], ['odd', 'mdd', 7], ['odd', 'sdd', 5]]
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "A table of sizes") from error
    _check(models, searches)
    seeds = [whole(seed, "Each of seeds", least=0) for seed in seeds]
    names = tuple(TARGETS) if targets is None else tuple(targets)
    given = {name: _pair(name, model, domain) for name, model in models.items()}
    plans = {name: _ways(own, names, codes, orders, vtrees, seeds, searches) for name, (_, own) in given.items()}
    bar = _bar(sum(map(len, plans.values())), progress)
    found = []
    for name, plan in plans.items():
        model, own = given[name]
        rows = size_rows(model, own, [w for _, w in plan], output=(outputs or {}).get(name), delta=delta, budget=budget)
        for (seed, _), row in zip(plan, rows, strict=True):
            found.append([name, seed, *(getattr(row, c) for c in COLUMNS)])
            bar(1)
            if on_row is not None:
                called(on_row, "on_row", name, row)
    frame = typed(pd.DataFrame(found, columns=["model", "seed", *COLUMNS]))
    return SizeStudy(frame.astype({"seed": "Int64"}))


def _check(models: Mapping[str, Any], searches: Sequence[str]) -> None:
    if not models:
        raise DomainError("A study needs a model, but none was given; give {name: model}.")
    strange = next((search for search in searches if search not in SEARCHES), None)
    if strange is not None:
        raise CircuitError(
            f"A search is one of {', '.join(SEARCHES)}, but {quoted(strange)} was given; name one of these."
        )


def _pair(name: str, model: Any, domain: Domain | None) -> tuple[Any, Domain]:
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[1], Domain):
        return model
    if domain is None:
        raise DomainError(f"Model {name!r} has no domain; give a pair of the model and its domain, or domain=.")
    return model, domain


def _ways(
    domain: Domain,
    targets: Sequence[str],
    codes: Sequence[str],
    orders: Sequence[Order],
    vtrees: Sequence[Any],
    seeds: Sequence[int],
    searches: Sequence[str],
) -> list[tuple[int | None, Way]]:
    """Return all ways to compile a model, with the seeds of those that are random."""
    found: list[tuple[int | None, Way]] = []
    for target in targets:
        kinds: list[str | None] = [None]
        kinds += ["window" if s == "window" else "search" for s in searches if target in SEARCHES[s]]
        found += [(None, way) for way in plan_of(domain, [target], codes, orders, vtrees, kinds)]
        for seed in seeds:
            rng = Random(seed)  # noqa: S311  # no secret
            order = rng.sample(domain.names, len(domain.names))
            shapes = [*vtrees, _random_vtree(rng, order)]
            for way in plan_of(domain, [target], codes, [order], shapes, kinds):
                shape = "random" if way.vtree is shapes[-1] else None
                found.append((seed, replace(way, order_name="random", vtree_name=shape)))
    return found


def _random_vtree(rng: Random, names: Sequence[str]) -> Any:
    """Return nested pairs, split at random places."""
    parts: list[Any] = list(names)
    while len(parts) > 1:
        k = rng.randrange(len(parts) - 1)
        parts[k : k + 2] = [(parts[k], parts[k + 1])]
    return parts[0]


def _bar(total: int, progress: bool) -> Callable[[int], Any]:
    if not progress or sys.stderr is None:
        return lambda _: None
    from tqdm.auto import tqdm

    shown = tqdm(total=total, unit="circuit", desc="compiling")
    return lambda n: shown.update(n) and (shown.n < total or shown.close())
