"""The explanations of several instances: computed, or read from a file of results."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from axfi_kc.arguments import checked
from axfi_kc.budget import Budget
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import amount, counted
from axfi_kc.domain.region import Region
from axfi_kc.engines import Found, Numerators, fractions_of, nearest_floats
from axfi_kc.errors import IncompleteError, ResultFileError
from axfi_kc.explanations.answers import stopped_words
from axfi_kc.explanations.explanation import Explanation
from axfi_kc.explanations.files.document import class_names_of, data_of, region_of, stated_of
from axfi_kc.explanations.files.domain_document import domain_of, listed, text_of
from axfi_kc.explanations.files.labels import row_label
from axfi_kc.explanations.files.stores import store_at
from axfi_kc.explanations.labelled_rows import LabelledRows
from axfi_kc.explanations.problem import OwnPredict, Problem
from axfi_kc.explanations.space import Space
from axfi_kc.explanations.tables import BatchViews, SavedExplanation
from axfi_kc.json_text import number_of, value_of
from axfi_kc.models import Model, Similarity
from axfi_kc.models.own_predict import OwnProbabilities
from axfi_kc.scores import find_score, over_one_denominator, score_numerators

__all__ = ["Batch", "SavedBatch", "read_results"]


_MOST_KINDS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Batch(BatchViews, Sequence[Explanation]):
    """The explanations of several instances, in their order.

    An :class:`Explanation` is made when it is asked for; the batch itself holds integers.

    Attributes
    ----------
    rows
        The labels of the rows that were explained.
    class_names
        The name of each class that has one.
    skipped
        The labels of the rows that were skipped, and why.
    within
        How far one may go from each instance; None: anywhere.
    """

    _model: Model = field(repr=False)
    _similarity: Similarity = field(repr=False)
    _codes: npt.NDArray[np.float64] = field(repr=False)
    _found: Found = field(repr=False)
    max_size: int | None
    budget: Budget
    rows: tuple[Any, ...] = field(repr=False)
    _own: OwnPredict = field(default=OwnPredict(), repr=False)
    class_names: Mapping[Any, str] = field(default_factory=dict, repr=False)
    skipped: Mapping[Any, str] = field(default_factory=dict, repr=False)
    _probabilities: OwnProbabilities | None = field(default=None, repr=False)
    within: Region | None = None
    _indexes: list[Any] = field(default_factory=list, repr=False)  # of the rows, once pandas has made one

    def __len__(self) -> int:
        """Return the number of instances."""
        return len(self._found)

    def _row_index(self) -> Any:
        # A view, as of columns: the name of an index belongs to its table.
        return self._indexes[0].view() if self._indexes else list(self.rows)

    def _keep_row_index(self, index: Any) -> None:
        if not self._indexes:
            self._indexes.append(index.view())

    @overload
    def __getitem__(self, position: int) -> Explanation: ...
    @overload
    def __getitem__(self, position: slice) -> list[Explanation]: ...
    def __getitem__(self, position: int | slice) -> Explanation | list[Explanation]:
        """Return one explanation, or a list of them."""
        if isinstance(position, slice):
            return [self[k] for k in range(*position.indices(len(self)))]
        n = range(len(self))[position]
        own, names = self._own, self.class_names
        problem = Problem(self._model, self._codes[n], self._found.outputs[n], self._similarity, own, names)
        problem = problem if self.within is None else problem.within(self.within)
        nodes, radius = None if self._found.nodes is None else self._found.nodes[n], self._found.radius(n)
        asked = problem, self.max_size, self._found[n], self.budget
        return Explanation(*asked, nodes, self._probabilities, radius, self.rows[n])

    def __repr__(self) -> str:
        """Return the number of instances and of CXps, and the space in a few words."""
        return f"<Batch: {Space.of(self).after(self._extent(len(self)))}>"

    @property
    def domain(self) -> Domain:
        """The space in which the instances were explained."""
        return self._model.domain

    @property
    def instances(self) -> list[dict[str, Any]]:
        """The instances, as ``{feature name: value}``."""
        return [dict(zip(self.domain.names, self.domain.decode(row), strict=True)) for row in self._codes]

    @property
    def toward(self) -> Hashable | None:
        """The class that is asked about, "why not this one?"; None: any other than the prediction."""
        return self._similarity.toward

    @property
    def predictions(self) -> list[Any]:
        """The model's output at each instance."""
        return list(self._found.outputs)

    @property
    def probabilities(self) -> list[float | None] | None:
        """The probability that the model's own ``predict_proba`` gives each prediction; None without such a method."""
        found = None if self._probabilities is None else self._probabilities(self._codes)
        return None if found is None else [p.get(y) for p, y in zip(found, self._found.outputs, strict=True)]

    @property
    def cxp_counts(self) -> list[int]:
        """The number of CXps of each instance."""
        return self._found.counts

    @property
    def radii(self) -> list[int | None]:
        """Up to how many features the CXps of each instance are complete; None: all that were asked for."""
        return [self._found.radius(n) for n in range(len(self))]

    def score_numerators(self, kind: str = "shapley") -> Numerators:
        """Return a score as integers: ``numerators[n, i] / denominators[n]``, exactly."""
        names = self.domain.names
        scores = score_numerators(self._found, [find_score(kind)], names, max_size=self.max_size, budget=self.budget)
        return scores[0]

    def score_fractions(self, kind: str = "shapley") -> npt.NDArray[np.object_]:
        """Return a score as Fractions, a row per instance and a column per feature."""
        share = find_score(kind).share
        return fractions_of(*self.score_numerators(kind)) if share is None else self._found.mean_fractions(share)

    def score_floats(self, kind: str = "shapley") -> npt.NDArray[np.float64]:
        """Return a score as the floats nearest to it, a row per instance and a column per feature."""
        share = find_score(kind).share
        return nearest_floats(*self.score_numerators(kind)) if share is None else self._found.mean_floats(share)


