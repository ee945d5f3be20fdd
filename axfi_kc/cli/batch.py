"""``axfi-kc batch``: many rows of a table."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

from axfi_kc.cli.options import add_command as new_command
from axfi_kc.cli.options import add_explainer, add_inputs, add_json, explainer_of, given
from axfi_kc.cli.progress import working
from axfi_kc.cli.tables import print_json, text_table
from axfi_kc.measures import amount, counted

__all__ = ["add_command"]

_EXAMPLES = """\
  axfi-kc batch model.json data.csv
  axfi-kc batch model.json data.csv --out results.jsonl --n-jobs 2     (run it again, and it goes on where it stopped)
  axfi-kc batch tree.skops data.parquet --target label --out results.parquet --rows 1000
"""


def add_command(commands: Any) -> None:
    """Add the command."""
    command = new_command(commands, "batch", _run, about="explain many rows of a table", examples=_EXAMPLES)
    add_inputs(command)
    add_explainer(command)
    command.add_argument(
        "--out", type=Path, metavar="FILE", help="write the results as they are made: .jsonl, or a folder .parquet"
    )
    command.add_argument("--rows", type=int, metavar="N", help="only the first N rows")
    command.add_argument("--n-jobs", type=int, default=1, metavar="N", help="worker processes; -1: all cores [1]")
    command.add_argument("--limit", type=int, default=12, metavar="N", help="the longest table [%(default)s]")
    add_json(command)


def _run(options: argparse.Namespace) -> None:
    with working("reading"):
        inputs = given(options)
        explainer = explainer_of(inputs, options)
    data = inputs.data if options.rows is None else inputs.data.iloc[: max(options.rows, 0)]
    if options.out is None:
        batch = explainer.explain_batch(data, n_jobs=options.n_jobs)
    else:
        batch = explainer.explain_to(options.out, data, kinds=options.score, n_jobs=options.n_jobs)
    means = {kind: _means(batch, inputs.domain.names, kind) for kind in options.score}
    if options.json:
        out = None if options.out is None else str(options.out)
        print_json({"rows": len(batch), "out": out, **{f"mean_{kind}": found for kind, found in means.items()}})
        return
    first = means[options.score[0]]
    ranked = [name for name in sorted(first, key=lambda name: -first[name]) if any(m[name] for m in means.values())]
    rows = [(name, *(amount(found[name], digits=6) for found in means.values())) for name in ranked]
    head = ("feature", *(f"mean {kind}" for kind in means))
    print(f"{counted(len(batch), 'row')} explained" + ("" if options.out is None else f", results in {options.out}"))
    print("", *text_table(head, rows[: options.limit], total=len(rows)), sep="\n")


def _means(batch: Any, names: tuple[str, ...], kind: str) -> dict[str, Fraction]:
    """Return the mean score of each feature, exactly."""
    numerators, denominators = batch.score_numerators(kind)
    whole: dict[int, list[int]] = {}
    for row, denominator in zip(numerators.tolist(), denominators, strict=True):
        sums = whole.setdefault(denominator, [0] * len(row))
        for i, numerator in enumerate(row):
            sums[i] += numerator
    n = max(len(denominators), 1)
    return {
        name: sum((Fraction(sums[i], d) for d, sums in whole.items()), Fraction(0)) / n for i, name in enumerate(names)
    }
