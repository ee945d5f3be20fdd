"""Questions to a circuit, with what each one needs and costs.

Each function goes over the circuit children first, without recursion. What a circuit must be like is
checked where that is cheap (decomposable, ordered: else a CircuitError) and stated where it is not
(deterministic); ``languages`` has the table of what each language can be asked. Where a question takes a
budget, a BudgetError says that it was spent.
"""

from axfi_kc.circuits.queries.best_points import WeightedPoint, best_point, best_points
from axfi_kc.circuits.queries.counting import count, is_implicant, is_valid, probability, weighted_count
from axfi_kc.circuits.queries.determinism import Determinism, determinism, is_deterministic
from axfi_kc.circuits.queries.equivalence import entails, is_equivalent
from axfi_kc.circuits.queries.languages import LANGUAGES, QUERIES, TRANSFORMATIONS, languages_for, require
from axfi_kc.circuits.queries.marginals import marginals
from axfi_kc.circuits.queries.sampling import sample
from axfi_kc.circuits.queries.satisfiability import (
    allowed_cells,
    cell_models,
    entails_clause,
    evaluate,
    is_consistent,
    is_consistent_within,
    models,
)
from axfi_kc.circuits.queries.semirings import (
    DERIVATIVES,
    MAX_PLUS,
    MAX_TIMES,
    MIN_PLUS,
    NUMBERS,
    POLYNOMIALS,
    TRUTH,
    Semiring,
    counts_by_size,
    semiring_value,
)
from axfi_kc.circuits.queries.structure import (
    feature_order,
    is_decision,
    is_decomposable,
    is_ordered,
    is_smooth,
    scopes,
)
from axfi_kc.circuits.queries.transformations import condition, forget, forget_one, minimised, minimum_changes, smooth

__all__ = [
    "DERIVATIVES",
    "LANGUAGES",
    "MAX_PLUS",
    "MAX_TIMES",
    "MIN_PLUS",
    "NUMBERS",
    "POLYNOMIALS",
    "QUERIES",
    "TRANSFORMATIONS",
    "TRUTH",
    "Determinism",
    "Semiring",
    "WeightedPoint",
    "allowed_cells",
    "best_point",
    "best_points",
    "cell_models",
    "condition",
    "count",
    "counts_by_size",
    "determinism",
    "entails",
    "entails_clause",
    "evaluate",
    "feature_order",
    "forget",
    "forget_one",
    "is_consistent",
    "is_consistent_within",
    "is_decision",
    "is_decomposable",
    "is_deterministic",
    "is_equivalent",
    "is_implicant",
    "is_ordered",
    "is_smooth",
    "is_valid",
    "languages_for",
    "marginals",
    "minimised",
    "minimum_changes",
    "models",
    "probability",
    "require",
    "sample",
    "scopes",
    "semiring_value",
    "smooth",
    "weighted_count",
]
