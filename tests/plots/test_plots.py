"""Pictures: what they show, that no label is cut or hidden, and that strange names do no harm."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import axfi_kc as ax
from axfi_kc.circuits.circuit import DECISION
from axfi_kc.errors import CircuitError, DomainError
from axfi_kc.plots import (
    circuit_dot,
    circuit_graph,
    plot_batch,
    plot_circuit,
    plot_cxps,
    plot_forest,
    plot_rbo,
    plot_scores,
    plot_sizes,
)
from tests.support.pictures import check_readable

mpl.use("Agg")
HOSTILE = ["a $ price in $", "back\\slash_{x", "two\nlines", "x" * 200, "<b>&amp;", "%s {0}"]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True)


@pytest.fixture(scope="module")
def explainer(cancer) -> ax.Explainer:
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(cancer.data, cancer.target)
    return ax.Explainer(model, ax.Domain.from_data(cancer.data))


@pytest.fixture(scope="module")
def strange() -> ax.Explainer:
    """An explainer whose names and values matplotlib could misread."""
    features = [ax.Categorical(name, ["$a$", "b_1", "c^"]) for name in HOSTILE]
    return ax.Explainer(lambda p: "$yes$" if sum(v == "$a$" for v in p) > 2 else "no_^", ax.Domain(features))


def test_scores(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    axes = plot_scores(e, "banzhaf")
    widths = [p.get_width() for p in axes.patches]
    assert widths == sorted((float(s) for s in e.scores("banzhaf").values() if s), reverse=True)
    assert axes.get_title() == "Why 0?"
    check_readable(axes)


def test_forest(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    axes = plot_forest(e.forest)
    assert sum(t.get_text().startswith("w ") for t in axes.texts) == len(e.cxps)
    check_readable(axes)
    with pytest.raises(DomainError, match="no tree"):
        plot_forest(ax.CXpForest.of({}, features=["a"]))


@pytest.mark.parametrize("shares", [True, False])
def test_batch_shows_every_score(explainer: ax.Explainer, cancer, shares: bool) -> None:
    batch = explainer.explain_batch(cancer.data.iloc[:40])
    axes = plot_batch(batch, "banzhaf", max_features=5, shares=shares)
    table = (batch.shares if shares else batch.scores)("banzhaf").astype(float)
    best = table.mean().sort_values(ascending=False, kind="stable").index[:5]
    assert [t.get_text() for t in axes.get_yticklabels()] == list(best)
    for name, points in zip(best, axes.collections, strict=False):
        assert points.get_offsets()[:, 0].tolist() == table[name].tolist()
        rows = points.get_offsets()[:, 1]
        assert np.ptp(rows) < 1
    check_readable(axes)


def test_batch_points_do_not_hide_each_other(explainer: ax.Explainer, cancer) -> None:
    axes = plot_batch([explainer.explain(cancer.data.iloc[0])] * 7, max_features=1)
    assert len({tuple(p) for p in axes.collections[0].get_offsets().tolist()}) == 7
    assert "7 instances" in axes.get_title()
    spaced = plot_batch([explainer.explain(cancer.data.iloc[0])] * 7, max_features=1, max_points=3)
    assert "3 of 7 instances" in spaced.get_title()
    with pytest.raises(DomainError, match="at least one row"):
        plot_batch([])


def test_batch_in_a_file(explainer: ax.Explainer, cancer, tmp_path) -> None:
    rows = cancer.data.iloc[:30]
    ours = plot_batch(explainer.explain_batch(rows), max_points=10)
    theirs = plot_batch(explainer.explain_to(tmp_path / "r.jsonl", rows), max_points=10)
    for a, b in zip(ours.collections, theirs.collections, strict=True):
        assert np.array_equal(a.get_offsets(), b.get_offsets())


def test_cxps(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    axes = plot_cxps(e)
    above, beside = (a for a in axes.figure.axes if a.axison and a is not axes)
    assert [p.get_height() for p in above.patches] == sorted((float(c.weight) for c in e.cxps), reverse=True)
    names = [t.get_text().split(" = ")[0] for t in axes.get_yticklabels()]
    assert set(names) == set(e.relevant)
    assert [p.get_width() for p in beside.patches] == [sum(n in c.features for c in e.cxps) for n in names]
    dots = {tuple(map(round, p)) for c in axes.collections[1::2] for p in c.get_offsets().tolist()}
    ranked = sorted(e.cxps, key=lambda c: -c.weight)
    assert dots == {(k, names.index(n)) for k, c in enumerate(ranked) for n in c.features}
    check_readable(axes)
    assert "not shown" in plot_cxps(e, max_cxps=2).figure.axes[2].get_title()


def test_cxps_in_given_axes(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    figure, (_left, right) = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
    check_readable(plot_cxps(e, ax=right))
    with pytest.raises(DomainError, match="subplots"):
        plot_cxps(e, ax=figure.add_axes((0, 0, 1, 1)))


@pytest.mark.parametrize("n_features", [1, 3, 5])
def test_circuit(n_features: int) -> None:
    domain = ax.Domain([ax.Integer(f"feature {k}", 0, 9) for k in range(n_features)])
    compiled = ax.compile_model(lambda p: sum(v > 4 for v in p) % 2, domain)
    axes = plot_circuit(compiled)
    drawn = [t.get_text() for t in axes.texts]
    assert sum(t.startswith("feature") for t in drawn) == int((compiled.circuit.kinds == DECISION).sum())
    assert drawn.count("1") == 1
    assert set(drawn) >= {">= 5"}
    check_readable(axes)
    boxes = [t.get_window_extent() for t in axes.texts if t.get_text().startswith("feature")]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])


def test_edges_pass_no_node() -> None:
    domain = ax.Domain([ax.Integer(c, 0, 3) for c in "abcd"])
    axes = plot_circuit(ax.compile_model(lambda p: p[0] == 3 or p[1] + p[2] + p[3] > 4, domain))
    axes.figure.canvas.draw()
    nodes = {t.get_position(): t.get_window_extent() for t in axes.texts if t.get_text() in "abcd1"}
    for line in axes.lines:
        points = line.get_transform().transform(line.get_xydata())
        ends = {tuple(p) for p in line.get_xydata()[[0, -1]]}
        others = [box for at, box in nodes.items() if not any(np.allclose(at, end) for end in ends)]
        passed = np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(points)])
        assert len(others) == len(nodes) - 2
        assert not any(box.contains(x, y) for box in others for x, y in passed)


def holds(label: str, value) -> bool:
    """Tell whether an edge's label admits a value, from the text alone."""
    for part in label.split(" or "):
        if part.startswith("in {"):
            found = repr(value) in part[4:-1].split(", ")
        elif part[0] in "[(":
            low, high = map(float, part[1:-1].split(", "))
            found = (low <= value if part[0] == "[" else low < value) and (
                value <= high if part[-1] == "]" else value < high
            )
        else:
            sign, number = part.split()
            limit = number if number.startswith("'") else float(number)
            found = {"=": repr(value) == limit if isinstance(limit, str) else value == limit}.get(sign)
            if found is None:
                found = {"<=": value <= limit, ">=": value >= limit, "<": value < limit, ">": value > limit}[sign]
        if found:
            return True
    return False


