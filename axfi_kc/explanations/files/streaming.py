"""Results that go to a file as they are made, and runs that go on where they were stopped.

Workers make the bytes of whole blocks, and one process appends them in order; see
:mod:`axfi_kc.explanations.files.stores` for the two formats. A run is known by its fingerprint: equal
models, domains, options and data have equal ones.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.domain.region import Region
from axfi_kc.engines import Found
from axfi_kc.explanations.answers import margins_at, naming_rows, warn_of_radii
from axfi_kc.explanations.batch import SavedBatch, read_results
from axfi_kc.explanations.files.document import (
    answer_entries,
    interaction_entries,
    json_block,
    label_text,
    label_type,
    names_entry,
    parquet_block,
    toward_entry,
)
from axfi_kc.explanations.files.domain_document import domain_document
from axfi_kc.explanations.files.stores import FORMAT, VERSION, ParquetParts, store_at
from axfi_kc.explanations.further import Asked, Further, answered
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.progress import with_progress
from axfi_kc.explanations.workers import in_workers, is_parallel
from axfi_kc.json_text import number_text
from axfi_kc.models import Model, Similarity
from axfi_kc.scores import Score, score_numerators
from axfi_kc.scores.interactions import Interaction, interactions_of

__all__ = ["Run", "fingerprint", "write_results"]


def fingerprint(*things: Any) -> str:
    """Return a SHA-256 of the contents of `things`.

    Dataclasses count by their fields, arrays by dtype, shape and entries, sets regardless of
    order. Two processes agree unless something is of a class of another kind, whose pickle is
    taken: then a false alarm is possible, a false match is not.

    Notes
    -----
    Linear in the content, without recursion.

    Examples
    --------
    >>> fingerprint((1, "a"), {2, 3}) == fingerprint((1, "a"), {3, 2})
    True
    >>> fingerprint(1) == fingerprint(1.0)
    False
    """
    digest = hashlib.sha256()
    for piece in _pieces(things):
        # Lengths here, types and numbers of parts in _pieces: no two contents run together into the same bytes.
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _pieces(thing: Any) -> Iterator[bytes]:
    stack = [thing]
    while stack:
        item = stack.pop()
        parts = _parts(item)
        yield type(item).__name__.encode()
        if parts is None:
            yield _leaf(item)
        else:
            yield str(len(parts)).encode()
            stack += reversed(parts)


def _parts(item: Any) -> list[Any] | None:
    """Return what a compound thing is made of; None for a leaf."""
    if isinstance(item, tuple | list):
        return list(item)
    if isinstance(item, Mapping):
        return [pair for entry in item.items() for pair in entry]
    if isinstance(item, set | frozenset):
        return sorted(fingerprint(member) for member in item)
    if isinstance(item, np.ndarray):
        whole = item.tolist() if item.dtype == object else np.ascontiguousarray(item).tobytes()
        return [item.dtype.str, item.shape, whole]
    if is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, f.name) for f in fields(item)]
    return None


def _leaf(item: Any) -> bytes:
    if isinstance(item, bytes):
        return item
    if item is None or isinstance(item, bool | float | str):
        return repr(item).encode()
    if isinstance(item, int):
        # Python converts no more than 4,300 digits to decimal; hexadecimal has no limit and takes linear time.
        return hex(item).encode()
    if isinstance(item, Fraction):
        return f"{item.numerator:x}/{item.denominator:x}".encode()
    return pickle.dumps(item)


_LEAST_ROWS, _MOST_ROWS = 16, 1024  # of a block
_BLOCK_SECONDS = 0.5
Codes = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Run:
    """What a run computes; equal runs have equal fingerprints.

    Attributes
    ----------
    find
        From codes to what an engine finds.
    model, similarity, target, weights, max_size
        What the results depend on; not on the target, but rows that two targets made are kept apart all the same.
    scores
        The scores to write.
    budget
        What each score of an instance may cost, and listing its CXps when they are many.
    class_names
        The name of each class that has one.
    skipped
        The labels of rows that are not explained, and why.
    within
        How far one may go from each instance; None: anywhere.
    on_budget
        What happens when the budget of a row is spent, see :class:`axfi_kc.Explainer`; `find` does it.
    interactions
        The interactions of two features to write.
    asked
        What else is asked of each row.
    """

    find: Callable[[Codes], Found]
    model: Model
    similarity: Similarity
    target: str
    weights: str
    max_size: int | None
    scores: tuple[Score, ...]
    budget: Budget
    class_names: Mapping[Any, str] = field(default_factory=dict)
    skipped: Mapping[Any, str] = field(default_factory=dict)
    within: Region | None = None
    on_budget: str = "radius"
    interactions: tuple[Interaction, ...] = ()
    asked: Asked = field(default_factory=Asked)

    def header(self, codes: Codes, labels: Sequence[Any]) -> dict[str, Any]:
        """Return what the file says about the run over these rows."""
        delta = self.similarity.delta
        document = {
            "format": FORMAT,
            "version": VERSION,
            "rows": len(codes),
            "model": type(self.model).__name__,
            "domain": domain_document(self.model.domain),
            "delta": None if delta is None else number_text(delta),
            **toward_entry(self.similarity.toward),
            "target": self.target,
            "weights": self.weights,
            "max_size": self.max_size,
            "on_budget": self.on_budget,
            "kinds": [score.name for score in self.scores],
            **({"interactions": [kind.name for kind in self.interactions]} if self.interactions else {}),
            **self.asked.entries(),
            **names_entry(self.class_names),
            **({} if self.within is None else {"within": self.within.document()}),
            **({"skipped": [[label_text(label), why] for label, why in self.skipped.items()]} if self.skipped else {}),
        }
        # Without the budget, so that a run may go on with more: it decides whether there is a result, or up to which
        # radius, and then the row itself says so.
        # Labels may be any objects, whose pickles two processes need not agree on; hence their text.
        return {**document, "fingerprint": fingerprint(document, self.model, codes, list(map(str, labels)))}

    def outputs(self) -> Sequence[Any] | None:
        """Return all outputs the model may have; None for the numbers of a regression."""
        return None if self.model.is_regression else self.model.labels


@dataclass(frozen=True, eq=False)
class _Block:
    """Makes the bytes of a block; this is what workers share."""

    run: Run
    parquet: str | None  # the type of the predictions; None: JSON Lines

    def __call__(
        self, start: int, codes: Codes, labels: Sequence[Any], probabilities: Sequence[dict[Any, float]] | None
    ) -> tuple[bytes, float, list[int | None]]:
        begin = perf_counter()
        run = self.run
        with naming_rows(labels):
            found, domain = run.find(codes), run.model.domain
        numerators = score_numerators(found, run.scores, domain.names, max_size=run.max_size, budget=run.budget)
        scores = {score.name: scored for score, scored in zip(run.scores, numerators, strict=True)}
        answers = self._answers(found.outputs, codes, probabilities)
        common: dict[str, Any] = {"start": start, "labels": labels, "scores": scores, "answers": answers}
        common |= {"budget": run.budget, "interactions": self._interactions(found)}
        common |= {"further": self._further(found.outputs, codes)}
        if self.parquet is None:
            made = json_block(found, domain, codes, **common)
        else:
            made = parquet_block(found, domain, codes, prediction=self.parquet, **common)
        return made, perf_counter() - begin, [found.radius(n) for n in range(len(found))]

    def _further(self, outputs: Sequence[Any], codes: Codes) -> list[Further]:
        run = self.run
        if run.asked == Asked():
            return []
        posed = (Problem(run.model, code, y, run.similarity) for code, y in zip(codes, outputs, strict=True))
        region = run.within
        return [answered(p if region is None else p.within(region), run.asked, budget=run.budget) for p in posed]

    def _interactions(self, found: Found) -> list[dict[str, Any]]:
        kinds, names = self.run.interactions, self.run.model.domain.names
        if not kinds:
            return []
        return [
            {k.name: interaction_entries(interactions_of(s, names, k.name, budget=self.run.budget)) for k in kinds}
            for s in found
        ]

    def _answers(
        self, outputs: Sequence[Any], codes: Codes, probabilities: Sequence[dict[Any, float]] | None
    ) -> list[dict[str, Any]]:
        margins = margins_at(self.run.model, codes)
        given = [None] * len(codes) if probabilities is None else map(dict.get, probabilities, outputs)
        return [
            answer_entries(output, self.run.class_names, probability, margin)
            for output, probability, margin in zip(outputs, given, margins, strict=True)
        ]


class _Pace:
    """Cuts rows into blocks of about half a second, as seen from the blocks done so far."""

    def __init__(self, start: int, total: int, n_jobs: int) -> None:
        self._start, self._total = start, total
        self._most = max(_LEAST_ROWS, min(_MOST_ROWS, (total - start) // (4 * n_jobs)))
        self._rows = min(64, self._most)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield first and last row of each block, lazily."""
        start = self._start
        while start < self._total:
            stop = min(start + self._rows, self._total)
            yield start, stop
            start = stop

    def note(self, rows: int, seconds: float) -> None:
        """Choose the size of the blocks to come."""
        wanted = int(rows * _BLOCK_SECONDS / max(seconds, 1e-9))
        # At most fourfold at once: one block of easy rows says little about the next.
        self._rows = max(1, min(wanted, 4 * self._rows, self._most))


