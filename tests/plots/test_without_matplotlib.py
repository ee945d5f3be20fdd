"""Without matplotlib every picture is refused in the sentence in which all extras are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PLOTS = """
import sys
sys.modules["matplotlib"] = None
import axfi_kc as ax
from axfi_kc import plots
domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 2)])
explainer = ax.Explainer(lambda p: p[0] and p[1] > 0, domain)
e, batch = explainer.explain([1, 2]), explainer.explain_batch([[1, 1], [1, 2]])
compiled = ax.compile_model(lambda p: int(p[0] and p[1] > 0), domain)
given = {
    "plot_batch": [batch, list(batch)],
    "plot_circuit": [compiled, compiled.circuit, compiled.target],
    "plot_cxps": [e],
    "plot_force": [e],
    "plot_forest": [e, e.forest],
    "plot_interactions": [e],
    "plot_radius_path": [ax.radius_path(explainer, [1, 2])],
    "plot_rbo": [{"a": [1]}],
    "plot_scores": [e],
    "plot_sizes": [[{"target": "mdd", "nodes": 1, "edges": 3}]],
}
assert given.keys() == {name for name in plots.__all__ if name.startswith("plot_")}
for name, all_given in given.items():
    for what in all_given:
        for options in ({}, {"ax": 5}):
            try:
                getattr(plots, name)(what, **options)
            except ax.errors.MissingExtraError as error:
                said = "Drawing needs matplotlib, which is not installed: pip install matplotlib (part of our [plots])."
                assert str(error) == said, (name, error)
            else:
                raise AssertionError(name)
assert plots.circuit_dot(compiled) and plots.circuit_graph(compiled)
"""

COMMAND = """
import sys
sys.modules["matplotlib"] = None
from axfi_kc.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_plot() -> None:
    done = run(PLOTS)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_option_that_draws(tmp_path: Path) -> None:
    """Before any work: no model is read, so that files without a word in them do."""
    model, data, out = tmp_path / "model.json", tmp_path / "data.csv", tmp_path / "out"
    for file in (model, data):
        file.write_text("")
    for arguments in (
        ["explain", model, data, "--pictures", out],
        ["batch", model, data, "--pictures", out],
        ["compile", model, data, "--picture", out.with_suffix(".png")],
        ["sizes", model, data, "--picture", out.with_suffix(".png")],
        ["demo", "--out", out],
    ):
        done = run(COMMAND, *arguments)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert "Drawing needs matplotlib, which is not installed: pip install matplotlib" in done.stderr
        assert not out.exists()
