"""A little of everything, with whatever versions are installed: does it import, explain, check, save and draw?

    python .ci/smoke.py

Answers are compared with definitions or with each other, so that a version that changes one is noticed. What is not
installed is left out and named; nothing here needs a test runner.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import axfi_kc as ax
from axfi_kc.explanations.page import write_report

NAMES = ("a", "b", "c", "d")
SHOWN = ("numpy", "numba", "networkx", "dd", "PySDD", "joblib", "tqdm", "pandas", "scikit-learn", "skops", "matplotlib")
MORE = ("pyarrow", "lightgbm", "xgboost-cpu", "xgboost")


def rows() -> tuple[Any, Any]:
    """Return a table of small integers, and classes."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (200, 4)).astype(float)
    return X, (X[:, 0] + X[:, 1] * (X[:, 2] > 1) > 3).astype(int)


def domain_of(X: Any) -> ax.Domain:
    return ax.Domain.from_data(X, names=NAMES, integer=range(4))


def cxps_by_definition(model: Any, x: Any) -> dict[tuple[str, ...], Fraction]:
    """Return the CXps of an instance with their ratios, from predictions at all points."""
    points = np.array(np.meshgrid(*[range(4)] * 4, indexing="ij")).reshape(4, -1).T.astype(float)
    changed = points != x
    wrong = model.predict(points) != model.predict(np.array([x]))[0]
    sets = {tuple(row) for row in changed[wrong].tolist()}
    smallest = [s for s in sets if not any(t != s and all(b or not a for a, b in zip(t, s, strict=True)) for t in sets)]
    found = {}
    for s in smallest:
        inside = ~(changed & ~np.array(s)).any(axis=1)
        names = tuple(n for n, is_in in zip(NAMES, s, strict=True) if is_in)
        found[names] = Fraction(int((wrong & inside).sum()), int(inside.sum()))
    return found


def explained(model: Any, X: Any) -> Any:
    """Explain two rows, and compare them with the definition and with what `verify` finds."""
    explainer = ax.Explainer(model, domain_of(X))
    for row in X[:2]:
        e = explainer.explain(row)
        assert {c.features: c.weight for c in e.cxps} == cxps_by_definition(model, row)
        assert ax.verify(e, model).ok
    return explainer


def example() -> None:
    """The paper's running example, through every target and under a constraint, a region and a distribution."""
    domain = ax.Domain([ax.Integer("x1", 0, 2), ax.Integer("x2", 0, 1), ax.Integer("x3", 0, 2)])
    ones = {(0, 0, 2), (0, 1, 2), (1, 1, 2), (2, 0, 2), (2, 1, 0), (2, 1, 1), (2, 1, 2)}
    for target in ("auto", "mdd", "obdd", "sdd", "ddnnf"):
        e = ax.Explainer(lambda p: int(p in ones), domain, weights="count", target=target).explain((2, 1, 2))
        assert [c.weight for c in e.cxps] == [1, 4, 2], target
        assert list(e.scores("shapley").values()) == [Fraction(5, 6), Fraction(1, 2), 1]
    space = domain.where(ax.feature("x1") >= ax.feature("x2"))
    space = space.with_distribution(ax.ChowLiu.fit([[2, 1, 2], [1, 0, 0], [2, 1, 1], [1, 1, 2]], domain))
    model = lambda p: int(p in ones)  # noqa: E731
    e = ax.Explainer(model, space, within=ax.Region(frozen=["x2"])).explain((2, 1, 2))
    assert [c.features for c in e.cxps] == [("x1", "x3")]
    assert ax.verify(e, model).ok


def trees() -> None:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    X, y = rows()
    for model in (
        DecisionTreeClassifier(max_depth=4, random_state=0),
        RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0),
        GradientBoostingClassifier(n_estimators=5, max_depth=2, learning_rate=0.9, random_state=0),
        LogisticRegression(),
    ):
        explained(model.fit(X, y), X)


def frames() -> None:
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    X, y = rows()
    table = pd.DataFrame(X, columns=list(NAMES))
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(table, y)
    batch = ax.Explainer(model, table).explain_batch(table.head(6), progress=False)
    scores = batch.scores("banzhaf")
    assert scores.shape == (6, 4)
    assert list(scores.columns) == list(NAMES)
    assert scores.iloc[0].tolist() == list(batch[0].scores("banzhaf").values())


def lightgbm() -> None:
    import lightgbm as lgb

    X, y = rows()
    explained(lgb.LGBMClassifier(n_estimators=5, num_leaves=4, learning_rate=0.9, n_jobs=1, verbose=-1).fit(X, y), X)


def xgboost() -> None:
    import xgboost as xgb

    X, y = rows()
    model = xgb.XGBClassifier(n_estimators=5, max_depth=2, learning_rate=0.9, n_jobs=1).fit(X, y)
    explainer = explained(model, X)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(path)
        read = ax.Explainer(ax.read_xgboost(path, explainer.domain), explainer.domain).explain(X[0])
        assert read.cxps == explainer.explain(X[0]).cxps


def files() -> None:
    """Save, read again, and write a page and streams."""
    X, _ = rows()
    explainer = ax.Explainer(lambda p: int(p[0] + p[1] > 3), domain_of(X))
    with tempfile.TemporaryDirectory() as folder:
        kinds = ["jsonl"] + ["parquet"] * (importlib.util.find_spec("pyarrow") is not None)
        for kind in kinds:
            path = Path(folder) / f"results.{kind}"
            explainer.explain_to(path, X[:5], progress=False)
            read = ax.read_results(path)
            assert [list(e.cxps) for e in read] == [list(explainer.explain(x).cxps) for x in X[:5]], kind
        batch = explainer.explain_batch(X[:3], progress=False)
        write_report(batch, Path(folder) / "page.html")
        assert "<html" in (Path(folder) / "page.html").read_text(encoding="utf-8")


def plots() -> None:
    import matplotlib

    matplotlib.use("Agg")
    X, _ = rows()
    from axfi_kc import plots as drawn

    e = ax.Explainer(lambda p: int(p[0] + p[1] > 3), domain_of(X)).explain(X[0])
    drawn.plot_scores(e)
    drawn.plot_cxps(e)


@contextmanager
def quietly() -> Iterator[None]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


NEEDS: dict[Callable[[], None], tuple[str, ...]] = {
    example: (),
    files: (),
    trees: ("sklearn",),
    frames: ("sklearn", "pandas"),
    lightgbm: ("lightgbm", "sklearn"),
    xgboost: ("xgboost", "sklearn"),
    plots: ("matplotlib",),
}


def installed() -> str:
    found = []
    for name in (*SHOWN, *MORE):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> int:
    print(f"Python {platform.python_version()}, axfi-kc {ax.__version__}; {installed()}")
    done, left = [], []
    for work, needs in NEEDS.items():
        if any(importlib.util.find_spec(name) is None for name in needs):
            left.append(work.__name__)
            continue
        with quietly():
            work()
        done.append(work.__name__)
    print(f"fine: {', '.join(done)}" + (f"; not installed: {', '.join(left)}" if left else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
