"""``axfi-kc demo``: a tumour of scikit-learn's breast cancer data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from axfi_kc.cli.explain import explanation_text
from axfi_kc.cli.options import add_command as new_command
from axfi_kc.cli.pictures import write_pictures
from axfi_kc.cli.progress import working
from axfi_kc.errors import MissingExtraError
from axfi_kc.measures import amount

__all__ = ["add_command"]

_ROW = 78
_ABOUT = "explain a decision tree on data that ships with scikit-learn"


def add_command(commands: Any) -> None:
    """Add the command."""
    command = new_command(commands, "demo", _run, about=_ABOUT, examples="  axfi-kc demo\n  axfi-kc demo --out here/\n")
    command.add_argument("--out", type=Path, default=Path("axfi-demo"), help="folder for the pictures [%(default)s]")


def _run(options: argparse.Namespace) -> None:
    from axfi_kc.report import write_report

    model, explanation = _explained()
    print(
        f"A decision tree with {model.get_n_leaves()} leaves on scikit-learn's breast cancer data "
        "(569 tumours, 30 measurements).\n"
        f"Why does it call tumour {_ROW} {explanation.prediction}? Every number below is exact.\n"
    )
    print(explanation_text(explanation))
    heaviest = max(explanation.cxps, key=lambda c: c.weight)
    print(
        f"\nThe heaviest CXp: over the whole range of {', '.join(heaviest.features)}, all else as it is, "
        f"the diagnosis flips with probability {amount(heaviest.weight)}.\n"
    )
    with working("drawing"):
        written = write_pictures(explanation, options.out)
        write_report(explanation, options.out / "report.html")
    print(*(f"wrote {path}" for path in (*written, options.out / "report.html")), sep="\n")


def _explained() -> tuple[Any, Any]:
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise MissingExtraError.of("scikit-learn", "all", "The demo") from error
    from axfi_kc.domain import Domain
    from axfi_kc.explainer import Explainer

    data = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target_names[data.target])
    return model, Explainer(model, Domain.from_data(data.data)).explain(data.data.iloc[[_ROW]])
