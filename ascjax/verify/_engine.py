"""The engine's side of a case: its move, and its op traced."""

from __future__ import annotations

import contextlib

import jax

from .. import _sequence
from .._dtypes import ascend_type
from .._move import Call, Move
from ._cases import Case
from ._names import runnable


def calls_of(case: Case) -> tuple[Call, ...]:
    """The calls of a case, their params checked.

    Raises:
      AscendError: for an unknown instruction or field, or a value out of range.
    """
    return tuple(
        Call(
            runnable(step.instruction).from_fields(step.fields),
            step.src_offset,
            step.dst_offset,
        )
        for step in case.steps
    )


def make_move(case: Case) -> Move:
    """The calls of a case as one move, with every check of the engine.

    Raises:
      AscendError: where the documents do not allow the case.
    """
    return Move.sequence(
        calls_of(case),
        src_size=case.src_size,
        dst_size=case.dst_size,
        product=case.product,
        path=case.path,
        dtype=case.dtype,
        overlap=case.overlap,  # pyright: ignore[reportArgumentType]
    )


def trace(case: Case) -> None:
    """Traces a case's op on abstract operands; nothing runs.

    Raises:
      AscendError: where the documents do not allow the case.
    """
    t = ascend_type(case.dtype)
    calls = calls_of(case)
    t = calls[0].params.counted(t)
    wide = jax.enable_x64(True) if t.bits == 64 else contextlib.nullcontext()
    with wide:
        op = _sequence.sequence(
            calls,
            product=case.product,
            path=case.path,
            dtype=t.name,
            overlap=case.overlap,  # pyright: ignore[reportArgumentType]
        )
        jax.eval_shape(
            lambda src, dst: op(src, dst),
            jax.ShapeDtypeStruct((case.src_size,), t.carrier),
            jax.ShapeDtypeStruct((case.dst_size,), t.carrier),
        )
