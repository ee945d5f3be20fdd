"""Adversarial examples of one CXp: the nearest one, and random ones."""

from axfi_kc.adversaries.drawing import draw_region
from axfi_kc.adversaries.halfspaces import draw_linear, nearest_linear
from axfi_kc.adversaries.regions import Region, region_of
from axfi_kc.adversaries.search import MOST_BOXES, grown, nearest_corner, search_account

__all__ = [
    "MOST_BOXES",
    "Region",
    "draw_linear",
    "draw_region",
    "grown",
    "nearest_corner",
    "nearest_linear",
    "region_of",
    "search_account",
]