def test_graphs_of_circuits_decide_like_the_model(tmp_path) -> None:
    domain = ax.Domain([ax.Integer("a or b", 0, 5), ax.Categorical("c", ["x", "y", "z"]), ax.Integer("d", -2, 2)])

    def model(p) -> bool:
        return (p[0] in (1, 2, 5)) == (p[1] == "y") and p[2] != 0

    compiled = ax.compile_model(model, domain)
    graph = circuit_graph(compiled)
    for point in domain.points():
        values, node = dict(zip(domain.names, point, strict=True)), graph.graph["root"]
        while node is not None and graph.nodes[node]["kind"] == "decision":
            value = values[graph.nodes[node]["feature"]]
            node = next((c for _, c, d in graph.out_edges(node, data=True) if holds(d["label"], value)), None)
        assert (node is not None and graph.nodes[node]["kind"] == "true") == model(point), point
    text = circuit_dot(compiled, tmp_path / "c.dot")
    assert (tmp_path / "c.dot").read_text(encoding="utf-8") == text
    assert text.count("->") == graph.number_of_edges()


def test_large_circuits_are_refused() -> None:
    domain = ax.Domain([ax.Integer(f"x{k}", 0, 1) for k in range(9)])
    compiled = ax.compile_model(lambda p: sum(p) > 4, domain)
    with pytest.raises(CircuitError, match=r"at most 5 nodes, but the circuit has \d+; condition it first"):
        plot_circuit(compiled, max_nodes=5)
    with pytest.raises(CircuitError, match="max_nodes"):
        circuit_graph(compiled, max_nodes=5)
    with pytest.raises(CircuitError, match="dict was given"):
        plot_circuit({})


