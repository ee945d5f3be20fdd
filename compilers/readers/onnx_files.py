"""Files in ONNX; the onnx package is imported when one is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from axfi_kc.arguments import checked
from axfi_kc.compilers.readers import read_model
from axfi_kc.domain.domain import Domain
from axfi_kc.errors import MissingExtraError, ModelFileError
from axfi_kc.models import Model

__all__ = ["load_onnx", "read_onnx"]


@checked("domain")
def read_onnx(source: str | os.PathLike[str] | bytes, domain: Domain) -> Model:
    """Return the neutral form of a tree ensemble or linear model in ONNX.

    Parameters
    ----------
    source
        The path of a file, or the bytes of one.
    domain
        The space on which the model is explained.

    Raises
    ------
    ModelFileError
        If there is no such file, or it holds no sound model.
    UnsupportedModelError
        If the model is something else, or has no exact form.
    MissingExtraError
        If the onnx package is not installed.

    Notes
    -----
    A model that was loaded with the onnx package (``onnx.load``) can also be given to ``Explainer`` itself, which then
    compares with what onnxruntime computes, if that is installed. Linear in the size of the file.

    Examples
    --------
    >>> from onnx import helper
    >>> from axfi_kc.domain.features import Integer
    >>> node = helper.make_node(
    ...     "LinearRegressor", ["X"], ["Y"], domain="ai.onnx.ml", coefficients=[0.5, 2.0], intercepts=[1.0]
    ... )
    >>> columns, output = (helper.make_tensor_value_info(name, 1, [None, n]) for name, n in (("X", 2), ("Y", 1)))
    >>> graph, opset = helper.make_graph([node], "linear", [columns], [output]), helper.make_opsetid("ai.onnx.ml", 3)
    >>> model = helper.make_model(graph, opset_imports=[opset])
    >>> domain = Domain([Integer("a", 0, 9), Integer("b", 0, 9)])
    >>> read_onnx(model.SerializeToString(), domain).predict([[1, 3]])
    [Fraction(15, 2)]
    """
    return read_model(load_onnx(source), domain)


def load_onnx(source: str | os.PathLike[str] | bytes) -> Any:
    """Return the model in a file, or in its bytes, as the onnx package has it."""
    try:
        import onnx
    except ImportError as error:
        raise MissingExtraError.of("onnx", "onnx", "Reading ONNX") from error
    try:
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        return onnx.load_from_string(data)
    except OSError as error:
        raise ModelFileError(f"Expected a model in ONNX at {str(source)!r}, but it cannot be read: {error}.") from error
    except Exception as error:  # protobuf's own, from a package that is not ours to import
        raise ModelFileError("Expected a model in ONNX, but it does not parse; save the model again.") from error
