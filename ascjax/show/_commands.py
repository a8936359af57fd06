"""`ascjax list` and `ascjax show`: what there is, and what one call does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from .._dtypes import TYPES
from .._move import Move
from .._nest import FILL, KEEP
from .._products import PRODUCTS
from .._products import product as product_of
from .._runs import Runs, Stated
from ..instr import REGISTRY
from ..pictures._draw import draw, sizes_of
from ..pictures._sheet import MOST
from ..pictures._subjects import of_move
from ..pictures._text import rich_of
from ..verify._names import COMPUTES, chosen, resolve, runnable
from ..verify._result import place
from ..verify._why import Origin, origin
from ._help import fields as field_table
from ._help import usage
from ._map import ROWS, cell, position, rows
from ._move import move_of
from ._words import bad, check_required, parse, plain_table

_PICTURED = 8  # lines of each buffer

# --- list


def list_command(
    console: Console, instructions: Sequence[str] = (), product: str | None = None
) -> None:
    """Print the instructions, what each product has of them, products and types.

    Args:
      instructions: names of those to print; none prints all.
      product: the one product to print; None prints all.
    Raises:
      SupportError: for a name that nothing has.
    """
    every = {**REGISTRY, **COMPUTES}
    products = PRODUCTS.values() if product is None else [product_of(product)]
    rows = [
        (name, p.key, paths, types)
        for name in (chosen(instructions) or every)
        for p in products
        for paths, types in _grouped(every[name].paths(p))
    ]
    names = dict.fromkeys(name for name, *_ in rows)
    moved = {name for *_, types in rows for name in types}
    table = plain_table("instruction", "function", "params", "described in")
    for name in names:
        table.add_row(name, every[name].op, every[name].__name__, every[name].source)
    _print(console, table, "")
    table = plain_table("instruction", "product", "path", "types")
    for name in names:
        for found, key, paths, types in rows:
            if found == name:
                table.add_row(name, key, ", ".join(paths), ", ".join(types))
        table.add_section()
    _print(console, table, "")
    table = plain_table("product", "name", "also", "NPU_ARCH")
    for p in products:
        table.add_row(p.key, p.name, ", ".join(p.also), str(p.npu_arch))
    _print(console, table, "")
    table = plain_table("type", "bits", "C0 (elements in 32 bytes)", "JAX type")
    for t in TYPES.values():
        held = t.jax or f"none: raw bits in uint{t.bits}"
        if t.name in moved:
            table.add_row(t.name, str(t.bits), str(t.c0), held)
    _print(console, table)


def _grouped(
    paths: dict[str, tuple[str, ...]],
) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """Paths that move the same types, together."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for path, types in paths.items():
        rows.setdefault(types, []).append(path)
    for types, same in rows.items():
        yield same, types


# --- show


def show_command(
    console: Console, instruction: str | None, argv: Sequence[str]
) -> None:
    """Print one call: its formula, nest and plan, and its map or one element's story.

    Args:
      instruction: its name, the C struct's or the document's; None for the help.
      argv: `--field value` pairs, fields as `--repeat-times` or `--repeatTimes`, lists
        as `1,8`, flags with or without a value; and the options of `--help`. Without
        any, what fields there are is printed.
    Raises:
      AscendError: for an unknown name, a value that cannot be read, or an illegal call.
    """
    cls = None if instruction is None else resolve(instruction)
    if cls is None or not {"-h", "--help"}.isdisjoint(argv):
        return _print(console, *usage(cls))
    fields, options = parse(cls, argv)
    if not argv and cls.c_fields():
        return _print(console, *field_table(cls))
    if not fields and cls.c_fields():
        _print(console, *field_table(cls), "")
    numbers = {name: options.pop(name, None) for name in ("width", "rows")}
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise bad(cls.instruction, f"--{name}", "be at least 1", number)
    why, first, png = (options.pop(name, None) for name in ("why", "from", "png"))
    check_required(cls, fields)
    runnable(cls.instruction)
    typed = "" if "dtype" in options else " (dtype not given: half)"
    move = move_of(cls.from_fields(fields), {"dtype": "half", **options})
    element = None if why is None else cell(move, why)
    if png is not None:
        draw(move).save(png)
        _print(console, f"picture written to {png}", "")
    _print(console, *_header(move, typed), "")
    if move.nests[0].volume:
        _print(console, _loops(move.nests[0]), "")
    plan = (f"    {line}" for line in str(move.plan).split("\n"))
    _print(console, f"plan: {move.plan.why}", *plan, "")
    if element is not None:
        _print(console, *_explain(move, element))
    else:
        if sizes_of(move) <= MOST:
            _print(console, "picture", rich_of(of_move(move), _PICTURED))
        most = numbers["rows"] or ROWS
        _print(console, *rows(move, numbers["width"], most, first))


def _header(move: Move, typed: str) -> Iterator[str]:
    params, nest = move.calls[0].params, move.nests[0]
    where = [str(move.type), move.path, move.product and move.product.key]
    yield f"{params.instruction} on {', '.join(word for word in where if word)}{typed}"
    yield f"    src {move.src_size} elements, dst {move.dst_size} elements"
    yield "formula"
    yield from (f"    {line}" for line in str(nest).split("\n"))


def _loops(nest: Stated) -> Table:
    """The nest, outermost loop first; of runs the loops that count them."""
    if isinstance(nest, Runs):
        table = plain_table("loop", "count", "dst step", "src step")
        for name, extent in nest.loops:
            table.add_row(name, str(extent), "by a table", "by a table")
        table.add_row("e", str(nest.length), str(nest.dst_step), "1")
        return table
    table = plain_table("loop", "count", "dst step", "src step", "outside")
    for k, loop in enumerate(nest.loops):
        step = sum(coord.stride * coord.terms[k] for coord in nest.coords)
        bounds = [
            f"{coord.outside} (offset {coord.offset}, {coord.extent} inside)"
            for coord in nest.coords
            if coord.extent is not None and coord.terms[k]
        ]
        numbers = map(str, (loop.extent, loop.dst_stride, step))
        table.add_row(loop.name, *numbers, ", ".join(bounds) or "-")
    return table


# --- one element


def _explain(move: Move, element: int) -> Iterator[str]:
    """The story of one destination element."""
    where, bits = position(move), move.type.bits
    found: Origin = origin(move.nests[0], element)
    yield f"destination element {place(element, where, bits)}"
    if found.source == KEEP:
        yield "    is kept: no iteration writes it"
        return
    loops = ", ".join(f"{name} = {x}" for name, x in found.loops.items())
    yield f"    is written by iteration {loops}"
    if found.source == FILL:
        yield f"    as padding, bits 0x{move.fills[0]:x} ({found.outside})"
        return
    yield f"    from source element {place(found.source, where, bits)}"


# --- printing


def _print(console: Console, *parts: Any) -> None:
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str), markup=False)
