"""Results stream to files, stopped runs go on, and workers share one model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import axfi_kc as ax
from axfi_kc.errors import AxfiWarning, DomainError, MissingExtraError, ResultFileError
from axfi_kc.explanations import workers as sharing
from axfi_kc.explanations.files.streaming import fingerprint

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = ("jsonl", "parquet")
CANCER = load_breast_cancer(as_frame=True)
X = CANCER.data.iloc[:, :8]


def explainer(**options) -> ax.Explainer:
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, CANCER.target)
    return ax.Explainer(model, ax.Domain.from_data(X), **options)


def contents(path: Path) -> list[dict]:
    """Return all rows of a file, however it was cut into blocks."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return pd.read_parquet(path).sort_values("row").to_dict("records")


def counting(made: ax.Explainer) -> list[int]:
    """Make an explainer note how many rows it explains at a time."""
    seen, find = [], made._find

    def noting(codes, *located):
        seen.append(len(codes))
        return find(codes, *located)

    made._find = noting
    return seen


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("weights", ["ratio", "unit"])
def test_a_file_holds_what_the_batch_holds(tmp_path, suffix: str, weights: str) -> None:
    made, rows = explainer(weights=weights), X.iloc[100:140]
    saved = made.explain_to(tmp_path / f"out.{suffix}", rows, progress=False)
    batch = made.explain_batch(rows)
    assert repr(saved) == f"<SavedBatch: 40 of 40 explanations in {tmp_path / f'out.{suffix}'}>"
    assert saved.is_complete
    assert saved.predictions == batch.predictions
    assert saved.cxp_counts == batch.cxp_counts
    for kind in ("shapley", "banzhaf"):
        assert saved.scores(kind).to_numpy().tolist() == batch.scores(kind).to_numpy().tolist()
        pd.testing.assert_frame_equal(saved.importance(kind), batch.importance(kind))
    for mine, theirs in zip(saved, batch, strict=True):
        assert (mine.cxps, mine.instance, mine.scores()) == (theirs.cxps, theirs.instance, theirs.scores())
        assert mine.axps == theirs.axps
        assert mine.to_dict(axps=True) == theirs.to_dict(axps=True)


def test_lines_have_exact_texts_and_floats(tmp_path) -> None:
    made = explainer()
    made.explain_to(tmp_path / "out.jsonl", X.head(3), kinds=["banzhaf"])
    header, *lines = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (header["format"], header["rows"], header["kinds"]) == ("axfi-kc results", 3, ["banzhaf"])
    for n, (line, e) in enumerate(zip(lines, made.explain_batch(X.head(3)), strict=True)):
        assert (line["row"], line["index"]) == (n, n)
        assert {k: Fraction(v) for k, v in line["scores"]["banzhaf"].items()} == e.scores("banzhaf")
        assert line["floats"]["banzhaf"] == {k: float(v) for k, v in e.scores("banzhaf").items()}
    not_written = ax.read_results(tmp_path / "out.jsonl").scores("shapley")
    assert not_written.to_dict("records") == [e.scores("shapley") for e in made.explain_batch(X.head(3))]


