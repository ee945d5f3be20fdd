"""What a benchmark's numbers were made with, and where they are kept."""

from __future__ import annotations

import json
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def stamp(packages: tuple[str, ...], **settings: Any) -> dict[str, Any]:
    """Return commit, machine, versions and settings."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain")),
        "python": platform.python_version(),
        "processor": platform.machine(),
        "versions": {p: _version(p) for p in packages},
        "settings": settings,
    }


def save(name: str, result: dict[str, Any]) -> Path:
    """Write a result as JSON and return where."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    return path.relative_to(ROOT)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
