"""The space in which instances are explained: features, their measures, tables that come in, and the grid of cells."""

# Imported so that `where` takes texts and rules: they say so where they are defined.
from axfi_kc.domain import constraint_text, rules
from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer, Real
from axfi_kc.domain.grid import Grid

__all__ = ["Categorical", "Domain", "Grid", "Integer", "Real", "constraint_text", "rules"]
