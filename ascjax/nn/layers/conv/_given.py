"""What users give to `NZConv2d`, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...._errors import ParamError
from ....instr._fields import as_word, static_int
from ....instr.load3dv2 import LoadData3DParamsV2
from .._given import SOURCE, checked_count

WHO = "NZConv2d"
Pair = tuple[int, int]  # of (rows, columns)
Padding = str | tuple[Pair, Pair]
_WORDS = ("SAME", "SAME_LOWER", "VALID")
_MODES = ("ZEROS", "REFLECT", "REPLICATE", "CIRCULAR")


def checked_groups(value: Any, in_channels: int, out_channels: int) -> int:
    """A number of groups that both numbers of channels are multiples of."""
    groups = checked_count(WHO, "groups", value, "(groups of channels)")
    if in_channels % groups or out_channels % groups:
        rule = "divide in_channels and out_channels (channels), "
        rule += f"{in_channels} and {out_channels}"
        fix = "Give each group the same number of channels."
        raise ParamError(WHO, "groups", rule, groups, fix, SOURCE)
    return groups


def checked_pair(field: str, value: Any) -> Pair:
    """Rows and columns, one number standing for both."""
    rule = "be an integer of at least 1 (elements), or two of them: rows, columns"
    items = (value, value)
    if _is_list(value):
        items = tuple(value)
    if len(items) != 2:
        raise ParamError(WHO, field, rule, repr(value), "Give one or two.", SOURCE)
    rows, columns = (static_int(WHO, field, item, rule, SOURCE) for item in items)
    if min(rows, columns) < 1:
        raise ParamError(WHO, field, rule, repr(value), "Count from 1.", SOURCE)
    return rows, columns


def checked_padding(value: Any) -> Padding:
    """A word in capitals, or (before, after) for rows and columns."""
    rule = (
        f"be one of {', '.join(map(repr, _WORDS))}, an integer (elements), or one or "
    )
    rule += "two of them each for rows and columns"
    fix = "Such as 1, 'SAME', (1, 2) or ((0, 1), (0, 1))."
    if isinstance(value, str):
        if value.upper() not in _WORDS:
            raise ParamError(WHO, "padding", rule, repr(value), fix, SOURCE)
        return value.upper()
    axes = tuple(value) if _is_list(value) else (value, value)
    pairs = [tuple(axis) if _is_list(axis) else (axis, axis) for axis in axes]
    if [len(pair) for pair in pairs] != [2, 2]:
        raise ParamError(WHO, "padding", rule, repr(value), fix, SOURCE)
    top, bottom, left, right = (
        static_int(WHO, "padding", n, rule, SOURCE) for pair in pairs for n in pair
    )
    return (top, bottom), (left, right)


def checked_padding_mode(value: Any, padding: Padding) -> str:
    """What stands outside the image, in capitals; only zeros may cut some of it off."""
    word = value.upper() if isinstance(value, str) else value
    mode = as_word(WHO, "padding_mode", word, _MODES, SOURCE)
    if mode != "ZEROS" and not isinstance(padding, str) and min(map(min, padding)) < 0:
        rule = f"be at least 0 (elements) for padding_mode={mode!r}"
        fix = "Cut the image first, or take padding_mode='ZEROS'."
        raise ParamError(WHO, "padding", rule, padding, fix, SOURCE)
    return mode


def check_road(
    kernel: Pair, stride: Pair, dilation: Pair, groups: int, padding_mode: str
) -> None:
    """Raise ParamError for what Load3DV2's road cannot do."""
    if groups > 1:
        rule = "be 1 for emulate='path': one Mmad sums over all channels"
        raise ParamError(WHO, "groups", rule, groups, _FIX, _LOAD3D)
    if padding_mode != "ZEROS":
        rule = "be ZEROS for emulate='path': Load3DV2 pads with one value"
        raise ParamError(WHO, "padding_mode", rule, padding_mode, _FIX, _LOAD3D)
    _check_limit("kernel_size", kernel, 256 + _high("filterW"), "filterW")
    _check_limit("stride", stride, _high("strideW"), "strideW")
    _check_limit("dilation", dilation, _high("dilationFilterW"), "dilationFilterW")


def check_pads(pads: tuple[Pair, Pair]) -> None:
    """Raise ParamError for padding that Load3DV2 has no room for."""
    numbers = [n for pair in pads for n in pair]
    if not 0 <= min(numbers) <= max(numbers) <= _high("padList"):
        rule = f"be in [0, {_high('padList')}] (elements) for emulate='path', the "
        rule += "range of Load3DV2's padList"
        raise ParamError(WHO, "padding", rule, pads, _FIX, _LOAD3D)


_FIX = "Take emulate='layout'."
_LOAD3D = LoadData3DParamsV2.source


def _check_limit(field: str, pair: Pair, high: int, name: str) -> None:
    if max(pair) > high:
        rule = f"be at most {high} (elements) for emulate='path', the range of "
        rule += f"Load3DV2's {name}"
        raise ParamError(WHO, field, rule, pair, _FIX, _LOAD3D)


def _high(name: str) -> int:
    """The end of a field's range."""
    return LoadData3DParamsV2.c_fields()[name].high or 0


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
