"""Engines: how the CXps of a model form, and their weights, are found."""

from axfi_kc.engines.families import (
    LISTED,
    Found,
    SymbolicSets,
    WeightedSets,
    check_countable,
    check_weights,
    features_of_members,
    listed_unless_many,
)
from axfi_kc.engines.selection import Engine, engine_for, engine_through

__all__ = [
    "LISTED",
    "Engine",
    "Found",
    "SymbolicSets",
    "WeightedSets",
    "check_countable",
    "check_weights",
    "engine_for",
    "engine_through",
    "features_of_members",
    "listed_unless_many",
]
