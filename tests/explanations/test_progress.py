"""What is shown of a search that takes long, and to whom."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.budget import Account, Meter, Progress, listening
from axfi_kc.explanations import progress as shown
from axfi_kc.explanations.progress import is_shown, progress_words, showing_progress


def test_words_say_what_is_known() -> None:
    assert (
        progress_words(Progress(5, radius=1, cxps=1)) == "explaining, all CXps of 1 feature at most known, 1 CXp found"
    )
    assert progress_words(Progress(5, waiting=12_345)) == "explaining, 12,345 open"


def test_terminals_and_notebooks_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: False))
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert (is_shown(None), is_shown(True), is_shown(False)) == (False, True, False)
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert is_shown(None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(config={})))
    assert not is_shown(None)  # IPython on a terminal that is no terminal
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    assert is_shown(None)


def test_a_line_comes_after_a_second_and_advice_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(shown, "perf_counter", lambda: now[0])
    monkeypatch.setattr(shown, "is_shown", lambda progress: True)
    with showing_progress():
        meter = Meter()
        meter.report(radius=2)
        assert capsys.readouterr().err == ""
        now[0] = 1.5
        meter.report(cxps=7)
        assert "all CXps of 2 features at most known, 7 CXps found" in capsys.readouterr().err
        now[0] = 11.0
        meter.report(waiting=3)
        shown_line = meter._watch.listener
        assert "Budget(seconds=...)" in shown_line._bar.postfix


def test_accounts_tell_as_well() -> None:
    heard: list[Progress] = []
    with listening(heard.append):
        account = Account(None, goal="test")
        assert not account.is_free
        list(account.paced(range(40)))
    told = len(heard)
    assert 2 < told < 40
    Account(None, goal="test").look()
    assert len(heard) == told


class _OnlyText:
    """Stands in for a stream, as in programs that keep what is written: it has no `isatty`, nor anything else."""

    def write(self, text: str) -> int:
        return len(text)


def _closed() -> io.StringIO:
    (stream := io.StringIO()).close()
    return stream


@pytest.mark.parametrize("make", [lambda: None, _closed, _OnlyText], ids=["none", "closed", "only text"])
@pytest.mark.parametrize("progress", [None, True, False])
def test_nobody_needs_a_standard_error_stream(
    make: Callable[[], Any], progress: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services and windows have none."""
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    explainer = ax.Explainer(ax.TableModel.from_outputs(domain, [int(sum(p) > 3) for p in domain.points()]), domain)
    expected = explainer.explain((1, 1)).cxps
    monkeypatch.setattr(sys, "stderr", make())
    monkeypatch.setattr(shown, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stdout", None)
    assert explainer.explain((1, 1), progress=progress).cxps == expected
    assert explainer.explain_batch([(1, 1)] * 3, progress=progress)[2].cxps == expected
    found = explainer.explain_to(tmp_path / "out.jsonl", [(1, 1)] * 3, progress=progress)
    assert next(iter(found)).cxps == expected


def test_sizes_are_compared_without_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1)])
    settings: dict[str, Any] = {"targets": ["mdd"], "orders": ["given"], "progress": True}
    monkeypatch.setattr(sys, "stderr", None)
    assert len(ax.compare_sizes(sum, domain, output=1, **settings)) == 1
    assert len(ax.size_study({"sum": (sum, domain)}, outputs={"sum": 1}, **settings).frame) == 1
