"""Families of explanations, and all scores read off them, against the definitions."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from fractions import Fraction as F
from math import comb
from random import Random
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axfi_kc as ax
from axfi_kc.circuits.circuit import Circuit, CircuitBuilder
from axfi_kc.circuits.targets.obdd import obdd_of
from axfi_kc.domain.grid import Grid
from axfi_kc.engines import found
from axfi_kc.engines.diagram import engine as diagrams
from axfi_kc.engines.diagram.ordered_diagram import OrderedDiagram
from axfi_kc.engines.found import cell_worths
from axfi_kc.errors import BudgetError, CircuitError, ConstantModelError, IncompleteError, WeightError
from axfi_kc.explanations import explanation as answers
from axfi_kc.explanations.cxps import ManyAXps, ManyCXps
from axfi_kc.models import LinearModel, Positive
from tests.support.gadgets import gadget_domain, gadget_tree
from tests.support.oracle import Judge, banzhaf, hitting_value, shapley, space_of, subsets
from tests.support.strategies import Case, domains, ensemble_cases, points, table_cases, tree_cases

Sets = Iterable[frozenset[int]]
FAMILY = ("ffa", "wffa", "responsibility", "deegan_packel", "holler_packel")
GAMES = ("shapley_shubik", "banzhaf_waxp")


def symbolic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never list a family."""
    monkeypatch.setattr(diagrams, "_AT_ONCE", -1)
    monkeypatch.setattr(found, "LISTED", -1)
    monkeypatch.setattr(answers, "LISTED", -1)
    monkeypatch.setattr(answers, "_FEATURES_TO_SEARCH", 0)


def numbers(family: Iterable[int]) -> set[frozenset[int]]:
    return {frozenset(i for i in range(mask.bit_length()) if mask >> i & 1) for mask in family}


def defined(kind: str, sets: Sets, j: int) -> F:
    """Return a score of feature j from its definition over listed sets."""
    own, n = [S for S in sets if j in S], len(list(sets)) or 1
    if kind == "ffa":
        return F(len(own), n)
    if kind == "responsibility":
        return max((F(1, len(S)) for S in own), default=F(0))
    if kind == "holler_packel":
        return F(len(own), sum(len(S) for S in sets) or 1)
    return sum((F(1, len(S)) for S in own), F(0)) / n


def minimal(holds: dict[frozenset[int], bool]) -> set[frozenset[int]]:
    """Return the minimal sets with a property that larger sets inherit."""
    return {S for S, good in holds.items() if good and not any(holds[S - {i}] for i in S)}


def check_explanation(e: ax.Explanation, judge: Judge) -> None:
    m = len(judge.v)
    everything = frozenset(range(m))
    changes = {S: judge.is_wcxp(S) for S in subsets(m)}
    keeps = {S: not changes[everything - S] for S in changes}
    cxps, axps = minimal(changes), minimal(keeps)
    assert (numbers(e.cxp_family), numbers(e.axp_family)) == (cxps, axps)
    check_axfi(e, {Y: judge.ratio(Y) for Y in cxps})
    for suffix, sets in (("", axps), ("_cxp", cxps)):
        for kind in FAMILY:
            assert list(e.scores(kind + suffix).values()) == [defined(kind, sets, j) for j in range(m)], kind
    assert list(e.scores("shapley_shubik").values()) == shapley(lambda S: F(keeps[S]), m)
    assert list(e.scores("banzhaf_waxp").values()) == banzhaf(lambda S: F(keeps[S]), m)
    assert {frozenset(map(e.domain.index, a.features)) for a in e.axps} == axps


def check_axfi(e: ax.Explanation, weights: dict[frozenset[int], F]) -> None:
    m = len(e.domain)
    values = {S: hitting_value(weights, S) for S in subsets(m)}
    assert list(e.scores("shapley").values()) == shapley(values.__getitem__, m)
    assert list(e.scores("banzhaf").values()) == banzhaf(values.__getitem__, m)
    assert {frozenset(map(e.domain.index, c.features)): c.weight for c in e.cxps} == weights
    assert e.forest.sets.dag is not None  # shared
    assert {S: e.forest.value(e.domain.names[i] for i in S) for S in values} == values
    assert e.forest.expanded().weights == {c.features: c.weight for c in e.cxps}


