"""The study's folder: tables, pictures, and a report that says what everything is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.paper import tables
from benchmarks.paper.data_sets import TREES
from benchmarks.paper.figures import draw_bars, draw_overlaps, draw_sizes

__all__ = ["write_report"]


Found = Mapping[str, Mapping[str, Any]]


def write_report(out: Path, found: Found, *, missing: Mapping[str, str], stamp: Mapping[str, Any], scale: Any) -> Path:
    """Write CSV, JSON, pictures and ``report.md`` into `out`; return the report's path."""
    out.mkdir(parents=True, exist_ok=True)
    given = _tables(found)
    for name, rows in given.items():
        tables.write_csv(out / f"{name}.csv", rows)
    document = {"stamp": stamp, "scale": repr(scale), "missing": missing, "tables": given}
    (out / "results.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    pictures = _pictures(out, found)
    path = out / "report.md"
    path.write_text(_text(found, given, pictures, missing, stamp, scale), encoding="utf-8")
    return path


def _tables(found: Found) -> dict[str, list[dict[str, Any]]]:
    return {
        "models": tables.model_rows(found),
        "runtime": tables.runtime_rows(found),
        "overlaps": tables.overlap_rows(found),
        "overlaps_package_shap": tables.package_rows(found),
        "sampling": tables.sampling_rows(found),
        "similarity": tables.similarity_rows(found),
        "sizes": tables.size_rows(found),
        "scores": tables.score_rows(found),
    }


def _pictures(out: Path, found: Found) -> dict[str, str]:
    """Draw everything; return the pictures' paths within `out` by title."""
    made: dict[str, Path] = {}
    for name, results in found.items():
        path = out / "figures" / f"overlaps-{name}"
        made[f"overlaps {name}"] = draw_overlaps(name, results["scores"]["instances"], path)
    point = found.get("recidivism", {}).get("point")
    if point:
        shown = {kind: point["scores"][kind] for kind in ("banzhaf", "wffa")}
        shown["abs(shap)"] = [abs(s) for s in point["scores"]["shap"]]
        title = f"The paper's instance of recidivism, prediction {point['prediction']}"
        made["point"] = draw_bars(title, point["names"], shown, out / "figures" / "recidivism-point")
    sizes = draw_sizes({name: results["sizes"] for name, results in found.items()}, out / "figures" / "sizes")
    if sizes is not None:
        made["sizes"] = sizes
    return {title: path.relative_to(out).as_posix() for title, path in made.items()}


def _text(
    found: Found,
    given: Mapping[str, list[dict[str, Any]]],
    pictures: Mapping[str, str],
    missing: Mapping[str, str],
    stamp: Mapping[str, Any],
    scale: Any,
) -> str:
    parts = [
        "# The paper's experiments, with exact weights\n",
        "Everything here is computed exactly, except where a table says that it samples. "
        f"Seed {stamp['seed']}, at most {scale.instances} test instances per data set, Python {stamp['python']}, "
        f"{stamp['machine']}; {_versions(stamp)}. The files in `steps/` repeat this for each result.\n",
        *(f"- skipped: {line}" for line in missing.values()),
        "\n## Models\n",
        tables.markdown(given["models"]),
        "The paper does not say how deep its trees are, and draws its own split, so numbers of explanations, "
        "overlaps and seconds are to be compared in kind, not digit by digit.\n",
        "## Run time\n",
        _about_seconds(),
        tables.markdown(given["runtime"]),
        *_about_veritas(found),
        "## Rankings\n",
        _about_rankings(found),
        tables.markdown(_means(given["overlaps"])),
        _about_differences(given["overlaps"]),
        "Least and largest values are in `overlaps.csv`.\n",
        "SHAP above is exact, under the uniform measure on the box of the data, as are the AxFi scores. The paper's "
        "comes from the package shap, which compares an instance with rows of data (or, for boosted trees, with what "
        "each path saw in training). With the package's scores, on the same models and instances:\n",
        tables.markdown(_means(given["overlaps_package_shap"])),
        *(f"![{title}]({path})\n" for title, path in pictures.items() if title.startswith("overlaps")),
        *_about_point(found, pictures),
        "## Sampling against exact\n",
        f"Exact CXps, {scale.samples} uniform points in the box of each, classified by the model's own library. An "
        "order of features whose exact scores are equal is never counted as wrong.\n",
        tables.markdown(given["sampling"]),
        "## SHAP scores on circuits\n",
        "The game is the probability that the output is similar to that of the instance, given the features that are "
        "fixed; computed on the compiled circuit, exactly. Overlap is of rankings by absolute value with SHAP scores "
        "of the mean output.\n",
        tables.markdown(given["similarity"]),
        "## Sizes\n",
        f'The circuit of "the output is that of the first test instance"; each way of compilation had '
        f"{scale.sizes.seconds:g} s. All ways are in `sizes.csv`; here is the smallest circuit of each language.\n",
        tables.markdown(_smallest(given["sizes"])),
        *(f"![sizes]({pictures['sizes']})\n" for _ in range("sizes" in pictures)),
    ]
    return "\n".join(parts)


def _versions(stamp: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name} {number}" for name, number in stamp["versions"].items())
    commit = stamp.get("commit")
    return f"{listed}, commit {commit}" if commit else listed


def _about_seconds() -> str:
    return (
        "Mean seconds per instance. *WFFA here*: all CXps, all AXps, the attribution. *AxFi here*: all CXps, all exact "
        "weights, both scores. *SHAP here*: exact SHAP scores under the same product measure, of the class number of a "
        "tree, the output of a regression, the margin of an ensemble or a linear model. The paper's columns are its "
        "published numbers, from its authors' machine, with 5,000 samples per weight for boosted trees and logistic "
        "regression. *package shap*, *veritas + Hitman* (CXps and AXps, no weights) and *sampled weights* (CXps given) "
        "ran here, in this run; where they are slow, on fewer instances.\n"
    )


def _about_veritas(found: Found) -> list[str]:
    rows = [results["veritas"] for results in found.values() if results.get("veritas", {}).get("instances")]
    if not rows:
        return []
    same, all_of_them = sum(r["identical"] for r in rows), sum(r["instances"] for r in rows)
    return [f"dtai-veritas with Hitman found the same CXps and AXps at {same} of {all_of_them} instances.\n"]


def _about_rankings(found: Found) -> str:
    trees = [name for name in found if name in TREES]
    values = [_mean_of(found[name], "shapley-banzhaf") for name in trees]
    verdict = ""
    if values:
        low = min(values)
        verdict = (
            f"On trees, Shapley-like and Banzhaf-like rankings overlap by {low:.3f} to {max(values):.3f} on average "
            "(the paper: 0.96 to 0.97). "
        )
        if low < 0.9:
            verdict += (
                "Where that is below 0.9, CXps of different sizes weigh differently in the two scores, and near ties "
                "change places. "
            )
    return (
        "Rank-biased overlap with persistence 0.5 and depth 5, without extrapolation, so that equal rankings have "
        "31/32 = 0.969. Scores are compared as exact fractions. Features of equal score, zeros among them, keep the "
        "order of the columns in every ranking. " + verdict + _about_ties(found) + "\n"
    )


def _about_ties(found: Found) -> str:
    instances = [i for results in found.values() for i in results["scores"]["instances"]]
    if not instances:
        return ""
    shares = {kind: mean(i["ties"][kind] for i in instances) for kind in instances[0]["ties"]}
    listed = ", ".join(f"{share:.0%} for {kind}" for kind, share in shares.items())
    backwards = mean(float(Fraction(i["by_last_feature"])) for i in instances)
    forwards = mean(float(Fraction(i["overlaps"]["shapley-banzhaf"])) for i in instances)
    return (
        f"The top five depend on how ties are broken at {listed} of the instances; were ties of one of the two AxFi "
        f"scores broken the other way round, their mean overlap over all data sets would be {backwards:.3f} instead "
        f"of {forwards:.3f}."
    )


def _mean_of(results: Mapping[str, Any], pair: str) -> float:
    return mean(float(Fraction(i["overlaps"][pair])) for i in results["scores"]["instances"])


def _means(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean overlaps, a row per pair and a column per data set: here / paper."""
    pairs: dict[str, dict[str, Any]] = {}
    for row in rows:
        found = pairs.setdefault(row["pair"], {"mean overlap, here / paper": row["pair"]})
        found[row["data"]] = f"{row['mean']:.2f} / {row['paper mean']:.2f}"
    return list(pairs.values())


def _about_differences(rows: list[dict[str, Any]]) -> str:
    far = sorted(rows, key=lambda row: -abs(row["mean"] - row["paper mean"]))[:3]
    listed = "; ".join(f"{r['data']}, {r['pair']}: {r['mean']:.2f} against {r['paper mean']:.2f}" for r in far)
    return f"Furthest from the paper: {listed}.\n"


def _about_point(found: Found, pictures: Mapping[str, str]) -> list[str]:
    point = found.get("recidivism", {}).get("point")
    if not point:
        return []
    top = {kind: _top(point["names"], scores) for kind, scores in point["scores"].items()}
    listed = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in top.items())
    return [
        f"The paper's instance of recidivism is predicted {point['prediction']} here (in the paper: 1) and has "
        f"{point['cxps']} CXps and {point['axps']} AXps. Top four features by absolute value: {listed}. The paper "
        "names Age, Prison Violations, Priors and Crime Against Property.\n",
        f"![the paper's instance]({pictures['point']})\n",
    ]


def _top(names: list[str], scores: list[float]) -> list[str]:
    return sorted(names, key=lambda name: -abs(scores[names.index(name)]))[:4]


def _smallest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["data"], row["target"] or ""
        old = best.get(key)
        if old is None or (row["nodes"] is not None and (old["nodes"] is None or row["nodes"] < old["nodes"])):
            best[key] = row
    return [{**row, "note": row["note"].partition(",")[0] if row["nodes"] is None else None} for row in best.values()]
