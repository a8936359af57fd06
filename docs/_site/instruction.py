"""The page of one instruction, from what the package declares of it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from words import SUMMARIES_ZH, WORDS, unit

import ascjax as asc
from ascjax._products import PRODUCTS
from ascjax.explore._form import form_of
from ascjax.instr import REGISTRY
from ascjax.instr._fields import c_name
from ascjax.show._move import move_of
from ascjax.verify._names import COMPUTES

EVERY = {**REGISTRY, **COMPUTES}
ERRATA = Path(__file__).parents[1] / "spec" / "errata.md"
_CALLED = {
    "load2d": "Load2D",
    "load2dv2": "Load2DV2",
    "load3dv2": "Load3D",
    "ldwt_v1": "LoadDataWithTranspose|transpose page|square",
    "ldwt_v2": "LoadDataWithTranspose|V2 table|V2 example|square",
    "nz2nd": "NZ2ND",
    "nddma": "NDDMA",
    "nd2nz": "ND2NZ",
    "fixpipe": "Fixpipe",
    "mmad": "Mmad",
    "data_copy_pad": "DataCopyPad",
}


def move_of_example(name: str) -> asc.Move | None:
    """The explorer's first call of an instruction; None of one that is no move."""
    if name not in REGISTRY:
        return None
    start = form_of(name).start
    options = {"product": start.product, "path": start.path, "dtype": start.dtype}
    return move_of(start.params, options)


def page_of(name: str, language: str, picture: str) -> str:
    """The page of an instruction in Markdown.

    Args:
      name: as in case files.
      language: "en" or "zh".
      picture: where its picture is, relative to the page.
    """
    return "\n".join(_lines(name, language, picture)) + "\n"


def index_of(language: str) -> str:
    """The list of all instructions in Markdown."""
    words = WORDS[language]
    lines = [f"# {words['index']}", "", words["index_text"], ""]
    heads = ("instruction", "function", "params", "source")
    lines += _table(
        [words[head] for head in heads],
        [
            (f"[{name}]({name}.md)", f"`{c.op}`", f"`{c.__name__}`", c.source)
            for name, c in EVERY.items()
        ],
    )
    return "\n".join(lines) + "\n"


def _lines(name: str, language: str, picture: str) -> Iterator[str]:
    cls, words = EVERY[name], WORDS[language]
    yield f"# {name}"
    yield ""
    summary = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    yield SUMMARIES_ZH.get(name, summary) if language == "zh" else summary
    yield ""
    yield f"{words['function']}: `asc.{cls.op}` · {words['params']}: `{cls.__name__}`"
    yield f" · {words['source']}: {cls.source}"
    yield ""
    move = move_of_example(name)
    if move is not None:
        yield f"## {words['example']}"
        yield ""
        said = re.sub(r"\b([A-Z]\w*)\(", r"asc.\1(", repr(move.calls[0].params))
        yield from ("```python", "import ascjax as asc", "", f"params = {said}", "```")
        yield ""
        yield f"![{words['picture']}]({picture}){{ .move }}"
        yield ""
        yield f"{words['formula']}:"
        yield ""
        yield from ("```text", str(move.nests[0]), "```", "")
    yield f"## {words['fields']}"
    yield ""
    yield from _fields(name, language)
    yield ""
    yield f"## {words['support']}"
    yield ""
    heads = [words[head] for head in ("product", "path", "types")]
    rows = [
        (key, ", ".join(paths), ", ".join(types))
        for key, product in PRODUCTS.items()
        for paths, types in _grouped(cls.paths(product))
    ]
    yield from _table(heads, rows)
    yield ""
    if found := errata_of(name):
        yield f"## {words['errata']}"
        yield ""
        yield from (f"- {line}" for line in found)
        yield ""
    yield f"## {words['cost']}"
    yield ""
    if name in REGISTRY:
        yield words["explore"].format(name=name)


def errata_of(name: str) -> list[str]:
    """The lines of errata.md that are of an instruction."""
    called = _CALLED.get(name)
    if called is None:
        return []
    lines = re.findall(r"^[EQ]\d+\. .*$", ERRATA.read_text(), re.M)
    return [line for line in lines if re.search(rf"\b({called})\b", line)]


def _fields(name: str, language: str) -> Iterator[str]:
    cls, words = EVERY[name], WORDS[language]
    rows = []
    for c, field in cls.c_fields().items():
        if field.kind == "flag":
            ends = words["flag"]
        elif field.kind == "number":
            ends = words["number"]
        elif field.low is None:
            ends = ", ".join(f"`{w}`" for w in _words_of(cls, c)) or words["any"]
        else:
            ends = f"[{field.low}, {field.high}]"
        ends += f" ({words['list']})" if field.kind == "list" else ""
        default = words["required"] if field.default is None else f"`{field.default}`"
        own = unit("" if field.unit == "ignored" else field.unit, language)
        rows.append((f"`{c}`", f"`{_snake(c)}`", ends, own, default))
    heads = ("field", "python", "range", "unit", "default")
    yield from _table([words[head] for head in heads], rows)
    parts = [kind.__name__ for kind in getattr(cls, "parts", dict)().values()]
    for kind in parts:
        yield ""
        yield words["also"].format(name=kind)


def _words_of(cls: type, c: str) -> tuple[str, ...]:
    for field in dataclasses.fields(cls):
        if c_name(field.name) == c:
            return field.metadata.get("words", ())
    return ()


def _snake(c: str) -> str:
    return re.sub(r"(?<![A-Z])([A-Z])", lambda m: f"_{m[1].lower()}", c)


def _grouped(paths: dict[str, tuple[str, ...]]) -> Iterator[tuple]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for path, types in paths.items():
        rows.setdefault(types, []).append(path)
    for types, same in rows.items():
        yield same, types


def _table(heads: list[str], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
