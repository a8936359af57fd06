"""What the params classes share: checks, support tables, the registry."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from .._dtypes import TYPES, AscendType
from .._errors import OverlapError, ParamError, SupportError
from .._overlap import Unproved, first_clash
from .._products import PRODUCTS, resolve_path
from .._products import product as _product
from .._runs import Stated
from ._c_struct import CField as CField
from ._convert import Conversion
from ._figure import Figure, figure_of_loops
from ._leads import overlapping
from ._struct import Site as Site
from ._struct import Struct

REGISTRY: dict[str, type[Params]] = {}


OPS = (
    "load_data",
    "load_data_with_transpose",
    "data_copy",
    "data_copy_pad",
    "fixpipe",
)


class Params(Struct):
    """Base of the params of a move, each named and ordered as its C struct.

    A subclass sets the class attributes below, its fields, and `nest`; `rules` where it
    has restrictions beyond the ranges. It becomes a frozen dataclass by itself, without
    the decorator, and is registered under its `instruction`.

    Attributes:
      instruction: the name in case files, errors and commands.
      op: the public function that takes it.
      source: document and table of the fields.
      support: {product: {"path path ...": "type type ..."}}.
      widths: the widths in bits that it is defined for; those of `support` where empty.
      pairs: whether fields, offsets, sizes and map count 4-bit types in pairs: packed
        bytes.

    >>> import ascjax as asc
    >>> asc.Params.from_dict({"instruction": "load2d", "fields": {"repeatTimes": 3}})
    LoadData2DParams(repeat_times=3)
    >>> asc.LoadData2DParams(repeat_times=3).to_fields()["repeatTimes"]
    3
    """

    def __init_subclass__(cls, **kwargs):
        _check_declaration(cls)
        super().__init_subclass__(**kwargs)
        REGISTRY[cls.instruction] = cls

    # --- what an instruction says of itself

    def nest(self, site: Site) -> Stated:
        """The move as loops, or as runs where these do not do, from 0 on both sides."""
        raise NotImplementedError

    def conversion(self, type: AscendType) -> Conversion | None:
        """What becomes of the values of `type` on their way; None where they arrive as
        they are."""
        return None

    def arrives(self, type: AscendType) -> AscendType:
        """The type of what the destination holds, where the source holds `type`."""
        conversion = self.conversion(type)
        return conversion.type if conversion else type

    def fill_bits(self, type: AscendType) -> int:
        """The padding value as a bit pattern of `type`."""
        return 0

    def note(self) -> str:
        """What the fields mean together, for errors; "" where each says it itself."""
        return ""

    def figure(self, site: Site) -> Figure:
        """How a picture shows the move: tiles and dimension lines, from 0 on both
        sides. Loops do where none is stated."""
        fractals = self.op.startswith("load_data")
        return figure_of_loops(self.nest(site), site.type.c0, fractals)

    def check_overlap(self, site: Site, nest: Stated) -> None:
        """Raise OverlapError where `nest` writes an element twice, or may do so."""
        try:
            clash = first_clash(nest)
        except Unproved:
            got = "strides for which this cannot be proved"
        else:
            if clash is None:
                return
            got = f"a second write to destination element {clash}"
        rule = "be written at most once an element by one instruction"
        fix = (
            "Widen the destination strides or gaps, or pass overlap='last' to let the "
        )
        fix += "later write win."
        if lead := overlapping(self, site, nest):
            fix = f"{lead}. {fix}"
        raise OverlapError(self.instruction, "dst", rule, got, fix, self.source)

    # --- what follows from the tables

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Params:
        """The params that `to_dict` described."""
        missing = [k for k in ("instruction", "fields") if k not in data]
        if missing:
            fix = "Pass what to_dict gave."
            rule = "hold 'instruction' and 'fields'"
            raise ParamError("Params", "data", rule, list(data), fix, "to_dict")
        return params_class(data["instruction"]).from_fields(data["fields"])

    def explain(
        self, dtype: Any, *, product: Any = None, path: str | None = None
    ) -> str:
        """The formula with the numbers put in, for elements of `dtype`; `product` and
        `path` where the result depends on them."""
        where = None if product is None else _product(product, self.instruction)
        if path is not None:
            path = resolve_path(path, (*self.paths(),), self.instruction, self.source)
        site = self.site(where, path, dtype)
        self.check_support(site)
        self.rules(site)
        return str(self.nest(site))


def _check_declaration(cls: type[Params]) -> None:
    """Raise TypeError where a params class is declared wrongly."""
    for name in ("instruction", "op", "source", "support"):
        if not hasattr(cls, name):
            raise TypeError(f"{cls.__name__}: set the class attribute {name!r}")
    if cls.op not in OPS:
        raise TypeError(f"{cls.__name__}: op must be one of {OPS}, got {cls.op!r}")
    other = REGISTRY.get(cls.instruction)
    if other is not None and other.__qualname__ != cls.__qualname__:
        raise TypeError(
            f"{cls.__name__}: the instruction {cls.instruction!r} is "
            f"{other.__name__}'s; choose another name"
        )
    types = (t for row in cls.support.values() for v in row.values() for t in v.split())
    for kind, names, known in (
        ("product", cls.support, PRODUCTS),
        ("type", types, TYPES),
    ):
        for name in names:
            if name not in known:
                raise TypeError(f"{cls.__name__}: support names no {kind} {name!r}")


def params_class(instruction: str) -> type[Params]:
    """The params class of an instruction, by its name in case files.

    Raises:
      SupportError: where ascjax has no such instruction.
    """
    if instruction in REGISTRY:
        return REGISTRY[instruction]
    close = difflib.get_close_matches(str(instruction), REGISTRY, n=1)
    fix = (
        f"Perhaps {close[0]} is meant." if close else "It may come in a later release."
    )
    rule = f"be one that ascjax has ({', '.join(REGISTRY)})"
    raise SupportError("ascjax", "instruction", rule, repr(instruction), fix)
