"""Results that go to a file as they are made, and runs that go on where they were stopped.

Workers make the bytes of whole blocks, and one process appends them in order; see
:mod:`axfi_kc.explanations.files.stores` for the two formats. A run is known by its fingerprint: equal
models, domains, options and data have equal ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Budget
from axfi_kc.domain.region import Region
from axfi_kc.engines import Found, Numerators
from axfi_kc.engines.radius import naming_row
from axfi_kc.errors import AxfiWarning, BudgetError
from axfi_kc.explanations.answers import margins_at, naming_rows, warn_of_radii
from axfi_kc.explanations.batch import SavedBatch, read_results
from axfi_kc.explanations.files.document import (
    answer_entries,
    interaction_entries,
    json_block,
    label_type,
    names_entry,
    parquet_block,
    toward_entry,
)
from axfi_kc.explanations.files.domain_document import domain_document
from axfi_kc.explanations.files.labels import label_text
from axfi_kc.explanations.files.stores import FORMAT, VERSION, ParquetParts, rows_words, store_at
from axfi_kc.explanations.further import Asked, Further, answered
from axfi_kc.explanations.labelled_rows import LabelledRows
from axfi_kc.explanations.problem import Problem
from axfi_kc.explanations.progress import with_progress
from axfi_kc.explanations.workers import in_workers, is_parallel
from axfi_kc.json_text import number_text
from axfi_kc.models import Model, Similarity
from axfi_kc.scores import Score, over_one_denominator, score_numerators, scores_of
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
    locate
        From codes to the outputs there.
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
    locate: Callable[[Codes], Sequence[Any]]
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

    def header(self, codes: Codes, labels: Sequence[Any], version: int = VERSION) -> dict[str, Any]:
        """Return what the file says about the run over these rows."""
        delta = self.similarity.delta
        document = {
            "format": FORMAT,
            "version": version,
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
        # Without the budget, so that a run may go on with more, or with another choice of what a spent one means: it
        # decides whether there is a result, or up to which radius, and then the row itself says so.
        # Labels may be any objects, whose pickles two processes need not agree on; hence their text.
        if version == 1:
            return {**document, "fingerprint": fingerprint(document, self.model, codes, list(map(str, labels)))}
        asked = {name: entry for name, entry in document.items() if name != "on_budget"}
        texts = [json.dumps(label_text(label)) for label in labels]
        return {**document, "fingerprint": fingerprint(asked, self.model, codes, texts)}

    def outputs(self) -> Sequence[Any] | None:
        """Return all outputs the model may have; None for the numbers of a regression."""
        return None if self.model.is_regression else self.model.labels


@dataclass(slots=True)
class _Made:
    """What was made of a block.

    Attributes
    ----------
    pieces
        First and last row and the bytes, of one or several pieces in order.
    radii
        Up to how many features each row is complete; None: all that was asked for.
    seconds
        How long it took.
    error
        Why there are no further pieces: the budget of a row was spent, and that is an error.
    """

    pieces: list[tuple[int, int, bytes]] = field(default_factory=list)
    radii: list[int | None] = field(default_factory=list)
    seconds: float = 0.0
    error: BudgetError | None = None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a block."""

    start: int
    codes: Codes
    labels: Sequence[Any]
    probabilities: Sequence[dict[Any, float]] | None

    def part(self, begin: int, end: int) -> _Rows:
        given = None if self.probabilities is None else self.probabilities[begin:end]
        return _Rows(self.start + begin, self.codes[begin:end], self.labels[begin:end], given)

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class _Block:
    """Makes the bytes of a block; this is what workers share."""

    run: Run
    parquet: str | None  # the type of the predictions; None: JSON Lines
    key: bytes | None = None

    def __call__(
        self, start: int, codes: Codes, labels: Sequence[Any], probabilities: Sequence[dict[Any, float]] | None
    ) -> _Made:
        begin, made = perf_counter(), _Made()
        # What is still to be done, in reverse, and why not, where that is known already.
        left: list[tuple[_Rows, BudgetError | None]] = [(_Rows(start, codes, labels, probabilities), None)]
        while left and made.error is None:
            rows, spent = left.pop()
            if not len(rows):
                continue
            try:
                if spent is None:
                    with naming_rows(rows.labels):
                        self._add(made, rows, self.run.find(rows.codes))
                elif self.run.on_budget == "raise":
                    made.error = spent
                else:
                    self._add_unknown(made, rows, spent)
            except BudgetError as error:
                left += reversed(_around(rows, error))
        made.seconds = perf_counter() - begin
        return made

    def _add_unknown(self, made: _Made, rows: _Rows, spent: BudgetError) -> None:
        """Add a row of which nothing but the prediction is known: it is complete up to no feature at all."""
        names = self.run.model.domain.names
        outputs = self.run.locate(rows.codes)
        none = Found.of_instances(outputs, [((), ())], wholes=(1,) * len(names), kind=self.run.weights, radii=[0])
        self._add(made, rows, none, over_budget=str(spent))

    def _add(self, made: _Made, rows: _Rows, found: Found, over_budget: str | None = None) -> None:
        run, domain = self.run, self.run.model.domain
        answers = self._answers(found.outputs, rows.codes, rows.probabilities)
        common: dict[str, Any] = {"start": rows.start, "labels": rows.labels, "answers": answers, "budget": run.budget}
        common |= {"scores": self._scores(found), "interactions": self._interactions(found), "key": self.key}
        common |= {"over_budget": over_budget}
        common |= {"further": [] if over_budget else self._further(found.outputs, rows.codes)}
        if self.parquet is None:
            content = json_block(found, domain, rows.codes, **common)
        else:
            content = parquet_block(found, domain, rows.codes, prediction=self.parquet, **common)
        made.pieces.append((rows.start, rows.start + len(rows), content))
        made.radii += [found.radius(n) for n in range(len(found))]

    def _scores(self, found: Found) -> dict[str, Numerators]:
        names = self.run.model.domain.names
        options: dict[str, Any] = {"max_size": self.run.max_size, "budget": self.run.budget}
        if found.is_complete or not any(score.needs_all for score in self.run.scores):
            numerators = score_numerators(found, self.run.scores, names, **options)
        else:
            numerators = [
                self._where_complete(found, score)
                if score.needs_all
                else score_numerators(found, [score], names, **options)[0]
                for score in self.run.scores
            ]
        return {score.name: scored for score, scored in zip(self.run.scores, numerators, strict=True)}

    def _where_complete(self, found: Found, score: Score) -> Numerators:
        """Return a score that needs all CXps, over a denominator of 0 where a budget ended before they were found."""
        names, rows = self.run.model.domain.names, list[Sequence[Fraction]]()
        for n, sets in enumerate(found):
            with naming_row(n):
                known = scores_of(sets, names, score, budget=self.run.budget) if found.radius(n) is None else {}
            rows.append(list(known.values()) or [Fraction(0)] * len(names))
        numerators, denominators = over_one_denominator(rows, len(names))
        return numerators, [d if found.radius(n) is None else 0 for n, d in enumerate(denominators)]

    def _further(self, outputs: Sequence[Any], codes: Codes) -> list[Further]:
        run = self.run
        if run.asked == Asked():
            return []
        found: list[Further] = []
        for n, (code, output) in enumerate(zip(codes, outputs, strict=True)):
            posed = Problem(run.model, code, output, run.similarity)
            posed = posed if run.within is None else posed.within(run.within)
            with naming_row(n):
                answers = answered(posed, run.asked, budget=run.budget)
            found.append(Further().with_answers(answers, posed.domain, posed.instance))
        return found

    def _interactions(self, found: Found) -> list[dict[str, Any]]:
        kinds, names = self.run.interactions, self.run.model.domain.names
        if not kinds:
            return []
        made: list[dict[str, Any]] = []
        for n, sets in enumerate(found):
            with naming_row(n):
                pairs = {k.name: interactions_of(sets, names, k.name, budget=self.run.budget) for k in kinds}
            made.append({name: interaction_entries(own) for name, own in pairs.items()})
        return made

    def _answers(
        self, outputs: Sequence[Any], codes: Codes, probabilities: Sequence[dict[Any, float]] | None
    ) -> list[dict[str, Any]]:
        margins = margins_at(self.run.model, codes)
        given = [None] * len(codes) if probabilities is None else map(dict.get, probabilities, outputs)
        return [
            answer_entries(output, self.run.class_names, probability, margin)
            for output, probability, margin in zip(outputs, given, margins, strict=True)
        ]


