"""The cases of a sweep: params objects, mappings of fields, or columns of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._errors import AscendError, ParamError, SupportError
from ..instr import Params, params_class
from ..instr._c_struct import CStruct
from ..instr.mmad import MmadParams

WHO = "sweep"
SOURCE = "instructions.md, Units"


def instruction_of(instruction: Any, who: str) -> type[Params]:
    """The params class of a move, by name or by itself.

    Raises:
      SupportError: what is no move of ascjax; Mmad, which has two sources.
    """
    if isinstance(instruction, type) and issubclass(instruction, Params):
        return instruction
    if instruction in ("mmad", MmadParams):
        fix = "Use jax.vmap over asc.mmad for many matrices of one size."
        rule = "be a move, of one source and one destination"
        raise SupportError(who, "instruction", rule, "mmad", fix, MmadParams.source)
    return params_class(str(instruction))


def made(cls: type[Params], cases: Any) -> list[Params | AscendError]:
    """Each case's params, or the error that its fields raise."""
    if isinstance(cases, Mapping):
        return [_params(cls, row) for row in _rows(cls, cases)]
    if isinstance(cases, str) or not isinstance(cases, Iterable):
        rule = "be a list of params or of mappings, or a mapping of columns"
        fix = "Such as {'repeat_times': [1, 2], 'src_stride': 1}."
        raise ParamError(WHO, "cases", rule, repr(cases), fix, SOURCE)
    return [_params(cls, case) for case in cases]


def _params(cls: type[Params], case: Any) -> Params | AscendError:
    if isinstance(case, cls):
        return case
    if not isinstance(case, Mapping):
        rule = f"hold {cls.__name__} objects or mappings of its fields"
        fix = "One sweep is of one instruction."
        raise ParamError(WHO, "cases", rule, repr(case), fix, cls.source)
    try:
        return _made(cls, case, cls)
    except AscendError as error:
        return error


def _made(kind: type, case: Mapping[str, Any], cls: type[Params]) -> Any:
    """Params, or a struct in them, from fields by their names in snake_case or C.

    Raises:
      ParamError: fields that are wrong, or missing.
    """
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if not case.keys() <= fields.keys() and issubclass(kind, CStruct):
        return kind.from_fields(case)
    unknown = [name for name in case if name not in fields]
    missing = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and name not in case
    ]
    if unknown or missing:
        rule = f"be among {', '.join(fields)}, those without a default always there"
        told = (("unknown", unknown), ("missing", missing))
        got = "; ".join(f"{what} {', '.join(names)}" for what, names in told if names)
        fix = f"Name the fields of {kind.__name__}."
        raise ParamError(cls.instruction, "fields", rule, got, fix, cls.source)
    held = dict(case)
    for name, field in fields.items():
        inner = field.metadata.get("part")
        if inner is not None and isinstance(held.get(name), Mapping):
            held[name] = _made(inner, held[name], cls)
    return kind(**held)


def _rows(cls: type[Params], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One mapping a case, from columns that broadcast, as NumPy has it.

    Raises:
      ParamError: columns whose lengths do not fit.
    """
    arrays = {}
    for name, column in columns.items():
        held = list(column) if isinstance(column, range) else column
        arrays[name] = _column(held)
    try:
        found = np.broadcast_arrays(*arrays.values()) if arrays else []
    except ValueError:
        lengths = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        fix = "Give each a value for every case, or one for all."
        rule = "have columns that broadcast"
        raise ParamError(WHO, "cases", rule, lengths, fix, cls.source) from None
    rows = zip(*(array.reshape(-1) for array in found), strict=True)
    return [dict(zip(arrays, map(_plain, row), strict=True)) for row in rows]


def _column(values: Any) -> np.ndarray:
    """Integers and flags as they are; anything else as one object a case."""
    if isinstance(values, np.ndarray) or np.isscalar(values):
        return np.asarray(values)
    if not isinstance(values, list | tuple):
        return np.array(values, object)
    held = np.empty(len(values), object)
    for k, value in enumerate(values):
        held[k] = value
    return held


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
