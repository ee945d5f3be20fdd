"""Results people can use: exact JSON, DataFrames, notebook tables, comparisons."""

from axfi_kc.explanations.comparison import Comparison, compare
from axfi_kc.explanations.files.document import SavedData
from axfi_kc.explanations.files.domain_document import domain_document, domain_of
from axfi_kc.explanations.tables import BatchViews, SavedExplanation, Views

__all__ = [
    "BatchViews",
    "Comparison",
    "SavedData",
    "SavedExplanation",
    "Views",
    "compare",
    "domain_document",
    "domain_of",
]
