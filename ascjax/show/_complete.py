"""What a shell may complete of `ascjax show` and `ascjax list`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._dtypes import TYPES
from .._errors import AscendError
from .._products import PRODUCTS
from ..instr import REGISTRY
from ..verify._names import COMPUTES, resolve
from ._words import OPTIONS, dashed

Words = Iterator[tuple[str, str]]


def instructions(incomplete: str) -> Words:
    """The instructions whose names begin so, with their function."""
    for name, cls in {**REGISTRY, **COMPUTES}.items():
        if name.startswith(incomplete):
            yield name, f"{cls.op}, {cls.source}"


def products(incomplete: str) -> Words:
    """The products whose names begin so."""
    for key, product in PRODUCTS.items():
        if key.startswith(incomplete):
            yield key, product.name


def options(instruction: str | None, incomplete: str) -> Words:
    """The fields of an instruction, and the options of `ascjax show`."""
    for name, field in _fields(instruction):
        if dashed(name).startswith(incomplete):
            ends = "" if field.low is None else f"[{field.low}, {field.high}] "
            yield dashed(name), f"{ends}{field.unit}".strip()
    for option in OPTIONS:
        if option.dashed.startswith(incomplete):
            yield option.dashed, option.help


def values(instruction: str | None, before: Sequence[str], incomplete: str) -> Words:
    """What may follow the option that stands last."""
    last = before[-1] if before else ""
    fields = {dashed(name): field for name, field in _fields(instruction)}
    cls = _named(instruction)
    if last == "--product":
        return products(incomplete)
    if not last.startswith("--"):
        return options(instruction, incomplete)
    if last in fields:
        words = ("true", "false") if fields[last].kind == "flag" else ()
    else:
        words = {
            "--path": tuple(cls.paths() if cls else ()),
            "--dtype": tuple(TYPES),
            "--overlap": ("error", "last"),
        }.get(last, ())
    return ((word, "") for word in words if word.startswith(incomplete))


def _fields(instruction: str | None):
    cls = _named(instruction)
    return cls.c_fields().items() if cls else ()


def _named(instruction: str | None):
    try:
        return resolve(instruction) if instruction else None
    except AscendError:
        return None
