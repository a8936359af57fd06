"""One JSON object of a case file, whose members are taken out with a check."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .._errors import AscendError
from ..instr import REGISTRY
from ._members import Members, of_call
from ._names import COMPUTES, advice, matching

_KINDS: dict[str, tuple[type, str]] = {
    "text": (str, "be a string"),
    "integer": (int, "be an integer"),
    "flag": (bool, "be true or false"),
    "object": (dict, "be an object, {...}"),
    "list": (list, "be a list, [...]"),
}


class CaseFileError(AscendError):
    """A case file that cannot be read, or that contradicts itself.

    Raised for the file, before any of its cases is checked; the command ends with
    status 2.
    """


@dataclasses.dataclass(frozen=True)
class Step:
    """One call in a case: the C-named fields, and where its operands start."""

    instruction: str
    fields: Mapping[str, Any]
    src_offset: int = 0
    dst_offset: int = 0


class Entry:
    """One JSON object, whose members are taken out with their kind checked."""

    def __init__(self, file: str, name: str, data: Any):
        self.file, self.name, self.data = file, name, data
        if not isinstance(data, dict):
            raise self.error("", "be an object, {...}", json_name(data))

    def error(
        self, field: str, rule: str, got: object, fix: str = "Correct the file."
    ) -> CaseFileError:
        where = f"{field} of {self.name}" if field else self.name
        return CaseFileError(self.file, where, rule, got, fix, "docs/case-files.md")

    def check_members(self, members: Members) -> None:
        """Refuse what looks like a slip; other members are comments."""
        for name in self.data:
            slip = members.slip(name)
            if slip:
                raise self.error(name, *slip)

    def take(self, field: str, kind: str, *default: Any) -> Any:
        """A member of one kind; `default`, where given, stands in for a missing one."""
        if field not in self.data:
            if default:
                return default[0]
            got = f"only {', '.join(self.data)}"
            raise self.error(field, "be there", got if self.data else "nothing")
        value = self.data[field]
        of, rule = _KINDS[kind]
        if not isinstance(value, of) or (of is int and isinstance(value, bool)):
            raise self.error(field, rule, json_name(value))
        return value

    def size(self, field: str, needed: bool = True) -> int:
        value = self.take(field, "integer", *(() if needed else (0,)))
        if value < 0:
            raise self.error(field, "be at least 0 (elements)", value)
        return value

    def pair(self, field: str) -> tuple[int, int]:
        value = self.take(field, "list")
        if len(value) != 2 or any(type(v) is not int or v < 1 for v in value):
            raise self.error(field, "be two integers of at least 1", value)
        return value[0], value[1]

    def word(self, field: str) -> str | None:
        """A string that must be there, but may be null."""
        if field in self.data and self.data[field] is None:
            return None
        return self.take(field, "text")

    def steps(self, field: str, instruction: str | None) -> tuple[Step, ...]:
        """A list of calls, each with its own instruction where none is given."""
        found = []
        for k, item in enumerate(self.take(field, "list")):
            call = Entry(self.file, f"{field}[{k}] of {self.name}", item)
            found.append(call.step(instruction))
            call.check_members(of_call(found[-1].instruction))
        if not found:
            raise self.error(field, "hold at least one call", "an empty list")
        return tuple(found)

    def instruction(self, *default: str) -> str:
        """The name of an instruction; another name of one that ascjax has is refused,
        one that it does not have is for the check to report."""
        name = self.take("instruction", "text", *default)
        if name not in (*REGISTRY, *COMPUTES) and matching(name):
            rule = f"be one of {', '.join(REGISTRY)}"
            raise self.error("instruction", rule, repr(name), advice(name))
        return name

    def step(self, instruction: str | None) -> Step:
        default = () if instruction is None else (instruction,)
        return Step(
            self.instruction(*default),
            self.take("fields", "object"),
            self.take("src_offset", "integer", 0),
            self.take("dst_offset", "integer", 0),
        )


def json_name(value: Any) -> str:
    """What a JSON value is, in its own terms, and the value where it is short."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a flag"}
    names |= {int: "an integer", float: "a number", type(None): "null"}
    text = repr(value)
    name = names.get(type(value), "a value")
    return f"{name}, {text}" if len(text) <= 40 and value is not None else name
