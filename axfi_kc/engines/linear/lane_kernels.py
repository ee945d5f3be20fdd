"""Sums over windows of sorted subsets, modulo sixteen primes at a time; compiled by numba on first use.

The hot loop of :mod:`axfi_kc.engines.linear.cover_sums`. Numba does not vectorise loops over sixteen numbers
(they are unrolled first, and it cannot know that arrays do not overlap), so the three operations that everything is
made of are written as LLVM vectors, which every processor has in some form. Residues are below 2**28 and in
Montgomery's form: x stands for ``x * 2**32`` modulo p, so that a product needs no division.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from axfi_kc.compiled import kernel

__all__ = ["LANES", "add_windows"]


LANES = 16
_SHORT = ir.VectorType(ir.IntType(32), LANES)
_LONG = ir.VectorType(ir.IntType(64), LANES)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any, vector: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _load(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    found = builder.load(_pointer(context, builder, kind, array, place, _SHORT))
    found.align = 4
    return found


def _store(context: Any, builder: Any, kind: Any, array: Any, place: Any, value: Any) -> None:
    builder.store(value, _pointer(context, builder, kind, array, place, _SHORT)).align = 4


def _constant(vector: Any, number: int) -> Any:
    return ir.Constant(vector, [number] * LANES)


def _least(builder: Any, value: Any, prime: Any, *, add: bool) -> Any:
    """Return a value that is off by one prime at most, in range: the wrong one of the two is far larger, unsigned."""
    other = builder.add(value, prime) if add else builder.sub(value, prime)
    return builder.select(builder.icmp_unsigned("<", value, other), value, other)


def _reduced(builder: Any, product: Any, prime: Any, inverse: Any) -> Any:
    """Return ``product / 2**32`` modulo p, by Montgomery's reduction, below 2p + product / 2**32."""
    low = builder.trunc(product, _SHORT)
    factor = builder.zext(builder.mul(low, inverse), _LONG)
    carried = builder.lshr(builder.mul(factor, builder.zext(prime, _LONG)), _constant(_LONG, 32))
    total = builder.add(builder.lshr(product, _constant(_LONG, 32)), carried)
    # The low halves cancel, which carries one unless both are 0. Added up here, not before: the sum may pass 2**64.
    one = builder.zext(builder.icmp_unsigned("!=", low, _constant(_SHORT, 0)), _LONG)
    return builder.trunc(builder.add(total, one), _SHORT)


@intrinsic
def _lane_add(typing: Any, out: Any, o: Any, a: Any, i: Any, b: Any, j: Any, prime: Any) -> Any:
    """Set lanes ``out[o:]`` to ``a[i:] + b[j:]``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        p = _load(context, builder, kinds[6], args[6], ir.Constant(ir.IntType(64), 0))
        x = _load(context, builder, kinds[2], args[2], args[3])
        y = _load(context, builder, kinds[4], args[4], args[5])
        total = _least(builder, builder.add(x, y), p, add=False)
        _store(context, builder, kinds[0], args[0], args[1], total)
        return context.get_dummy_value()

    return types.void(out, types.intp, a, types.intp, b, types.intp, prime), generate


@intrinsic
def _lane_multiply(typing: Any, out: Any, o: Any, a: Any, i: Any, b: Any, j: Any, prime: Any, inverse: Any) -> Any:
    """Set lanes ``out[o:]`` to ``a[i:] * b[j:]``, of which one may be as large as 2**31."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, zero = signature.args, ir.Constant(ir.IntType(64), 0)
        p = _load(context, builder, kinds[6], args[6], zero)
        n = _load(context, builder, kinds[7], args[7], zero)
        x = builder.zext(_load(context, builder, kinds[2], args[2], args[3]), _LONG)
        y = builder.zext(_load(context, builder, kinds[4], args[4], args[5]), _LONG)
        product = _least(builder, _reduced(builder, builder.mul(x, y), p, n), p, add=False)
        _store(context, builder, kinds[0], args[0], args[1], product)
        return context.get_dummy_value()

    return types.void(out, types.intp, a, types.intp, b, types.intp, prime, inverse), generate


