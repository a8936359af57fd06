"""Calls in order on one destination, joined into one map."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

import jax

from ._call import Call, how
from ._errors import ParamError
from ._move import Overlap
from ._operands import SOURCE, form_of, operands
from ._run import compiled, look_up
from .instr import REGISTRY, Params


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
        held = {"src": src, "dst": dst}
        forms = form_of(src), form_of(dst)
        return look_up(_joined, held, self, *forms, dst_size)(src, dst)

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.calls, self.product, self.path, self.dtype, self.overlap))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self):
        return {k: v for k, v in vars(self).items() if k != "_hash"}


@functools.lru_cache(maxsize=4096, typed=True)
def _joined(calls: Sequence, src, dst, dst_size):
    """A sequence, checked and compiled: a function of (src, dst)."""
    options = (calls.product, calls.path, calls.dtype, calls.overlap, calls.behaviour)
    return compiled(calls.calls, src, dst, dst_size, *options)


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
    made = calls_of(calls, "sequence")
    return Sequence(made, product, path, dtype, overlap, behaviour)


def calls_of(calls: Any, who: str) -> tuple[Call, ...]:
    """Calls from a list of them, of params and of (params, src_offset, dst_offset)."""
    listed = list(calls) if isinstance(calls, Iterable) else []
    made = tuple(
        call if isinstance(call, Call) else _call_of(call, who) for call in listed
    )
    if not made:
        got = "none" if isinstance(calls, Iterable) else type(calls).__name__
        rule = "hold at least one call"
        raise ParamError(who, "calls", rule, got, _CALLS, SOURCE)
    return made


_CALLS = "Pass a list of params or (params, src_offset, dst_offset) tuples."


def _call_of(item: Any, who: str) -> Call:
    """One item of `calls`."""
    params, *starts = item if isinstance(item, tuple) and item else (item,)
    if item == ():
        got = "an empty tuple"
        raise ParamError(who, "calls", "hold params", got, _CALLS, SOURCE)
    if not isinstance(params, Params):
        rule = f"be one of {', '.join(cls.__name__ for cls in REGISTRY.values())}"
        got, fix = type(params).__name__, how(params) or _CALLS
        raise ParamError(who, "params", rule, got, fix, SOURCE)
    if len(starts) > 2:
        rule = "be (params, src_offset, dst_offset)"
        got = f"{len(item)} values"
        raise ParamError(who, "calls", rule, got, _CALLS, SOURCE)
    return Call(params, *starts)
