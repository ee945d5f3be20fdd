"""What the page to explore says after each move is what Python answers to the same question, exactly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import axfi_kc as ax
from axfi_kc.explanations.page.elements import percent, readable
from axfi_kc.explanations.radius import replace_radius
from axfi_kc.families.masks import minimal_hitting_sets
from tests.browser.pages import counted, flowers, tumours, write
from tests.support.chromium import Tab

# What the page shows: read from its tables, not from the numbers behind them.
SHOWN = """(() => {
  const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].filter((row) => row.checkVisibility());
  const names = (cell) => [...cell.querySelectorAll('bdi')].map((bdi) => bdi.textContent);
  const exact = (cell) => cell.querySelector('code').textContent;
  const short = (cell) => (cell.querySelector('summary') || cell.querySelector('code')).textContent;
  const scored = (r) => [...names(r.cells[0]), exact(r.cells[3]), short(r.cells[3]), r.cells[2].textContent];
  return {
    scores: rows('scored').map(scored),
    cxps: rows('cxps').map((r) => [names(r.cells[0]), exact(r.cells[2]), short(r.cells[2])]),
    axps: rows('axps').map((r) => names(r.cells[0])),
    answer: document.getElementById('answer').textContent,
  };
})()"""


def ask(tab: Tab, **asked: Any) -> dict[str, Any]:
    """Move the page's own controls as a hand would, and return what it then shows."""
    for identity, value in asked.items():
        event = "input" if identity in ("size", "distance") else "change"
        tab.run(
            f"(() => {{ const e = document.getElementById('{identity}'); e.value = {value};"
            f" e.dispatchEvent(new Event('{event}')); }})()"
        )
    return tab.run(SHOWN)


def freeze(tab: Tab, features: tuple[int, ...]) -> None:
    tab.run(
        f"(() => {{ const wanted = new Set({json.dumps(features)}); for (const box of"
        " document.querySelectorAll('#features input')) { if (box.checked !== wanted.has(Number(box.value)))"
        " { box.click(); } } })()"
    )


def check(found: dict[str, Any], e: ax.Explanation, kind: str) -> None:
    """Compare what a page shows with an explanation of the same question."""
    scores, shares = e.scores(kind), e.shares(kind)
    assert {name: Fraction(exact) for name, exact, _, _ in found["scores"]} == {n: scores[n] for n in e.relevant}
    for name, _, short, share in found["scores"]:
        assert (short.replace(",", ""), share) == (readable(scores[name]).replace(",", ""), percent(shares[name]))
    assert [Fraction(s[1]) for s in found["scores"]] == sorted((scores[n] for n in e.relevant), reverse=True)
    assert sorted((names, Fraction(w)) for names, w, _ in found["cxps"]) == sorted(
        (list(c.features), Fraction(c.weight)) for c in e.cxps
    )
    axps = minimal_hitting_sets([e.domain.mask(c.features) for c in e.cxps]) if e.cxps else []
    assert sorted(found["axps"]) == sorted(list(e.domain.names_of(mask)) for mask in axps)
    assert ("no CXp" in found["answer"]) is not bool(e.cxps)


def like(explainer: ax.Explainer, **changes: Any) -> ax.Explainer:
    """Return an explainer that asks another question of the same model."""
    given = {name: getattr(explainer, name) for name in ("weights", "class_names", "toward", "max_size", "within")}
    return ax.Explainer(explainer.model, explainer.domain, **given | changes)


def freezes(e: ax.Explanation, most: int) -> Iterator[tuple[int, ...]]:
    members = [e.domain.names.index(n) for n in e.relevant]
    yield ()
    for size in (1, 2, len(members)):
        yield from list(combinations(members, size))[:most]


@pytest.mark.parametrize(("width", "source"), [(1280, "tumours"), (390, "flowers"), (1280, "counted")])
def test_every_size_and_several_freezes(browser: Tab, tmp_path: Path, width: int, source: str) -> None:
    made: dict[str, Any] = {"tumours": tumours, "flowers": flowers, "counted": counted}
    explainer, batch = made[source]()[:2]
    browser.open(write(tmp_path, "explore", ax.explore_html(batch)), width=width)
    for k in range(min(2, len(batch))):
        e, instance = batch[k], batch[k].instance
        ask(browser, row=k)
        for n, frozen in enumerate(freezes(e, 2)):
            freeze(browser, frozen)
            region = ax.Region(frozen=[e.domain.names[i] for i in frozen])
            for size in range(1, max(e.cxp_sizes) + 1):
                kind = ("shapley", "banzhaf")[(size + n) % 2]
                truth = like(explainer, within=region, max_size=size).explain(instance)
                check(ask(browser, size=size, kind=("shapley", "banzhaf").index(kind)), truth, kind)
        browser.click("#thaw")
        whole = ask(browser, size=max(e.cxp_sizes), kind=0)
        check(whole, e, "shapley")
        assert sorted(whole["axps"]) == sorted(list(a.features) for a in e.axps)
    assert browser.problems == []


