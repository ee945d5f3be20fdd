"""A target or a file format is one file and one registration: here both are made up, and pass every door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest

import axfi_kc as ax
from axfi_kc.budget import Budget
from axfi_kc.circuits import files as formats
from axfi_kc.circuits import queries, targets
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets import Language, Target, mdd_of
from axfi_kc.circuits.targets.mdd import InArrays
from axfi_kc.cli import main
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.grid import Grid
from axfi_kc.errors import CircuitError, ModelFileError, UnsupportedTargetError

DOMAIN = ax.Domain([ax.Integer("a", 0, 2), ax.Integer("b", 0, 1), ax.Integer("c", 0, 1)])


def model(p: Any) -> int:
    return int(p[0] + p[1] + 2 * p[2] >= 3)


@dataclass(frozen=True, slots=True, eq=False)
class Toy(InArrays):
    """An ordered diagram under another name."""

    circuit: Circuit
    shade: str
    language: ClassVar[str] = "toy"


def toy_of(circuit: Circuit, *, order: Any = None, shade: str = "red", budget: Budget | None = None) -> Toy:
    return Toy(mdd_of(circuit, order=order, budget=budget).circuit, shade)


def read_toy(path: Path, domain: Domain | None = None) -> Circuit:
    """Read a list of the feature names and the points, each of a categorical feature's first values."""
    names, n_values, points = json.loads(Path(path).read_text())
    found = domain or Domain([ax.Integer(name, 0, n - 1) for name, n in zip(names, n_values, strict=True)])
    build = CircuitBuilder(Grid.of_values(found))
    terms = [build.conjunction([build.literal(i, [c]) for i, c in enumerate(point)]) for point in points]
    return build.circuit(build.disjunction(terms))


def write_toy(circuit: Circuit, path: Path) -> None:
    grid = circuit.grid
    content = [list(grid.domain.names), list(grid.n_cells), list(queries.cell_models(circuit))]
    Path(path).write_text(json.dumps(content))


@pytest.fixture(params=[True, False], ids=["ordered", "searched"])
def toy_target(request: pytest.FixtureRequest) -> Iterator[None]:
    targets.register(Language("toy", toy_of, ordered=request.param))
    yield
    targets.unregister("toy")


