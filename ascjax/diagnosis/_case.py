"""The diagnosis of a case that has a dump."""

from __future__ import annotations

from typing import Any

from .._dtypes import ascend_type
from ..dumps import read_dump
from ..verify._cases import Case
from ..verify._engine import calls_of
from ._diagnose import of_calls
from ._explanation import Diagnosis
from ._rules import Claim


def of_case(case: Case) -> Diagnosis:
    """The calls near those of a case that explain its dump, ranked.

    Args:
      case: one that has a dump (docs/case-files.md).
    Returns: a `Diagnosis`.
    Raises:
      DumpError: a file at fault.
      AscendError: a case that is refused itself.
    """
    calls = calls_of(case)
    type = calls[0].params.counted(ascend_type(case.dtype))
    overlap: Any = case.overlap
    claims = [Claim(call, type) for call in calls]
    return of_calls(read_dump(case), claims, case.product, case.path, overlap)
