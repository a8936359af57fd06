"""`assert_same_move`: a kernel's buffers against the calls that it should have run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from .._call import Call
from .._dtypes import AscendType, ascend_type
from .._errors import ParamError
from .._move import Move, Overlap
from ..diagnosis._diagnose import of_calls
from ..diagnosis._rules import Claim
from ..dumps import Dump, read_dump
from ..dumps._check import first_mismatch, jobs_of, mismatches
from ..dumps._read import read_files
from ..page._failure import excerpt
from ..page._view import view_of_dump
from ..sweeps._dump import dump_of
from ..sweeps._jobs import run_jobs
from ..verify._cases import Case, DumpFiles
from ..verify._engine import calls_of
from ._calls import SOURCE, given_calls

_WHO = "assert_same_move"
_EXPLAINED = 3


class _Claimed(NamedTuple):
    """Buffers, and the calls that are claimed to have made them."""

    dump: Dump
    calls: tuple[Call, ...]
    type: AscendType
    site: dict[str, Any]


def assert_same_move(
    src: Any,
    dst_after: Any = None,
    params: Any = None,
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
    """Pass where calls, applied to what the buffers held, leave what they hold now.

    `assert_same_move(src, dst_after, params, ...)` takes arrays, NumPy's, JAX's or
    PyTorch's on a CPU; `assert_same_move("row7.npz", params, ...)` a file that has
    them, by these names; `assert_same_move(case)` a case with a dump, from
    `ascjax.verify.read_cases`, which says all the rest. All is compared bit for bit.

    Shapes: `src` (elements,), `dst_after` and `dst_before` (elements,); packed 4-bit
    buffers are uint8, two elements a byte.

    Args:
      src: what the source held; or a .npz or .safetensors file; or a case.
      dst_after: what the destination holds.
      params: of the call; or several calls in order, a list of `asc.Call`.
      dst_before: what the destination held before; None compares what is written only.
      dtype: the Ascend C type, where the array's own does not tell; files need it.
      product, path, src_offset, dst_offset, overlap: as in `load_data`; a list of
        calls has offsets of its own.
      diagnose: whether a failure also says which changed calls would explain it.
    Returns: None.
    Raises:
      AssertionError: the first element that differs, by fractal, row and column where
        there are fractals, with its bits and those around it, and what `asc.diagnose`
        finds.
      ParamError, SupportError, BoundsError, AlignmentError, OverlapError: a call that
        is refused, buffers of other types or sizes, and what a file or a case says
        itself.
      DumpError: a file at fault.
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
    site = {"product": product, "path": path, "overlap": overlap}
    buffers = {"dst_before": dst_before}
    if isinstance(src, Case):
        site |= {"overlap": None if overlap == "error" else overlap, "dtype": dtype}
        site |= {"src_offset": src_offset or None, "dst_offset": dst_offset or None}
        _check_idle("a case", dst_after=dst_after, params=params, **buffers, **site)
        claimed = _of_case(src)
    elif isinstance(src, str | os.PathLike):
        if params is not None:
            buffers["dst_after"] = dst_after
        _check_idle("a file", **buffers)
        given = dst_after if params is None else params
        calls = given_calls(_WHO, given, src_offset, dst_offset)
        claimed = _of_file(Path(src), calls, dtype, site)
    else:
        calls = given_calls(_WHO, params, src_offset, dst_offset)
        first = calls[0].params
        dump, type = dump_of(_WHO, first, src, dst_before, dst_after, dtype)
        claimed = _Claimed(dump, calls, type, site)
    text = _difference(claimed, diagnose)
    if text:
        raise AssertionError(text)


def _check_idle(what: str, **given: Any) -> None:
    """Refuse what stands beside a case or file that says it itself."""
    for field, value in given.items():
        if value is not None:
            rule, fix = f"be left to {what}", f"Put it into {what}, or pass arrays."
            raise ParamError(_WHO, field, rule, "one beside it", fix, SOURCE)


def _of_case(case: Case) -> _Claimed:
    if case.dump is None:
        rule, fix = "have a dump", "Check it with ascjax.verify.check_case."
        raise ParamError(_WHO, f"case {case.id}", rule, "none", fix, SOURCE)
    calls = calls_of(case)
    type = calls[0].params.counted(ascend_type(case.dtype))
    site = {"product": case.product, "path": case.path, "overlap": case.overlap}
    return _Claimed(read_dump(case), calls, type, site)


def _of_file(
    path: Path, calls: tuple[Call, ...], dtype: Any, site: dict[str, Any]
) -> _Claimed:
    if dtype is None:
        rule, fix = "be given with a file", "Pass dtype, such as 'half'."
        raise ParamError(_WHO, "dtype", rule, "none", fix, SOURCE)
    params = calls[0].params
    type = params.counted(ascend_type(dtype))
    dump = read_files(path.parent, DumpFiles.all_in(path.name), params, type)
    return _Claimed(dump, calls, type, site)


def _difference(claimed: _Claimed, diagnose: bool) -> str:
    """What is wrong, in words; "" where nothing is."""
    dump, calls, type, site = claimed
    move = Move.sequence(
        calls,
        src_size=dump.src.size,
        dst_size=dump.dst_after.size,
        dtype=type,
        **site,
    )
    found = list(run_jobs(jobs_of(move, dump)))
    wrong = mismatches(dump.dst_after, found)
    if not wrong.any():
        return ""
    who = ", ".join(dict.fromkeys(call.params.instruction for call in calls))
    text = f"{who}: {int(wrong.sum())} of {wrong.size} elements differ, "
    _, said = first_mismatch(move, dump, found[0], wrong)
    text += f"the first: {said}"
    if diagnose:
        claims = [Claim(call, type) for call in calls]
        told = of_calls(dump, claims, site["product"], site["path"], site["overlap"])
        text += "".join(f"\n  {one}" for one in told.explanations[:_EXPLAINED])
    view = view_of_dump(move, dump)
    return text if view is None else f"{text}\n{excerpt(view)}"