@intrinsic
def _lane_window(
    typing: Any,
    out: Any,
    o: Any,
    powers: Any,
    last: Any,
    table: Any,
    high: Any,
    low: Any,
    n: Any,
    prime: Any,
    inverse: Any,
) -> Any:
    """Set lanes ``out[o:]`` to the sum over j < n of ``powers[last - j] * (table[high + j] - table[low + j])``.

    What is set is below 2**31, not below p: the sum is reduced once, and what follows is a product.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, wide = signature.args, ir.IntType(64)
        zero = ir.Constant(wide, 0)
        p = _load(context, builder, kinds[8], args[8], zero)
        begin, loop, end = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        j, total = builder.phi(wide), builder.phi(_LONG)
        j.add_incoming(zero, begin)
        total.add_incoming(_constant(_LONG, 0), begin)
        step = builder.mul(j, ir.Constant(wide, LANES))
        x = _load(context, builder, kinds[2], args[2], builder.sub(args[3], step))
        above = _load(context, builder, kinds[4], args[4], builder.add(args[5], step))
        below = _load(context, builder, kinds[4], args[4], builder.add(args[6], step))
        window = _least(builder, builder.sub(above, below), p, add=True)
        # Products are below 2**56, and there are at most 64 of them: no sum passes 2**62.
        added = builder.add(total, builder.mul(builder.zext(x, _LONG), builder.zext(window, _LONG)))
        following = builder.add(j, ir.Constant(wide, 1))
        j.add_incoming(following, loop)
        total.add_incoming(added, loop)
        builder.cbranch(builder.icmp_signed("<", following, args[7]), loop, end)
        builder.position_at_end(end)
        m = _load(context, builder, kinds[9], args[9], zero)
        _store(context, builder, kinds[0], args[0], args[1], _reduced(builder, added, p, m))
        return context.get_dummy_value()

    whole = types.intp
    return types.void(out, whole, powers, whole, table, whole, whole, whole, prime, inverse), generate


@kernel
def _fill_subsets(losses: Any, factors: Any, one: Any, prime: Any, inverse: Any, sums: Any, products: Any) -> None:
    """Set the sum of the losses, and the product of the factors, of every subset of one half."""
    for lane in range(LANES):
        sums[lane] = 0
        products[lane] = one[lane]
    n = len(losses) // LANES
    for i in range(n):
        half = 1 << i
        for k in range(half):
            _lane_add(sums, (half + k) * LANES, sums, k * LANES, losses, i * LANES, prime)
            _lane_multiply(products, (half + k) * LANES, products, k * LANES, factors, i * LANES, prime, inverse)


@kernel
def _fill_table(
    rows: Any, depth: int, sums: Any, products: Any, reciprocals: Any, prime: Any, inverse: Any, table: Any
) -> None:
    """Set row k, power j of the table to the sum over the rows up to k of product * sum**j / j!; -1 starts anew."""
    width = depth * LANES
    term = np.zeros(LANES, np.uint32)
    step = np.zeros(LANES, np.uint32)
    for k in range(len(rows)):
        place = k * width
        row = rows[k]
        if row < 0:
            for e in range(width):
                table[place + e] = 0
            continue
        for lane in range(LANES):
            term[lane] = products[row * LANES + lane]
        for j in range(depth):
            _lane_add(table, place + j * LANES, table, place - width + j * LANES, term, 0, prime)
            if j + 1 < depth:
                _lane_multiply(step, 0, sums, row * LANES, reciprocals, (j + 1) * LANES, prime, inverse)
                _lane_multiply(term, 0, term, 0, step, 0, prime, inverse)


@kernel
def _fold(
    n: int,
    n_slots: int,
    values: Any,
    singles: Any,
    pairs: Any,
    with_pairs: bool,
    spare: Any,
    prime: Any,
) -> None:
    """Add up the values of all subsets, of those with element i (singles), and of those with two (pairs).

    From the last element down, the half of the subsets with it is added up and then laid over the other half, so all
    elements together cost no more than reading the values twice.
    """
    width = n_slots * LANES
    for e in range(n * width):
        singles[e] = 0
    for e in range(n * n * width if with_pairs else 0):
        pairs[e] = 0
    for i in range(n - 1, -1, -1):
        half = 1 << i
        for k in range(half):
            for s in range(n_slots):
                here, there, own = k * width + s * LANES, (half + k) * width + s * LANES, i * width + s * LANES
                _lane_add(singles, own, singles, own, values, there, prime)
                _lane_add(values, here, values, here, values, there, prime)
                if with_pairs:
                    for lane in range(LANES):
                        spare[here + lane] = values[there + lane]
        for j in range(i - 1, -1, -1) if with_pairs else range(0):
            quarter = 1 << j
            for k in range(quarter):
                for s in range(n_slots):
                    here, there = k * width + s * LANES, (quarter + k) * width + s * LANES
                    own = (i * n + j) * width + s * LANES
                    _lane_add(pairs, own, pairs, own, spare, there, prime)
                    _lane_add(spare, here, spare, here, spare, there, prime)


@kernel
def add_windows(
    own: Any,
    other: Any,
    last: Any,
    field: Any,
    rows: Any,
    depth: int,
    windows: Any,
    first_slot: int,
    n_slots: int,
    with_pairs: bool,
    work: Any,
    totals: Any,
    singles: Any,
    pairs: Any,
) -> None:
    """Add up the weights of the covers {t} + a + b, a a subset of one half and b of the other.

    Parameters
    ----------
    own, other
        Losses and factors of the members of each half, a pair of arrays each.
    last
        What t adds to the slack, and its factor.
    field
        The primes, minus their inverses modulo 2**32, 1, and 1/j for each j.
    rows
        The subsets of the other half, sorted by sum within classes; -1 before each class.
    depth
        One more than the highest power needed.
    windows
        For each subset of the own half and class of the other with covers: the subset, the rows of the table whose
        difference holds them, the power, and the slot of their size.
    first_slot
        Slots before it are not needed modulo these primes.
    work
        Room: sums and products of both halves, the table, values, and a copy of half of them.
    totals, singles, pairs
        Where results go: of all covers, of those with each element of the own half, and with two, per slot.
    """
    (own_losses, own_factors), (other_losses, other_factors) = own, other
    shift, factor = last
    prime, inverse, one, reciprocals = field
    own_sums, own_products, other_sums, other_products, table, values, spare = work
    _fill_subsets(own_losses, own_factors, one, prime, inverse, own_sums, own_products)
    _fill_subsets(other_losses, other_factors, one, prime, inverse, other_sums, other_products)
    _fill_table(rows, depth, other_sums, other_products, reciprocals, prime, inverse, table)
    n = len(own_losses) // LANES
    for e in range((1 << n) * n_slots * LANES):
        values[e] = 0
    powers = np.zeros(depth * LANES, np.uint32)
    base = np.zeros(LANES, np.uint32)
    scaled = np.zeros(LANES, np.uint32)
    known = np.int64(-1)
    reached = 0
    for k in range(len(windows)):
        slot = windows[k, 4]
        if slot < first_slot:
            continue
        subset, power = windows[k, 0], windows[k, 3]
        if subset != known:
            known = subset
            reached = 0
            _lane_add(base, 0, own_sums, subset * LANES, shift, 0, prime)
            # The factors of a and t go into the powers, once per subset and not once per window.
            _lane_multiply(powers, 0, own_products, subset * LANES, factor, 0, prime, inverse)
        while reached < power:
            reached += 1
            _lane_multiply(scaled, 0, base, 0, reciprocals, reached * LANES, prime, inverse)
            _lane_multiply(powers, reached * LANES, powers, (reached - 1) * LANES, scaled, 0, prime, inverse)
        place = subset * n_slots * LANES + slot * LANES
        high, low = windows[k, 2] * depth * LANES, windows[k, 1] * depth * LANES
        _lane_window(scaled, 0, powers, power * LANES, table, high, low, power + 1, prime, inverse)
        # Times 1: brings what the window left above p into range.
        _lane_multiply(scaled, 0, scaled, 0, one, 0, prime, inverse)
        _lane_add(values, place, values, place, scaled, 0, prime)
    _fold(n, n_slots, values, singles, pairs, with_pairs, spare, prime)
    for e in range(n_slots * LANES):
        totals[e] = values[e]