@pytest.mark.parametrize("measures", [("nodes", "edges"), ("bytes",), ("seconds", "nodes")])
def test_sizes(measures) -> None:
    rows = [
        {"target": t, "code": c, "order": "force", "nodes": n, "edges": 2 * n, "bytes": 40 * n, "seconds": n / 1e4}
        for t, c, n in [("mdd", None, 12), ("obdd", "direct", 1234), ("sdd", "binary", 5_000_000)]
    ]
    rows.append({**rows[0], "target": "ddnnf", **dict.fromkeys(("nodes", "edges", "bytes", "seconds"))})
    axes = plot_sizes(pd.DataFrame(rows), measures=measures)
    assert [p.get_width() for p in axes.patches] == [r[m] for m in measures for r in rows[:3]]
    names = [t.get_text() for t in axes.get_yticklabels()]
    assert names == ["mdd, force", "obdd, direct, force", "sdd, binary, force", "ddnnf, force"]
    assert "not within the budget" in [t.get_text() for t in axes.texts]
    check_readable(axes)


@pytest.mark.parametrize("rows", [[], [{"target": "mdd"}]])
def test_sizes_need_rows(rows) -> None:
    with pytest.raises(DomainError, match="at least one row"):
        plot_sizes(rows)


def test_overlaps() -> None:
    axes = plot_rbo({("shapley", "banzhaf"): [Fraction(1), 1, 0.5], "shapley and a very long name of a score": [0.1]})
    assert [c.get_offsets()[:, 0].tolist() for c in axes.collections] == [[1, 1, 0.5], [0.1]]
    check_readable(axes)
    with pytest.raises(DomainError, match="'a' has none"):
        plot_rbo({"a": []})
    with pytest.raises(DomainError, match="no pair"):
        plot_rbo({})


def test_strange_names(strange: ax.Explainer) -> None:
    point = dict.fromkeys(HOSTILE, "$a$")
    e = strange.explain(point)
    for axes in (plot_scores(e), plot_forest(e.forest), plot_cxps(e), plot_batch([e, e])):
        check_readable(axes)
    small = ax.Domain([ax.Categorical(n, ["$a$", "b_1"]) for n in HOSTILE[:3]])
    check_readable(plot_circuit(ax.compile_model(lambda p: p.count("$a$") > 1, small)))
    check_readable(plot_rbo({tuple(HOSTILE[:2]): [0.5]}))


def test_axes_given_are_the_axes_drawn_into(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    rows = [{"target": "mdd", "nodes": 3, "edges": 4}]
    _, axes = plt.subplots(5)
    drawn = [
        plot_scores(e, ax=axes[0]),
        plot_forest(e.forest, ax=axes[1]),
        plot_batch([e], ax=axes[2]),
        plot_sizes(rows, ax=axes[3]),
        plot_rbo({"a": [1]}, ax=axes[4]),
    ]
    assert drawn == list(axes)


def test_scores_and_forest_of_an_explanation(explainer: ax.Explainer, cancer) -> None:
    e = explainer.explain(cancer.data.iloc[78])
    axes = plot_scores(e, "banzhaf", max_features=4)
    assert axes.get_yticklabels()[0].get_text() == "worst concave points = 0.2508"
    assert len(axes.patches) == 4
    assert "7 trees, 5 lighter ones not drawn" in plot_forest(e.forest, max_trees=2).get_title()


def test_each_target_is_drawn_in_its_own_nodes() -> None:
    """An OBDD of 9 nodes and an SDD of 12 were drawn as the same two."""
    domain = ax.Domain([ax.Integer("age", 0, 4), ax.Integer("smokes", 0, 1)])
    drawn = {}
    for target in ("mdd", "obdd", "sdd", "ddnnf"):
        compiled = ax.compile_model(lambda p: p[0] in (1, 3) and p[1] == 1, domain, target=target)
        axes = plot_circuit(compiled)
        drawn[target] = sorted(text.get_text() for text in axes.texts)
        graph = circuit_graph(compiled.target)
        kinds = [kind for _, kind in graph.nodes(data="kind")]
        assert compiled.size.nodes == (kinds.count("or") if target == "sdd" else len(kinds) - 1)
        assert target != "sdd" or compiled.size.edges == kinds.count("and")
        size = f"{compiled.size.nodes} nodes, {compiled.size.edges}"
        assert any(size in text for text in [axes.get_title(), *drawn[target]])
    assert {"0", "1", "age_0\n>= 1", "age_3\n>= 4", "smokes"} <= set(drawn["obdd"])
    assert {"prime", "sub", "~age_0\n<= 0", "smokes"} <= set(drawn["sdd"])
    assert len({tuple(texts) for texts in drawn.values()}) >= 3
