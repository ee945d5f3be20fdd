"""A sample of `benchmarks/fuzz.py`: hostile files lead to an AxfiError or are read, and nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest

import axfi_kc as ax
from axfi_kc.circuits import queries
from axfi_kc.circuits.files import read_nnf, write_nnf
from axfi_kc.cli import main
from axfi_kc.cli.inputs import load_model, read_table
from axfi_kc.compilers.readers.lightgbm_files import read_lightgbm
from axfi_kc.errors import AxfiError, DomainError, ModelFileError, UnsupportedModelError
from benchmarks import fuzz
from tests.support.fuzz_all import READERS
from tests.support.fuzz_readers import MODEL_DOMAIN
from tests.support.large_circuits import conjunction_chain

SAMPLE = {"csv": 100, "csv-command": 15, "skops": 40}


@pytest.mark.parametrize("name", READERS)
def test_a_sample_of_hostile_files(name: str) -> None:
    found = fuzz.run(name, inputs=SAMPLE.get(name, 400), seed=1)
    assert not found["failures"], found["first_failures"]
    assert set(found["kinds"]) & {"read"}
    assert len(found["kinds"]) > 1


@pytest.mark.parametrize("name", READERS)
def test_every_valid_file_is_read(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    file = tmp_path / f"valid{reader.suffix}"
    for data in reader.pool[:6]:
        if name == "nnf-described" and not data.startswith(b"c axfi"):
            continue
        file.write_bytes(data)
        try:
            reader.read(file)
        except ax.errors.CircuitError:  # not decomposable, as a third of them are
            assert name not in ("csv", "result-json", "xgboost-json", "lightgbm")


def test_the_harness_notices_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(file: Path) -> None:
        raise KeyError("not an error of ours")

    monkeypatch.setattr(READERS["vtree"], "read", broken)
    found = fuzz.run("vtree", inputs=5, seed=0, quiet=True)
    assert found["failures"] == 5
    assert found["kinds"] == {"CRASH KeyError": 5}


def test_the_harness_survives_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(
        "import os, sys\nfrom benchmarks import fuzz\nread = fuzz.READERS['vtree'].read\nseen = []\n"
        "def deadly(file):\n    seen.append(1)\n    if len(seen) == 4: os.abort()\n    return read(file)\n"
        "fuzz.READERS['vtree'].read = deadly\nfuzz.main()\n"
    )
    monkeypatch.setattr(fuzz, "__file__", str(script))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]))
    found = fuzz.run_apart("vtree", inputs=5, seed=0)
    assert found["failures"] >= 1
    assert any(kind.startswith("DEAD") for kind in found["kinds"])


def test_a_damaged_text_of_lightgbm_never_reaches_its_parser(tmp_path: Path) -> None:
    """LightGBM ends the process on such a text; ours says what is wrong, without LightGBM."""
    text = READERS["lightgbm"].pool[0].decode()
    assert read_lightgbm(text, MODEL_DOMAIN).n_trees == 1
    for old, new in (("leaf_value=", "leaf_worth="), ("split_feature=0 1", "split_feature=0 7"), ("x k", "x")):
        file = tmp_path / "model.txt"
        file.write_text(text.replace(old, new))
        with pytest.raises(AxfiError):
            load_model(file, MODEL_DOMAIN, allow_pickle=False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("right_child=-3 -1", "right_child=0 -1"),
        ("leaf_value=0.5", "leaf_value=nan"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=0"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=-1"),
        ("pandas_categorical:null", "pandas_categorical:7"),
        ("pandas_categorical:null", "pandas_categorical:" + "[" * 100_000),
    ],
)
def test_texts_of_lightgbm_that_once_got_through(old: str, new: str) -> None:
    text = next(t for t in READERS["lightgbm"].pool if b"right_child=-3 -1" in t).decode()
    with pytest.raises(ModelFileError):
        read_lightgbm(text.replace(old, new), MODEL_DOMAIN)


def test_tables_hold_the_nearest_floats_and_survive_huge_exponents(tmp_path: Path) -> None:
    """By default pandas is off by a digit in every third number, and crashes on an exponent beyond 32 bits."""
    rng, file = Random(1), tmp_path / "rows.csv"
    texts = [repr(rng.uniform(-1, 1) * 10 ** rng.randint(-8, 8)) for _ in range(2000)]
    file.write_text("\n".join(["x", *texts, ""]))
    assert read_table(file)["x"].tolist() == [float(text) for text in texts]
    file.write_text("x\n1e-99999999999999999999\n")
    assert read_table(file)["x"].tolist() == [0.0]
    file.write_text("x\n5.751e4002147483648\n1\n")  # not a column of texts
    with pytest.raises(DomainError):
        ax.Domain.from_data(read_table(file))


def test_pickles_need_the_flag(tmp_path: Path) -> None:
    file, witness = tmp_path / "model.pkl", tmp_path / "witness"
    file.write_bytes(f"cos\nmkdir\n(S'{witness}'\ntR.".encode())
    with pytest.raises(UnsupportedModelError, match="allow-pickle"):
        load_model(file, MODEL_DOMAIN, allow_pickle=False)
    table = tmp_path / "rows.csv"
    table.write_text("x,k\n1,2\n")
    assert main(["explain", str(file), str(table)]) == 1
    assert not witness.exists()


def test_writers_write_the_path_they_are_given_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    compiled = ax.compile_model(lambda p: p[0] and p[1], ax.Domain([ax.Integer("../a", 0, 1), ax.Integer("/b", 0, 1)]))
    compiled.save(tmp_path / "c.nnf")
    assert os.listdir(elsewhere) == []
    assert sorted(os.listdir(tmp_path)) == ["c.nnf", "elsewhere"]


def _check_chain(folder: Path, n: int) -> None:
    """A chain of n conjunctions is read, counted, written and read back."""
    file = folder / "chain.nnf"
    file.write_text("\n".join([f"nnf {n + 1} {n} 8", "L 1", *(f"A 1 {k}" for k in range(n))]))
    domain = ax.Domain([ax.Integer(f"x{i}", 0, 1) for i in range(8)])
    circuit = read_nnf(file, domain)
    assert queries.count(circuit) == 2**7
    write_nnf(circuit, file)
    assert queries.count(read_nnf(file)) == 2**7


def test_a_long_chain_is_loaded_counted_and_saved(tmp_path: Path) -> None:
    _check_chain(tmp_path, 50_000)


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_is_loaded_counted_and_saved(tmp_path: Path) -> None:
    _check_chain(tmp_path, 1_000_000)
    circuit = conjunction_chain(1_000_000)
    write_nnf(circuit, tmp_path / "chain.nnf")
    assert queries.count(read_nnf(tmp_path / "chain.nnf")) == queries.count(circuit)
