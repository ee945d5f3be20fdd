"""Blocks of explanations as JSON Lines or Parquet, in bytes.

What a worker sends back is what goes to the file, so the process that writes has nothing to do but
write. A JSON line and a row of Parquet hold the same: row number and label, instance and output,
the CXps with exact weights, and the scores, exact and as the nearest floats.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from axfi_kc.budget import Account, Budget
from axfi_kc.domain import Domain
from axfi_kc.engines import Found
from axfi_kc.engines.families import masks_of_words
from axfi_kc.errors import DomainError, MissingExtraError
from axfi_kc.explanations import cxps_in
from axfi_kc.results.documents import cxp_entries, named_cxp_entries, score_entries
from axfi_kc.results.values import value_text
from axfi_kc.scores import Numerators
from axfi_kc.sets import features_of

__all__ = ["json_block", "label_type", "parquet_block", "pyarrow_for"]

_INT64 = 2**63


def pyarrow_for(purpose: str) -> Any:
    """Return pyarrow with its Parquet module, or say how to install it."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", purpose) from error
    return pa


def _scores(scored: Numerators, names: Sequence[str]) -> tuple[list[dict[str, int | str]], list[list[float]]]:
    """Return each instance's scores, exact and as floats."""
    numerators, denominators = scored
    rows = list(zip(numerators.tolist(), denominators, strict=True))
    exact = [score_entries(names, ((t, d) for t in row)) for row, d in rows]
    return exact, [[t / d for t in row] for row, d in rows]


def _cxps(found: Found, names: tuple[str, ...], budget: Budget) -> Iterator[list[dict[str, Any]]]:
    """Yield each instance's CXps, smallest first; of an instance with many, they are on a diagram."""
    masks = masks_of_words(found.words)
    numerators, denominators = found.scaled
    members = {mask: features_of(mask) for mask in set(masks)}
    place = {mask: (len(m), m) for mask, m in members.items()}
    named = {mask: [names[i] for i in m] for mask, m in members.items()}
    for n, (a, b) in enumerate(pairwise(found.starts.tolist())):
        if n in found.large:
            account = Account(budget, goal="list of CXps", advice="allow more, or limit max_size")
            yield named_cxp_entries(cxps_in(found.large[n], names, account=account))
        else:
            own = sorted(range(a, b), key=lambda k: place[masks[k]])
            yield cxp_entries(b - a, ((named[masks[k]], numerators[k], denominators[n]) for k in own))


def _label(label: Any) -> Any:
    """Return a row's label as JSON can hold it; labels are for people, so text will do."""
    try:
        return value_text(label)
    except DomainError:
        return str(label)


def _instances(domain: Domain, codes: npt.NDArray[np.float64]) -> list[list[Any]]:
    columns = []
    for feature, column in zip(domain.features, codes.T.tolist(), strict=True):
        text = {code: value_text(feature.decode(code)) for code in set(column)}
        columns.append([text[code] for code in column])
    return [list(row) for row in zip(*columns, strict=True)]


def json_block(
    found: Found,
    domain: Domain,
    codes: npt.NDArray[np.float64],
    *,
    start: int,
    labels: Sequence[Any],
    scores: Mapping[str, Numerators],
    budget: Budget,
) -> bytes:
    """Return a block of explanations as JSON Lines, a line each.

    Parameters
    ----------
    found, domain, codes
        What was found for these instances of the domain.
    start, labels
        The number of the first row, and the name of each.
    scores
        What :func:`axfi_kc.scores.score_numerators` gives, by the scores' names.
    budget
        What listing the CXps of an instance with many may cost.

    Notes
    -----
    Linear in the CXps and the features.
    """
    names = domain.names
    texts = {kind: _scores(scored, names) for kind, scored in scores.items()}
    lines = []
    for n, (instance, cxps) in enumerate(zip(_instances(domain, codes), _cxps(found, names, budget), strict=True)):
        line = {
            "row": start + n,
            "index": _label(labels[n]),
            "instance": instance,
            "prediction": value_text(found.outputs[n]),
            "cxps": cxps,
            "scores": {kind: exact[n] for kind, (exact, _) in texts.items()},
            "floats": {kind: dict(zip(names, near[n], strict=True)) for kind, (_, near) in texts.items()},
        }
        lines.append(json.dumps(line, ensure_ascii=False, allow_nan=False))
    return "".join(f"{line}\n" for line in lines).encode()


def label_type(outputs: Sequence[Any] | None) -> str:
    """Return the Parquet type for these outputs, all that a model has; None: a number.

    Examples
    --------
    >>> label_type([0, 1]), label_type(["a"]), label_type(None), label_type([0, "a"])
    ('int64', 'string', 'double', 'json')
    """
    kinds = {type(y) for y in outputs} if outputs is not None else {Fraction}
    if kinds <= {str}:
        return "string"
    if kinds <= {bool}:
        return "bool"
    if kinds <= {int} and all(abs(y) < _INT64 for y in outputs or ()):
        return "int64"
    return "double" if kinds <= {int, float, Fraction} else "json"


def _schema(pa: Any, names: Sequence[str], kinds: Sequence[str], prediction: str) -> Any:
    text = pa.string()
    cxp = pa.struct([("features", pa.list_(text)), ("weight", text)])
    types = {"string": text, "bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), "json": text}
    columns = [("row", pa.int64()), ("index", text), ("instance", text), ("prediction", types[prediction])]
    columns += [("prediction_exact", text), ("cxps", pa.list_(cxp))]
    for kind in kinds:
        columns += [(f"{kind}_exact", pa.list_(text)), *((f"{kind}:{name}", pa.float64()) for name in names)]
    return pa.schema(columns)


def parquet_block(
    found: Found,
    domain: Domain,
    codes: npt.NDArray[np.float64],
    *,
    start: int,
    labels: Sequence[Any],
    scores: Mapping[str, Numerators],
    budget: Budget,
    prediction: str,
) -> bytes:
    """Return a block of explanations as one Parquet file.

    Parameters are those of :func:`json_block`, and `prediction`, a :func:`label_type`.

    Notes
    -----
    Linear in the CXps and the features.
    """
    pa = pyarrow_for("Writing Parquet")
    exact = [json.dumps(value_text(y)) for y in found.outputs]
    cxps = [
        [{"features": c["features"], "weight": str(c["weight"])} for c in own]
        for own in _cxps(found, domain.names, budget)
    ]
    columns: dict[str, Any] = {
        "row": range(start, start + len(found)),
        "index": [_text(_label(label)) for label in labels],
        "instance": [json.dumps(row) for row in _instances(domain, codes)],
        "prediction": [_prediction(y, text, prediction) for y, text in zip(found.outputs, exact, strict=True)],
        "prediction_exact": exact,
        "cxps": cxps,
    }
    for kind, scored in scores.items():
        texts, floats = _scores(scored, domain.names)
        columns[f"{kind}_exact"] = [[str(t) for t in row.values()] for row in texts]
        columns |= {f"{kind}:{name}": [row[i] for row in floats] for i, name in enumerate(domain.names)}
    table = pa.table(columns, schema=_schema(pa, domain.names, tuple(scores), prediction))
    sink = io.BytesIO()
    pa.parquet.write_table(table, sink)
    return sink.getvalue()


def _text(label: Any) -> str:
    return label if isinstance(label, str) else json.dumps(label)


def _prediction(output: Any, exact: str, kind: str) -> Any:
    if kind == "json":
        return exact
    return float(output) if kind == "double" else output
