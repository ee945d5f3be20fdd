"""``axfi-kc explain`` and then ``axfi-kc verify``, for every kind of file that holds a model or results."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.errors import ResultFileError
from axfi_kc.explanations.files.seals import part_seal, sealed
from tests.support.more_kinds import BOOSTED, LIGHT, MIXED_THREE, _worded, kind

pd = pytest.importorskip("pandas")

POINTS = list(itertools.product(range(3), range(2), range(2)))
DISCRETE = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1), ax.Integer("c", 0, 1)])


def _xgboost(path: Path) -> None:
    pytest.importorskip("xgboost").XGBClassifier(enable_categorical=True, **BOOSTED).fit(*_mixed()).save_model(path)


def _lightgbm(path: Path) -> None:
    made = pytest.importorskip("lightgbm").LGBMClassifier(min_data_per_group=5, **LIGHT).fit(*_mixed())
    made.booster_.save_model(path)


def _mixed() -> tuple[Any, Any]:
    return _worded()[1].astype({"tree": "category"}), MIXED_THREE


def _skops(path: Path) -> None:
    pytest.importorskip("skops.io").dump(kind("encoded tree").model, path)


def _pickle(path: Path) -> None:
    pytest.importorskip("joblib").dump(kind("encoded linear classes").model, path)


def _decide(point: tuple[int, ...]) -> bool:
    return (point[0] > 0 and point[2] == 1) or point[1] == 1


def _circuit(target: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        ax.compile_model(lambda p: (p[0] > 0 and p[2] == 1) or p[1] == 1, DISCRETE, output=True, target=target).save(
            path
        )

    return write


def _clauses(path: Path) -> None:
    path.write_text("p cnf 3 2\n1 2 0\n-1 3 0\n")


MODELS: dict[str, Callable[[Path], None]] = {
    "boosted.json": _xgboost,
    "boosted.ubj": _xgboost,
    "light.txt": _lightgbm,
    "encoded.skops": _skops,
    "linear.joblib": _pickle,
    "mdd.nnf": _circuit("mdd"),
    "ddnnf.nnf": _circuit("ddnnf"),
    "clauses.cnf": _clauses,
    "diagram.dddmp": _circuit("obdd"),
    "diagram.json": _circuit("obdd"),
    "decisions.sdd": _circuit("sdd"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    _worded()[1].head(40).to_csv(made / "mixed.csv", index=False)
    pd.DataFrame(POINTS, columns=list("abc")).to_csv(made / "discrete.csv", index=False)
    pd.DataFrame(itertools.product(range(2), repeat=3), columns=list("abc")).to_csv(made / "bits.csv", index=False)
    return made


def options_of(model: str) -> list[str]:
    return ["--allow-pickle"] if model.endswith(".joblib") else []


def explained(folder: Path, model: str, capsys: pytest.CaptureFixture[str], *, row: int = 3) -> dict[str, Any]:
    """Explain a row on the command line; return the document."""
    MODELS[model](folder / model)
    mixed = MODELS[model] in (_xgboost, _lightgbm, _skops, _pickle)
    table = "bits.csv" if MODELS[model] is _clauses else "discrete.csv"
    data = [str(folder / "mixed.csv"), "--categorical", "tree"] if mixed else [str(folder / table)]
    assert main(["explain", str(folder / model), *data, "--row", str(row), "--json", *options_of(model)]) == 0
    return json.loads(capsys.readouterr().out)


def verified(folder: Path, document: Any, model: str) -> int:
    (folder / "result.json").write_text(json.dumps(document))
    return main(["verify", str(folder / "result.json"), str(folder / model), *options_of(model)])


@pytest.mark.parametrize("model", MODELS)
def test_every_kind_of_model_file(folder: Path, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = explained(folder, model, capsys)
    assert document["cxps"]
    assert verified(folder, document, model) == 0
    assert "<Report: proved" in capsys.readouterr().out
    for alter in (_weight, _fewer, _score):
        changed = json.loads(json.dumps(document))
        alter(changed)
        assert verified(folder, changed, model) == 1
        printed = capsys.readouterr()
        if alter is _score:  # it is checked when the file is read
            assert "The ffa_cxp scores in the document do not follow from its CXps" in printed.err
        else:
            assert "failed: " in printed.out


def _weight(document: Any) -> None:
    entry = document["cxps"][0]
    weight = Fraction(entry["weight"])
    entry["weight"] = str(weight - Fraction(1, weight.denominator))
    document["scores"] = {}


def _fewer(document: Any) -> None:
    document["cxps"].pop()
    document["scores"], document["axps"] = {}, None


def _score(document: Any) -> None:
    """State a score that is not saved unless it is asked for, and state it wrongly."""
    names = [feature["name"] for feature in document["domain"]]
    document["scores"]["ffa_cxp"] = dict.fromkeys(names, "1/977")


def test_scores_of_any_name_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = explained(folder, "mdd.nnf", capsys)
    saved = ax.SavedExplanation.from_dict(document)
    right = ax.Explainer(_decide, saved.domain).explain(saved.instance)
    for which in ("ffa", "wffa_cxp", "shapley_shubik", "banzhaf_waxp", "responsibility"):
        document["scores"][which] = {name: str(s) for name, s in right.scores(which).items()}
    document["scores"]["unheard_of"] = {"a": 1}
    document["remark"] = "by hand"
    assert verified(folder, document, "mdd.nnf") == 0
    printed = capsys.readouterr().out
    assert "sampled: score {unheard_of}: not looked at: no score of that name is known" in printed
    assert "entry 'remark'" in printed
    for which in ("ffa", "wffa_cxp", "shapley_shubik", "banzhaf_waxp", "responsibility"):
        changed = json.loads(json.dumps(document))
        changed["scores"][which]["b"] = str(Fraction(changed["scores"][which]["b"]) + Fraction(1, 10**9))
        assert verified(folder, changed, "mdd.nnf") == 1
        assert f"The {which} scores in the document do not follow from its CXps" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("entry", "rows"),
    [
        ("scores", []),
        ("scores", {"ffa": 3}),
        ("scores", {"ffa": {"a": "x"}}),
        ("scores", {"ffa": [1]}),
        ("floats", {"ffa": {"a": "1"}}),
        ("floats", {"ffa": {"a": 10**400}}),
        ("floats", {"ffa": {"a": True}}),
    ],
)
def test_scores_that_are_no_numbers_are_refused(entry: str, rows: Any) -> None:
    explanation = ax.Explainer(_decide, DISCRETE).explain((2, 1, 1))
    with pytest.raises(ResultFileError):
        ax.SavedExplanation.from_dict({**explanation.to_dict(), entry: rows})


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "parquet"])
def test_every_kind_of_batch(folder: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    results, model = folder / f"results.{suffix}", str(folder / "mdd.nnf")
    MODELS["mdd.nnf"](folder / "mdd.nnf")
    assert main(["batch", model, str(folder / "discrete.csv"), "--rows", "3", "--out", str(results)]) == 0
    capsys.readouterr()
    assert main(["verify", str(results), model]) == 0
    assert capsys.readouterr().out.startswith("3 of 3 proved\n")
    if suffix == "parquet":
        return
    header, *lines = results.read_text().splitlines()
    for entry, kind_of_check in (("scores", "score"), ("floats", "float")):
        changed = [json.loads(line) for line in lines]
        row = changed[1][entry]["banzhaf"]
        name = next(n for n, s in row.items() if s)
        row[name] = "1/977" if entry == "scores" else row[name] * (1 + 1e-12)
        altered = folder / f"altered.{suffix}"
        altered.write_text("\n".join([header, *map(json.dumps, changed)]) + "\n")
        assert main(["verify", str(altered), model]) == 1
        assert "Row 1 of" in capsys.readouterr().err  # its checksum is another's
        altered.write_bytes(header.encode() + b"\n" + b"".join(_resealed(header, row) for row in changed))
        assert main(["verify", str(altered), model]) == 1
        printed = capsys.readouterr()
        assert f"failed: {kind_of_check} {{banzhaf, {name}}}" in printed.out
        assert "failed in row 1 (1 of 3 explanations)" in printed.err


def _resealed(header: str, row: dict[str, Any]) -> bytes:
    """Return a row with the checksum that belongs to it, as somebody would who means to deceive."""
    return sealed({k: v for k, v in row.items() if k != "check"}, json.loads(header)["fingerprint"].encode()[:64])


def test_altered_parquet_is_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    results, model = folder / "more.parquet", str(folder / "mdd.nnf")
    MODELS["mdd.nnf"](folder / "mdd.nnf")
    assert main(["batch", model, str(folder / "discrete.csv"), "--rows", "2", "--out", str(results)]) == 0
    (part,) = results.glob("*.parquet")
    rows = parquet.read_table(part, partitioning=None)
    texts = rows["shapley_exact"].to_pylist()
    texts[0][0] = str(Fraction(texts[0][0]) + Fraction(1, 10**9))
    place = rows.schema.get_field_index("shapley_exact")
    parquet.write_table(rows.set_column(place, rows.schema.field(place), [texts]), part)
    capsys.readouterr()
    assert main(["verify", str(results), model]) == 1
    assert "are cut, changed or of another run" in capsys.readouterr().err
    key = json.loads((results / "_axfi.json").read_text())["fingerprint"].encode()[:64]
    *name, _ = part.stem.split("-")
    seal = part_seal(part.read_bytes(), key, *map(int, name[1:]))
    part.rename(part.with_name("-".join([*name, seal]) + ".parquet"))
    assert main(["verify", str(results), model]) == 1
    assert "failed: score {shapley, " in capsys.readouterr().out
