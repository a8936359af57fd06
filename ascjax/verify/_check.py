"""One case, checked: the engine's map against the given one and the oracle's."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from .. import oracle
from .._errors import AscendError
from .._move import Move
from .._nest import FILL, KEEP
from ..instr import REGISTRY
from ._cases import Case, Scenario, unit_bits
from ._engine import make_move, trace
from ._op_map import op_map
from ._result import Result as Result
from ._result import first_difference
from ._scenario import check_scenario

_NAMES = {
    "map": "against the given map",
    "oracle": "against the oracle",
    "op": "the jitted op against the engine's map",
}


def check_case(case: Case | Scenario, *, through_op: bool = False) -> Result:
    """One case's result. Whatever a case does, it comes back as a result.

    Args:
      case: from `read_cases`.
      through_op: also run the case through its own jitted op.

    >>> from ascjax import verify
    >>> step = verify.Step("load2d", {"repeatTimes": 2, "srcStride": 1})
    >>> case = Case("mine", "", (step,), "atlas_a2", "A1->A2", "half", 512, 512)
    >>> check_case(case).status
    'ok'
    """
    started = time.perf_counter()
    try:
        result = _checked(case, through_op)
    except AscendError as error:
        result = _result(case, "error", message=f"refused: {error}")
    except Exception as error:  # a field of a kind that nothing expects
        result = _result(case, "error", message=_one_line(error))
    return dataclasses.replace(
        result, file=case.file, seconds=time.perf_counter() - started
    )


def _checked(case: Case | Scenario, through_op: bool) -> Result:
    missing = {step.instruction for step in case.steps} - REGISTRY.keys()
    if missing:
        lacks = f"ascjax has no {', '.join(sorted(missing))}"
        return _result(case, "unsupported", message=lacks)
    if isinstance(case, Scenario):
        return check_scenario(case)
    if not case.documented:
        only = "holds for chips as built only, which ascjax does not have"
        return _result(case, "unsupported", message=only)
    if case.why is not None:
        return _refusal(case)
    return _compare(case, make_move(case), through_op)


def _refusal(case: Case) -> Result:
    """A case that must be refused: any other end than an AscendError is wrong."""
    rule = f"must be refused ({case.why})"
    try:
        trace(case)
    except AscendError as error:
        return _result(case, "refused", message=str(error))
    except Exception as error:
        text = f"{rule}, but raised {_one_line(error)}, which is no AscendError"
        return _result(case, "error", message=text)
    return _result(case, "error", message=f"{rule}, but was accepted")


def _compare(case: Case, move: Move, through_op: bool) -> Result:
    """The engine's map against all that there is to compare it with."""
    index = move.index_map.index
    codes = np.maximum(index, FILL)  # files and the oracle have one code for padding
    compared: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # (expected, arrived)
    if case.golden is not None:
        compared["map"] = case.golden, codes
    if all(step.instruction in oracle.INSTRUCTIONS for step in case.steps):
        try:
            compared["oracle"] = oracle_map(case), codes
        except AscendError as error:
            text = f"the engine accepts it, the oracle refuses: {error}"
            return _result(case, "error", message=text)
    if not compared:
        text = (
            f"nothing to compare with: no map in an .npz beside {case.file}, and the "
            f"oracle has no {case.instruction}"
        )
        return _result(case, "error", message=text)
    if through_op:
        compared["op"] = index, op_map(move)
    wrong = np.zeros(index.size, bool)
    message = ""
    for name, (expected, arrived) in compared.items():
        differs = expected != arrived
        wrong |= differs
        if differs.any() and not message:
            bits = unit_bits(case.instruction, case.dtype)
            sizes = case.src_size, move.path, bits
            message = f"{_NAMES[name]}: {first_difference(expected, arrived, *sizes)}"
    return _result(
        case,
        "mismatch" if wrong.any() else "ok",
        elements=index.size,
        mismatches=int(wrong.sum()),
        message=message,
        compared=tuple(compared),
    )


def oracle_map(case: Case) -> np.ndarray:
    """The map that the oracle's calls leave: element numbers moved, not values."""
    src = np.arange(case.src_size, dtype=np.int32)
    dst = np.full(case.dst_size, KEEP, np.int32)
    for step in case.steps:
        dst = oracle.run(
            step.instruction,
            step.fields,
            unit_bits(step.instruction, case.dtype),
            src,
            dst,
            src_offset=step.src_offset,
            dst_offset=step.dst_offset,
            pad=FILL,
            overlap=case.overlap,
        )
    return dst


def _result(case: Case | Scenario, status, **rest) -> Result:
    return Result(case.id, case.instruction, status, **rest)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
