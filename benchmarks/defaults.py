"""The models that people have: every library's defaults, on data of 8 to 100 features, five instances each.

For each model and instance: all CXps with their exact weights and both scores within a budget of seconds, or the
largest radius that fits, next to dtai-veritas driven by python-sat's Hitman, which gives CXps and AXps without weights,
and with `--before COMMIT` next to an older commit, all in one run. With `--growth`, how the seconds grow with the
radius, trees, depth and features, and two threads next to one. Results are saved after each model, as JSON, as a table
for the documentation and as a picture.

    python benchmarks/defaults.py --quick                        # breast cancer, three rows
    python benchmarks/defaults.py --data breast_cancer --before 4596f69
    python benchmarks/defaults.py --growth                       # everything: hours
    python benchmarks/defaults.py --growth --seconds 5 --peer-seconds 5
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from threading import Lock
from time import perf_counter, thread_time
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import RESULTS, save, stamp  # noqa: E402

SEED = 0
SECONDS = 60.0
PEER_SECONDS = 60.0


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=SEED, n_jobs=1)


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=SEED, n_jobs=1, verbose=-1)


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_state=SEED, thread_count=1, verbose=False, allow_writing_files=False)


def _sklearn(name: str, **options: Any) -> Callable[[], Any]:
    def made() -> Any:
        from sklearn import ensemble

        return getattr(ensemble, name)(random_state=SEED, **options)

    return made


def _linear() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression())


LIBRARIES: dict[str, Callable[[], Any]] = {
    "XGBoost": _xgboost,
    "GradientBoosting": _sklearn("GradientBoostingClassifier"),
    "LightGBM": _lightgbm,
    "HistGradientBoosting": _sklearn("HistGradientBoostingClassifier"),
    "RandomForest": _sklearn("RandomForestClassifier", n_jobs=1),
    "ExtraTrees": _sklearn("ExtraTreesClassifier", n_jobs=1),
    "CatBoost": _catboost,
    "scaled LogisticRegression": _linear,
}


def _breast_cancer() -> tuple[Any, Any]:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def _wine() -> tuple[Any, Any]:
    from sklearn.datasets import load_wine

    return load_wine(return_X_y=True)


def _shared(name: str) -> Callable[[], tuple[Any, Any] | None]:
    def found() -> tuple[Any, Any] | None:
        from tests.support.shared_data import SHARED, numeric_set, tree_set

        read = tree_set if name == "adult" else numeric_set
        data = read(name) if (SHARED / "data").is_dir() or name != "adult" else None
        return None if data is None else (data.X.to_numpy(dtype=np.float64), np.asarray(data.y))

    return found


def _synthetic(n_features: int, informative: int) -> Callable[[], tuple[Any, Any]]:
    def made() -> tuple[Any, Any]:
        from sklearn.datasets import make_classification

        return make_classification(2000, n_features, n_informative=informative, n_redundant=4, random_state=SEED)

    return made


DATA: dict[str, Callable[[], tuple[Any, Any] | None]] = {
    "breast_cancer": _breast_cancer,
    "adult": _shared("adult"),
    "wine": _wine,
    "diabetes": _shared("diabetes"),
    "synthetic 54": _synthetic(54, 12),
    "synthetic 100": _synthetic(100, 12),
}


def trained(library: str, data: str) -> tuple[Any, Any, np.ndarray] | None:
    """Return a model with the library's defaults, its domain and test rows; None where the data are absent."""
    from sklearn.model_selection import train_test_split

    import axfi_kc as ax

    found = DATA[data]()
    if found is None:
        return None
    X, y = found
    train, test, target, _ = train_test_split(X, y, random_state=SEED)
    model = LIBRARIES[library]().fit(train, target)
    return model, ax.Domain.from_data(X), test


def measured(
    library: str, data: str, rows: int, seconds: float, max_size: int | None, threads: int
) -> list[dict[str, Any]]:
    """Return for each row the seconds, the number of CXps and the radius, None where all CXps were found."""
    import axfi_kc as ax

    found = trained(library, data)
    if found is None:
        return []
    model, domain, test = found
    asked = {"threads": threads} if threads > 1 else {}  # which older commits do not know
    explainer = ax.Explainer(model, domain, max_size=max_size, budget=ax.Budget(seconds=seconds, **asked))
    with contextlib.suppress(ax.AxfiError):
        ax.Explainer(model, domain, max_size=1, budget=ax.Budget(seconds=seconds)).explain(test[0])  # compiles
    return [_timed(explainer, x) for x in test[:rows]]


