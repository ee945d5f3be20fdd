"""The HTML report: complete, self-contained, well-formed, and safe from hostile names and values."""

from __future__ import annotations

import platform
import re
from base64 import b64decode
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.errors import DomainError, FileWriteError
from axfi_kc.explanations.further import Further
from axfi_kc.explanations.page import report_html, write_report
from axfi_kc.explanations.page.elements import readable

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</td></table><a href='http://evil.example'>",
    "a\x00b",
    "&lt;not escaped twice&gt;",
    "x" * 300,
]
VOID = {"meta", "rect", "path", "line"}


class Page(HTMLParser):
    """Collects what the tests ask about, and checks that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.keys: list[list[list[str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in VOID:
            return
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.keys.append([])
        elif tag == "tr":
            self.tables[-1].append([])
            self.keys[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.keys[-1][-1].append(dict(attrs).get("data-key"))

    def handle_startendtag(self, tag, attrs) -> None:
        assert tag in VOID
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data) -> None:
        if self._open and self._open[-1] in ("script", "style"):
            return
        self.words.append(data)
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


@pytest.fixture(scope="module")
def explainer(cancer) -> ax.Explainer:
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(cancer.data, cancer.target_names[cancer.target])
    return ax.Explainer(model, ax.Domain.from_data(cancer.data))


@pytest.fixture(scope="module")
def hostile() -> ax.Explanation:
    domain = ax.Domain([ax.Categorical(h, ["<b>v</b>", "w & x"]) for h in HOSTILE])
    explainer = ax.Explainer(lambda p: "<i>yes</i>" if p.count("<b>v</b>") > 2 else "no", domain)
    return explainer.explain(dict.fromkeys(HOSTILE, "<b>v</b>"))


def test_one_explanation(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    page = Page(report_html(e))
    scores, cxps, axps, features = page.tables
    shapley = e.scores("shapley")
    ranked = sorted(e.relevant, key=lambda n: -shapley[n])
    assert [row[0] for row in scores[1:]] == ranked
    assert [float(row[3]) for row in page.keys[0][1:]] == [float(shapley[n]) for n in ranked]
    assert all(row[3] == readable(shapley[n]) + str(shapley[n]) for n, row in zip(ranked, scores[1:], strict=True))
    heavy = sorted(e.cxps, key=lambda c: -c.weight)
    assert [tuple(row[0].split(", ")) for row in cxps[1:]] == [c.features for c in heavy]
    assert [float(row[2]) for row in page.keys[1][1:]] == [float(c.weight) for c in heavy]
    assert [tuple(row[0].split(", ")) for row in axps[1:]] == [a.features for a in e.axps]
    assert [row[0] for row in features[1:]] == list(cancer.data.columns)
    text = " ".join(page.words)
    assert "Why malignant?" in text
    assert f"{len(e.relevant)} of 30" in text
    assert sum(tag == "figure" for tag, _ in page.elements) == len(e.cxps)


def test_trees_of_the_forest(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    elements = Page(report_html(e)).elements
    # a feature gives two lines and two boxes (itself and the 1), a tree one more box (the 0)
    members = sum(len(c.features) for c in e.cxps)
    assert sum(tag == "line" for tag, _ in elements) == 2 * members
    boxes = [a for tag, a in elements if tag == "rect" and a.get("rx") is not None]
    assert len(boxes) == 2 * members + len(e.cxps)


def test_a_batch(explainer: ax.Explainer, cancer, tmp_path) -> None:
    rows = cancer.data.iloc[100:112]
    batch = explainer.explain_batch(rows)
    write_report(batch, tmp_path / "batch.html", title="Tumours", max_details=2)
    page = Page((tmp_path / "batch.html").read_text(encoding="utf-8"))
    means = batch.shares("shapley").astype(float).mean().sort_values(ascending=False, kind="stable")
    assert [row[0] for row in page.tables[0][1:4]] == list(means.index[:3])
    assert [float(k[1]) for k in page.keys[0][1:4]] == pytest.approx(list(means[:3]))
    groups = batch.inspection(by="prediction")
    assert [title.split(" (")[0] for title in page.tables[1][0]] == ["feature", *groups]
    first, numbers = page.tables[1][1][0], [float(key) for key in page.keys[1][1][1:]]
    place = batch.domain.index(first)
    assert numbers == pytest.approx([own.importances_mean[place] for own in groups.values()])
    assert [row[0] for row in page.tables[2][1:]] == [str(n) for n in rows.index]
    assert [row[1] for row in page.tables[2][1:]] == list(batch.predictions)
    assert sum(a.get("class") == "instance" for _, a in page.elements) == 2
    links = {a["href"][1:] for tag, a in page.elements if tag == "a"}
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert links <= set(ids)
    assert len(ids) == len(set(ids))
    assert "10 instances more, not shown in full." in page.words


def test_saved_results(explainer: ax.Explainer, cancer, tmp_path) -> None:
    rows = cancer.data.iloc[100:105]
    saved = explainer.explain_to(tmp_path / "results.jsonl", rows)
    ours, theirs = (Page(report_html(batch, max_details=0)) for batch in (explainer.explain_batch(rows), saved))
    assert ours.tables == theirs.tables
    e = explainer.explain(cancer.data.iloc[78])
    page = Page(report_html(ax.Explanation.from_json(e.to_json())))
    assert [row[0] for row in page.tables[1]] == [row[0] for row in Page(report_html(e)).tables[1]]
    assert any("; keep all else" in word for word in page.words)


def test_changes_in_words() -> None:
    domain = ax.Domain([ax.Integer("age", 18, 90), ax.Categorical("race", ["a", "b", "c"])])
    e = ax.Explainer(lambda p: p[0] > 60 and p[1] == "b", domain).explain((70, "b"))
    words = {row[0]: row[1] for row in Page(report_html(e)).tables[1][1:]}
    assert words["age"] == "age <= 60. Nearest: age from 70 to 60 gives False."
    assert words["race"].startswith("race = ")


def test_values_agree_with_the_words_beside_them() -> None:
    data = [[14.0], [14.99999999], [15.2], [16.0]]
    model = DecisionTreeClassifier(random_state=0).fit(data, [0, 0, 1, 1])
    threshold = model.tree_.threshold[0]
    value = threshold - 1e-9  # which six digits do not tell from the threshold
    e = ax.Explainer(model, ax.Domain([ax.Real("x", 14, 16)])).explain([value])
    scores, cxps = Page(report_html(e)).tables[:2]
    assert f"x from {scores[1][1]} to " in cxps[1][1]
    assert float(scores[1][1]) < threshold


def test_what_a_page_is_about(cancer, monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    X = cancer.data[["mean radius", "mean texture", "mean area"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, cancer.target)
    domain = ax.Domain.from_data(X).where(ax.feature("mean radius") <= 28)
    region = ax.Region(frozen=["mean area"])
    explainer = ax.Explainer(model, domain, class_names=["bad", "good"], within=region, max_size=2)
    for explained in (explainer.explain(X.iloc[0]), explainer.explain_batch(X.head(2))):
        page = Page(report_html(explained))
        words = " ".join(page.words)
        for told in (
            f"DecisionTreeClassifier of sklearn {sklearn.__version__}, read as a sum of 1 tree",
            "bad , good",
            "mean radius <= 28",
            "mean area frozen",
            "features are independent",
            "2 features",
            f"1970-01-02 00:00 UTC with axfi_kc {ax.__version__}, Python {platform.python_version()}",
        ):
            assert re.sub(r"\s+", " ", told) in re.sub(r"\s+", " ", words.replace(" , ", " , "))
        features = page.tables[-1]
        assert [row[0] for row in features[1:]] == list(X.columns)
        assert features[1][1].startswith("a number from 6.981 to ")
    saved = " ".join(Page(report_html(ax.Explanation.from_json(explainer.explain(X.iloc[0]).to_json()))).words)
    assert "sum of trees" in saved
    assert "mean area frozen" in saved


def test_nearest_changes_can_be_typed_in(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    for row in Page(report_html(e)).tables[1][1:]:
        moves, _, output = row[1].partition("Nearest: ")[2].rstrip(".").rpartition(" gives ")
        point = dict(e.instance)
        for name, new in re.findall(r"([a-z ]+) from [^ ]+ to ([^ ,]+)", moves):
            point[name.strip()] = float(new)
        assert explainer.explain(point).prediction == output != e.prediction


def test_limits_are_said(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    page = Page(report_html(e, max_rows=2))
    assert [len(t) for t in page.tables] == [3, 3, 3, 31]
    assert f"{len(e.cxps) - 2} CXps more, not listed." in page.words
    assert f"{len(e.axps) - 2} AXps more, not listed." in page.words
    with pytest.raises(DomainError, match="max_rows"):
        report_html(e, max_rows=0)


@pytest.mark.parametrize("of_batch", [False, True])
def test_nothing_is_loaded_from_outside(hostile, of_batch: bool) -> None:
    text = report_html([hostile, hostile] if of_batch else hostile, title="</title><script>alert(3)</script>")
    page = Page(text)
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "embed", "base", "form"}
    attributes = [(key, value or "") for _, a in page.elements for key, value in a.items()]
    assert not [key for key, _ in attributes if key in ("src", "style", "srcset", "action") or key.startswith("on")]
    assert all(value.startswith("#") for key, value in attributes if key in ("href", "xlink:href"))
    code = "".join(re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, flags=re.DOTALL))
    assert not re.search(r"url\(|@import|https?:|//[a-z]|fetch|import\(", code)


def test_the_policy_names_our_script_and_style_only(hostile) -> None:
    text = report_html(hostile, title="</title><script>alert(3)</script>")
    policy = next(a["content"] for tag, a in Page(text).elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (inner,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        (given,) = re.findall(rf"{tag}-src 'sha256-([^']*)'", policy)
        assert b64decode(given) == sha256(inner.encode()).digest()


def test_hostile_names_are_text(hostile, tmp_path) -> None:
    write_report(hostile, tmp_path / "r.html", title=HOSTILE[0])
    text = (tmp_path / "r.html").read_bytes().decode("utf-8")
    page = Page(text)
    names = {row[0] for row in page.tables[0][1:]}
    assert names == {*HOSTILE[:3], "a\ufffdb", *HOSTILE[4:]}
    assert {row[1] for row in page.tables[0][1:]} == {"<b>v</b>"}
    assert "<i>yes</i>" in page.words
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert not any(tag in ("b", "i", "img") for tag, _ in page.elements)


def test_keyboard_and_screen_readers(hostile) -> None:
    elements = Page(report_html(hostile)).elements
    heads = sum(tag == "th" and a["scope"] == "col" for tag, a in elements)
    assert sum(tag == "button" for tag, _ in elements) == heads
    assert all(a["type"] == "button" for tag, a in elements if tag == "button")
    assert all(a["scope"] in ("col", "row") for tag, a in elements if tag == "th")
    assert all(a["aria-sort"] in ("none", "descending") for tag, a in elements if a.get("scope") == "col")
    levels = [int(tag[1]) for tag, _ in elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in elements}
    assert ("html", {"lang": "en"}) in elements
    pictures = [a for tag, a in elements if tag == "svg"]
    assert all(a.get("aria-hidden") == "true" or a.get("role") == "img" for a in pictures)
    assert all(a["tabindex"] == "0" and a["aria-label"] for _, a in elements if a.get("class") == "scroll")


def test_no_cxp_and_limited_sizes() -> None:
    domain = ax.Domain([ax.Integer("a", 0, 3), ax.Integer("b", 0, 3)])
    both = ax.Explainer(lambda p: p[0] > 0 or p[1] > 0, domain, max_size=1).explain((2, 2))
    words = " ".join(Page(report_html(both)).words)
    assert "there is no CXp" in words
    assert "AXps need all CXps" in words
    assert "no instance" in " ".join(Page(report_html([])).words)


def test_many_axps_do_not_stop_a_report(monkeypatch) -> None:
    monkeypatch.setattr("axfi_kc.explanations.page.sections._AXP_SECONDS", 0.2)
    n = 24
    domain = ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(2 * n)])
    forest = ax.CXpForest.of({(f"x{2 * k}", f"x{2 * k + 1}"): Fraction(1, 2) for k in range(n)}, features=domain.names)

    class Many(ax.SavedExplanation):
        """What a report asks of an explanation with 2**24 AXps."""

        max_size, weights, prediction = None, "ratio", 1
        class_names, probability, margin, toward, further = {}, None, None, None, Further()
        delta, model_kind = None, "TreeSum"
        instance = dict.fromkeys(domain.names, 0)
        relevant, cxp_count, cxp_sizes = domain.names, n, {2: n}
        cxps = tuple(ax.CXp(c, w) for c, w in forest.weights.items())

        def scores(self, kind: str):
            return ax.shapley_like(forest)

    Many.domain, Many.forest = domain, forest
    words = " ".join(Page(report_html(Many.__new__(Many))).words)
    assert "There are more: the search was stopped" in words


def test_a_path_that_cannot_be_written(hostile, tmp_path) -> None:
    with pytest.raises(FileWriteError, match="cannot be written"):
        write_report(hostile, tmp_path / "none" / "report.html")


def test_under_constraints_a_page_says_what_an_axp_is() -> None:
    domain = ax.Domain([ax.Integer(name, 0, 1) for name in "abc"])
    rule = ax.feature("a") == ax.feature("b")
    pages = [
        report_html(ax.Explainer(lambda p: p[0], space).explain((1, 1, 0))) for space in (domain, domain.where(rule))
    ]
    assert ["one feature may stand in for another that it implies there" in page for page in pages] == [False, True]
