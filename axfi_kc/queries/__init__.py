"""Questions to a circuit, with what each one needs and costs.

Each function makes one pass over the circuit, children first, without recursion.
"""

from axfi_kc.queries.structure import feature_order, is_decision, is_decomposable, is_ordered, is_smooth, scopes
from axfi_kc.queries.totals import count, probability, weighted_count
from axfi_kc.queries.transformations import condition
from axfi_kc.queries.truths import allowed_cells, entails_clause, evaluate, is_consistent, is_consistent_within

__all__ = [
    "allowed_cells",
    "condition",
    "count",
    "entails_clause",
    "evaluate",
    "feature_order",
    "is_consistent",
    "is_consistent_within",
    "is_decision",
    "is_decomposable",
    "is_ordered",
    "is_smooth",
    "probability",
    "scopes",
    "weighted_count",
]
