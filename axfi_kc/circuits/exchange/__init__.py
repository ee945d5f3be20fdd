"""Circuits in memory, to and from other libraries: dd, PySDD, networkx, clauses, expressions and truth tables.

Where no domain is given, features with the values 0 and 1 are made of the names; where one is given, variables are
called as its features, or as the bits of their code (``age_0``, ``age_1``, ...). Names go there and back.
"""

from axfi_kc.circuits.exchange.clauses import Cnf, from_cnf, to_cnf
from axfi_kc.circuits.exchange.dd_nodes import from_dd, to_dd
from axfi_kc.circuits.exchange.expressions import from_expression
from axfi_kc.circuits.exchange.graphs import from_networkx, to_networkx
from axfi_kc.circuits.exchange.pysdd_nodes import from_pysdd, to_pysdd
from axfi_kc.circuits.exchange.truth_tables import from_truth_table

__all__ = [
    "Cnf",
    "from_cnf",
    "from_dd",
    "from_expression",
    "from_networkx",
    "from_pysdd",
    "from_truth_table",
    "to_cnf",
    "to_dd",
    "to_networkx",
    "to_pysdd",
]
