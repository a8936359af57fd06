"""A scenario, checked: the matrices must stand in L0A and L0B, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dtypes import ascend_type
from .._errors import BoundsError, SupportError
from .._move import Move
from .._nest import FILL, KEEP
from .._products import Product, product
from ._cases import Operand, Scenario, unit_bits
from ._entry import Step
from ._names import runnable
from ._result import content, place


def check_scenario(scenario: Scenario) -> tuple[np.ndarray, str]:
    """Moves both matrices' element numbers from GM to L1 to L0 and reads L0 back.

    Returns which of the real elements are wrong, and the first of them in words.

    Raises:
      AscendError: where ascjax refuses one of the calls.
    """
    found, message = [], ""
    for operand in scenario.operands:
        side = operand.side.upper()
        held = _land(operand, product(scenario.product), scenario.dtype)
        address, expected = _wanted(operand)
        if address.max() >= held.size:
            rule = f"fit L0{side}, {held.size} elements of {scenario.dtype}"
            fix = "Correct l0_shape or l0_fractal."
            raise BoundsError("scenario", "l0_shape", rule, operand.l0_shape, fix)
        arrived = held[address]
        wrong = arrived != expected
        found.append(wrong.ravel())
        if wrong.any() and not message:
            bits = ascend_type(scenario.dtype).bits
            r, c = (int(axis[0]) for axis in np.nonzero(wrong))
            where = place(int(address[r, c]), f"{side}2", bits)
            want, got = (
                content(int(ids[r, c]), expected.size, "GM", bits)
                for ids in (expected, arrived)
            )
            message = (
                f"{side}: row {r}, column {c} of the matrix, L0{side} element {where}: "
                f"expected {want} of GM, got {got}"
            )
    return np.concatenate(found), message


def _land(operand: Operand, where: Product, dtype: str) -> np.ndarray:
    """L0 after all calls: the element of GM in each place, KEEP or FILL."""
    bits = ascend_type(dtype).bits
    side = operand.side.upper()
    count = operand.rows * operand.columns
    gm = np.full(count + count % 2, KEEP)  # whole bytes, for 4 bits too
    gm[:count] = np.arange(count)
    l1 = _buffer(where, "L1", bits)
    for step in operand.gm_to_l1:
        l1 = _run(step, gm, l1, product=where, path=f"GM->{side}1", dtype=dtype)
    l0 = _buffer(where, f"L0{side}", bits)
    for step in operand.l1_to_l0:
        l0 = _run(step, l1, l0, product=where, path=f"{side}1->{side}2", dtype=dtype)
    return l0


def _buffer(where: Product, name: str, bits: int) -> np.ndarray:
    """A buffer of the product with nothing in it."""
    if name not in where.buffers_kib:
        fix = "Choose a product that has a matrix unit."
        raise SupportError("scenario", "product", f"have {name}", where, fix)
    return np.full(where.buffers_kib[name] * 8192 // bits, KEEP)


def _run(step: Step, src: np.ndarray, dst: np.ndarray, **site: Any) -> np.ndarray:
    """`dst` after one call. What the call counts may be wider than an element."""
    params = runnable(step.instruction).from_fields(step.fields)
    bits = ascend_type(site["dtype"]).bits
    wide = unit_bits(step.instruction, site["dtype"]) // bits
    move = Move.of(
        params,
        src_size=src.size // wide,
        dst_size=dst.size // wide,
        src_offset=step.src_offset,
        dst_offset=step.dst_offset,
        **site,
    )
    units = src.reshape(-1, wide).T, dst.reshape(-1, wide).T
    return move.index_map.apply(*units, fill=FILL).T.reshape(-1)


def _wanted(operand: Operand) -> tuple[np.ndarray, np.ndarray]:
    """Where each real element must stand in L0, and which element of GM it is.

    Two arrays of [rows, columns].
    """
    fr, fc = operand.l0_fractal
    r, c = np.indices((operand.rows, operand.columns))
    across = -(-operand.l0_shape[1] // fc)
    down = -(-operand.l0_shape[0] // fr)
    row = operand.l0_outer == "row"
    block = r // fr * across + c // fc if row else c // fc * down + r // fr
    address = block * fr * fc + r % fr * fc + c % fc
    gm = c * operand.rows + r if operand.transpose else r * operand.columns + c
    return address, gm
