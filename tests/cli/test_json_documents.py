"""What ``--json`` prints is what its schema says, with a format and a version, for every command that has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from skops.io import dump

from axfi_kc.cli import main
from axfi_kc.cli.main import parser

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "_static" / "axfi-kc.schema.json").read_text())
jsonschema = pytest.importorskip("jsonschema")
CHECK = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("json")
    iris = load_iris(as_frame=True)
    X = iris.data.set_axis(list("abcd"), axis=1)
    dump(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, iris.target), folder / "tree.skops")
    dump(DecisionTreeRegressor(max_depth=2, random_state=0).fit(X[["a", "b"]], X["c"]), folder / "numbers.skops")
    X.to_csv(folder / "data.csv", index=False)
    X[["a", "b"]].to_csv(folder / "two.csv", index=False)
    X.round().astype(int).to_csv(folder / "whole.csv", index=False)
    (folder / "two.cnf").write_text("p cnf 2 1\n1 2 0\n")
    names = ("tree.skops", "numbers.skops", "data.csv", "two.csv", "whole.csv", "two.cnf", "one.json", "page.html")
    names += ("rules.json",)
    found = {name: str(folder / name) for name in names}
    (folder / "one.json").write_text(
        json.dumps(document_of(["explain", found["tree.skops"], found["data.csv"], "--json"]))
    )
    assert main(["rules", found["whole.csv"], "--out", found["rules.json"]]) == 0
    return found


def document_of(arguments: list[str]) -> Any:
    """Return the document that a command prints."""
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(arguments) == 0
    return json.loads(out.getvalue())


COMMANDS = {
    "explanation": "explain tree.skops data.csv --row 60 --interactions shapley --min-precision 0.9 --inflate",
    "explanation under a constraint": "explain tree.skops data.csv --where c<100",
    "explanation under a distribution": "explain tree.skops whole.csv --distribution chow-liu",
    "explanation of a regression": "explain numbers.skops two.csv --delta 0.3",
    "explanation of counts": "explain tree.skops whole.csv --weights count --max-size 1 --score shapley",
    "batch": "batch tree.skops data.csv --rows 5 --by prediction",
    "report": "report tree.skops data.csv --row 0 --out page.html",
    "compile": "compile tree.skops whole.csv --output 1",
    "sizes": "sizes tree.skops data.csv --output 1 --to mdd obdd --orders given",
    "sensitivity": "sensitivity tree.skops whole.csv --features c --by d",
    "count": "count two.cnf --via dd --no-check --to obdd",
    "verify": "verify one.json tree.skops",
    "rules": "rules whole.csv",
    "info": "info",
    "model": "info tree.skops",
    "file of rules": "info rules.json",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_documents_are_what_the_schema_says(command: str, files: dict[str, str]) -> None:
    document = document_of([files.get(word, word) for word in (*command.split(), "--json")])
    CHECK.validate(document)
    assert (document["format"].startswith("axfi-kc "), document["version"]) == (True, 1)


def test_the_schema_refuses_what_is_something_else(files: dict[str, str]) -> None:
    document = document_of(["explain", files["tree.skops"], files["data.csv"], "--json"])
    wrong = [
        {**document, "version": 2},
        {**document, "format": "axfi-kc dance"},
        {**document, "scores": {"shapley": {"a": 0.5}}},
        {key: value for key, value in document.items() if key != "prediction"},
    ]
    assert not any(CHECK.is_valid(each) for each in wrong)


def test_every_command_with_json_is_tried() -> None:
    commands = next(a for a in parser()._actions if a.choices and "explain" in a.choices).choices
    with_json = {name for name, made in commands.items() if "--json" in made._option_string_actions}
    assert with_json - {"warm-up"} == {
        command.split()[0] for command in COMMANDS.values()
    }  # which compiles for minutes
    CHECK.validate({"format": "axfi-kc warm-up", "version": 1, "seconds": {"trees": 1.5}})
    CHECK.validate({"format": "axfi-kc unfinished explanation", "version": 1, "complete": False, "cxps": [["a"]]})


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
