"""Model front ends, and the compilation of models into circuits.

:func:`read_model` turns a trained model into a neutral form; :func:`compile_dissimilar` turns a
form and the outputs that count as different into a circuit. :func:`read_xgboost` reads a model
file, without the library that wrote it.
"""

from axfi_kc.compilers.circuits import compile_dissimilar
from axfi_kc.compilers.linear_circuits import compile_linear
from axfi_kc.compilers.registry import read_model
from axfi_kc.compilers.xgboost_sums import read_xgboost

__all__ = ["compile_dissimilar", "compile_linear", "read_model", "read_xgboost"]
