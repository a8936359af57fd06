"""The calls that a test names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._call import Call
from .._errors import ParamError
from ..instr import Params

SOURCE = "docs/kernel-repositories.md"


def given_calls(
    who: str, given: Any, src_offset: int, dst_offset: int
) -> tuple[Call, ...]:
    """What a test gives as `params`, as calls in order.

    Args:
      who: the public name that takes them, for errors.
      given: an instruction's params, a `Call`, or a list of those.
      src_offset, dst_offset: of params that stand alone, in elements.
    Raises:
      ParamError: what is no call, and offsets beside calls, which have their own.
    """
    if isinstance(given, Params):
        return (Call(given, src_offset, dst_offset),)
    calls = (given,) if isinstance(given, Call) else given
    whole = isinstance(calls, Sequence) and not isinstance(calls, str)
    if whole and calls and all(isinstance(one, Call) for one in calls):
        if not src_offset and not dst_offset:
            return tuple(calls)
        rule, got = "stand in each call", "offsets beside the calls"
        fix = "Write asc.Call(params, src_offset, dst_offset)."
        raise ParamError(who, "src_offset and dst_offset", rule, got, fix, SOURCE)
    rule = "be an instruction's params, or a list of asc.Call"
    fix = "Such as asc.LoadData2DParams(...), or [asc.Call(params, 0, 256), ...]."
    raise ParamError(who, "params", rule, repr(given), fix, SOURCE)
