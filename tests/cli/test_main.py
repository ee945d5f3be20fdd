"""The command line: every command, what it prints for people and for programs, and its exit status."""

from __future__ import annotations

import itertools
import json
import os
import pty
import re
import subprocess
import sys
from fractions import Fraction
from math import comb
from pathlib import Path

import joblib
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from skops.io import dump

import axfi_kc as ax
from axfi_kc.circuits.circuit import CircuitBuilder
from axfi_kc.circuits.files import write_nnf
from axfi_kc.cli import main
from axfi_kc.cli.explain import explanation_text, write_pictures
from axfi_kc.cli.main import parser
from axfi_kc.domain.grid import Grid
from axfi_kc.explanations.page import report_html
from axfi_kc.models.circuit_model import CircuitModel

COMMANDS = ("explain", "batch", "report", "sizes", "compile", "info", "demo")


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True)


@pytest.fixture(scope="module")
def files(iris, tmp_path_factory) -> Path:
    """A folder with a tree (classes as words), a regressor, and the data as CSV and Parquet."""
    folder = tmp_path_factory.mktemp("cli")
    names = iris.target_names[iris.target]
    dump(DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, names), folder / "tree.skops")
    binary = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target == 2)
    dump(binary, folder / "binary.skops")
    joblib.dump(binary, folder / "binary.joblib")
    inputs, output = iris.data.iloc[:, :3], iris.data.iloc[:, 3]
    dump(DecisionTreeRegressor(max_depth=4, random_state=0).fit(inputs, output), folder / "width.skops")
    iris.data.to_csv(folder / "iris.csv", index=False)
    iris.data.to_parquet(folder / "iris.parquet")
    iris.data.assign(species=names).to_csv(folder / "labelled.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def explained(iris) -> ax.Explanation:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target_names[iris.target])
    return ax.Explainer(model, ax.Domain.from_data(iris.data)).explain(iris.data.iloc[60])


def run(folder: Path, *arguments: str) -> int:
    """Run a command; arguments that name files of the folder are made paths."""
    return main([str(folder / a) if (folder / a).is_file() else a for a in arguments])


def printed(capsys, folder: Path, *arguments: str) -> str:
    assert run(folder, *arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_explain(files: Path, capsys, explained) -> None:
    text = printed(capsys, files, "explain", "tree.skops", "labelled.csv", "--target", "species", "--row", "60")
    assert "prediction: versicolor" in text
    for cxp in explained.cxps:
        assert f"{float(cxp.weight):.6f}" in text
        assert ", ".join(cxp.features) in text
    for axp in explained.axps:
        assert ", ".join(axp.features) in text
    best = max(explained.scores("shapley").values())
    assert f"{float(best):.6f}" in text.split("\n")[6]


def test_csv_and_parquet_say_the_same(files: Path, capsys) -> None:
    texts = {
        printed(capsys, files, "explain", "tree.skops", data, "--row", "9") for data in ("iris.csv", "iris.parquet")
    }
    assert len(texts) == 1


def test_explain_as_json(files: Path, capsys, explained) -> None:
    document = json.loads(printed(capsys, files, "explain", "tree.skops", "iris.csv", "--row", "60", "--json"))
    weights = {tuple(c["features"]): Fraction(c["weight"]) for c in document["cxps"]}
    assert weights == {c.features: c.weight for c in explained.cxps}
    scores = {name: Fraction(s) for name, s in document["scores"]["shapley"].items()}
    assert scores == explained.scores("shapley")


def test_explain_writes_pictures_and_a_report(files: Path, capsys, tmp_path) -> None:
    more = ["--pictures", str(tmp_path / "out"), "--report", str(tmp_path / "report.html")]
    text = printed(capsys, files, "explain", "tree.skops", "iris.csv", *more)
    written = [Path(line.removeprefix("wrote ")) for line in text.split("\n") if line.startswith("wrote ")]
    assert len(written) == 8
    assert all(path.stat().st_size > 100 for path in written)


def test_batch_draws_each_score_over_all_rows(files: Path, capsys, tmp_path) -> None:
    more = ["--rows", "20", "--score", "banzhaf", "ffa", "--pictures", str(tmp_path / "out")]
    text = printed(capsys, files, "batch", "tree.skops", "iris.csv", *more)
    paths = [tmp_path / "out" / f"{kind}_batch.png" for kind in ("banzhaf", "ffa")]
    assert text.split("\n")[-3:-1] == [f"wrote {path}" for path in paths]
    assert all(path.stat().st_size > 1000 for path in paths)
    assert (
        run(files, "compile", "tree.skops", "iris.csv", "--output", "setosa", "--picture", str(tmp_path / "c.docx"))
        == 1
    )
    assert "A picture's file should end in one of" in capsys.readouterr().err


def test_domain_options(files: Path, capsys) -> None:
    wide = ["--bounds", "petal width (cm)=0:100", "--real", "petal length (cm)"]
    arguments = ["explain", "tree.skops", "iris.csv", "--row", "60"]
    narrow_text, wide_text = (printed(capsys, files, *arguments, *extra) for extra in ([], wide))
    assert narrow_text != wide_text
    assert run(files, *arguments, "--bounds", "petal width (cm)") == 1
    assert "COLUMN=LOW:HIGH" in capsys.readouterr().err
    assert run(files, *arguments, "--one-hot", "petal") == 1
    assert "NAME=COLUMN,COLUMN" in capsys.readouterr().err


def test_bounds_may_come_from_another_table(files: Path, capsys, iris, tmp_path) -> None:
    iris.data.iloc[[60]].to_csv(tmp_path / "one.csv", index=False)
    arguments = ["explain", str(files / "tree.skops"), str(tmp_path / "one.csv")]
    assert main([*arguments, "--domain", str(files / "iris.csv")]) == 0
    assert capsys.readouterr().out == printed(capsys, files, "explain", "tree.skops", "iris.csv", "--row", "60")


def test_regression(files: Path, capsys) -> None:
    arguments = ["explain", "width.skops", "iris.csv", "--target", "petal width (cm)", "--row", "3"]
    assert "CXp" in printed(capsys, files, *arguments, "--delta", "0.3")
    assert run(files, *arguments) == 1
    assert "delta" in capsys.readouterr().err


def test_a_delta_may_be_a_fraction(files: Path, capsys) -> None:
    """A third is no decimal: two outputs at this very distance are similar."""
    target = ["--target", "petal width (cm)"]
    arguments = ["explain", "width.skops", "iris.csv", *target, "--row", "3", "--json", "--delta"]
    found = json.loads(printed(capsys, files, *arguments, "1/3"))
    assert ax.Explanation.from_dict(found).delta == Fraction(1, 3)
    assert printed(capsys, files, *arguments, "1/4") == printed(capsys, files, *arguments, "0.25")
    for command in (["compile"], ["sizes", "--to", "mdd", "--orders", "given"]):
        words = [command[0], "width.skops", "iris.csv", *target, *command[1:], "--output", "0.2", "--delta"]
        texts = [printed(capsys, files, *words, delta) for delta in ("1/4", "0.25")]
        assert len({text.split("seconds")[0] for text in texts}) == 1
        with pytest.raises(SystemExit):
            run(files, *words, "1/0")
        assert "expected a number such as 1, 0.5 or 1/2, but '1/0' was given" in capsys.readouterr().err


def test_bounds_may_be_fractions(files: Path, capsys) -> None:
    arguments = ["explain", "tree.skops", "iris.csv", "--json", "--bounds", "sepal width (cm)=1/3:14/3"]
    found = ax.Explanation.from_dict(json.loads(printed(capsys, files, *arguments)))
    assert (found.domain.features[1].low, found.domain.features[1].high) == (Fraction(1, 3), Fraction(14, 3))


def test_compile(files: Path, capsys, tmp_path) -> None:
    document = json.loads(
        printed(capsys, files, "compile", "tree.skops", "iris.csv", "--output", "virginica", "--json")
    )
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    data = load_iris(as_frame=True)
    model.fit(data.data, data.target_names[data.target])
    compiled = ax.compile_model(model, ax.Domain.from_data(data.data), output="virginica")
    assert Fraction(document["probability"]) == compiled.probability()
    assert (document["nodes"], document["edges"]) == (compiled.size.nodes, compiled.size.edges)
    for name in ("c.png", "c.dot"):
        text = printed(
            capsys,
            files,
            "compile",
            "tree.skops",
            "iris.csv",
            "--output",
            "virginica",
            "--picture",
            str(tmp_path / name),
        )
        assert f"wrote {tmp_path / name}" in text
        assert (tmp_path / name).stat().st_size > 100
    assert run(files, "compile", "tree.skops", "iris.csv") == 1
    assert run(files, "compile", "tree.skops", "iris.csv", "--output", "rose") == 1
    assert "'rose' was given" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["mdd", "obdd", "ddnnf"])
def test_compile_into_languages(files: Path, capsys, language: str) -> None:
    text = printed(capsys, files, "compile", "binary.skops", "iris.csv", "--to", language)
    assert f"language     {language}" in text


def test_sizes(files: Path, capsys, tmp_path) -> None:
    arguments = ["sizes", "binary.skops", "iris.csv", "--to", "mdd", "obdd", "--orders", "influence", "given"]
    rows = json.loads(printed(capsys, files, *arguments, "--json"))["rows"]
    assert [(r["target"], r["order"]) for r in rows] == [
        ("mdd", "influence"), ("mdd", "given"), ("obdd", "influence"), ("obdd", "given"),
    ]  # fmt: skip
    assert all(r["nodes"] <= r["edges"] for r in rows)
    assert len({r["probability"] for r in rows}) == 1
    text = printed(capsys, files, *arguments, "--picture", str(tmp_path / "sizes.png"))
    assert str(rows[0]["nodes"]) in text
    assert (tmp_path / "sizes.png").stat().st_size > 1000


def test_sizes_as_a_study(files: Path, capsys, tmp_path) -> None:
    arguments = [
        "sizes",
        "binary.skops",
        "iris.csv",
        "--to",
        "mdd",
        "--orders",
        "given",
        "--searches",
        "sift",
        "window",
    ]
    rows = json.loads(printed(capsys, files, *arguments, "--seeds", "0", "1", "--json"))["rows"]
    assert [(r["order"], r["seed"]) for r in rows][:4] == [
        ("given", None), ("given, sifted", None), ("given, window", None), ("random", 0),
    ]  # fmt: skip
    assert all(r["agrees"] for r in rows)
    printed(capsys, files, *arguments, "--save", str(tmp_path / "sizes.csv"))
    assert len(pd.read_csv(tmp_path / "sizes.csv")) == 3


def test_sizes_with_and_without_constraints(files: Path, capsys) -> None:
    arguments = ["sizes", "binary.skops", "iris.csv", "--to", "mdd", "--orders", "given"]
    rule = f"feature({pd.read_csv(files / 'iris.csv').columns[0]!r}) <= 6"
    rows = json.loads(printed(capsys, files, *arguments, "--where", rule, "--json"))["rows"]
    assert [row["constraints"] for row in rows] == ["with", "without"]
    assert all(row["agrees"] for row in rows)
    assert "constraints" in printed(capsys, files, *arguments, "--where", rule).splitlines()[0].split()
    assert "constraints" not in printed(capsys, files, *arguments).splitlines()[0].split()


@pytest.mark.parametrize("rows", [["--row", "60"], ["--rows", "5"]])
def test_report(files: Path, capsys, tmp_path, rows: list[str]) -> None:
    out = tmp_path / "r.html"
    printed(capsys, files, "report", "tree.skops", "iris.csv", *rows, "--out", str(out), "--title", "Irises & co")
    assert "<h1>Irises &amp; co</h1>" in out.read_text(encoding="utf-8")
    assert (
        run(files, "report", "tree.skops", "iris.csv", "--row", "60", "--out", str(tmp_path / "none" / "r.html")) == 1
    )
    assert "cannot be written" in capsys.readouterr().err


def test_options_that_are_given_once_more_add_to_what_was_given(files: Path, capsys) -> None:
    arguments = ("explain", "tree.skops", "iris.csv", "--row", "60")
    first, second = (f"feature({name!r}) <= 7" for name in pd.read_csv(files / "iris.csv").columns[:2])
    twice = printed(capsys, files, *arguments, "--where", first, "--where", second, "--score", "ffa", "--score", "wffa")
    assert twice == printed(capsys, files, *arguments, "--where", first, second, "--score", "ffa", "wffa")
    assert "<= 7; " in next(line for line in twice.splitlines() if line.startswith("only points"))


def test_a_page_to_explore(files: Path, capsys, tmp_path) -> None:
    out, common = (
        tmp_path / "e.html",
        ("report", "tree.skops", "iris.csv", "--explore", "--out", str(tmp_path / "e.html")),
    )
    printed(capsys, files, *common, "--rows", "3", "--radii")
    text = out.read_text(encoding="utf-8")
    assert "Freeze features" in text
    assert "of its range (linf)" in text
    printed(capsys, files, *common, "--row", "60")
    assert "of its range (linf)" not in out.read_text(encoding="utf-8")
    results = str(tmp_path / "results.jsonl")
    printed(capsys, files, "batch", "tree.skops", "iris.csv", "--rows", "3", "--out", results)
    printed(capsys, files, "report", results, "--explore", "--out", str(out))
    for wrong, words in {
        ("--interactions", "shapley"): "--interactions was given",
        ("--score", "ffa"): "'ffa' is none",
        ("--max-size", "2", "--radii"): "max_size=2",
    }.items():
        assert run(files, *common, "--row", "60", *wrong) == 1
        assert words in capsys.readouterr().err
    assert run(files, "report", results, "--explore", "--radii", "--out", str(out)) == 1
    assert "--radii are for --explore" in capsys.readouterr().err


def test_batch(files: Path, capsys, iris) -> None:
    document = json.loads(printed(capsys, files, "batch", "tree.skops", "iris.csv", "--rows", "20", "--json"))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target_names[iris.target])
    batch = ax.Explainer(model, ax.Domain.from_data(iris.data)).explain_batch(iris.data.head(20))
    table = [e.scores("shapley") for e in batch]
    assert document["rows"] == 20
    for name in iris.data.columns:
        assert Fraction(document["mean_shapley"][name]) == sum((row[name] for row in table), Fraction(0)) / 20
    text = printed(capsys, files, "batch", "tree.skops", "iris.csv", "--rows", "20")
    assert text.startswith("20 rows explained\n")


