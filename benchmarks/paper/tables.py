"""The study's tables, as rows of plain values, and how they are written."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.paper.published import OVERLAPS, PAIRS, SECONDS
from benchmarks.paper.rankings import overlaps, summary

__all__ = [
    "markdown",
    "model_rows",
    "overlap_rows",
    "package_rows",
    "runtime_rows",
    "sampling_rows",
    "score_rows",
    "similarity_rows",
    "size_rows",
    "write_csv",
]


Row = dict[str, Any]
Found = Mapping[str, Mapping[str, Any]]


def model_rows(found: Found) -> list[Row]:
    """Return what was trained on what."""
    return [
        {
            **{key: results["scores"]["model"].get(key) for key in ("data", "rows", "features", "trainer", "leaves")},
            "accuracy or R2": results["scores"]["model"]["quality"],
            "instances": len(results["scores"]["instances"]),
            "CXps": mean(i["cxps"] for i in results["scores"]["instances"]),
            "AXps": mean(i["axps"] for i in results["scores"]["instances"]),
            "source": results["scores"]["model"]["source"],
        }
        for results in found.values()
    ]


def runtime_rows(found: Found) -> list[Row]:
    """Return mean seconds per instance: here, in the paper, and of peers."""
    rows = []
    for name, results in found.items():
        instances, published = results["scores"]["instances"], SECONDS[name]
        peer = results.get("shap", {})
        rows.append(
            {
                "data": name,
                "WFFA here": mean(i["wffa_seconds"] for i in instances),
                "WFFA paper": published.wffa,
                "AxFi here": mean(i["axfi_seconds"] for i in instances),
                "AxFi paper": published.axfi,
                "SHAP here, exact": results["scores"]["shap_seconds"],
                "SHAP paper": published.shap,
                "package shap": peer.get("seconds"),
                "method of shap": peer.get("method", peer.get("note")),
                "veritas + Hitman": results.get("veritas", {}).get("seconds"),
                "sampled weights": results.get("sampling", {}).get("seconds"),
            }
        )
    return rows


def overlap_rows(found: Found) -> list[Row]:
    """Return least, largest and mean overlap of each pair, here and in the paper."""
    rows = []
    for name, results in found.items():
        for (one, other), published in zip(PAIRS, OVERLAPS[name], strict=True):
            pair = f"{one}-{other}"
            here = summary(Fraction(i["overlaps"][pair]) for i in results["scores"]["instances"])
            paper = dict(zip(("paper min", "paper max", "paper mean"), published, strict=True))
            rows.append({"data": name, "pair": pair, **here, **paper})
    return rows


def package_rows(found: Found) -> list[Row]:
    """Return the mean overlaps of the pairs with SHAP, when its scores are those of the package shap."""
    rows = []
    for name, results in found.items():
        names, given = results["scores"]["names"], results["shap"].get("scores", [])
        instances = [_with_shap(i["scores"], names, row) for i, row in zip(results["scores"]["instances"], given)]  # noqa: B905
        if not instances:
            continue
        for (one, other), published in zip(PAIRS, OVERLAPS[name], strict=True):
            if "shap" in other:
                pair = f"{one}-{other}"
                here = mean(float(i[pair]) for i in instances)
                rows.append({"data": name, "pair": pair, "mean": here, "paper mean": published[2]})
    return rows


def _with_shap(scores: Mapping[str, Sequence[float]], names: Sequence[str], shap: Sequence[float]) -> Row:
    given = {**scores, "shap": shap}
    return overlaps({kind: dict(zip(names, values, strict=True)) for kind, values in given.items()})


def sampling_rows(found: Found) -> list[Row]:
    """Return what sampling got wrong, a row per data set and score."""
    rows = []
    for name, given in ((n, results["sampling"]) for n, results in found.items() if "sampling" in results):
        for kind in ("shapley", "banzhaf"):
            of_kind = given[kind]
            rows.append(
                {
                    "data": name,
                    "score": kind,
                    "instances": given["instances"],
                    "CXps": given["cxps"],
                    "largest error of a weight": given["weight_largest"],
                    "positive weights sampled as 0": given["sampled_as_zero"],
                    "largest error of a score": of_kind["score_largest"],
                    "mean error / top score": of_kind["score_relative_mean"],
                    "top feature wrong": of_kind["top_wrong"],
                    "top-5 order wrong": of_kind["order_wrong"],
                    "mean overlap": of_kind["overlap_mean"],
                    "least overlap": of_kind["overlap_min"],
                }
            )
    return rows


def similarity_rows(found: Found) -> list[Row]:
    """Return the cost of SHAP scores on circuits, and how they rank next to those of the mean output."""
    keys = {"instances": "instances", "nodes": "mean nodes", "seconds": "seconds", "overlap": "overlap with abs(SHAP)"}
    return [
        {"data": name, **{label: results["similarity"].get(key) for key, label in keys.items()},
         "note": results["similarity"].get("note")}
        for name, results in found.items()
    ]  # fmt: skip


def size_rows(found: Found) -> list[Row]:
    """Return one row per model and way of compilation."""
    columns = ("target", "code", "order", "vtree", "nodes", "edges", "bytes", "seconds", "agrees", "note")
    return [
        {"data": name, **{column: row.get(column) for column in columns}}
        for name, results in found.items()
        for row in results["sizes"]
    ]


def score_rows(found: Found) -> list[Row]:
    """Return every score of every instance, and all overlaps."""
    rows = []
    for name, results in found.items():
        for instance in results["scores"]["instances"]:
            common = {"data": name, "row": instance["row"], "prediction": instance["prediction"]}
            for k, feature in enumerate(results["scores"]["names"]):
                rows.append({**common, "feature": feature, **{kind: s[k] for kind, s in instance["scores"].items()}})
    return rows


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows with a header."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a table of Markdown; columns without any value are left out."""
    columns = [c for c in rows[0] if any(row[c] is not None for row in rows)] if rows else []
    lines = [columns, ["---"] * len(columns), *([_cell(row[c]) for c in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value).replace("|", "/")
    if abs(value) >= 0.1 or value == 0:
        return f"{value:.3f}"
    return f"{value:.2g}" if abs(value) >= 1e-4 else f"{value:.1e}"
