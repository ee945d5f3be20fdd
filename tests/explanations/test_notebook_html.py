"""What notebooks show: escaped, closed, and loading nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import axfi_kc as ax
from tests.support.paper_example import paper


class Structure(HTMLParser):
    """Collects texts, and insists that tags are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.texts.append(data)


def test_html_is_escaped_and_self_contained() -> None:
    name = "<script>alert('x')</script>&"
    domain = ax.Domain([ax.Categorical(name, ["<b>", "c"]), *(ax.Integer(f"f{k}", 0, 1) for k in range(3))])
    found = ax.Explainer(lambda p: "<i>yes</i>" if p[0] == "<b>" and p[1] else "no", domain)
    html = found.explain(("<b>", 1, 0, 0))._repr_html_()
    read = Structure(html)
    assert read.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "span", "details", "summary"}
    assert {name, "<b>", "Why <i>yes</i>?", "2 features with score 0"} <= set(read.texts)
    assert not re.search(r"https?:|src=|url\(", html)
    together = Structure(found.explain_batch(list(domain.points()))._repr_html_())
    assert "16 explanations, 20 CXps" in together.texts
    assert (
        Structure(ax.Explanation.from_json(paper().to_json())._repr_html_()).texts
        == Structure(paper()._repr_html_()).texts
    )


def test_axps_and_exact_numbers_are_there() -> None:
    e = paper()
    texts = Structure(e._repr_html_()).texts
    assert {"AXp: keep these, and the output stays", "3 AXps", "exact numbers"} <= set(texts)
    assert {"x1, x2", "x1, x3", "x2, x3"} <= set(texts)
    assert f"score of x1 = {e.scores('shapley')['x1']}" in texts
    assert f"weight of x1, x3 = {e.cxps[1].weight}" in texts


def test_axps_are_left_out_up_to_a_radius() -> None:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    e = ax.Explainer(lambda p: sum(p) > 1, domain, max_size=1).explain((1, 1, 0))
    assert not any("AXp" in text for text in Structure(e._repr_html_()).texts)


def test_numbers_too_long_to_read_are_not_written_out() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 1, weights=[1, 7**3000]), ax.Integer("b", 0, 1)])
    html = ax.Explainer(lambda p: p[0], domain).explain((1, 0))._repr_html_()
    assert "a fraction of" in html
    assert len(html) < 10_000
