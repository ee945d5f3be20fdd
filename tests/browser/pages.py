"""Pages that the browser opens: of real models, and of models whose every name attacks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax

HOSTILE = (
    "<script>hacked()</script>",
    "</script><script>hacked()</script>",
    "<!--<script>hacked()",
    "--><script>hacked()</script>",
    "]]><script>hacked()</script>",
    "</title><script>hacked()</script>",
    "</style><script>hacked()</script>",
    "</textarea><script>hacked()</script>",
    "</select></fieldset><script>hacked()</script>",
    '"><img src=x onerror=hacked()>',
    "'><img src=x onerror=hacked()>",
    "<svg onload=hacked()>",
    "<svg><script>hacked()</script></svg>",
    "<math><mi//xlink:href='data:x,<script>hacked()</script>'>",
    "<iframe srcdoc='<script>parent.hacked()</script>'>",
    "<object data='javascript:hacked()'>",
    "<a href='javascript:hacked()'>press</a>",
    "<base href='http://evil.example/'>",
    "<link rel=stylesheet href=http://evil.example/x.css>",
    "<style>@import 'http://evil.example/x.css';</style>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<img src=http://evil.example/x.png>",
    "<form action=http://evil.example/><button autofocus onfocus=hacked()>",
    '" onmouseover="hacked()" x="',
    "' autofocus onfocus='hacked()' tabindex='1",
    "javascript:hacked()",
    "${hacked()}",
    "{{constructor.constructor('hacked()')()}}",
    "\\u003cscript\\u003ehacked()\\u003c/script\\u003e",
    "&lt;script&gt;hacked()&lt;/script&gt;",
    "\u202eevil\u2066\u2028\u2029<b>",
    "a\x00\ufffe\x1b[31m",
    "__proto__",
)
LONG = "long_" * 60


@cache
def tumours() -> tuple[ax.Explainer, ax.Batch]:
    data = load_breast_cancer(as_frame=True)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(data.data, data.target_names[data.target])
    explainer = ax.Explainer(model, ax.Domain.from_data(data.data))
    return explainer, explainer.explain_batch(data.data.iloc[76:82])


@cache
def flowers() -> tuple[ax.Explainer, ax.Batch, list[ax.RadiusPath | None]]:
    data = load_iris(as_frame=True)
    model = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(data.data, data.target)
    explainer = ax.Explainer(model, ax.Domain.from_data(data.data), class_names=list(data.target_names))
    rows = data.data.iloc[[60, 77]]
    return explainer, explainer.explain_batch(rows), [ax.radius_path(explainer, rows.iloc[0], unit="range"), None]


def counted() -> tuple[ax.Explainer, ax.Batch]:
    """Return explanations with whole weights, CXps of one to four features, and a class that is asked about."""
    domain = ax.Domain([ax.Integer(name, 0, 3) for name in "abcdefg"])
    explainer = ax.Explainer(
        lambda p: ["low", "middle", "high"][(p[0] + p[1] * p[2] > 4) + (sum(p[3:]) > 7 and p[0] < 2)],
        domain,
        weights="count",
        class_names={"high": "very <high>"},
    )
    return explainer, explainer.explain_batch([(0, 1, 1, 1, 1, 0, 2), (3, 3, 1, 0, 0, 0, 1)])


def attacked(text: str) -> ax.Explanation:
    """Return an explanation all of whose names, values, classes and constraints have one text."""
    other = f"other {text}"
    domain = ax.Domain([ax.Categorical(name, [text, other, "x"]) for name in (text, f"2 {text}", f"3 {text}")])
    possible = domain.where((ax.feature(text) == text) | (ax.feature(f"2 {text}") == other))
    explainer = ax.Explainer(
        lambda p: text if (p[0] == text) + (p[1] == text) + (p[2] == text) > 1 else other,
        possible,
        class_names={text: f"named {text}", other: f"not named {text}"},
        within=ax.Region(ranges={f"3 {text}": [text, other]}),
    )
    return explainer.explain(dict.fromkeys(domain.names, text))


def write(folder: Path, name: str, html: str) -> Path:
    path = folder / f"{name}.html"
    path.write_text(html, encoding="utf-8", newline="\n")
    return path
