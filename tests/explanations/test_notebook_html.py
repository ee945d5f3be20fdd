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
    assert read.tags == {"div", "table", "thead", "tbody", "tr", "th", "td", "span"}
    assert {name, "<b>", "Why <i>yes</i>?", "2 features with score 0"} <= set(read.texts)
    assert not re.search(r"https?:|src=|url\(", html)
    together = Structure(found.explain_batch(list(domain.points()))._repr_html_())
    assert "16 explanations, 20 CXps" in together.texts
    assert (
        Structure(ax.Explanation.from_json(paper().to_json())._repr_html_()).texts
        == Structure(paper()._repr_html_()).texts
    )
