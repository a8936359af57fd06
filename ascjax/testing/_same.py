"""`assert_same_move`: a kernel's buffers against the call that it should have run."""

from __future__ import annotations

from typing import Any

from .._call import Call
from .._move import Move, Overlap
from ..diagnosis._diagnose import of_dump
from ..diagnosis._rules import Claim
from ..dumps._check import first_mismatch, jobs_of, mismatches
from ..instr import Params
from ..sweeps._dump import dump_of
from ..sweeps._jobs import run_jobs

_WHO = "assert_same_move"


def assert_same_move(
    src: Any,
    dst_after: Any,
    params: Params,
    *,
    dst_before: Any = None,
    dtype: Any = None,
    product: Any = None,
    path: str | None = None,
    src_offset: int = 0,
    dst_offset: int = 0,
    overlap: Overlap = "error",
    diagnose: bool = True,
) -> None:
    """Pass where a call, applied to what the buffers held, leaves what they hold now.

    All is compared bit for bit. Arrays are NumPy's, JAX's or PyTorch's on a CPU.

    Shapes: `src` (elements,), `dst_after` and `dst_before` (elements,); packed 4-bit
    buffers are uint8, two elements a byte.

    Args:
      src: what the source held.
      dst_after: what the destination holds.
      params: of the call.
      dst_before: what the destination held before; None compares what is written only.
      dtype: the Ascend C type, where the array's own does not tell.
      product, path, src_offset, dst_offset, overlap: as in `load_data`.
      diagnose: whether a failure also says which changed calls would explain it.
    Returns: None.
    Raises:
      AssertionError: the first element that differs, by fractal, row and column where
        there are fractals, with its bits, and what `asc.diagnose` finds.
      ParamError, SupportError, BoundsError, AlignmentError, OverlapError: a call that
        is refused, and buffers of other types or sizes.
    Gradient: none.
    Source: instructions.md, Units and sections 1 to 6 and 9.

    >>> import ascjax as asc, numpy as np
    >>> src, p = np.arange(512, dtype="float16"), asc.LoadData2DParams(1, 1)
    >>> asc.testing.assert_same_move(src, src[256:], p)
    >>> asc.testing.assert_same_move(src, src[:256], p)
    Traceback (most recent call last):
    ...
    AssertionError: load2d: 256 of 256 elements differ, the first: destination ...
    """
    dump, type = dump_of(_WHO, params, src, dst_before, dst_after, dtype)
    move = Move.of(
        params,
        src_size=dump.src.size,
        dst_size=dump.dst_after.size,
        src_offset=src_offset,
        dst_offset=dst_offset,
        product=product,
        path=path,
        dtype=type,
        overlap=overlap,
    )
    found = list(run_jobs(jobs_of(move, dump)))
    wrong = mismatches(dump.dst_after, found)
    if not wrong.any():
        return
    text = f"{params.instruction}: {int(wrong.sum())} of {wrong.size} elements differ, "
    _, said = first_mismatch(move, dump, found[0], wrong)
    text += f"the first: {said}"
    if diagnose:
        claim = Claim(Call(params, src_offset, dst_offset), type)
        told = of_dump(dump, claim, product, path, overlap)
        text += "".join(f"\n  {one}" for one in told.explanations[:3])
    raise AssertionError(text)
