"""The dialect of d4: nodes have numbers, arcs are lines of their own and carry literals."""

from __future__ import annotations

from collections.abc import Sequence

from axfi_kc.formats.nnf_nodes import CONJUNCTION, DISJUNCTION, LITERAL, Nnf
from axfi_kc.formats.text_lines import Source, integers

__all__ = ["d4_lines", "parse_d4"]

_KINDS = {b"o": DISJUNCTION, b"a": CONJUNCTION, b"t": CONJUNCTION, b"f": DISJUNCTION}
_ROOT = 1
_TRUE = -1  # where an arc leads that carries only literals


class _Lines:
    """The nodes and arcs of a file by their numbers, in no order."""

    def __init__(self, source: Source, n_variables: int) -> None:
        self.source = source
        self.n_variables = n_variables
        self.kind_of: dict[int, int] = {}
        self.line_of: dict[int, int] = {}
        self.is_leaf: set[int] = set()
        self.arcs_of: dict[int, list[Sequence[int]]] = {}  # (line, child, literals...)
        for number, line in source.numbered():
            words = line.split()
            if words and words[0] != b"c":
                self._add(number, words)
        if _ROOT not in self.kind_of:
            source.fail(-1, f"a root, node {_ROOT}", "none")

    def _add(self, number: int, words: list[bytes]) -> None:
        is_node = words[0] in _KINDS
        numbers = integers(words[1:] if is_node else words)
        if numbers is None or not numbers or numbers[-1] != 0:
            self.source.fail_at(number, "a node 'o|a|t|f number 0' or an arc 'from to literals... 0'")
        if len(numbers) != 2 if is_node else 0 in numbers[:-1]:
            self.source.fail(
                number,
                "a plain line of d4",
                "the fields of d4's certified variant",
                "have d4 write the circuit without certificate",
            )
        if is_node:
            self._add_node(number, words[0], numbers[0])
        else:
            self._add_arc(number, numbers)

    def _add_node(self, number: int, letter: bytes, node: int) -> None:
        if node < 1 or node in self.kind_of:
            self.source.fail(number, "a node number above 0 that is new", str(node))
        self.kind_of[node] = _KINDS[letter]
        self.line_of[node] = number
        if letter in (b"t", b"f"):
            self.is_leaf.add(node)

    def _add_arc(self, number: int, numbers: list[int]) -> None:
        literals = numbers[2:-1]
        if len(numbers) < 3:
            self.source.fail_at(number, "an arc 'from to literals... 0'")
        if literals and max(max(literals), -min(literals)) > self.n_variables:
            self.source.fail_at(number, f"literals of the variables 1 to {self.n_variables}")
        self.arcs_of.setdefault(numbers[0], []).append((number, *numbers[1:-1]))

    def children_first(self) -> list[int]:
        """Return the nodes below the root, each after its children."""
        self._check_arcs()
        order: list[int] = []
        left = {_ROOT: len(self.arcs_of.get(_ROOT, ()))}  # arcs of an open node still to follow
        stack = [_ROOT]
        while stack:
            node = stack[-1]
            if not left[node]:
                left[node] = -1  # closed
                self.source.account.spend(1)
                order.append(stack.pop())
                continue
            left[node] -= 1
            arc = self.arcs_of[node][left[node]]
            if arc[1] not in left:
                left[arc[1]] = len(self.arcs_of.get(arc[1], ()))
                stack.append(arc[1])
            elif left[arc[1]] >= 0:
                self.source.fail(arc[0], "an acyclic circuit", f"an arc back to node {arc[1]}")
        return order

    def _check_arcs(self) -> None:
        for node, arcs in self.arcs_of.items():
            if node not in self.kind_of or node in self.is_leaf:
                found = "a constant" if node in self.is_leaf else "which no line declares"
                self.source.fail(arcs[0][0], "an arc from a node 'o' or 'a'", f"one from node {node}, {found}")
            for arc in arcs:
                if arc[1] not in self.kind_of:
                    self.source.fail(arc[0], "an arc to a declared node", f"one to node {arc[1]}")


def parse_d4(source: Source, *, n_variables: int) -> Nnf:
    """Return the nodes of a file in d4's dialect.

    Raises
    ------
    ModelFileError
        If the file is damaged, or of the certified variant.

    Notes
    -----
    Linear. Nodes that the root does not reach are left out.
    """
    lines = _Lines(source, n_variables)
    nnf, literals, number = Nnf(n_variables), dict[int, int](), dict[int, int]()
    for node in lines.children_first():
        parts: list[int] = []
        for _, child, *carried in lines.arcs_of.get(node, ()):
            for literal in carried:
                if literal not in literals:
                    literals[literal] = nnf.add(LITERAL, (literal,))
            if carried:
                parts.append(nnf.add(CONJUNCTION, [*(literals[k] for k in carried), number[child]]))
            else:
                parts.append(number[child])
        number[node] = nnf.add(lines.kind_of[node], parts)
    return nnf


def d4_lines(nnf: Nnf) -> list[str]:
    """Return the lines of a file in d4's dialect; conjunctions of literals and at most one gate become arcs."""
    ends = _ends(nnf)
    last = len(nnf.kinds) - 1
    named = [node for node in reversed(range(len(nnf.kinds))) if ends[node][1:] == () or node == last]
    number = {node: k for k, node in enumerate(named, 1)}
    number[_TRUE] = len(number) + 1
    lines = [f"{_letter(nnf, node)} {number[node]} 0" for node in named]
    arcs = [arc for node in named for arc in _arcs(nnf, node, ends)]
    if any(arc[1] == _TRUE for arc in arcs):
        lines.append(f"t {number[_TRUE]} 0")
    lines += [" ".join(map(str, (number[start], number[end], *literals, 0))) for start, end, *literals in arcs]
    return lines


def _letter(nnf: Nnf, node: int) -> str:
    if nnf.parts[node]:
        return "o" if nnf.kinds[node] == DISJUNCTION else "a"
    return "f" if nnf.kinds[node] == DISJUNCTION else "t"


def _ends(nnf: Nnf) -> list[tuple[int, ...]]:
    """Return for each node where an arc to it leads, and the literals that such an arc carries."""
    ends: list[tuple[int, ...]] = []
    for node, (kind, parts) in enumerate(zip(nnf.kinds, nnf.parts, strict=True)):
        end: tuple[int, ...] = (node,)
        if kind == LITERAL:
            end = _TRUE, parts[0]
        elif kind == CONJUNCTION:
            gates = [part for part in parts if nnf.kinds[part] != LITERAL]
            if len(gates) < min(2, len(parts)) and all(ends[gate] == (gate,) for gate in gates):
                end = (*(gates or [_TRUE]), *(nnf.parts[part][0] for part in parts if nnf.kinds[part] == LITERAL))
        ends.append(end)
    return ends


def _arcs(nnf: Nnf, node: int, ends: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the arcs of a node; the literals of a conjunction go on one arc."""
    if nnf.kinds[node] == DISJUNCTION:
        return [(node, *ends[part]) for part in nnf.parts[node]]
    if ends[node] != (node,):
        return [(node, *ends[node])]
    gates = [(node, *ends[part]) for part in nnf.parts[node] if nnf.kinds[part] != LITERAL]
    literals = [nnf.parts[part][0] for part in nnf.parts[node] if nnf.kinds[part] == LITERAL]
    return [*gates, (node, _TRUE, *literals)] if literals else gates
