"""Instructions by name: their own, the C struct's, the document's, the function's."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable
from typing import Any

from .._errors import SupportError
from .._products import Product, product, resolve_path
from ..instr import REGISTRY, Params, params_class
from ..instr._struct import Struct
from ..instr.mmad import MmadParams

COMPUTES: dict[str, type[Struct]] = {MmadParams.instruction: MmadParams}
"""Instructions that are no moves: several sources, and no map from them."""


@functools.lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """A name without case and separators, so that spellings can be compared.

    >>> plain("src_offset") == plain("srcOffset")
    True
    """
    return "".join(c for c in name.lower() if c.isalnum())


def matching(name: str) -> list[str]:
    """The instructions that a name stands for, in any case.

    >>> matching("LoadData2DParams"), matching("LoadDataWithTranspose")
    (['load2d'], ['ldwt_v1', 'ldwt_v2'])
    """
    spelt = plain(name)
    keys = (*REGISTRY, *COMPUTES)
    closest = min((_rank(key, spelt) for key in keys), default=3)
    return [key for key in keys if _rank(key, spelt) == closest < 3]


_NO_MAP = "It has several sources: its struct's docstring lists the fields."


def resolve(name: str) -> type[Params]:
    """The one instruction that a name stands for.

    Raises:
      SupportError: where it stands for none, or for several.
    """
    found = matching(name)
    if found and found[0] in COMPUTES:
        rule = "be a move, which a map shows"
        raise SupportError("ascjax", "instruction", rule, repr(name), _NO_MAP)
    if len(found) == 1:
        return REGISTRY[found[0]]
    if found:
        each = [f"{key} ({REGISTRY[key].__name__})" for key in found]
        got, rule = f"{name!r}, which is {' and '.join(each)}", "name one only"
        raise SupportError("ascjax", "instruction", rule, got, "Name one of these.")
    rule = f"be one that ascjax has ({', '.join(REGISTRY)})"
    raise SupportError("ascjax", "instruction", rule, repr(name), advice(name))


def chosen(names: Iterable[str]) -> list[str]:
    """The instructions that names stand for, each name for all that have it.

    Raises:
      SupportError: for a name that no instruction has.
    """
    found = (matching(name) or [resolve(name).instruction] for name in names)
    return [key for keys in found for key in keys]


def runnable(instruction: str) -> type[Params]:
    """The params class of an instruction, by its own name, that has a `nest`.

    Raises:
      SupportError: where ascjax has no such instruction, or its class has no `nest`.
    """
    cls = params_class(instruction)
    if cls.nest is Params.nest:
        fix = "Write its method nest(site), which returns a LoopNest or Runs."
        rule = f"be a method of {cls.__name__}"
        raise SupportError(instruction, "nest", rule, "none", fix)
    return cls


def site_of(
    where: Any, path: str | None, instruction: str
) -> tuple[Product | None, str | None]:
    """The product and path that a case's names for them mean to an instruction.

    Raises:
      SupportError: for a name that nothing has.

    >>> site_of("910B", "L1->L0A", "load2d")
    (atlas_a2, 'A1->A2')
    """
    found = None if where is None else product(where, instruction)
    if path is None:
        return found, None
    cls = COMPUTES.get(instruction) or params_class(instruction)
    return found, resolve_path(path, (*cls.paths(),), instruction, cls.source)


def lacking(instructions: Iterable[str]) -> str:
    """What is told of instructions that ascjax has not, and what may be meant.

    >>> lacking({"ndma"})
    'ascjax has no ndma. Did you mean nddma?'
    """
    names = sorted(instructions)
    return f"ascjax has no {', '.join(names)}. {advice(names[0])}"


def advice(name: str) -> str:
    """What to write in the place of a name that ascjax does not know."""
    known: dict[str, list[str]] = {}
    for key in (*REGISTRY, *COMPUTES):
        for spelling in set().union(*_names(key)):
            known.setdefault(spelling, []).append(key)
    close = difflib.get_close_matches(plain(name), known, n=1)
    meant = known[close[0]] if close else []
    if not meant:
        return "See `ascjax list`; others may come in a later release."
    return f"Did you mean {' or '.join(dict.fromkeys(meant))}?"


def _names(key: str) -> tuple[set[str], ...]:
    """Every spelling of one instruction, plain, its own before those it may share."""
    cls = COMPUTES.get(key) or REGISTRY[key]
    struct, document = plain(cls.__name__), plain(cls.source.partition(",")[0])
    return (
        {plain(key)},
        {struct, struct.replace("params", "")},
        {document, plain(cls.op)},
    )


def _rank(key: str, spelt: str) -> int:
    """Which group of an instruction's spellings has this one; 3 for none."""
    return next((k for k, names in enumerate(_names(key)) if spelt in names), 3)
