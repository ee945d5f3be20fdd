"""Files of other programs' circuits, read and written without trusting them."""

from __future__ import annotations

from axfi_kc.formats.nnf import read_nnf, write_nnf
from axfi_kc.formats.node_lists import read_node_list
from axfi_kc.formats.variables import Variables

__all__ = ["Variables", "read_nnf", "read_node_list", "write_nnf"]