def _timed(explainer: Any, x: np.ndarray) -> dict[str, Any]:
    import axfi_kc as ax

    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older commits know no warning of their own
        try:
            e = explainer.explain(x)
            e.scores("shapley"), e.scores("banzhaf")
        except ax.AxfiError as error:
            return {"seconds": perf_counter() - start, "error": type(error).__name__}
    seconds, radius = perf_counter() - start, getattr(e, "stopped_at", None)  # which older commits do not have
    return {"seconds": seconds, "cxps": e.cxp_count if hasattr(e, "cxp_count") else len(e.cxps), "radius": radius}


def peer_seconds(library: str, data: str, rows: int, seconds: float) -> list[float | None]:
    """Return the seconds that veritas and Hitman take for each row, None where so many were not enough."""
    import axfi_kc as ax
    from axfi_kc.models import TreeSum
    from benchmarks.peers import TimeIsUp, VeritasPeer

    found = trained(library, data)
    form = None if found is None else ax.read_model(found[0], found[1])
    if found is None or not isinstance(form, TreeSum):
        return []
    peer, times = VeritasPeer(form), []
    for cells, output in zip(*form.cells_and_outputs(found[2][:rows]), strict=True):
        peer.prepare(output)
        start = perf_counter()
        try:
            peer.explain(cells.tolist(), output, seconds=seconds)
            times.append(perf_counter() - start)
        except TimeIsUp:
            times.append(None)
    return times


