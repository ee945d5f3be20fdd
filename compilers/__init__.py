"""Trained models read into neutral forms, and forms compiled into circuits.

:func:`read_model` turns a trained model into a neutral form; :func:`compile_circuit` turns a
form and the output it is compared with into a circuit, :func:`compile_mdd` into a complete
diagram, :func:`compile_target` into any target language.
"""

from axfi_kc.compilers import bayes_diagrams as _bayes_diagrams  # noqa: F401 (registers its diagrams)
from axfi_kc.compilers.compiled_model import base_circuit, compile_target
from axfi_kc.compilers.linear_diagrams import compile_linear
from axfi_kc.compilers.model_circuits import compile_circuit
from axfi_kc.compilers.model_diagrams import compile_mdd
from axfi_kc.compilers.readers import read_model
from axfi_kc.compilers.readers.onnx_files import read_onnx
from axfi_kc.compilers.readers.outputs import output_of
from axfi_kc.compilers.readers.xgboost_files import read_xgboost

__all__ = [
    "base_circuit",
    "compile_circuit",
    "compile_linear",
    "compile_mdd",
    "compile_target",
    "output_of",
    "read_model",
    "read_onnx",
    "read_xgboost",
]