def test_batch_into_a_file(files: Path, capsys, tmp_path) -> None:
    out = str(tmp_path / "results.jsonl")
    text = printed(capsys, files, "batch", "tree.skops", "iris.csv", "--out", out)
    assert f"150 rows explained, results in {out}" in text
    before = Path(out).read_bytes()
    printed(capsys, files, "batch", "tree.skops", "iris.csv", "--out", out)
    assert Path(out).read_bytes() == before
    printed(capsys, files, "report", out, "--out", str(tmp_path / "r.html"))
    assert ">150<" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert run(files, "report", "tree.skops") == 1
    assert "which needs data" in capsys.readouterr().err
    assert run(files, "batch", "binary.skops", "iris.csv", "--out", out) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_circuits_are_models(tmp_path, capsys, iris) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1)])
    build = CircuitBuilder(Grid.of_values(domain))
    both = build.conjunction([build.literal(0, [1, 2]), build.literal(1, [1])])
    write_nnf(build.circuit(both), tmp_path / "both.nnf")
    (tmp_path / "points.csv").write_text("a,b\n0,0\n2,1\n")
    text = printed(capsys, tmp_path, "explain", "both.nnf", "points.csv", "--row", "1")
    assert "prediction: 1" in text
    assert "0.333333  1/3" in text
    (tmp_path / "plain.nnf").write_text("nnf 3 2 2\nL 1\nL 2\nA 2 0 1\n")
    (tmp_path / "bits.csv").write_text("x,y\n0,0\n1,1\n")
    assert "prediction: 1" in printed(capsys, tmp_path, "explain", "plain.nnf", "bits.csv", "--row", "1")
    assert "nodes" in printed(capsys, tmp_path, "info", "both.nnf")


