"""The space in which instances are explained: features, their measures, tables that come in, and the grid of cells."""

from axfi_kc.domain.domain import Domain
from axfi_kc.domain.features import Categorical, Integer, Real
from axfi_kc.domain.grid import Grid

__all__ = ["Categorical", "Domain", "Grid", "Integer", "Real"]
