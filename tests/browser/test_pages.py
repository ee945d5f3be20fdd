"""Reports and pages to explore in a browser: they look right at any width, load nothing, and run nothing but ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import axfi_kc as ax
from axfi_kc.explanations.page.elements import allowed
from tests.browser.pages import HOSTILE, LONG, attacked, counted, flowers, tumours, write
from tests.support.chromium import Tab

WIDTHS = (1280, 390)
PAGES: dict[str, Callable[[], str]] = {
    "one": lambda: ax.report_html(tumours()[1][2], interactions=["shapley"], inflate=True, min_precision=0.9),
    "batch": lambda: ax.report_html(tumours()[1], max_details=2),
    "explore": lambda: ax.explore_html(flowers()[1], paths=flowers()[2]),
    "counted": lambda: ax.explore_html(counted()[1]),
    "long": lambda: ax.report_html(attacked(LONG)),
    "long explore": lambda: ax.explore_html(attacked(LONG)),
}
STRANGE = "a:not([href^='#']), img, iframe, object, form, base, link, textarea, [onload], [onerror], [onfocus]"
# What is drawn and not inside something that is folded; bars and strips have no words.
VISIBLE = """[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('.skip, svg'))"""
CONTRAST = """(() => {
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const found = numbers(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] > 0) { return found.slice(0, 3); }
    }
  };
  const low = [];
  for (const e of [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && e.innerText)) {
    const style = getComputedStyle(e);
    const pair = [light(numbers(style.color).slice(0, 3)), light(behind(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) { low.push([e.tagName, e.className, style.color, ratio]); }
  }
  return low;
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder, made = tmp_path_factory.mktemp("pages"), dict[str, Path]()

    def page(name: str) -> Path:
        if name not in made:
            made[name] = write(folder, name, PAGES[name]())
        return made[name]

    return page


def check_quiet(tab: Tab, page: Path) -> None:
    assert tab.problems == []
    assert tab.requests == [page.as_uri()]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_hidden_cut_or_faint(browser: Tab, pages, name: str, width: int, dark: bool) -> None:
    page = pages(name)
    browser.open(page, width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    outside = f"{VISIBLE}.filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML)"
    if width == 390:  # nothing has to be scrolled sideways, not even within a table
        assert browser.run(outside) == []
        assert (
            browser.run("[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth).length")
            == 0
        )
    assert browser.run(CONTRAST) == []
    background = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") is not dark
    check_quiet(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_sorting(browser: Tab, pages, width: int) -> None:
    page = pages("one")
    browser.open(page, width=width)
    column = "[...document.querySelector('table').tBodies[0].rows].map((row) => {})"
    names = browser.run(column.format("row.cells[0].textContent"))
    ordered = "[...document.querySelectorAll('table:first-of-type thead th')].slice(0, 5).map((th) => th.ariaSort)"
    assert browser.run(ordered) == ["none", "none", "descending", "none", "none"]
    browser.click("table thead button", 0)
    assert browser.run(column.format("row.cells[0].textContent")) == sorted(names)
    assert browser.run(ordered)[0] == "ascending"
    browser.click("table thead button", 0)
    assert browser.run(column.format("row.cells[0].textContent")) == sorted(names, reverse=True)
    browser.click("table thead button", 3)
    keys = browser.run(column.format("Number(row.cells[3].dataset.key)"))
    assert keys == sorted(keys, reverse=True)
    browser.press("Enter", 13, "\r")  # the keyboard does what the mouse does
    assert browser.run(column.format("Number(row.cells[3].dataset.key)")) == sorted(keys)
    check_quiet(browser, page)


@pytest.mark.parametrize("width", WIDTHS)
def test_exact_numbers_unfold(browser: Tab, pages, width: int) -> None:
    page, scores = pages("one"), tumours()[1][2].scores("shapley")
    browser.open(page, width=width)
    first = "document.querySelector('tbody details.exact')"
    assert browser.run(f"{first}.querySelector('code').checkVisibility()") is False
    browser.click("tbody details.exact summary")
    assert browser.run(f"{first}.querySelector('code').checkVisibility()") is True
    name = browser.run(f"{first}.closest('tr').cells[0].textContent")
    assert browser.run(f"{first}.querySelector('code').textContent") == str(scores[name])
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(f"{first}.querySelector('code').getBoundingClientRect().right") <= width
    check_quiet(browser, page)


def test_words_come_first_on_a_phone(browser: Tab, pages) -> None:
    browser.open(pages("one"), width=390)
    first = browser.run("[...document.querySelectorAll('header p, header dl, table')].map((e) => e.tagName)")
    assert first[0] == "P"
    tops = browser.run(
        "[...document.querySelectorAll('td.words')].map((td) => [...td.parentElement.cells]"
        ".map((cell) => cell.getBoundingClientRect().top))"
    )
    assert tops
    assert all(row == sorted(row) and row[1] == min(row[1:]) for row in tops)


def test_links_unfold_rows(browser: Tab, pages) -> None:
    page = pages("batch")
    browser.open(page)
    assert browser.run("document.getElementById('instance-1').open") is False
    browser.click("a[href='#instance-1']")
    browser.wait_until("document.getElementById('instance-1').open")
    browser.open(page, fragment="#instance-0")
    browser.wait_until("document.getElementById('instance-0').open")


@pytest.mark.parametrize("name", ["one", "explore"])
def test_keyboard(browser: Tab, pages, name: str) -> None:
    browser.open(pages(name))
    browser.press("Tab", 9)
    assert browser.run("document.activeElement.textContent") == "Skip to the content"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0
    reached = []
    for _ in range(12):
        browser.press("Tab", 9)
        reached.append(
            browser.run("document.activeElement.tagName + getComputedStyle(document.activeElement).outlineStyle")
        )
    assert all(found.endswith(("solid", "auto")) for found in reached)
    assert len(set(reached)) > 1


@pytest.mark.parametrize("name", ["one", "batch", "explore"])
def test_screen_readers(browser: Tab, pages, name: str) -> None:
    browser.open(pages(name), width=390)
    read = browser.accessible()
    roles = [role for role, _ in read]
    assert {"banner", "navigation", "main", "contentinfo", "table", "columnheader", "rowheader", "cell"} <= set(roles)
    assert roles.count("main") == 1
    controls = {"button", "link", "slider", "combobox", "checkbox", "region", "table", "heading"}
    assert [role for role, words in read if role in controls and not words.strip()] == []


@pytest.mark.parametrize("name", ["one", "batch", "explore"])
def test_print(browser: Tab, pages, name: str) -> None:
    browser.open(pages(name), width=794, dark=True, media="print")
    assert browser.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.run("document.documentElement.scrollWidth") <= 794
    assert browser.pdf().startswith(b"%PDF-")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_run_nothing(browser: Tab, tmp_path: Path, text: str) -> None:
    e = attacked(text)
    made = {"report": ax.report_html(e, title=text), "explore": ax.explore_html([e, e], title=text)}
    for name, html in made.items():
        page = write(tmp_path, name, html)
        browser.open(page, policy=False)  # so that nothing but escaping stands in the way
        check_quiet(browser, page)
        assert browser.run("document.querySelectorAll('body script').length") == {"report": 1, "explore": 2}[name]
        assert browser.run(f'document.querySelectorAll("{STRANGE}").length') == 0
        assert browser.run("typeof hacked") == "undefined"
        seen = browser.run("document.querySelector('tbody th bdi').textContent")
        assert seen in [allowed(prefix + text) for prefix in ("", "2 ", "3 ")]


def test_the_policy_stops_what_escaping_would_not(browser: Tab, pages, tmp_path: Path) -> None:
    more = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    page = write(tmp_path, "broken", pages("one").read_text(encoding="utf-8").replace("</body>", f"{more}</body>"))
    browser.open(page)
    assert browser.run("typeof hacked") == "undefined"
    assert len(browser.problems) >= 2
    browser.open(page, policy=False)  # and the test would see it
    assert browser.run("hacked") in (1, 2)
