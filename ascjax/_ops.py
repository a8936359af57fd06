"""The public operations, named and overloaded as Ascend C has them."""

from __future__ import annotations

import functools
from typing import Any

import jax

from ._errors import ParamError
from ._move import Call, Overlap
from ._operands import SOURCE, form_of, operands
from ._run import compiled, into, look_up
from .instr import REGISTRY, Params


def load_data(
    src: Any,
    params: Params,
    *swapped: Any,
    dst: Any = None,
    dst_size: int | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    behaviour: str = "documented",
    out: jax.Array | None = None,
) -> jax.Array:
    """`LoadData`: fractals from GM or L1 to L1, L0A or L0B.

    Shapes: `src` is (..., s) and `dst`, like the result, (..., d): the last axis is the
    flat buffer in elements, leading axes are a batch. Packed 4-bit buffers are uint8,
    two elements a byte. Nothing is mutated.

    Args:
      src: what the source holds.
      params: `LoadData2DParams`, `LoadData2DParamsV2` or `LoadData3DParamsV2`, which
        needs product and path; static.
      dst: what the destination held before; None is zero bits.
      dst_size: elements of the result where `dst` is None; None is just the span that
        is written.
      src_offset, dst_offset: where the operands start, in elements; static.
      product: an `asc.Product`, its name or an alias; None skips what depends on it.
      path: such as "A1->A2" or "L1->L0A"; None skips positions and alignment.
      dtype: the Ascend C type, where the array's own does not tell.
      overlap: "error" refuses two writes to one element, "last" lets the later win.
      behaviour: "documented"; "as_built" is reserved.
      out: an array of the result's shape and type that is given up: the result takes
        its memory, which saves a large one the page faults of new memory.
    Returns: what the destination holds after.
    Raises: ParamError, SupportError, BoundsError, AlignmentError, OverlapError, while
      tracing.
    Gradient: to `src` where it was copied from, summed over repeats; to `dst` where it
      was kept; integer types give float0.
    Source: Load2D; instructions.md, sections 1, 2 and 7.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> l1 = jnp.arange(512, dtype="float16")
    >>> p = asc.LoadData2DParams(repeat_times=2, src_stride=1, if_transpose=True)
    >>> asc.load_data(l1, p, product="910B", path="L1->L0A")[:4]
    Array([ 0., 16., 32., 48.], dtype=float16)
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    options = (*where, overlap, behaviour)
    return _call("load_data", src, params, swapped, dst, out, options)


def load_data_with_transpose(
    src: Any,
    params: Params,
    *swapped: Any,
    dst: Any = None,
    dst_size: int | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    behaviour: str = "documented",
    out: jax.Array | None = None,
) -> jax.Array:
    """`LoadDataWithTranspose`: squares made of fractals, transposed, L1 to L0A or L0B.

    `params` is `LoadData2dTransposeParams` or `LoadData2dTransposeParamsV2`. Shapes,
    arguments, results, errors and gradient are as `load_data`.

    Source: LoadDataWithTranspose; instructions.md, section 3.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> l1 = jnp.arange(256, dtype="bfloat16")
    >>> p = asc.LoadData2dTransposeParams(repeat_times=1)
    >>> asc.load_data_with_transpose(l1, p, product="910B", path="L1->L0B")[:3]
    Array([0, 16, 32], dtype=bfloat16)
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    options = (*where, overlap, behaviour)
    return _call("load_data_with_transpose", src, params, swapped, dst, out, options)


def data_copy(
    src: Any,
    params: Params,
    *swapped: Any,
    dst: Any = None,
    dst_size: int | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    behaviour: str = "documented",
    out: jax.Array | None = None,
) -> jax.Array:
    """`DataCopy`: between GM, UB and L1, also with a change of layout on the way.

    `params` is `Nz2NdParamsFull`, `NdDmaParams`, `Nd2NzParams` or `DataCopyParams`.
    Padding has no gradient. Shapes, arguments, results, errors and gradient are as
    `load_data`, but `Nd2NzParams` take 4-bit types as packed bytes only, and count
    bytes then.

    Source: NZ2ND and NDDMA; instructions.md, sections 4, 5, 6 and 9.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> ub = jnp.arange(1, 1025)
    >>> out = asc.data_copy(ub, asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1))
    >>> out[14:18].tolist()
    [15, 16, 513, 514]
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    options = (*where, overlap, behaviour)
    return _call("data_copy", src, params, swapped, dst, out, options)


def data_copy_pad(
    src: Any,
    params: Params,
    *swapped: Any,
    dst: Any = None,
    dst_size: int | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    behaviour: str = "documented",
    out: jax.Array | None = None,
) -> jax.Array:
    """`DataCopyPad`: runs of bytes between GM and UB, filled up to whole data blocks.

    `params` is `DataCopyExtParams`: with `pad_params` the runs go from GM to UB,
    without from UB to GM, as the overload says in Ascend C; `path` may only agree.
    Padding has no gradient. Shapes, arguments, results, errors and gradient are as
    `load_data`.

    Source: instructions.md, section 9.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> pad = asc.DataCopyPadExtParams(True, 0, 3, -1)
    >>> runs = asc.DataCopyExtParams(2, 20, 0, 0, pad_params=pad)
    >>> asc.data_copy_pad(jnp.arange(10), runs).tolist()
    [0, 1, 2, 3, 4, -1, -1, -1, 5, 6, 7, 8, 9, -1, -1, -1]
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    options = (*where, overlap, behaviour)
    return _call("data_copy_pad", src, params, swapped, dst, out, options)


