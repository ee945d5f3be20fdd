"""Families of feature sets that may be too large to list; a BudgetError says that an operation's budget was spent."""

from axfi_kc.families.set_family import SetFamily
from axfi_kc.families.weighted_dag import WeightedDag
from axfi_kc.families.zdd_store import FamilyStore

__all__ = ["FamilyStore", "SetFamily", "WeightedDag"]
