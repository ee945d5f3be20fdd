"""Files of other programs' circuits, read and written without trusting them."""

from __future__ import annotations

from axfi_kc.formats.bdd_files import read_dd_json, read_dddmp, write_dd_json, write_dddmp
from axfi_kc.formats.cnf import parse_count_answer, read_cnf, write_cnf
from axfi_kc.formats.dsharp import compile_with_dsharp
from axfi_kc.formats.files import load_circuit, save_circuit
from axfi_kc.formats.nnf import read_nnf, write_nnf
from axfi_kc.formats.node_lists import read_node_list
from axfi_kc.formats.sdd_files import read_sdd, read_vtree, write_sdd, write_vtree
from axfi_kc.formats.variables import Variables

__all__ = [
    "Variables",
    "compile_with_dsharp",
    "load_circuit",
    "parse_count_answer",
    "read_cnf",
    "read_dd_json",
    "read_dddmp",
    "read_nnf",
    "read_node_list",
    "read_sdd",
    "read_vtree",
    "save_circuit",
    "write_cnf",
    "write_dd_json",
    "write_dddmp",
    "write_nnf",
    "write_sdd",
    "write_vtree",
]
