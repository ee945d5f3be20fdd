"""Probabilistic sentential decision diagrams in files: ``.psdd`` beside a ``.vtree``.

Parameters are natural logarithms in decimals. The exponential of one is not rational: it is taken as the float64 that
the machine gives for it, and at each decision the largest probability is then what the others leave of 1, so that
everything after it is exact.

Programs write the header in three ways: ``psdd`` and the number of nodes (LearnPSDD, PySDD); the number of nodes and
elements together (Juice, to which an element is a product); or the number of variables, and then that of nodes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from axfi_kc.arguments import checked
from axfi_kc.budget import Budget
from axfi_kc.circuits.files.sdd import parse_vtree
from axfi_kc.circuits.files.text_lines import FilePath, Source, integers
from axfi_kc.circuits.files.variables import Variables
from axfi_kc.circuits.psdd import Elements, Psdd
from axfi_kc.circuits.targets.vtrees import Vtree
from axfi_kc.domain.distribution import States
from axfi_kc.domain.domain import Domain

__all__ = ["read_psdd"]


_TOLERANCE = 1e-6  # how far from 1 the probabilities of a decision may add up
_LOGARITHM = re.compile(rb"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?|-inf(?:inity)?")
_NODE = (
    "'L id vtree literal', 'T id vtree variable logarithm', the same with the logarithm for false before it, or "
    "'D id vtree n (prime sub logarithm)...' with a new id, children above it, and logarithms of probabilities"
)


@checked("path", "domain", "vtree", "code", "budget")
def read_psdd(
    path: FilePath, domain: Domain, *, vtree: FilePath | None = None, code: str = "direct", budget: Budget | None = None
) -> Psdd:
    r"""Return the distribution in a ``.psdd`` file, over the bits of a domain's features.

    Parameters
    ----------
    path
        The file.
    domain
        Finite; variable k of the file is bit k of its features' codes, in the order of the features.
    vtree
        The file of the vtree; by default `path` with the suffix ``.vtree``.
    code
        How values are written in bits: "direct", "order" or "binary"; see
        :func:`axfi_kc.circuits.targets.bit_codes.bits_of`. Bit vectors that are no code have no probability.
    budget
        What reading may cost; a node of it is a line.

    Raises
    ------
    ModelFileError
        If a file is damaged, or the diagram does not match its vtree.
    DomainError
        If the bits are not those of the domain, or all codes have probability 0.

    Notes
    -----
    Linear in the files. A header may count nodes, or nodes and elements together, as those of Juice do. A last line
    without its end is read if it has one element, whose probability is 1; otherwise it is refused, as digits may be
    missing.

    Examples
    --------
    >>> import tempfile
    >>> from axfi_kc.domain import Integer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.vtree").write_text("vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n")
    ...     text = f"psdd 3\nT 0 0 1 {math.log(0.5)}\nT 1 2 2 {math.log(0.25)}\nD 2 1 1 0 1 0.0\n"
    ...     _ = Path(folder, "a.psdd").write_text(text)
    ...     read_psdd(Path(folder, "a.psdd"), Domain([Integer("a", 0, 1), Integer("b", 0, 1)])).total([[0, 1], [0, 1]])
    Fraction(1, 8)
    """
    source = Source(path, budget=budget)
    tree, number = parse_vtree(source.beside(Path(path).with_suffix(".vtree") if vtree is None else vtree))
    parsed = _Parser(source, tree, number)
    parsed.read()
    known = Variables.given(domain, None, code, kind="A .psdd file")
    bits = Psdd.bits_of([bit for bit in known.bits if bit is not None])
    leaves = sorted(leaf for leaf in tree.leaves if leaf >= 0)
    if leaves != list(range(len(bits))):
        expected = f"a vtree of {len(bits)} variables, as many as the features have bits in the code {code!r}"
        source.fail(-1, expected, f"one of {len(leaves)}", "name the code it was made with")
    states = tuple(States.of(feature) for feature in domain.features)
    rows = tuple(parsed.places), tuple(parsed.leaves), tuple(parsed.elements)
    return Psdd(states, bits, tree, *rows, source.account.rest())


class _Parser:
    """Reads the lines of a file; every node is checked to match the vtree."""

    def __init__(self, source: Source, tree: Vtree, number: dict[int, int]) -> None:
        self._source, self._tree, self._number = source, tree, number
        self._node: dict[int, int] = {}
        self.places: list[int] = []
        self.leaves: list[Fraction | None] = []
        self.elements: list[Elements] = []

    def read(self) -> None:
        """Read all nodes; the last one must be the root's."""
        claimed, last, letter = -1, -1, b""
        for line, text in self._source.numbered():
            words = text.split()
            if not words or words[0] == b"c":
                continue
            if claimed < 0:
                claimed = self._header(line, words)
            else:
                self._add(line, words)
                last, letter = line, words[0]
        if last < 0:
            self._source.fail(-1, "the header 'psdd nodes' and a node", "none")
        if self.places[-1] != self._tree.root:
            self._source.fail(
                -1,
                "a last node at the root of the vtree",
                "one below it",
                "write the file again, or give the vtree it was made with",
            )
        n_nodes, n_elements = len(self.places), sum(map(len, self.elements))
        if not n_nodes <= claimed <= n_nodes + n_elements:
            found = f"{n_nodes} nodes and {n_elements} elements"
            self._source.fail(-1, f"the {claimed} nodes, or nodes and elements, that the header claims", found)
        # The parameter of a single element is 1, whatever digits its logarithm may lack, and a literal is the vtree's.
        if letter == b"T" or len(self.elements[-1]) > 1:
            self._source.require_end(last)

    def _header(self, line: int, words: Sequence[bytes]) -> int:
        """Return how many nodes, or nodes and elements, a file claims to have."""
        numbers = integers(words[1:])
        if words[0] != b"psdd" or numbers is None or len(numbers) not in (1, 2) or numbers[-1] < 1:
            self._source.fail_at(line, "the header 'psdd nodes', or 'psdd variables nodes'")
        n_variables = sum(leaf >= 0 for leaf in self._tree.leaves)
        if len(numbers) == 2 and numbers[0] != n_variables:
            self._source.fail(line, f"the {n_variables} variables of the vtree", str(numbers[0]))
        return numbers[-1]

    def _add(self, line: int, words: Sequence[bytes]) -> None:
        letter = words[0]
        fixed = 4 if letter == b"D" else 4 if letter in (b"L", b"T") else 0
        numbers = integers(words[1:fixed])
        if numbers is None or len(numbers) != 3 or numbers[0] < 0 or numbers[0] in self._node:
            self._source.fail_at(line, _NODE)
        place = self._number.get(numbers[1])
        if place is None:
            self._source.fail_at(line, "a node that matches the vtree")
        if letter == b"D":
            elements = self._decision(line, place, numbers[2], words[4:])
            self.elements.append(elements)
            self.leaves.append(None)
        else:
            self.leaves.append(self._leaf(line, letter, place, numbers[2], words[4:]))
            self.elements.append(())
        self._node[numbers[0]] = len(self.places)
        self.places.append(place)

    def _leaf(self, line: int, letter: bytes, place: int, literal: int, rest: Sequence[bytes]) -> Fraction:
        if self._tree.leaves[place] != abs(literal) - 1 or (letter == b"T" and literal < 0):
            self._source.fail_at(line, "a node that matches the vtree")
        if letter == b"L":
            if rest:
                self._source.fail_at(line, _NODE)
            return Fraction(int(literal > 0))
        if len(rest) not in (1, 2):
            self._source.fail_at(line, _NODE)
        chances = [self._probability(line, word) for word in rest]
        if len(rest) == 2:  # that of false comes first
            self._complete(line, chances)
        return min(chances[-1], Fraction(1))

    def _probability(self, line: int, word: bytes) -> Fraction:
        logarithm = float(word) if _LOGARITHM.fullmatch(word) else math.inf
        if logarithm > _TOLERANCE:
            self._source.fail_at(line, _NODE)
        return Fraction(math.exp(logarithm))

    def _decision(self, line: int, place: int, n: int, rest: Sequence[bytes]) -> Elements:
        ends = integers([word for k, word in enumerate(rest) if k % 3 < 2])
        if n < 1 or len(rest) != 3 * n or ends is None or any(k not in self._node for k in ends):
            self._source.fail_at(line, _NODE)
        primes, subs = ([self._node[k] for k in ends[side::2]] for side in (0, 1))
        left, right = self._tree.left[place], self._tree.right[place]
        wrong = left < 0 or any(self.places[k] != left for k in primes) or any(self.places[k] != right for k in subs)
        if wrong:
            self._source.fail_at(line, "a node that matches the vtree, primes on its left and subs on its right")
        chances = [self._probability(line, word) for word in rest[2::3]]
        self._complete(line, chances)
        return tuple(zip(primes, subs, chances, strict=True))

    def _complete(self, line: int, chances: list[Fraction]) -> None:
        """Let the largest of some probabilities be what the others leave of 1."""
        total = sum(chances, Fraction(0))
        if abs(total - 1) > _TOLERANCE:
            self._source.fail(line, "probabilities that add up to 1", f"{float(total):.6g}", "correct its logarithms")
        chances[chances.index(max(chances))] += 1 - total
