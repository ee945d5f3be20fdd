"""Residual trees of an ensemble of small trees, each made once; compiled by numba.

What :class:`~axfi_kc.compilers.residual_trees.OrderedTrees` does, for trees whose leaves are the bits of one word. A
set of leaves that can still be reached is a word, and what is known of it is found by hashing: for each tree first down
over the features, in the order of the diagram, to all sets that are met, then up again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from axfi_kc.budget import DONE, STORE_FULL
from axfi_kc.circuits.targets.mdd_kernels import mixed, tag_of
from axfi_kc.compiled import flat_kernel, part
from axfi_kc.compilers.limb_kernels import add, copy, is_less, subtract

__all__ = ["MOST_LEAVES", "N_MADE", "N_MADE_ARCS", "N_MET", "REGISTERS", "TREE", "Ensemble", "Made", "Met", "residuals"]


MOST_LEAVES = 62

# registers: the tree in work, residual trees and their arcs, and sets that were met altogether
TREE, N_MADE, N_MADE_ARCS, N_MET = range(4)
REGISTERS = 4


class Ensemble(NamedTuple):
    """Trees over cells, as in :class:`~axfi_kc.models.TreeSum`, and the place of each feature and its cells."""

    roots: np.ndarray
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    leaf: np.ndarray
    mask_offset: np.ndarray
    left_mask: np.ndarray
    places: np.ndarray
    n_cells: np.ndarray


class Met(NamedTuple):
    """What is known of the tree in work.

    `nodes` are its nodes, parents first, and `below` has the leaves below each; `rows` has the values of its leaves.
    The j-th of its features is ``tested[j]``, with the runs ``run_starts[j]:run_starts[j + 1]``: where each ends, and
    the leaves open to it. `sets` are the sets of leaves met, `table` finds them, and each is an amount and a residual
    tree; ``layers[starts[j]:starts[j + 1]]`` are those for which the j-th feature matters.
    """

    nodes: np.ndarray
    below: np.ndarray
    rows: np.ndarray
    tests: np.ndarray
    tested: np.ndarray
    run_starts: np.ndarray
    run_ends: np.ndarray
    run_sets: np.ndarray
    sets: np.ndarray
    slots: np.ndarray
    marks: np.ndarray
    amounts: np.ndarray
    trees: np.ndarray
    table: np.ndarray
    layers: np.ndarray
    starts: np.ndarray


class Made(NamedTuple):
    """Residual trees, as in :class:`~axfi_kc.compilers.sum_kernels.Trees`; and what each whole tree is."""

    places: np.ndarray
    mosts: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    amounts: np.ndarray
    children: np.ndarray
    table: np.ndarray
    root_amounts: np.ndarray
    root_trees: np.ndarray


@part
def _listed(ensemble, met, root):
    """List the nodes of a tree, parents first, and the leaves below each; return how many nodes and leaves."""
    feature, left, right = ensemble.feature, ensemble.left, ensemble.right
    nodes, below, rows = met.nodes, met.below, met.rows
    nodes[0] = root
    n, n_leaves, k = np.int64(1), np.int64(0), np.int64(0)
    while k < n:
        node = nodes[k]
        if feature[node] < 0:
            below[node - root] = np.int64(1) << n_leaves
            rows[n_leaves] = ensemble.leaf[node]
            n_leaves += 1
        else:
            nodes[n] = left[node]
            nodes[n + 1] = right[node]
            n += 2
        k += 1
    for k in range(n - 1, -1, -1):
        node = nodes[k]
        if feature[node] >= 0:
            below[node - root] = below[left[node] - root] | below[right[node] - root]
    return n, n_leaves


@part
def _tested(ensemble, met, n):
    """List the features that n nodes test, in their order; return how many."""
    feature, places, nodes, tested = ensemble.feature, ensemble.places, met.nodes, met.tested
    count = np.int64(0)
    for k in range(n):
        i = feature[nodes[k]]
        if i < 0:
            continue
        at = count
        while at > 0 and places[tested[at - 1]] > places[i]:
            at -= 1
        if at > 0 and tested[at - 1] == i:
            continue
        for j in range(count, at, -1):
            tested[j] = tested[j - 1]
        tested[at] = i
        count += 1
    return count


@part
def _cut(ensemble, met, root, n, n_tested, everything):
    """Cut the cells of each tested feature into runs with the same open leaves."""
    _, feature, left, right, _, offsets, sides, _, n_cells = ensemble
    nodes, below, tests, starts, ends, sets = (
        met.nodes,
        met.below,
        met.tests,
        met.run_starts,
        met.run_ends,
        met.run_sets,
    )
    run = np.int64(0)
    for j in range(n_tested):
        i = met.tested[j]
        count = 0
        for k in range(n):
            if feature[nodes[k]] == i:
                tests[count] = nodes[k]
                count += 1
        starts[j] = run
        for cell in range(n_cells[i]):
            is_open = everything
            for k in range(count):
                node = tests[k]
                # A cell that goes left closes all leaves on the right, and the other way round.
                closed = right[node] if sides[offsets[node] + cell] else left[node]
                is_open &= ~below[closed - root]
            if run == starts[j] or sets[run - 1] != is_open:
                sets[run] = is_open
                run += 1
            ends[run - 1] = cell + 1
    starts[n_tested] = run


@part
def _entered(met, s, count):
    """Return the number of a set of leaves, of which `count` are known; a new one is entered."""
    sets, slots, marks, table = met.sets, met.slots, met.marks, met.table
    slot = tag_of(mixed(np.uint64(1), s)) & (table.shape[0] - 1)
    while table[slot]:
        known = table[slot] - 1
        if sets[known] == s:
            return known
        slot = (slot + 1) & (table.shape[0] - 1)
    table[slot] = count + 1
    sets[count] = s
    slots[count] = slot
    marks[count] = -1
    return count


@part
def _settle(met, values, number, limbs):
    """Tell whether the leaves of a set have different values; if not, it is a constant."""
    s, rows = met.sets[number], met.rows
    width = np.int64(len(limbs))
    bit = np.int64(0)
    while not s >> bit & 1:
        bit += 1
    first = rows[bit] * width
    while s >> bit:
        if s >> bit & 1:
            for limb in range(len(limbs)):
                if values[rows[bit] * width + limb] != values[first + limb]:
                    return True
        bit += 1
    copy(values, first, met.amounts, number * width, limbs)
    met.trees[number] = 0
    return False


@part
def _down(met, values, n_tested, everything, limbs):
    """Enter all sets of leaves that are met, by layers; return how many there are, or -1 for want of room."""
    sets, marks, layers, starts, table = met.sets, met.marks, met.layers, met.starts, met.table
    run_starts, run_sets = met.run_starts, met.run_sets
    most = min(sets.shape[0], table.shape[0] // 2) - 1
    known = _entered(met, everything, np.int64(0)) + 1
    layers[0] = 0
    starts[0] = 0
    end = np.int64(1)
    for j in range(n_tested):
        # One value left means that no later feature matters: such sets leave the layer.
        kept = starts[j]
        for k in range(starts[j], end):
            if _settle(met, values, layers[k], limbs):
                layers[kept] = layers[k]
                kept += 1
        starts[j + 1] = kept
        end = kept
        for k in range(starts[j], kept):
            for run in range(run_starts[j], run_starts[j + 1]):
                if known >= most or end >= layers.shape[0]:
                    return np.int64(-1), known
                # Never an empty set: some leaf takes any completion of the cells chosen so far.
                number = _entered(met, sets[layers[k]] & run_sets[run], known)
                known = max(known, number + 1)
                if marks[number] != j:
                    marks[number] = j
                    layers[end] = number
                    end += 1
    for k in range(starts[n_tested], end):
        _settle(met, values, layers[k], limbs)
    return starts[n_tested], known


@part
def _are_same_arcs(made, a, b, n, limbs):
    ends, amounts, children = made.ends, made.amounts, made.children
    for k in range(n):
        if ends[a + k] != ends[b + k] or children[a + k] != children[b + k]:
            return False
    width = np.int64(len(limbs))
    for k in range(n * width):  # noqa: SIM110  # numba compiles loops
        if amounts[a * width + k] != amounts[b * width + k]:
            return False
    return True


@part
def _made(met, made, reg, number, j, place, limbs):
    """Make the residual tree of a set for which the j-th feature, at `place`, is the first that may matter."""
    places, mosts, starts, ends, amounts, children, table, _, _ = made
    known = met.amounts
    width = np.int64(len(limbs))
    first = reg[N_MADE_ARCS]
    arc, best = first, np.int64(-1)
    for run in range(met.run_starts[j], met.run_starts[j + 1]):
        below = _entered(met, met.sets[number] & met.run_sets[run], np.int64(-1))
        child = met.trees[below]
        is_other = arc == first or children[arc - 1] != child
        if not is_other:
            for limb in range(len(limbs)):
                is_other = is_other or amounts[(arc - 1) * width + limb] != known[below * width + limb]
        if is_other:
            copy(known, below * width, amounts, arc * width, limbs)
            children[arc] = child
            if best < 0 or is_less(known, below * width, amounts, best * width, limbs):
                best = arc
            arc += 1
        ends[arc - 1] = met.run_ends[run]
    if arc == first + 1:  # all cells do the same, so the feature is not tested
        copy(amounts, first * width, known, number * width, limbs)
        met.trees[number] = children[first]
        return
    # Normalised to least value 0: trees that differ by a constant are one.
    copy(amounts, best * width, known, number * width, limbs)
    h = mixed(np.uint64(place), arc - first)
    for k in range(first, arc):
        subtract(amounts, k * width, known, number * width, amounts, k * width, limbs)
        h = mixed(h, children[k] << 32 | ends[k])
        for limb in range(len(limbs)):
            h = mixed(h, amounts[k * width + limb])
    slot = tag_of(h) & (table.shape[0] - 1)
    while table[slot]:
        tree = table[slot]
        begin = starts[tree]
        if (
            places[tree] == place
            and starts[tree + 1] - begin == arc - first
            and _are_same_arcs(made, begin, first, arc - first, limbs)
        ):
            met.trees[number] = tree
            return
        slot = (slot + 1) & (table.shape[0] - 1)
    tree = reg[N_MADE]
    table[slot] = tree
    places[tree] = place
    starts[tree + 1] = arc
    copy(amounts, first * width, mosts, tree * width, limbs)
    for k in range(first, arc):
        # where the next tree's will be, for which there is room
        add(amounts, k * width, mosts, children[k] * width, mosts, (tree + 1) * width, limbs)
        if is_less(mosts, tree * width, mosts, (tree + 1) * width, limbs):
            copy(mosts, (tree + 1) * width, mosts, tree * width, limbs)
    met.trees[number] = tree
    reg[N_MADE], reg[N_MADE_ARCS] = tree + 1, arc


@flat_kernel(ensemble=Ensemble, met=Met, made=Made)
def residuals(ensemble, values, met, made, reg, limbs):
    """Make the residual trees of an ensemble with the given values of leaves; STORE_FULL asks for more room."""
    roots, places, table, slots, starts = ensemble.roots, ensemble.places, met.table, met.slots, met.starts
    width = np.int64(len(limbs))
    for tree in range(reg[TREE], roots.shape[0] - 1):
        root = roots[tree]
        n, n_leaves = _listed(ensemble, met, root)
        everything = (np.int64(1) << n_leaves) - 1
        # A tree whose leaves are all alike, as in the sums that are of other classes, tests nothing.
        met.sets[0] = everything
        n_tested = _tested(ensemble, met, n) if _settle(met, values, np.int64(0), limbs) else np.int64(0)
        _cut(ensemble, met, root, n, n_tested, everything)
        n_met, n_known = _down(met, values, n_tested, everything, limbs)
        widest = np.int64(0)
        for j in range(n_tested):
            widest = max(widest, met.run_starts[j + 1] - met.run_starts[j])
        is_full = (
            n_met < 0
            or reg[N_MADE] + n_met + 2 >= min(made.starts.shape[0], made.table.shape[0] // 2)
            or reg[N_MADE_ARCS] + (n_met + 1) * widest > made.ends.shape[0]
        )
        if not is_full:
            # From the last feature up: sets of a layer lead to sets that are done.
            for j in range(n_tested - 1, -1, -1):
                for k in range(starts[j], starts[j + 1]):
                    _made(met, made, reg, met.layers[k], j, places[met.tested[j]], limbs)
            copy(met.amounts, np.int64(0), made.root_amounts, tree * width, limbs)
            made.root_trees[tree] = met.trees[0]
            reg[N_MET] += n_met
        for k in range(n_known):
            table[slots[k]] = 0
        if is_full:
            reg[N_MET] += n_known
            return STORE_FULL
        reg[TREE] = tree + 1
    return DONE
