"""An option that is given changes what comes out, or is refused: none is ignored in silence."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import axfi_kc as ax
from axfi_kc.cli import main
from axfi_kc.cli.inputs import _region
from axfi_kc.cli.main import parser
from axfi_kc.cli.skops_files import load_skops

pd = pytest.importorskip("pandas")
skops_io = pytest.importorskip("skops.io")
pytest.importorskip("sklearn")

TRIED = {
    "explain": (
        "tree.skops data.csv --json",
        "--domain small.csv; --categorical a; --integer c; --real a; --bounds a=0:9; --one-hot x=a,b; --where b<=1; "
        "--rules rules.json; --measures empirical; --distribution chow-liu; --weights unit; --max-size 1; --score ffa; "
        "--class-names no yes; --frozen a; --only-up a; --only-down a; --radius 1; --row 3; --limit 1; "
        "--range a=1:; --radius 1 --distance-weight a=0; "
        "--interactions shapley; --min-precision 1/2; --inflate; --pictures drawn; --report page.html; "
        "--circuit all.nnf; --toward 0; --target a; --delta 1",
    ),
    "batch": (
        "tree.skops data.csv --rows 9 --out out.jsonl",
        "--by a; --pictures drawn; --json; --limit 1; --interactions shapley; --min-precision 1/2; --inflate; "
        "--class-names no yes; --out other.jsonl; --rows 2",
    ),
    "report": (
        "tree.skops data.csv --rows 2 --out page.html",
        "--title Why; --explore; --interactions shapley; --min-precision 1/2; --inflate; --out other.html; --json; "
        "--explore --radii; --rows 1; --range a=0:3",
    ),
    "report with radii": (
        "tree.skops data.csv --rows 2 --out page.html --explore --radii",
        "--norm l1; --unit value; --unit std; --distance-weight a=2",
    ),
    "verify": ("results.jsonl tree.skops", "--rows 2; --points 1; --json; --missing 0; --verbose"),
    "sensitivity": ("tree.skops data.csv --features a", "--by b; --save region.nnf; --json; --features b; --verify"),
    "compile": (
        "own.nnf ab.csv --to obdd",
        "--output 0; --to sdd; --to sdd --vtree balanced; --save made.dddmp; --picture made.dot; "
        "--json; --code direct; --delta 1",
    ),
    "compile a tree": ("tree.skops data.csv", "--order given"),
    "sizes": (
        "tree.skops data.csv --to mdd sdd --orders given --vtrees right",
        "--output 0; --to obdd; --codes binary; --orders force; --vtrees balanced; --searches sift; --reorder; "
        "--seeds 1; --save sizes.csv; --picture sizes.png; --json; --delta 1",
    ),
    "count": ("clauses.cnf", "--via dd; --no-check; --to mdd; --to mdd --save made.nnf; --json"),
    "rules": ("flags.csv", "--target label; --max-size 3; --min-support 40; --out made.json; --json"),
    "info": ("tree.skops", "--json"),
}
"""A call of each command, and options with values that must change what comes of it, or be refused."""

QUIET = {"--help", "--allow-pickle", "--force", "--seconds", "--threads", "--on-budget", "--on-interrupt", "--on-error"}
QUIET |= {"--n-jobs"}
"""Permissions, speed, and what to do in a case that does not occur here."""
ELSEWHERE = {"warm-up", "demo", "completion"}
"""Commands whose one option is tested where they are."""

REFUSED = {
    "explain tree.skops data.csv --smoothing 5": "--smoothing is added to the counts of --distribution chow-liu",
    "batch tree.skops data.csv --smoothing 5 --distribution net.bif": "--smoothing is added to the counts of",
    "explain tree.skops data.csv --measures empirical --distribution chow-liu": "--measures is about features that are",
    "explain tree.skops data.csv --bits binary": "--bits says how a circuit or a .psdd writes values in bits",
    "explain tree.skops data.csv --missing 0": "--missing is for files of XGBoost",
    "explain own.nnf ab.csv --missing 0": "--missing is for files of XGBoost",
    "verify results.jsonl own.nnf --missing 0": "--missing is for files of XGBoost",
    "explain tree.skops data.csv --norm l1": "--norm says how --radius is measured",
    "report tree.skops data.csv --unit range": "--unit says how --radius is measured",
    "report tree.skops data.csv --unit value": "--unit says how --radius is measured",
    "batch tree.skops data.csv --distance-weight a=2": "--distance-weight says how --radius is measured",
    "report results.jsonl --range a=0:3": "results.jsonl holds results, which --range cannot change",
    "report results.jsonl --distance-weight a=0": "results.jsonl holds results, which --distance-weight cannot change",
    "explain tree.skops data.csv --circuit-of a": "--circuit-of says which CXp, but --circuit FILE does not",
    "batch tree.skops data.csv --interactions shapley": "--interactions is written to the file of results, but --out",
    "batch tree.skops data.csv --min-precision 0.9": "--min-precision is written to the file of results, but --out",
    "batch tree.skops data.csv --inflate": "--inflate is written to the file of results, but --out",
    "batch tree.skops data.csv --json --limit 2": "--limit is of printed tables, and --json prints none",
    "batch tree.skops data.csv --class-names no yes": "--class-names is seen in --out, --by and --toward only",
    "report tree.skops data.csv --row 1 --n-jobs 2": "--n-jobs is about many rows, but --row asks for one",
    "report tree.skops data.csv --row 1 --on-error skip": "--on-error is about many rows, but --row asks for one",
    "report tree.skops data.csv --radii": "--radii are for --explore with a model and a table",
    "report tree.skops data.csv --explore --inflate": "--inflate was given, but a page to explore shows scores",
    "verify one.json tree.skops --rows 2": "--rows is about batches, but the file holds one explanation",
    "verify one.json tree.skops --verbose": "--verbose is about what is printed of batches",
    "verify results.jsonl tree.skops --json --verbose": "--verbose is about what is printed of batches",
    "count clauses.cnf --save made.nnf": "--save writes a circuit in the language of --to, but none was given",
    "sizes tree.skops data.csv --to mdd --codes binary": "--codes is for obdd and sdd, but --to names neither",
    "sizes tree.skops data.csv --to obdd --vtrees right": "--vtrees is for sdd, but --to does not name it",
    "sizes tree.skops data.csv --to mdd --searches sift vtree": "--searches finds nothing to search",
    "sizes tree.skops data.csv --to ddnnf --reorder": "--reorder finds nothing to search",
    "explain own.nnf ab.csv --categorical a": "own.nnf says itself what its features are, which --categorical cannot",
    "explain own.nnf ab.csv --bounds a=0:9": "own.nnf says itself what its features are, which --bounds cannot change",
    "explain own.nnf ab.csv --measures empirical": "own.nnf says itself what its features are, which --measures cannot",
    "explain own.nnf ab.csv --domain data.csv": "own.nnf says itself what its features are, which --domain cannot",
}


FIRST = {
    "explain tree.skops data.csv --circuit all.txt": "all.txt: expected one of the suffixes .nnf",
    "explain tree.skops data.csv --circuit all.sdd": "all.sdd: expected the target 'sdd', but found 'circuit'",
    "explain tree.skops data.csv --circuit all.nnf --circuit-of z": "The domain has no feature 'z'",
    "explain tree.skops data.csv --circuit all.nnf --circuit-of a b c": "['a', 'b', 'c'] are none of the CXps",
    "explain tree.skops data.csv --pictures data.csv": "data.csv would be written over data.csv",
    "explain tree.skops data.csv --pictures small.csv": "small.csv exists and is no folder; name another for",
    "batch tree.skops data.csv --pictures small.csv": "small.csv exists and is no folder; name another for",
    "explain tree.skops data.csv --range a": "--range takes FEATURE=LOW:HIGH or FEATURE=A,B, such as",
    "explain tree.skops data.csv --range a=5": "--range takes FEATURE=LOW:HIGH",
    "explain tree.skops data.csv --range a=:": "--range takes FEATURE=LOW:HIGH",
    "explain tree.skops data.csv --range a=0:many": "--range takes FEATURE=LOW:HIGH",
    "explain tree.skops data.csv --range a=0:nan": "A number at an end of the range of 'a' must be a finite number",
    "explain tree.skops data.csv --range z=0:1": "The domain has no feature 'z'",
    "explain tree.skops data.csv --range a=0:1 a=1:2": "--range takes FEATURE=LOW:HIGH or FEATURE=A,B",
    "batch tree.skops data.csv --radius 1 --distance-weight a=1 a=2": "--distance-weight takes FEATURE=WEIGHT, such as "
    "age=2, once of each, but 'a' was given twice; leave one out.",
    "batch tree.skops data.csv --range a=3:1": "The range of 'a' must be (low, high), but (3, 1) goes from high to low",
    "batch tree.skops data.csv --radius 1 --distance-weight a": "--distance-weight takes FEATURE=WEIGHT, such as age=2",
    "explain tree.skops data.csv --radius 1 --distance-weight a=far": "--distance-weight takes FEATURE=WEIGHT",
    "batch tree.skops data.csv --radius 1 --distance-weight a=-1": "The weight of 'a' must be a number from 0 up",
    "explain tree.skops data.csv --radius 1 --distance-weight z=1": "The domain has no feature 'z'",
    "batch tree.skops data.csv --by z": "The domain has no feature 'z'",
    "report tree.skops data.csv --explore --score ffa": "A page computes scores that are sums over CXps, but 'ffa'",
    "compile tree.skops data.csv --save made.sdd": "made.sdd: expected the target 'sdd', but found 'mdd'",
    "compile tree.skops data.csv --picture made.foo": "A picture's file should end in one of ",
    "sizes tree.skops data.csv --save made.foo": "A study is saved as .csv, .json, .html, but '.foo' was given",
    "sizes tree.skops data.csv --picture made.dot": "A picture's file should end in one of ",
    "sizes tree.skops data.csv --seconds 0": "A budget of seconds must be above 0, but 0.0 was given",
    "batch tree.skops data.csv --n-jobs 0": "--n-jobs must be a number of workers (-1 for all cores)",
    "count clauses.cnf --to mdd --save made.dddmp": "made.dddmp: expected the target 'obdd', but found 'mdd'",
}
"""What can be told before anything is done is told then, and nothing is printed or written."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sklearn.tree import DecisionTreeClassifier

    made, rng = tmp_path_factory.mktemp("inputs"), np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 4, 60), "b": rng.integers(0, 3, 60), "c": rng.normal(size=60).round(2)})
    label = ((table.a > 1) & (table.b > 0) | (table.c > 0.3)).astype(int)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(table, label)
    skops_io.dump(model, made / "tree.skops")
    for name, own in {"data": table, "small": table.head(20), "labelled": table.assign(label=label)}.items():
        own.to_csv(made / f"{name}.csv", index=False)
    flags = pd.DataFrame({"p": [0, 1, 0] * 20, "q": [1, 0, 0] * 20, "r": [0, 0, 1] * 20, "label": [0, 1, 2] * 20})
    flags.assign(s=[0] * 30 + [1] * 30).iloc[:59].to_csv(made / "flags.csv", index=False)
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 2)])
    ax.compile_model(lambda p: int((p[0] in (1, 3) and p[1] > 0) or p[0] == p[1] == 0), domain, output=1).save(
        made / "own.nnf"
    )
    pd.DataFrame(list(domain.points()), columns=["a", "b"]).to_csv(made / "ab.csv", index=False)
    (made / "clauses.cnf").write_text("p cnf 3 2\n1 2 0\n-1 3 0\n")
    (made / "rules.json").write_text(json.dumps({"rules": [{"constraint": (ax.feature("b") <= 1).document()}]}))
    explainer = ax.Explainer(model, table)
    explainer.explain_to(made / "results.jsonl", table.head(5), progress=False)
    (made / "one.json").write_text(explainer.explain(table.head(1)).to_json())
    return made


