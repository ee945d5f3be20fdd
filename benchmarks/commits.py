"""This checkout next to an older commit, in one run: the same answers, and how long both took.

Random problems (tables, trees, forests, boosted trees, linear models, circuits; classes and regressions;
all kinds of weights) are explained by both, each in processes of its own, and everything that comes out must
be the same to the last digit. The time of both is taken in turn on the same rows: trees of depth 8 and
XGBoost models on data that ships with scikit-learn.

    python benchmarks/commits.py 4596f69
    python benchmarks/commits.py v0.1 --problems 200 --quick

The older commit is unpacked into a temporary folder. Exits with 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("table", "tree", "regression tree", "forest", "gradient boosting", "xgboost", "logistic", "linear", "circuit")
SCORES = ("shapley", "banzhaf", "ffa", "wffa_cxp", "responsibility", "shapley_shubik")
TARGETS = ("mdd", "obdd", "sdd", "ddnnf")


def plain(thing: Any) -> Any:
    """Return a result as JSON holds it, with exact numbers as text."""
    if isinstance(thing, Fraction):
        return f"{thing.numerator}/{thing.denominator}"
    if isinstance(thing, np.generic):
        return thing.item()
    return thing


def answers(e: Any, *, complete: bool = True) -> dict[str, Any]:
    """Return all that an explanation says."""
    found = {
        "prediction": plain(e.prediction),
        "cxps": sorted((list(c.features), plain(c.weight)) for c in e.cxps),
        "scores": {kind: [plain(s) for s in e.scores(kind).values()] for kind in SCORES[: 6 if complete else 2]},
    }
    return {**found, "axps": sorted(list(a.features) for a in e.axps)} if complete else found


def random_domain(ax: Any, rng: Random, *, finite: bool) -> Any:
    makers: list[Callable[[int], Any]] = [
        lambda i: ax.Categorical(f"x{i}", range(rng.randint(2, 4))),
        lambda i: ax.Integer(f"x{i}", 0, rng.randint(1, 5)),
    ]
    if not finite:
        makers += [lambda i: ax.Real(f"x{i}", -1, rng.randint(1, 3))] * 2
    return ax.Domain([rng.choice(makers)(i) for i in range(rng.randint(2, 5))])


def draw(domain: Any, rng: Random, n: int) -> np.ndarray:
    columns = []
    for f in domain.features:
        if f.size is None:
            columns.append([rng.uniform(float(f.low), float(f.high)) for _ in range(n)])
        else:
            low = getattr(f, "low", 0)
            columns.append([rng.randint(low, low + f.size - 1) for _ in range(n)])
    return np.array(columns, dtype=np.float64).T


def trained(kind: str, X: np.ndarray, rng: Random) -> tuple[Any, int | None]:
    """Return a model on random labels, and delta for a regression."""
    from sklearn import ensemble, linear_model, tree
    from xgboost import XGBClassifier

    seed, depth, trees = rng.randrange(1000), rng.randint(1, 4), rng.randint(1, 6)
    y = np.array([rng.randrange(rng.choice((2, 3))) for _ in X])
    y[:3] = [0, 1, 2] if y.max() == 2 else [0, 1, 0]
    makers: dict[str, tuple[Callable[[], Any], int | None]] = {
        "tree": (lambda: tree.DecisionTreeClassifier(max_depth=depth + 2, random_state=seed), None),
        "regression tree": (lambda: tree.DecisionTreeRegressor(max_depth=depth + 2, random_state=seed), 1),
        "forest": (lambda: ensemble.RandomForestClassifier(trees, max_depth=depth, random_state=seed), None),
        "gradient boosting": (
            lambda: ensemble.GradientBoostingClassifier(n_estimators=trees, max_depth=2, random_state=seed),
            None,
        ),
        "xgboost": (lambda: XGBClassifier(n_estimators=trees, max_depth=depth, n_jobs=1), None),
        "logistic": (lambda: linear_model.LogisticRegression(), None),
        "linear": (lambda: linear_model.LinearRegression(), 1),
    }
    make, delta = makers[kind]
    return make().fit(X, y), delta


def problem(ax: Any, seed: int) -> tuple[Any, Any, np.ndarray, dict[str, Any]]:
    """Return a model, its domain, rows to explain, and how."""
    rng = Random(seed)
    kind = KINDS[seed % len(KINDS)]
    finite = kind in ("table", "circuit") or rng.random() < 0.5
    domain = random_domain(ax, rng, finite=finite)
    rows = draw(domain, rng, 3)
    weights = rng.choice(("ratio", "ratio", "unit", *(("count",) if finite else ())))
    if kind in ("table", "circuit"):
        table = {p: rng.randrange(3 if kind == "table" else 2) for p in domain.points()}
        model: Any = lambda p: table[tuple(p)]  # noqa: E731
        target = rng.choice(TARGETS) if kind == "circuit" else "auto"
        return model, domain, rows, {"weights": weights, "target": target}
    model, delta = trained(kind, draw(domain, rng, 40), rng)
    return model, domain, rows, {"weights": weights, "delta": delta}


def solved(ax: Any, seed: int) -> Any:
    model, domain, rows, how = problem(ax, seed)
    try:
        explainer = ax.Explainer(model, domain, **how)
        points = [tuple(x if f.size is None else int(x) for f, x in zip(domain.features, r, strict=True)) for r in rows]
        single = [answers(explainer.explain(p)) for p in points]
        together = [answers(e, complete=False) for e in explainer.explain_batch(points, progress=False)]
        made = []
        if domain.size is not None:
            target = TARGETS[seed % len(TARGETS)]
            form = ax.read_model(model, domain)
            if how.get("delta") is None:
                circuit = ax.compile_model(form, domain, output=single[0]["prediction"], target=target)
                made = [plain(circuit.probability()), circuit.count()]
        return [single, together, made]
    except ax.AxfiError as error:
        return type(error).__name__


def solve(problems: int) -> Iterator[str]:
    import axfi_kc as ax

    for seed in range(problems):
        yield json.dumps([seed, solved(ax, seed)], default=plain)


def timed(runs: int) -> Iterator[str]:
    """Wait for lines; for each, run a task once and say how long it took."""
    import axfi_kc as ax

    for name, task in tasks(ax):
        task()
        yield json.dumps([name, 0.0])
        for _ in range(runs):
            input()
            start = perf_counter()
            task()
            yield json.dumps([name, perf_counter() - start])


def tasks(ax: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from xgboost import XGBClassifier

    def batch(asked: Any, X: Any) -> Callable[[], Any]:
        def task() -> None:
            found = asked.explain_batch(X, progress=False)
            found.score_numerators("shapley")
            found.score_numerators("banzhaf")

        return task

    def explainer(model: Any, X: Any, y: Any, **how: Any) -> Any:
        return ax.Explainer(model.fit(X, y), ax.Domain.from_data(X), **how)

    cancer, target = load_breast_cancer(as_frame=True, return_X_y=True)
    wine, kind = load_wine(as_frame=True, return_X_y=True)
    sugar, level = load_diabetes(as_frame=True, return_X_y=True)
    tree = explainer(DecisionTreeClassifier(max_depth=8, random_state=0), cancer, target)
    yield "tree of depth 8, breast cancer, 50 rows", batch(tree, cancer.iloc[:50])
    yield "the same, one row at a time", lambda: [tree.explain(cancer.iloc[k]).scores() for k in range(20)]
    steps = explainer(DecisionTreeRegressor(max_depth=8, random_state=0), sugar, level, delta=10)
    yield "regression tree of depth 8, diabetes, 50 rows", batch(steps, sugar.iloc[:50])
    boosted = explainer(XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1), wine, kind)
    yield "XGBoost 20 x 3, wine, 36 rows", batch(boosted, wine.iloc[::5])
    deep = explainer(XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1), wine, kind)
    yield "XGBoost 100 x 6, wine, 18 rows", batch(deep, wine.iloc[::10])


def child(checkout: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start this script with the library of `checkout`."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, *arguments]
    return subprocess.Popen(
        command, cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def compare(old: Path, problems: int) -> int:
    """Return how many problems the two answer differently."""
    pair = [child(checkout, "--solve", str(problems)) for checkout in (old, ROOT)]
    differ = 0
    for before, now in zip(pair[0].stdout or (), pair[1].stdout or (), strict=True):
        if before != now:
            differ += 1
            print(f"problem {json.loads(now)[0]} differs:\n  before {before[:300]}\n  now    {now[:300]}")
    if any(p.wait() for p in pair):
        raise SystemExit("one of the two ended before it was done")
    return differ


def race(old: Path, runs: int) -> list[dict[str, Any]]:
    """Return the median seconds of both for each task, taken in turn."""
    pair = [child(checkout, "--timed", str(runs)) for checkout in (old, ROOT)]
    seconds: dict[str, list[list[float]]] = {}
    while True:
        first = [p.stdout.readline() for p in pair if p.stdout]  # both have warmed up
        if not all(first):
            break
        name = json.loads(first[0])[0]
        times: list[list[float]] = [[], []]
        for _ in range(runs):
            for k, p in enumerate(pair):
                p.stdin.write("\n")  # type: ignore[union-attr]
                p.stdin.flush()  # type: ignore[union-attr]
                times[k].append(json.loads(p.stdout.readline())[1])  # type: ignore[union-attr]
        seconds[name] = times
    rows = []
    for name, (before, now) in seconds.items():
        rows.append({"task": name, "before_s": median(before), "now_s": median(now)})
    return rows


def unpacked(commit: str, folder: Path) -> Path:
    archive = folder / "old.tar"
    subprocess.run(["git", "-C", str(ROOT), "archive", "--output", str(archive), commit], check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "old", filter="data")
    return folder / "old"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", help="the older commit")
    parser.add_argument("--problems", type=int, default=2000, help="how many random problems [%(default)s]")
    parser.add_argument("--runs", type=int, default=21, help="how often each time is taken [%(default)s]")
    parser.add_argument("--quick", action="store_true", help="90 problems, 3 runs")
    parser.add_argument("--solve", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--timed", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    lines = solve(options.solve) if options.solve else timed(options.timed) if options.timed else None
    if lines is not None:
        for line in lines:
            print(line, flush=True)
        return
    if options.commit is None:
        parser.error("name the older commit")
    sys.path.insert(0, str(ROOT))
    from benchmarks.provenance import save, stamp

    problems, runs = (90, 3) if options.quick else (options.problems, options.runs)
    with tempfile.TemporaryDirectory() as folder:
        old = unpacked(options.commit, Path(folder))
        differ = compare(old, problems)
        rows = race(old, runs)
    print(f"{problems - differ} of {problems} random problems answered the same by {options.commit} and now")
    for row in rows:
        print(f"{row['task']:48} {row['before_s'] * 1e3:9.2f} ms before {row['now_s'] * 1e3:9.2f} ms now"
              f"  ratio {row['now_s'] / row['before_s']:.2f}")  # fmt: skip
    print("wrote", save("commits", {**stamp(("axfi-kc", "numpy", "numba")), "older": options.commit,
                                    "problems": problems, "differ": differ, "rows": rows}))  # fmt: skip
    if differ:
        sys.exit(1)


if __name__ == "__main__":
    main()