def test_node_lists_are_models(tmp_path, capsys) -> None:
    colour = {"name": "colour", "values": ["red", "blue"], "literals": [1, -1]}
    (tmp_path / "list.json").write_text(json.dumps({"features": [colour], "root": 7, "nodes": {"7": ["L", "1"]}}))
    (tmp_path / "points.csv").write_text("colour\nred\nblue\n")
    text = printed(capsys, tmp_path, "explain", "list.json", "points.csv")
    assert "prediction: 1" in text
    assert "colour" in text


@pytest.mark.parametrize("name", ["mdd.nnf", "obdd.nnf", "sdd.nnf", "ddnnf.nnf"])
def test_saved_circuits_explain_like_the_model(name: str, tmp_path, capsys) -> None:
    data = pd.DataFrame(itertools.product(range(5), range(2), range(3)), columns=list("abc"))
    output = ((data.a > 2) & (data.b == 1)) | (data.c == 1)
    dump(DecisionTreeClassifier(random_state=0).fit(data, output.astype(int)), tmp_path / "tree.skops")
    data.to_csv(tmp_path / "data.csv", index=False)
    language = name.partition(".")[0]
    printed(capsys, tmp_path, "compile", "tree.skops", "data.csv", "--to", language, "--save", str(tmp_path / name))
    for row in ("0", "27"):
        text = printed(capsys, tmp_path, "explain", "tree.skops", "data.csv", "--row", row)
        # A circuit gives no probabilities, all else is the same.
        assert printed(capsys, tmp_path, "explain", name, "data.csv", "--row", row) == text.replace(
            ", probability 1\n", "\n"
        )


