"""The words of a command line that give one call: `--repeat-times 5 --dtype half`."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from typing import Any

from .._errors import ParamError
from ..instr import Params
from ..instr._params import c_name
from ..instr.nddma import LISTS

_NUMBERS = ("src_size", "dst_size", "src_offset", "dst_offset", "why", "width")
_OPTIONS = {
    c_name(name): name for name in (*_NUMBERS, "product", "path", "dtype", "overlap")
}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def _kinds(cls: type[Params]) -> dict[str, str]:
    """The fields by their C names, each an "integer", "flag", "list" or "number"."""
    if cls.instruction == "nddma":
        flags = ("isNearestValueMode", "ascOptimize")
        return {
            **{c_name(name): "list" for name in LISTS},
            "constantValue": "number",
            **dict.fromkeys(flags, "flag"),
            **dict.fromkeys(("configLoopLpSize", "configLoopRpSize"), "integer"),
        }
    return {
        c_name(field.name): "flag" if field.metadata.get("flag") else "integer"
        for field in dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    }


def parse(
    cls: type[Params], argv: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields by their C names, and options by their Python names."""
    who, kinds = cls.instruction, _kinds(cls)
    fields: dict[str, Any] = {}
    options: dict[str, Any] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        given, _, value = word.partition("=")
        name = c_name(given.removeprefix("--").replace("-", "_"))
        if not given.startswith("--") or name not in {*kinds, *_OPTIONS}:
            raise _unknown(who, word, [*kinds, *_OPTIONS])
        kind = kinds.get(name, "")
        if "=" not in word:
            bare = not words or words[0].startswith("--")
            if bare and kind != "flag":
                raise bad(who, given, "be followed by its value", "nothing")
            value = "true" if bare else words.pop(0)
        if name in _OPTIONS:
            option = _OPTIONS[name]
            kind = "integer" if option in _NUMBERS else "text"
            options[option] = _value(who, given, kind, value)
        elif name.startswith("config"):
            config = fields.setdefault("config", {})
            inner = name.removeprefix("config")
            config[inner[0].lower() + inner[1:]] = _value(who, given, kind, value)
        else:
            fields[name] = _value(who, given, kind, value)
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
