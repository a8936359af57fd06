"""The public operations, named and overloaded as Ascend C has them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax

from ._errors import BoundsError, ParamError
from ._move import Call, Move, Overlap
from ._operands import SOURCE, Form, form_of, operands, sizes_of, type_of
from ._packed import byte_plan, run_nibbles
from ._primitive import jitted
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
) -> jax.Array:
    """`LoadData`: fractals from GM or L1 to L1, L0A or L0B.

    Shapes: `src` is (..., s) and `dst`, like the result, (..., d): the last axis is the
    flat buffer in elements, leading axes are a batch. Packed 4-bit buffers are uint8,
    two elements a byte. Nothing is mutated.

    Args:
      src: what the source holds.
      params: `LoadData2DParams` or `LoadData2DParamsV2`; static.
      dst: what the destination held before; None is zero bits.
      dst_size: elements of the result where `dst` is None; None is just the span that
        is written.
      src_offset, dst_offset: where the operands start, in elements; static.
      product: an `asc.Product`, its name or an alias; None skips what depends on it.
      path: such as "A1->A2" or "L1->L0A"; None skips positions and alignment.
      dtype: the Ascend C type, where the array's own does not tell.
      overlap: "error" refuses two writes to one element, "last" lets the later win.
      behaviour: "documented"; "as_built" is reserved.
    Returns: what the destination holds after.
    Raises: ParamError, SupportError, BoundsError, AlignmentError, OverlapError, while
      tracing.
    Gradient: to `src` where it was copied from, summed over repeats; to `dst` where it
      was kept; integer types give float0.
    Source: Load2D; instructions.md, sections 1 and 2.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> l1 = jnp.arange(512, dtype="float16")
    >>> p = asc.LoadData2DParams(repeat_times=2, src_stride=1, if_transpose=True)
    >>> asc.load_data(l1, p, product="910B", path="L1->L0A")[:4]
    Array([ 0., 16., 32., 48.], dtype=float16)
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    return _call("load_data", src, params, swapped, dst, (*where, overlap, behaviour))


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
    return _call(
        "load_data_with_transpose",
        src,
        params,
        swapped,
        dst,
        (*where, overlap, behaviour),
    )


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
) -> jax.Array:
    """`DataCopy`: between GM and UB, with a change of layout on the way.

    `params` is `Nz2NdParamsFull` or `NdDmaParams`. Padding has no gradient. Shapes,
    arguments, results, errors and gradient are as `load_data`.

    Source: NZ2ND and NDDMA; instructions.md, sections 4 and 5.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> ub = jnp.arange(1, 1025)
    >>> out = asc.data_copy(ub, asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1))
    >>> out[14:18].tolist()
    [15, 16, 513, 514]
    """
    where = (dst_size, src_offset, dst_offset, product, path, dtype)
    return _call("data_copy", src, params, swapped, dst, (*where, overlap, behaviour))


def _call(
    op: str, src: Any, params: Any, swapped: tuple, dst: Any, options: tuple
) -> jax.Array:
    if swapped or isinstance(src, Params):
        check_params(op, src, params, swapped)
    src, dst = operands(getattr(params, "instruction", op), src, dst)
    move = _look_up(_prepared, op, params, form_of(src), form_of(dst), *options)
    return move(src, dst)


def _look_up(cached: Any, *key: Any) -> Callable[..., jax.Array]:
    """`cached(*key)`; where something in the key does not hash, the checks say what."""
    try:
        return cached(*key)
    except TypeError:
        return cached.__wrapped__(*key)


# typed, and each option an argument of its own: 256.0 is not 256, though equal.
@functools.lru_cache(maxsize=4096, typed=True)
def _prepared(op, params, src, dst, dst_size, src_offset, dst_offset, *rest):
    """One call, checked and compiled: a function of (src, dst)."""
    check_params(op, None, params, ())
    calls = (Call(params, src_offset, dst_offset),)
    return _compiled(calls, src, dst, dst_size, *rest)


