"""Random PSDDs over a vtree, as text, and their probabilities by the definition."""

from __future__ import annotations

import math
from random import Random

from axfi_kc.circuits.psdd import Psdd
from axfi_kc.circuits.targets.vtrees import Vtree


def psdd_text(rng: Random, vtree: Vtree, *, zeros: float = 0.1) -> str:
    """Return a file whose nodes are normalised for a vtree."""
    at, lines, nodes = vtree.in_order, list[str](), list[list[int]]()
    for node, (a, b, leaf) in enumerate(zip(vtree.left, vtree.right, vtree.leaves, strict=True)):
        own = list[int]()
        for _ in range(1 if node == vtree.root else rng.randint(1, 3)):
            name = len(lines)
            own.append(name)
            if a < 0:
                kind = rng.randrange(3)
                rest = f"{leaf + 1} {math.log(rng.random())!r}" if kind == 2 else f"{'-' * kind}{leaf + 1}"
                lines.append(f"{'T' if kind == 2 else 'L'} {name} {at[node]} {rest}")
            else:
                weights = [rng.random() * (rng.random() >= zeros) for _ in range(rng.randint(1, 3))]
                weights = weights if any(weights) else [1.0] * len(weights)
                shares = [math.log(w / sum(weights)) if w else -math.inf for w in weights]
                ends = [f"{rng.choice(nodes[a])} {rng.choice(nodes[b])} {share!r}" for share in shares]
                lines.append(f"D {name} {at[node]} {len(ends)} {' '.join(ends)}")
        nodes.append(own)
    return "\n".join([f"psdd {len(lines)}", *lines, ""])


def chance_of(psdd: Psdd, bits: tuple[int, ...]) -> float:
    """Return the probability of a bit vector, given nothing, by the definition (floats)."""

    def below(node: int) -> float:
        chance = psdd.leaves[node]
        if chance is not None:
            p = float(chance)
            return p if bits[psdd.vtree.leaves[psdd.places[node]]] else 1 - p
        return sum(float(p) * below(a) * below(b) for a, b, p in psdd.elements[node])

    return below(len(psdd.places) - 1)
