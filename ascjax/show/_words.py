"""The words of a command line that give one call: `--repeat-times 5 --dtype half`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from .._errors import ParamError
from ..instr import Params
from ..instr._params import c_name

_NUMBERS = ("src_size", "dst_size", "src_offset", "dst_offset", "why", "width")
_OPTIONS = {
    c_name(name): name for name in (*_NUMBERS, "product", "path", "dtype", "overlap")
}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _option(name: str) -> str:
    """The option of a field: `config.loopLpSize` is given as `--configLoopLpSize`."""
    outer, _, inner = name.partition(".")
    return outer + inner[:1].upper() + inner[1:]


def parse(
    cls: type[Params], argv: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields by their C names, and options by their Python names."""
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
        if not given.startswith("--") or name not in {*known, *_OPTIONS}:
            raise _unknown(who, word, [*known, *_OPTIONS])
        field = known.get(name, "")
        kind = kinds.get(field, "")
        if "=" not in word:
            bare = not words or words[0].startswith("--")
            if bare and kind != "flag":
                raise bad(who, given, "be followed by its value", "nothing")
            value = "true" if bare else words.pop(0)
        if name in _OPTIONS:
            option = _OPTIONS[name]
            kind = "integer" if option in _NUMBERS else "text"
            options[option] = _value(who, given, kind, value)
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


def bad(who: str, name: str, rule: str, got: object) -> ParamError:
    return ParamError(who, name, rule, got, "See `ascjax show --help`.")


def _unknown(who: str, word: str, known: list[str]) -> ParamError:
    close = difflib.get_close_matches(word.lstrip("-").split("=")[0], known, n=1)
    fix = f"Did you mean --{close[0]}?" if close else "Give --field value pairs."
    rule = f"be one of {', '.join(f'--{name}' for name in known)}"
    return ParamError(who, "an option", rule, repr(word), fix)