@functools.lru_cache(maxsize=4096, typed=True)
def _joined(calls: Sequence, src, dst, dst_size):
    """A sequence, checked and compiled: a function of (src, dst)."""
    options = (calls.product, calls.path, calls.dtype, calls.overlap, calls.behaviour)
    return _compiled(calls.calls, src, dst, dst_size, *options)


def _compiled(
    calls: tuple[Call, ...],
    src: Form,
    dst: Form | None,
    dst_size: Any,
    product: Any,
    path: str | None,
    dtype: Any,
    overlap: Overlap,
    behaviour: str,
) -> Callable[..., jax.Array]:
    who = calls[0].params.instruction
    t, packed = type_of(who, src, dst, dtype)
    src_size, dst_size = sizes_of(who, src, dst, dst_size, packed)
    move = Move.sequence(
        calls,
        src_size=src_size,
        dst_size=dst_size,
        product=product,
        path=path,
        dtype=t,
        overlap=overlap,
        behaviour=behaviour,
    )
    return _applied(move, packed)


@functools.lru_cache(maxsize=4096)
def _applied(move: Move, packed: bool) -> Callable[..., jax.Array]:
    """The move as a compiled function of (src, dst)."""
    if not packed:
        return jitted(move.plan)
    src_bytes, dst_bytes = -(-move.src_size // 2), -(-move.dst_size // 2)
    plan = byte_plan(move.nest, src_bytes, dst_bytes)
    if plan is not None:
        return jitted(plan)
    even = dataclasses.replace(move, src_size=2 * src_bytes, dst_size=2 * dst_bytes)
    return jax.jit(functools.partial(run_nibbles, even.plan))


def run_move(move: Move, src: Any, dst: Any = None) -> jax.Array:
    """Apply a `Move` to arrays, under a cached `jax.jit`.

    Shapes: `src` (..., move.src_size), `dst` and the result (..., move.dst_size), in
    elements; packed 4-bit buffers are uint8, half as long, rounded up.

    Args:
      move: what to apply.
      src: what the source holds.
      dst: what the destination held before; None is zero bits.
    Returns: what the destination holds after.
    Raises:
      ParamError: arrays of another type than the move's.
      BoundsError: arrays of other sizes than the move's.
    Gradient: as `load_data`.
    Source: instructions.md, sections 1 to 5.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.LoadData2DParams(start_index=1, repeat_times=1)
    >>> move = asc.Move.of(p, dtype="float", src_size=256)
    >>> asc.run_move(move, jnp.arange(256.0))[:2]
    Array([128., 129.], dtype=float32)
    """
    who = move.calls[0].params.instruction
    src, dst = operands(who, src, dst)
    _, packed = type_of(who, (src.shape[-1], src.dtype), form_of(dst), move.type)
    for field, array, size in (
        ("src", src, move.src_size),
        ("dst", dst, move.dst_size),
    ):
        length = size if not packed else -(-size // 2)
        if array is not None and array.shape[-1] != length:
            unit = "bytes, two elements each" if packed else "elements"
            fix = "Make the move for this size, or pass the buffer it was made for."
            rule = f"hold {length} ({unit}) in its last axis"
            raise BoundsError(who, field, rule, array.shape[-1], fix, SOURCE)
    return _applied(move, packed)(src, dst)


@dataclasses.dataclass(frozen=True)
class Sequence:
    """Calls in order on one destination, as one map; made by `asc.sequence`.

    Called with (src, dst=None, *, dst_size=None). Shapes, arguments, results, errors
    and gradient are as `load_data`.

    Source: instructions.md, Units.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> one = asc.LoadData2DParams(repeat_times=1)
    >>> both = asc.sequence([(one, 256, 0), (one, 0, 256)])
    >>> both(jnp.arange(512, dtype="float16"))[::256]
    Array([256.,   0.], dtype=float16)
    """

    calls: tuple[Call, ...]
    product: Any = None
    path: str | None = None
    dtype: Any = None
    overlap: Overlap = "error"
    behaviour: str = "documented"

    def __call__(
        self, src: Any, dst: Any = None, *, dst_size: int | None = None
    ) -> jax.Array:
        """What `dst` holds after all calls; shapes and errors as for `load_data`."""
        src, dst = operands(self.calls[0].params.instruction, src, dst)
        return _look_up(_joined, self, form_of(src), form_of(dst), dst_size)(src, dst)

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.calls, self.product, self.path, self.dtype, self.overlap))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k != "_hash"}