def test_xgboost_and_lightgbm_files(tmp_path, capsys, iris) -> None:
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    data, target = iris.data.head(100).set_axis(list("abcd"), axis=1), iris.target.head(100)
    data.to_csv(tmp_path / "data.csv", index=False)
    boosted = xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(data, target)
    boosted.save_model(tmp_path / "x.json")
    boosted.save_model(tmp_path / "x.ubj")
    light = lightgbm.LGBMClassifier(n_estimators=4, num_leaves=4, verbose=-1, n_jobs=1).fit(data, target)
    light.booster_.save_model(tmp_path / "light.txt")
    texts = [printed(capsys, tmp_path, "explain", name, "data.csv", "--row", "70") for name in ("x.json", "x.ubj")]
    assert texts[0] == texts[1]
    assert "prediction: 1" in printed(capsys, tmp_path, "explain", "light.txt", "data.csv", "--row", "70")
    facts = json.loads(printed(capsys, tmp_path, "info", "x.json", "--json"))
    assert (facts["kind"], facts["trees"], facts["columns"]) == ("xgboost", 4, 4)
    facts = json.loads(printed(capsys, tmp_path, "info", "light.txt", "--json"))
    assert (facts["kind"], facts["trees"], facts["column names"]) == ("lightgbm", 4, list("abcd"))
    text = (tmp_path / "light.txt").read_text()
    (tmp_path / "half.txt").write_text(text[: text.index("threshold")])
    assert run(tmp_path, "explain", "half.txt", "data.csv") == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_info(files: Path, capsys) -> None:
    text = printed(capsys, files, "info")
    assert f"axfi-kc                      {ax.__version__}" in text
    assert "numpy" in text
    document = json.loads(printed(capsys, files, "info", "--json"))
    assert document["packages"]["networkx"]
    facts = json.loads(printed(capsys, files, "info", "tree.skops", "--json"))
    assert facts["class"].endswith("DecisionTreeClassifier")
    assert facts["classes"] == ["setosa", "versicolor", "virginica"]
    assert "not looked into" in printed(capsys, files, "info", "binary.joblib")
    assert run(files, "info", "none.json") == 1


