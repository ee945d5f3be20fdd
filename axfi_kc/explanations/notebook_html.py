"""Explanations as HTML tables with bars, for notebooks: floats in sight, exact numbers folded away.

Everything is inline, text is escaped, and colours are either inherited or readable on white and
on black, so a table looks right in light and in dark notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from axfi_kc.domain.measures import abridged, amount, counted, shown
from axfi_kc.domain.region import weight_words
from axfi_kc.explanations.answers import limit_words, surety_words
from axfi_kc.explanations.space import Space
from axfi_kc.scores import shares_of

if TYPE_CHECKING:
    from axfi_kc.explanations.comparison import Comparison
    from axfi_kc.explanations.explanation import Explanation
    from axfi_kc.explanations.radius_path import RadiusPath
    from axfi_kc.explanations.tables import SavedExplanation

__all__ = ["batch_html", "comparison_html", "explanation_html", "path_html"]


_MOST_FEATURES = 15
_MOST_CXPS = 8
_MOST_AXPS = 8
_MOST_STEPS = 20
_AXP_SECONDS = 1.0  # a cell that shows itself should not take longer than this for them
_LONGEST = 48
_MOST_BITS = 256  # of an exact number that is shown when the pointer rests on it
_MOST_DIGITS = 1000  # of one that is folded away
_CELL = "padding:2px 10px;border:0;background:transparent;color:inherit;text-align:"
_RULE = "border-bottom:1px solid rgba(128,128,128,.5);"
_NOTE = "opacity:.75;margin:4px 10px;"


def explanation_html(explained: Explanation | SavedExplanation, kind: str) -> str:
    """Return a table of the features with bars, and one of the CXps of largest weight."""
    scores = explained.scores(kind)
    ranked = sorted((n for n in scores if scores[n]), key=lambda n: -scores[n])
    most = max(scores.values(), default=Fraction(0)) or Fraction(1)
    instance = explained.instance
    shares = shares_of(scores)
    rows = [
        (
            n,
            abridged(shown(instance[n]), _LONGEST),
            _bar(scores[n] / most),
            _number(scores[n]),
            f"{float(shares[n]):.1%}",
        )
        for n in ranked[:_MOST_FEATURES]
    ]
    hidden = len(ranked) - len(rows)
    unmoved = len(scores) - len(ranked)
    notes = [f"{counted(hidden, 'more feature')} with smaller scores"] if hidden else []
    notes += [f"{counted(unmoved, 'feature')} with score 0"] if unmoved else []
    surety = surety_words(explained)
    title = f"Why {abridged(shown(explained.prediction_name), _LONGEST)}?{f' ({surety})' if surety else ''}"
    table = _table(("feature", "value", f"{kind} score", "", "share"), rows, right={1, 3, 4})
    exact = {f"score of {n}": scores[n] for n in ranked[:_MOST_FEATURES]}
    parts = [table, _note("; ".join(notes)), _cxp_table(explained), _axp_table(explained), _exact(explained, exact)]
    return _box(title, _space(Space.of(explained)) + "".join(parts))


def _cxp_table(explained: Explanation | SavedExplanation) -> str:
    cxps = explained.heaviest_cxps()
    most = max((Fraction(c.weight) for c in cxps), default=Fraction(0)) or Fraction(1)
    rows = [(", ".join(c.features), _bar(c.weight / most), _number(c.weight)) for c in cxps[:_MOST_CXPS]]
    total = explained.cxp_count
    hidden = f", {total - len(rows)} lighter ones not shown" if total > len(rows) else ""
    head = ("CXp", f"weight ({explained.weights})", "")
    return (_table(head, rows, right={2}) if rows else "") + _note(
        f"{counted(total, 'CXp')}{limit_words(explained)}{hidden}"
    )


def _axp_table(explained: Explanation | SavedExplanation) -> str:
    """Return a table of AXps, smallest first, as far as they are found in a moment; nothing up to a radius."""
    if explained.radius is not None:
        return ""
    axps, complete = explained.some_axps(seconds=_AXP_SECONDS)
    if not axps:  # too many to begin with
        return ""
    rows = [(", ".join(a.features) or "nothing",) for a in axps[:_MOST_AXPS]]
    more = "" if complete and len(axps) == len(rows) else ", not all of them shown"
    does = "the output stays" if explained.toward is None else "the output is never that class"
    number = f"{'' if complete else 'at least '}{counted(len(axps), 'AXp')}{more}"
    return _table((f"AXp: keep these, and {does}",), rows, right=set()) + _note(number)


def _exact(explained: Explanation | SavedExplanation, scores: Mapping[str, Fraction]) -> str:
    """Return the exact numbers behind the floats, folded."""
    weights = {f"weight of {', '.join(c.features)}": c.weight for c in explained.heaviest_cxps()[:_MOST_CXPS]}
    lines = "".join(
        f'<div style="{_NOTE}overflow-wrap:anywhere">{escape(name)} = {_in_full(value)}</div>'
        for name, value in {**scores, **weights}.items()
    )
    return f'<details style="{_NOTE}"><summary>exact numbers</summary>{lines}</details>' if lines else ""


def _in_full(value: Fraction | int) -> str:
    text = shown(value, digits=None)
    return escape(text if len(text) <= _MOST_DIGITS else f"a fraction of {len(text):,} digits; ask e.scores(), e.cxps")


def batch_html(title: str, rows: Sequence[tuple[str, float, float]], kind: str, *, space: Space) -> str:
    """Return a table of the features' mean shares of a score, given as name, mean and in how many it is relevant."""
    ranked = sorted(rows, key=lambda row: -row[1])[:_MOST_FEATURES]
    most = max((mean for _, mean, _ in rows), default=0.0) or 1.0
    cells = [(name, _bar(mean / most), f"{mean:.1%}", f"{often:.1%}") for name, mean, often in ranked]
    hidden = len(rows) - len(ranked)
    table = _table(("feature", f"mean share of the {kind} score", "", "relevant in"), cells, right={2, 3})
    return _box(title, _space(space) + table + _note(counted(hidden, "more feature") if hidden else ""))


