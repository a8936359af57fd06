"""Structs of an instruction's fields: their checks, C names and support tables."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

from .._dtypes import TYPES, AscendType, ascend_type
from .._errors import AscendError, ParamError, SupportError
from .._products import PRODUCTS, Product
from ._fields import as_flag, as_word, c_name, in_range, int_list, static_int

Support = Mapping[str, Mapping[str, str]]


@dataclasses.dataclass(frozen=True)
class Site:
    """Where a call runs: product and path, each None where not given, and the type as
    the params count it (`Params.site` makes one)."""

    product: Product | None
    path: str | None
    type: AscendType


@dataclasses.dataclass(frozen=True)
class CField:
    """A field by its C name, as case files and command lines give it.

    Attributes:
      kind: "integer", "flag", "word", "list" (of integers) or "number".
      low, high: the range of the integers; None where it has none.
      default: what an absent field means; None where it means nothing.
      unit: what it counts, where the class's own field does not say.
    """

    kind: str
    low: int | None = None
    high: int | None = None
    default: Any = None
    unit: str = dataclasses.field(default="", repr=False)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Struct:
    """Base of the structs of fields, each named and ordered as its C struct: a frozen
    dataclass that checks what it is given. `Params` says what the attributes mean."""

    instruction: ClassVar[str]
    op: ClassVar[str]
    source: ClassVar[str]
    support: ClassVar[Support]
    widths: ClassVar[tuple[int, ...]] = ()
    pairs: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, repr=False)(cls)

    def __new__(cls, *args: Any, **kwargs: Any):
        names = [f.name for f in dataclasses.fields(cls)]  # pyright: ignore[reportArgumentType]
        for given in kwargs:
            if given not in names:
                meant = [name for name in names if c_name(name) == given]
                meant += difflib.get_close_matches(given, names)
                fix = f"Write {meant[0]}." if meant else "Use one of these names."
                rule = f"be among {', '.join(names)}"
                raise ParamError(
                    cls.instruction, "fields", rule, given, fix, cls.source
                )
        return super().__new__(cls)

    def __post_init__(self):
        for field in dataclasses.fields(self):  # pyright: ignore[reportArgumentType]
            value = getattr(self, field.name)
            object.__setattr__(self, field.name, self._checked(field, value))

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]
        given = [f for f in fields if getattr(self, f.name) != f.default]
        said = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in given)
        return f"{type(self).__name__}({said})"

    def refuse(
        self,
        field: str,
        rule: str,
        fix: str,
        *,
        got: Any = None,
        source: str | None = None,
        error: type[AscendError] = ParamError,
    ) -> NoReturn:
        """Raise `error` in this instruction's name; `got` None is the field's value."""
        got = getattr(self, field) if got is None else got
        source = source or self.source
        raise error(self.instruction, field, rule, got, fix, source)

    def _checked(self, field: dataclasses.Field, value: Any) -> Any:
        meta = field.metadata
        who, source = self.instruction, self.source
        if meta.get("ignored"):
            return static_int(who, field.name, value, "be an integer", source)
        if meta.get("flag"):
            return as_flag(who, field.name, value, source)
        if "words" in meta:
            return as_word(who, field.name, value, meta["words"], source)
        if "length" in meta:
            return int_list(who, field.name, value, meta, source)
        if "range" not in meta:
            return value
        low, high = meta["range"]
        count = getattr(self, meta["zero_if"]) if meta["zero_if"] else None
        rule = f"be in [{low}, {high}] ({meta['unit']})"
        number = static_int(who, field.name, value, rule, source)
        if count is not None and count <= 1 and number == 0:
            return 0
        return in_range(who, field.name, number, low, high, meta["unit"], source)

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
        keys = PRODUCTS if product is None else [product.key]
        rows = [cls.support.get(key, {}) for key in keys]
        found: dict[str, tuple[str, ...]] = {}
        for row in rows:
            for paths, types in row.items():
                for path in paths.split():
                    found[path] = (*found.get(path, ()), *types.split())
        return {path: tuple(dict.fromkeys(types)) for path, types in found.items()}

    def check_support(self, site: Site) -> None:
        """Raise where the width is not moved at all, or the product lacks the
        instruction, path or type."""
        every = sum(self.paths().values(), ())
        counted = {self.counted(TYPES[name]).bits for name in every}
        widths = self.widths or tuple(sorted(counted))
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

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Params from the C struct's names, as case files have them.

        Raises:
          ParamError: for a name that the struct does not have, or a value out of range.
        """
        named = {c_name(f.name): f.name for f in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
        unknown = [name for name in fields if name not in named]
        if unknown:
            raise ParamError(
                cls.instruction,
                "fields",
                f"be among {', '.join(named)}",
                unknown[0],
                "Use the C struct's names.",
                cls.source,
            )
        return cls(**{named[name]: value for name, value in fields.items()})

    @classmethod
    def c_fields(cls) -> dict[str, CField]:
        """The fields that `from_fields` takes; "a.b" is the member b of an object a.

        >>> import ascjax as asc
        >>> asc.LoadData2DParams.c_fields()["repeatTimes"]
        CField(kind='integer', low=0, high=255, default=0)
        """
        found = {}
        for field in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
            default = None if field.default is dataclasses.MISSING else field.default
            kind = "list" if isinstance(default, tuple) else "integer"
            low, high = field.metadata.get("range", (None, None))
            if field.metadata.get("flag"):
                kind, low, high = "flag", 0, 1
            if "words" in field.metadata:
                kind = "word"
            found[c_name(field.name)] = CField(kind, low, high, default)
        return found

    def to_fields(self) -> dict[str, Any]:
        """The fields by the C struct's names; `from_fields` takes them back."""
        fields = dataclasses.fields(self)  # pyright: ignore[reportArgumentType]
        held = {c_name(f.name): getattr(self, f.name) for f in fields}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in held.items()}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the instruction's name and the fields by their C names."""
        return {"instruction": self.instruction, "fields": self.to_fields()}