def write_results(
    run: Run,
    path: str | os.PathLike[str],
    codes: Codes,
    labels: Sequence[Any],
    *,
    probabilities: Sequence[dict[Any, float]] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    stops_at_interrupt: bool = False,
) -> SavedBatch:
    """Write the results of a run to a file as they are made, going on where it was stopped.

    Parameters
    ----------
    run
        What to compute.
    path
        A file ending in ``.jsonl`` or ``.ndjson``, or a folder ending in ``.parquet``.
    codes, labels
        The instances' codes and their names.
    probabilities
        Those of the classes at each instance, as the model itself gives them; None: it gives none.
    n_jobs
        How many workers, through joblib.
    progress
        True: a bar. None: a bar after one second, if there is a terminal or a notebook.
    stops_at_interrupt
        Whether Ctrl-C ends the run with what is in the file, instead of an error.

    Raises
    ------
    ResultFileError
        If the file belongs to another run, is damaged, or is being written by another process.

    Notes
    -----
    Holds a few blocks at a time, however many rows there are.
    """
    store, header = store_at(path), run.header(codes, labels)
    kind = label_type(run.outputs()) if isinstance(store, ParquetParts) else None
    try:
        done = store.resume(header)
        pace = _Pace(done, len(codes), _workers(n_jobs))
        # Workers draw blocks ahead of the results, which come in the same order: spans remember what each one covers.
        spans: list[tuple[int, int]] = []
        stopped: dict[Any, int] = {}

        def blocks() -> Iterator[tuple[Any, ...]]:
            for start, stop in pace.spans():
                spans.append((start, stop))
                given = None if probabilities is None else probabilities[start:stop]
                yield start, codes[start:stop], list(labels[start:stop]), given

        def written() -> Iterator[tuple[int, None]]:
            block = _Block(run, kind)
            for position, (made, seconds, radii) in enumerate(in_workers(block, blocks(), n_jobs=n_jobs)):
                start, stop = spans[position]
                store.append(made, start, stop)
                reached = zip(labels[start:stop], radii, strict=True)
                stopped.update((label, radius) for label, radius in reached if radius is not None)
                pace.note(stop - start, seconds)
                yield stop - start, None

        for _ in with_progress(written(), total=len(codes), done=done, progress=progress):
            pass
    except KeyboardInterrupt:
        if not stops_at_interrupt:
            raise
    finally:
        store.close()
    warn_of_radii(stopped, len(codes), stacklevel=4)  # whoever called explain_to
    return read_results(path)


def _workers(n_jobs: int | None) -> int:
    if not is_parallel(n_jobs):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))
