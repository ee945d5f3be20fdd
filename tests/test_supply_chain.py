"""What is installed for CI is fixed by hashes, and nothing that runs opens a connection."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / ".ci" / "lock.txt"

# An audit hook sees every connection, whoever opens it; it cannot be removed, and what it raises ends the call.
NO_NETWORK = """
import sys

SEEN = []

def refuse(event, arguments):
    names = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
    if event in (*names, "urllib.Request", "http.client.connect"):
        SEEN.append((event, str(arguments[:2])))
        raise ConnectionRefusedError(f"no network here: {event} {arguments[:2]}")
    if event in ("socket.connect", "socket.sendto", "socket.bind") and isinstance(arguments[-1], tuple):
        SEEN.append((event, str(arguments[-1])))
        raise ConnectionRefusedError(f"no network here: {event} {arguments[-1]}")

sys.addaudithook(refuse)
"""

USED = """
import tempfile
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

import axfi_kc as ax
from axfi_kc.cli.main import main
from axfi_kc.explanations.page import write_report

rng = np.random.default_rng(0)
X = rng.integers(0, 4, (60, 3)).astype(float)
model = GradientBoostingClassifier(n_estimators=3, learning_rate=0.9, max_depth=2).fit(X, X[:, 0] + X[:, 1] > 3)
domain = ax.Domain.from_data(X, integer=range(3))
joint = domain.with_distribution(ax.ChowLiu.fit(X, domain)).where(ax.feature("x0") <= 3)
for target in ("auto", "mdd", "obdd", "sdd", "ddnnf"):
    e = ax.Explainer(model, joint, target=target, within=ax.Region(frozen=["x2"])).explain(X[0])
assert ax.verify(e, model).ok
e.scores("wffa"), e.axps, e.to_html()
batch = ax.Explainer(model, domain).explain_batch(X[:4], progress=False)
with tempfile.TemporaryDirectory() as folder:
    write_report(batch, Path(folder) / "page.html")
    page = (Path(folder) / "page.html").read_text(encoding="utf-8")
    ax.Explainer(model, domain).explain_to(Path(folder) / "rows.jsonl", X[:4], progress=False)
    assert len(list(ax.read_results(Path(folder) / "rows.jsonl"))) == 4
    assert main(["demo", "--out", str(Path(folder) / "demo")]) in (0, None)
for tag in ('src="http', 'href="http', "src='http", "@import", "url(http"):
    assert tag not in page.replace("http://www.w3.org", ""), tag
assert SEEN == [], SEEN
print("nothing was opened")
"""


def _run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)


def test_the_hook_sees_connections() -> None:
    done = _run(NO_NETWORK + "import socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)")
    assert "no network here" in done.stderr
    assert done.returncode != 0


def test_nothing_opens_a_connection() -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    done = _run(NO_NETWORK + USED)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "nothing was opened" in done.stdout


def _locked() -> dict[str, list[tuple[Version, str]]]:
    found: dict[str, list[tuple[Version, str]]] = {}
    text = re.sub(r"\\\n\s*", "", LOCK.read_text(encoding="utf-8"))
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, version = re.match(r"([\w.-]+)==([\w.+!-]+)", line).groups()
            found.setdefault(canonicalize_name(name), []).append((Version(version), line))
    return found


def test_the_lock_names_files_by_hashes_and_no_place() -> None:
    locked = _locked()
    assert len(locked) > 50
    assert all("--hash=sha256:" in line for rows in locked.values() for _, line in rows)
    text = LOCK.read_text(encoding="utf-8")
    assert "://" not in text
    assert "index-url" not in text
    assert "find-links" not in text


def test_the_lock_is_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, asked = project["optional-dependencies"], list(project["dependencies"])
    waiting, seen = ["dev"], set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for text in extras[extra]:
            wanted = Requirement(text)
            if wanted.name == "axfi-kc":
                waiting += wanted.extras
            else:
                asked.append(text)
    locked = _locked()
    for text in asked:
        wanted = Requirement(text)
        versions = [v for v, _ in locked.get(canonicalize_name(wanted.name), [])]
        assert versions, f"{wanted.name} is not in the lock; run .ci/lock"
        assert all(wanted.specifier.contains(v, prereleases=True) for v in versions), f"{text}: run .ci/lock"
