"""The page of one instruction, from what the package declares of it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from errata import errata_of
from fields import HEADS, rows_of
from words import PRODUCTS_ZH, SUMMARIES_ZH, TITLES, WORDS

import ascjax as asc
from ascjax._products import POSITIONS, PRODUCTS, Product
from ascjax.explore._code import c_code, jax_code
from ascjax.explore._form import form_of
from ascjax.instr import REGISTRY
from ascjax.show._move import move_of
from ascjax.verify._names import COMPUTES

SPEC = Path(__file__).parents[1] / "spec" / "instructions.md"


def every() -> dict[str, type]:
    """Each registered instruction's struct by its name."""
    return {**REGISTRY, **COMPUTES}


def move_of_example(name: str) -> asc.Move | None:
    """The explorer's first call of an instruction; None of one that is no move."""
    if name not in REGISTRY:
        return None
    start = form_of(name).start
    options = {"product": start.product, "path": start.path, "dtype": start.dtype}
    return move_of(start.params, options)


def title_of(name: str) -> str:
    """The instruction as people call it."""
    return TITLES.get(name, name)


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
    heads = ("instruction", "name", "function", "params")
    lines += _table(
        [words[head] for head in heads],
        (
            (
                title_of(name),
                f"[{name}]({name}.md)",
                f"`{c.op}`",
                f"`{c.__name__}`",
            )
            for name, c in every().items()
        ),
    )
    return "\n".join(lines) + "\n"


def _lines(name: str, language: str, picture: str) -> Iterator[str]:
    cls, words = every()[name], WORDS[language]
    up = "../" if language == "en" else "../../"
    other = f"../zh/instructions/{name}.md" if language == "en" else None
    yield from (f"# {title_of(name)}", "")
    yield f"[{words['other']}]({other or f'../../instructions/{name}.md'})"
    yield ""
    if language == "zh" and name in SUMMARIES_ZH:
        yield from (SUMMARIES_ZH[name], "")
    else:
        yield from _summary(cls)
    facts = [
        (words["name"], f"`{name}`"),
        (words["function"], f"[`asc.{cls.op}`]({up}api.md#ascjax.{cls.op})"),
        (words["params"], f"`{cls.__name__}`"),
        (words["source"], cls.source),
    ]
    if section := section_of(cls):
        text, anchor = section
        link = f"[{text}]({up}spec/instructions.md#{anchor})"
        facts.append((words["exactly"], link))
    yield from _table(["", ""], facts)
    yield ""
    move = move_of_example(name)
    if move is not None:
        yield from (f"## {words['example']}", "")
        yield from (f"![{words['picture']}]({picture}){{ .move }}", "")
        yield from ("```python", jax_code(move), "```", "")
        params = move.calls[0].params
        yield from (f"{words['in_c']}:", "", "```cpp")
        yield from (c_code(params, move.type), "```", "")
        yield from (f"{words['formula']}:", "", "```text", str(move.nests[0]), "```")
        yield from ("", f"{words['explore'].format(name=name)}", "")
    yield from (f"## {words['fields']}", "")
    yield from _table([words[head] for head in HEADS], rows_of(cls, language))
    yield ""
    yield from _parts(cls, words)
    yield from (f"## {words['support']}", "")
    yield from _support(cls, language)
    yield ""
    if found := errata_of(name):
        yield from (f"## {words['errata']}", "", words["errata_text"], "")
        for number, text in found:
            link = f"{up}spec/errata.md#{number.lower()}"
            yield f"- [{number}]({link}): {text}"
        yield ""
    if language == "en":
        yield from _reference(cls, words)


def _summary(cls: type) -> Iterator[str]:
    """What the docstring says before its headings."""
    for block in inspect.cleandoc(cls.__doc__ or "").split("\n\n"):
        if re.match(r"(Shapes|Args|>>>)", block):
            return
        yield from (" ".join(block.split()), "")


def section_of(cls: type) -> tuple[str, str] | None:
    """The heading and the anchor in the specification that the docstring names."""
    named = re.search(r"instructions\.md,? section (\d+)", cls.__doc__ or "")
    if named is None:
        return None
    heads = re.findall(r"^## (.*)$", SPEC.read_text(), re.M)
    head = next(h for h in heads if h.startswith(f"{named[1]}. "))
    plain = re.sub(r"[^\w\s-]", "", head).strip().lower()
    return head.partition(":")[0], re.sub(r"[-\s]+", "-", plain)


def _parts(cls: type, words: dict[str, str]) -> Iterator[str]:
    """What the structs inside are in C."""
    for field in dataclasses.fields(cls):
        if kind := field.metadata.get("part"):
            how = words["member" if field.metadata["member"] else "also"]
            yield from (how.format(name=kind.__name__), "")


def _support(cls: type, language: str) -> Iterator[str]:
    words = WORDS[language]
    heads = [words[head] for head in ("product", "path", "types")]
    yield from _table(
        heads,
        (
            (
                f"{key} <br>{_called(product, language)}",
                " ".join(f"`{path}`" for path in paths),
                ", ".join(types),
            )
            for key, product in PRODUCTS.items()
            for paths, types in _grouped(cls.paths(product))
        ),
    )
    without = [key for key, product in PRODUCTS.items() if not cls.paths(product)]
    if without:
        yield from ("", f"{words['without']}: {', '.join(without)}.")
    ends = dict.fromkeys(end for path in cls.paths() for end in path.split("->"))
    told = [f"{end} = {POSITIONS[end]}" for end in ends if POSITIONS[end] != end]
    if told:
        yield from ("", f"{words['positions']}: {', '.join(told)}.")


def _called(product: Product, language: str) -> str:
    name = product.name if language == "en" else PRODUCTS_ZH[product.key]
    return ", ".join((name, *(a for a in product.also if a not in name)))


def _reference(cls: type, words: dict[str, str]) -> Iterator[str]:
    """The docstrings of the struct and of those inside it."""
    yield from (f"## {words['reference']}", "")
    for struct in (cls, *cls.parts().values()):
        root = "ascjax" if hasattr(asc, struct.__name__) else struct.__module__
        yield f"::: {root}.{struct.__name__}"
        yield from ("    options:", "      members: false", "")


def _grouped(paths: dict[str, tuple[str, ...]]) -> Iterator[tuple]:
    rows: dict[tuple[str, ...], list[str]] = {}
    for path, types in paths.items():
        rows.setdefault(types, []).append(path)
    for types, same in rows.items():
        yield same, types


def _table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    heads = list(heads)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
