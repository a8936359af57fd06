"""Structs of an instruction's fields: what products support of it, and its rules."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar

from .._dtypes import TYPES, AscendType, ascend_type
from .._errors import ParamError, SupportError
from .._products import PRODUCTS, Product
from ._c_struct import CStruct

Support = Mapping[str, Mapping[str, str]]


@dataclasses.dataclass(frozen=True)
class Site:
    """Where a call runs: product and path, each None where not given, and the type as
    the params count it (`Params.site` makes one)."""

    product: Product | None
    path: str | None
    type: AscendType


class Struct(CStruct, base=True):
    """Base of the structs that an instruction takes. `Params` says what the attributes
    mean."""

    op: ClassVar[str]
    support: ClassVar[Support]
    widths: ClassVar[tuple[int, ...]] = ()
    pairs: ClassVar[bool] = False

    def rules(self, site: Site) -> None:
        """Raise where these params break a restriction beyond the ranges at `site`."""

    @classmethod
    def counted(cls, type: AscendType) -> AscendType:
        """The type that this instruction counts where `type` is named."""
        type = TYPES[type.name]
        return type.pair if cls.pairs and type.bits == 4 else type

    @classmethod
    def site(cls, product: Product | None, path: str | None, dtype: Any) -> Site:
        """Where a call runs, its type as this instruction counts it."""
        type = ascend_type(dtype, cls.instruction)
        return Site(product, path, cls.counted(type))

    @classmethod
    def paths(cls, product: Product | None = None) -> dict[str, tuple[str, ...]]:
        """{path: type names} on one product, or over all of them."""
        return dict(_paths(cls, None if product is None else product.key))

    def check_support(self, site: Site) -> None:
        """Raise where the width is not moved at all, or the product lacks the
        instruction, path or type."""
        widths = self.widths or _widths(type(self))
        if site.type.bits not in widths:
            rule = f"be {', '.join(map(str, widths))} bits wide"
            got = f"{site.type} ({site.type.bits} bits)"
            fix = "Move it as elements of another width."
            raise ParamError(self.instruction, "dtype", rule, got, fix, self.source)
        if site.product is None:
            return
        who, paths = self.instruction, self.paths(site.product)
        if not paths:
            having = ", ".join(key for key in PRODUCTS if self.support.get(key))
            rule = f"be one that has this instruction ({having})"
            fix = "Choose another product, or leave product=None to skip this check."
            raise SupportError(who, "product", rule, site.product, fix, self.source)
        if site.path is not None and site.path not in paths:
            rule = f"be one that {site.product} has ({', '.join(paths)})"
            fix = "Choose another path or product."
            raise SupportError(who, "path", rule, site.path, fix, self.source)
        types = paths[site.path] if site.path else sum(paths.values(), ())
        if site.type.name not in types:
            where = f"{site.product}{' on ' + site.path if site.path else ''}"
            rule = f"be one that {where} moves ({', '.join(dict.fromkeys(types))})"
            fix = "Choose another type, path or product."
            raise SupportError(who, "dtype", rule, site.type, fix, self.source)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the instruction's name and the fields by their C names."""
        return {"instruction": self.instruction, "fields": self.to_fields()}


@functools.cache
def _paths(cls: type[Struct], product: str | None) -> dict[str, tuple[str, ...]]:
    keys = PRODUCTS if product is None else [product]
    rows = [cls.support.get(key, {}) for key in keys]
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        for paths, types in row.items():
            for path in paths.split():
                found[path] = (*found.get(path, ()), *types.split())
    return {path: tuple(dict.fromkeys(types)) for path, types in found.items()}


@functools.cache
def _widths(cls: type[Struct]) -> tuple[int, ...]:
    """The widths in bits of all types that some product moves."""
    every = sum(cls.paths().values(), ())
    return tuple(sorted({cls.counted(TYPES[name]).bits for name in every}))