def test_a_folder_of_parquet_is_a_table_for_pandas(tmp_path) -> None:
    made = explainer()
    rows = X.iloc[:30].set_index(pd.Index([f"p{k}" for k in range(30)]))
    made.explain_to(tmp_path / "out.parquet", rows)
    table = pd.read_parquet(tmp_path / "out.parquet")
    assert table["index"].tolist() == list(rows.index)
    assert table["prediction"].tolist() == made.explain_batch(rows).predictions
    wanted = made.explain_batch(rows).scores("shapley").astype(float)
    for name in X.columns:
        assert table[f"shapley:{name}"].tolist() == wanted[name].tolist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_regression_and_text_outputs(tmp_path, suffix: str) -> None:
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, CANCER.data["worst area"])
    numbers = ax.Explainer(tree, ax.Domain.from_data(X), delta=50)
    saved = numbers.explain_to(tmp_path / f"numbers.{suffix}", X.head(9))
    assert saved.predictions == numbers.explain_batch(X.head(9)).predictions
    assert all(isinstance(y, Fraction) for y in saved.predictions)
    linear = LogisticRegression(max_iter=10_000).fit(X, np.where(CANCER.target, "good", "bad"))
    texts = ax.Explainer(linear, ax.Domain.from_data(X))
    saved = texts.explain_to(tmp_path / f"texts.{suffix}", X.head(9))
    assert set(saved.predictions) <= {"good", "bad"}
    assert [e.cxps for e in saved] == [e.cxps for e in texts.explain_batch(X.head(9))]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_stopped_run_goes_on(tmp_path, suffix: str) -> None:
    whole, path = tmp_path / f"whole.{suffix}", tmp_path / f"out.{suffix}"
    explainer().explain_to(whole, X)
    stopped = explainer()
    find, calls = stopped._find, iter([True, True, False])

    def failing(codes):
        if next(calls):
            return find(codes)
        raise KeyboardInterrupt

    stopped._find = failing
    with pytest.raises(KeyboardInterrupt):
        stopped.explain_to(path, X)
    before = len(ax.read_results(path))
    assert 0 < before < len(X)
    assert not ax.read_results(path).is_complete
    again = explainer()
    seen = counting(again)
    again.explain_to(path, X)
    assert sum(seen) == len(X) - before
    assert [row["row"] for row in contents(path)] == list(range(569))
    assert [e.cxps for e in ax.read_results(path)] == [e.cxps for e in ax.read_results(whole)]
    seen.clear()
    again.explain_to(path, X)
    assert not seen


def test_a_torn_line_is_dropped_anywhere(tmp_path) -> None:
    path = tmp_path / "out.jsonl"
    explainer().explain_to(path, X.head(20))
    whole = path.read_bytes()
    ends = [k + 1 for k, byte in enumerate(whole) if byte == ord("\n")]
    for cut in (1, ends[0] - 1, ends[0], ends[0] + 1, ends[7] - 1, ends[7], ends[-1] - 1):
        path.write_bytes(whole[:cut])
        made = explainer()
        seen = counting(made)
        made.explain_to(path, X.head(20))
        assert path.read_bytes() == whole
        assert sum(seen) == 20 - max(sum(end <= cut for end in ends) - 1, 0)


KILLED = """
import sys
from tests.explanations.test_streaming import X, explainer
import pandas as pd
explainer().explain_to(sys.argv[1], pd.concat([X] * 8), n_jobs=int(sys.argv[2]), progress=False)
"""


@pytest.mark.parametrize(("suffix", "n_jobs"), [("jsonl", 2), ("parquet", 1)])
def test_killing_half_way_loses_and_repeats_nothing(tmp_path, suffix: str, n_jobs: int) -> None:
    path, rows = tmp_path / f"out.{suffix}", pd.concat([X] * 8)
    command = [sys.executable, "-c", KILLED, str(path), str(n_jobs)]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        size = path.stat().st_size if path.is_file() else len(list(path.glob("part-*"))) if path.exists() else 0
        if size > (100_000 if suffix == "jsonl" else 1):
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    made = explainer()
    seen = counting(made)
    before = len(ax.read_results(path))
    assert before > 0
    saved = made.explain_to(path, rows)
    assert sum(seen) == len(rows) - before
    assert saved.is_complete
    assert [record["row"] for record in contents(path)] == list(range(len(rows)))
    batch = made.explain_batch(rows)
    assert saved.scores().to_numpy().tolist() == batch.scores().to_numpy().tolist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_another_run_is_refused(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    explainer().explain_to(path, X.head(5))
    domain = ax.Domain.from_data(X, measures="empirical")
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, CANCER.target)
    pruned = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, CANCER.target)
    others = [
        lambda: explainer().explain_to(path, X.head(6)),
        lambda: explainer().explain_to(path, X.head(5) + 1e-9),
        lambda: explainer().explain_to(path, X.head(5), kinds=["shapley"]),
        lambda: explainer(weights="unit").explain_to(path, X.head(5)),
        lambda: explainer(max_size=2).explain_to(path, X.head(5)),
        lambda: ax.Explainer(tree, domain).explain_to(path, X.head(5)),
        lambda: ax.Explainer(pruned, ax.Domain.from_data(X)).explain_to(path, X.head(5)),
    ]
    for other in others:
        with pytest.raises((ResultFileError, DomainError), match=r"another model|must be a number"):
            other()
    explainer(target="auto").explain_to(path, X.head(5))  # the same run


