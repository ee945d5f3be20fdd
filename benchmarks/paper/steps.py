"""Results that outlive an interrupted run: each step writes a file, and is not done again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from axfi_kc._version import __version__

__all__ = ["Steps", "stamp"]


_PACKAGES = (
    "numpy", "numba", "pandas", "scikit-learn", "xgboost-cpu", "xgboost", "Orange3", "shap", "dtai-veritas",
    "python-sat", "dd", "PySDD", "matplotlib",
)  # fmt: skip


def stamp(**more: Any) -> dict[str, Any]:
    """Return what numbers were made with: versions, machine, and whatever else is given."""
    versions = {"axfi-kc": __version__, **{p: v for p in _PACKAGES if (v := _version(p)) is not None}}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return {"python": platform.python_version(), "machine": machine, "versions": versions, **more}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True, slots=True)
class Steps:
    """A folder of finished steps.

    Attributes
    ----------
    folder
        Where the files are.
    settings
        What the results depend on; a file made with others is made again.
    stamp
        What is written along: see :func:`stamp`.
    """

    folder: Path
    settings: Mapping[str, Any]
    stamp: Mapping[str, Any]

    def path(self, name: str) -> Path:
        """Return where the result of a step is, or will be."""
        return self.folder / f"{name}.json"

    def is_done(self, name: str) -> bool:
        """Tell whether a step was finished with the same settings."""
        return self._found(name) is not None

    def result(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the result of a step, from its file if there is one, else computed and written."""
        found = self._found(name)
        if found is not None:
            return found["result"]
        result = json.loads(json.dumps(compute()))  # what a later run will read
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(name, {"settings": self.settings, "stamp": self.stamp, "made": now, "result": result})
        return result

    def _found(self, name: str) -> Any:
        try:
            found = json.loads(self.path(name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and found.get("settings") == self.settings else None

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a whole file or none: an interrupted run must not leave half of one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.path(name).with_suffix(".partial")
        partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.path(name))
