"""Results people can use: exact JSON, DataFrames, notebook tables, comparisons."""

from axfi_kc.results.comparison import Comparison, compare
from axfi_kc.results.documents import SavedData
from axfi_kc.results.domains import domain_document, domain_of
from axfi_kc.results.views import BatchViews, SavedExplanation, Views

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