def _around(rows: _Rows, spent: BudgetError) -> list[tuple[_Rows, BudgetError | None]]:
    """Return what to do about rows of which one is over budget: those before it, the one, and those after it."""
    n, total = spent.row, len(rows)
    if n is None and total > 1:  # it does not say which
        return [(rows.part(0, total // 2), None), (rows.part(total // 2, total), None)]
    n = n or 0
    if spent.row is None:
        spent.row = 0
        with suppress(BudgetError), naming_rows(rows.labels):
            raise spent
    return [(rows.part(0, n), None), (rows.part(n, n + 1), spent), (rows.part(n + 1, total), None)]


class _Pace:
    """Cuts the missing rows into blocks of about half a second, as seen from the blocks done so far."""

    def __init__(self, missing: Sequence[tuple[int, int]], n_jobs: int) -> None:
        self._missing = missing
        self._most = max(_LEAST_ROWS, min(_MOST_ROWS, sum(b - a for a, b in missing) // (4 * n_jobs)))
        self._rows = min(64, self._most)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield first and last row of each block, lazily."""
        for start, end in self._missing:
            while start < end:
                stop = min(start + self._rows, end)
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
    durable: bool = True,
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
    durable
        Whether each block is waited for until it is on the disk, so that a power cut cannot take it.

    Raises
    ------
    ResultFileError
        If the file belongs to another run, or is being written by another process.
    FileWriteError
        If the file cannot be written; what is in it stays.
    BudgetError
        If the budget of a row was spent and that is an error; the rows before it are in the file.

    Warns
    -----
    AxfiWarning
        If rows of the file were damaged, and are computed again; if the budget of rows was spent.

    Notes
    -----
    Holds a few blocks at a time, however many rows there are.
    """
    store = store_at(path, durable=durable)
    kind = label_type(run.outputs()) if isinstance(store, ParquetParts) else None
    stopped: list[tuple[Any, int]] = []
    try:
        resumed = store.resume(cache(partial(run.header, codes, labels)))
        _warn_of_damage(path, resumed.damaged)
        pace, block = _Pace(resumed.missing, _workers(n_jobs)), _Block(run, kind, resumed.key)

        def blocks() -> Iterator[tuple[Any, ...]]:
            for start, stop in pace.spans():
                given = None if probabilities is None else probabilities[start:stop]
                yield start, codes[start:stop], list(labels[start:stop]), given

        def written() -> Iterator[tuple[int, None]]:
            for made in in_workers(block, blocks(), n_jobs=n_jobs):
                for start, stop, content in made.pieces:
                    store.append(content, start, stop)
                if made.error is not None:
                    raise made.error
                start, stop = made.pieces[0][0], made.pieces[-1][1]
                reached = zip(labels[start:stop], made.radii, strict=True)
                stopped.extend((label, radius) for label, radius in reached if radius is not None)
                pace.note(stop - start, made.seconds)
                yield stop - start, None

        done = len(codes) - sum(b - a for a, b in resumed.missing)
        for _ in with_progress(written(), total=len(codes), done=done, progress=progress):
            pass
    except KeyboardInterrupt:
        if not stops_at_interrupt:
            raise
    finally:
        store.close()
    warn_of_radii(LabelledRows(stopped), len(codes), stacklevel=5)  # whoever called explain_to
    return read_results(path)


def _warn_of_damage(path: str | os.PathLike[str], damaged: list[tuple[int, int]]) -> None:
    if damaged:
        warnings.warn(
            f"{os.fspath(path)} was damaged at {rows_words(damaged)}: computed again, so the file is whole afterwards; "
            "look after the disk, or whoever else writes there.",
            AxfiWarning,
            stacklevel=5,  # whoever called explain_to
        )


def _workers(n_jobs: int | None) -> int:
    if not is_parallel(n_jobs):
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))
