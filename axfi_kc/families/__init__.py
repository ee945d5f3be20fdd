"""Families of feature sets that may be too large to list."""

from axfi_kc.families.games import banzhaf_index, shapley_shubik_index
from axfi_kc.families.set_families import SetFamily
from axfi_kc.families.stores import FamilyStore
from axfi_kc.families.weighted import WeightedDag

__all__ = ["FamilyStore", "SetFamily", "WeightedDag", "banzhaf_index", "shapley_shubik_index"]
