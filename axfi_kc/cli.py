"""The command ``axfi-kc``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from axfi_kc._version import __version__
from axfi_kc.compilers import read_xgboost
from axfi_kc.domain import Domain
from axfi_kc.errors import AxfiError, MissingExtraError
from axfi_kc.explainer import Explainer, Explanation

__all__ = ["main"]

_DEMO_ROW = 78
_TRUSTED = ("sklearn.tree._tree.Tree",)  # compiled classes of scikit-learn that hold nothing but arrays
_EXAMPLES = """\
examples:
  axfi-kc demo
  axfi-kc explain tree.skops data.csv --row 3
  axfi-kc explain xgboost.json data.csv --target label --max-size 3
  axfi-kc explain regressor.skops data.csv --delta 1.5 --target price --pictures out/
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status (0 done, 1 bad input, 2 bad usage)."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except AxfiError as error:
        print(f"axfi-kc: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="axfi-kc",
        description="Exact contrastive explanations and AxFi feature scores.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"axfi-kc {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="explain a decision tree on data that ships with scikit-learn")
    demo.add_argument("--out", type=Path, default=Path("axfi-demo"), help="folder for the pictures [%(default)s]")
    demo.set_defaults(run=_demo)
    _add_explain(commands)
    return parser


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser(
        "explain",
        help="explain one row of a table",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    explain.add_argument("model", type=Path, help="a model: XGBoost .json or .ubj, skops .skops, or a pickle")
    explain.add_argument("data", type=Path, help="a CSV file with the model's columns; it also gives the bounds")
    explain.add_argument("--row", type=int, default=0, metavar="N", help="which row to explain, from 0 [%(default)s]")
    explain.add_argument("--target", metavar="COLUMN", help="a column of the data that is not a feature")
    explain.add_argument("--categorical", nargs="+", default=[], metavar="COLUMN", help="columns without an order")
    explain.add_argument("--delta", type=float, help="regression: outputs this close count as similar")
    explain.add_argument("--weights", choices=["ratio", "count", "unit"], default="ratio", help="[%(default)s]")
    explain.add_argument("--max-size", type=int, metavar="K", help="only CXps of at most K features")
    explain.add_argument("--pictures", type=Path, metavar="FOLDER", help="write the pictures there")
    explain.add_argument(
        "--allow-pickle", action="store_true", help="load a pickled model; a pickle runs any code its maker put in"
    )
    explain.set_defaults(run=_explain)


def _explain(options: argparse.Namespace) -> None:
    data = _read_csv(options.data)
    if options.target is not None:
        if options.target not in data.columns:
            raise AxfiError(f"{options.data} has no column {options.target!r}; --target must name one of its columns.")
        data = data.drop(columns=options.target)
    if not 0 <= options.row < len(data):
        raise AxfiError(f"{options.data} has rows 0 to {len(data) - 1}, but row {options.row} was asked for.")
    domain = Domain.from_data(data, categorical=options.categorical)
    model = _load_model(options.model, domain, allow_pickle=options.allow_pickle)
    explainer = Explainer(model, domain, delta=options.delta, weights=options.weights, max_size=options.max_size)
    explanation = explainer.explain(data.iloc[[options.row]])
    print(report(explanation))
    if options.pictures is not None:
        _write_pictures(explanation, options.pictures)


def _read_csv(path: Path) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError.of("pandas", "frames", "Reading a CSV file") from error
    try:
        return pd.read_csv(path)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise AxfiError(
            f"{path} cannot be read as CSV ({error}); give a comma-separated table with a header."
        ) from error


def _load_model(path: Path, domain: Domain, *, allow_pickle: bool) -> Any:
    if not path.is_file():
        raise AxfiError(f"There is no model file {path}; give the path of a saved model.")
    if path.suffix in (".json", ".ubj"):
        return read_xgboost(path, domain)
    if path.suffix == ".skops":
        return _load_skops(path)
    if not allow_pickle:
        raise AxfiError(
            f"{path} is no XGBoost or skops file, and a pickle can run any code when it is loaded; "
            "save the model with skops, or add --allow-pickle if you trust the file's maker."
        )
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle may raise anything at all
        raise AxfiError(f"{path} cannot be loaded as a pickled model ({error}); check the file.") from error


def _load_skops(path: Path) -> Any:
    try:
        from skops.io import get_untrusted_types, load
        from skops.io.exceptions import UntrustedTypesFoundException
    except ImportError as error:
        raise MissingExtraError.of("skops", "sklearn", "Reading a .skops file") from error
    try:
        found = get_untrusted_types(file=path)
        return load(path, trusted=[t for t in found if t in _TRUSTED])
    except UntrustedTypesFoundException as error:
        types = ", ".join(t for t in found if t not in _TRUSTED)
        raise AxfiError(f"{path} holds types that skops does not trust ({types}); save a plain model.") from error
    except (OSError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise AxfiError(
            f"{path} cannot be read as a skops file ({error}); save the model with skops.io.dump."
        ) from error


def report(explanation: Explanation, *, limit: int = 12) -> str:
    """Return the tables of an explanation as text."""
    lines = [f"prediction: {_plain(explanation.prediction)}", ""]
    shapley, banzhaf = explanation.scores("shapley"), explanation.scores("banzhaf")
    values, relevant = explanation.instance, explanation.relevant
    ranked = sorted(relevant, key=lambda name: (-shapley[name], name))
    rows = [(n, _plain(values[n]), f"{float(shapley[n]):.6f}", f"{float(banzhaf[n]):.6f}") for n in ranked]
    lines += _table(("feature", "value", "shapley", "banzhaf"), rows, limit)
    lines += [f"The other {len(values) - len(relevant)} features are irrelevant: they score 0."]
    cxps = [(f"{float(c.weight):.6f}", _short(str(c.weight), 24), ", ".join(c.features)) for c in explanation.cxps]
    header = (explanation.weights, "exactly", "CXp: change these, and the output can change")
    lines += ["", *_table(header, cxps, limit)]
    if explanation.max_size is None:
        axps = [(", ".join(a.features),) for a in explanation.axps]
        lines += ["", *_table(("AXp: keep these, and the output stays",), axps, limit)]
    return "\n".join(lines)


def _short(cell: str, length: int) -> str:
    return cell if len(cell) <= length else cell[: length - 3] + "..."


def _plain(value: Any) -> str:
    return f"{float(value):.6g}" if not isinstance(value, str | bool | int) else str(value)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], limit: int) -> list[str]:
    shown = [tuple(_short(cell, 110) for cell in row) for row in rows[:limit]]
    widths = [max(len(row[k]) for row in (header, *shown)) for k in range(len(header))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in (header, *shown)]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return lines + ([f"... and {len(rows) - limit} more"] if len(rows) > limit else [])


def _write_pictures(explanation: Explanation, folder: Path) -> None:
    from axfi_kc.plots import plot_forest, plot_scores

    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plots", "Drawing") from error
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {kind: plot_scores(explanation, kind) for kind in ("shapley", "banzhaf")}
    if explanation.cxps:
        pictures["forest"] = plot_forest(explanation.forest.expanded())
    for name, axes in pictures.items():
        path = folder / f"{name}.png"
        axes.figure.savefig(path, dpi=150)  # type: ignore[union-attr]
        print(f"wrote {path}")
    explanation.forest.to_graphml(folder / "forest.graphml")
    explanation.forest.to_dot(folder / "forest.dot")
    print(f"wrote {folder / 'forest.graphml'} and {folder / 'forest.dot'}")


def _demo(options: argparse.Namespace) -> None:
    try:
        from sklearn.datasets import load_breast_cancer
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise MissingExtraError.of("scikit-learn", "all", "The demo") from error
    data = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target_names[data.target])
    explanation = Explainer(model, Domain.from_data(data.data)).explain(data.data.iloc[[_DEMO_ROW]])
    print(
        f"A decision tree with {model.get_n_leaves()} leaves on scikit-learn's breast cancer data "
        "(569 tumours, 30 measurements).\n"
        f"Why does it call tumour {_DEMO_ROW} {explanation.prediction}? Every number below is exact.\n"
    )
    print(report(explanation))
    heaviest = max(explanation.cxps, key=lambda c: c.weight)
    print(
        f"\nThe heaviest CXp: over the whole range of {', '.join(heaviest.features)}, all else as it is, "
        f"the diagnosis flips with probability {float(heaviest.weight):.4f}.\n"
    )
    _write_pictures(explanation, options.out)


if __name__ == "__main__":
    sys.exit(main())