def sequence(
    calls: Iterable[Any],
    *,
    product: Any = None,
    path: str | None = None,
    dtype: Any = None,
    overlap: Overlap = "error",
    behaviour: str = "documented",
) -> Sequence:
    """A loop of calls on one destination, joined into one map.

    Args:
      calls: params, (params, src_offset) or (params, src_offset, dst_offset), offsets
        in elements. A later call may overwrite what an earlier one wrote.
      product, path, dtype, overlap, behaviour: as for `load_data`; `overlap` is about
        two writes of one call.
    Returns: a function of (src, dst=None, *, dst_size=None). Shapes, errors and
      gradient are as `load_data`.
    Source: instructions.md, Units.

    >>> import ascjax as asc, jax.numpy as jnp
    >>> p = asc.LoadData2DParams(repeat_times=2, src_stride=3)
    >>> fill = asc.sequence([(p, i * 256, i * 512) for i in range(3)])
    >>> fill(jnp.arange(1536, dtype="float16")).shape
    (1536,)
    """
    listed = list(calls) if isinstance(calls, Iterable) else []
    made = tuple(call if isinstance(call, Call) else _call_of(call) for call in listed)
    if not made:
        got = "none" if isinstance(calls, Iterable) else type(calls).__name__
        rule = "hold at least one call"
        raise ParamError("sequence", "calls", rule, got, _CALLS, SOURCE)
    return Sequence(made, product, path, dtype, overlap, behaviour)


_CALLS = "Pass a list of params or (params, src_offset, dst_offset) tuples."


def _call_of(item: Any) -> Call:
    """One item of `sequence`'s calls."""
    params, *starts = item if isinstance(item, tuple) and item else (item,)
    if item == ():
        got = "an empty tuple"
        raise ParamError("sequence", "calls", "hold params", got, _CALLS, SOURCE)
    if not isinstance(params, Params):
        rule = f"be one of {', '.join(cls.__name__ for cls in REGISTRY.values())}"
        got = type(params).__name__
        raise ParamError("sequence", "params", rule, got, _CALLS, SOURCE)
    if len(starts) > 2:
        rule = "be (params, src_offset, dst_offset)"
        got = f"{len(item)} values"
        raise ParamError("sequence", "calls", rule, got, _CALLS, SOURCE)
    return Call(params, *starts)


def check_params(op: str, src: Any, params: Any, swapped: tuple) -> None:
    """Raise ParamError where `params` is not what the op takes, or arguments are
    swapped."""
    if swapped and isinstance(params, Params):
        rule, got = "be given by its name", "a third argument"
        fix = f"Write asc.{op}(src, params, dst=dst)."
        raise ParamError(op, "dst", rule, got, fix, SOURCE)
    if swapped or isinstance(src, Params):
        rule = "be the second argument, after src"
        order = "arguments in Ascend C's order (dst, src, params)"
        got = order if swapped else "params first"
        fix = f"Write asc.{op}(src, params, dst=dst)."
        raise ParamError(op, "params", rule, got, fix, SOURCE)
    takes = [cls for cls in REGISTRY.values() if cls.op == op]
    if not isinstance(params, tuple(takes)):
        rule = f"be {' or '.join(cls.__name__ for cls in takes)}"
        other = getattr(params, "op", op)
        got = repr(params) if isinstance(params, type) else type(params).__name__
        fix = "Make one of these first, with its fields."
        if other != op:
            fix = f"Call asc.{other} for it."
        raise ParamError(op, "params", rule, got, fix, SOURCE)
