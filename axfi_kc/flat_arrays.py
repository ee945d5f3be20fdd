"""Arrays as large kernels see them: where the data begin, and the shape.

numba's own arrays are records of seven fields that are counted as they come and go, and whose indices may be negative:
each access is some sixty instructions before anything is optimised, and kernels with thirty arrays are compiled for
many seconds. Here an access is a product, a sum and a load. These arrays live inside kernels only
(:func:`axfi_kc.compiled.flat_kernel`): who calls the kernel keeps the data alive, they are contiguous, and an index is
never negative.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import infer_getattr, intrinsic, lower_builtin, lower_getattr, models, register_model

__all__ = ["FlatArray", "flat", "prefetch"]


class FlatArray(types.Type):  # type: ignore[misc]
    """The type of contiguous arrays of known dimension."""

    def __init__(self, dtype: types.Type, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(name=f"flat({dtype}, {ndim}d)")


@register_model(FlatArray)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: FlatArray) -> None:
        lengths = [(f"n{k}", types.intp) for k in range(kind.ndim)]
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), *lengths])


@intrinsic
def flat(_: Any, array: Any) -> Any:
    """Return an array as kernels see it, and anything else as it is."""
    if not isinstance(array, types.Array):
        return array(array), lambda context, builder, call, arguments: arguments[0]
    if array.layout != "C":
        return None  # numba says that the types do not fit

    def made(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
        given = context.make_array(call.args[0])(context, builder, arguments[0])
        shape = cgutils.unpack_tuple(builder, given.shape, array.ndim)
        return _built(context, builder, call.return_type, given.data, shape)

    return FlatArray(array.dtype, array.ndim)(array), made


def _built(context: Any, builder: Any, kind: FlatArray, data: Any, shape: Any) -> Any:
    flat_array = cgutils.create_struct_proxy(kind)(context, builder)
    flat_array.data = data
    for k, n in enumerate(shape):
        setattr(flat_array, f"n{k}", n)
    return flat_array._getvalue()


def _lengths(builder: Any, kind: FlatArray, value: Any) -> list[Any]:
    return [builder.extract_value(value, 1 + k) for k in range(kind.ndim)]


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = FlatArray

    def resolve_shape(self, array: FlatArray) -> types.Type:
        return types.UniTuple(types.intp, array.ndim)

    def resolve_size(self, _: FlatArray) -> types.Type:
        return types.intp


@lower_getattr(FlatArray, "shape")
def _shape(context: Any, builder: Any, kind: FlatArray, value: Any) -> Any:
    return cgutils.pack_array(builder, _lengths(builder, kind, value))


@lower_getattr(FlatArray, "size")
def _size(context: Any, builder: Any, kind: FlatArray, value: Any) -> Any:
    first, *others = _lengths(builder, kind, value)
    for n in others:
        first = builder.mul(first, n)
    return first


def _indices(index: types.Type) -> tuple[types.Type, ...]:
    return tuple(index) if isinstance(index, types.BaseTuple) else (index,)


def _fits(array: types.Type, index: types.Type) -> bool:
    kinds = _indices(index)
    return (
        isinstance(array, FlatArray)
        and len(kinds) <= array.ndim
        and all(isinstance(kind, types.Integer) for kind in kinds)
    )


def _read(dtype: types.Type) -> types.Type:
    """Return the type that entries have once read.

    Any but the widest integers are int64: parts that take them are then compiled once, not for each mixture of widths.
    """
    is_narrow = isinstance(dtype, types.Integer) and dtype.bitwidth < types.int64.bitwidth
    return types.int64 if is_narrow else dtype


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _: Any) -> Any:
        array, index = arguments
        if not _fits(array, index):
            return None
        left = array.ndim - len(_indices(index))
        return signature(FlatArray(array.dtype, left) if left else _read(array.dtype), array, index)


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _: Any) -> Any:
        array, index, value = arguments
        if not _fits(array, index) or len(_indices(index)) < array.ndim:
            return None
        is_storable = self.context.can_convert(value, array.dtype) is not None
        return signature(types.none, array, index, array.dtype) if is_storable else None


def _address(context: Any, builder: Any, kinds: Any, array: Any, index: Any) -> Any:
    """Return where the entry, or the first one of the row, lies."""
    kind, index_kind = kinds
    parts = cgutils.unpack_tuple(builder, index) if isinstance(index_kind, types.BaseTuple) else [index]
    at = None
    for k, n in enumerate(_lengths(builder, kind, array)):
        at = None if at is None else builder.mul(at, n)
        if k < len(parts):
            here = context.cast(builder, parts[k], _indices(index_kind)[k], types.intp)
            at = here if at is None else builder.add(at, here)
    return builder.gep(builder.extract_value(array, 0), [at], inbounds=True)


@lower_builtin(operator.getitem, FlatArray, types.Any)
def _getitem(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
    array, index = arguments
    kind, made = call.args[0], call.return_type
    where = _address(context, builder, call.args, array, index)
    if not isinstance(made, FlatArray):
        return context.cast(builder, context.unpack_value(builder, kind.dtype, where), kind.dtype, made)
    return _built(context, builder, made, where, _lengths(builder, kind, array)[kind.ndim - made.ndim :])


@lower_builtin(operator.setitem, FlatArray, types.Any, types.Any)
def _setitem(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
    array, index, value = arguments
    where = _address(context, builder, call.args[:2], array, index)
    context.pack_value(builder, call.args[0].dtype, value, where)
    return context.get_dummy_value()


def prefetch(array: Any, index: Any) -> None:
    """Let the processor fetch an entry, or a row, that will be asked for soon; nothing is read yet."""


@infer_global(prefetch)
class _Prefetch(AbstractTemplate):  # type: ignore[misc]
    def generic(self, arguments: Any, _: Any) -> Any:
        array, index = arguments
        return signature(types.none, array, index) if _fits(array, index) else None


@lower_builtin(prefetch, FlatArray, types.Any)
def _prefetch(context: Any, builder: Any, call: Any, arguments: Any) -> Any:
    where = builder.bitcast(_address(context, builder, call.args, *arguments), ir.IntType(8).as_pointer())
    word = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [where.type, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    # to be read, to be kept, of data
    builder.call(function, [where, word(0), word(3), word(1)])
    return context.get_dummy_value()