def test_every_distance(browser: Tab, tmp_path: Path) -> None:
    explainer, batch, paths = flowers()
    browser.open(write(tmp_path, "explore", ax.explore_html(batch, paths=paths)))
    path, e = paths[0], batch[0]
    assert path is not None
    assert len(path) > 2
    for place, step in enumerate(path):
        found = ask(browser, distance=place)
        check(found, step.explanation, "shapley")
        members = [e.domain.names.index(n) for n in step.explanation.relevant][:1]
        freeze(browser, tuple(members))
        region = replace_radius(ax.Region(frozen=[e.domain.names[i] for i in members], unit="range"), step.at)
        check(browser.run(SHOWN), like(explainer, within=region).explain(e.instance), "shapley")
        browser.click("#thaw")
    check(ask(browser, distance=len(path)), e, "shapley")
    ask(browser, row=1)  # which has no path
    assert browser.run("document.getElementById('distances').checkVisibility()") is False


def test_hands_and_keys(browser: Tab, tmp_path: Path) -> None:
    explainer, batch = tumours()
    browser.open(write(tmp_path, "explore", ax.explore_html(batch)), width=390)
    e = batch[0]
    before = browser.run(SHOWN)
    browser.click("#features input", 0)
    name = browser.run("document.querySelector('#features bdi').textContent")
    check(browser.run(SHOWN), like(explainer, within=ax.Region(frozen=[name])).explain(e.instance), "shapley")
    browser.press(" ", 32, " ")
    assert browser.run(SHOWN)["cxps"] == before["cxps"]
    browser.run("document.getElementById('size').focus()")
    browser.press("ArrowLeft", 37)
    largest = max(e.cxp_sizes)
    check(browser.run(SHOWN), like(explainer, max_size=largest - 1).explain(e.instance), "shapley")
    assert browser.run("document.getElementById('size').ariaValueText").startswith("at most")
    browser.click("#cxps thead button", 0)
    shown = [names for names, *_ in browser.run(SHOWN)["cxps"]]
    assert [", ".join(names) for names in shown] == sorted(", ".join(names) for names in shown)
    assert browser.problems == []


def test_what_does_not_fit_is_left_out_by_size(browser: Tab, tmp_path: Path) -> None:
    explainer, batch = tumours()
    e = max(batch, key=lambda e: e.cxp_count)
    short = ax.explore_html(e, max_bytes=700)
    browser.open(write(tmp_path, "explore", short))
    reach = int(browser.run("document.getElementById('size').max"))
    assert reach < max(e.cxp_sizes)
    found = browser.run(SHOWN)
    check(found, like(explainer, max_size=reach).explain(e.instance), "shapley")
    kept = len(found["cxps"])
    words = f"This row has {e.cxp_count} CXps, too many for this page: it holds the {kept} of at most {reach} feature"
    assert browser.run("document.getElementById('row-note').textContent").startswith(words)
    assert f"at most {reach} feature" in found["answer"]


def test_what_does_not_fit_at_all_is_not_said_to_be_absent(browser: Tab, tmp_path: Path) -> None:
    e = tumours()[1][2]
    assert 1 in e.cxp_sizes
    browser.open(write(tmp_path, "explore", ax.explore_html(e, max_bytes=1)))
    found = browser.run(SHOWN)
    assert found["answer"].endswith("The CXps of this row are not on this page.")
    assert found["scores"] == found["cxps"] == found["axps"] == []
    assert browser.problems == []


def test_saved_results_and_limits(browser: Tab, tmp_path: Path) -> None:
    explainer, _ = tumours()
    e = tumours()[1][1]
    limited = like(explainer, max_size=2).explain(e.instance)
    for given in (ax.Explanation.from_json(limited.to_json()), limited):
        browser.open(write(tmp_path, "explore", ax.explore_html(given)))
        found = browser.run(SHOWN)
        check(found, limited, "shapley")
        assert "at most 2 features" in found["answer"]
    assert browser.problems == []


def test_long_tables_say_how_much_they_leave_out(browser: Tab, tmp_path: Path) -> None:
    domain = ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(13)])
    e = ax.Explainer(lambda p: sum(p) > 6, domain).explain([1] * 13)
    browser.open(write(tmp_path, "explore", ax.explore_html(e)))
    assert len(browser.run(SHOWN)["cxps"]) == 500
    assert browser.run("document.getElementById('cxps-more').textContent") == f"{e.cxp_count - 500:,} more, not listed."
    found = browser.run(SHOWN)["scores"]
    assert {name: Fraction(exact) for name, exact, *_ in found} == e.scores("shapley")


def test_numbers_of_thousands_of_digits(browser: Tab, tmp_path: Path) -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1, weights=[3, 10**5000]), ax.Integer("b", 0, 2)])
    e = ax.Explainer(lambda p: p[0] == 1 and p[1] > 0, domain).explain((1, 2))
    browser.open(write(tmp_path, "explore", ax.explore_html(e)))
    found = browser.run("[...document.querySelectorAll('#cxps tbody summary')].map((s) => s.textContent)")
    assert found == [readable(c.weight) for c in sorted(e.cxps, key=lambda c: -c.weight)]
    assert browser.problems == []