def test_pickles_need_permission(files: Path, capsys) -> None:
    assert run(files, "explain", "binary.joblib", "iris.csv") == 1
    assert "a pickle can run any code" in capsys.readouterr().err
    assert "prediction: False" in printed(capsys, files, "explain", "binary.joblib", "iris.csv", "--allow-pickle")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert f"axfi-kc {command}" in text[text.index("examples:") :]


def test_examples_in_the_help_are_valid(capsys) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        lines = capsys.readouterr().out.partition("examples:")[2].split("\n")
        for line in (part.partition("(")[0].split()[1:] for part in lines if part.strip().startswith("axfi-kc")):
            parser().parse_args(line)


@pytest.mark.parametrize("arguments", [["dance"], ["explain"], ["explain", "a", "b", "--weights", "heavy"]])
def test_bad_usage(arguments: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.endswith("--help\n")


_INTERRUPTING = """\
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("module", ["axfi_kc.errors", "axfi_kc.explanations.explainer", "axfi_kc.cli.rules"])
def test_interruption_while_modules_are_imported(tmp_path: Path, module: str) -> None:
    """By Ctrl-C, of the command under its own name and of ``python -m``; not of a program that imports the library."""
    (tmp_path / "sitecustomize.py").write_text(_INTERRUPTING)
    (tmp_path / "axfi-kc").write_text("import sys\nfrom axfi_kc.cli import main\nsys.exit(main())\n")
    path = os.pathsep.join([str(tmp_path), str(Path(ax.__file__).parents[1])])
    surroundings = {**os.environ, "PYTHONPATH": path, "INTERRUPT_AT": module}
    started: dict[str, list[str]] = {"own": [str(tmp_path / "axfi-kc")], "module": ["-m", "axfi_kc.cli"]}
    for how in started.values():
        done = subprocess.run([sys.executable, *how, "info"], env=surroundings, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
    program = [sys.executable, "-c", "import axfi_kc.cli"]
    done = subprocess.run(program, env=surroundings, capture_output=True, check=False)
    assert b"KeyboardInterrupt" in done.stderr


def test_an_error_that_nobody_foresaw_blames_nobody(files: Path, monkeypatch, capsys) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("of our own")

    monkeypatch.setattr("axfi_kc.cli.explain.explainer_of", fail)
    assert main(["explain", str(files / "tree.skops"), str(files / "iris.csv")]) == 1
    said = capsys.readouterr().err
    assert "explain ended in an error that nobody foresaw (ZeroDivisionError: of our own): perhaps " in said
    assert "perhaps axfi-kc is wrong" in said
    assert said.count("\n") == 1


def test_interruption(files: Path, monkeypatch, capsys) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("axfi_kc.cli.info.model_facts", interrupt)
    assert run(files, "info", "tree.skops") == 130
    assert capsys.readouterr().err == "axfi-kc: interrupted.\n"


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_a_spent_budget_leaves_what_is_certain(files: Path, monkeypatch, capsys, extra: list[str]) -> None:
    def spend(*_: object) -> None:
        raise ax.errors.BudgetError("The budget was spent.", cxps=(("a", "b"), ("c",)))

    monkeypatch.setattr(ax.Explainer, "explain", spend)
    assert run(files, "explain", "tree.skops", "iris.csv", "--seconds", "1", *extra) == 1
    captured = capsys.readouterr()
    assert captured.err == "axfi-kc: The budget was spent.\n"
    if extra:
        document = json.loads(captured.out)
        assert (document["complete"], document["cxps"]) == (False, [["a", "b"], ["c"]])
    else:
        assert captured.out.split("\n")[2:] == ["a, b", "c", ""]


def test_files_that_cannot_be_read(files: Path, capsys, tmp_path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00a,b\n")
    for data in ("bad.parquet", "bad.csv", "none.csv"):
        assert main(["explain", str(files / "tree.skops"), str(tmp_path / data)]) == 1
        error = capsys.readouterr().err
        assert error.startswith("axfi-kc: ")
        assert error.count("\n") == 1


def test_as_a_program(tmp_path) -> None:
    (tmp_path / "both.nnf").write_text("nnf 3 2 2\nL 1\nL 2\nA 2 0 1\n")
    (tmp_path / "bits.csv").write_text("x,y\n0,0\n1,1\n")
    command = [sys.executable, "-m", "axfi_kc.cli", "compile", "both.nnf", "bits.csv", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=_environment())
    assert done.stderr == ""
    assert json.loads(done.stdout)["probability"] == "1/4"
    failed = subprocess.run(
        [*command, "--output", "7"], capture_output=True, text=True, cwd=tmp_path, env=_environment()
    )
    assert (failed.returncode, failed.stdout) == (1, "")


def _environment() -> dict[str, str]:
    """Return an environment in which other folders see this package, installed or not."""
    return {**os.environ, "PYTHONPATH": str(Path(ax.__file__).parents[1])}


def test_help_needs_no_heavy_library() -> None:
    code = (
        "import sys\nfrom axfi_kc.cli.main import parser\nparser()\n"
        "print([m for m in ('numba', 'pandas', 'matplotlib', 'sklearn', 'xgboost') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_progress_is_for_terminals_only() -> None:
    code = "import time\nfrom axfi_kc.cli.text import working\nwith working('digging'): time.sleep(1.3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True)
    os.close(theirs)
    assert b"digging ... 1 s" in os.read(ours, 1000)
    os.close(ours)


def threshold(n: int, least: int) -> CircuitModel:
    """Return the model that is true where at least so many of n bits are 1."""
    build = CircuitBuilder(Grid.of_values(ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(n)])))
    layer = [build.true if ones >= least else build.false for ones in range(n + 1)]
    for k in reversed(range(n)):
        layer = [build.decision(k, [([0], layer[ones]), ([1], layer[ones + 1])]) for ones in range(k + 1)]
    return CircuitModel.of(build.circuit(layer[0]))


def test_more_cxps_than_can_be_listed(tmp_path) -> None:
    model = threshold(20, 10)
    e = ax.Explainer(model, model.domain, target="mdd").explain([0] * 20)
    count = comb(20, 10)
    text = explanation_text(e, limit=3)
    assert f"... and {count - 3:,} more" in text
    assert text.count("x0") >= 3
    assert f"{count:,}" in report_html(e, max_rows=5)
    assert {p.name for p in write_pictures(e, tmp_path)} == {
        "banzhaf.png", "cxps.png", "force.png", "forest.dot", "forest.graphml", "shapley.png",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "There is no file of rules"),
        ("{}", "it has no list 'rules' of objects with a 'constraint' each"),
        ("[1]", "it has no list 'rules' of objects"),
        ('{"rules": [3]}', "it has no list 'rules' of objects"),
        ("{'rules'", "it is no JSON from line 1, column 2 on"),
        ('{"rules": [], "rules": []}', "the key 'rules' occurs twice"),
        ('{"rules": [{"constraint": {"kind": "odd"}}]}', "the constraint of rule 0 describes none"),
        ("\udcff", "it is no text in UTF-8"),
    ],
)
def test_files_of_rules_that_hold_none_are_told_in_a_sentence(
    files: Path, capsys, tmp_path, text: str | None, said: str
) -> None:
    path = tmp_path / "own.json"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))
    assert run(files, "explain", "tree.skops", "iris.csv", "--row", "60", "--rules", str(path)) == 1
    message = capsys.readouterr().err
    assert said in message
    assert message.endswith(f"; make it with axfi-kc rules DATA --out {path}.\n")
    assert not any(leak in message for leak in ("Error", "Errno"))


@pytest.fixture
def flags(tmp_path: Path) -> Path:
    """A folder with a table of flags that exclude each other, its rules, clauses, and a model."""
    rows = pd.DataFrame([[0, 1, 5], [1, 0, 5], [0, 0, 7], [1, 0, 7]] * 10, columns=["a", "b", "c"])
    rows.to_csv(tmp_path / "flags.csv", index=False)
    dump(DecisionTreeClassifier(random_state=0).fit(rows, rows["a"] + rows["c"] > 6), tmp_path / "tree.skops")
    (tmp_path / "flags.cnf").write_text('c axfi names ["a", "b"]\np cnf 2 1\n-1 -2 0\n')
    assert run(tmp_path, "rules", "flags.csv", "--min-support", "5", "--out", str(tmp_path / "rules.json")) == 0
    return tmp_path


def test_info_says_which_rules_a_file_holds(flags: Path, capsys) -> None:
    capsys.readouterr()
    text = printed(capsys, flags, "info", "rules.json")
    assert re.search(r"kind +rules", text)
    assert "at most 1 of: a = 1, b = 1  (5 rows)" in text
    assert run(flags, "rules", "flags.csv", "--json") == 0
    (flags / "again.json").write_text(capsys.readouterr().out)
    assert json.loads(printed(capsys, flags, "info", "again.json", "--json"))["kind"] == "rules"
    circuit = ax.possible_points(ax.Domain([ax.Integer("a", 0, 1)]).where("a == 1"))
    ax.save_rules(ax.Domain([ax.Integer("a", 0, 1)]).where(circuit).constraints, flags / "circuit.json")
    assert json.loads(printed(capsys, flags, "info", "circuit.json", "--json"))["rules"] == 1


def test_no_rule_is_said_in_a_sentence(flags: Path, capsys) -> None:
    capsys.readouterr()
    start = "no rule about at least {} rows holds in every row of {}; "
    for options, said in (
        (["--min-support", "90"], "lower --min-support or try --max-size 3\n"),
        (["--min-support", "90", "--max-size", "3"], "lower --min-support\n"),
    ):
        text = printed(capsys, flags, "rules", "flags.csv", *options)
        assert text == start.format(90, flags / "flags.csv") + said


def test_what_is_no_table_is_no_table(flags: Path, capsys) -> None:
    assert run(flags, "rules", "rules.json") == 1
    assert "rules.json is JSON and no table; give a comma-separated table" in capsys.readouterr().err


EXPLAINED = ("explain", "tree.skops", "flags.csv", "--row", "0", "--integer", "a", "b", "c")


def test_rules_may_be_clauses_about_some_features(flags: Path, capsys) -> None:
    capsys.readouterr()
    document = json.loads(printed(capsys, flags, *EXPLAINED, "--rules", "flags.cnf", "--json"))
    e = ax.Explanation.from_json(json.dumps(document))
    assert [str(c) for c in e.domain.constraints] == ["the clauses of flags.cnf over a, b"]
    text = json.loads(printed(capsys, flags, *EXPLAINED, "--where", "at most 1 of: a = 1, b = 1", "--json"))
    assert text["cxps"] == document["cxps"]


def test_a_table_given_as_rules_is_told_how_to_mine_them(flags: Path, capsys) -> None:
    assert run(flags, *EXPLAINED, "--rules", "flags.csv") == 1
    message = capsys.readouterr().err
    assert "--rules takes rules in JSON, or a circuit (.nnf, .cnf, " in message
    assert message.endswith("rules of a table are mined with axfi-kc rules flags.csv --out rules.json.\n")


def test_a_radius_may_be_a_fraction(files: Path, capsys) -> None:
    arguments = ["explain", "tree.skops", "iris.csv", "--row", "60", "--norm", "l1", "--radius"]
    assert "all features together by at most 0.5 (l1)" in printed(capsys, files, *arguments, "0.5")
    assert printed(capsys, files, *arguments, "1/2") == printed(capsys, files, *arguments, "0.5")
    for wrong in ("1/0", "far"):
        with pytest.raises(SystemExit):
            run(files, *arguments, wrong)
        assert f"expected a number such as 1, 0.5 or 1/2, but {wrong!r} was given" in capsys.readouterr().err
    assert run(files, *arguments, "-1") == 1
    assert "The radius must be a number from 0 up, but -1 was given" in capsys.readouterr().err


def test_help_says_whose_standard_deviations_are_meant(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "the standard deviation of its measure, which is that of the data only with --measures empirical" in words