@pytest.mark.parametrize(
    ("name", "content"),
    [("out.csv", None), ("out.jsonl", b"precious data\n"), ("out.jsonl", b'{"format": "other"}\n'),
     ("out.parquet", b""), ("none/out.jsonl", None), ("none/out.parquet", None)],
)  # fmt: skip
def test_other_files_are_left_alone(tmp_path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ResultFileError):
        explainer().explain_to(tmp_path / name, X.head(2))
    if content is not None:
        assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damage_is_noticed(tmp_path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    explainer().explain_to(path, pd.concat([X] * 3))
    if suffix == "parquet":
        next(p for p in path.iterdir() if p.name.startswith("part-0000000000")).unlink()
    else:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:10] + lines[20:]))
    with pytest.raises(ResultFileError, match="damaged"):
        list(ax.read_results(path))
    made = explainer()
    seen = counting(made)
    with pytest.warns(AxfiWarning, match=r"was damaged at rows (9 to 18|0 to 63): computed again"):
        made.explain_to(path, pd.concat([X] * 3))
    assert sum(seen) == (10 if suffix == "jsonl" else 64)
    assert [row["row"] for row in contents(path)] == list(range(3 * len(X)))
    with pytest.raises(ResultFileError):
        list(ax.read_results(tmp_path / "absent.jsonl"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_rows_make_an_empty_file(tmp_path, suffix: str) -> None:
    saved = explainer().explain_to(tmp_path / f"out.{suffix}", X.head(0))
    assert (len(saved), saved.is_complete, list(saved)) == (0, True, [])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_runs_at_once_are_refused(tmp_path, suffix: str) -> None:
    pytest.importorskip("fcntl")
    path = tmp_path / f"out.{suffix}"
    first = explainer()
    find = first._find

    def meanwhile(codes):
        with pytest.raises(ResultFileError, match="Another run is writing"):
            explainer().explain_to(path, X.head(20))
        return find(codes)

    first._find = meanwhile
    assert len(first.explain_to(path, X.head(20))) == 20


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_workers_give_the_same_file(tmp_path, backend: str) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    explainer().explain_to(one, X)
    with joblib.parallel_config(backend=backend):
        explainer().explain_to(two, X, n_jobs=2)
        assert [e.cxps for e in explainer().explain_batch(X.head(300), n_jobs=2)] == [
            e.cxps for e in explainer().explain_batch(X.head(300))
        ]
    assert one.read_bytes() == two.read_bytes()


def test_fingerprints_tell_contents_apart() -> None:
    things = [0, 0.0, False, None, "0", b"0", (0,), [0], {0}, {0: 0}, ((0,), ()), ((), (0,)), Fraction(0),
              np.zeros(1), np.zeros(1, np.int64), np.zeros((1, 1)), X.columns[0], 2**70]  # fmt: skip
    assert len({fingerprint(thing) for thing in things}) == len(things)
    code = "from tests.explanations.test_streaming import *; print(fingerprint(explainer()._model, {'a', 'b', 'c'}))"
    seeds = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=seeds, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint(explainer()._model, {"a", "b", "c"})


def test_a_bar_after_one_second_only(tmp_path, capfd) -> None:
    explainer().explain_to(tmp_path / "quick.jsonl", X.head(5))
    assert capfd.readouterr().err == ""
    explainer().explain_to(tmp_path / "bar.jsonl", X.head(5), progress=True)
    assert "explaining: 100%" in capfd.readouterr().err


def test_parquet_without_pyarrow(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="parquet"):
        explainer().explain_to(tmp_path / "out.parquet", X.head(2))


@pytest.mark.filterwarnings("ignore")  # of the cluster's own making
def test_a_cluster_of_two_workers(tmp_path) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        rows = pd.concat([X] * 4)
        with joblib.parallel_config(backend="dask"):
            explainer().explain_to(tmp_path / "dask.jsonl", rows)
            batch = explainer().explain_batch(rows)
        held = client.run(lambda: len(sharing._held))
        # A worker holds the writer's model and the batch's, once each; a busy one may have had no row of either.
        assert len(held) == 2
        assert max(held.values()) == 2
    explainer().explain_to(tmp_path / "one.jsonl", rows)
    assert (tmp_path / "dask.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert batch.predictions == explainer().explain_batch(rows).predictions
