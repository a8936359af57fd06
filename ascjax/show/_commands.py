"""`ascjax list` and `ascjax show`: what there is, and what one call does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from .._dtypes import TYPES
from .._move import Move
from .._nest import FILL, KEEP, LoopNest
from .._products import PRODUCTS
from ..instr import REGISTRY, Params, params_class
from ..verify._result import place
from ..verify._why import Origin, origin
from ._words import bad, parse

_ROWS, _SCANNED = 40, 4096  # rows of a map that are printed, and looked at
_WIDEST = 64
_UNBOUNDED = 2**62

# --- list


def list_command(console: Console) -> None:
    """Print the instructions, what each product has of them, products and types."""
    table = _table("instruction", "function", "params", "described in")
    for name, params in REGISTRY.items():
        table.add_row(name, params.op, params.__name__, params.source)
    _print(console, table, "")
    table = _table("instruction", "product", "path", "types")
    for name, params in REGISTRY.items():
        for product in PRODUCTS.values():
            for paths, types in _grouped(params.paths(product)):
                table.add_row(name, product.key, paths, types)
        table.add_section()
    _print(console, table, "")
    table = _table("product", "name", "also", "NPU_ARCH")
    for p in PRODUCTS.values():
        table.add_row(p.key, p.name, ", ".join(p.also), str(p.npu_arch))
    _print(console, table, "")
    table = _table("type", "bits", "C0 (elements in 32 bytes)", "JAX type")
    for t in TYPES.values():
        held = t.jax or f"none: raw bits in uint{t.bits}"
        table.add_row(t.name, str(t.bits), str(t.c0), held)
    _print(console, table)


def _grouped(paths: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Paths that move the same types, as one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for path, types in paths.items():
        rows.setdefault(types, []).append(path)
    for types, same in rows.items():
        yield ", ".join(same), ", ".join(types)


# --- show


def show_command(console: Console, instruction: str, argv: Sequence[str]) -> None:
    """Print one call: its formula, nest and plan, and its map or one element's story.

    Args:
      argv: `--field value` pairs, fields as `--repeat-times` or `--repeatTimes`, lists
        as `1,8`, flags with or without a value; and the options `--product`, `--path`,
        `--dtype` (half), `--src-size`, `--dst-size` (just what is needed),
        `--src-offset`, `--dst-offset`, `--overlap`, `--width` (columns of the map),
        `--why CELL` (explain one destination element instead of the map).
    Raises:
      AscendError: for an unknown name, a value that cannot be read, or an illegal call.
    """
    cls = params_class(instruction)
    fields, options = parse(cls, argv)
    why, width = options.pop("why", None), options.pop("width", None)
    if width is not None and width < 1:
        raise bad(instruction, "--width", "be at least 1 (columns)", width)
    move = _move(cls.from_fields(fields), options)
    if why is not None and not 0 <= why < move.dst_size:
        rule = f"be a destination element, in [0, {move.dst_size})"
        raise bad(instruction, "--why", rule, why)
    _print(console, *_header(move), "")
    if move.nests[0].volume:
        _print(console, _loops(move.nests[0]), "")
    _print(console, "plan", *(f"    {line}" for line in str(move.plan).split("\n")), "")
    if why is not None:
        _print(console, *_explain(move, why))
    else:
        _print(console, *_map(move, width))


def _move(params: Params, options: dict[str, Any]) -> Move:
    """The checked move; without a size, the source is as long as what is read."""
    src_size = options.pop("src_size", None)
    fitting = _UNBOUNDED if src_size is None else src_size
    move = Move.of(params, src_size=fitting, **{"dtype": "half", **options})
    if src_size is not None:
        return move
    nest = move.nests[0]
    read = nest.src_range() if nest.volume else None
    needed = move.calls[0].src_offset if read is None else read[1] + 1
    return dataclasses.replace(move, src_size=needed)


def _header(move: Move) -> Iterator[str]:
    params, nest = move.calls[0].params, move.nests[0]
    where = [str(move.type), move.path, move.product and move.product.key]
    yield f"{params.instruction} on {', '.join(word for word in where if word)}"
    yield f"    src {move.src_size} elements, dst {move.dst_size} elements"
    yield "formula"
    yield from (f"    {line}" for line in str(nest).split("\n"))


def _loops(nest: LoopNest) -> Table:
    """The nest, outermost loop first."""
    table = _table("loop", "count", "dst step", "src step", "outside")
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


# --- the map


def _position(move: Move) -> str | None:
    """A position with fractals, where the instruction moves these; else None."""
    return "A1" if move.calls[0].params.op.startswith("load_data") else None


def _map(move: Move, width: int | None) -> Iterator[str]:
    """Rows of source elements; rows that keep everything are only counted."""
    nest, c0 = move.nests[0], move.type.c0
    fractals = width is None and _position(move) is not None
    width = width or (c0 if fractals else _pitch(nest))
    total = -(-move.dst_size // width)
    rows = "fractal.row" if fractals else "first element of the row"
    yield f"map ({rows} | source element of each column; . kept, # padding)"
    digits = len(str(max(move.src_size - 1, 0)))
    label = len(f"{total // 16}.15") if fractals else len(str(move.dst_size))
    shown = kept = row = 0

    def skipped() -> Iterator[str]:
        if kept:
            yield f"    … {kept} row{'s' * (kept > 1)} kept"

    while row < min(total, _SCANNED) and shown < _ROWS:
        cells = range(row * width, min((row + 1) * width, move.dst_size))
        sources = [origin(nest, cell).source for cell in cells]
        if all(source == KEEP for source in sources):
            kept += 1
        else:
            yield from skipped()
            kept, shown = 0, shown + 1
            name = f"{row // 16}.{row % 16}" if fractals else str(row * width)
            marks = {KEEP: ".", FILL: "#"}
            line = " ".join(marks.get(s, str(s)).rjust(digits) for s in sources)
            yield f"    {name.rjust(label)} | {line}"
        row += 1
    yield from skipped()
    if row < total:
        yield f"    … {total - row} more"


def _pitch(nest: LoopNest) -> int:
    """Elements from row to row: the first step that leaves a gap, or else the span."""
    run = 1
    steps = ((loop.dst_stride, loop.extent) for loop in nest.loops if loop.extent > 1)
    for stride, extent in sorted(steps):
        if stride != run or run >= 16:
            run = max(stride, run)
            break
        run *= extent
    return run if run <= _WIDEST else 16


def _explain(move: Move, element: int) -> Iterator[str]:
    """The story of one destination element."""
    position, bits = _position(move), move.type.bits
    found: Origin = origin(move.nests[0], element)
    yield f"destination element {place(element, position, bits)}"
    if found.source == KEEP:
        yield "    is kept: no iteration writes it"
        return
    loops = ", ".join(f"{name} = {x}" for name, x in found.loops.items())
    yield f"    is written by iteration {loops}"
    if found.source == FILL:
        yield f"    as padding, bits 0x{move.fills[0]:x} ({found.outside})"
        return
    yield f"    from source element {place(found.source, position, bits)}"


# --- printing


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        right = column in ("bits", "count", "dst step", "src step", "NPU_ARCH")
        table.add_column(column, justify="right" if right else "left")
    return table


def _print(console: Console, *parts: Any) -> None:
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str), markup=False)
