"""The words of a command line that give one call: `--repeat-times 5 --dtype half`."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from .._errors import ParamError
from ..instr import Params
from ..instr._fields import c_name


@dataclasses.dataclass(frozen=True)
class Option:
    """An option of `show`, beside the fields: its Python name and what it means."""

    name: str
    metavar: str
    help: str

    @property
    def dashed(self) -> str:
        return dashed(self.name)


OPTIONS = (
    Option("product", "NAME", "the product, by any of its names; none: not checked"),
    Option("path", "PATH", "such as A1->A2 or L1->L0A; none: alignment not checked"),
    Option("dtype", "TYPE", "the Ascend C type (half)"),
    Option("src_size", "N", "elements of the source (as many as are read)"),
    Option("dst_size", "N", "elements of the destination (as many as are written)"),
    Option("src_offset", "N", "where the source operand starts, in elements (0)"),
    Option("dst_offset", "N", "where the destination operand starts, in elements (0)"),
    Option("overlap", "error|last", "what a second write to an element does (error)"),
    Option("why", "CELL", "where one destination element comes from: N or F.R.C"),
    Option("width", "N", "columns of the map"),
    Option("rows", "N", "rows of the map to print (40)"),
    Option("png", "FILE", "write a picture there; .svg writes SVG"),
    Option("from", "ROW", "the row to begin with, as the map labels it"),
)
_KNOWN = {c_name(option.name): option for option in OPTIONS}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def dashed(name: str) -> str:
    """The option of a field, of either spelling: `repeatTimes` is `--repeat-times`.

    >>> dashed("repeatTimes"), dashed("config.loopLpSize"), dashed("src_size")
    ('--repeat-times', '--config-loop-lp-size', '--src-size')
    """
    apart = re.sub(r"(?<!^)([A-Z])", r"-\1", name)
    return "--" + re.sub(r"[._]", "-", apart).lower()


def _option(name: str) -> str:
    """The option of a field: `config.loopLpSize` is given as `--configLoopLpSize`."""
    outer, _, inner = name.partition(".")
    return outer + inner[:1].upper() + inner[1:]


def parse(
    cls: type[Params], argv: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields by their C names, and options by their Python names.

    Raises:
      ParamError: for an unknown name, or a value that cannot be read.
    """
    who = cls.instruction
    kinds = {name: field.kind for name, field in cls.c_fields().items()}
    known = {_option(name): name for name in kinds}
    fields: dict[str, Any] = {}
    options: dict[str, Any] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        given, _, value = word.partition("=")
        name = c_name(given.removeprefix("--").replace("-", "_"))
        if not given.startswith("--") or name not in {*known, *_KNOWN}:
            raise _unknown(who, word, [*known, *_KNOWN])
        field = known.get(name, "")
        kind = kinds.get(field, "")
        if "=" not in word:
            bare = not words or words[0].startswith("--")
            if bare and kind != "flag":
                raise bad(who, given, "be followed by its value", "nothing")
            value = "true" if bare else words.pop(0)
        if name not in known:  # a field may have an option's name
            option = _KNOWN[name]
            kind = "integer" if option.metavar == "N" else "text"
            options[option.name] = _value(who, given, kind, value)
        else:
            *outer, inner = field.split(".")
            held = fields
            for part in outer:
                held = held.setdefault(part, {})
            held[inner] = _value(who, given, kind, value)
    return fields, options


def _value(who: str, name: str, kind: str, text: str) -> Any:
    try:
        if kind == "integer":
            return int(text, 0)
        if kind == "list":
            return [int(item, 0) for item in text.split(",")]
        if kind == "flag":
            return _TRUTH[text.lower()]
        if kind == "number":
            return int(text, 0) if text.lstrip("+-").isdecimal() else float(text)
    except (ValueError, KeyError):
        rules = {
            "integer": "be an integer",
            "list": "be integers with commas between them, such as 1,8",
            "flag": "be true or false",
            "number": "be a number",
        }
        raise bad(who, name, rules[kind], repr(text)) from None
    return text


def check_required(cls: type[Params], fields: dict[str, Any]) -> None:
    """Raise ParamError where a field is absent that has no default; members of an
    object inside have none, and mean nothing where absent."""
    needed = [n for n, field in cls.c_fields().items() if field.default is None]
    absent = [dashed(n) for n in needed if "." not in n and n not in fields]
    if absent:
        got = f"only {', '.join(map(dashed, fields))}" if fields else "none of them"
        fix = f"See `ascjax show {cls.instruction} --help`."
        raise ParamError(cls.instruction, ", ".join(absent), "be given", got, fix)


def bad(who: str, name: str, rule: str, got: object) -> ParamError:
    """The error of an option that does not read as it must."""
    return ParamError(who, name, rule, got, "See `ascjax show --help`.")


def _unknown(who: str, word: str, known: list[str]) -> ParamError:
    close = difflib.get_close_matches(word.lstrip("-").split("=")[0], known, n=1)
    fix = f"Did you mean --{close[0]}?" if close else "Give --field value pairs."
    rule = f"be one of {', '.join(f'--{name}' for name in known)}"
    return ParamError(who, "an option", rule, repr(word), fix)


def plain_table(*columns: str) -> Table:
    """A plain table, with numbers to the right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        right = column in ("bits", "count", "dst step", "src step", "NPU_ARCH")
        made.add_column(column, justify="right" if right else "left")
    return made
