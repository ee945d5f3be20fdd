"""The CXp-Forest: the characteristic function behind the AxFi scores.

Each CXp Y becomes a small decision tree that asks, feature by feature, whether some feature of
Y is in S, and the forest's value is the weighted mean of their answers. When there are too many CXps
to list, the trees share one DAG.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import lcm
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from axfi_kc.arguments import checked, quoted
from axfi_kc.budget import Account, Budget
from axfi_kc.domain.from_tables import FeatureNames, feature_names, unknown
from axfi_kc.domain.measures import Number, exact
from axfi_kc.durable_files import write_whole, writing
from axfi_kc.engines import LISTED, CxpSets, ListedCxps
from axfi_kc.errors import BudgetError, UnknownFeatureError, WeightError
from axfi_kc.families import WeightedDag
from axfi_kc.families.masks import features_of, sorted_sets
from axfi_kc.families.weighted_dag import NO_ELEMENT

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["CXpForest"]

# Control characters, which XML cannot hold even escaped, and halves of characters, which no file can.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False, init=False)
class CXpForest:
    """Weighted CXps as a game: ``v_r(S) = (1/n) * sum of w(Y) over the Y that S meets``.

    Attributes
    ----------
    features
        The names of all features.
    sets
        The CXps and their weights (:class:`axfi_kc.engines.CxpSets`); to make a forest, the CXps' masks, ints whose
        bit i is feature i, with the weights' numerators and one denominator will do.
    budget
        What the graph, and each file of it, may cost in seconds and bytes; None: no limit.

    Examples
    --------
    >>> forest = CXpForest.of({("x1", "x2"): 1, ("x1", "x3"): 4, ("x2", "x3"): 2}, features=["x1", "x2", "x3"])
    >>> forest.value({"x1"}), forest.value({"x1", "x2", "x3"})
    (Fraction(5, 3), Fraction(7, 3))
    """

    features: tuple[str, ...]
    sets: CxpSets
    budget: Budget | None = field(repr=False)

    @checked("features", "sets", "numerators")
    def __init__(
        self,
        features: str | Iterable[str],
        sets: CxpSets | Iterable[int],
        numerators: Iterable[int] | None = None,
        denominator: int = 1,
        *,
        budget: Budget | None = None,
    ) -> None:
        found = (
            sets
            if isinstance(sets, CxpSets)
            else ListedCxps(tuple(sets), () if numerators is None else tuple(numerators), denominator, "ratio")
        )
        object.__setattr__(self, "features", tuple(features))
        object.__setattr__(self, "sets", found)
        object.__setattr__(self, "budget", budget)

    @classmethod
    @checked("weights", "features")
    def of(cls, weights: Mapping[Iterable[str], Fraction | int], *, features: str | Iterable[str]) -> CXpForest:
        """Make a forest of explicit CXps: ``{features of a CXp: its weight}``."""
        names = tuple(features)
        position = {n: i for i, n in enumerate(names)}
        masks: dict[int, Fraction] = {}
        for cxp, weight in weights.items():
            strange = next((n for n in cxp if n not in position), None)
            if strange is not None:
                raise unknown(strange, names)
            mask = sum(1 << position[n] for n in set(cxp))
            # Names in another order are the same set, and n counts sets: one tree, with both weights.
            masks[mask] = masks.get(mask, Fraction(0)) + exact(weight, "weight of a CXp")
        ordered = sorted_sets(masks)
        denominator = lcm(*(masks[m].denominator for m in ordered)) if ordered else 1
        numerators = tuple(int(masks[m] * denominator) for m in ordered)
        return cls(names, ListedCxps(tuple(ordered), numerators, denominator, "ratio"))

    @property
    def n(self) -> int:
        """The number of CXps; it may be too large for ``len``."""
        return self.sets.count

    def __len__(self) -> int:
        """Return n, the number of CXps, if it is not too large for ``len``."""
        return self.n

    @property
    def masks(self) -> tuple[int, ...]:
        """The CXps, as ints whose bit i is feature i."""
        return self._listed().masks

    @property
    def numerators(self) -> tuple[int, ...]:
        """The weight of CXp k is ``numerators[k] / denominator``."""
        return self._listed().numerators

    @property
    def denominator(self) -> int:
        """What the numerators are divided by."""
        return self._listed().denominator

    def _listed(self, limit: int | None = None, *, budget: Budget | None = None) -> ListedCxps:
        account = Account(budget, goal="forest", advice="allow more, or use the shared graph")
        listed = self.sets.listed(limit, account=account)
        if listed is None:
            most = LISTED if limit is None else limit
            raise BudgetError(
                f"A forest of one tree per CXp may have {most} trees, but there are {self.n} CXps; raise the limit, "
                "or use the shared graph."
            )
        return listed

    def __add__(self, other: CXpForest) -> CXpForest:
        """Return the forest whose value is the sum of both values at every S.

        Weights are rescaled to the new number of trees; equal sets are merged.
        """
        if not isinstance(other, CXpForest):
            return NotImplemented
        if self.features != other.features:
            raise UnknownFeatureError("Two forests can be added when they have the same features in the same order.")
        shares: dict[tuple[str, ...], Fraction] = {}
        for forest in (self, other):
            for cxp, weight in forest.weights.items():
                shares[cxp] = shares.get(cxp, Fraction(0)) + weight / forest.n
        # v_r divides by n, which is another one in the sum, so weights were divided by their own n and get the new one.
        # A forest without CXps has no weight to divide, so its n = 0 does no harm.
        n = len(shares)
        return CXpForest.of({cxp: n * share for cxp, share in shares.items()}, features=self.features)

    def with_penalties(self, penalties: Mapping[Iterable[str], Number]) -> CXpForest:
        """Return the forest with the paper's penalty trees: fixing one of several features costs an amount.

        The value becomes ``v(S) = v_r(S) - sum of amount_p over the penalties p that S meets``. By additivity scores
        stay closed forms: a penalty of k features takes amount/k from the Shapley-like score of each of them, and
        amount/2^(k-1) from the Banzhaf-like one.

        This changes the game and keeps the space. The CXps are the same ones, whether or not a point can exist, and
        scores may be negative. Constraints (:meth:`axfi_kc.Domain.where`) do the reverse: they take points out of
        the space, and with them CXps, and leave the game as it is defined.

        Parameters
        ----------
        penalties
            ``{names of features: amount}``.

        Raises
        ------
        UnknownFeatureError, WeightError
            If a penalty names a feature that there is not, or none at all.

        Notes
        -----
        Linear in the CXps, which are listed.

        Examples
        --------
        >>> from axfi_kc.scores.axfi import shapley_like
        >>> forest = CXpForest.of({("a", "b"): 1, ("c",): 2}, features=list("abc")).with_penalties({("a", "c"): 1})
        >>> forest.value({"a"}), forest.value({"b"})
        (Fraction(-1, 2), Fraction(1, 2))
        >>> shapley_like(forest)
        {'a': Fraction(-1, 4), 'b': Fraction(1, 4), 'c': Fraction(1, 2)}
        """
        if not isinstance(penalties, Mapping):
            raise WeightError(f"Penalties are given as {{features: amount}}, but {quoted(penalties)} was given.")
        amounts: dict[frozenset[str], Fraction] = {}
        for names, amount in penalties.items():
            key = frozenset([names] if isinstance(names, str) else feature_names(names))
            if not key:
                raise WeightError("A penalty is about at least one feature, but none was named; name those it is for.")
            amounts[key] = amounts.get(key, Fraction(0)) + exact(amount, "penalty")
        n = len(amounts)  # a forest's value is a mean over its trees, a penalty is not
        return self + CXpForest.of({key: -n * amount for key, amount in amounts.items()}, features=self.features)

    def _names(self, mask: int) -> tuple[str, ...]:
        return tuple(self.features[i] for i in features_of(mask))

    @property
    def weights(self) -> dict[tuple[str, ...], Fraction]:
        """The weight of each CXp, by its feature names, smallest CXp first."""
        of = self._listed().weights
        return {self._names(m): Fraction(of[m]) for m in sorted_sets(of)}

    def value(self, S: FeatureNames) -> Fraction:
        """Return v_r(S): how much adversarial weight fixing the features `S` excludes.

        Notes
        -----
        Linear in the number of CXps; where they are too many to list, in their DAG.
        """
        return self.value_of_mask(_mask(S, self.features))

    @checked("mask")
    def value_of_mask(self, mask: int) -> Fraction:
        """Return v_r of a set given as an int whose bit i is feature i."""
        return self.sets.weight_met(mask) / (self.n or 1)

    def expanded(self, *, limit: int = 10_000, budget: Budget | None = None) -> CXpForest:
        """Return the paper's forest, one tree per CXp, which this is already unless its trees share one DAG.

        Raises
        ------
        BudgetError
            If there are more than `limit` CXps to list, or the budget was spent.
        """
        return self if self.sets.dag is None else CXpForest(self.features, self._listed(limit, budget=budget))

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The forest as a networkx DiGraph, one tree per CXp, or one DAG that all trees share when there are many.

        Nodes are numbered 1, 2, ... as in the paper's figure. A node has ``tree`` (the number of
        its tree, from 1), ``kind`` (``"feature"`` or ``"leaf"``), ``label``, and ``feature`` or
        ``value`` (0 or 1). Roots carry ``weight`` and ``cxp``. An edge has ``member``: whether
        it is taken when the feature is in S. The graph has ``n`` and ``features``.

        In a shared one a path from node 1 to the node of kind ``"end"`` is a CXp and a way of changing its features.
        Nodes have ``kind`` (``"branch"`` or ``"end"``) and ``label``. An edge has ``feature``, the name of the feature
        that is changed or None, ``weight``, a Fraction, and ``label``. The weight of a CXp is the sum over its paths
        of the product of the edges' weights.

        Raises
        ------
        BudgetError
            If the forest's budget was spent.
        """
        import networkx as nx

        graph, account = nx.DiGraph(n=self.n, features=self.features), self._account()
        if self.sets.dag is not None:
            self._add_shared(graph, self.sets.dag, account)
            return graph
        of = self._listed().weights
        for number, mask in enumerate(account.paced(sorted_sets(of)), start=1):
            self._add_tree(graph, number, self._names(mask), Fraction(of[mask]))
        return graph

    def _add_tree(self, graph: nx.DiGraph, number: int, cxp: tuple[str, ...], weight: Fraction) -> None:
        node = graph.number_of_nodes() + 1
        graph.add_node(node, tree=number, kind="feature", label=cxp[0], feature=cxp[0], weight=weight, cxp=cxp)
        for following in (*cxp[1:], None):
            absent, present = graph.number_of_nodes() + 1, graph.number_of_nodes() + 2
            if following is None:
                graph.add_node(absent, tree=number, kind="leaf", label="0", value=0)
            else:
                graph.add_node(absent, tree=number, kind="feature", label=following, feature=following)
            graph.add_node(present, tree=number, kind="leaf", label="1", value=1)
            graph.add_edge(node, absent, member=False, label="not in S")
            graph.add_edge(node, present, member=True, label="in S")
            node = absent

    def _add_shared(self, graph: nx.DiGraph, dag: WeightedDag, account: Account) -> None:
        # The DAG has its end as node 0 and its root last; it is numbered from the root, as listed forests are.
        last = len(dag.arcs)
        for node in account.paced(reversed(range(last))):
            tested = {e for _, e, _ in dag.arcs[node]} - {NO_ELEMENT}
            label = " ".join(self.features[e] for e in sorted(tested)) if node else "end"
            graph.add_node(last - node, kind="branch" if node else "end", label=label)
        for node, arcs in enumerate(account.paced(dag.arcs)):
            for child, element, factor in arcs:
                name = None if element == NO_ELEMENT else self.features[element]
                weight = Fraction(factor, 1 if name is None else dag.whole)
                label = "kept" if name is None else f"{name}: {weight}"
                graph.add_edge(last - node, last - child, feature=name, weight=weight, label=label)

    def _account(self) -> Account:
        return Account(self.budget, goal="graph of the forest", advice="allow more, or limit max_size")

    @checked("path")
    def to_graphml(self, path: str | os.PathLike[str]) -> None:
        """Write the forest as GraphML; weights become strings such as ``"5/3"``.

        Raises
        ------
        BudgetError
            If the forest's budget was spent; writing itself is not interrupted.
        FileWriteError
            If the file cannot be written.
        """
        import networkx as nx

        graph = self._plain_graph()
        # networkx writes it step by step, and packs it if the name says so: beforehand, elsewhere.
        with writing(path, "The forest"), TemporaryDirectory() as folder:
            made = Path(folder, Path(path).name)
            nx.write_graphml(graph, made)
            write_whole(path, made.read_bytes(), what="The forest")

    def _plain_graph(self) -> nx.DiGraph:
        """Return the graph with attributes that a file can hold."""
        import networkx as nx

        account = self._account()
        # n as text: the widest integer of GraphML has 64 bits, and a shared forest may have far more CXps.
        plain = nx.DiGraph(n=str(self.graph.graph["n"]), features=_text(tuple(self.graph.graph["features"])))
        for node, data in account.paced(self.graph.nodes(data=True)):
            plain.add_node(node, **_plain(data))
        for a, b, data in account.paced(self.graph.edges(data=True)):
            plain.add_edge(a, b, **_plain(data))
        return plain

    @checked("path")
    def to_dot(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the forest in Graphviz's language, and write it to `path` if one is given.

        Raises
        ------
        BudgetError
            If the forest's budget was spent.
        FileWriteError
            If the file cannot be written.
        """
        account = self._account()
        lines = ["digraph cxp_forest {", "  node [fontname=Helvetica]; edge [fontname=Helvetica, fontsize=10];"]
        for node, data in account.paced(self.graph.nodes(data=True)):
            shape = "ellipse" if data["kind"] in ("feature", "branch") else "box"
            note = f"\\nw = {data['weight']}" if "weight" in data else ""
            label = _text(data["label"]).replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  {node} [shape={shape}, label="{label}{note}"];')
        for a, b, data in account.paced(self.graph.edges(data=True)):
            style = "bold" if data.get("member") or data.get("feature") else "dashed"
            lines.append(f'  {a} -> {b} [style={style}, label="{data["label"]}"];')
        text = "\n".join([*lines, "}"]) + "\n"
        if path is not None:
            write_whole(path, text, what="The forest")
        return text


def _mask(S: FeatureNames, features: tuple[str, ...]) -> int:
    """Return names as an int whose bit i is feature i."""
    position = {n: i for i, n in enumerate(features)}
    mask = 0
    for name in feature_names(S):
        if not isinstance(name, str) or name not in position:
            raise unknown(name, features)
        mask |= 1 << position[name]
    return mask


def _plain(data: Mapping[str, object]) -> dict[str, object]:
    """Return attributes as a file can hold them; those that are None are left out."""
    return {k: v if isinstance(v, int) else _text(v) for k, v in data.items() if v is not None}


def _text(value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return _NOT_IN_XML.sub("\ufffd", text)
