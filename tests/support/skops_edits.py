"""Files of skops, taken apart and put together again with something else in them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np


@cache
def dumped(kind: str) -> bytes:
    """Return a small model of four columns and two classes as skops writes it."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier
    from skops.io import dumps

    models = {
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "forest": RandomForestClassifier(n_estimators=2, max_depth=2, random_state=0, n_jobs=1),
        "boosting": GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0),
        "histograms": HistGradientBoostingClassifier(max_iter=2, max_depth=2, random_state=0),
        "linear": LogisticRegression(),
        "pipeline": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)),
    }
    return dumps(models[kind].fit(*data()))


KINDS = ("tree", "forest", "boosting", "histograms", "linear", "pipeline")


def data() -> tuple[Any, Any]:
    """Return a table of four columns, and classes."""
    X = np.random.default_rng(0).uniform(0, 1, size=(120, 4)).round(2)
    return X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)).astype(int)


def parts_of(file: bytes) -> tuple[Any, dict[str, bytes]]:
    """Return the description in a file, and its other parts."""
    with ZipFile(io.BytesIO(file)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop("schema.json")), parts


def joined(schema: Any, parts: dict[str, bytes], *, compression: int = ZIP_STORED) -> bytes:
    """Return the file with a description (or its text) and parts."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.writestr("schema.json", schema if isinstance(schema, str | bytes) else json.dumps(schema))
    return buffer.getvalue()


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a description."""
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nodes_of(part)


def numbers(value: Any, at: int = 4711) -> dict[str, Any]:
    """Return the description of a plain value."""
    found = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True, "__id__": at}
    return {**found, "content": json.dumps(value)}


def array_of(parts: dict[str, bytes], node: dict[str, Any]) -> Any:
    return np.load(io.BytesIO(parts[node["file"]]), allow_pickle=False)


def put_array(parts: dict[str, bytes], node: dict[str, Any], array: Any) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    parts[node["file"]] = buffer.getvalue()


def edited(kind: str, edit: Callable[[Any, dict[str, bytes]], Any]) -> bytes:
    """Return a file after `edit` of its description and its parts; what that returns, if anything, is the file."""
    schema, parts = parts_of(dumped(kind))
    made = edit(schema, parts)
    return made if isinstance(made, bytes) else joined(schema, parts)


def _named(schema: Any, name: str) -> dict[str, Any]:
    return schema if not name else next(n for n in nodes_of(schema) if n.get("__class__") == name)


def put_attribute(schema: Any, name: str, key: str, value: dict[str, Any]) -> None:
    """Give the first object of a class an attribute, new or not."""
    found = _named(schema, name)["content"]
    if key not in found["content"]:
        found["key_types"]["content"].append(found["key_types"]["content"][0])
    found["content"][key] = value


def attributes(schema: Any, name: str = "") -> dict[str, Any]:
    """Return the attributes of the first object of a class in a description; of the whole model, without a name."""
    return _named(schema, name)["content"]["content"]