@pytest.fixture
def toy_format() -> Iterator[None]:
    known = formats.Format((".toy",), read_toy, write_toy, describes=True)
    formats.register(known)
    yield
    formats.unregister(known)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A circuit and a table, for the command line."""
    ax.save_circuit(ax.compile_model(model, DOMAIN).circuit, tmp_path / "model.nnf")
    pd.DataFrame([[0, 0, 0], [2, 1, 1]], columns=list("abc")).to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("toy_target")
def test_a_registered_target_is_compiled_into_explained_through_and_compared() -> None:
    compiled = ax.compile_model(model, DOMAIN, target="toy", shade="blue")
    assert isinstance(compiled.target, Target)
    assert compiled.target.shade == "blue"
    assert compiled.count() == ax.compile_model(model, DOMAIN).count()
    assert compiled.condition({"a": 2}).language == "toy"
    for x in [(0, 0, 0), (2, 1, 0), (2, 1, 1)]:
        expected = ax.Explainer(model, DOMAIN).explain(x)
        found = ax.Explainer(model, DOMAIN, target="toy").explain(x)
        assert [(c.features, c.weight) for c in found.cxps] == [(c.features, c.weight) for c in expected.cxps]
    frame = ax.compare_sizes(model, DOMAIN, orders=["given"], reorder=True)
    assert frame[frame.target == "toy"][["order", "agrees"]].to_numpy().tolist() == [["given", True]]
    assert "toy" in queries.languages_for("counting")
    with pytest.raises(UnsupportedTargetError, match="'ddnnf', 'toy'"):
        ax.compile_model(model, DOMAIN, target="no such target")
    with pytest.raises(UnsupportedTargetError, match=r"'auto', 'mdd', .*'toy'"):
        ax.Explainer(model, DOMAIN, target="no such target")
    with pytest.raises(CircuitError, match="'toy' takes order, shade, budget, but code was given"):
        ax.compile_model(model, DOMAIN, target="toy", code="binary")
    with pytest.raises(CircuitError, match="expected the target 'obdd', but found 'toy'"):
        compiled.save("model.dddmp")


@pytest.mark.usefixtures("toy_target")
def test_a_registered_target_is_known_to_the_command_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = files / "model.nnf", files / "data.csv"
    assert printed(capsys, "compile", *inputs, "--to", "toy", "--save", files / "toy.nnf")["language"] == "toy"
    assert printed(capsys, "info", files / "toy.nnf")["columns"] == 3
    found = printed(capsys, "sizes", *inputs, "--to", "mdd", "toy", "--orders", "given")
    assert [(row["target"], row["agrees"]) for row in found] == [("mdd", True), ("toy", True)]
    assert "toy" in {row["target"] for row in printed(capsys, "sizes", *inputs, "--orders", "given")}


def test_a_target_that_was_unregistered_is_unknown(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "toy" not in targets.TARGETS
    assert "toy" not in queries.LANGUAGES
    with pytest.raises(SystemExit):
        main(["compile", str(files / "model.nnf"), str(files / "data.csv"), "--to", "toy"])
    assert "invalid choice: 'toy'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mdd", "auto"])
def test_a_name_is_taken_once(name: str) -> None:
    with pytest.raises(UnsupportedTargetError, match=f"a name of its own, but {name!r} is taken"):
        targets.register(Language(name, toy_of))


@pytest.mark.usefixtures("toy_format")
def test_a_registered_format_is_read_and_written(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = ax.compile_model(model, DOMAIN, target="obdd")
    compiled.save(files / "saved.toy")
    ax.save_circuit(compiled.circuit, files / "circuit.toy", code="binary")
    for name in ("saved.toy", "circuit.toy"):
        for domain in (None, DOMAIN):
            assert queries.count(ax.load_circuit(files / name, domain)) == compiled.count()
    inputs = files / "saved.toy", files / "data.csv"
    assert printed(capsys, "info", files / "saved.toy")["kind"] == "circuit"
    assert printed(capsys, "compile", *inputs, "--save", files / "again.toy")["count"] == compiled.count()
    assert (files / "again.toy").read_text() == (files / "saved.toy").read_text()
    assert all(row["agrees"] for row in printed(capsys, "sizes", *inputs, "--orders", "given"))
    with pytest.raises(SystemExit):
        main(["compile", "--help"])
    assert ".toy" in capsys.readouterr().out
    with pytest.raises(ModelFileError, match=r"one of the suffixes .*\.toy"):
        ax.save_circuit(compiled.circuit, files / "a.other")
    with pytest.raises(CircuitError, match=r"or save as .nnf or .cnf or .toy"):
        ax.save_circuit(compiled.circuit, files / "a.sdd")


def test_a_format_that_was_unregistered_is_unknown(files: Path) -> None:
    assert ".toy" not in formats.FORMATS
    with pytest.raises(ModelFileError, match="suffixes"):
        ax.load_circuit(files / "a.toy")


def test_formats_of_one_suffix_are_told_apart_by_their_marks(files: Path) -> None:
    known = formats.Format((".json",), read_toy, marks=(b"toy",))
    formats.register(known)
    try:
        (files / "a.json").write_text('[["toy"], [2], [[1]]]')
        assert formats.format_of(files / "a.json") is known
        compiled = ax.compile_model(model, DOMAIN, target="obdd")
        compiled.save(files / "b.json")
        assert queries.count(ax.load_circuit(files / "b.json", DOMAIN, code="order")) == compiled.count()
    finally:
        formats.unregister(known)
    assert len(formats.FORMATS[".json"]) == 2


def test_a_format_without_a_writer_is_only_read(files: Path) -> None:
    known = formats.Format((".toy",), read_toy)
    formats.register(known)
    try:
        with pytest.raises(CircuitError, match="only read"):
            ax.compile_model(model, DOMAIN).save(files / "a.toy")
    finally:
        formats.unregister(known)