class _Record(NamedTuple):
    """What a row of a file says, apart from its CXps."""

    label: Any
    prediction: Any
    probability: float | None
    cxps: int
    scores: dict[str, Any]
    stopped_at: int | None
    over_budget: str | None


@dataclass(frozen=True, eq=False)
class SavedBatch(BatchViews):
    """Results in a file: explanations without their model, read when they are asked for.

    Iterating reads one explanation at a time; tables read the file once and keep its scores.

    Attributes
    ----------
    path
        The file or folder.
    domain
        The space in which the instances were explained.
    n_rows
        How many rows the run has; fewer are in the file while it is not finished.
    """

    path: str
    domain: Domain
    n_rows: int
    _header: Mapping[str, Any]

    def __iter__(self) -> Iterator[SavedExplanation]:
        """Iterate over the explanations in the file."""
        for record in store_at(self.path).records():
            # The header says once what all rows share (weights, delta, max_size); with it a record is a whole document.
            document = {**self._header, **record}
            yield data_of(self.domain, document, SavedExplanation, stated=stated_of(self.domain, document))

    @overload
    def __getitem__(self, position: int) -> SavedExplanation: ...
    @overload
    def __getitem__(self, position: slice) -> list[SavedExplanation]: ...
    def __getitem__(self, position: int | slice) -> SavedExplanation | list[SavedExplanation]:
        """Return one explanation, or a list of them (cost: the file is read up to the last of them)."""
        if isinstance(position, slice):
            wanted = range(*position.indices(len(self)))
            found = {k: e for k, e in enumerate(islice(self, max(wanted, default=-1) + 1)) if k in wanted}
            return [found[k] for k in wanted]
        k = range(len(self))[position]
        return next(islice(self, k, None))

    def __len__(self) -> int:
        """Return the number of rows in the file (cost: the file is read once)."""
        return len(self._records)

    def __repr__(self) -> str:
        """Return where the results are, how far they go, and the space in a few words."""
        skipped = f", {counted(len(self.skipped), 'row')} skipped" if self.skipped else ""
        stopped = f", {stopped_words(self.radii)}" if self.stopped_rows else ""
        extent = f"{amount(len(self))} of {counted(self.n_rows, 'explanation')} in {self.path}{stopped}{skipped}"
        return f"<SavedBatch: {Space.of(self).after(extent)}>"

    @cached_property
    def within(self) -> Region | None:
        """How far one may go from each instance; None: anywhere."""
        return region_of(self._header)

    @property
    def is_complete(self) -> bool:
        """Whether the run was finished."""
        return len(self) == self.n_rows

    @cached_property
    def _records(self) -> list[_Record]:
        """What tables need of each row."""
        found = []
        for record in store_at(self.path).records():
            # Without the CXps, of which tables need the number alone: their Fractions would be most of the work.
            is_listed, scores = record.get("unlisted") is None, record.get("scores")
            without: dict[str, Any] = {"cxps": []} if is_listed else {}
            data = data_of(self.domain, {**self._header, **record, **without}, SavedExplanation)
            cxps = len(listed(record.get("cxps"), "list of CXps", most=1 << 40)) if is_listed else data.cxp_count
            if not isinstance(scores, dict):
                raise ResultFileError(f"A row of {self.path} has no scores; the file is damaged.")
            said = data.prediction, data.probability
            why = record.get("over_budget")
            reason = None if why is None else text_of(why, "reason why a row is over budget")
            found.append(_Record(row_label(record.get("index")), *said, cxps, scores, data.stopped_at, reason))
        return found

    @cached_property
    def instances(self) -> list[dict[str, Any]]:
        """The instances, as ``{feature name: value}`` (cost: the file is read once)."""
        return [e.instance for e in self]

    @property
    def rows(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The rows' labels."""
        return tuple(record.label for record in self._records)

    @property
    def predictions(self) -> list[Any]:
        """The model's output at each instance."""
        return [record.prediction for record in self._records]

    @property
    def probabilities(self) -> list[float | None] | None:
        """The probability that the model itself gave each prediction; None if the file has none."""
        found = [record.probability for record in self._records]
        return None if all(p is None for p in found) else found

    @property
    def toward(self) -> Hashable | None:
        """The class that is asked about, "why not this one?"; None: any other than the prediction."""
        found = self._header.get("toward")
        return None if found is None else value_of(found)

    @cached_property
    def class_names(self) -> dict[Any, str]:
        """The name of each class that has one."""
        return class_names_of(self._header)

    @cached_property
    def skipped(self) -> Mapping[Any, str]:
        """The labels of the rows that were skipped, and why."""
        entries = [listed(entry, "skipped row", most=2) for entry in self._header.get("skipped") or ()]
        return LabelledRows((row_label(label), text_of(why, "reason for skipping a row")) for label, why in entries)

    @property
    def over_budget(self) -> Mapping[Any, str]:
        """The labels of the rows whose budget was spent before any CXp could be told (radius 0), and how."""
        found = ((record.label, record.over_budget) for record in self._records)
        return LabelledRows((label, why) for label, why in found if why is not None)

    @property
    def cxp_counts(self) -> list[int]:
        """The number of CXps of each instance."""
        return [record.cxps for record in self._records]

    @property
    def radii(self) -> list[int | None]:
        """Up to how many features the CXps of each instance are complete; None: all that were asked for."""
        return [record.stopped_at for record in self._records]

    def score_numerators(self, kind: str = "shapley") -> Numerators:
        """Return a score as integers: ``numerators[n, i] / denominators[n]``, exactly.

        A score that was not written is computed from the CXps.
        """
        if isinstance(kind, str) and kind in self._header["kinds"]:
            rows = [self._stated(record, kind) for record in self._records]
        else:
            score = find_score(kind)
            rows = [list(e.scores(score.name).values()) for e in self]
        return over_one_denominator(rows, len(self.domain))

    def _stated(self, record: _Record, kind: str) -> list[Fraction]:
        found = record.scores.get(kind)
        if found is None and kind in record.scores and record.stopped_at is not None:
            raise IncompleteError(
                f"{kind} scores need all CXps, but the budget of row {record.label!r} was spent before; ask for "
                "another score, or explain with a larger budget."
            )
        # JSON Lines name the features; Parquet lists them in the domain's order.
        texts = [found.get(name) for name in self.domain.names] if isinstance(found, dict) else found
        if not isinstance(texts, list) or len(texts) != len(self.domain):
            raise ResultFileError(f"A row of {self.path} has no {kind} scores; the file is damaged.")
        return [number_of(text, "score") for text in texts]


@checked("path")
def read_results(path: str | os.PathLike[str]) -> SavedBatch:
    """Return the results in a file that ``Explainer.explain_to`` wrote, finished or not.

    Raises
    ------
    ResultFileError
        If the file is no such file, or is damaged.
    """
    header = store_at(path).header()
    rows = header.get("rows")
    if type(rows) is not int or rows < 0:
        raise ResultFileError(f"{os.fspath(path)} does not say how many rows it has; it is damaged.")
    kinds = [text_of(k, "kind of score") for k in listed(header.get("kinds"), "list of scores", most=_MOST_KINDS)]
    return SavedBatch(os.fspath(path), domain_of(header.get("domain")), rows, {**header, "kinds": kinds})
