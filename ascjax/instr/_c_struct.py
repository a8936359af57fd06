"""Structs of fields as C has them: their checks, and their C names."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

from .._errors import AscendError, ParamError
from .._fill import Constant, constant_of
from ._fields import (
    as_flag,
    as_part,
    as_word,
    c_name,
    in_range,
    int_list,
    static_int,
)


@dataclasses.dataclass(frozen=True)
class CField:
    """A field by its C name, as case files and command lines give it.

    Attributes:
      kind: "integer", "flag", "word", "list" (of integers) or "number".
      low, high: the range of the integers; None where it has none.
      default: what an absent field means; None where it means nothing.
      unit: what it counts.
    """

    kind: str
    low: int | None = None
    high: int | None = None
    default: Any = None
    unit: str = dataclasses.field(default="", repr=False)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class CStruct:
    """Base of the structs of fields, each named and ordered as its C struct: a frozen
    dataclass that checks what it is given.

    Attributes:
      instruction: whose errors its own are.
      source: document and table of the fields.
      within: the field of the params that holds it; "" where it is the params.
    """

    instruction: ClassVar[str]
    source: ClassVar[str]
    within: ClassVar[str] = ""

    def __init_subclass__(cls, base: bool = False, **kwargs):
        super().__init_subclass__(**kwargs)
        if not base:  # whose class attributes are no fields
            dataclasses.dataclass(frozen=True, repr=False)(cls)

    def __new__(cls, *args: Any, **kwargs: Any):
        names = [field.name for field in _fields_of(cls)]
        for given in kwargs:
            if given not in names:
                meant = [name for name in names if c_name(name) == given]
                meant += difflib.get_close_matches(given, names)
                fix = f"Write {meant[0]}." if meant else "Use one of these names."
                cls._refuse_names(names, given, fix)
        return super().__new__(cls)

    @classmethod
    def _refuse_names(cls, names: list[str], got: str, fix: str) -> NoReturn:
        field, rule = cls.within or "fields", f"be among {', '.join(names)}"
        raise ParamError(cls.instruction, field, rule, got, fix, cls.source)

    def __post_init__(self):
        for field in _fields_of(self):
            value = getattr(self, field.name)
            object.__setattr__(self, field.name, self._checked(field, value))

    def __repr__(self) -> str:
        given = [f for f in _fields_of(self) if getattr(self, f.name) != f.default]
        said = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in given)
        return f"{type(self).__name__}({said})"

    @classmethod
    def named(cls, field: str) -> str:
        """A field as errors name it: `repeat.dst_stride` inside params."""
        return f"{cls.within}.{field}" if cls.within else field

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
        raise error(self.instruction, self.named(field), rule, got, fix, source)

    def _checked(self, field: dataclasses.Field, value: Any) -> Any:
        meta = field.metadata
        who, name, source = self.instruction, self.named(field.name), self.source
        if meta.get("ignored"):
            return static_int(who, name, value, "be an integer", source)
        if meta.get("flag"):
            return as_flag(who, name, value, source)
        if meta.get("constant"):
            return constant_of(value, who, name, source)
        if "part" in meta:
            return as_part(who, name, value, meta, source)
        if "words" in meta:
            return as_word(who, name, value, meta["words"], source)
        if "length" in meta:
            return int_list(who, name, value, meta, source)
        if "range" not in meta:
            return value
        low, high = meta["range"]
        count = getattr(self, meta["zero_if"]) if meta["zero_if"] else None
        rule = f"be in [{low}, {high}] ({meta['unit']})"
        number = static_int(who, name, value, rule, source)
        if count is not None and count <= 1 and number == 0:
            return 0
        return in_range(who, name, number, low, high, meta["unit"], source)

    @classmethod
    def parts(cls) -> dict[str, type]:
        """The fields that hold a struct of their own, and its class."""
        kinds = {f.name: f.metadata.get("part") for f in _fields_of(cls)}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    # --- by the C names

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Params from the C struct's names, as case files have them; a struct inside is
        an object of its own.

        Raises:
          ParamError: for a name that the struct does not have, or a value out of range.
        """
        named = {c_name(f.name): f.name for f in _fields_of(cls)}
        for name in fields:
            if name not in named:
                cls._refuse_names([*named], name, "Use the C struct's names.")
        held = {named[name]: value for name, value in fields.items()}
        for name, kind in cls.parts().items():
            if isinstance(held.get(name), Mapping):
                held[name] = kind.from_fields(held[name])
        return cls(**held)

    @classmethod
    def c_fields(cls) -> dict[str, CField]:
        """The fields that `from_fields` takes; "a.b" is the member b of an object a.

        >>> import ascjax as asc
        >>> asc.LoadData2DParams.c_fields()["repeatTimes"]
        CField(kind='integer', low=0, high=255, default=0)
        """
        found: dict[str, CField] = {}
        for field in _fields_of(cls):
            name, meta = c_name(field.name), field.metadata
            default = None if field.default is dataclasses.MISSING else field.default
            kind = "list" if isinstance(default, tuple) else "integer"
            low, high = meta.get("range", (None, None))
            unit = "ignored" if meta.get("ignored") else meta.get("unit", "")
            if "part" in meta:  # absent members mean nothing where it is absent
                for inner, of_part in meta["part"].c_fields().items():
                    found[f"{name}.{inner}"] = dataclasses.replace(
                        of_part, default=None
                    )
                continue
            if meta.get("flag"):
                kind, low, high = "flag", 0, 1
            if meta.get("constant"):
                kind, default = "number", 0
            if "words" in meta:
                kind = "word"
            found[name] = CField(kind, low, high, default, unit)
        return found

    def to_fields(self) -> dict[str, Any]:
        """The fields by the C struct's names; `from_fields` takes them back."""
        found: dict[str, Any] = {}
        for field in _fields_of(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, Constant):
                value = value.to_json()
            elif isinstance(value, CStruct):
                value = value.to_fields()
            if value is not None:
                found[c_name(field.name)] = value
        return found


def _fields_of(struct: Any) -> tuple[dataclasses.Field, ...]:
    """The dataclass's fields, of a class that its base makes one."""
    return dataclasses.fields(struct)
