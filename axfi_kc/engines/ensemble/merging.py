"""Adds trees up to fewer and larger ones before they are searched."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from axfi_kc.engines.ensemble.merge_kernels import join

__all__ = ["merged"]


Int32s = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
_MOST = 64  # leaves of a sum: they fit one word
_NEIGHBOURS = 32  # trees that are tried as partners, so that the time is linear in the number of trees


def merged(
    node: Int32s, value: Ints, counts: Int32s, roots: list[Int32s], cells: Ints
) -> tuple[Int32s, Ints, list[Int32s]]:
    """Return the same scores as sums of fewer trees, each of at most 64 leaves unless it was larger.

    Parameters
    ----------
    node, value, counts
        Trees in preorder, one after the other; see :class:`.bound_kernels.Ensemble`.
    roots
        For each score where its trees begin.
    cells
        The number of cells of each feature.

    Notes
    -----
    Trees of one score are added up greedily, those first that agree on fewest leaves. O(T) sums of up to 64 leaves for
    T trees.
    """
    sizes = np.diff(np.concatenate([*roots, [len(node)]]))
    work = _Workshop.of(node, value, counts, cells, len(sizes))
    leaves = iter(np.split((sizes + 1) // 2, np.cumsum([len(root) for root in roots])[:-1]))
    trees = [work.sums(root, next(leaves)) for root in roots]
    return work.compact(trees)


@dataclass(eq=False)
class _Workshop:
    """Trees, and room for their sums behind them."""

    node: Int32s
    value: Ints
    counts: Int32s
    lo: Ints
    hi: Ints
    at: int  # the first free row
    trail: Ints = field(default_factory=lambda: np.empty((4 * _MOST, 3), np.int64))
    todo: Ints = field(default_factory=lambda: np.empty((4 * _MOST, 8), np.int64))

    @classmethod
    def of(cls, node: Int32s, value: Ints, counts: Int32s, cells: Ints, n_trees: int) -> _Workshop:
        more = 2 * _MOST * n_trees
        node = np.concatenate([node, np.zeros((more, node.shape[1]), np.int32)])
        value = np.concatenate([value, np.zeros((more, value.shape[1]), np.int64)])
        return cls(node, value, counts, np.zeros_like(cells), cells.copy(), len(node) - more)

    def sums(self, root: Int32s, leaves: Ints) -> list[tuple[int, int]]:
        """Return where the sums of some trees are, and their leaves."""
        found = []
        for t in range(len(root)):
            if not leaves[t]:
                continue
            a, mine = int(root[t]), int(leaves[t])
            while mine < _MOST:
                left = np.flatnonzero(leaves[t + 1 :])[:_NEIGHBOURS] + t + 1
                last = int(left[-1]) + 1 if len(left) else t + 1
                scratch = self.lo, self.hi, self.trail, self.todo
                trees = self.node, self.value, self.counts, a, mine, root, leaves
                k = join(*trees, t + 1, last, *scratch, self.at, _MOST)
                if k < 0:
                    break
                a, mine, leaves[k] = self.at, int(leaves[k]), 0
                self.at += 2 * mine - 1
            found.append((a, mine))
        return found

    def compact(self, trees: list[list[tuple[int, int]]]) -> tuple[Int32s, Ints, list[Int32s]]:
        """Return the rows of some trees, one after the other, and where those of each score begin."""
        at, roots, rows = 0, [], [np.zeros(0, np.int64)]
        for of_score in trees:
            begin = []
            for a, leaves in of_score:
                rows.append(np.arange(a, a + 2 * leaves - 1))
                begin.append(at)
                at += 2 * leaves - 1
            roots.append(np.array(begin, np.int32))
        kept = np.concatenate(rows)
        node = self.node[kept]
        moved = np.arange(len(kept)) - kept
        node[:, 1] += np.where(node[:, 0] >= 0, moved, 0).astype(np.int32)
        return node, self.value[kept], roots