def fixpipe(
    src: Any,
    params: Params,
    *swapped: Any,
    dst: Any = None,
    dst_size: int | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    behaviour: str = "documented",
    out: jax.Array | None = None,
) -> jax.Array:
    """`Fixpipe`: the matrix unit's result from L0C to rows in GM, cast on the way.

    `params` is `FixpipeParams`; `src` holds float or int32_t, `dtype` names which.
    Where these params cast, `dst` and the result have the type of what arrives.
    Shapes, arguments, results, errors and gradient are else as `load_data`: the
    gradient goes through the cast and through relu, whose derivative at 0 is 0.

    Source: instructions.md, section 8.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> l0c = jnp.arange(-2.0, 510.0)
    >>> rows = asc.FixpipeParams(18, 2, 16, 18, quant_pre="F322F16", relu_en=True)
    >>> asc.fixpipe(l0c, rows, product="910B", path="CO1->GM")[14:20]
    Array([ 12.,  13., 254., 255.,  14.,  15.], dtype=float16)
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    options = (*where, overlap, behaviour)
    return _call("fixpipe", src, params, swapped, dst, out, options)


def _call(
    op: str, src: Any, params: Any, swapped: tuple, dst: Any, out: Any, options: tuple
) -> jax.Array:
    if swapped or isinstance(src, Params):
        check_params(op, src, params, swapped)
    src, dst = operands(getattr(params, "instruction", op), src, dst)
    held = {"src": src, "dst": dst}
    forms = form_of(src), form_of(dst)
    move = look_up(_prepared, held, op, params, *forms, *options)
    return move(src, dst) if out is None else into(move, src, dst, out, op)


# typed, and each option an argument of its own: 256.0 is not 256, though equal.
@functools.lru_cache(maxsize=4096, typed=True)
def _prepared(op, params, src, dst, dst_size, src_offset, dst_offset, *rest):
    """One call, checked and compiled: a function of (src, dst)."""
    check_params(op, None, params, ())
    calls = (Call(params, src_offset, dst_offset),)
    return compiled(calls, src, dst, dst_size, *rest)


def check_params(op: str, src: Any, params: Any, swapped: tuple) -> None:
    """Raise ParamError where `params` is not what the op takes, or arguments are
    swapped."""
    takes = [cls for cls in REGISTRY.values() if cls.op == op]
    _check_parts(op, takes, swapped)
    fix = f"Write asc.{op}(src, params, dst=dst)."
    if swapped and isinstance(params, Params):
        rule, got = "be given by its name", "a third argument"
        raise ParamError(op, "dst", rule, got, fix, SOURCE)
    if swapped or isinstance(src, Params):
        rule = "be the second argument, after src"
        order = "arguments in Ascend C's order (dst, src, params)"
        got = order if swapped else "params first"
        raise ParamError(op, "params", rule, got, fix, SOURCE)
    if not isinstance(params, tuple(takes)):
        rule = f"be {' or '.join(cls.__name__ for cls in takes)}"
        other = getattr(params, "op", op)
        got = repr(params) if isinstance(params, type) else type(params).__name__
        fix = "Make one of these first, with its fields."
        if other != op:
            fix = f"Call asc.{other} for it."
        raise ParamError(op, "params", rule, got, fix, SOURCE)


def _check_parts(op: str, takes: list[type[Params]], swapped: tuple) -> None:
    """Raise ParamError where a struct that stands inside params is an argument of its
    own, as in Ascend C."""
    parts = [(cls, *part) for cls in takes for part in cls.parts().items()]
    for value in swapped:
        for cls, field, kind in parts:
            if isinstance(value, kind):
                rule = f"be given inside {cls.__name__}, as its field"
                got = f"{kind.__name__} as an argument of its own"
                fix = f"Write params = asc.{cls.__name__}(..., {field}={field}), then "
                fix += f"asc.{op}(src, params, dst=dst)."
                raise ParamError(op, field, rule, got, fix, cls.source)
