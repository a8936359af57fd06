"""`expected`: what a destination must hold after some calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._move import Move, Overlap
from ..sweeps._batch import Job
from ..sweeps._bits import array_from, array_of
from ..sweeps._dump import held
from ..sweeps._jobs import run_jobs
from ._calls import given_calls

_WHO = "expected"


def expected(
    src: Any,
    dst_before: Any,
    params: Any,
    *,
    dtype: Any = None,
    product: Any = None,
    path: str | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    overlap: Overlap = "error",
) -> np.ndarray:
    """What a destination must hold after calls: the golden data of a kernel's test.

    Shapes: `src` (elements,), `dst_before` (elements,); packed 4-bit buffers are uint8,
    two elements a byte. The result is as `dst_before`, in shape and type.

    Args:
      src: what the source holds.
      dst_before: what the destination holds before; cells that no call writes keep it.
      params: of the call; or several calls in order, a list of `asc.Call`.
      dtype: the Ascend C type, where the array's own does not tell.
      product, path, src_offset, dst_offset, overlap: as in `load_data`; a list of
        calls has offsets of its own.
    Returns: a NumPy array, exact to the bit.
    Raises:
      ParamError, SupportError, BoundsError, AlignmentError, OverlapError: a call that
        is refused, and buffers of other types or sizes.
    Gradient: none; `load_data` and the other ops have one.
    Source: instructions.md, Units and sections 1 to 6 and 9.

    >>> import ascjax as asc, numpy as np
    >>> src, dst = np.arange(512, dtype="float16"), np.zeros(256, "float16")
    >>> asc.testing.expected(src, dst, asc.LoadData2DParams(1, 1))[:2].tolist()
    [256.0, 257.0]
    """
    calls = given_calls(_WHO, params, src_offset, dst_offset)
    first = calls[0].params
    source, type = held(_WHO, first, "src", src, dtype)
    arrives = first.arrives(type)
    before, _ = held(_WHO, first, "dst_before", dst_before, arrives.name)
    move = Move.sequence(
        calls,
        src_size=source.size,
        dst_size=before.size,
        dtype=type,
        product=product,
        path=path,
        overlap=overlap,
    )
    (after,) = run_jobs([Job(move, source, before)])
    given = array_of(_WHO, "dst_before", dst_before)
    packed = arrives.bits == 4 and given.dtype == np.uint8
    return array_from(after, given.dtype, packed).reshape(given.shape)