def comparison_html(compared: Comparison) -> str:
    """Return how two explanations differ: the features by the difference of their scores, and each one's own CXps."""
    ranked = sorted((n for n, d in compared.differences.items() if d), key=lambda n: -abs(compared.differences[n]))
    rows = [(n, _number(compared.differences[n])) for n in ranked[:_MOST_FEATURES]]
    left, same = len(ranked) - len(rows), len(compared.differences) - len(ranked)
    notes = [f"{counted(left, 'feature')} more"] * (left > 0) + [f"no difference of {same}"] * (same > 0)
    table = _table(("feature", f"{compared.kind} score: second minus first"), rows, right={1}) if rows else ""
    own = [("first", compared.only_first), ("second", compared.only_second)]
    sets = [(", ".join(cxp), which) for which, cxps in own for cxp in cxps[:_MOST_CXPS]]
    more = sum(max(len(cxps) - _MOST_CXPS, 0) for _, cxps in own)
    lists = _table(("CXp of one alone", "of the"), sets, right=set()) if sets else ""
    hidden = _note(f"{counted(more, 'CXp')} more" if more else "")
    return _box(compared.words, table + _note("; ".join(notes)) + lists + hidden)


def path_html(path: RadiusPath) -> str:
    """Return a table of the radii at which CXps change: which appear, which are replaced, and what then counts most."""
    rows = [
        (
            _start(step.start, is_open=step.is_open),
            "any" if step.end is None else _number(step.end),
            _sets(step.appeared),
            _sets(step.vanished),
            _top(step.explanation.shares()),
        )
        for step in path.steps[:_MOST_STEPS]
    ]
    head = ("from", "to", "CXps that appear", "CXps that are replaced", "top feature")
    left = len(path.steps) - len(rows)
    notes = [f"a radius is {path.measure}", *weight_words(path.region)]
    notes += [f"{counted(left, 'step')} more"] * (left > 0)
    notes += ["the budget was spent: beyond, nothing is known"] * (not path.is_complete)
    table = _table(head, rows, right={0, 1})
    return _box("CXps as the radius grows", _space(path.space) + table + _note("; ".join(notes)))


def _start(radius: Fraction, *, is_open: bool) -> str:
    return _Markup(f"beyond {_number(radius)}") if is_open else _number(radius)


def _sets(sets: Sequence[tuple[str, ...]]) -> str:
    listed = "; ".join(", ".join(features) for features in sets[:_MOST_CXPS])
    return listed + (f"; {len(sets) - _MOST_CXPS} more" if len(sets) > _MOST_CXPS else "")


def _top(shares: Mapping[str, Fraction]) -> str:
    """Return the feature with the largest share, and that; nothing where none has any."""
    name = max(shares, key=lambda n: shares[n], default="")
    return f"{name} ({float(shares[name]):.1%})" if name and shares[name] else ""


def _number(value: Fraction | int) -> str:
    if value.numerator.bit_length() + value.denominator.bit_length() >= _MOST_BITS:
        return amount(value)
    return _Markup(f'<span title="{escape(shown(value, digits=None))}">{amount(value)}</span>')


class _Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def _bar(share: Fraction | float) -> str:
    width = round(float(share) * 100, 1)
    return _Markup(
        f'<div style="width:clamp(3em,12vw,142px)"><div style="width:{width}%;min-width:1px;height:11px;'
        'border-radius:2px;background:#3d8bb8"></div></div>'
    )


def _cell(content: str) -> str:
    return content if isinstance(content, _Markup) else escape(content)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: set[int]) -> str:
    side = ["right" if k in right else "left" for k in range(len(head))]
    titles = "".join(f'<th style="{_CELL}{s};{_RULE}">{escape(h)}</th>' for h, s in zip(head, side, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}{s}">{_cell(c)}</td>' for c, s in zip(row, side, strict=True)) + "</tr>"
        for row in rows
    )
    style = "border-collapse:collapse;margin:4px 0;color:inherit;font-size:13px"
    return f'<table style="{style}"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def _note(text: str) -> str:
    return f'<div style="{_NOTE}">{escape(text)}</div>' if text else ""


def _space(space: Space) -> str:
    """Return the space in a short line, in full when the pointer rests on it; nothing where there is none to say."""
    full = escape("; ".join(space.lines))
    return f'<div style="{_NOTE}" title="{full}">{escape(space.line)}</div>' if space.line else ""


def _box(title: str, content: str) -> str:
    style = "color:inherit;font-size:13px;overflow-x:auto"
    return f'<div style="{style}"><div style="font-weight:600;margin:2px 10px">{escape(title)}</div>{content}</div>'