@contextlib.contextmanager
def older(commit: str) -> Iterator[Path]:
    """Check an older commit out beside this one, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "before"
        subprocess.run(
            ["git", "worktree", "add", "--detach", str(path), commit], cwd=ROOT, check=True, capture_output=True
        )
        try:
            yield path
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(path)], cwd=ROOT, check=True, capture_output=True
            )


def measured_at(path: Path, *question: Any) -> list[dict[str, Any]]:
    """Return what :func:`measured` does with the package in another folder."""
    asked = [sys.executable, __file__, "--child", json.dumps(question)]
    done = subprocess.run(
        asked, cwd=path, env={**os.environ, "PYTHONPATH": str(path)}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def _cell(row: dict[str, Any]) -> str:
    if "error" in row:
        return f"{row['error']} after {row['seconds']:.1f} s"
    known = "all" if row["radius"] is None else f"up to {row['radius']}"
    return f"{row['seconds']:.2f} s, {row['cxps']} CXps ({known})"


def show(library: str, data: str, options: argparse.Namespace, before: Path | None) -> list[dict[str, Any]]:
    """Measure one model, print a line per row, and return what was found."""
    question = (library, data, options.rows, options.seconds, options.max_size, 1)
    ours = measured(*question)
    asks_peer = options.peer and options.max_size is None
    theirs = peer_seconds(library, data, options.rows, options.peer_seconds) if asks_peer else []
    earlier = [] if before is None else measured_at(before, *question)
    found = []
    for n, row in enumerate(ours):
        made = {"library": library, "data": data, "row": n, **row, "max_size": options.max_size}
        words = [f"{library:26} {data:14} row {n}: {_cell(row)}"]
        if n < len(theirs):
            made["veritas"] = theirs[n]
            unfinished = f"more than {options.peer_seconds:g} s"
            words.append(f"veritas + Hitman {unfinished if theirs[n] is None else f'{theirs[n]:.2f} s'}")
        if earlier:
            made["before"] = earlier[n]
            words.append(f"before {_cell(earlier[n])}, {earlier[n]['seconds'] / row['seconds']:.1f} times the time")
        print("; ".join(words), flush=True)
        found.append(made)
    return found


def by_radius(rows: int, most: int, seconds: float) -> list[dict[str, Any]]:
    """Return the seconds of forests by radius, as far as the budget of a row goes."""
    found = []
    for library in ("RandomForest", "ExtraTrees"):
        for radius in range(1, most + 1):
            times = measured(library, "breast_cancer", rows, seconds, radius, 1)
            shown = ", ".join(f"{t['seconds']:.2f} s" for t in times)
            print(f"{library}, radius {radius}: {shown}; {[t.get('cxps') for t in times]} CXps", flush=True)
            found.append({"library": library, "radius": radius, "rows": times})
            if any(t.get("radius") is not None or "error" in t for t in times):
                break  # one more feature only takes longer
    return found


LADDERS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "trees": tuple((n, 4, 20) for n in (10, 25, 50, 100, 200)),
    "depth": tuple((50, d, 20) for d in (2, 3, 4, 5, 6)),
    "features": tuple((50, 4, k) for k in (10, 20, 30, 54, 100)),
}


def by_size(rows: int, radius: int, seconds: float) -> list[dict[str, Any]]:
    """Return the seconds of XGBoost on synthetic data, with one of trees, depth and features varied at a time."""
    from xgboost import XGBClassifier

    import axfi_kc as ax

    found = []
    for axis, points in LADDERS.items():
        for trees, depth, width in points:
            X, y = _synthetic(width, min(12, width - 4))()
            model = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=SEED, n_jobs=1).fit(X, y)
            explainer = ax.Explainer(model, ax.Domain.from_data(X), max_size=radius, budget=ax.Budget(seconds=seconds))
            explainer.explain(X[-1])  # compiles, and lays out the trees
            times = [_timed(explainer, x) for x in X[:rows]]
            made = {"axis": axis, "trees": trees, "depth": depth, "features": width, "radius": radius, "rows": times}
            found.append(made)
            shown = ", ".join(map(_cell, times))
            print(f"{trees} trees of depth {depth}, {width} features, radius {radius}: {shown}", flush=True)
    return found


HARD: list[tuple[Any, ...]] = [
    ("LightGBM", "breast_cancer", 4),
    ("HistGradientBoosting", "breast_cancer", 4),
    ("RandomForest", "breast_cancer", 2, 6),
]


@contextlib.contextmanager
def longest_threads(n: int) -> Iterator[list[float]]:
    """Note the processor seconds of the longest of n threads each time that all of them have met."""
    from axfi_kc.engines.ensemble import climbing, dualizing, search, sweeping

    found: list[float] = []
    steps = [(sweeping.Sweep, "_stretch"), (sweeping.Sweep, "_catch_up"), (climbing.Climb, "_stretch")]
    steps += [(dualizing._Thread, "stretch"), (search._Cover, "run_rounds")]
    kept, lock = [getattr(*step) for step in steps], Lock()

    def noting(run: Callable[..., Any]) -> Callable[..., Any]:
        met: list[float] = []

        def noted(*given: Any) -> Any:
            before = thread_time()
            result = run(*given)
            with lock:
                met.append(thread_time() - before)
                if len(met) == n:
                    found.append(max(met))
                    met.clear()
            return result

        return noted

    for (owner, name), run in zip(steps, kept, strict=True):
        setattr(owner, name, noting(run))
    try:
        yield found
    finally:
        for (owner, name), run in zip(steps, kept, strict=True):
            setattr(owner, name, run)


def threads(library: str, data: str, row: int, max_size: int | None = None, turns: int = 3) -> dict[str, Any]:
    """Return the seconds of one hard row with one thread and with two, the best of some turns.

    On the clock, which wants two idle cores, and counted: what the calling thread spends, and the longer of the two
    each time that they meet, in seconds of the processor, as the clock has it on a quiet machine.
    """
    import axfi_kc as ax

    model, domain, test = trained(library, data)  # type: ignore[misc]
    budgets = {n: ax.Budget(seconds=600.0, threads=n) for n in (1, 2)}
    explainers = {n: ax.Explainer(model, domain, max_size=max_size, budget=budgets[n]) for n in budgets}
    ax.Explainer(model, domain, max_size=1, budget=budgets[1]).explain(test[0])  # compiles
    found: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(turns):
        for n, explainer in explainers.items():
            before = thread_time()
            with longest_threads(2) if n == 2 else contextlib.nullcontext([]) as longest:
                seconds = _timed(explainer, test[row])["seconds"]
            found[n].append((seconds, thread_time() - before + sum(longest)))
    clock, counted = ({n: min(pair[k] for pair in pairs) for n, pairs in found.items()} for k in range(2))
    ratios = [clock[1] / clock[2], counted[1] / counted[2]]
    print(f"{library} on {data}, row {row}: clock {clock[1]:.1f} s with one thread, {clock[2]:.1f} s with two, "
          f"{ratios[0]:.2f} times; counted {counted[1]:.1f} and {counted[2]:.1f} s, {ratios[1]:.2f} times",
          flush=True)  # fmt: skip
    seconds_of = {f"threads_{n}": pairs for n, pairs in found.items()}
    return {"library": library, "data": data, "row": row, "max_size": max_size, "ratios": ratios, **seconds_of}


def _middle(values: list[float]) -> str:
    return f"{median(values):.2f}" if values else "-"


def table(rows: list[dict[str, Any]]) -> str:
    """Return a line of Markdown for each model."""
    lines = [
        "| data | model | complete | median s | CXps | else complete up to | veritas + Hitman: finished | median s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    models = dict.fromkeys((row["data"], row["library"]) for row in rows)
    for data, library in models:
        own = [r for r in rows if (r["data"], r["library"]) == (data, library)]
        whole = [r for r in own if "error" not in r and r["radius"] is None]
        partly = sorted({r["radius"] for r in own if r.get("radius") is not None})
        errors = sum("error" in r for r in own)
        rest = " to ".join(str(k) for k in dict.fromkeys((partly[0], partly[-1]))) + " features" if partly else ""
        rest += f"{', ' if rest else ''}{errors} without answer" if errors else ""
        cxps = [r["cxps"] for r in whole]
        span = f"{min(cxps):,} to {max(cxps):,}" if cxps else "-"
        asked = [r["veritas"] for r in own if "veritas" in r]
        ended = [t for t in asked if t is not None]
        peer = f"{len(ended)} of {len(asked)} | {_middle(ended)}" if asked else "no sum of trees | -"
        lines.append(
            f"| {data} | {library} | {len(whole)} of {len(own)} | {_middle([r['seconds'] for r in whole])} | {span} | "
            f"{rest or '-'} | {peer} |"
        )
    return "\n".join(lines)


def draw(result: dict[str, Any]) -> Path | None:
    """Draw how the seconds grow; None if that was not measured."""
    if not result.get("by_radius"):
        return None
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained", sharey=True)
    for library, colour in (("RandomForest", "#2a6f97"), ("ExtraTrees", "#b3261e")):
        own = [r for r in result["by_radius"] if r["library"] == library]
        _line(grid[0], [(r["radius"], r["rows"]) for r in own], colour, f"{library} defaults")
    for axes, axis in zip(grid[1:], LADDERS, strict=True):
        own = [r for r in result.get("by_size", []) if r["axis"] == axis]
        _line(axes, [(r[axis], r["rows"]) for r in own], "#2a6f97", "XGBoost, radius 3")
    for axes, label in zip(grid, ("radius (breast cancer)", *LADDERS), strict=True):
        axes.set(yscale="log", xlabel=label)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8, frameon=False)
    grid[0].set_ylabel("seconds per instance")
    path = RESULTS / "defaults.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _line(axes: Any, points: list[tuple[int, list[dict[str, Any]]]], colour: str, label: str) -> None:
    """Draw medians over rows, filled where all of them are complete and hollow where a budget ended."""
    axes.plot(
        [x for x, _ in points], [median(t["seconds"] for t in rows) for _, rows in points], color=colour, label=label
    )
    for x, rows in points:
        ended = any(t.get("radius") is not None or "error" in t for t in rows)
        axes.plot(x, median(t["seconds"] for t in rows), "o", color=colour, mfc="white" if ended else colour)


def keep(result: dict[str, Any], options: argparse.Namespace) -> None:
    """Save what is known so far: long runs are looked at, and may be ended, on the way."""
    packages = ("axfi-kc", "scikit-learn", "xgboost-cpu", "lightgbm", "catboost", "dtai-veritas", "python-sat")
    settings = {"seconds": options.seconds, "peer_seconds": options.peer_seconds}
    save("defaults", {**stamp(packages, seed=SEED, **settings), **result})
    (RESULTS / "defaults.md").write_text(table(result["rows"]) + "\n")
    draw(result)


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="breast cancer, three rows, 10 seconds each, no peer")
    parser.add_argument("--data", nargs="*", choices=DATA, default=list(DATA))
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the budget of each row")
    parser.add_argument("--peer-seconds", type=float, default=PEER_SECONDS, help="what veritas and Hitman get for it")
    parser.add_argument("--max-size", type=int)
    parser.add_argument("--no-peer", dest="peer", action="store_false")
    parser.add_argument("--before", metavar="COMMIT", help="an older commit to compare with")
    parser.add_argument(
        "--growth", action="store_true", help="by radius, trees, depth and features, and two threads, too"
    )
    parser.add_argument("--growth-rows", type=int, default=3)
    parser.add_argument("--threads", action="store_true", help="two threads next to one on hard rows, and nothing else")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.path.remove(str(ROOT))  # the package of the folder that this runs in, and not the one beside this file
        import axfi_kc

        if Path(axfi_kc.__file__).parent.parent != Path.cwd():
            raise SystemExit(f"measured {axfi_kc.__file__}, which is not in {Path.cwd()}")
        print(json.dumps(measured(*json.loads(options.child))))
        return
    if options.threads:
        for asked in HARD:
            threads(*asked)
        return
    if options.quick:
        options.data, options.rows, options.seconds, options.peer = ["breast_cancer"], 3, 10.0, False
    if options.peer and importlib.util.find_spec("veritas") is None:
        print("dtai-veritas is not installed: pip install 'axfi-kc[benchmarks]'")
        options.peer = False
    result: dict[str, Any] = {"rows": []}
    with older(options.before) if options.before else contextlib.nullcontext() as before:
        for data in options.data:
            for library in options.libraries:
                result["rows"] += show(library, data, options, before)
                keep(result, options)
    if options.growth:
        result["by_radius"] = by_radius(options.growth_rows, 6, options.seconds)
        keep(result, options)
        result["by_size"] = by_size(options.growth_rows, 3, options.seconds)
        keep(result, options)
        result["threads"] = [threads(*asked) for asked in HARD]
        keep(result, options)
    print(table(result["rows"]))
    print("wrote", (RESULTS / "defaults.json").relative_to(ROOT))


if __name__ == "__main__":
    main()
