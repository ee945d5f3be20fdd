"""Sets of features: masks, hitting sets, and families on zero-suppressed diagrams, too large to list."""

from axfi_kc.families.set_family import SetFamily
from axfi_kc.families.weighted_dag import WeightedDag
from axfi_kc.families.zdd_store import FamilyStore

__all__ = ["FamilyStore", "SetFamily", "WeightedDag"]