def check_case(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        symbolic(patch)
        problem = case.problem
        try:
            explainer = ax.Explainer(problem.model, problem.domain, delta=problem.similarity.delta, target="mdd")
            e = explainer.explain(problem.domain.decode(problem.codes))
        except ConstantModelError:
            assert not case.judge.cxps()
            return
        check_explanation(e, case.judge)


SOME = settings(max_examples=260, deadline=None)


@SOME
@given(table_cases())
def test_tables(case: Case) -> None:
    check_case(case)


@SOME
@given(tree_cases())
def test_trees(case: Case) -> None:
    check_case(case)


@SOME
@given(ensemble_cases())
def test_ensembles(case: Case) -> None:
    check_case(case)


@st.composite
def formulas(draw: st.DrawFn, domain: ax.Domain, depth: int = 3) -> Any:
    """Draw nested tuples: ("and" | "or", parts) or (feature, cells)."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        i = draw(st.integers(0, len(domain) - 1))
        return i, draw(st.sets(st.integers(0, Grid.of_values(domain).n_cells[i] - 1)))
    parts = [draw(formulas(domain, depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    return draw(st.sampled_from(["and", "or"])), parts


def built(formula: Any, build: CircuitBuilder) -> int:
    head, rest = formula
    if head == "and":
        return build.conjunction([built(p, build) for p in rest])
    return build.disjunction([built(p, build) for p in rest]) if head == "or" else build.literal(head, rest)


def truth(formula: Any, cells: tuple[int, ...]) -> bool:
    head, rest = formula
    if head in ("and", "or"):
        return (all if head == "and" else any)(truth(p, cells) for p in rest)
    return cells[head] in rest


@SOME
@given(domains(finite=True).flatmap(lambda d: st.tuples(st.just(d), formulas(d), points(d))))
def test_circuits_through_ordered_diagrams(drawn: tuple[ax.Domain, Any, tuple[Any, ...]]) -> None:
    domain, formula, v = drawn
    grid = Grid.of_values(domain)
    place = [{x: c for c, x in enumerate(values)} for values in space_of(domain).values]

    def cells_of(x: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(place[i][value] for i, value in enumerate(x))

    judge = Judge(space_of(domain), lambda x: truth(formula, cells_of(x)), v)
    build = CircuitBuilder(grid)
    root = built(formula, build) if not judge.model(v) else built(negated(formula, grid), build)
    diagram = OrderedDiagram(obdd_of(build.circuit(root)).to_circuit())
    cxps = diagram.cxps(cells_of(v))
    assert numbers(cxps) == judge.cxps()
    assert numbers(cxps.hitting_sets()) == judge.axps()
    worths, wholes = cell_worths(grid, "ratio")
    dag = diagram.dag(cells_of(v), cxps, worths, wholes)
    for mask in cxps:
        assert dag.weight(mask) == judge.ratio(next(iter(numbers([mask]))))


def negated(formula: Any, grid: Grid) -> Any:
    head, rest = formula
    if head in ("and", "or"):
        return "or" if head == "and" else "and", [negated(p, grid) for p in rest]
    return head, set(range(grid.n_cells[head])) - set(rest)


def threshold(m: int, need: int, factors: list[int] | None = None, high: int = 1) -> tuple[LinearModel, ax.Domain]:
    """Class 1 when the sum of the (weighted) features is at least `need`."""
    domain = ax.Domain([ax.Integer(f"x{i}", 0, high) for i in range(m)])
    columns = [factors or [1] * m]
    return LinearModel.of_columns(domain, columns, intercepts=[1 - need], rule=Positive((0, 1))), domain


@pytest.mark.parametrize("weights", ["ratio", "count", "unit"])
def test_symbolic_scores_equal_listed_ones(monkeypatch: pytest.MonkeyPatch, weights: str) -> None:
    model, domain = threshold(10, 17, [1, 5, 2, 3, 3, 1, 4, 2, 6, 1], high=2)
    v = [0, 1, 0, 0, 2, 0, 0, 1, 0, 0]
    listed = ax.Explainer(model, domain, weights=weights).explain(v)
    symbolic(monkeypatch)
    e = ax.Explainer(model, domain, weights=weights, target="mdd").explain(v)
    assert isinstance(e.cxps, ManyCXps)
    assert isinstance(e.axps, ManyAXps)
    assert sorted(e.cxps, key=lambda c: c.features) == sorted(listed.cxps, key=lambda c: c.features)
    assert {a.features for a in e.axps} == {a.features for a in listed.axps}
    assert (e.cxps.count, e.axps.count, e.relevant) == (len(listed.cxps), len(listed.axps), listed.relevant)
    for kind in ("shapley", "banzhaf", *FAMILY, *(f"{k}_cxp" for k in FAMILY), *GAMES):
        assert e.scores(kind) == listed.scores(kind)
    one, other = (x.explain_batch([v, v]) for x in (
        ax.Explainer(model, domain, weights=weights), ax.Explainer(model, domain, weights=weights, target="mdd")
    ))  # fmt: skip
    for kind in ("shapley", "wffa"):
        assert one.scores(kind).equals(other.scores(kind))
    assert pickle.loads(pickle.dumps(e.cxps)).count == e.cxps.count


@pytest.mark.parametrize("weights", ["ratio", "count", "unit"])
def test_families_in_between_are_listed_when_asked_for(weights: str) -> None:
    model, domain = threshold(14, 20, [1, 2, 1, 3, 1, 2, 1, 2, 2, 1, 2, 1, 1, 2], high=2)
    one, other = (ax.Explainer(model, domain, weights=weights, target=t).explain([0] * 14) for t in ("auto", "mdd"))
    assert len(one.cxps) > diagrams._AT_ONCE
    assert one.cxps == other.cxps
    assert one.axps == other.axps
    assert one.scores("shapley") == other.scores("shapley") == ax.shapley_like(other.forest)
    assert one.forest.weights == other.forest.weights
    assert repr(one) == repr(other)


HALF = 100


@pytest.mark.parametrize(("weights", "each"), [("ratio", F(1, 2**HALF)), ("count", F(1)), ("unit", F(1))])
def test_at_least_half_of_200_features_changed(weights: str, each: F) -> None:
    model, domain = threshold(200, HALF)
    e = ax.Explainer(model, domain, weights=weights, target="mdd").explain([0] * 200)
    assert isinstance(e.cxps, ManyCXps)
    assert e.cxps.count == comb(200, HALF) == 90548514656103281165404177077484163874504589675413336841320
    # every feature is in half of the CXps, and each of these gives it a 100th, or 1 / 2**99
    assert set(e.scores("shapley").values()) == {each / 2 / HALF}
    assert set(e.scores("banzhaf").values()) == {each / 2 / 2 ** (HALF - 1)}
    drawn = e.cxps.sample(Random(0))
    assert len(drawn.features) == HALF
    assert drawn.weight == each
    assert drawn in e.cxps
    assert e.cxps[0] in e.cxps
    assert e.axps.count == comb(200, 101)  # type: ignore[union-attr]
    with pytest.raises(OverflowError):
        len(e.cxps)


def test_other_scores_of_200_features() -> None:
    model, domain = threshold(200, HALF)
    e = ax.Explainer(model, domain, weights="unit", target="mdd").explain([0] * 200)
    assert set(e.scores("ffa").values()) == {F(101, 200)}
    assert set(e.scores("wffa").values()) == set(e.scores("shapley_shubik").values()) == {F(1, 200)}
    assert set(e.scores("responsibility").values()) == {F(1, 101)}
    assert set(e.scores("banzhaf_waxp").values()) == {F(comb(199, 100), 2**199)}


def test_shared_forest_of_200_features() -> None:
    model, domain = threshold(200, HALF)
    forest = ax.Explainer(model, domain, weights="count", target="mdd").explain([0] * 200).forest
    graph = forest.graph
    assert isinstance(graph, nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)
    assert graph.number_of_nodes() < 11_000
    paths = dict.fromkeys(graph, 0)
    paths[1] = 1
    for node in nx.topological_sort(graph):
        for _, child, weight in graph.out_edges(node, data="weight"):
            paths[child] += paths[node] * weight
    (end,) = [node for node, kind in graph.nodes(data="kind") if kind == "end"]
    assert paths[end] == graph.graph["n"] == forest.n
    assert forest.value(domain.names) == 1
    assert forest.value({"x3"}) == F(1, 2)
    with pytest.raises(BudgetError, match=r"may have 10000 trees, but there are \d+ CXps; raise the limit"):
        forest.expanded()
    assert forest.to_dot().startswith("digraph")


def test_shared_forests_expand_and_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    model, domain = threshold(6, 4, [1, 2, 1, 3, 1, 2])
    listed = ax.Explainer(model, domain).explain([0] * 6).forest
    symbolic(monkeypatch)
    shared = ax.Explainer(model, domain, target="mdd").explain([0] * 6).forest
    assert nx.utils.graphs_equal(shared.expanded().graph, listed.graph)
    with pytest.raises(BudgetError):
        shared.expanded(limit=3)
    shared.to_graphml(tmp_path / "forest.graphml")
    read = nx.read_graphml(tmp_path / "forest.graphml")
    assert read.number_of_edges() == shared.graph.number_of_edges()
    assert {d["weight"] for _, _, d in read.edges(data=True)} == {"1", "1/2"}


def gadget_wffa(k: int, own: int) -> F:
    """Sum over what the other gadgets choose: t of them take their pair, the others one feature."""
    return sum((F(comb(k - 1, t), k - 1 + t + own) for t in range(k)), F(0)) / 2**k


@pytest.mark.parametrize("k", [3, 500])
def test_gadget_tree_with_more_axps_than_atoms(k: int) -> None:
    domain = gadget_domain(k)
    e = ax.Explainer(gadget_tree(k), domain).explain([1] * (3 * k))
    assert len(e.cxps) == 2 * k
    single, paired = [f"x{2 * i}" for i in range(1, k + 1)], [f"x{2 * i - 1}" for i in range(1, k + 1)]
    paired += [f"y{i}" for i in range(1, k + 1)]
    wanted = {
        "ffa": (F(1, 2), F(1, 2)),
        "wffa": (gadget_wffa(k, 1), gadget_wffa(k, 2)),
        "responsibility": (F(1, k), F(1, k + 1)),
        "shapley": (F(2, 8 * 2 * k), F(1, 8 * 2 * k)),
        "banzhaf": (F(2, 8 * 2 * k), F(1, 8 * 2 * k)),
    }
    for kind, (of_single, of_paired) in wanted.items():
        assert e.scores(kind) == {n: of_single if n in set(single) else of_paired for n in domain.names}
    assert e.axp_family.count == 2**k
    if k == 500:
        assert isinstance(e.axps, ManyAXps)
        assert str(e.axps.count) == str(2**500)
        assert [set(a.features) for a in e.axps.smallest()] == [set(single)]
        assert "3.27e150" in repr(e.axps)


def test_gadget_tree_as_a_diagram() -> None:
    e = ax.Explainer(gadget_tree(40), gadget_domain(40), target="mdd").explain([1] * 120)
    assert len(e.cxps) == 80
    assert e.axps.count == 2**40  # type: ignore[union-attr]


def test_a_spent_budget_is_an_error() -> None:
    """First the diagram is paid for, then its families."""
    model, domain = threshold(60, 30, [1 + (i * i) % 17 for i in range(60)])
    with pytest.raises(BudgetError, match="the complete diagram is not finished"):
        ax.Explainer(model, domain, target="mdd", budget=ax.Budget(nodes=500)).explain([0] * 60)
    assert ax.compile_model(model, domain, budget=ax.Budget(nodes=2000)).size.nodes == 629
    with pytest.raises(BudgetError, match="families of sets"):
        ax.Explainer(model, domain, target="mdd", budget=ax.Budget(nodes=2000)).explain([0] * 60)
    assert ax.Explainer(model, domain, target="mdd", budget=ax.Budget(nodes=4000)).explain([0] * 60).cxps.count > 10**6


def test_scores_that_need_all_cxps() -> None:
    model, domain = threshold(6, 3)
    e = ax.Explainer(model, domain, max_size=2).explain([1, 0, 0, 0, 0, 0])
    for kind in ("wffa", "shapley_shubik"):
        with pytest.raises(IncompleteError):
            e.scores(kind)
    assert set(e.scores("holler_packel_cxp").values()) == {F(0), F(1, 5)}
    with pytest.raises(WeightError, match=r"'holler_packel_cxp'.*but 'magic' was given"):
        e.scores("magic")


def test_circuits_that_are_no_ordered_diagrams() -> None:
    grid = Grid.of_values(ax.Domain([ax.Integer("a", 0, 1), ax.Integer("b", 0, 1), ax.Integer("c", 0, 1)]))
    build = CircuitBuilder(grid)
    both = build.conjunction([build.literal(0, [1]), build.literal(1, [1])])
    with pytest.raises(CircuitError, match="decisions only"):
        OrderedDiagram(build.circuit(both))
    one, other = (build.decision(i, [([0], build.literal(1 - i, [1])), ([1], build.true)]) for i in (0, 1))
    mixed: Circuit = build.circuit(build.decision(2, [([0], one), ([1], other)]))
    with pytest.raises(CircuitError, match="one order"):
        OrderedDiagram(mixed)


@settings(max_examples=100, deadline=None)
@given(table_cases(), st.integers(1, 3))
def test_families_of_limited_size(case: Case, size: int) -> None:
    problem = case.problem
    engine = diagrams.DiagramEngine(problem.model, problem.similarity)
    found = engine.explain(problem.codes[None], max_size=size)[0]
    assert numbers(found.masks) == {Y for Y in case.judge.cxps() if len(Y) <= size}