def outcome(inputs: Path, folder: Path, call: str, capsys: pytest.CaptureFixture[str]) -> tuple[object, ...]:
    """Return what a call gives in a folder with the inputs: its status, what it prints, and the files it writes."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        status = main(call.split())
    text = re.sub(r"\b\d+\.\d+\b", "", capsys.readouterr().out) if "sizes" in call else capsys.readouterr().out
    text = re.sub(r'seconds"?:? +[0-9.]+', "", text)
    new = {p.relative_to(folder) for p in folder.rglob("*")} - {p.relative_to(inputs) for p in inputs.rglob("*")}
    return status, text, {p: (folder / p).read_bytes() for p in sorted(new) if (folder / p).is_file()}


def test_every_option_is_tried() -> None:
    """With its command, or with explain, if they share it; a new one is missing here until somebody says how."""
    commands = next(action.choices for action in parser()._actions if isinstance(action.choices, dict))
    assert set(commands) == {name.split()[0] for name in TRIED} | ELSEWHERE
    for name in set(commands) - ELSEWHERE:
        options = "; ".join(own for key, (_, own) in TRIED.items() if key.split()[0] == name)
        known = f"{options}; {TRIED['explain'][1]}; {' '.join(REFUSED)}".replace(";", " ").split()
        own = {flag for action in commands[name]._actions for flag in action.option_strings if flag.startswith("--")}
        assert own <= {*known, *QUIET}, name


@pytest.mark.parametrize("command", TRIED)
def test_no_option_is_ignored(
    inputs: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("axfi_kc.explanations.page.sections.about", lambda _: "")  # has the time of day
    (base, options), command = TRIED[command], command.split()[0]
    usual = outcome(inputs, tmp_path / "folder", f"{command} {base}", capsys)
    assert usual[0] == 0
    for option in options.split("; "):
        assert outcome(inputs, tmp_path / "folder", f"{command} {base} {option}", capsys) != usual, option


@pytest.mark.parametrize("call", [*REFUSED, *FIRST])
def test_what_cannot_act_is_refused(
    inputs: Path, call: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(inputs)
    before = sorted(inputs.iterdir())
    assert main(call.split()) == 1
    said = capsys.readouterr()
    assert said.err.startswith(f"axfi-kc: {(REFUSED | FIRST)[call]}")
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert sorted(inputs.iterdir()) == before


@pytest.mark.parametrize("number", ["2", "0", "-1/2", "1/0", "nan", "much"])
def test_a_precision_is_a_probability(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "tree.skops", "data.csv", f"--min-precision={number}"])
    assert ended.value.code == 2
    assert f"expected a number above 0 and at most 1, but '{number}' was given" in capsys.readouterr().err


LOOPS = (
    *("info LOOP", "explain LOOP data.csv", "explain tree.skops LOOP", "verify LOOP tree.skops", "rules LOOP"),
    *("explain tree.skops data.csv --pictures LOOP", "batch tree.skops data.csv --out LOOP/out.jsonl", "count LOOP"),
    *("report tree.skops data.csv --out LOOP", "demo --out LOOP", "batch tree.skops data.csv --pictures LOOP/a"),
)


@pytest.mark.parametrize("call", LOOPS)
def test_links_that_go_round(
    inputs: Path, call: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.chdir(inputs)
    assert main(call.replace("LOOP", str(tmp_path / "loop")).split()) == 1
    said = capsys.readouterr()
    assert said.err.startswith("axfi-kc: ")
    assert "nobody foresaw" not in said.err
    assert (said.out, said.err.count("\n")) == ("", 1)


def test_what_a_file_holds_is_said_truly(inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("some words")
    (tmp_path / "settings.json").write_text("{}")
    (tmp_path / "model.pkl").write_bytes(pickle.dumps([1]))
    results = inputs / "results.jsonl"
    (tmp_path / "part.jsonl").write_bytes(b"".join(results.read_bytes().splitlines(keepends=True)[:3]))
    made = {"results.jsonl": "results", "one.json": "explanation", "data.csv": "table", "clauses.cnf": "circuit"}
    made |= {"tree.skops": "skops", "own.nnf": "circuit"}
    files = {inputs / name: kind for name, kind in made.items()}
    made = {"notes.txt": "unknown", "settings.json": "unknown", "model.pkl": "pickle", "part.jsonl": "results"}
    found = {}
    for file, kind in (files | {tmp_path / name: kind for name, kind in made.items()}).items():
        assert main(["info", str(file), "--json"]) == 0
        found[file.name] = json.loads(capsys.readouterr().out)
        assert found[file.name]["kind"] == kind
    assert [found["part.jsonl"][key] for key in ("rows", "rows of the run", "finished")] == [2, 5, False]
    assert (found["one.json"]["CXps"] > 0, found["data.csv"]["rows"]) == (True, 60)


def test_bad_usage_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """And not all options that there are, and then the line."""
    with pytest.raises(SystemExit) as ended:
        main(["explain", "tree.skops"])
    assert ended.value.code == 2
    said = "axfi-kc explain: error: the following arguments are required: data; see axfi-kc explain --help\n"
    assert capsys.readouterr().err == said


def test_a_region_of_options_is_that_of_python(
    inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ends that are left out are the domain's; ranges and weights act wherever a radius does, and are verified."""
    table = pd.read_csv(inputs / "data.csv")
    model = load_skops(inputs / "tree.skops")
    row = next(n for n in range(60) if table.a[n] == 2)
    files = [str(inputs / "tree.skops"), str(inputs / "data.csv")]
    asked = ["--range", "a=1:", f"c=:{table.c[row]}", "--radius", "1/2", "--distance-weight", "a=1/4", "b=0"]
    region = ax.Region(
        ranges={"a": (1, 3), "c": (float(table.c.min()), float(table.c[row]))},
        radius=0.5,
        weights={"a": 0.25, "b": 0},
    )
    alone = ax.Explainer(model, table, within=region).explain(table.iloc[row])
    assert main(["explain", *files, "--row", str(row), *asked, "--json"]) == 0
    text = capsys.readouterr().out
    found = ax.Explanation.from_json(text)
    assert (found.within, found.cxps) == (region, alone.cxps)
    out = tmp_path / "out.jsonl"
    assert main(["batch", *files, "--out", str(out), *asked, "--on-error", "skip"]) == 0
    assert {e.within for e in ax.read_results(out)} == {region}
    (tmp_path / "one.json").write_text(text)
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "one.json"), files[0]]) == 0
    assert main(["report", *files, "--row", str(row), *asked, "--out", str(tmp_path / "page.html")]) == 0
    assert "a counted 0.25 times; b at any distance" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_ranges_of_categories_and_of_names_with_signs_in_them() -> None:
    features = [ax.Categorical("job", ["a=b", "c"]), ax.Categorical("level", [1, 2, 3]), ax.Real("x=y", -1, 1)]
    domain = ax.Domain([*features, ax.Real("x", 0, 1)])
    texts = ["--range", "job=a=b", "level=1,3", "x=y=-1/3:", "--radius", "2", "--distance-weight", "x=y=2", "x=0.5"]
    options = parser().parse_args(["explain", "m", "t", *texts])
    region = _region(options, domain)
    assert dict(region.ranges) == {"job": ("a=b",), "level": (1, 3), "x=y": (Fraction(-1, 3), 1)}
    assert dict(region.weights) == {"x=y": 2, "x": Fraction(1, 2)}
    assert (region.norm, region.unit, region.radius) == ("linf", "value", 2)
