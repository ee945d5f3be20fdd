"""The pages as they are built: examples and notebooks that ran, links that lead somewhere, a search that finds things.

What needs the built site is skipped where ``make docs`` has not made it; ``make test`` makes it first.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
SITE = DOCS / "_build" / "html"
EXAMPLES = sorted((DOCS / "examples").rglob("*.py"))
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.py"))
built = pytest.mark.skipif(not (SITE / "searchindex.js").is_file(), reason="make docs has not built the site")


def test_there_are_examples_of_everything() -> None:
    assert len(EXAMPLES) >= 16
    names = {path.stem for path in EXAMPLES}
    assert {
        "missing_values", "constraints", "distributions", "regions", "interactions", "forest_radius", "linear",
        "karate_cnf", "dd_exchange", "pysdd_exchange", "bayesian_network", "batches", "verify",
        "fairness", "paper_example", "sizes",
    } <= names  # fmt: skip


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_have_a_title_and_words(path: Path) -> None:
    tree = ast.parse(path.read_text())
    title, rule, blank, *words = (ast.get_docstring(tree) or "").split("\n")
    assert len(title) == len(rule) > 5
    assert set(rule) == {"="}
    assert blank == ""
    assert len(" ".join(words)) > 80
    assert path.read_text().count("\n# %%\n") >= 3


@built
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_ran_and_show_what_they_gave(path: Path) -> None:
    page = (SITE / "gallery" / path.relative_to(DOCS / "examples").with_suffix(".html")).read_text()
    assert "sphx-glr-script-out" in page
    assert "sphx-glr-single-img" in page or "sphx-glr-multi-img" in page


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_ran_as_they_are_written(path: Path) -> None:
    cells = json.loads(path.with_suffix(".ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    written = [part.strip() for part in re.split(r"^# %%.*\n", path.read_text(), flags=re.M)]
    assert [c.strip() for c in code] == [part for part in written if part and not part.startswith("#")]
    ran = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in ran] == list(range(1, len(ran) + 1))
    outputs = [output for cell in ran for output in cell["outputs"]]
    assert not any(output["output_type"] == "error" for output in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    html = "".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    assert "AXp: keep these, and the output stays" in html
    assert "exact numbers" in html


@pytest.mark.slow
def test_notebooks_still_print_what_they_printed() -> None:
    pytest.importorskip("nbclient")
    spec = importlib.util.spec_from_file_location("make_notebooks", DOCS / "make_notebooks.py")
    made: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for script in NOTEBOOKS:
        before = made.nbformat.read(script.with_suffix(".ipynb"), as_version=4)
        assert made.texts_of(made.executed(script)) == made.texts_of(before), script.name


def index() -> Any:
    """Return what the site's search knows."""
    text = (SITE / "searchindex.js").read_text()
    return json.loads(text[text.index("(") + 1 : text.rindex(")")])


def pages_with(found: Any, *stems: str) -> set[str]:
    """Return the pages that have all of the stems, in their text or titles."""
    both = [found["terms"].get(stem, []) for stem in stems], [found["titleterms"].get(stem, []) for stem in stems]
    sets = [{*listed(a), *listed(b)} for a, b in zip(*both, strict=True)]
    return {found["docnames"][k] for k in set.intersection(*sets)}


def listed(pages: Any) -> list[int]:
    return pages if isinstance(pages, list) else [pages]


@built
def test_search_finds_missing_values() -> None:
    found = index()
    assert {"tutorials/missing", "gallery/explain/missing_values"} <= pages_with(found, "miss", "valu")
    titles = {title.lower() for title in found["alltitles"]}
    assert {"missing values", "choosing a domain, a distribution and a score"} <= titles


@built
def test_search_finds_names_of_the_library() -> None:
    names = {name for entries in index()["objects"].values() for entry in entries for name in entry[4:]}
    text = json.dumps(index()["objects"])
    assert names or all(name in text for name in ("Explainer", "compile_model", "shapley_like"))


class Links(HTMLParser):
    """Collects where a page leads to, and what can be led to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.places.update(given[key] for key in ("id", "name") if given.get(key))
        self.links.update(given[key] for key in ("href", "src") if given.get(key))


@cache
def read(path: Path) -> Links:
    return Links(path.read_text())


@built
def test_no_link_is_broken() -> None:
    broken = []
    for page in sorted(SITE.rglob("*.html")):
        if "_static" in page.parts:
            continue
        for link in read(page).links:
            path, _, place = link.partition("#")
            path = unquote(path.partition("?")[0])
            if re.match(r"[a-z]+:", link) or link.startswith("//"):
                continue
            target = (page.parent / path).resolve() if path else page
            good = target.is_file() and (not place or target.suffix != ".html" or unquote(place) in read(target).places)
            if not good:
                broken.append(f"{page.relative_to(SITE)}: {link}")
    assert broken == []


@built
def test_signatures_link_to_what_they_name() -> None:
    page = (SITE / "api.html").read_text()
    signature = page[page.index('id="axfi_kc.Explainer.explain_batch"') :][:6000]
    assert 'href="#axfi_kc.Batch"' in signature
