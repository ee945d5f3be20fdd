"""Execute the notebooks of the documentation: scripts in ``docs/notebooks`` become notebooks with their outputs.

Run ``python docs/make_notebooks.py``; with ``--check`` nothing is written, and the exit status says whether every
notebook still runs and prints what it printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent / "notebooks"
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
_TIMES = re.compile(r"\d+(\.\d+)?\s*(s|ms|it/s|row/s|rows/s)\b")


def main() -> None:
    """Execute every notebook, and write it or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; say whether all is as it was")
    options = parser.parse_args()
    changed = []
    for script in sorted(NOTEBOOKS.glob("*.py")):
        made, file = executed(script), script.with_suffix(".ipynb")
        if not options.check:
            nbformat.write(made, file)
        elif texts_of(made) != texts_of(nbformat.read(file, as_version=4)):
            changed.append(file.name)
        print(file)
    if changed:
        sys.exit(f"{', '.join(changed)} would print something else; run python docs/make_notebooks.py.")


def executed(script: Path) -> Any:
    """Return the notebook of a script, executed."""
    notebook = unexecuted(script)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when each cell ran
    return notebook


def unexecuted(script: Path) -> Any:
    """Return the notebook of a script, with cells numbered in order."""
    notebook = jupytext.read(script, fmt="py:percent")
    notebook.metadata = nbformat.from_dict({"kernelspec": _KERNEL, "language_info": {"name": "python"}})
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = nbformat.from_dict({})
    return notebook


def texts_of(notebook: Any) -> list[tuple[str, list[str]]]:
    """Return the source of each cell and what it printed, without pictures and times."""
    return [(cell.source, [_TIMES.sub("", text) for text in _printed(cell)]) for cell in notebook.cells]


def _printed(cell: Any) -> list[str]:
    """Return what people read of a cell's outputs; progress is shown and taken away, and is none of it."""
    outputs = (o for o in cell.get("outputs", []) if o.get("name") != "stderr")
    found = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return [text for text in found if "<Figure" not in text and "0x" not in text]


if __name__ == "__main__":
    main()
