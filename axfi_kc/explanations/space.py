"""What is said of the space that answers hold in: which points counted, and how likely they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from axfi_kc.domain.chow_liu import ChowLiu
from axfi_kc.domain.constraints import Constraint
from axfi_kc.domain.distribution import Distribution
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.measures import amount, counted
from axfi_kc.domain.region import Region
from axfi_kc.models.samples import Samples

__all__ = ["Space", "space_words"]


_MOST_NAMED = 2  # features of a region; more are counted
_UNITS = {"value": "", "range": " of each range", "std": " standard deviations"}


@dataclass(frozen=True, slots=True)
class Space:
    """What there is to say where not every point of a domain counted, or where features depend on each other.

    Attributes
    ----------
    constraints
        What points meet that can exist.
    region
        How far one may go from an instance; None: anywhere.
    distribution
        The joint distribution of the features; None: they are independent.
    rows
        The rows that are all the points there are, in words; empty where points of a domain are.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer, Region, feature
    >>> domain = Domain([Integer("a", 0, 9), Integer("b", 0, 9)]).where(feature("a") <= feature("b"))
    >>> e = Explainer(lambda p: p[0] > 4, domain, within=Region(frozen=["b"])).explain([1, 6])
    >>> Space.of(e).line
    'among possible points (1 constraint); b frozen'
    >>> Space.of(e).entries
    {'space': {'constraints': ['a <= b'], 'region': 'b frozen'}}
    >>> Space.over(domain.unconstrained).line, Space.over(domain.unconstrained).entries
    ('', {})
    """

    constraints: tuple[Constraint, ...] = field(default=())
    region: Region | None = None
    distribution: Distribution | None = None
    rows: str = ""

    @classmethod
    def over(cls, domain: Domain, region: Region | None = None, *, rows: str = "") -> Space:
        """Return what there is to say of a domain, before a region clips it, and of the region."""
        # A region may only say how distances are measured.
        limits = None if region is None or region.is_everywhere else region
        return cls(domain.constraints, limits, domain.distribution, rows)

    @classmethod
    def of(cls, explained: Any) -> Space:
        """Return what there is to say of an explanation or a batch, live or saved, or of an explainer."""
        posed = getattr(explained, "problem", None)
        # A region is said in its own words, so the constraints are those of the domain before it is clipped.
        whole = getattr(getattr(posed, "whole", None), "domain", None) or getattr(explained, "whole", None)
        return cls.over(whole or explained.domain, explained.within, rows=_rows_of(explained, posed))

    @property
    def words(self) -> dict[str, str]:
        """In full, by what it says."""
        found = {"only points where": "; ".join(map(str, self.constraints))} if self.constraints else {}
        found |= {} if self.region is None else {"only points with": str(self.region)}
        found |= {} if self.distribution is None else {"features distributed as": str(self.distribution)}
        return found | ({"only points among": self.rows} if self.rows else {})

    @property
    def lines(self) -> list[str]:
        """In full, as lines of text."""
        return [f"{what} {words}" for what, words in self.words.items()]

    @property
    def entries(self) -> dict[str, Any]:
        """In full, as one entry of a document or of a table's ``attrs``; none where there is nothing to say."""
        found: dict[str, Any] = {"constraints": list(map(str, self.constraints))} if self.constraints else {}
        found |= {} if self.region is None else {"region": str(self.region)}
        found |= {} if self.distribution is None else {"distribution": str(self.distribution)}
        found |= {"rows": self.rows} if self.rows else {}
        return {"space": found} if found else {}

    @property
    def line(self) -> str:
        """In one short line, for a repr or below the title of a picture: constraints are counted."""
        among = [f"among {self.rows}"] if self.rows else []
        among += [f"among possible points ({counted(len(self.constraints), 'constraint')})"] * bool(self.constraints)
        near = "" if self.region is None else _short_region(self.region)
        joint = "" if self.distribution is None else _short_distribution(self.distribution)
        return "; ".join(filter(None, (*among, near, joint)))

    def after(self, text: str) -> str:
        """Return a text with the short line behind it, if there is one."""
        return f"{text}; {self.line}" if self.line else text


def space_words(explained: Any) -> dict[str, str]:
    """Return which points counted, where not all of the domain did, and how likely they are, where features depend.

    That is those that can exist, those within a region, and the joint distribution of the features.

    Examples
    --------
    >>> from axfi_kc import Domain, Explainer, Integer, Region, feature
    >>> domain = Domain([Integer("a", 0, 9), Integer("b", 0, 9)]).where(feature("a") <= feature("b"))
    >>> space_words(Explainer(lambda p: p[0] > 4, domain, within=Region(frozen=["b"])).explain([1, 6]))
    {'only points where': 'a <= b', 'only points with': 'b frozen'}
    """
    return Space.of(explained).words


def _rows_of(explained: Any, posed: Any) -> str:
    """Return how many rows were all the points there are; without the number, which a file does not have."""
    model = getattr(posed, "model", None)
    if isinstance(model, Samples):
        return model.words
    return "rows of data" if getattr(explained, "model_kind", "") == Samples.__name__ else ""


def _short_region(region: Region) -> str:
    """Return a region in a few words: no more than some names, and no ends of ranges."""
    limits = {
        "frozen": region.frozen,
        "limited": tuple(name for name, _ in region.ranges),
        "only up": region.only_up,
        "only down": region.only_down,
    }
    parts = [f"{_few(names)} {how}" for how, names in limits.items() if names]
    if region.radius is not None:
        norm = "" if region.norm == "linf" else f" ({region.norm})"
        parts.append(f"radius {amount(region.radius)}{_UNITS[region.unit]}{norm}{', weighted' * bool(region.weights)}")
    return ", ".join(parts)


def _few(names: tuple[str, ...]) -> str:
    return " and ".join(names) if len(names) <= _MOST_NAMED else counted(len(names), "feature")


def _short_distribution(distribution: Distribution) -> str:
    """Return what kind of distribution it is, without its details."""
    return "Chow-Liu tree" if isinstance(distribution, ChowLiu) else str(distribution).partition(":")[0]
